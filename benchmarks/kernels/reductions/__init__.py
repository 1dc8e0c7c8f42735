"""Reductions: sum (f64 and f32) and the smallest element with its place (f64). STREAM's dot is in `stream`."""

from __future__ import annotations

import numpy as np

from benchmarks.cases import LENGTHS, LONG_TEST_LENGTHS, TEST_LENGTHS, Case, uniform


def _case(name: str, dtype, returns, rtol: float, flops: int) -> Case:
    width = np.dtype(dtype).itemsize
    return Case(
        name=name,
        bound="memory",
        arguments=lambda rng, n: (uniform(rng, n, dtype=dtype),),
        outputs=(),
        cpp_sizes=((0, 0),),
        sizes=LENGTHS,
        traffic=lambda n: width * n,
        flops=lambda n: flops * n,
        test_extents=TEST_LENGTHS,
        chunked_extents=LONG_TEST_LENGTHS,
        returns=returns,
        rtol=rtol,
    )


CASES = (
    _case("sum", np.float64, np.float64, 1e-11, 1),
    _case("sum32", np.float32, np.float32, 2e-2, 1),  # plain loops lose as much over 16 M elements
    _case("min_location", np.float64, np.dtype([("value", np.float64), ("place", np.int64)]), 0.0, 1),
)
