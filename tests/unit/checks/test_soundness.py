"""Programs that an earlier version of the proofs wrongly accepted, or took a check from: found by trying to get one through."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

import lend
from lend import Mut, Out, Ref, f64, i32, i64, u64
from lend.dims import M, N

HUGE = 2**63 - 1
REFUSED = lend.BoundsError, lend.ContractError
"""What a call may end in that the proofs do not speak of: the checks are there, or it does not run."""


def verdicts(kernel, obligation, line=None):
    """The verdicts of an obligation, on the line of the kernel's source counted from its `def`."""
    first = kernel.__wrapped__.__code__.co_firstlineno + 1
    return [p.verdict for p in kernel.proofs() if p.obligation == obligation and line in (None, p.place.line - first)]


def refused(code):
    return pytest.raises(lend.CompileError, match=code)


# ------------------------------------------------------------------------------- results of one scope used in another


def test_a_quotient_computed_under_a_guard_is_another_outside_it():
    @lend.kernel
    def kernel(y: Mut[f64, Literal[4]], z: Mut[f64, M], n: Ref[f64, N]):
        for i in lend.grid(M):
            if i < N + N and N > 0:
                z[i] = y[i // N]
            z[i] += y[i // N]

    assert "launch" in verdicts(kernel, "bounds", 4)
    with pytest.raises(lend.BoundsError):
        kernel(np.ones(4), np.zeros(40), np.ones(2))


def test_a_sum_shown_not_to_wrap_under_a_guard_may_wrap_outside_it():
    @lend.kernel
    def kernel(y: Mut[f64, Literal[4]], z: Mut[f64, N], q: Ref[i32, N]):
        for i in lend.grid(N):
            j = q[i]
            if j < 100:
                z[i] = f64(j + i32(100))
            if j >= 100 and j + i32(100) < 100:
                z[i] = y[j]

    assert "proved" not in verdicts(kernel, "bounds", 6)[1:]
    with pytest.raises(lend.BoundsError):
        kernel(np.ones(4), np.zeros(1), np.array([2**31 - 1], np.int32))


# ------------------------------------------------------------------------------------------- names that cancel out


def test_a_slice_of_two_elements_is_empty_where_its_end_wraps():
    @lend.kernel
    def kernel(x: Ref[f64, N], y: Out[f64, M], n: i64):
        for i in lend.grid(M):
            y[i] = 0.0
            if 0 <= n and n + 2 <= N:
                v = x[n : n + 2]
                y[i] = v[1]

    assert "proved" not in verdicts(kernel, "bounds", 5)[1:]
    y = np.zeros(2)
    with pytest.raises(REFUSED):
        kernel(np.ones(4), y, HUGE)
    kernel(np.ones(4), y, 2)
    assert (y == 1).all()


def test_a_comparison_whose_names_cancel_rests_on_them():
    @lend.kernel
    def kernel(x: Ref[f64, N], y: Out[f64, M], n: i64):
        for i in lend.grid(M):
            y[i] = 0.0
            if n + 1 < n:
                y[i] = x[i + 5]

    with pytest.raises(REFUSED):
        kernel(np.ones(4), np.zeros(2), HUGE)
    kernel(np.ones(4), np.zeros(2), 1)


def test_an_array_is_not_written_whole_where_a_sum_wraps():
    @lend.kernel
    def kernel(y: Out[f64, N], n: i64):
        for i in lend.grid(N):
            if n + 1 > n:
                y[i] = 0.0

    y = np.ones(4)
    with pytest.raises(lend.ContractError, match="n lies between"):
        kernel(y, 2**63 - 1)
    assert y.all()
    kernel(y, 1)
    assert not y.any()


def test_a_loop_of_two_iterations_has_none_where_its_end_wraps():
    @lend.kernel
    def kernel(y: Mut[f64, M, Literal[2]], n: i64):
        for i in lend.grid(M):
            c = 1
            for _ in range(n, n + 2):
                c -= 1
            y[i, c + 1] = 1.0

    with pytest.raises(lend.BoundsError):
        kernel(np.zeros((2, 2)), HUGE)
    kernel(np.zeros((2, 2)), 5)


def test_a_race_that_rests_on_a_moderate_scalar_is_a_condition_of_the_launch():
    @lend.kernel
    def kernel(y: Mut[f64, N], n: i64):
        for i in lend.grid(N):
            if n + 1 < n:
                y[0] = 1.0

    y = np.zeros(3)
    kernel(y, 1)
    with pytest.raises(lend.ContractError):
        kernel(y, HUGE)


def test_a_read_that_rests_on_a_moderate_scalar_is_a_condition_of_the_launch():
    @lend.kernel
    def kernel(y: Mut[f64, N], n: i64):
        t = lend.empty(f64, N)
        for i in lend.grid(N):
            if n + 1 < n:
                y[i] = t[i]

    y = np.zeros(3)
    kernel(y, 1)
    with pytest.raises(lend.ContractError):
        kernel(y, HUGE)


@pytest.mark.parametrize("n", [2**63, 2**64 - 1])
def test_a_u64_that_is_too_large_for_an_i64_is_not_small(n):
    @lend.kernel
    def kernel(y: Mut[f64, N], n: u64):
        for i in lend.grid(N):
            y[i + i64(n)] = 1.0

    with pytest.raises(REFUSED):
        kernel(np.zeros(3), n)


# ------------------------------------------------------------------------------------------------- conditions


def test_a_condition_does_not_rest_on_what_is_tested_later():
    @lend.kernel
    def kernel(y: Mut[f64, M], x: Ref[f64, N], n: i32):
        for i in lend.grid(N):
            y[i + n] = x[i]
        t = lend.zeros(f64, M - N - n)
        s = lend.zeros(f64, n)
        t[0] = s[0]

    for n in (-1, 3):
        y = np.zeros(8)
        with pytest.raises(lend.BoundsError):
            kernel(y[2:6], np.ones(4), n)
        assert not y[:2].any() and not y[6:].any()


# ------------------------------------------------------------------------------------------------- arrays


def test_arrays_that_become_one_in_a_loop_are_not_disjoint_in_its_branches():
    with refused("L0311"):

        @lend.kernel
        def kernel(x: Mut[f64, N], y: Mut[f64, N], s: i32):
            a = x
            b = y
            for t in range(s):
                if t > 3:
                    u = a
                    v = b
                else:
                    u = b
                    v = a
                for i in lend.grid(N - 1):
                    u[i] = v[i + 1]
                a = u
                b = u


def test_a_temporary_of_another_shape_is_still_unwritten():
    with refused("L0320"):

        @lend.kernel
        def kernel(y: Out[f64, N]):
            t = lend.empty(f64, N)
            r = t.reshape(N, 1)
            for i in lend.grid(N):
                y[i] = r[i, 0]


def test_temporaries_that_change_places_are_still_unwritten():
    with refused("L0320"):

        @lend.kernel
        def kernel(y: Out[f64, N], s: i32):
            a = lend.empty(f64, N)
            b = lend.empty(f64, N)
            for _ in range(s):
                for i in lend.grid(N):
                    a[i] = b[i]
                a, b = b, a
            for i in lend.grid(N):
                y[i] = a[i]


def test_a_local_array_made_in_a_loop_is_new_each_time():
    with refused("L0320"):

        @lend.kernel
        def kernel(y: Mut[f64, N]):
            for i in lend.grid(N):
                for m in range(3):
                    s = lend.local(f64, 3)
                    if m == 0:
                        s[0] = 1.0
                    if m > 0:
                        y[i] = s[0]


def test_a_temporary_made_in_a_loop_is_new_each_time():
    with refused("L0320"):

        @lend.kernel
        def kernel(y: Mut[f64, N]):
            for m in range(3):
                s = lend.empty(f64, N)
                for i in lend.grid(N):
                    if m == 0:
                        s[i] = 1.0
                    if m > 0:
                        y[i] = s[i]


def test_a_view_of_two_places_is_empty_where_its_check_failed():
    @lend.kernel
    def kernel(x: Ref[f64, N], y: Mut[f64, M]):
        for i in lend.grid(M):
            v = x[i : i + 2]
            if i > 2:
                v = x[i + 1 : i + 3]
            y[i] = v[1]

    with pytest.raises(lend.BoundsError):
        kernel(np.ones(3), np.zeros(40))
    y = np.zeros(4)
    kernel(np.ones(7), y)
    assert (y == 1).all()


def test_a_view_carried_by_a_loop_is_empty_where_its_check_failed():
    @lend.kernel
    def kernel(x: Ref[f64, N], y: Mut[f64, M]):
        for i in lend.grid(M):
            v = x[i : i + 2]
            for m in range(3):
                v = x[i + m : i + m + 2]
            y[i] = v[1]

    with pytest.raises(lend.BoundsError):
        kernel(np.ones(3), np.zeros(40))


def test_a_read_of_what_is_written_only_where_a_sum_does_not_wrap():
    @lend.kernel
    def kernel(y: Out[f64, N], s: i64):
        t = lend.empty(f64, N)
        for i in lend.grid(N):
            if i + s > i + s - 1:
                t[i] = 1.0
        for i in lend.grid(N):
            y[i] = t[i]

    y = np.zeros(3)
    kernel(y, 5)
    assert y.tolist() == [1, 1, 1]
    with pytest.raises(lend.ContractError):
        kernel(y, -(2**63))  # here i + s - 1 wraps, and t[0] is not written


def test_a_write_again_that_rests_on_a_scalar_asks_nothing_of_it():
    @lend.kernel
    def kernel(y: Out[f64, N], s: i64):
        for i in lend.grid(N):
            y[i] = 1.0
        for i in lend.grid(N):
            if i + s > i + s - 1:
                y[i] = 2.0

    y = np.zeros(3)
    kernel(y, 5)
    assert y.tolist() == [2, 2, 2]
    kernel(y, -(2**63))
    assert y[0] == 1
