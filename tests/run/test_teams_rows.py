"""Sums over threads in rows: vectors begin before a row's first index where lanes are off, and nothing is assumed of these.

Found by random programs: a subscript that is tested in one piece brought assumptions about indices into the vectors of another.
"""

from __future__ import annotations

import numpy as np
import pytest
from two_ways import two_ways

import lend
from lend import Mut, Ref, f64, i64
from lend.dims import K, M, N


@lend.kernel(math="strict")
def sums_in_a_branch_of_a_loop(x: Ref[f64, N, M], o: Mut[f64, K], h: i64) -> f64:
    assert M >= 2
    grand = 0.5
    for b in lend.blocks(3):
        s = lend.shared(f64, 64)
        total = 0.25
        for p, q in lend.threads(4, 16):
            t = p * 16 + q
            g = b * 64 + t
            v = f64(t) * 0.125
            w = 1.0
            u = 2.0
            k = i64(1) + h
            v -= 0.25
            s[t] = f64(t)
            lend.sync()
            z1 = s[(t + 2) % 64]
            x[(t + h) % N, 0:2]
            lend.sync()
            total += u * v
            u -= z1 * 0.5
            l3 = lend.local(f64, 2, 3)
            for a4 in range(6):
                l3[a4 // 3, a4 % 3] = v * f64(a4)
            r5 = l3[0, :]
            w += (f64(k) + f64(t)) - (w * u)
            r5[0] = w + l3[1, 2]
            lend.sync()
            u = u + l3[0, 2] - r5[0]
            if g < N:
                v += x[g, 1]
            j6 = i64(2)
            while j6 < 3:
                j6 += 1
                if j6 % 2 == 0:
                    continue
                l7 = lend.local(f64, 3)
                l7[0] = v
                l7[1] = w
                l7[2] = 1.0
                l7[1] = l7[2] + v
                w = l7[0] - l7[1]
                if b > 1:
                    s[t] = v * u
                    lend.sync()
                    z8 = s[(t + 2) % 64]
                    x[k % N, :]
                    lend.sync()
                    v = f64(t)
                    u -= z8 * 0.5
                    w, u = u * 0.5, w
                    total += v
            k = (k + t) % 5
            if g < K:
                o[g] = o[g] + v + 2.0 * w + u + f64(k)
        grand += total
    return grand


def test_sums_in_a_branch_of_a_loop_with_continue() -> None:
    two_ways(sums_in_a_branch_of_a_loop, np.ones((1, 2)), np.zeros(64), 0)


@lend.kernel(math="strict")
def sums_beside_a_test(x: Ref[f64, N], where: Ref[i64, N], o: Mut[f64, K]) -> f64:
    grand = 0.5
    for b in lend.blocks(3):
        s = lend.shared(f64, 64)
        total = 0.25
        for p, q in lend.threads(4, 16):
            t = p * 16 + q
            s[t] = x[where[t % N]] if N > 0 else 0.0
            lend.sync()
            v = s[(t + 2) % 64]
            lend.sync()
            if b * 64 + t < K:
                o[b * 64 + t] += v
            total += f64(t) * 0.25 - 0.5
        grand += total
    return grand


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 150, 192, 200])
def test_sums_beside_a_subscript_that_is_tested(size: int) -> None:
    two_ways(sums_beside_a_test, np.arange(5.0), np.arange(5), np.zeros(size))
