"""Stencils with time steps in lend."""

from __future__ import annotations

import lend
from lend import Mut, Ref, f64, i64
from lend.dims import K, L, M, N


@lend.kernel
def jacobi_1d(a: Mut[f64, N], b: Mut[f64, N], steps: i64):
    for _ in range(steps):
        for i in lend.grid((1, N - 1)):
            b[i] = 0.33333 * (a[i - 1] + a[i] + a[i + 1])
        for i in lend.grid((1, N - 1)):
            a[i] = 0.33333 * (b[i - 1] + b[i] + b[i + 1])


@lend.kernel
def jacobi_2d(a: Mut[f64, N, M], b: Mut[f64, N, M], steps: i64):
    for _ in range(steps):
        for i, j in lend.grid((1, N - 1), (1, M - 1)):
            b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])
        for i, j in lend.grid((1, N - 1), (1, M - 1)):
            a[i, j] = 0.2 * (b[i, j] + b[i, j - 1] + b[i, j + 1] + b[i + 1, j] + b[i - 1, j])


@lend.kernel
def heat_3d(a: Mut[f64, N, M, K], b: Mut[f64, N, M, K], steps: i64):
    for _ in range(steps):
        for i, j, k in lend.grid((1, N - 1), (1, M - 1), (1, K - 1)):
            b[i, j, k] = (
                0.125 * (a[i + 1, j, k] - 2.0 * a[i, j, k] + a[i - 1, j, k])
                + 0.125 * (a[i, j + 1, k] - 2.0 * a[i, j, k] + a[i, j - 1, k])
                + 0.125 * (a[i, j, k + 1] - 2.0 * a[i, j, k] + a[i, j, k - 1])
                + a[i, j, k]
            )
        for i, j, k in lend.grid((1, N - 1), (1, M - 1), (1, K - 1)):
            a[i, j, k] = (
                0.125 * (b[i + 1, j, k] - 2.0 * b[i, j, k] + b[i - 1, j, k])
                + 0.125 * (b[i, j + 1, k] - 2.0 * b[i, j, k] + b[i, j - 1, k])
                + 0.125 * (b[i, j, k + 1] - 2.0 * b[i, j, k] + b[i, j, k - 1])
                + b[i, j, k]
            )


@lend.kernel
def fdtd_2d(ex: Mut[f64, N, M], ey: Mut[f64, N, M], hz: Mut[f64, N, M], fict: Ref[f64, L]):
    assert N > 0
    for t in range(L):
        for j in lend.grid(M):
            ey[0, j] = fict[t]
        for i, j in lend.grid((1, N), M):
            ey[i, j] = ey[i, j] - 0.5 * (hz[i, j] - hz[i - 1, j])
        for i, j in lend.grid(N, (1, M)):
            ex[i, j] = ex[i, j] - 0.5 * (hz[i, j] - hz[i, j - 1])
        for i, j in lend.grid(N - 1, M - 1):
            hz[i, j] = hz[i, j] - 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])
