"""Stencils with time steps in Numba."""

import numba
from numba import prange

jit = numba.njit(parallel=True, error_model="numpy")


@jit
def jacobi_1d(a, b, steps):
    for _ in range(steps):
        for i in prange(1, a.size - 1):
            b[i] = 0.33333 * (a[i - 1] + a[i] + a[i + 1])
        for i in prange(1, a.size - 1):
            a[i] = 0.33333 * (b[i - 1] + b[i] + b[i + 1])


@jit
def jacobi_2d(a, b, steps):
    n, m = a.shape
    for _ in range(steps):
        for i in prange(1, n - 1):
            for j in range(1, m - 1):
                b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])
        for i in prange(1, n - 1):
            for j in range(1, m - 1):
                a[i, j] = 0.2 * (b[i, j] + b[i, j - 1] + b[i, j + 1] + b[i + 1, j] + b[i - 1, j])


@jit
def heat_3d(a, b, steps):
    n, m, p = a.shape
    for _ in range(steps):
        for i in prange(1, n - 1):
            for j in range(1, m - 1):
                for k in range(1, p - 1):
                    b[i, j, k] = (
                        0.125 * (a[i + 1, j, k] - 2.0 * a[i, j, k] + a[i - 1, j, k])
                        + 0.125 * (a[i, j + 1, k] - 2.0 * a[i, j, k] + a[i, j - 1, k])
                        + 0.125 * (a[i, j, k + 1] - 2.0 * a[i, j, k] + a[i, j, k - 1])
                        + a[i, j, k]
                    )
        for i in prange(1, n - 1):
            for j in range(1, m - 1):
                for k in range(1, p - 1):
                    a[i, j, k] = (
                        0.125 * (b[i + 1, j, k] - 2.0 * b[i, j, k] + b[i - 1, j, k])
                        + 0.125 * (b[i, j + 1, k] - 2.0 * b[i, j, k] + b[i, j - 1, k])
                        + 0.125 * (b[i, j, k + 1] - 2.0 * b[i, j, k] + b[i, j, k - 1])
                        + b[i, j, k]
                    )


@jit
def fdtd_2d(ex, ey, hz, fict):
    n, m = hz.shape
    for t in range(fict.size):
        for j in prange(m):
            ey[0, j] = fict[t]
        for i in prange(1, n):
            for j in range(m):
                ey[i, j] = ey[i, j] - 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in prange(n):
            for j in range(1, m):
                ex[i, j] = ex[i, j] - 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in prange(n - 1):
            for j in range(m - 1):
                hz[i, j] = hz[i, j] - 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])
