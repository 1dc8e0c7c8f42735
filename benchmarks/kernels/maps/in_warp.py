"""Loops without neighbours in Warp."""

import warp as wp

Array = wp.array(dtype=wp.float64)


@wp.kernel
def daxpy_kernel(a: wp.float64, x: Array, y: Array):
    i = wp.tid()
    y[i] = y[i] + a * x[i]


@wp.kernel
def if_quad_kernel(a: Array, b: Array, c: Array, x1: Array, x2: Array):
    i = wp.tid()
    s = b[i] * b[i] - wp.float64(4.0) * a[i] * c[i]
    if s >= wp.float64(0.0):
        s = wp.sqrt(s)
        x2[i] = (-b[i] + s) / (wp.float64(2.0) * a[i])
        x1[i] = (-b[i] - s) / (wp.float64(2.0) * a[i])
    else:
        x2[i] = wp.float64(0.0)
        x1[i] = wp.float64(0.0)


@wp.kernel
def eos_kernel(y: Array, z: Array, u: Array, x: Array, q: wp.float64, r: wp.float64, t: wp.float64):
    i = wp.tid()
    x[i] = (
        u[i]
        + r * (z[i] + r * y[i])
        + t * (u[i + 3] + r * (u[i + 2] + r * u[i + 1]) + t * (u[i + 6] + q * (u[i + 5] + q * u[i + 4])))
    )


@wp.kernel
def planckian_kernel(x: Array, u: Array, v: Array, y: Array, w: Array):
    i = wp.tid()
    e = u[i] / v[i]
    y[i] = e
    w[i] = x[i] / (wp.exp(e) - wp.float64(1.0))


def daxpy(a, x, y):
    wp.launch(daxpy_kernel, dim=x.size, inputs=[a, x, y])


def if_quad(a, b, c, x1, x2):
    wp.launch(if_quad_kernel, dim=a.size, inputs=[a, b, c, x1, x2])


def eos(y, z, u, x, q, r, t):
    wp.launch(eos_kernel, dim=x.size, inputs=[y, z, u, x, q, r, t])


def planckian(x, u, v, y, w):
    wp.launch(planckian_kernel, dim=x.size, inputs=[x, u, v, y, w])
