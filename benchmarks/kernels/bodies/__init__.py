"""Loops that compute much and move little: the Mandelbrot set (f64) and the accelerations of n bodies (f32)."""

from __future__ import annotations

import numpy as np

from benchmarks.cases import Case, Size, uniform


def _bodies(rng, n: int):
    points = [uniform(rng, n, low=-1.0, high=1.0, dtype=np.float32) for _ in range(3)]
    return (*points, *(np.zeros(n, np.float32) for _ in range(3)))


CASES = (
    Case(
        name="mandelbrot",
        bound="compute",
        arguments=lambda rng, h, w, limit: (np.zeros((h, w), np.int32), limit),
        outputs=(0,),
        cpp_sizes=((0, 0), (0, 1)),
        sizes=(Size("256²", (256, 256, 200)), Size("1024²", (1024, 1024, 200))),
        traffic=lambda h, w, limit: 4 * h * w,
        flops=lambda h, w, limit: 10 * 50 * h * w,
        test_extents=((1, 1, 20), (3, 7, 20), (2, 8, 20), (5, 9, 20), (4, 16, 20), (3, 33, 20), (17, 5, 20), (6, 66, 10)),
        chunked_extents=((67, 131, 100), (200, 37, 50), (33, 515, 50)),
        share=0.999,  # points on the rim of the set tip over with one rounding
    ),
    Case(
        name="nbody",
        bound="compute",
        arguments=_bodies,
        outputs=(3, 4, 5),
        cpp_sizes=((0, 0),),
        sizes=(Size("512", (512,)), Size("4096", (4096,))),
        traffic=lambda n: 24 * n,
        flops=lambda n: 19 * n * n,
        test_extents=((1,), (2,), (7,), (8,), (9,), (15,), (16,), (17,), (31,), (33,), (47,)),
        chunked_extents=((129,), (515,), (1030,)),
        rtol=1e-3,  # of sums that nearly cancel
        atol=1e-2,
    ),
)
