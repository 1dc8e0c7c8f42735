"""The benchmark kernels in Numba, parallel. Importing this module needs the extra `bench`."""

from __future__ import annotations

import math

import numba
import numpy as np
from numba import prange

jit = numba.njit(parallel=True, error_model="numpy")
F = np.float32


@jit
def saxpy(a, x, y):
    for i in prange(x.size):
        y[i] += a * x[i]


@jit
def stencil(u, v):
    for i in prange(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            v[i, j] = F(0.25) * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


@jit
def total(x):
    s = F(0)
    for i in prange(x.size):
        s += x[i]
    return s


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
def bilateral(image, out, distance, contrast):
    near, like = F(-0.5) / (distance * distance), F(-0.5) / (contrast * contrast)
    for i in prange(2, image.shape[0] - 2):
        for j in range(2, image.shape[1] - 2):
            total, weights = F(0), F(0)
            for y in range(i - 2, i + 3):
                for x in range(j - 2, j + 3):
                    d = image[y, x] - image[i, j]
                    weight = math.exp(near * F((y - i) * (y - i) + (x - j) * (x - j)) + like * d * d)
                    total += weight * image[y, x]
                    weights += weight
            out[i, j] = total / weights


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
