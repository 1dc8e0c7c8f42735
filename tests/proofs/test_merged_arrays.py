"""Races on arrays that are one of several, another in each iteration: `p, q = q, p` in a loop or under a condition of one's own.

Each refused kernel stands beside an accepted one.
"""

from __future__ import annotations

import numpy as np
from verdicts import assert_accepted, assert_proved, refused

import lend
from lend import Atomic, Mut, Out, f64, i64
from lend.dims import M, N


def test_what_one_iteration_calls_p_another_calls_q():
    with refused("L0311", "may both write q"):

        @lend.kernel
        def kernel(u: Mut[f64, N], v: Mut[f64, N]):
            for i in lend.grid(N):
                p = u
                q = v
                if i % 2 == 0:
                    p, q = q, p
                q[i] = 1.0
                p[N - 1 - i] = 2.0

    @lend.kernel
    def own(u: Mut[f64, N], v: Mut[f64, N]):
        for i in lend.grid(N):
            p = u
            q = v
            if i % 2 == 0:
                p, q = q, p
            q[i] = 1.0
            p[i] = 2.0

    assert_proved(own)
    u, v = np.zeros(3), np.zeros(3)
    own(u, v)
    assert u.tolist() == [1, 2, 1] and v.tolist() == [2, 1, 2]


def test_arrays_swapped_in_a_loop():
    with refused("L0311"):

        @lend.kernel
        def kernel(u: Mut[f64, N], v: Mut[f64, N], k: i64):
            for i in lend.grid(N):
                p = u
                q = v
                for _ in range(k):
                    q[i] = p[(i + 1) % N]
                    p, q = q, p

    @lend.kernel
    def own(u: Mut[f64, N], v: Mut[f64, N], k: i64):
        for i in lend.grid(N):
            p = u
            q = v
            for _ in range(k):
                q[i] = p[i] + 1.0
                p, q = q, p

    assert_proved(own)

    @lend.kernel
    def of_two_sizes(u: Mut[f64, N], v: Mut[f64, M], k: i64):
        for i in lend.grid(N):
            p = u
            q = v
            for _ in range(k):
                q[i] = p[i] + 1.0
                p, q = q, p

    assert_accepted(of_two_sizes, {"bounds checked q", "bounds checked p"})
    u, v = np.zeros(3), np.full(3, 9.0)
    own(u, v, 3)
    assert u.tolist() == [2, 2, 2] and v.tolist() == [3, 3, 3]


def test_one_array_or_a_part_of_it_that_begins_elsewhere():
    with refused("L0311"):

        @lend.kernel
        def kernel(u: Mut[f64, N]):
            assert N > 2
            for i in lend.grid(N - 1):
                p = u[0 : N - 1]
                if i % 2 == 0:
                    p = u[1:N]
                p[i] = 1.0

    @lend.kernel
    def same(u: Mut[f64, N]):
        assert N > 2
        for i in lend.grid(N - 1):
            p = u[1:N]
            if i % 2 == 0:
                p[i] = 1.0

    assert_proved(same)


def test_a_part_that_moves_on():
    with refused("L0311"):

        @lend.kernel
        def kernel(u: Mut[f64, N], k: i64):
            assert N > 4
            for i in lend.grid(4):
                p = u[0:N]
                for _ in range(k):
                    p[i] = 1.0
                    p = p[1:]

    @lend.kernel
    def moves(u: Mut[f64, N, M], k: i64):
        for i in lend.grid(N):
            p = u[i]
            for j in range(M):
                p[j] = 1.0

    assert_proved(moves)


def test_rows_that_are_swapped():
    with refused("L0311"):

        @lend.kernel
        def kernel(u: Mut[f64, N, 2], k: i64):
            for i in lend.grid(N):
                p = u[i]
                q = u[N - 1 - i]
                for _ in range(k):
                    q[0] = p[1] + 1.0
                    p, q = q, p


def test_blocks_swap_one_by_one():
    with refused("L0315"):

        @lend.kernel
        def kernel(u: Mut[f64, N], v: Mut[f64, N]):
            for b in lend.blocks(N // 4):
                p = u
                q = v
                for _ in range(b):
                    p, q = q, p
                for t in lend.threads(4):
                    q[b * 4 + t] = 1.0
                    p[N - 1 - (b * 4 + t)] = 2.0

    @lend.kernel
    def own(u: Mut[f64, N], v: Mut[f64, N]):
        for b in lend.blocks(N // 4):
            p = u
            q = v
            for _ in range(b):
                p, q = q, p
            for t in lend.threads(4):
                q[b * 4 + t] = 1.0
                p[b * 4 + t] = 2.0

    u, v = np.zeros(8), np.zeros(8)
    own(u, v)
    assert u.tolist() == [2] * 4 + [1] * 4 and v.tolist() == [1] * 4 + [2] * 4


def test_threads_and_tiles():
    with refused("L0314"):

        @lend.kernel
        def kernel(y: Out[f64, N], k: i64):
            assert N % 4 == 0
            for b in lend.blocks(N // 4):
                s = lend.shared(f64, 4)
                r = lend.shared(f64, 4)
                for t in lend.threads(4):
                    s[t] = 1.0
                    r[t] = 2.0
                for t in lend.threads(4):
                    p = s
                    q = r
                    for _ in range(k):
                        q[t] = 1.0
                        p[3 - t] = 2.0
                        p, q = q, p
                for t in lend.threads(4):
                    y[b * 4 + t] = s[3 - t] + r[t]


def test_tickets_of_several_counters():
    with refused("L0311"):

        @lend.kernel
        def kernel(y: Mut[f64, N], a: Atomic[i64, 1], c: Atomic[i64, 1]):
            for i in lend.grid(N):
                h = a
                if i % 2 == 0:
                    h = c
                p = h.add(0, 1)
                if 0 <= p < N:
                    y[p] = 1.0

    @lend.kernel
    def one(y: Mut[f64, N], a: Atomic[i64, 1]):
        for _ in lend.grid(N):
            p = a.add(0, 1)
            if 0 <= p < N:
                y[p] = 1.0

    y, a = np.zeros(5), np.zeros(1, np.int64)
    one(y, a)
    assert y.tolist() == [1] * 5
