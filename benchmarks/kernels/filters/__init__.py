"""Filters: RAJAPerf's FIR with 16 taps (f64), and a bilateral filter of 5 by 5 pixels (f32)."""

from __future__ import annotations

import numpy as np

from benchmarks.cases import LENGTHS, LONG_TEST_LENGTHS, TEST_LENGTHS, Case, Size, uniform

TAPS = (3.0, -1.0, -1.0, -1.0, -1.0, 3.0, -1.0, -1.0, -1.0, -1.0, 3.0, -1.0, -1.0, -1.0, -1.0, 3.0)

CASES = (
    Case(
        name="fir",
        bound="compute",
        arguments=lambda rng, n: (uniform(rng, n + 15), np.zeros(n)),
        outputs=(1,),
        cpp_sizes=((1, 0),),
        sizes=LENGTHS,
        traffic=lambda n: 16 * n,
        flops=lambda n: 32 * n,
        test_extents=TEST_LENGTHS,
        chunked_extents=LONG_TEST_LENGTHS,
        atol=1e-12,
    ),
    Case(
        name="bilateral",
        bound="compute",
        arguments=lambda rng, h, w: (uniform(rng, h, w, dtype=np.float32), np.zeros((h, w), np.float32), 2.0, 0.25),
        outputs=(1,),
        cpp_sizes=((0, 0), (0, 1)),
        sizes=(Size("256²", (256, 256)), Size("1024²", (1024, 1024))),
        traffic=lambda h, w: 8 * h * w,
        flops=lambda h, w: 25 * 10 * h * w,
        test_extents=((5, 5), (6, 12), (5, 19), (6, 20), (7, 21), (9, 36), (20, 9)),
        chunked_extents=((67, 131), (40, 517), (300, 37)),
        rtol=1e-5,
    ),
)
