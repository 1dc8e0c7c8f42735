"""Filters in Taichi."""

import taichi as ti

from benchmarks.kernels.filters import TAPS

Row = ti.types.ndarray(dtype=ti.f64, ndim=1)
Plane = ti.types.ndarray(dtype=ti.f32, ndim=2)


@ti.kernel
def fir(x: Row, y: Row):
    for i in range(y.shape[0]):
        s = ti.f64(0.0)
        for j in ti.static(range(16)):
            s += TAPS[j] * x[i + j]
        y[i] = s


@ti.kernel
def bilateral(image: Plane, out: Plane, distance: ti.f32, contrast: ti.f32):
    for i, j in ti.ndrange((2, image.shape[0] - 2), (2, image.shape[1] - 2)):
        near = ti.f32(-0.5) / (distance * distance)
        like = ti.f32(-0.5) / (contrast * contrast)
        total = ti.f32(0.0)
        weights = ti.f32(0.0)
        for y in range(i - 2, i + 3):
            for x in range(j - 2, j + 3):
                d = image[y, x] - image[i, j]
                weight = ti.exp(near * ti.f32((y - i) * (y - i) + (x - j) * (x - j)) + like * d * d)
                total += weight * image[y, x]
                weights += weight
        out[i, j] = total / weights
