"""Data-dependent accesses: a histogram whose parts are added up, and a sparse matrix (CSR) times a vector (f64)."""

from __future__ import annotations

import numpy as np

from benchmarks.cases import Case, Size, uniform


def _bins(rng, n: int, bins: int):
    return rng.integers(0, bins, n).astype(np.int32), np.zeros(bins, np.int64)


def _csr(rng, rows: int, columns: int, per_row: int):
    lengths = rng.integers(0, 2 * per_row + 1, rows)
    starts = np.zeros(rows + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    places = rng.integers(0, columns, int(starts[-1])).astype(np.int32)
    return starts, places, uniform(rng, places.size), uniform(rng, columns), np.zeros(rows)


CASES = (
    Case(
        name="histogram",
        bound="memory",
        arguments=_bins,
        outputs=(1,),
        cpp_sizes=((0, 0), (1, 0)),
        sizes=(Size("1 M, 1024 bins", (1 << 20, 1024)), Size("32 M, 1024 bins", (1 << 25, 1024))),
        traffic=lambda n, bins: 4 * n,
        flops=lambda n, bins: n,
        test_extents=((1, 1), (7, 3), (8, 9), (33, 8), (64, 17), (129, 5), (257, 33)),
        chunked_extents=((262_143, 10), (262_144, 64), (262_145, 65), (800_003, 1000)),
    ),
    Case(
        name="csr",
        bound="memory",
        arguments=_csr,
        outputs=(4,),
        cpp_sizes=((4, 0),),
        sizes=(Size("4 K rows", (4096, 4096, 16)), Size("1 M rows", (1 << 20, 1 << 20, 16))),
        traffic=lambda rows, columns, per_row: rows * (12 * per_row + 16) + 8 * columns,
        flops=lambda rows, columns, per_row: 2 * rows * per_row,
        test_extents=((1, 1, 1), (3, 5, 2), (8, 9, 4), (17, 7, 8), (33, 64, 3), (9, 100, 33)),
        chunked_extents=((1000, 301, 16), (5001, 5000, 3), (300, 70_000, 100)),
    ),
)
