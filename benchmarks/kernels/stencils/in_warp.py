"""Stencils with time steps in Warp."""

import warp as wp

Row = wp.array(dtype=wp.float64)
Plane = wp.array2d(dtype=wp.float64)
Block = wp.array3d(dtype=wp.float64)
F = wp.float64


@wp.kernel
def jacobi_1d_kernel(a: Row, b: Row):
    i = wp.tid() + 1
    b[i] = F(0.33333) * (a[i - 1] + a[i] + a[i + 1])


@wp.kernel
def jacobi_2d_kernel(a: Plane, b: Plane):
    p, q = wp.tid()
    i = p + 1
    j = q + 1
    b[i, j] = F(0.2) * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])


@wp.kernel
def heat_3d_kernel(a: Block, b: Block):
    p, q, r = wp.tid()
    i = p + 1
    j = q + 1
    k = r + 1
    b[i, j, k] = (
        F(0.125) * (a[i + 1, j, k] - F(2.0) * a[i, j, k] + a[i - 1, j, k])
        + F(0.125) * (a[i, j + 1, k] - F(2.0) * a[i, j, k] + a[i, j - 1, k])
        + F(0.125) * (a[i, j, k + 1] - F(2.0) * a[i, j, k] + a[i, j, k - 1])
        + a[i, j, k]
    )


@wp.kernel
def source_kernel(ey: Plane, fict: Row, t: int):
    j = wp.tid()
    ey[0, j] = fict[t]


@wp.kernel
def ey_kernel(ey: Plane, hz: Plane):
    p, j = wp.tid()
    i = p + 1
    ey[i, j] = ey[i, j] - F(0.5) * (hz[i, j] - hz[i - 1, j])


@wp.kernel
def ex_kernel(ex: Plane, hz: Plane):
    i, q = wp.tid()
    j = q + 1
    ex[i, j] = ex[i, j] - F(0.5) * (hz[i, j] - hz[i, j - 1])


@wp.kernel
def hz_kernel(ex: Plane, ey: Plane, hz: Plane):
    i, j = wp.tid()
    hz[i, j] = hz[i, j] - F(0.7) * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])


def _in_turn(kernel, a, b, steps):
    dim = tuple(size - 2 for size in a.shape)
    for _ in range(steps):
        wp.launch(kernel, dim=dim, inputs=[a, b])
        wp.launch(kernel, dim=dim, inputs=[b, a])


def jacobi_1d(a, b, steps):
    _in_turn(jacobi_1d_kernel, a, b, steps)


def jacobi_2d(a, b, steps):
    _in_turn(jacobi_2d_kernel, a, b, steps)


def heat_3d(a, b, steps):
    _in_turn(heat_3d_kernel, a, b, steps)


def fdtd_2d(ex, ey, hz, fict):
    n, m = hz.shape
    for t in range(fict.size):
        wp.launch(source_kernel, dim=m, inputs=[ey, fict, t])
        wp.launch(ey_kernel, dim=(n - 1, m), inputs=[ey, hz])
        wp.launch(ex_kernel, dim=(n, m - 1), inputs=[ex, hz])
        wp.launch(hz_kernel, dim=(n - 1, m - 1), inputs=[ex, ey, hz])
