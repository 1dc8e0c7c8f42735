"""Loops without neighbours in NumPy."""

from __future__ import annotations

import numpy as np


def daxpy(a, x, y):
    y += a * x


def if_quad(a, b, c, x1, x2):
    s = b * b - 4.0 * a * c
    real = s >= 0.0
    s = np.sqrt(np.where(real, s, 0.0))
    x2[:] = np.where(real, (-b + s) / (2.0 * a), 0.0)
    x1[:] = np.where(real, (-b - s) / (2.0 * a), 0.0)


def eos(y, z, u, x, q, r, t):
    n = x.size
    inner = u[6 : n + 6] + q * (u[5 : n + 5] + q * u[4 : n + 4])
    middle = u[3 : n + 3] + r * (u[2 : n + 2] + r * u[1 : n + 1]) + t * inner
    x[:] = u[:n] + r * (z[:n] + r * y[:n]) + t * middle


def planckian(x, u, v, y, w):
    np.divide(u, v, out=y)
    np.exp(y, out=w)
    np.subtract(w, 1.0, out=w)
    np.divide(x, w, out=w)
