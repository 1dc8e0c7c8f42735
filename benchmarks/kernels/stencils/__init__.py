"""Stencils with time steps (f64): RAJAPerf's JACOBI_1D, JACOBI_2D, HEAT_3D and FDTD_2D."""

from __future__ import annotations

from benchmarks.cases import Case, Size, uniform


def _pair(rng, *shape: int):
    a = uniform(rng, *shape)
    return a, uniform(rng, *shape)


CASES = (
    Case(
        name="jacobi_1d",
        bound="memory",
        arguments=lambda rng, n, steps: (*_pair(rng, n), steps),
        outputs=(0, 1),
        cpp_sizes=((0, 0),),
        sizes=(Size("32 K, 16 steps", (32_768, 16)), Size("16 M, 8 steps", (1 << 24, 8))),
        traffic=lambda n, steps: 32 * n * steps,
        flops=lambda n, steps: 6 * n * steps,
        test_extents=(*tuple((n, 2) for n in (3, 4, 9, 10, 11, 17, 18, 19, 33, 34, 66, 67, 130, 258)), (64, 0), (65, 5)),
        chunked_extents=((4099, 3), (65_541, 5), (300_001, 2)),
    ),
    Case(
        name="jacobi_2d",
        bound="memory",
        arguments=lambda rng, n, m, steps: (*_pair(rng, n, m), steps),
        outputs=(0, 1),
        cpp_sizes=((0, 0), (0, 1)),
        sizes=(Size("256², 20 steps", (256, 256, 20)), Size("4096², 8 steps", (4096, 4096, 8))),
        traffic=lambda n, m, steps: 32 * n * m * steps,
        flops=lambda n, m, steps: 10 * n * m * steps,
        test_extents=((3, 3, 1), (3, 10, 2), (4, 17, 2), (5, 18, 2), (10, 19, 1), (11, 34, 1), (19, 11, 1), (7, 66, 3)),
        chunked_extents=((67, 131, 3), (258, 259, 2), (515, 130, 9), (33, 4100, 4)),
    ),
    Case(
        name="heat_3d",
        bound="memory",
        arguments=lambda rng, n, m, k, steps: (*_pair(rng, n, m, k), steps),
        outputs=(0, 1),
        cpp_sizes=((0, 0), (0, 1), (0, 2)),
        sizes=(Size("40³, 20 steps", (40, 40, 40, 20)), Size("256³, 4 steps", (256, 256, 256, 4))),
        traffic=lambda n, m, k, steps: 32 * n * m * k * steps,
        flops=lambda n, m, k, steps: 30 * n * m * k * steps,
        test_extents=((3, 3, 3, 1), (3, 4, 10, 2), (4, 3, 18, 1), (5, 5, 19, 1), (6, 4, 34, 1), (4, 4, 67, 1)),
        chunked_extents=((20, 21, 67, 3), (35, 34, 33, 2), (9, 130, 131, 5)),
    ),
    Case(
        name="fdtd_2d",
        bound="memory",
        arguments=lambda rng, n, m, steps: (*_pair(rng, n, m), uniform(rng, n, m), uniform(rng, steps)),
        outputs=(0, 1, 2),
        cpp_sizes=((0, 0), (0, 1), (3, 0)),
        sizes=(Size("200², 20 steps", (200, 200, 20)), Size("3000², 4 steps", (3000, 3000, 4))),
        traffic=lambda n, m, steps: 88 * n * m * steps,
        flops=lambda n, m, steps: 11 * n * m * steps,
        test_extents=((2, 2, 1), (3, 9, 2), (4, 17, 2), (9, 18, 1), (10, 33, 1), (18, 7, 1), (6, 66, 1)),
        chunked_extents=((67, 131, 3), (258, 259, 2), (515, 130, 5), (33, 4100, 3)),
        rtol=1e-9,  # of differences
        atol=1e-12,
    ),
)
