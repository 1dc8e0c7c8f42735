"""Arrays that branches write: what both arms write is written, and a flag of the call is a number like any other."""

from __future__ import annotations

import numpy as np
import pytest

import lend
from lend import Mut, Out, Ref, bool_, f64, i64
from lend.dims import M, N

from .verdicts import assert_accepted, assert_proved, refused


@lend.function
def fill(row, value):
    for k in range(len(row)):
        row[k] = value


def test_a_row_that_a_loop_in_each_arm_writes() -> None:
    @lend.kernel
    def kernel(c: Ref[f64, N], y: Out[f64, N, M]):
        for i in lend.grid(N):
            if c[i] > 1:
                fill(y[i, :], 1.0)
            elif c[i] > 0:
                for k in range(M):
                    y[i, k] = 2.0
            else:
                fill(y[i, :], 3.0)

    assert_proved(kernel)


def test_a_loop_in_one_arm_begins_too_late() -> None:
    with refused("L0321", "y[0, 0] may stay unwritten"):

        @lend.kernel
        def kernel(c: Ref[f64, N], y: Out[f64, N, M]):
            for i in lend.grid(N):
                if c[i] > 0:
                    for k in range(M):
                        y[i, k] = 1.0
                else:
                    for k in range(1, M):
                        y[i, k] = 2.0


def test_a_loop_in_one_arm_may_stop_early() -> None:
    with refused("L0321"):

        @lend.kernel
        def kernel(c: Ref[f64, N], y: Out[f64, N, M]):
            for i in lend.grid(N):
                if c[i] > 0:
                    for k in range(M):
                        y[i, k] = 1.0
                else:
                    for k in range(M):
                        if c[i] < -1.0:
                            break
                        y[i, k] = 2.0


def test_an_arm_that_writes_in_one_of_its_own_arms_only() -> None:
    with refused("L0321"):

        @lend.kernel
        def kernel(c: Ref[f64, N], y: Out[f64, N, M]):
            for i in lend.grid(N):
                if c[i] > 0:
                    if c[i] > 1:
                        fill(y[i, :], 1.0)
                else:
                    fill(y[i, :], 2.0)


def test_a_condition_that_one_arm_repeats_holds_there_only() -> None:
    with refused("L0321"):

        @lend.kernel
        def kernel(c: Ref[f64, N], y: Out[f64, N], n: i64):
            for i in lend.grid(N):
                if c[i] > 0 and n > 3:
                    if n > 3:
                        y[i] = 1.0
                elif n > 3:
                    y[i] = 2.0


def test_parallel_loops_in_both_arms_of_a_branch_on_data() -> None:
    @lend.kernel
    def kernel(x: Ref[f64, N], y: Out[f64, N, M], z: Out[f64, N]):
        t = lend.empty(f64, N)
        if x[0] > 0:
            for i, j in lend.grid(N, M):
                y[i, j] = 1.0
            for i in lend.grid(N):
                t[i] = x[i]
        else:
            for p, q in lend.grid(N, M):
                y[p, q] = 2.0
            for p in lend.grid(N):
                t[p] = 2.0 * x[p]
        for i in lend.grid(N):
            z[i] = t[i]

    assert_accepted(kernel, {"bounds launch x"})


def test_parallel_loops_whose_indices_are_exchanged_in_one_arm() -> None:
    with refused("L0321"):

        @lend.kernel
        def kernel(x: Ref[f64, N], y: Out[f64, N, N]):
            if x[0] > 0:
                for i, j in lend.grid(N, N):
                    y[i, j] = 1.0
            else:
                for i, j in lend.grid(N, N - 1):
                    y[j, i] = 2.0


def test_a_flag_that_is_tested_twice() -> None:
    @lend.kernel
    def kernel(x: Ref[f64, N], y: Out[f64, N], reverse: bool_, zero: bool_):
        for i in lend.grid(N):
            if reverse:
                y[i] = x[N - 1 - i]
        if not reverse or zero:
            for i in lend.grid(N):
                y[i] = 0.0

    assert_proved(kernel)
    y = np.empty(2)
    kernel(np.array([1.0, 2.0]), y, True, False)
    assert y.tolist() == [2.0, 1.0]
    kernel(np.array([1.0, 2.0]), y, False, False)
    assert y.tolist() == [0.0, 0.0]


def test_a_flag_that_leaves_an_output_unwritten() -> None:
    with refused("L0321", "y[0] may stay unwritten, with N=1, reverse=False"):

        @lend.kernel
        def kernel(x: Ref[f64, N], y: Out[f64, N], reverse: bool_):
            for i in lend.grid(N):
                if reverse:
                    y[i] = x[N - 1 - i]


def test_a_race_that_a_flag_brings_about_is_refused_at_the_call() -> None:
    @lend.kernel
    def kernel(x: Ref[f64, N], y: Mut[f64, N], first: bool_):
        for i in lend.grid(N):
            if first:
                y[0] = x[i]
            else:
                y[i] = x[i]

    assert_accepted(kernel, {"race launch y"})
    x, y = np.array([1.0, 2.0]), np.zeros(2)
    kernel(x, y, False)
    assert y.tolist() == [1.0, 2.0]
    with pytest.raises(lend.ContractError, match=r"race on `y` unless .*first"):
        kernel(x, y, True)
    with pytest.raises(lend.ContractError, match=r"race on `y` unless .*first"):
        kernel(x, y, np.frombuffer(b"\x02", np.bool_)[0])  # a byte that is neither 0 nor 1
    assert y.tolist() == [1.0, 2.0]
    kernel(x[:1], y[:1], True)
