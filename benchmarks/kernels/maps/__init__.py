"""Loops without neighbours: daxpy, and RAJAPerf's IF_QUAD, EOS and PLANCKIAN (f64)."""

from __future__ import annotations

import numpy as np

from benchmarks.cases import LENGTHS, LONG_TEST_LENGTHS, TEST_LENGTHS, Case, Size, uniform


def _case(name: str, arguments, outputs: tuple[int, ...], cpp_sizes, traffic: int, flops: int, **others) -> Case:
    return Case(
        name=name,
        bound=others.pop("bound", "memory"),
        arguments=arguments,
        outputs=outputs,
        cpp_sizes=cpp_sizes,
        sizes=others.pop("sizes", LENGTHS),
        traffic=lambda n: traffic * n,
        flops=lambda n: flops * n,
        test_extents=TEST_LENGTHS,
        chunked_extents=LONG_TEST_LENGTHS,
        **others,
    )


def _signed(rng: np.random.Generator, n: int):
    return uniform(rng, n) * np.where(rng.random(n) < 0.5, -1.0, 1.0)


CASES = (
    _case("daxpy", lambda rng, n: (1e-6, uniform(rng, n), uniform(rng, n)), (2,), ((1, 0),), 24, 2),
    _case(
        "if_quad",
        lambda rng, n: (_signed(rng, n), uniform(rng, n), uniform(rng, n), np.zeros(n), np.zeros(n)),
        (3, 4),
        ((0, 0),),
        40,
        11,
        rtol=1e-9,  # of roots that nearly cancel
        atol=1e-12,
        sizes=(Size("32 K", (32_768,)), Size("8 M", (1 << 23,))),
    ),
    _case(
        "eos",
        lambda rng, n: (*(uniform(rng, n + 7) for _ in range(3)), np.zeros(n), 0.2, 0.1, 0.3),
        (3,),
        ((3, 0),),
        32,
        16,
    ),
    _case(
        "planckian",
        lambda rng, n: (
            uniform(rng, n),
            uniform(rng, n, low=0.5, high=1.5),
            uniform(rng, n, low=0.5, high=1.5),
            np.zeros(n),
            np.zeros(n),
        ),
        (3, 4),
        ((0, 0),),
        40,
        4,
        bound="compute",
        sizes=(Size("32 K", (32_768,)), Size("8 M", (1 << 23,))),
    ),
)
