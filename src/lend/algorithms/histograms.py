"""`histogram`: how many numbers fall between edges.

Does: NumPy's histogram over bins of one width, with its corrections at the edges.  Does not: weights, densities, unequal bins.
Invariants: chunks count for themselves and are added up, so results do not depend on the number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import lend
from lend import Ref, T, f64, i64
from lend.algorithms.forms import count, in_kernels, late_kernel, row
from lend.diagnostics.errors import ArgumentError
from lend.dims import M, N

CHUNK = 1 << 15
"""Elements that one iteration counts, at least."""

PARTS = 64
"""Chunks, at most."""

ROOM = 1 << 22
"""Counters of all chunks together, about."""


# ------------------------------------------------------------------------------------------------------------ in kernels


@lend.function
def bin_of(value: Any, edges: Any, bins: Any, low: Any, scale: Any) -> Any:
    """The bin of a number between the first and the last edge: about where it lies, then corrected by the edges themselves."""
    k = min(max(i64((value - low) * scale), 0), bins - 1)
    if k > 0 and value < edges[k]:
        k -= 1
    elif k < bins - 1 and value >= edges[k + 1]:
        k += 1
    return k


@lend.function
def counted(x: Any, edges: Any, bins: Any) -> Any:
    """How many elements lie between each two of `bins` + 1 edges, which ascend in even steps."""
    n = len(x)
    low, high = edges[0], edges[bins]
    scale = f64(bins) / (high - low)
    sizes = lend.zeros(i64, 1)  # not for proofs: what is read from an array has no history
    sizes[0] = max(1, min(min(PARTS, lend.cdiv(n, CHUNK)), ROOM // bins))
    chunks = sizes[0]
    counts = lend.zeros(i64, chunks, bins)
    for c in lend.grid(chunks):
        for i in range(n * c // chunks, n * (c + 1) // chunks):
            value = f64(x[i])
            if low <= value and value <= high:
                k = bin_of(value, edges, bins, low, scale)
                if k >= 0 and k < bins:
                    counts[c, k] += 1
    total = lend.zeros(i64, bins)
    for k in lend.grid(bins):
        sum = i64(0)
        for c in range(chunks):
            sum += counts[c, k]
        total[k] = sum
    return total


@lend.function
def histogram_form(x: Any, bins: Any, low: Any, high: Any) -> Any:
    """How many elements lie in each of `bins` bins of one width from `low` to `high`, the last of which includes `high`."""
    bins = max(i64(bins), 1)
    edges = lend.zeros(f64, bins + 1)
    for k in lend.grid(bins + 1):
        edges[k] = f64(high) if k == bins else f64(low) + k * ((f64(high) - f64(low)) / f64(bins))
    return counted(x, edges, bins)


@late_kernel
def histogram_kernel(x: Ref[T, N], edges: Ref[f64, M]) -> Any:
    """`histogram` on arrays."""
    assert M >= 2
    return counted(x, edges, M - 1)


# ----------------------------------------------------------------------------------------------------------- from Python


@in_kernels(histogram_form)
def histogram(
    x: NDArray[Any] | Ref[Any, *tuple[Any, ...]], bins: int = 10, low: float | None = None, high: float | None = None
) -> NDArray[np.int64]:
    """How many elements lie in each of `bins` bins of one width from `low` to `high`, as the counts of `np.histogram`.

    The last bin includes `high`; elements outside, and NaN, are not counted. Without `low` and `high` they are the least and the
    largest element (in kernels they must be given). Raises ArgumentError, ShapeError, and ContractError if `low` is not less than
    `high`.
    """
    array = row(x, "histogram")
    bins = count(bins, "histogram", "bins", 1)
    if array.dtype.kind == "b":
        array = array.view(np.uint8)
    limits = None if low is None and high is None else (low, high)
    if limits is not None and (low is None or high is None or not low <= high):
        raise ArgumentError(f"histogram: low must not exceed high, and they are {low} and {high}")
    try:
        edges = np.histogram_bin_edges(array, bins, limits)  # type: ignore[arg-type]
    except ValueError as error:
        raise ArgumentError(f"histogram: {error}") from None
    return histogram_kernel(array, edges.astype(np.float64))
