"""STREAM in Numba."""

import numba
from numba import prange

jit = numba.njit(parallel=True, error_model="numpy")


@jit
def copy(a, c):
    for i in prange(a.size):
        c[i] = a[i]


@jit
def mul(c, b, alpha):
    for i in prange(c.size):
        b[i] = alpha * c[i]


@jit
def add(a, b, c):
    for i in prange(a.size):
        c[i] = a[i] + b[i]


@jit
def triad(b, c, a, alpha):
    for i in prange(b.size):
        a[i] = b[i] + alpha * c[i]


@jit
def dot(a, b):
    s = 0.0
    for i in prange(a.size):
        s += a[i] * b[i]
    return s
