"""Temporaries of `lend.empty`: what is read, and what is returned, has been written."""

from __future__ import annotations

import numpy as np

import lend
from lend import Mut, Out, Ref, f64, i64
from lend.dims import N

from .verdicts import assert_accepted, refused


def test_a_read_that_always_leaves_its_temporary_is_refused_for_that_alone() -> None:
    with refused("L0301", "t[1], which has size 1") as caught:

        @lend.kernel
        def kernel(y: Out[f64, N]):
            t = lend.empty(f64, N)
            for i in lend.grid(N):
                t[i] = 1.0
            for i in lend.grid(N):
                y[i] = t[i + 1]

    assert "L0320" not in str(caught.value)


def test_a_read_that_may_leave_its_temporary_is_a_matter_of_bounds() -> None:
    @lend.kernel
    def kernel(y: Out[f64, N], c: i64):
        t = lend.empty(f64, N)
        for i in lend.grid(N):
            t[i] = 1.0
        for i in lend.grid(N):
            y[i] = t[i + c]

    assert_accepted(kernel, {"bounds launch t"})


def test_a_read_inside_its_temporary_that_may_not_be_written_is_refused() -> None:
    with refused("L0320", "t[0], which has no value yet"):

        @lend.kernel
        def kernel(y: Out[f64, N], c: i64):
            t = lend.empty(f64, N)
            for i in lend.grid(N - 1):
                t[i] = 1.0
            for i in lend.grid(N):
                y[i] = t[i + c]


def test_what_a_failed_read_gives_is_no_excuse_for_the_next_read() -> None:
    with refused("L0320", "t"):

        @lend.kernel
        def kernel(x: Ref[i64, N], y: Out[f64, N]):
            t = lend.empty(f64, N)
            for i in lend.grid((1, N)):
                t[i] = 1.0
            for i in lend.grid(N):
                y[i] = t[x[i]]


def test_a_remainder_of_one_is_nothing() -> None:
    @lend.kernel
    def kernel(x: Ref[i64, N], y: Out[f64, N]):
        for i in lend.grid(N):
            t = lend.local(f64, 1)
            t[x[i] % 1] = 1.0
            y[i] = t[0]

    assert {p.verdict for p in kernel.proofs()} == {"proved"}


def test_a_temporary_that_is_returned_is_written_whole() -> None:
    @lend.kernel
    def kernel(x: Ref[f64, N], n: i64):
        t = lend.empty(f64, N)
        u = lend.empty(f64, n)
        for i in lend.grid(N):
            t[i] = x[i]
        for i in lend.grid(n):
            u[i] = 1.0
        return t, u.reshape(1, n), u

    assert_accepted(kernel, set())


def test_a_temporary_that_is_returned_with_a_gap_is_refused() -> None:
    with refused("L0320", "`t` is returned where it may not have been written whole", "t[0] may have no value", "lend.zeros"):

        @lend.kernel
        def kernel(x: Ref[f64, N]):
            t = lend.empty(f64, N)
            for i in lend.grid((1, N)):
                t[i] = x[i]
            return t


def test_a_temporary_of_zeros_is_returned_with_a_gap() -> None:
    @lend.kernel
    def kernel(x: Ref[f64, N]):
        t = lend.zeros(f64, N)
        for i in lend.grid((1, N)):
            t[i] = x[i]
        return t

    assert_accepted(kernel, set())
    assert kernel(np.array([1.0, 2.0])).tolist() == [0.0, 2.0]


def test_a_temporary_that_is_returned_and_written_in_one_branch_only_is_refused() -> None:
    with refused("L0320", "this write is not sure to happen"):

        @lend.kernel
        def kernel(x: Ref[f64, N]):
            t = lend.empty(f64, N)
            if x[0] > 0.0:
                for i in lend.grid(N):
                    t[i] = x[i]
            return t


def test_what_a_returned_temporary_has_from_a_large_scalar_is_required() -> None:
    @lend.kernel
    def kernel(x: Ref[f64, N], s: i64):
        t = lend.empty(f64, N)
        for i in lend.grid(N):
            if i + s > i + s - 1:
                t[i] = x[i]
            else:
                t[i] = 2.0 * x[i]
        return t

    assert kernel(np.ones(2), 3).tolist() == [1.0, 1.0]


# ------------------------------------------------------------------------------------------------------ under other names


def test_two_temporaries_that_are_exchanged_in_each_step() -> None:
    @lend.kernel
    def kernel(x: Ref[f64, N], y: Out[f64, N], steps: i64):
        t = lend.empty(f64, N)
        u = lend.empty(f64, N)
        for i in lend.grid(N):
            t[i] = x[i]
        for _ in range(steps):
            for i in lend.grid(N):
                u[i] = t[i] + t[N - 1 - i]
            u, t = t, u
        for i in lend.grid(N):
            y[i] = t[i]
        return t

    assert_accepted(kernel, set())
    y = np.empty(2)
    assert kernel(np.array([1.0, 2.0]), y, 0).tolist() == [1.0, 2.0] == y.tolist()
    assert kernel(np.array([1.0, 2.0]), y, 2).tolist() == [6.0, 6.0] == y.tolist()


