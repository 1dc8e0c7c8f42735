"""Loops without neighbours in Taichi."""

import taichi as ti

Array = ti.types.ndarray(dtype=ti.f64, ndim=1)


@ti.kernel
def daxpy(a: ti.f64, x: Array, y: Array):
    for i in range(x.shape[0]):
        y[i] = y[i] + a * x[i]


@ti.kernel
def if_quad(a: Array, b: Array, c: Array, x1: Array, x2: Array):
    for i in range(a.shape[0]):
        s = b[i] * b[i] - 4.0 * a[i] * c[i]
        if s >= 0.0:
            s = ti.sqrt(s)
            x2[i] = (-b[i] + s) / (2.0 * a[i])
            x1[i] = (-b[i] - s) / (2.0 * a[i])
        else:
            x2[i] = 0.0
            x1[i] = 0.0


@ti.kernel
def eos(y: Array, z: Array, u: Array, x: Array, q: ti.f64, r: ti.f64, t: ti.f64):
    for i in range(x.shape[0]):
        x[i] = (
            u[i]
            + r * (z[i] + r * y[i])
            + t * (u[i + 3] + r * (u[i + 2] + r * u[i + 1]) + t * (u[i + 6] + q * (u[i + 5] + q * u[i + 4])))
        )


@ti.kernel
def planckian(x: Array, u: Array, v: Array, y: Array, w: Array):
    for i in range(x.shape[0]):
        y[i] = u[i] / v[i]
        w[i] = x[i] / (ti.exp(y[i]) - 1.0)
