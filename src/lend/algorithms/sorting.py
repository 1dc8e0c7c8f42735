"""Sorting: `sort`, `argsort`, `sort_pairs`, `unique`, `top_k`.

Does: the order of NumPy: ascending, NaN last, -0.0 and 0.0 equal; stable.  Does not: complex numbers, records, several
dimensions.
Invariants: results are new arrays; the same bits on any number of threads.
"""

from __future__ import annotations

from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

import lend
from lend import Mut, Ref, T, U, bf16, bool_, f16, f32, f64, i64
from lend.algorithms.forms import count, in_kernels, late_kernel, row
from lend.algorithms.keys import key_bits, key_of, key_type
from lend.algorithms.radix import BINS, BITS, CHUNK, begin_digits, count_digits, digit, sort_rows, varying_bits
from lend.algorithms.selecting import alike, compact_form, kept
from lend.diagnostics.errors import ShapeError
from lend.dims import N

S = TypeVar("S", bound=np.generic)
V = TypeVar("V", bound=np.generic)
E = TypeVar("E")
G = TypeVar("G")


# ------------------------------------------------------------------------------------------------------------ in kernels


@lend.function
def place_of(value: Any, element: Any) -> Any:
    """An unsigned integer that says all of a number, in the order of numbers: -0.0 before 0.0, NaN last."""
    key = key_type(element)
    if element != f16 and element != bf16 and element != f32 and element != f64:
        return key_of(value, element)
    bits = lend.bitcast(value, key)
    top = key(1) << (key_bits(element) - 1)
    return (~bits if bits >= top else bits | top) - least_place(element)


@lend.function
def number_at(place: Any, element: Any) -> Any:
    """The number whose `place_of` this is."""
    key = key_type(element)
    top = key(1) << (key_bits(element) - 1)
    if element == key:
        return place
    if element == bool_:
        return place != 0
    if element != f16 and element != bf16 and element != f32 and element != f64:
        return lend.bitcast(place ^ top, element)
    bits = place + least_place(element)
    return lend.bitcast(bits ^ top if bits >= top else ~bits, element)


@lend.function
def least_place(element: Any) -> Any:
    """How many NaNs have a sign: from the least key, which is theirs, they wrap to the end."""
    key = key_type(element)
    return ~lend.bitcast(element(-np.inf), key)


@lend.function
def sort_form(x: Any) -> Any:
    """The elements in ascending order."""
    n = len(x)
    element = x.dtype
    with lend.unchecked("written whole: two by the loops below, the other by a pass that moves every element"):
        places = lend.empty(key_type(element), n)
        spare = lend.empty(key_type(element), n)
        out = lend.empty(element, n)
    for i in lend.grid(n):
        places[i] = place_of(x[i], element)
    places, _ = sort_rows(places, (), spare, ())
    for i in lend.grid(n):
        out[i] = number_at(places[i], element)
    return out


@lend.function
def argsort_form(x: Any) -> Any:
    """The indices of the elements in ascending order, of equal ones the first first."""
    n = len(x)
    element = x.dtype
    with lend.unchecked("written whole: keys and order by the loop below, the others by a pass that moves every element"):
        keys = lend.empty(key_type(element), n)
        spare = lend.empty(key_type(element), n)
        order = lend.empty(i64, n)
        orders = lend.empty(i64, n)
    for i in lend.grid(n):
        keys[i] = key_of(x[i], element)
        order[i] = i
    _, found = sort_rows(keys, (order,), spare, (orders,))
    return found[0]


@lend.function
def sort_pairs_form(keys: Any, values: Any) -> Any:
    """Keys in ascending order, and the values that stood beside them; of equal keys the first first."""
    alike(keys, values)
    n = len(keys)
    with lend.unchecked("written whole: two by the loop below, the others by a pass that moves every element"):
        own = lend.empty(keys.dtype, n)
        spare = lend.empty(keys.dtype, n)
        moved = lend.empty(values.dtype, n)
        spares = lend.empty(values.dtype, n)
    for i in lend.grid(n):
        own[i] = keys[i]
        moved[i] = values[i]
    own, found = sort_rows(own, (moved,), spare, (spares,))
    return own, found[0]


@lend.function
def unique_form(x: Any) -> Any:
    """The different elements in ascending order."""
    sorted_x = sort_form(x)
    n = len(sorted_x)
    element = x.dtype
    with lend.unchecked("written whole by the loop below"):
        first = lend.empty(bool_, n)
    for i in lend.grid(n):
        first[i] = i == 0 or key_of(sorted_x[i], element) != key_of(sorted_x[max(i - 1, 0)], element)
    return compact_form(sorted_x, first)


@lend.function
def itself(i: Any) -> Any:
    """The index."""
    return i


