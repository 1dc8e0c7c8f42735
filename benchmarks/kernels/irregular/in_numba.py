"""Data-dependent accesses in Numba."""

import numba
import numpy as np
from numba import prange

jit = numba.njit(parallel=True, error_model="numpy")
PART = 262_144


@jit
def histogram(bins, counts):
    n = bins.size
    number = (n + PART - 1) // PART
    parts = np.zeros((number, counts.size), np.int64)
    for p in prange(number):
        for k in range(PART * p, min(PART * (p + 1), n)):
            parts[p, bins[k]] += 1
    for b in prange(counts.size):
        total = 0
        for p in range(number):
            total += parts[p, b]
        counts[b] = total


@jit
def csr(rows, columns, values, x, y):
    for i in prange(y.size):
        total = 0.0
        for k in range(rows[i], rows[i + 1]):
            total += values[k] * x[columns[k]]
        y[i] = total
