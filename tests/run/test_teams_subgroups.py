"""Sub-groups, compiled: what lanes exchange, and branches and loops that sub-groups go through on their own."""

from __future__ import annotations

import numpy as np
import pytest
from harness import IN_PLACE
from two_ways import two_ways

import lend
from lend import Out, Ref, comptime, f64, i32, i64, u64
from lend.dims import M, N


@lend.kernel(math="strict")
def exchanges(x: Ref[f64, N], q: Ref[i32, N], o: Out[f64, 8, N], p: Out[u64, N], T: comptime[int] = 64):
    assert N % T == 0
    for b in lend.blocks(N // T):
        for t in lend.threads(T):
            sg = lend.subgroup(16)
            i = b * T + t
            v = x[i]
            o[0, i] = sg.shuffle(v, q[i])
            o[1, i] = sg.shuffle_xor(v, 5)
            o[2, i] = sg.shuffle_up(v, 3)
            o[3, i] = sg.shuffle_down(v, q[i])
            o[4, i] = sg.reduce_add(v)
            o[5, i] = sg.scan_add(v)
            o[6, i] = sg.reduce_min(v)
            o[7, i] = sg.scan_max(v)
            p[i] = sg.ballot(v > 0.0)


@lend.kernel(math="strict")
def first_group(x: Ref[f64, N], o: Out[f64, M], T: comptime[int] = 128):
    """A branch that one sub-group takes."""
    assert N == M * T
    for b in lend.blocks(M):
        s = lend.shared(f64, 8)
        for t in lend.threads(T):
            sg = lend.subgroup(16)
            part = sg.reduce_add(x[b * T + t])
            if t % 16 == 0:
                s[t // 16] = part
            lend.sync()
            if t < 16:
                w = s[t] if t < 8 else 0.0
                total = sg.reduce_add(w)
                if t == 0:
                    o[b] = total


@lend.kernel(math="strict")
def unequal_loops(x: Ref[i64, N], o: Out[i64, N], T: comptime[int] = 32):
    """Loops that sub-groups leave one after the other; what is the same in a step is not the same afterwards."""
    assert N % T == 0
    for b in lend.blocks(N // T):
        for t in lend.threads(T):
            sg = lend.subgroup(8)
            v = x[b * T + t]
            g = t // 8
            c, d = i64(1), i64(1)
            if g > 0:
                part = 64 // g
                for k in range(g, 0, -1):
                    for _m in range(2):
                        c = c + d
                        v += sg.shuffle_xor(v, 1) * k
                        d = c - d
                    sg.sync()
                v += part
            else:
                v = sg.scan_add(v)
            o[b * T + t] = v + c * 10


@lend.kernel(math="strict")
def groups_in_rows(x: Ref[i64, N, 8, 8], o: Out[i64, N, 8, 8]):
    for b in lend.blocks(N):
        for i, j in lend.threads(8, 8):
            sg = lend.subgroup(4)
            o[b, i, j] = sg.scan_add(x[b, i, j]) + 100 * i64(sg.lane)


def test_sub_groups_exchange_and_combine() -> None:
    rng = np.random.default_rng(6)
    x, q = rng.standard_normal(192), rng.integers(-3, 20, 192).astype(np.int32)
    _, _, o, p = two_ways(exchanges, x, q, np.zeros((8, 192)), np.zeros(192, np.uint64))
    rows = x.reshape(-1, 16)
    np.testing.assert_array_equal(o[1].reshape(-1, 16), rows[:, np.arange(16) ^ 5])
    np.testing.assert_array_equal(o[2].reshape(-1, 16)[:, 3:], rows[:, :-3])
    np.testing.assert_allclose(o[4].reshape(-1, 16), np.repeat(rows.sum(1, keepdims=True), 16, 1))
    np.testing.assert_allclose(o[5].reshape(-1, 16), rows.cumsum(1))
    np.testing.assert_array_equal(o[7].reshape(-1, 16), np.maximum.accumulate(rows, 1))
    bits = ((rows > 0) * (1 << np.arange(16))).sum(1).astype(np.uint64)
    np.testing.assert_array_equal(p.reshape(-1, 16), np.repeat(bits[:, None], 16, 1))


together = pytest.mark.skipif(not IN_PLACE, reason="on OpenCL all sub-groups of a block go the same way")


@together
def test_a_branch_that_one_sub_group_takes() -> None:
    x = np.random.default_rng(7).standard_normal(384)
    _, o = two_ways(first_group, x, np.zeros(3))
    np.testing.assert_allclose(o, x.reshape(3, 128).sum(1))


@together
def test_loops_that_sub_groups_leave_one_after_the_other() -> None:
    two_ways(unequal_loops, np.random.default_rng(8).integers(-9, 10, 96), np.zeros(96, np.int64))


def test_sub_groups_are_runs_of_threads_in_row_major_order() -> None:
    x = np.random.default_rng(9).integers(-9, 10, (3, 8, 8))
    _, o = two_ways(groups_in_rows, x, np.zeros((3, 8, 8), np.int64))
    np.testing.assert_array_equal(o.reshape(3, -1, 4), x.reshape(3, -1, 4).cumsum(2) + 100 * np.arange(4))
