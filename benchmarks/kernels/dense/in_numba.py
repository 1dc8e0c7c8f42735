"""Dense linear algebra and its like in Numba."""

import numba
from numba import prange

jit = numba.njit(parallel=True, error_model="numpy")


@jit
def matvec(a, x, y):
    n, m = a.shape
    for i in prange(n):
        s = 0.0
        for j in range(m):
            s += a[i, j] * x[j]
        y[i] = s


@jit
def matvec_transposed(a, x, y):
    n, m = a.shape
    for j in prange(m):
        s = 0.0
        for i in range(n):
            s += a[i, j] * x[i]
        y[j] = s


@jit
def gemm(a, b, c):
    n, m = c.shape
    for i in prange(n):
        for j in range(m):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s


@jit
def two_mm(a, b, c, tmp, d, alpha, beta):
    n, m = tmp.shape
    for i in prange(n):
        for j in range(m):
            s = 0.0
            for k in range(a.shape[1]):
                s += alpha * a[i, k] * b[k, j]
            tmp[i, j] = s
    for i in prange(n):
        for j in range(d.shape[1]):
            s = beta
            for k in range(m):
                s += tmp[i, k] * c[k, j]
            d[i, j] = s


@jit
def floyd_warshall(pin, pout):
    n = pin.shape[0]
    for k in range(n):
        for i in prange(n):
            for j in range(n):
                through = pin[i, k] + pin[k, j]
                pout[i, j] = pin[i, j] if pin[i, j] < through else through


@jit
def ltimes(phi, ell, psi):
    zones, groups, moments = phi.shape
    for z in prange(zones):
        for g in range(groups):
            for m in range(moments):
                for d in range(ell.shape[1]):
                    phi[z, g, m] += ell[m, d] * psi[z, g, d]
