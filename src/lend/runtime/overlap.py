"""Whether two strided views share a byte, or one view has two elements that do: exactly.

Does: decide on addresses, sizes and byte strides alone.  Does not: look at arrays or word errors (`borrows.py`).
Invariants: `True` and `False` are proved; `None` means that the budget did not suffice, and the caller must assume an overlap.

Both questions come down to one: can a sum of d_k * s_k with 0 <= d_k <= c_k fall into [low, high]? That is a bounded knapsack,
NP-hard in general. Views in practice are easy: strides that nest are one term after `_merge`, two terms are solved in the time of
Euclid's algorithm (`_first_residue`), and what is left is a search with pruning by reach and by greatest common divisor.

Example: the bytes of `a[::2]` and `a[1::2]`, both f64 of 8 elements at address 0: `overlaps(View(0, (4,), (16,), 8),
View(8, (4,), (16,), 8))` is False.
"""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

BUDGET = 10_000
"""Nodes that the search for one answer may visit; some 20 ms."""


class View(NamedTuple):
    """Elements of `itemsize` bytes at `address + sum(i_k * strides[k])` for 0 <= i_k < shape[k]."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int


Term = tuple[int, int]
"""(stride, count): contributes stride * d for some 0 <= d <= count; stride > 0, count > 0."""


class _OutOfBudget(Exception):
    """The search visited too many nodes."""


def extent(view: View) -> tuple[int, int]:
    """The first byte's address and the one past the last byte of a view; equal if it has no elements."""
    low = high = view.address
    for size, stride in zip(view.shape, view.strides, strict=True):
        if size == 0:
            return view.address, view.address
        if stride > 0:
            high += (size - 1) * stride
        else:
            low += (size - 1) * stride
    return low, high + view.itemsize


def overlaps(first: View, second: View) -> bool | None:
    """Whether some byte belongs to an element of both views; None if that could not be decided."""
    first_low, first_high = extent(first)
    second_low, second_high = extent(second)
    if first_low == first_high or second_low == second_high:
        return False
    if first_high <= second_low or second_high <= first_low:
        return False
    # An element of the first starts at first_low + p, one of the second at second_low + q', counted down from its last:
    # second_last - q. They meet if p + q lies within one itemsize of second_last - first_low.
    distance = second_high - second.itemsize - first_low
    return _reachable(_terms(first) + _terms(second), distance - first.itemsize + 1, distance + second.itemsize - 1, [BUDGET])


def overlaps_itself(view: View) -> bool | None:
    """Whether two different elements of the view share a byte; None if that could not be decided."""
    if 0 in view.shape:
        return False
    if any(size > 1 and stride == 0 for size, stride in zip(view.shape, view.strides, strict=True)):
        return True
    terms = sorted(_terms(view))
    reach = view.itemsize
    for stride, count in terms:
        if stride < reach:
            break
        reach += stride * count
    else:
        return False  # each stride steps over all that the smaller ones reach
    # Let k be the largest stride whose index differs, by 1 + d_k >= 1; smaller ones differ by e_j - c_j with 0 <= e_j <= 2 c_j.
    undecided, budget = False, [BUDGET]
    for position, (stride, count) in enumerate(terms):
        smaller = [(other, 2 * times) for other, times in terms[:position]]
        target = sum(other * times for other, times in terms[:position]) - stride
        own = [(stride, count - 1)] if count > 1 else []
        met = _reachable(smaller + own, target - view.itemsize + 1, target + view.itemsize - 1, budget)
        if met:
            return True
        undecided = undecided or met is None
    return None if undecided else False


def _terms(view: View) -> list[Term]:
    return [(abs(stride), size - 1) for size, stride in zip(view.shape, view.strides, strict=True) if size > 1 and stride != 0]


