"""Loops that compute much and move little, in NumPy."""

from __future__ import annotations

import numpy as np


def mandelbrot(counts, limit):
    h, w = counts.shape
    c = (-2.0 + 3.0 * np.arange(w) / w) + 1j * (-1.5 + 3.0 * np.arange(h) / h)[:, None]
    z = np.zeros_like(c)
    counts[:] = 0
    inside = np.ones(c.shape, bool)
    for _ in range(limit):
        inside &= z.real * z.real + z.imag * z.imag <= 4.0
        counts[inside] += 1
        z[inside] = z[inside] * z[inside] + c[inside]


def nbody(x, y, z, ax, ay, az):
    dx, dy, dz = x - x[:, None], y - y[:, None], z - z[:, None]
    r2 = dx * dx + dy * dy + dz * dz + np.float32(0.01)
    w = 1 / (r2 * np.sqrt(r2))
    ax[:] = (w * dx).sum(1)
    ay[:] = (w * dy).sum(1)
    az[:] = (w * dz).sum(1)
