"""Loops without neighbours in lend."""

from __future__ import annotations

import math

import lend
from lend import Mut, Out, Ref, f64
from lend.dims import N


class Padded(lend.Dim):
    equals = N + 7


@lend.kernel
def daxpy(a: f64, x: Ref[f64, N], y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] += a * x[i]


@lend.kernel
def if_quad(a: Ref[f64, N], b: Ref[f64, N], c: Ref[f64, N], x1: Out[f64, N], x2: Out[f64, N]):
    for i in lend.grid(N):
        s = b[i] * b[i] - 4.0 * a[i] * c[i]
        if s >= 0.0:
            s = math.sqrt(s)
            x2[i] = (-b[i] + s) / (2.0 * a[i])
            x1[i] = (-b[i] - s) / (2.0 * a[i])
        else:
            x2[i] = 0.0
            x1[i] = 0.0


@lend.kernel
def eos(y: Ref[f64, Padded], z: Ref[f64, Padded], u: Ref[f64, Padded], x: Out[f64, N], q: f64, r: f64, t: f64):
    for i in lend.grid(N):
        x[i] = (
            u[i]
            + r * (z[i] + r * y[i])
            + t * (u[i + 3] + r * (u[i + 2] + r * u[i + 1]) + t * (u[i + 6] + q * (u[i + 5] + q * u[i + 4])))
        )


@lend.kernel
def planckian(x: Ref[f64, N], u: Ref[f64, N], v: Ref[f64, N], y: Out[f64, N], w: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = u[i] / v[i]
        w[i] = x[i] / (math.exp(y[i]) - 1.0)
