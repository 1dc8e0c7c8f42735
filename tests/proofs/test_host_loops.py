"""Obligations inside sequential loops at host level: a run meets every value of their counters."""

from __future__ import annotations

import numpy as np
import pytest

import lend
from lend import Mut, Ref, f64, i64
from lend.dims import K, M, N

from .verdicts import assert_accepted, assert_proved, refused


def test_the_last_step_of_a_time_loop_is_refuted() -> None:
    with refused("L0301", "at t=0 writes u[1, 0]", "let `t` stop before `K - 1`"):

        @lend.kernel
        def kernel(u: Mut[f64, K, N]):
            for t in range(K):
                for i in lend.grid(N):
                    u[t + 1, i] = u[t, i]


def test_a_time_loop_that_stops_in_time_is_proved() -> None:
    @lend.kernel
    def kernel(u: Mut[f64, K, N]):
        for t in range(K - 1):
            for i in lend.grid(N):
                u[t + 1, i] = u[t, i]

    assert_proved(kernel)


def test_a_race_in_some_iterations_of_a_host_loop_is_refuted() -> None:
    with refused("L0310", "thread i=0 writes a[0, 1], which thread i=1 reads"):

        @lend.kernel
        def kernel(a: Mut[f64, N, N]):
            for k in range(N):
                for i in lend.grid((k, N)):
                    for j in range(k + 1, N):
                        a[i, j] -= a[i, k] * a[k, j]


def test_a_division_by_a_counter_that_begins_at_zero_is_refuted() -> None:
    with refused("L0330"):

        @lend.kernel
        def kernel(y: Mut[f64, N]):
            for d in range(N):
                for i in lend.grid(N):
                    y[i] += f64(i // d)


def test_what_a_counter_is_computed_to_is_refuted_too() -> None:
    with refused("L0301"):

        @lend.kernel
        def kernel(y: Mut[f64, N]):
            for t in range(N):
                at = 2 * t + 1
                y[at] = 1.0


def test_a_loop_that_may_stop_before_it_fails_is_not_refuted() -> None:
    @lend.kernel
    def kernel(x: Mut[f64, N], q: Ref[i64, N]):
        for t in range(N):
            if q[t] > 0:
                break
            x[t + 1] = x[t]

    assert_accepted(kernel, {"bounds checked x"})


def test_what_a_loop_reads_need_not_be_what_fails() -> None:
    @lend.kernel
    def kernel(x: Mut[f64, N], q: Ref[i64, N]):
        for t in range(N):
            k = q[t]
            if k == t:
                for i in lend.grid(N):
                    x[i + k] = 1.0

    assert not [p for p in kernel.proofs() if p.verdict == "refuted"]
    x = np.zeros(3)
    kernel(x, np.array([5, 5, 5]))
    kernel(x, np.array([0, 5, 5]))
    assert x.tolist() == [1, 1, 1]
    with pytest.raises(lend.BoundsError):
        kernel(x, np.array([5, 1, 5]))


def test_a_condition_of_a_host_loop_is_about_the_whole_loop() -> None:
    @lend.kernel
    def kernel(x: Mut[f64, N], y: Ref[f64, M]):
        for t in range(N):
            for i in lend.grid(N):
                x[i] += y[t]

    (proof,) = [p for p in kernel.proofs() if p.verdict == "launch"]
    assert proof.condition == "N <= M"
    x = np.zeros(2)
    kernel(x, np.array([1.0, 2.0]))
    assert x.tolist() == [3, 3]
    with pytest.raises(lend.BoundsError) as caught:
        kernel(x, np.ones(1))
    assert (caught.value.index, caught.value.size) == (1, 1)
