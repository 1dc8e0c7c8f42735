"""`reduce` and `scan`: what an associative function makes of a row.

Does: combine elements in their order, in chunks in parallel.  Does not: functions that are not associative.
Invariants: how elements are grouped depends on their number alone, so results have the same bits on any number of threads; of
`add`, `min` and `max`, `reduce` is the reduction of the language.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

import lend
from lend import Mut, Ref, T, bool_, comptime, i8, i16, i32, i64, u8, u16, u32, u64
from lend.algorithms.forms import in_kernels, late_kernel, of_type, row
from lend.dims import N

E = TypeVar("E")

CHUNK = 4096
"""Elements that one iteration combines."""

STRANDS = 8
"""Parts of a chunk that are combined side by side, so that no function waits for the one before it."""

GROUP = 8
"""Neighbours that a scan combines among themselves first, for the same reason."""

WAVE = 1 << 18
"""Elements of a scan that are read twice in a row, the second time from a cache."""


@lend.function
def add(a: Any, b: Any) -> Any:
    """The sum."""
    return a + b


@lend.function
def summed(element: Any) -> Any:
    """The type in which NumPy adds up elements of a type."""
    if element == bool_ or element == i8 or element == i16 or element == i32:  # noqa: SIM109  (kernels have no `in`)
        return i64
    if element == u8 or element == u16 or element == u32:  # noqa: SIM109  (kernels have no `in`)
        return u64
    return element


@lend.function
def combined(x: Any, begin: Any, end: Any, f: Any, element: Any) -> Any:
    """The elements from `begin` to `end`, of which there is one, combined in order."""
    total = element(x[begin])
    for i in range(begin + 1, end):
        total = element(f(total, element(x[i])))
    return total


@lend.function
def chunk_combined(x: Any, begin: Any, f: Any, element: Any) -> Any:
    """The elements of a whole chunk, combined in order."""
    strands = lend.local(element, STRANDS)
    for s in lend.static_range(STRANDS):
        strands[s] = element(x[begin + s * (CHUNK // STRANDS)])
    for k in range(1, CHUNK // STRANDS):
        for s in lend.static_range(STRANDS):
            strands[s] = element(f(strands[s], element(x[begin + s * (CHUNK // STRANDS) + k])))
    total = strands[0]
    for s in lend.static_range(1, STRANDS):
        total = element(f(total, strands[s]))
    return total


@lend.function
def reduce_form(x: Any, f: Any = add, identity: Any = 0) -> Any:
    """All elements combined, after `identity`."""
    n = len(x)
    element = summed(x.dtype) if f is add else x.dtype
    total = element(identity)
    if f is add:
        for i in lend.grid(n):
            total += element(x[i])
    elif f is min or f is np.minimum:
        for i in lend.grid(n):
            total = min(total, x[i])
    elif f is max or f is np.maximum:
        for i in lend.grid(n):
            total = max(total, x[i])
    else:
        chunks = n // CHUNK
        parts = lend.zeros(element, chunks)
        for c in lend.grid(chunks):
            parts[c] = chunk_combined(x, c * CHUNK, f, element)
        for c in range(chunks):
            total = element(f(total, parts[c]))
        for i in range(chunks * CHUNK, n):
            total = element(f(total, element(x[i])))
    return total


@lend.function
def scan_form(x: Any, f: Any = add, exclusive: Any = False, identity: Any = 0) -> Any:
    """Each element combined with all before it, or, `exclusive`, `identity` and those before it combined."""
    n = len(x)
    element = summed(x.dtype) if f is add else x.dtype
    with lend.unchecked("each wave writes its own elements, and the waves are all there is"):
        y = lend.empty(element, n)
    before = lend.zeros(element, WAVE // CHUNK)
    carry = element(identity)
    for wave in range(0, n, WAVE):
        for c in lend.grid(WAVE // CHUNK):
            part = element(identity)
            if wave + c * CHUNK + CHUNK <= n:
                part = chunk_combined(x, wave + c * CHUNK, f, element)
            before[c] = part
        for c in range(WAVE // CHUNK):
            part = before[c]
            before[c] = carry
            carry = part if wave + c == 0 else element(f(carry, part))
        for c in lend.grid(WAVE // CHUNK):
            begin = wave + c * CHUNK
            total = before[c]
            if begin > 0 and begin + CHUNK <= n:
                for k in range(CHUNK // GROUP):
                    sums = lend.local(element, GROUP)
                    sums[0] = element(x[begin + k * GROUP])
                    for j in lend.static_range(1, GROUP):
                        sums[j] = element(f(sums[j - 1], element(x[begin + k * GROUP + j])))
                    if exclusive:
                        y[begin + k * GROUP] = total
                    for j in lend.static_range(GROUP - exclusive):
                        y[begin + k * GROUP + j + exclusive] = element(f(total, sums[j]))
                    total = element(f(total, sums[GROUP - 1]))
            else:
                for i in range(begin, min(begin + CHUNK, n)):
                    value = element(x[i]) if i == 0 else element(f(total, element(x[i])))
                    y[i] = total if exclusive else value
                    total = value
    return y


@late_kernel
def reduce_kernel(x: Ref[T, N], f: comptime[Callable[..., Any]], identity: T) -> Any:
    """`reduce` on arrays."""
    return reduce_form(x, f, identity)


@late_kernel
def scan_kernel(x: Ref[T, N], f: comptime[Callable[..., Any]], exclusive: comptime[bool], identity: T) -> Any:
    """`scan` on arrays."""
    return scan_form(x, f, exclusive, identity)


# ----------------------------------------------------------------------------------------------------------- from Python


@in_kernels(reduce_form)
def reduce(x: NDArray[Any] | Ref[Any, *tuple[Any, ...]], f: Callable[[Any, Any], Any] = add, identity: Any = 0) -> Any:
    """`identity` and all elements, in their order, combined by an associative function of kernels (by default, added up).

    Sums of integers are `i64` or `u64`, as NumPy's; everything else has the type of the elements. A function is compiled into the
    code: define it once, outside of loops. Raises ArgumentError, ShapeError and CompileError.
    """
    array = row(x, "reduce", complex=True)
    return reduce_kernel(array, f, of_type(array, identity, "reduce"))


@overload
def scan(x: NDArray[Any], f: Callable[[Any, Any], Any] = add, exclusive: bool = False, identity: Any = 0) -> NDArray[Any]: ...
@overload
def scan(
    x: Ref[E, *tuple[Any, ...]], f: Callable[[Any, Any], Any] = add, exclusive: bool = False, identity: Any = 0
) -> Mut[E, *tuple[Any, ...]]: ...
@in_kernels(scan_form)
def scan(x: Any, f: Callable[[Any, Any], Any] = add, exclusive: bool = False, identity: Any = 0) -> Any:
    """Each element combined with all before it, by an associative function of kernels (by default, added up: `np.cumsum`).

    `exclusive`: element `i` is `identity` and the elements before `i` combined. Types, and errors, are those of `reduce`.
    """
    array = row(x, "scan", complex=True)
    return scan_kernel(array, f, bool(exclusive), of_type(array, identity, "scan"))
