"""Dense linear algebra and its like in NumPy, whose products are OpenBLAS's."""

from __future__ import annotations

import numpy as np


def matvec(a, x, y):
    np.matmul(a, x, out=y)


def matvec_transposed(a, x, y):
    np.matmul(x, a, out=y)


def gemm(a, b, c):
    np.matmul(a, b, out=c)


def two_mm(a, b, c, tmp, d, alpha, beta):
    np.matmul(alpha * a, b, out=tmp)
    np.matmul(tmp, c, out=d)
    d += beta


def floyd_warshall(pin, pout):
    for k in range(pin.shape[0]):
        np.add(pin[:, k, None], pin[k], out=pout)
        np.minimum(pin, pout, out=pout)


def ltimes(phi, ell, psi):
    phi += psi @ ell.T
