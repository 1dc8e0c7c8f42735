"""The benchmark kernels in NumPy, as one writes them: whole-array operations, into existing memory where that is easy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]


def saxpy(a: np.float32, x: F32, y: F32) -> None:
    y += a * x


def stencil(u: F32, v: F32) -> None:
    v[1:-1, 1:-1] = np.float32(0.25) * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])


def total(x: F32) -> Any:
    return x.sum()


def mandelbrot(counts: NDArray[np.int32], limit: np.int32) -> None:
    h, w = counts.shape
    c = (-2.0 + 3.0 * np.arange(w) / w) + 1j * (-1.5 + 3.0 * np.arange(h) / h)[:, None]
    z = np.zeros_like(c)
    counts[:] = 0
    inside = np.ones(c.shape, bool)
    for _ in range(limit):
        inside &= z.real * z.real + z.imag * z.imag <= 4.0
        counts[inside] += 1
        z[inside] = z[inside] * z[inside] + c[inside]


def bilateral(image: F32, out: F32, distance: np.float32, contrast: np.float32) -> None:
    centre = image[2:-2, 2:-2]
    total = np.zeros_like(centre)
    weights = np.zeros_like(centre)
    h, w = image.shape
    for y in range(5):
        for x in range(5):
            neighbour = image[y : h - 4 + y, x : w - 4 + x]
            d = neighbour - centre
            near = np.float32(-0.5 / distance**2 * ((y - 2) ** 2 + (x - 2) ** 2))
            weight = np.exp(near + np.float32(-0.5 / contrast**2) * d * d)
            total += weight * neighbour
            weights += weight
    out[2:-2, 2:-2] = total / weights


def nbody(x: F32, y: F32, z: F32, ax: F32, ay: F32, az: F32) -> None:
    dx, dy, dz = x - x[:, None], y - y[:, None], z - z[:, None]
    r2 = dx * dx + dy * dy + dz * dz + np.float32(0.01)
    w = 1 / (r2 * np.sqrt(r2))
    ax[:] = (w * dx).sum(1)
    ay[:] = (w * dy).sum(1)
    az[:] = (w * dz).sum(1)
