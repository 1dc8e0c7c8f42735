"""Small kernels of different kinds, for `lend bench`.

Does: compute.  Does not: measure (`bench.py`).
"""

from __future__ import annotations

import lend
from lend import Index, Mut, Out, Ref, f32, f64, i32
from lend.dims import H, M, N, W


@lend.kernel
def saxpy(a: f32, x: Ref[f32, N], y: Mut[f32, N]):
    """`y += a x`."""
    for i in lend.grid(N):
        y[i] += a * x[i]


@lend.kernel
def total(x: Ref[f32, N]) -> f32:
    """The sum."""
    s = f32(0)
    for i in lend.grid(N):
        s += x[i]
    return s


@lend.kernel
def matvec(a: Ref[f64, N, M], x: Ref[f64, M], y: Out[f64, N]):
    """`y = a x`."""
    for i in lend.grid(N):
        s = 0.0
        for k in range(M):
            s += a[i, k] * x[k]
        y[i] = s


@lend.kernel
def stencil(u: Ref[f32, H, W], v: Mut[f32, H, W]):
    """The mean of four neighbours."""
    for i, j in lend.grid((1, H - 1), (1, W - 1)):
        v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


@lend.kernel
def gather(where: Ref[Index[M], N], x: Ref[f64, M], y: Out[f64, N]):
    """`y = x[where]`."""
    for i in lend.grid(N):
        y[i] = x[where[i]]


@lend.kernel
def mandelbrot(counts: Out[i32, H, W], limit: i32):
    """Steps until a point escapes."""
    for i, j in lend.grid(H, W):
        cr = -2.0 + 3.0 * f64(j) / f64(W)
        ci = -1.5 + 3.0 * f64(i) / f64(H)
        zr = 0.0
        zi = 0.0
        n = i32(0)
        while n < limit and zr * zr + zi * zi <= 4.0:
            t = zr * zr - zi * zi + cr
            zi = 2.0 * zr * zi + ci
            zr = t
            n += 1
        counts[i, j] = n
