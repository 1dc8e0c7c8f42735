"""The five kernels of STREAM (f64)."""

from __future__ import annotations

import numpy as np

from benchmarks.cases import LENGTHS, LONG_TEST_LENGTHS, TEST_LENGTHS, Case, uniform


def _case(name: str, arguments, outputs: tuple[int, ...], traffic: int, flops: int, **others) -> Case:
    return Case(
        name=name,
        bound="memory",
        arguments=arguments,
        outputs=outputs,
        cpp_sizes=((0, 0),),
        sizes=LENGTHS,
        traffic=lambda n: traffic * n,
        flops=lambda n: flops * n,
        test_extents=TEST_LENGTHS,
        chunked_extents=LONG_TEST_LENGTHS,
        **others,
    )


CASES = (
    _case("copy", lambda rng, n: (uniform(rng, n), np.zeros(n)), (1,), 16, 0),
    _case("mul", lambda rng, n: (uniform(rng, n), np.zeros(n), 0.3), (1,), 16, 1),
    _case("add", lambda rng, n: (uniform(rng, n), uniform(rng, n), np.zeros(n)), (2,), 24, 1),
    _case("triad", lambda rng, n: (uniform(rng, n), uniform(rng, n), np.zeros(n), 0.3), (2,), 24, 2),
    _case("dot", lambda rng, n: (uniform(rng, n), uniform(rng, n)), (), 16, 2, returns=np.float64),
)
