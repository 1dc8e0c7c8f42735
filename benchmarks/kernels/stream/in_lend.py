"""STREAM in lend."""

from __future__ import annotations

import lend
from lend import Out, Ref, f64
from lend.dims import N


@lend.kernel
def copy(a: Ref[f64, N], c: Out[f64, N]):
    for i in lend.grid(N):
        c[i] = a[i]


@lend.kernel
def mul(c: Ref[f64, N], b: Out[f64, N], alpha: f64):
    for i in lend.grid(N):
        b[i] = alpha * c[i]


@lend.kernel
def add(a: Ref[f64, N], b: Ref[f64, N], c: Out[f64, N]):
    for i in lend.grid(N):
        c[i] = a[i] + b[i]


@lend.kernel
def triad(b: Ref[f64, N], c: Ref[f64, N], a: Out[f64, N], alpha: f64):
    for i in lend.grid(N):
        a[i] = b[i] + alpha * c[i]


@lend.kernel
def dot(a: Ref[f64, N], b: Ref[f64, N]) -> f64:
    s = 0.0
    for i in lend.grid(N):
        s += a[i] * b[i]
    return s
