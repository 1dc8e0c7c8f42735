"""What the demo's kernels must compute, said with NumPy and SciPy.

Does: the same arithmetic with vectorised array operations, each as fast as it is usually written.  Does not: import lend.
Invariants: every function returns a new array and takes pictures as `kernels.py` does.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.float32]
Plate = NDArray[np.float64]


def gaussian_weights(sigma: float, radius: int) -> NDArray[np.float32]:
    """The 2 * radius + 1 weights of a Gaussian of width `sigma` pixels; their sum is 1."""
    distance = np.arange(-radius, radius + 1)
    weights = np.exp(-0.5 * (distance / sigma) ** 2)
    return (weights / weights.sum()).astype(np.float32)


def gaussian_blur(picture: Picture, sigma: float, radius: int) -> Picture:
    """SciPy's Gaussian filter over rows and columns, not over colours."""
    ndimage: Any = importlib.import_module("scipy.ndimage")
    return ndimage.gaussian_filter(picture, sigma=(0, sigma, sigma), radius=(0, radius, radius), mode="nearest")


def sobel_edges(picture: Picture) -> Picture:
    """The length of SciPy's two Sobel derivatives of the brightness."""
    ndimage: Any = importlib.import_module("scipy.ndimage")
    grey = np.float32(0.299) * picture[0] + np.float32(0.587) * picture[1] + np.float32(0.114) * picture[2]
    return np.hypot(ndimage.sobel(grey, axis=1, mode="nearest"), ndimage.sobel(grey, axis=0, mode="nearest"))


def bilateral(picture: Picture, radius: int, distance: float, contrast: float) -> Picture:
    """One pass of whole-array operations for each neighbour."""
    height, width = picture.shape[1:]
    padded = np.pad(picture, ((0, 0), (radius, radius), (radius, radius)), mode="edge")
    total = np.zeros_like(picture)
    weights = np.zeros((height, width), np.float32)
    for y in range(2 * radius + 1):
        for x in range(2 * radius + 1):
            neighbour = padded[:, y : y + height, x : x + width]
            difference = ((neighbour - picture) ** 2).sum(axis=0)
            squared = np.float32((y - radius) ** 2 + (x - radius) ** 2)
            weight = np.exp(np.float32(-0.5 / distance**2) * squared + np.float32(-0.5 / contrast**2) * difference)
            total += weight * neighbour
            weights += weight
    return total / weights


def settle_heat(plate: Plate, tolerance: float, max_steps: int) -> tuple[Plate, int]:
    """Jacobi steps over whole arrays until no point changes by more than `tolerance`; the plate and the number of steps."""
    plate, following = plate.copy(), plate.copy()
    steps, change = 0, tolerance + 1.0
    while change > tolerance and steps < max_steps:
        inside = following[1:-1, 1:-1]
        np.add(plate[:-2, 1:-1], plate[2:, 1:-1], out=inside)
        inside += plate[1:-1, :-2]
        inside += plate[1:-1, 2:]
        inside *= 0.25
        change = float(np.abs(inside - plate[1:-1, 1:-1]).max())
        plate, following = following, plate
        steps += 1
    return plate, steps
