"""Dense linear algebra and its like in Taichi."""

import taichi as ti

Row = ti.types.ndarray(dtype=ti.f64, ndim=1)
Plane = ti.types.ndarray(dtype=ti.f64, ndim=2)
Block = ti.types.ndarray(dtype=ti.f64, ndim=3)


@ti.kernel
def matvec(a: Plane, x: Row, y: Row):
    for i in range(a.shape[0]):
        s = ti.f64(0.0)
        for j in range(a.shape[1]):
            s += a[i, j] * x[j]
        y[i] = s


@ti.kernel
def matvec_transposed(a: Plane, x: Row, y: Row):
    for j in range(a.shape[1]):
        s = ti.f64(0.0)
        for i in range(a.shape[0]):
            s += a[i, j] * x[i]
        y[j] = s


@ti.kernel
def gemm(a: Plane, b: Plane, c: Plane):
    for i, j in ti.ndrange(c.shape[0], c.shape[1]):
        s = ti.f64(0.0)
        for k in range(a.shape[1]):
            s += a[i, k] * b[k, j]
        c[i, j] = s


@ti.kernel
def two_mm(a: Plane, b: Plane, c: Plane, tmp: Plane, d: Plane, alpha: ti.f64, beta: ti.f64):
    for i, j in ti.ndrange(tmp.shape[0], tmp.shape[1]):
        s = ti.f64(0.0)
        for k in range(a.shape[1]):
            s += alpha * a[i, k] * b[k, j]
        tmp[i, j] = s
    for i, j in ti.ndrange(d.shape[0], d.shape[1]):
        t = beta
        for k in range(tmp.shape[1]):
            t += tmp[i, k] * c[k, j]
        d[i, j] = t


@ti.kernel
def _floyd_warshall(pin: Plane, pout: Plane, k: ti.i64):
    for i, j in ti.ndrange(pin.shape[0], pin.shape[1]):
        through = pin[i, k] + pin[k, j]
        pout[i, j] = ti.select(pin[i, j] < through, pin[i, j], through)


def floyd_warshall(pin, pout):
    for k in range(pin.shape[0]):
        _floyd_warshall(pin, pout, k)


@ti.kernel
def ltimes(phi: Block, ell: Plane, psi: Block):
    for z, g, m in ti.ndrange(phi.shape[0], phi.shape[1], phi.shape[2]):
        s = phi[z, g, m]
        for d in range(ell.shape[1]):
            s += ell[m, d] * psi[z, g, d]
        phi[z, g, m] = s
