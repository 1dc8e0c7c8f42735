"""Reductions in lend."""

from __future__ import annotations

import lend
from lend import Ref, f32, f64, i64
from lend.dims import N


@lend.kernel
def sum(x: Ref[f64, N]) -> f64:
    s = 0.0
    for i in lend.grid(N):
        s += x[i]
    return s


@lend.kernel
def sum32(x: Ref[f32, N]) -> f32:
    s = f32(0)
    for i in lend.grid(N):
        s += x[i]
    return s


@lend.kernel
def min_location(x: Ref[f64, N]) -> tuple[f64, i64]:
    assert N > 0
    best = (x[0], 0)
    for i in lend.grid(N):
        best = min(best, (x[i], i))
    return best
