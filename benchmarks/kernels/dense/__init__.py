"""Dense linear algebra and its like (f64): matrix and vector, RAJAPerf's GEMM, 2MM, FLOYD_WARSHALL and LTIMES."""

from __future__ import annotations

import numpy as np

from benchmarks.cases import Case, Size, uniform

_VECTORS = (
    (1, 1), (1, 9), (2, 17), (7, 8), (8, 7), (9, 33), (15, 16), (16, 31), (17, 15), (23, 24), (24, 25), (25, 65), (33, 9), (65, 3)
)  # fmt: skip
_LONG_VECTORS = ((257, 129), (1000, 67), (67, 1000), (3, 70_001), (70_001, 3))

CASES = (
    Case(
        name="matvec",
        bound="memory",
        arguments=lambda rng, n, m: (uniform(rng, n, m), uniform(rng, m), np.zeros(n)),
        outputs=(2,),
        cpp_sizes=((0, 0), (0, 1)),
        sizes=(Size("400²", (400, 400)), Size("6000²", (6000, 6000))),
        traffic=lambda n, m: 8 * n * m,
        flops=lambda n, m: 2 * n * m,
        test_extents=_VECTORS,
        chunked_extents=_LONG_VECTORS,
    ),
    Case(
        name="matvec_transposed",
        bound="memory",
        arguments=lambda rng, n, m: (uniform(rng, n, m), uniform(rng, n), np.zeros(m)),
        outputs=(2,),
        cpp_sizes=((0, 0), (0, 1)),
        sizes=(Size("400²", (400, 400)), Size("6000²", (6000, 6000))),
        traffic=lambda n, m: 8 * n * m,
        flops=lambda n, m: 2 * n * m,
        test_extents=_VECTORS,
        chunked_extents=_LONG_VECTORS,
    ),
    Case(
        name="gemm",
        bound="compute",
        arguments=lambda rng, n, m, k: (uniform(rng, n, k), uniform(rng, k, m), np.zeros((n, m))),
        outputs=(2,),
        cpp_sizes=((2, 0), (2, 1), (0, 1)),
        sizes=(
            Size("200", (200, 200, 200)),
            Size("1000", (1000, 1000, 1000)),
            Size("2000", (2000, 2000, 2000), without=("Numba", "Taichi", "Warp")),
        ),
        traffic=lambda n, m, k: 8 * (n * m + n * k + k * m),
        flops=lambda n, m, k: 2 * n * m * k,
        test_extents=(
            (1, 1, 1),
            (1, 9, 3),
            (7, 8, 5),
            (8, 7, 9),
            (8, 24, 4),
            (9, 25, 7),
            (9, 23, 1),
            (16, 17, 8),
            (3, 49, 2),
            (17, 33, 3),
            (5, 5, 40),
            (2, 3, 0),
        ),
        chunked_extents=((65, 67, 63), (129, 50, 257), (40, 301, 513), (300, 31, 20)),
    ),
    Case(
        name="two_mm",
        bound="compute",
        arguments=lambda rng, n, m, k, p: (
            uniform(rng, n, k),
            uniform(rng, k, m),
            uniform(rng, m, p),
            np.zeros((n, m)),
            np.zeros((n, p)),
            1.5,
            1.2,
        ),
        outputs=(3, 4),
        cpp_sizes=((0, 0), (1, 1), (0, 1), (2, 1)),
        sizes=(Size("400", (400, 400, 448, 400)),),
        traffic=lambda n, m, k, p: 8 * (n * k + k * m + 2 * n * m + m * p + n * p),
        flops=lambda n, m, k, p: 3 * n * m * k + 2 * n * m * p,
        test_extents=((1, 1, 1, 1), (3, 9, 2, 8), (8, 7, 9, 17), (9, 25, 4, 24), (17, 8, 5, 9), (5, 33, 3, 31)),
        chunked_extents=((65, 67, 63, 40), (129, 50, 70, 66), (40, 101, 131, 103)),
    ),
    Case(
        name="floyd_warshall",
        bound="compute",
        arguments=lambda rng, n: (uniform(rng, n, n, low=-0.1, high=1.0), np.zeros((n, n))),
        outputs=(1,),
        cpp_sizes=((0, 0),),
        sizes=(Size("150", (150,)), Size("500", (500,))),
        traffic=lambda n: 16 * n * n,
        flops=lambda n: n * n * n,
        test_extents=((1,), (2,), (7,), (8,), (9,), (15,), (17,), (25,)),
        chunked_extents=((65,), (131,), (200,)),
    ),
    Case(
        name="ltimes",
        bound="compute",
        arguments=lambda rng, z, g, m, d: (uniform(rng, z, g, m), uniform(rng, m, d), uniform(rng, z, g, d)),
        outputs=(0,),
        cpp_sizes=((0, 0), (0, 1), (0, 2), (1, 1)),
        sizes=(Size("z=64", (64, 32, 25, 64)), Size("z=4096", (4096, 32, 25, 64))),
        traffic=lambda z, g, m, d: 8 * z * g * (2 * m + d),
        flops=lambda z, g, m, d: 2 * z * g * m * d,
        test_extents=((1, 1, 1, 1), (2, 3, 8, 5), (3, 2, 7, 9), (2, 4, 25, 6), (1, 5, 17, 16), (2, 1, 33, 3), (2, 9, 9, 4)),
        chunked_extents=((9, 32, 25, 64), (33, 7, 25, 17), (70, 5, 9, 33), (3, 300, 13, 8)),
    ),
)
