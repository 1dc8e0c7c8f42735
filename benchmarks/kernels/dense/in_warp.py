"""Dense linear algebra and its like in Warp."""

import warp as wp

Row = wp.array(dtype=wp.float64)
Plane = wp.array2d(dtype=wp.float64)
Block = wp.array3d(dtype=wp.float64)
F = wp.float64


@wp.kernel
def matvec_kernel(a: Plane, x: Row, y: Row):
    i = wp.tid()
    s = F(0.0)
    for j in range(a.shape[1]):
        s += a[i, j] * x[j]
    y[i] = s


@wp.kernel
def matvec_transposed_kernel(a: Plane, x: Row, y: Row):
    j = wp.tid()
    s = F(0.0)
    for i in range(a.shape[0]):
        s += a[i, j] * x[i]
    y[j] = s


@wp.kernel
def product_kernel(a: Plane, b: Plane, c: Plane, alpha: wp.float64, beta: wp.float64):
    i, j = wp.tid()
    s = beta
    for k in range(a.shape[1]):
        s += alpha * a[i, k] * b[k, j]
    c[i, j] = s


@wp.kernel
def gemm_kernel(a: Plane, b: Plane, c: Plane):
    i, j = wp.tid()
    s = F(0.0)
    for k in range(a.shape[1]):
        s += a[i, k] * b[k, j]
    c[i, j] = s


@wp.kernel
def floyd_warshall_kernel(pin: Plane, pout: Plane, k: int):
    i, j = wp.tid()
    through = pin[i, k] + pin[k, j]
    pout[i, j] = wp.where(pin[i, j] < through, pin[i, j], through)


@wp.kernel
def ltimes_kernel(phi: Block, ell: Plane, psi: Block):
    z, g, m = wp.tid()
    s = phi[z, g, m]
    for d in range(ell.shape[1]):
        s += ell[m, d] * psi[z, g, d]
    phi[z, g, m] = s


def matvec(a, x, y):
    wp.launch(matvec_kernel, dim=a.shape[0], inputs=[a, x, y])


def matvec_transposed(a, x, y):
    wp.launch(matvec_transposed_kernel, dim=a.shape[1], inputs=[a, x, y])


def gemm(a, b, c):
    wp.launch(gemm_kernel, dim=c.shape, inputs=[a, b, c])


def two_mm(a, b, c, tmp, d, alpha, beta):
    wp.launch(product_kernel, dim=tmp.shape, inputs=[a, b, tmp, alpha, 0.0])
    wp.launch(product_kernel, dim=d.shape, inputs=[tmp, c, d, 1.0, beta])


def floyd_warshall(pin, pout):
    for k in range(pin.shape[0]):
        wp.launch(floyd_warshall_kernel, dim=pin.shape, inputs=[pin, pout, k])


def ltimes(phi, ell, psi):
    wp.launch(ltimes_kernel, dim=phi.shape, inputs=[phi, ell, psi])
