"""Filters in NumPy."""

from __future__ import annotations

import numpy as np

from benchmarks.kernels.filters import TAPS


def fir(x, y):
    y[:] = TAPS[0] * x[: y.size]
    for j in range(1, 16):
        y += TAPS[j] * x[j : j + y.size]


def bilateral(image, out, distance, contrast):
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