def _reachable(terms: list[Term], low: int, high: int, budget: list[int]) -> bool | None:
    """Whether a sum of the terms can lie in [low, high]; None if `budget`, which this uses up, does not suffice."""
    terms = _merge(terms)
    gcds: list[int] = [0]
    reaches: list[int] = [0]
    for stride, count in reversed(terms):
        gcds.append(gcd(gcds[-1], stride))
        reaches.append(reaches[-1] + stride * count)
    try:
        return _search(terms, gcds[::-1], reaches[::-1], 0, low, high, budget)
    except _OutOfBudget:
        return None


def _merge(terms: list[Term]) -> list[Term]:
    """The same sums from fewer terms, largest stride first: s * (0..c) + q*s * (0..d) is s * (0..c+q*d) if q <= c + 1."""
    merged: list[Term] = []
    for stride, count in sorted(terms):
        if merged:
            below, times = merged[-1]
            if stride % below == 0 and stride // below <= times + 1:
                merged[-1] = (below, times + stride // below * count)
                continue
        merged.append((stride, count))
    return merged[::-1]


def _search(
    terms: list[Term], gcds: list[int], reaches: list[int], position: int, low: int, high: int, budget: list[int]
) -> bool:
    """Whether the terms from `position` on can sum to something in [low, high]."""
    low, high = max(low, 0), min(high, reaches[position])
    if low > high:
        return False
    common = gcds[position]
    if common == 0:
        return True  # no terms left, and [low, high] contains 0
    if low // common * common < low and low // common * common + common > high:
        return False  # every sum is a multiple of the greatest common divisor
    left = len(terms) - position
    if left == 1:
        return True
    if left == 2:
        return _two_terms(terms[position], terms[position + 1], low, high)
    stride, count = terms[position]
    rest = reaches[position + 1]
    first = max(0, -((rest - low) // stride))
    last = min(count, high // stride)
    for times in range(first, last + 1):
        budget[0] -= 1
        if budget[0] < 0:
            raise _OutOfBudget
        if _search(terms, gcds, reaches, position + 1, low - stride * times, high - stride * times, budget):
            return True
    return False


def _two_terms(large: Term, small: Term, low: int, high: int) -> bool:
    """Whether stride * d + other * e lies in [low, high] for some 0 <= d <= count, 0 <= e <= times.

    With v = stride * d, some e >= 0 lands in [low - v, high - v] if (high - v) mod other <= high - low, and it is within 0..times
    exactly for the d of one interval.
    """
    (stride, count), (other, times) = large, small
    first = max(0, -((other * times - low) // stride))  # smallest d with low - v <= other * times
    last = min(count, high // stride)  # largest d with high - v >= 0
    if first > last:
        return False
    width = high - low
    if width >= other - 1:
        return True
    # (high - v) mod other, for v = stride * (first + t) and t = 0..last-first, is to be at most `width`.
    start = (high - stride * first) % other
    hit = _first_residue(-stride % other, start, other, width)
    return hit is not None and hit <= last - first


def _first_residue(step: int, start: int, modulus: int, width: int) -> int | None:
    """The least t >= 0 with (start + step * t) mod modulus in [0, width]; None if there is none. 0 <= width < modulus."""
    if start <= width:
        return 0
    # (step * t) mod modulus must lie in [modulus - start, modulus - start + width].
    return _first_between(step % modulus, modulus, modulus - start, modulus - start + width)


def _first_between(step: int, modulus: int, low: int, high: int) -> int | None:
    """The least t >= 0 with low <= (step * t) mod modulus <= high, for 0 < low <= high < modulus, by Euclid's algorithm."""
    if step == 0:
        return None
    if 2 * step > modulus:  # walk the other way round
        step, low, high = modulus - step, modulus - high, modulus - low
    direct = -(-low // step)
    if direct * step <= high:
        return direct
    # No multiple of step lies in [low, high] before the first turn: ask after how many turns r the window, shifted by
    # r * modulus, contains one; only remainders modulo step matter.
    turns = _first_between(modulus % step, step, -high % step, -low % step)
    if turns is None:
        return None
    return -(-(low + turns * modulus) // step)
