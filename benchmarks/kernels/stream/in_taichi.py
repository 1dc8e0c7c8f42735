"""STREAM in Taichi."""

import taichi as ti

Array = ti.types.ndarray(dtype=ti.f64, ndim=1)


@ti.kernel
def copy(a: Array, c: Array):
    for i in range(a.shape[0]):
        c[i] = a[i]


@ti.kernel
def mul(c: Array, b: Array, alpha: ti.f64):
    for i in range(c.shape[0]):
        b[i] = alpha * c[i]


@ti.kernel
def add(a: Array, b: Array, c: Array):
    for i in range(a.shape[0]):
        c[i] = a[i] + b[i]


@ti.kernel
def triad(b: Array, c: Array, a: Array, alpha: ti.f64):
    for i in range(b.shape[0]):
        a[i] = b[i] + alpha * c[i]


@ti.kernel
def dot(a: Array, b: Array) -> ti.f64:
    s = ti.f64(0.0)
    for i in range(a.shape[0]):
        s += a[i] * b[i]
    return s
