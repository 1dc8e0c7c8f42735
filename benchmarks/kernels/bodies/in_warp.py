"""Loops that compute much and move little, in Warp."""

import warp as wp

Row = wp.array(dtype=wp.float32)
Counts = wp.array2d(dtype=wp.int32)
F = wp.float64


@wp.kernel
def mandelbrot_kernel(counts: Counts, limit: wp.int32):
    i, j = wp.tid()
    cr = F(-2.0) + F(3.0) * F(j) / F(counts.shape[1])
    ci = F(-1.5) + F(3.0) * F(i) / F(counts.shape[0])
    zr = F(0.0)
    zi = F(0.0)
    n = wp.int32(0)
    while n < limit and zr * zr + zi * zi <= F(4.0):
        t = zr * zr - zi * zi + cr
        zi = F(2.0) * zr * zi + ci
        zr = t
        n += 1
    counts[i, j] = n


@wp.kernel
def nbody_kernel(x: Row, y: Row, z: Row, ax: Row, ay: Row, az: Row):
    i = wp.tid()
    sx = wp.float32(0.0)
    sy = wp.float32(0.0)
    sz = wp.float32(0.0)
    for k in range(x.shape[0]):
        dx = x[k] - x[i]
        dy = y[k] - y[i]
        dz = z[k] - z[i]
        r2 = dx * dx + dy * dy + dz * dz + 0.01
        w = 1.0 / (r2 * wp.sqrt(r2))
        sx += w * dx
        sy += w * dy
        sz += w * dz
    ax[i] = sx
    ay[i] = sy
    az[i] = sz


def mandelbrot(counts, limit):
    wp.launch(mandelbrot_kernel, dim=counts.shape, inputs=[counts, limit])


def nbody(x, y, z, ax, ay, az):
    wp.launch(nbody_kernel, dim=x.size, inputs=[x, y, z, ax, ay, az])
