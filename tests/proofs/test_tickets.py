"""Tickets: what additions to a counter give is distinct, as long as nothing else is done to the counter."""

from __future__ import annotations

import numpy as np
import pytest
from verdicts import assert_accepted, assert_proved, refused

import lend
from lend import Atomic, Mut, Ref, f64, i32, i64, u64
from lend.dims import M, N


def test_compaction():
    @lend.kernel
    def kernel(x: Ref[f64, N], count: Atomic[i64, 1], y: Mut[f64, N]):
        for i in lend.grid(N):
            if x[i] > 0:
                k = count.add(0, 1)
                if 0 <= k and k < N:
                    y[k] = x[i]

    assert_proved(kernel)
    x = np.where(np.arange(3000) % 3 == 0, np.arange(3000.0), -1.0)
    y, count = np.zeros(3000), np.zeros(1, np.int64)
    kernel(x, count, y)
    assert count[0] == 999 and sorted(y[:999]) == sorted(x[x > 0]) and not y[999:].any()


def test_a_ticket_as_a_subscript_keeps_a_check():
    @lend.kernel
    def kernel(x: Ref[f64, N], count: Atomic[i64, 1], y: Mut[f64, M]):
        for i in lend.grid(N):
            y[count.add(0, 1)] = x[i]

    assert_accepted(kernel, {"bounds checked y"})
    with pytest.raises(lend.BoundsError):
        kernel(np.ones(4), np.zeros(1, np.int64), np.zeros(3))


def test_several_counters():
    @lend.kernel
    def rows(x: Ref[f64, N], count: Atomic[u64, 2], y: Mut[f64, 2, N]):
        for i in lend.grid(N):
            k = count.add(i % 2, 1)
            if k < u64(N):
                y[i % 2, k] = x[i]

    assert_proved(rows)
    with refused("L0311", "`y`"):

        @lend.kernel
        def one_row(x: Ref[f64, N], count: Atomic[u64, 2], y: Mut[f64, N]):
            for i in lend.grid(N):
                k = count.add(i % 2, 1)
                if k < u64(N):
                    y[k] = x[i]


def test_two_places_that_draw():
    @lend.kernel
    def kernel(x: Ref[f64, N], count: Atomic[i64, 1], y: Mut[f64, N]):
        for i in lend.grid(N):
            if x[i] > 0:
                k = count.add(0, 1)
                if 0 <= k and k < N:
                    y[k] = x[i]
            else:
                j = count.add(0, 2)
                if 0 <= j and j < N:
                    y[j] = -x[i]

    assert_proved(kernel)


def test_half_a_ticket_is_none():
    with refused("L0311", "`y`"):

        @lend.kernel
        def kernel(x: Ref[f64, N], count: Atomic[i64, 1], y: Mut[f64, N]):
            for i in lend.grid(N):
                k = count.add(0, 1)
                if 0 <= k and k < N:
                    y[k // 2] = x[i]


def test_a_counter_that_goes_down_again():
    with refused("L0311", "`y`"):

        @lend.kernel
        def kernel(x: Ref[f64, N], count: Atomic[i64, 1], y: Mut[f64, N]):
            for i in lend.grid(N):
                k = count.add(0, 1)
                if x[i] > 0:
                    count.add(0, -1)
                if 0 <= k and k < N:
                    y[k] = x[i]


def test_a_counter_that_is_reset():
    with refused("L0311", "`y`"):

        @lend.kernel
        def kernel(x: Ref[f64, N], count: Atomic[i64, 1], y: Mut[f64, N]):
            for i in lend.grid(N):
                k = count.add(0, 1)
                if i == 7:
                    count.store(0, 0)
                if 0 <= k and k < N:
                    y[k] = x[i]


def test_a_counter_that_is_only_looked_at():
    with refused("L0311", "`y`"):

        @lend.kernel
        def kernel(x: Ref[f64, N], count: Atomic[i64, 1], y: Mut[f64, N]):
            for i in lend.grid(N):
                k = count.load(0)
                if 0 <= k and k < N:
                    y[k] = x[i]


def test_an_addition_outside_the_array_gives_0_each_time():
    with refused("L0311", "`y`"):

        @lend.kernel
        def kernel(x: Ref[f64, N], count: Atomic[i64, M], y: Mut[f64, N]):
            for i in lend.grid(N):
                k = count.add(0, 1)
                if 0 <= k and k < N:
                    y[k] = x[i]

    @lend.kernel
    def inside(x: Ref[f64, N], count: Atomic[i64, M], y: Mut[f64, N]):
        assert M > 0
        for i in lend.grid(N):
            k = count.add(0, 1)
            if 0 <= k and k < N:
                y[k] = x[i]

    assert_proved(inside)


def test_32_bits_may_begin_again():
    with refused("L0311", "`y`"):

        @lend.kernel
        def kernel(x: Ref[f64, N], count: Atomic[i32, 1], y: Mut[f64, N]):
            for i in lend.grid(N):
                k = count.add(0, 1)
                if 0 <= k and k < N:
                    y[k] = x[i]


def test_a_counter_of_a_block():
    @lend.kernel
    def kernel(x: Ref[f64, N, 8], y: Mut[f64, N, 8]):
        for b in lend.blocks(N):
            count = lend.shared(Atomic[i32], 1)
            for t in lend.threads(8):
                if x[b, t] > 0:
                    k = count.add(0, 1)
                    if 0 <= k and k < 8:
                        y[b, k] = x[b, t]

    assert_proved(kernel)
    with refused("L0315", "`y`"):

        @lend.kernel
        def of_two_blocks(x: Ref[f64, N, 8], y: Mut[f64, 8]):
            for b in lend.blocks(N):
                count = lend.shared(Atomic[i32], 1)
                for t in lend.threads(8):
                    k = count.add(0, 1)
                    if 0 <= k and k < 8:
                        y[k] = x[b, t]


def test_a_counter_of_a_block_in_a_loop():
    with refused("L0314", "`y`"):

        @lend.kernel
        def kernel(x: Ref[f64, N, 8], y: Mut[f64, N, 8]):
            for b in lend.blocks(N):
                count = lend.shared(Atomic[i32], 1)
                for t in lend.threads(8):
                    for _k in range(N):
                        k = count.add(0, 1)
                        if 0 <= k and k < 8:
                            y[b, k] = x[b, t]


def test_a_ticket_that_is_passed_on_is_one_for_all():
    with refused("L0314", "`y`"):

        @lend.kernel
        def kernel(x: Ref[f64, N], count: Atomic[i64, 1], y: Mut[f64, N]):
            for b in lend.blocks(N // 8):
                s = lend.shared(i64, 1)
                for t in lend.threads(8):
                    if t == 0:
                        s[0] = count.add(0, 1)
                    lend.sync()
                    k = s[0]
                    if 0 <= k and k < N:
                        y[k] = x[8 * b + t]
