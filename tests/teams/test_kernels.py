"""Our team kernels under the judge, which finds nothing, and before the proofs (`tests/run/test_teams.py` runs them compiled)."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import lend

from .kernels import CASES


@pytest.mark.parametrize("name", CASES)
def test_the_judge_finds_nothing_and_leaves_what_numpy_computes(name: str) -> None:
    case = CASES[name]
    for seed in range(2):
        arguments = case.arguments(np.random.default_rng(seed))
        expected = case.expected(copy.deepcopy(arguments))
        report = lend.sanitize(case.function, seed=seed)(**arguments)
        assert report.ok, str(report)
        for key, value in expected.items():
            if case.exact:
                assert np.array_equal(arguments[key], value), key
            else:
                np.testing.assert_allclose(arguments[key], value, rtol=2e-5 if value.dtype == np.float32 else 1e-11, atol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_a_team_kernel_is_proved(name: str) -> None:
    proofs = lend.kernel(CASES[name].function).proofs()
    assert {proof.verdict for proof in proofs} == {"proved"}, str(proofs)
