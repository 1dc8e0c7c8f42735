"""Dense linear algebra and its like in lend."""

from __future__ import annotations

import lend
from lend import Mut, Out, Ref, f64
from lend.dims import K, M, N, P


class Zones(lend.Dim): ...


class Groups(lend.Dim): ...


class Moments(lend.Dim): ...


class Directions(lend.Dim): ...


@lend.kernel
def matvec(a: Ref[f64, N, M], x: Ref[f64, M], y: Out[f64, N]):
    for i in lend.grid(N):
        s = 0.0
        for j in range(M):
            s += a[i, j] * x[j]
        y[i] = s


@lend.kernel
def matvec_transposed(a: Ref[f64, N, M], x: Ref[f64, N], y: Out[f64, M]):
    for j in lend.grid(M):
        s = 0.0
        for i in range(N):
            s += a[i, j] * x[i]
        y[j] = s


@lend.kernel
def gemm(a: Ref[f64, N, K], b: Ref[f64, K, M], c: Out[f64, N, M]):
    for i, j in lend.grid(N, M):
        s = 0.0
        for k in range(K):
            s += a[i, k] * b[k, j]
        c[i, j] = s


@lend.kernel
def two_mm(
    a: Ref[f64, N, K],
    b: Ref[f64, K, M],
    c: Ref[f64, M, P],
    tmp: Out[f64, N, M],
    d: Out[f64, N, P],
    alpha: f64,
    beta: f64,
):
    for i, j in lend.grid(N, M):
        s = 0.0
        for k in range(K):
            s += alpha * a[i, k] * b[k, j]
        tmp[i, j] = s
    for i, j in lend.grid(N, P):
        s = beta
        for k in range(M):
            s += tmp[i, k] * c[k, j]
        d[i, j] = s


@lend.kernel
def floyd_warshall(pin: Ref[f64, N, N], pout: Mut[f64, N, N]):
    for k in range(N):
        for i, j in lend.grid(N, N):
            through = pin[i, k] + pin[k, j]
            pout[i, j] = pin[i, j] if pin[i, j] < through else through


@lend.kernel
def ltimes(phi: Mut[f64, Zones, Groups, Moments], ell: Ref[f64, Moments, Directions], psi: Ref[f64, Zones, Groups, Directions]):
    for z, g, m in lend.grid(Zones, Groups, Moments):
        for d in range(Directions):
            phi[z, g, m] += ell[m, d] * psi[z, g, d]
