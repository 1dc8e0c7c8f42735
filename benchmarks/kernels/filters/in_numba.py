"""Filters in Numba."""

import math

import numba
import numpy as np
from numba import prange

from benchmarks.kernels.filters import TAPS

jit = numba.njit(parallel=True, error_model="numpy")
F = np.float32


@jit
def fir(x, y):
    for i in prange(y.size):
        s = 0.0
        for j in range(16):
            s += TAPS[j] * x[i + j]
        y[i] = s


@jit
def bilateral(image, out, distance, contrast):
    near, like = F(-0.5 / (distance * distance)), F(-0.5 / (contrast * contrast))
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
