"""Tiles that exchange their names in loops of any length, in a block and in its threads; each has a twin that is wrong."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from verdicts import assert_proved, refused

import lend
from lend import Mut, Out, Ref, f32, i64
from lend.dims import M

Row = Literal[64]


def assert_same(kernel: Any, *arguments: Any) -> None:
    """Compiled code leaves what plain Python does, and the judge finds nothing."""
    assert_proved(kernel)
    runs: list[list[Any]] = []
    for run in (kernel, kernel.py, lend.sanitize(kernel, runs=2)):
        given = [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
        report = run(*given)
        assert report is None or report.ok, report
        runs.append(given)
    for one in runs[1:]:
        for a, b in zip(runs[0], one, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
def test_threads_exchange_two_tiles(steps: int) -> None:
    @lend.kernel
    def kernel(o: Out[f32, M, Row], steps: i64):
        for b in lend.blocks(M):
            u = lend.shared(f32, 64)
            v = lend.shared(f32, 64)
            for t in lend.threads(64):
                p = u
                q = v
                p[t] = f32(t)
                lend.sync()
                for _ in range(steps):
                    q[t] = p[t] + p[(t + 1) % 64]
                    lend.sync()
                    p, q = q, p
                o[b, t] = p[63 - t]

    assert_same(kernel, np.zeros((2, 64), np.float32), steps)


def test_without_the_barrier_one_thread_is_a_step_ahead() -> None:
    with refused("L0314", "what one thread calls `p` may be the array that another calls `q`"):

        @lend.kernel
        def kernel(o: Out[f32, M, Row], steps: i64):
            for b in lend.blocks(M):
                u = lend.shared(f32, 64)
                v = lend.shared(f32, 64)
                for t in lend.threads(64):
                    p = u
                    q = v
                    p[t] = f32(t)
                    lend.sync()
                    for _ in range(steps):
                        q[t] = p[t] + p[(t + 1) % 64]
                        p, q = q, p
                    o[b, t] = p[t]


def test_the_same_tile_is_read_and_written() -> None:
    with refused("L0314", "`q`"):

        @lend.kernel
        def kernel(o: Out[f32, M, Row], steps: i64):
            for b in lend.blocks(M):
                u = lend.shared(f32, 64)
                v = lend.shared(f32, 64)
                for t in lend.threads(64):
                    p = u
                    q = v
                    p[t] = f32(t)
                    q[t] = f32(t)
                    lend.sync()
                    for _ in range(steps):
                        q[t] = p[t] + q[(t + 1) % 64]
                        lend.sync()
                        p, q = q, p
                    o[b, t] = p[t]


def test_some_threads_exchange_and_others_do_not() -> None:
    with refused("L0314", "what one thread calls"):

        @lend.kernel
        def kernel(o: Out[f32, M, Row], steps: i64):
            for b in lend.blocks(M):
                u = lend.shared(f32, 64)
                v = lend.shared(f32, 64)
                for t in lend.threads(64):
                    p = u
                    q = v
                    p[t] = f32(t)
                    q[t] = f32(t)
                    lend.sync()
                    for _ in range(steps):
                        q[t] = p[t] + p[(t + 1) % 64]
                        lend.sync()
                        if t > 0:
                            p, q = q, p
                    o[b, t] = p[t]


def test_threads_that_leave_at_different_times_have_different_tiles() -> None:
    with refused("L0314"):

        @lend.kernel
        def kernel(o: Out[f32, M, Row]):
            for b in lend.blocks(M):
                u = lend.shared(f32, 64)
                v = lend.shared(f32, 64)
                for t in lend.threads(64):
                    p = u
                    q = v
                    p[t] = f32(t)
                    q[t] = f32(t)
                    lend.sync()
                    for _ in range(t):
                        p, q = q, p
                    q[t] = p[63 - t]
                    lend.sync()
                    o[b, t] = q[t]


def test_the_first_tile_is_not_filled() -> None:
    with refused("L0320", "`p`", "may be an array without a value here"):

        @lend.kernel
        def kernel(o: Out[f32, M, Row], steps: i64):
            for b in lend.blocks(M):
                u = lend.shared(f32, 64)
                v = lend.shared(f32, 64)
                for t in lend.threads(64):
                    p = u
                    q = v
                    q[t] = f32(t)
                    lend.sync()
                    for _ in range(steps):
                        q[t] = p[t] + p[(t + 1) % 64]
                        lend.sync()
                        p, q = q, p
                    o[b, t] = p[t]


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_the_next_tile_is_fetched_while_this_one_is_used(rows: int) -> None:
    @lend.kernel
    def kernel(x: Ref[f32, M, Row], o: Out[f32, Row]):
        assert M >= 1
        for _ in lend.blocks(1):
            u = lend.shared(f32, 64)
            v = lend.shared(f32, 64)
            for t in lend.threads(64):
                p = u
                q = v
                p[t] = x[0, t]
                lend.sync()
                total = f32(0)
                for k in range(M):
                    if k + 1 < M:
                        q[t] = x[k + 1, t]
                    total += p[63 - t]
                    lend.sync()
                    p, q = q, p
                o[t] = total

    assert_same(kernel, np.random.default_rng(0).random((rows, 64)).astype(np.float32), np.zeros(64, np.float32))


def test_the_last_tile_is_never_fetched() -> None:
    with refused("L0320", "`p`"):

        @lend.kernel
        def kernel(x: Ref[f32, M, Row], o: Out[f32, Row]):
            assert M >= 1
            for _ in lend.blocks(1):
                u = lend.shared(f32, 64)
                v = lend.shared(f32, 64)
                for t in lend.threads(64):
                    p = u
                    q = v
                    p[t] = x[0, t]
                    lend.sync()
                    total = f32(0)
                    for k in range(M):
                        if k + 2 < M:
                            q[t] = x[k + 1, t]
                        total += p[63 - t]
                        lend.sync()
                        p, q = q, p
                    o[t] = total


@pytest.mark.parametrize("steps", [0, 1, 4])
def test_a_block_exchanges_two_tiles(steps: int) -> None:
    @lend.kernel
    def kernel(o: Out[f32, M, Row], steps: i64):
        for b in lend.blocks(M):
            u = lend.shared(f32, 64)
            v = lend.shared(f32, 64)
            for t in lend.threads(64):
                u[t] = f32(t)
            for _ in range(steps):
                for t in lend.threads(64):
                    v[t] = u[t] + u[(t + 1) % 64]
                u, v = v, u
            for t in lend.threads(64):
                o[b, t] = u[t]

    assert_same(kernel, np.zeros((2, 64), np.float32), steps)


def test_a_block_exchanges_before_it_has_filled() -> None:
    with refused("L0320", "`u`"):

        @lend.kernel
        def kernel(o: Out[f32, M, Row], steps: i64):
            for b in lend.blocks(M):
                u = lend.shared(f32, 64)
                v = lend.shared(f32, 64)
                for t in lend.threads(64):
                    u[t] = f32(t)
                for _ in range(steps):
                    for t in lend.threads(64):
                        if t > 0:
                            v[t] = u[t] + u[(t + 1) % 64]
                    u, v = v, u
                for t in lend.threads(64):
                    o[b, t] = u[t]


def test_a_block_goes_on_until_nothing_changes() -> None:
    @lend.kernel
    def kernel(o: Out[f32, M, Row], tol: f32):
        for b in lend.blocks(M):
            u = lend.shared(f32, 64)
            v = lend.shared(f32, 64)
            for t in lend.threads(64):
                u[t] = f32(t)
            err = tol + 1
            while err > tol:
                err = f32(0)
                for t in lend.threads(64):
                    v[t] = 0.5 * (u[t] + u[(t + 1) % 64])
                    err = max(err, abs(v[t] - u[t]))
                u, v = v, u
            for t in lend.threads(64):
                o[b, t] = u[t]

    assert_same(kernel, np.zeros((2, 64), np.float32), 8.0)


def test_a_tile_that_is_made_again_has_lost_what_it_held() -> None:
    with refused("L0320", "`p`"):

        @lend.kernel
        def kernel(o: Mut[f32, M, Row], steps: i64):
            for b in lend.blocks(M):
                r = lend.shared(f32, 64)
                for t in lend.threads(64):
                    r[t] = 1.0
                p = r
                for _ in range(steps):
                    s = lend.shared(f32, 64)
                    for t in lend.threads(64):
                        o[b, t] = p[63 - t]
                    for t in lend.threads(64):
                        s[t] = 2.0
                    p = s


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 4])
def test_three_names_go_round(steps: int) -> None:
    @lend.kernel
    def kernel(o: Out[f32, M, Row], steps: i64):
        for b in lend.blocks(M):
            u = lend.shared(f32, 64)
            v = lend.shared(f32, 64)
            w = lend.shared(f32, 64)
            for t in lend.threads(64):
                p = u
                q = v
                r = w
                p[t] = f32(t)
                q[t] = f32(2 * t)
                lend.sync()
                for _ in range(steps):
                    r[t] = p[63 - t] + q[(t + 1) % 64]
                    lend.sync()
                    p, q, r = q, r, p
                o[b, t] = q[63 - t]

    assert_same(kernel, np.zeros((2, 64), np.float32), steps)


def test_iterations_that_are_known_one_by_one_may_not_exchange() -> None:
    with refused("L0320", "`p`"):

        @lend.kernel
        def kernel(x: Ref[f32, M], o: Out[f32, M, Row]):
            for b in lend.blocks(M):
                u = lend.shared(f32, 64)
                v = lend.shared(f32, 64)
                d = x[b]
                for t in lend.threads(64):
                    p = u
                    q = v
                    p[t] = f32(t)
                    lend.sync()
                    total = f32(0)
                    j = 4
                    while j > 0:
                        if d > 0:
                            p, q = q, p
                        total += p[t ^ j]
                        j //= 2
                    o[b, t] = total


def test_one_tile_under_two_names() -> None:
    with refused("L0314"):

        @lend.kernel
        def kernel(o: Out[f32, M, Row], steps: i64):
            for b in lend.blocks(M):
                u = lend.shared(f32, 64)
                v = lend.shared(f32, 64)
                for t in lend.threads(64):
                    p = u
                    q = v
                    p[t] = f32(t)
                    q[t] = f32(t)
                    lend.sync()
                    for _ in range(steps):
                        q[t] = p[t] + p[(t + 1) % 64]
                        lend.sync()
                        p = q
                    o[b, t] = p[t]
