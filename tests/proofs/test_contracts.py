"""Contracts that integer sets cannot say: they take nothing away from what happens, and refute nothing."""

from __future__ import annotations

import numpy as np
import pytest
from verdicts import assert_accepted, assert_proved, others, refused

import lend
from lend import Mut, Out, Ref, f64, i64
from lend.dims import M, N


def test_an_array_is_written_whole_under_a_contract_of_floats():
    @lend.kernel
    def kernel(y: Out[f64, N], width: f64):
        assert width > 0
        for i in lend.grid(N):
            y[i] = 1.0 / width

    assert_proved(kernel)


def test_a_guard_of_floats_is_no_contract():
    with refused("L0321", "`y`"):

        @lend.kernel
        def kernel(y: Out[f64, N], width: f64):
            for i in lend.grid(N):
                if width > 0:
                    y[i] = 1.0 / width


def test_what_a_nonlinear_contract_rules_out_is_not_refuted():
    @lend.kernel
    def kernel(y: Mut[f64, N], n: i64):
        assert n * n >= 4 and n * n <= 9 and n > 0 and N * n >= 6
        for i in lend.grid(2):
            y[i] = 1.0

    assert others(kernel) == ["bounds launch y"]
    y = np.zeros(3)
    kernel(y, 3)
    assert y.tolist() == [1.0, 1.0, 0.0]


def test_a_shift_that_a_contract_holds_small_is_proved():
    @lend.kernel
    def kernel(x: Ref[f64, M], y: Mut[f64, N], n: i64):
        assert n >= 0 and M + n <= N
        for i in lend.grid(M):
            y[i + n] = x[i]

    assert_proved(kernel)
    y = np.zeros(3)
    kernel(np.ones(2), y, 1)
    assert y.tolist() == [0, 1, 1]
    for n in (2, -1, 2**63 - 1, -(2**63)):
        with pytest.raises(lend.ContractError):
            kernel(np.ones(2), y, n)


def test_a_shift_that_a_contract_bounds_on_one_side_only_is_a_condition():
    @lend.kernel
    def kernel(x: Ref[f64, M], y: Mut[f64, N], n: i64):
        assert M + n <= N
        for i in lend.grid(M):
            y[i + n] = x[i]

    assert_accepted(kernel, {"bounds launch y"})
    y = np.zeros(3)
    for n in (-1, -(2**63)):
        with pytest.raises(lend.BoundsError):
            kernel(np.ones(2), y, n)
