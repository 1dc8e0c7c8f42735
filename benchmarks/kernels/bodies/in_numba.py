"""Loops that compute much and move little, in Numba."""

import math

import numba
import numpy as np
from numba import prange

jit = numba.njit(parallel=True, error_model="numpy")
F = np.float32


@jit
def mandelbrot(counts, limit):
    h, w = counts.shape
    for i in prange(h):
        for j in range(w):
            cr, ci = -2.0 + 3.0 * j / w, -1.5 + 3.0 * i / h
            zr, zi, n = 0.0, 0.0, 0
            while n < limit and zr * zr + zi * zi <= 4.0:
                zr, zi = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci
                n += 1
            counts[i, j] = n


@jit
def nbody(x, y, z, ax, ay, az):
    for i in prange(x.size):
        sx, sy, sz = F(0), F(0), F(0)
        for k in range(x.size):
            dx, dy, dz = x[k] - x[i], y[k] - y[i], z[k] - z[i]
            r2 = dx * dx + dy * dy + dz * dz + F(0.01)
            w = F(1) / (r2 * math.sqrt(r2))
            sx += w * dx
            sy += w * dy
            sz += w * dz
        ax[i], ay[i], az[i] = sx, sy, sz
