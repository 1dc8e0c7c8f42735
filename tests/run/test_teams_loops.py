"""Loops that all threads of a block go through together, against plain Python."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from two_ways import two_ways

import lend
from lend import Mut, Out, Ref, comptime, f64, i64
from lend.dims import M, N


@lend.kernel(math="strict")
def rows(x: Ref[f64, N, M], y: Out[f64, N, M], o: Out[f64, N], T: comptime[int] = 32):
    """Threads walk along rows together: sums of their own, a count that is not the same for all, a reduction."""
    for b in lend.blocks(N):
        s = lend.shared(f64, T)
        total = 0.0
        for t in lend.threads(T):
            own = 0.0
            k = i64(0)
            for j in range(t, M, T):
                own += x[b, j] * x[b, j]
                k += 1
                total += x[b, j]
            s[t] = own + f64(k)
        for t in lend.threads(T):
            for j in range(t, M, T):
                y[b, j] = x[b, j] * s[T - 1 - t]
        for t in lend.threads(1):
            o[b] = total


@lend.kernel(math="strict")
def grid_stride(x: Ref[f64, N], o: Out[f64, 64], T: comptime[int] = 32):
    for b in lend.blocks(2):
        for t in lend.threads(T):
            acc = 0.0
            for i in range(b * T + t, N, 2 * T):
                acc += x[i]
            o[b * T + t] = acc


@lend.kernel(math="strict")
def offsets(x: Ref[f64, N, M], y: Out[f64, N, M], by: i64, T: comptime[int] = 64):
    for b in lend.blocks(N):
        for t in lend.threads(T):
            for j in range(t, M, T):
                y[b, j] = 0.0
        for t in lend.threads(T):
            for j in range(t + by, M, T):
                if j >= 0:
                    y[b, j] = x[b, j]
                    if x[b, j] > 0.5:
                        y[b, j] = 1.0


@lend.kernel(math="strict")
def unrolled(x: Ref[f64, N], o: Out[f64, M], T: comptime[int] = 64):
    for b in lend.blocks(M):
        s = 0.25
        for t in lend.threads(T):
            for k in range(4):
                i = b * (T * 4) + k * T + t
                if i < N:
                    s += x[i]
        for t in lend.threads(1):
            o[b] = s


@lend.kernel(math="strict")
def wrapping(x: Ref[f64, N], ends: Ref[i64, 2], o: Mut[f64, 64]):
    """The sums of threads' indices and a number from memory wrap for some of the threads."""
    for _b in lend.blocks(1):
        first, last = ends[0], ends[1]
        for start in range(first, first + 1):
            for t in lend.threads(64):
                acc = 0.0
                for j in range(start + t, last, 64):
                    k = j + (-(2**63))
                    if k >= 0 and k < N:
                        acc += x[k]
                o[t] = acc


@lend.kernel(math="strict")
def rows_on_the_way(x: Ref[f64, 8, Literal[2]], y: Mut[f64, 8], n: i64):
    """Views of what a loop carries, used after the barrier before which the next value is known."""
    for _b in lend.blocks(1):
        s = lend.shared(f64, 8)
        for t in lend.threads(8):
            k = i64(t)
            for _i in range(3):
                row = x[k, :]
                following = (k + 3) % 8
                s[t] = row[0]
                lend.sync()
                y[t] += row[1] + s[7 - t]
                for _j in range(n):
                    lend.sync()
                    y[t] -= row[1]
                lend.sync()
                k = following


def test_a_loop_whose_start_wraps_for_some_threads_stays_as_it_is() -> None:
    x = np.arange(1.0, 131.0)
    for first, last in ((2**63 - 21, -(2**63) + 40), (2**63 - 64, -(2**63) + 40), (-(2**63), -(2**63) + 100)):
        two_ways(wrapping, x, np.array([first, last]), np.zeros(64))


def test_views_of_what_a_loop_carries_are_of_this_iteration() -> None:
    two_ways(rows_on_the_way, np.random.default_rng(5).standard_normal((8, 2)), np.zeros(8), 2)


@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 64, 65, 127, 128, 300])
def test_loops_that_all_threads_go_through_together(size: int) -> None:
    rng = np.random.default_rng(size)
    x = rng.standard_normal((3, size))
    two_ways(rows, x, np.zeros((3, size)), np.zeros(3))
    two_ways(grid_stride, rng.standard_normal(7 * size), np.zeros(64))
    for by in (-3, 0, 2, 70):
        two_ways(offsets, x, np.zeros((3, size)), by)
    two_ways(unrolled, rng.standard_normal(5 * size), np.zeros(-(-5 * size // 256)))
