"""Loops that compute much and move little, in lend."""

from __future__ import annotations

import math

import lend
from lend import Out, Ref, f32, f64, i32
from lend.dims import H, N, W


@lend.kernel
def mandelbrot(counts: Out[i32, H, W], limit: i32):
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


@lend.kernel
def nbody(x: Ref[f32, N], y: Ref[f32, N], z: Ref[f32, N], ax: Out[f32, N], ay: Out[f32, N], az: Out[f32, N]):
    for i in lend.grid(N):
        sx = f32(0)
        sy = f32(0)
        sz = f32(0)
        for k in range(N):
            dx = x[k] - x[i]
            dy = y[k] - y[i]
            dz = z[k] - z[i]
            r2 = dx * dx + dy * dy + dz * dz + 0.01
            w = 1.0 / (r2 * math.sqrt(r2))
            sx += w * dx
            sy += w * dy
            sz += w * dz
        ax[i] = sx
        ay[i] = sy
        az[i] = sz
