"""Stream compaction: `compact` by a mask, `compact_if` by a predicate.

Does: keep elements in their order, in a new array of exactly as many.  Does not: several dimensions.
Invariants: each chunk counts what it keeps, and writes it, from a buffer of its own, behind what earlier chunks keep. These
places are sums of counts, which no rule of integers knows to be apart, so the writes stand in `lend.unchecked`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

import lend
from lend import Mut, Ref, T, U, bool_, comptime, i64
from lend.algorithms.forms import in_kernels, late_kernel, row
from lend.diagnostics.errors import ShapeError
from lend.dims import N

S = TypeVar("S", bound=np.generic)
E = TypeVar("E")

CHUNK = 2048
"""Elements that one iteration looks at, and has a buffer for."""


# ------------------------------------------------------------------------------------------------------------ in kernels


@lend.function
def kept(mask: Any, element: Any, value: Any) -> Any:
    """`value(i)`, of type `element`, for each `i` for which `mask` is not zero."""
    n = len(mask)
    chunks = lend.cdiv(n, CHUNK)
    begins = lend.zeros(i64, chunks + 1)
    for c in lend.grid(chunks):
        count = i64(0)
        for i in range(c * CHUNK, min(c * CHUNK + CHUNK, n)):
            count += i64(mask[i] != 0)
        begins[c] = count
    total = i64(0)
    for c in range(chunks):
        count = begins[c]
        begins[c] = total
        total += count
    begins[chunks] = total
    with lend.unchecked("the counts of the chunks add up to its size"):
        y = lend.empty(element, total)
    for c in lend.grid(chunks):
        buffer = lend.local(element, CHUNK)
        count = i64(0)
        begin = begins[c]
        end = begins[c + 1]
        for i in range(c * CHUNK, min(c * CHUNK + CHUNK, n)):
            found = value(i)
            keep = i64(mask[i] != 0)
            with lend.unchecked("a buffer holds as many elements as a chunk has"):
                buffer[count] = found
            count += keep
        with lend.unchecked("a chunk writes from where those before it end to where the next begins"):
            for k in range(min(count, end - begin)):
                y[begin + k] = buffer[k]
    return y


@late_kernel
def alike(x: Ref[T, N], mask: Ref[U, N]) -> None:
    """Refuses arrays that are not rows of one length."""


@lend.function
def compact_form(x: Any, mask: Any) -> Any:
    """The elements of `x` where `mask` is not zero."""
    alike(x, mask)

    def element(i: Any) -> Any:
        return x[i]

    return kept(mask, x.dtype, element)


@lend.function
def compact_if_form(x: Any, predicate: Any) -> Any:
    """The elements of `x` for which `predicate` holds."""
    with lend.unchecked("written whole by the loop below"):
        mask = lend.empty(bool_, len(x))  # evaluated once: what is counted is what is kept, whatever the predicate computes
    for i in lend.grid(len(x)):
        mask[i] = bool(predicate(x[i]))
    return compact_form(x, mask)


@late_kernel
def compact_kernel(x: Ref[T, N], mask: Ref[U, N]) -> Any:
    """`compact` on arrays."""
    return compact_form(x, mask)


@late_kernel
def compact_if_kernel(x: Ref[T, N], predicate: comptime[Callable[..., Any]]) -> Any:
    """`compact_if` on arrays."""
    return compact_if_form(x, predicate)


# ----------------------------------------------------------------------------------------------------------- from Python


@overload
def compact(x: NDArray[S], mask: NDArray[Any]) -> NDArray[S]: ...
@overload
def compact(x: Ref[E, *tuple[Any, ...]], mask: Ref[Any, *tuple[Any, ...]]) -> Mut[E, *tuple[Any, ...]]: ...
@in_kernels(compact_form)
def compact(x: Any, mask: Any) -> Any:
    """The elements of `x` where `mask`, a row of as many bools or integers, is not zero, in their order: `x[mask]`.

    Raises ArgumentError and ShapeError.
    """
    x, mask = row(x, "compact", complex=True), row(mask, "compact", "mask")
    if len(x) != len(mask):
        raise ShapeError(f"compact: x has {len(x)} elements, and mask {len(mask)}")
    return compact_kernel(x, mask)


@overload
def compact_if(x: NDArray[S], predicate: Callable[[Any], Any]) -> NDArray[S]: ...
@overload
def compact_if(x: Ref[E, *tuple[Any, ...]], predicate: Callable[[Any], Any]) -> Mut[E, *tuple[Any, ...]]: ...
@in_kernels(compact_if_form)
def compact_if(x: Any, predicate: Callable[[Any], Any]) -> Any:
    """The elements of `x` for which `predicate`, a function of kernels, holds, in their order.

    A predicate is compiled into the code: define it once, outside of loops. Raises ArgumentError, ShapeError and CompileError.
    """
    return compact_if_kernel(row(x, "compact_if", complex=True), predicate)
