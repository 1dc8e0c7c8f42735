"""What a device needs of an array that is lent for writing, and what of it comes back.

Does: hold what the compiler has found out for a specialisation, and evaluate it for a call.
Does not: find it out (`checks/moves.py`), or copy (`device_launch.py`).
Invariants: boxes are evaluated in Python's whole numbers, so that nothing wraps; they end at the array's own sizes.

Example: a kernel that writes `v[i]` for `i` in `1..N-2` has the box `((1, N - 1),)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from lend.language.abi import MAX_SIZE
from lend.language.moves import Bound, Move, Sum

if TYPE_CHECKING:
    from lend.runtime.arguments import Binding

Box = tuple[tuple[int, int], ...]
"""In each dimension the first element, and the one after the last."""


def kept(moves: Sequence[Any]) -> tuple[Move | None, ...]:
    """The same as it was before it was written as lists."""
    return tuple([None if move is None else Move(*_tuples(move)) for move in moves])


def _tuples(value: Any) -> Any:
    return tuple([_tuples(item) for item in value]) if isinstance(value, list | tuple) else value  # pyright: ignore[reportUnknownVariableType]


def written_box(move: Move, binding: Binding, shape: tuple[int, ...]) -> Box | None:
    """The elements that a call may write; None if that, and whether it needs what they held, is not known for its arguments."""
    for place in move.moderate:
        if not -MAX_SIZE <= _value(binding, *place) <= MAX_SIZE:
            return None
    box: list[tuple[int, int]] = []
    for (low, high), size in zip(move.bounds, shape, strict=True):
        first, last = _bound(low, binding), _bound(high, binding)
        if first is None or last is None:
            return ((0, 0),) * len(shape)
        box.append((max(first, 0), min(last + 1, size)))
    return tuple(box) if all(low < high for low, high in box) else ((0, 0),) * len(shape)


def is_fixed(move: Move, sizes: set[int]) -> bool:
    """Whether these sizes alone (by their places) decide what is written."""
    sums = [sum for pair in move.bounds for bound in pair for cases in bound for sum in _sums(*cases)]
    return not move.moderate and all(is_dim and place in sizes for _, terms in sums for is_dim, place, _ in terms)


def scalars_of(move: Move) -> set[int]:
    """The scalars (by their places among the leaves) that decide what is written."""
    sums = [sum for pair in move.bounds for bound in pair for cases in bound for sum in _sums(*cases)]
    terms = [(is_dim, place) for _, terms in sums for is_dim, place, _ in terms]
    return {place for is_dim, place in (*terms, *move.moderate) if not is_dim}


def _sums(conditions: Sequence[tuple[bool, Sum]], value: Sum) -> list[Sum]:
    return [value, *[total for _, total in conditions]]


class Rows(NamedTuple):
    """Stretches of memory: in each group `many` of `width` bytes that lie `pitch` apart; the groups begin at `starts`."""

    width: int
    many: int
    pitch: int
    starts: tuple[int, ...]


def rows_of(box: Box, shape: Sequence[int], itemsize: int) -> Rows:
    """Where a box lies in an array by rows without gaps. The box has elements."""
    strides = [itemsize] * len(shape)
    for number in reversed(range(len(shape) - 1)):
        strides[number] = strides[number + 1] * shape[number + 1]
    inner = len(shape)
    while inner > 0 and box[inner - 1] == (0, shape[inner - 1]):
        inner -= 1
    if inner == 0:
        return Rows(count_of(box) * itemsize, 1, 0, (0,))
    (low, high), width = box[inner - 1], strides[inner - 1]  # of this dimension on, all is one stretch
    start, width = low * width, (high - low) * width
    if inner == 1:
        return Rows(width, 1, 0, (start,))
    (low, high), pitch = box[inner - 2], strides[inner - 2]
    start += low * pitch
    outer = [[k * stride for k in range(*own)] for own, stride in zip(box[: inner - 2], strides, strict=False)]
    return Rows(width, high - low, pitch, tuple([start + sum(offsets) for offsets in product(*outer)]))


def count_of(box: Box) -> int:
    """The number of its elements."""
    count = 1
    for low, high in box:
        count *= high - low
    return count


def _bound(bound: Bound, binding: Binding) -> int | None:
    for conditions, value in bound:
        if all(_sum(total, binding) == 0 if zero else _sum(total, binding) >= 0 for zero, total in conditions):
            return _sum(value, binding)
    return None


def _sum(total: Sum, binding: Binding) -> int:
    number, terms = total
    for is_dim, place, factor in terms:
        number += factor * _value(binding, is_dim, place)
    return number


def _value(binding: Binding, is_dim: bool, place: int) -> int:
    return int(binding.dims[place] if is_dim else binding.leaves[place])
