"""Loops without neighbours in Numba."""

import math

import numba
from numba import prange

jit = numba.njit(parallel=True, error_model="numpy")


@jit
def daxpy(a, x, y):
    for i in prange(x.size):
        y[i] += a * x[i]


@jit
def if_quad(a, b, c, x1, x2):
    for i in prange(a.size):
        s = b[i] * b[i] - 4.0 * a[i] * c[i]
        if s >= 0.0:
            s = math.sqrt(s)
            x2[i] = (-b[i] + s) / (2.0 * a[i])
            x1[i] = (-b[i] - s) / (2.0 * a[i])
        else:
            x2[i] = 0.0
            x1[i] = 0.0


@jit
def eos(y, z, u, x, q, r, t):
    for i in prange(x.size):
        x[i] = (
            u[i]
            + r * (z[i] + r * y[i])
            + t * (u[i + 3] + r * (u[i + 2] + r * u[i + 1]) + t * (u[i + 6] + q * (u[i + 5] + q * u[i + 4])))
        )


@jit
def planckian(x, u, v, y, w):
    for i in prange(x.size):
        y[i] = u[i] / v[i]
        w[i] = x[i] / (math.exp(y[i]) - 1.0)
