"""Reductions in Numba; `argmin` is one that it runs in parallel."""

import numba
import numpy as np
from numba import prange

jit = numba.njit(parallel=True, error_model="numpy")


@jit
def sum(x):
    s = 0.0
    for i in prange(x.size):
        s += x[i]
    return s


@jit
def sum32(x):
    s = np.float32(0)
    for i in prange(x.size):
        s += x[i]
    return s


@jit
def min_location(x):
    place = x.argmin()
    return x[place], place
