"""Loops that compute much and move little, in Taichi."""

import taichi as ti

Row = ti.types.ndarray(dtype=ti.f32, ndim=1)
Counts = ti.types.ndarray(dtype=ti.i32, ndim=2)


@ti.kernel
def mandelbrot(counts: Counts, limit: ti.i32):
    for i, j in ti.ndrange(counts.shape[0], counts.shape[1]):
        cr = -2.0 + 3.0 * ti.f64(j) / ti.f64(counts.shape[1])
        ci = -1.5 + 3.0 * ti.f64(i) / ti.f64(counts.shape[0])
        zr = ti.f64(0.0)
        zi = ti.f64(0.0)
        n = ti.i32(0)
        while n < limit and zr * zr + zi * zi <= 4.0:
            t = zr * zr - zi * zi + cr
            zi = 2.0 * zr * zi + ci
            zr = t
            n += 1
        counts[i, j] = n


@ti.kernel
def nbody(x: Row, y: Row, z: Row, ax: Row, ay: Row, az: Row):
    for i in range(x.shape[0]):
        sx = ti.f32(0.0)
        sy = ti.f32(0.0)
        sz = ti.f32(0.0)
        for k in range(x.shape[0]):
            dx = x[k] - x[i]
            dy = y[k] - y[i]
            dz = z[k] - z[i]
            r2 = dx * dx + dy * dy + dz * dz + ti.f32(0.01)
            w = ti.f32(1.0) / (r2 * ti.sqrt(r2))
            sx += w * dx
            sy += w * dy
            sz += w * dz
        ax[i] = sx
        ay[i] = sy
        az[i] = sz
