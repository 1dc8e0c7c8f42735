"""Stencils with time steps in Taichi: only a kernel's outermost loops run in parallel, so that the steps are Python's."""

import taichi as ti

Row = ti.types.ndarray(dtype=ti.f64, ndim=1)
Plane = ti.types.ndarray(dtype=ti.f64, ndim=2)
Block = ti.types.ndarray(dtype=ti.f64, ndim=3)


@ti.kernel
def _jacobi_1d(a: Row, b: Row):
    for i in range(1, a.shape[0] - 1):
        b[i] = 0.33333 * (a[i - 1] + a[i] + a[i + 1])
    for i in range(1, a.shape[0] - 1):
        a[i] = 0.33333 * (b[i - 1] + b[i] + b[i + 1])


@ti.kernel
def _jacobi_2d(a: Plane, b: Plane):
    for i, j in ti.ndrange((1, a.shape[0] - 1), (1, a.shape[1] - 1)):
        b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])
    for i, j in ti.ndrange((1, a.shape[0] - 1), (1, a.shape[1] - 1)):
        a[i, j] = 0.2 * (b[i, j] + b[i, j - 1] + b[i, j + 1] + b[i + 1, j] + b[i - 1, j])


@ti.kernel
def _heat_3d(a: Block, b: Block):
    for i, j, k in ti.ndrange((1, a.shape[0] - 1), (1, a.shape[1] - 1), (1, a.shape[2] - 1)):
        b[i, j, k] = (
            0.125 * (a[i + 1, j, k] - 2.0 * a[i, j, k] + a[i - 1, j, k])
            + 0.125 * (a[i, j + 1, k] - 2.0 * a[i, j, k] + a[i, j - 1, k])
            + 0.125 * (a[i, j, k + 1] - 2.0 * a[i, j, k] + a[i, j, k - 1])
            + a[i, j, k]
        )
    for i, j, k in ti.ndrange((1, a.shape[0] - 1), (1, a.shape[1] - 1), (1, a.shape[2] - 1)):
        a[i, j, k] = (
            0.125 * (b[i + 1, j, k] - 2.0 * b[i, j, k] + b[i - 1, j, k])
            + 0.125 * (b[i, j + 1, k] - 2.0 * b[i, j, k] + b[i, j - 1, k])
            + 0.125 * (b[i, j, k + 1] - 2.0 * b[i, j, k] + b[i, j, k - 1])
            + b[i, j, k]
        )


@ti.kernel
def _fdtd_2d(ex: Plane, ey: Plane, hz: Plane, fict: Row, t: ti.i64):
    for j in range(hz.shape[1]):
        ey[0, j] = fict[t]
    for i, j in ti.ndrange((1, hz.shape[0]), hz.shape[1]):
        ey[i, j] = ey[i, j] - 0.5 * (hz[i, j] - hz[i - 1, j])
    for i, j in ti.ndrange(hz.shape[0], (1, hz.shape[1])):
        ex[i, j] = ex[i, j] - 0.5 * (hz[i, j] - hz[i, j - 1])
    for i, j in ti.ndrange(hz.shape[0] - 1, hz.shape[1] - 1):
        hz[i, j] = hz[i, j] - 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])


def jacobi_1d(a, b, steps):
    for _ in range(steps):
        _jacobi_1d(a, b)


def jacobi_2d(a, b, steps):
    for _ in range(steps):
        _jacobi_2d(a, b)


def heat_3d(a, b, steps):
    for _ in range(steps):
        _heat_3d(a, b)


def fdtd_2d(ex, ey, hz, fict):
    for t in range(fict.shape[0]):
        _fdtd_2d(ex, ey, hz, fict, t)