@lend.function
def top_k_form(x: Any, k: Any) -> Any:
    """The `k` largest elements, the largest first, and their indices; of equal ones the first first."""
    n = len(x)
    element = x.dtype
    key = key_type(element)
    size = max(min(i64(k), n), 0)
    with lend.unchecked("written whole by the loops below"):
        keys = lend.empty(key, n)
        mask = lend.empty(bool_, n)
    for i in lend.grid(n):
        keys[i] = ~key_of(x[i], element)
    shift, width, last = 0, 1, i64(BINS)
    if n > 0:
        low, high = varying_bits(keys)
        width = max(min(high - low, BITS), 1)
        shift = max(high - width, 0)
        counts = lend.zeros(i64, lend.cdiv(n, CHUNK), BINS)
        starts = lend.zeros(i64, BINS)
        count_digits(keys, counts, shift, width)
        begin_digits(counts, starts)
        last = i64(0)
        for d in range(BINS):
            if starts[d] < size:
                last = d
    for i in lend.grid(n):
        mask[i] = i64(digit(keys[i], key, shift, width)) <= last
    order = kept(mask, i64, itself)
    m = len(order)
    with lend.unchecked("written whole: the keys by the loop below, the others by a pass that moves every element"):
        own = lend.empty(key, m)
        spare = lend.empty(key, m)
        orders = lend.empty(i64, m)
    for i in lend.grid(m):
        at = order[i]
        own[i] = keys[at] if at >= 0 and at < n else 0
    _, found = sort_rows(own, (order,), spare, (orders,))
    best = found[0]
    values = lend.zeros(element, size)
    indices = lend.zeros(i64, size)
    for i in lend.grid(size):
        at = best[i]
        indices[i] = at
        values[i] = x[at] if at >= 0 and at < n else element(0)
    return values, indices


@late_kernel
def sort_kernel(x: Ref[T, N]) -> Any:
    """`sort` on arrays."""
    return sort_form(x)


@late_kernel
def argsort_kernel(x: Ref[T, N]) -> Any:
    """`argsort` on arrays."""
    return argsort_form(x)


@late_kernel
def sort_pairs_kernel(keys: Ref[T, N], values: Ref[U, N]) -> Any:
    """`sort_pairs` on arrays."""
    return sort_pairs_form(keys, values)


@late_kernel
def unique_kernel(x: Ref[T, N]) -> Any:
    """`unique` on arrays."""
    return unique_form(x)


@late_kernel
def top_k_kernel(x: Ref[T, N], k: i64) -> Any:
    """`top_k` on arrays."""
    return top_k_form(x, k)


# ----------------------------------------------------------------------------------------------------------- from Python


@overload
def sort(x: NDArray[S]) -> NDArray[S]: ...
@overload
def sort(x: Ref[E, *tuple[Any, ...]]) -> Mut[E, *tuple[Any, ...]]: ...
@in_kernels(sort_form)
def sort(x: Any) -> Any:
    """The elements in ascending order, as `np.sort`: NaN last; -0.0 stands before 0.0.

    Raises ArgumentError and ShapeError for what is not a row of integers, floats or bools.
    """
    return sort_kernel(row(x, "sort"))


@overload
def argsort(x: NDArray[Any]) -> NDArray[np.int64]: ...
@overload
def argsort(x: Ref[Any, *tuple[Any, ...]]) -> Mut[int, *tuple[Any, ...]]: ...
@in_kernels(argsort_form)
def argsort(x: Any) -> Any:
    """The indices that sort, as `np.argsort(x, kind="stable")`: NaN last, -0.0 and 0.0 equal, of equal elements the first first.

    Raises ArgumentError and ShapeError.
    """
    return argsort_kernel(row(x, "argsort"))


@overload
def sort_pairs(keys: NDArray[S], values: NDArray[V]) -> tuple[NDArray[S], NDArray[V]]: ...
@overload
def sort_pairs(
    keys: Ref[E, *tuple[Any, ...]], values: Ref[G, *tuple[Any, ...]]
) -> tuple[Mut[E, *tuple[Any, ...]], Mut[G, *tuple[Any, ...]]]: ...
@in_kernels(sort_pairs_form)
def sort_pairs(keys: Any, values: Any) -> Any:
    """The keys in the order of `argsort`, and the values that stood beside them.

    Raises ArgumentError and ShapeError.
    """
    keys, values = row(keys, "sort_pairs", "keys"), row(values, "sort_pairs", "values", complex=True)
    if len(keys) != len(values):
        raise ShapeError(f"sort_pairs: there are {len(keys)} keys and {len(values)} values")
    return sort_pairs_kernel(keys, values)


@overload
def unique(x: NDArray[S]) -> NDArray[S]: ...
@overload
def unique(x: Ref[E, *tuple[Any, ...]]) -> Mut[E, *tuple[Any, ...]]: ...
@in_kernels(unique_form)
def unique(x: Any) -> Any:
    """The different elements in ascending order, as `np.unique`: one NaN, one zero.

    Raises ArgumentError and ShapeError.
    """
    return unique_kernel(row(x, "unique"))


@overload
def top_k(x: NDArray[S], k: int) -> tuple[NDArray[S], NDArray[np.int64]]: ...
@overload
def top_k(x: Ref[E, *tuple[Any, ...]], k: int) -> tuple[Mut[E, *tuple[Any, ...]], Mut[int, *tuple[Any, ...]]]: ...
@in_kernels(top_k_form)
def top_k(x: Any, k: int) -> Any:
    """The `k` largest elements, the largest first, and their indices. NaN counts as the largest; of equal elements the first
    first.

    Raises ArgumentError and ShapeError; there must be `k` elements.
    """
    x = row(x, "top_k")
    k = count(k, "top_k", "k")
    if k > len(x):
        raise ShapeError(f"top_k: there are {len(x)} elements, fewer than k = {k}")
    return top_k_kernel(x, k)
