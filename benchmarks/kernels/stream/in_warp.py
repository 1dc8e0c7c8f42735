"""STREAM in Warp."""

import warp as wp

Array = wp.array(dtype=wp.float64)


@wp.kernel
def copy_kernel(a: Array, c: Array):
    i = wp.tid()
    c[i] = a[i]


@wp.kernel
def mul_kernel(c: Array, b: Array, alpha: wp.float64):
    i = wp.tid()
    b[i] = alpha * c[i]


@wp.kernel
def add_kernel(a: Array, b: Array, c: Array):
    i = wp.tid()
    c[i] = a[i] + b[i]


@wp.kernel
def triad_kernel(b: Array, c: Array, a: Array, alpha: wp.float64):
    i = wp.tid()
    a[i] = b[i] + alpha * c[i]


def copy(a, c):
    wp.launch(copy_kernel, dim=a.size, inputs=[a, c])


def mul(c, b, alpha):
    wp.launch(mul_kernel, dim=c.size, inputs=[c, b, alpha])


def add(a, b, c):
    wp.launch(add_kernel, dim=a.size, inputs=[a, b, c])


def triad(b, c, a, alpha):
    wp.launch(triad_kernel, dim=b.size, inputs=[b, c, a, alpha])


def dot(a, b):
    return wp.utils.array_inner(a, b)