def test_two_temporaries_that_are_exchanged_and_of_which_one_was_never_written() -> None:
    with refused("L0320", "t"):

        @lend.kernel
        def kernel(x: Ref[f64, N], y: Out[f64, N], steps: i64):
            t = lend.empty(f64, N)
            u = lend.empty(f64, N)
            for i in lend.grid(N):
                t[i] = x[i]
            for _ in range(steps):
                u, t = t, u
            for i in lend.grid(N):
                y[i] = t[i]


def test_two_temporaries_that_are_exchanged_and_of_which_one_is_written_in_part() -> None:
    with refused("L0320", "t"):

        @lend.kernel
        def kernel(x: Ref[f64, N], y: Out[f64, N], steps: i64):
            t = lend.empty(f64, N)
            u = lend.empty(f64, N)
            for i in lend.grid(N):
                t[i] = x[i]
            for _ in range(steps):
                for i in lend.grid((1, N)):
                    u[i] = t[i]
                u, t = t, u
            for i in lend.grid(N):
                y[i] = t[i]


def test_two_temporaries_that_are_exchanged_before_the_write() -> None:
    with refused("L0320"):

        @lend.kernel
        def kernel(x: Ref[f64, N], y: Out[f64, N], steps: i64):
            t = lend.empty(f64, N)
            u = lend.empty(f64, N)
            for i in lend.grid(N):
                t[i] = x[i]
            for _ in range(steps):
                u, t = t, u
                for i in lend.grid(N):
                    u[i] = t[i]
            for i in lend.grid(N):
                y[i] = t[i]


def test_three_temporaries_that_take_turns() -> None:
    @lend.kernel
    def kernel(x: Ref[f64, N], steps: i64):
        a = lend.empty(f64, N)
        b = lend.empty(f64, N)
        c = lend.empty(f64, N)
        for i in lend.grid(N):
            a[i] = x[i]
            b[i] = 2.0 * x[i]
        n = steps
        while n > 0:
            for i in lend.grid(N):
                c[i] = a[i] + b[i]
            a, b, c = b, c, a
            n -= 1
        return a

    assert_accepted(kernel, set())
    assert kernel(np.ones(2), 3).tolist() == [5.0, 5.0]


def test_a_temporary_of_either_branch() -> None:
    @lend.kernel
    def kernel(x: Ref[f64, N]):
        if x[0] > 0.0:
            t = lend.empty(f64, N)
            for i in lend.grid(N):
                t[i] = x[i]
        else:
            t = lend.zeros(f64, N)
        return t.reshape(N, 1)

    assert_accepted(kernel, {"bounds launch x"})
    assert kernel(np.array([1.0, 2.0])).tolist() == [[1.0], [2.0]]


def test_a_temporary_of_either_branch_that_one_leaves_empty() -> None:
    with refused("L0320", "t"):

        @lend.kernel
        def kernel(x: Ref[f64, N], y: Out[f64, N]):
            if x[0] > 0.0:
                t = lend.empty(f64, N)
                for i in lend.grid((1, N)):
                    t[i] = x[i]
            else:
                t = lend.zeros(f64, N)
            for i in lend.grid(N):
                y[i] = t[i]


def test_a_temporary_read_in_other_sizes_once_it_is_whole() -> None:
    @lend.kernel
    def kernel(x: Ref[f64, N], y: Out[f64, N]):
        t = lend.empty(f64, N)
        for i in lend.grid(N):
            t[i] = x[i]
        rows = t.reshape(1, N)
        for i in lend.grid(N):
            y[i] = rows[0, i]

    assert_accepted(kernel, set())


def test_a_temporary_read_in_other_sizes_before_it_is_whole() -> None:
    with refused("L0320", "rows"):

        @lend.kernel
        def kernel(x: Ref[f64, N], y: Out[f64, N]):
            t = lend.empty(f64, N)
            rows = t.reshape(1, N)
            for i in lend.grid(N):
                y[i] = rows[0, i]
            for i in lend.grid(N):
                t[i] = x[i]


def test_a_temporary_that_is_made_anew_in_each_step() -> None:
    with refused("L0320"):

        @lend.kernel
        def kernel(x: Ref[f64, N], y: Out[f64, N], steps: i64):
            t = lend.zeros(f64, N)
            for s in range(steps):
                u = lend.empty(f64, N)
                if s == 0:
                    for i in lend.grid(N):
                        u[i] = x[i]
                t = u
            for i in lend.grid(N):
                y[i] = t[i]


def test_what_an_earlier_step_wrote_has_another_name_in_this_one() -> None:
    with refused("L0320", "u"):

        @lend.kernel
        def kernel(y: Mut[f64, N], steps: i64):
            t = lend.empty(f64, N)
            u = lend.empty(f64, N)
            for s in range(steps):
                if s > 0:
                    for i in lend.grid(N):
                        y[i] = u[i]
                for i in lend.grid(N):
                    u[i] = 1.0
                u, t = t, u


def test_what_an_earlier_step_wrote_has_its_name_still() -> None:
    @lend.kernel
    def kernel(y: Mut[f64, N], steps: i64):
        u = lend.empty(f64, N)
        for s in range(steps):
            if s > 0:
                for i in lend.grid(N):
                    y[i] = u[i]
            for i in lend.grid(N):
                u[i] = 1.0

    assert_accepted(kernel, set())
