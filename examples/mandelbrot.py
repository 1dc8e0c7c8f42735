"""The Mandelbrot set: a `while` loop of its own length in every pixel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import lend
from lend import Out, f64, i32
from lend.dims import H, W


@lend.kernel
def mandelbrot(steps: Out[i32, H, W], centre_x: f64, centre_y: f64, width: f64, limit: i32):
    for i, j in lend.grid(H, W):
        cx = centre_x + width * (j / W - 0.5)
        cy = centre_y + width * (i / H - 0.5)
        x = 0.0
        y = 0.0
        n = i32(0)
        while x * x + y * y <= 4.0 and n < limit:
            x, y = x * x - y * y + cx, 2.0 * x * y + cy
            n += 1
        steps[i, j] = n


def mandelbrot_numpy(height: int, width: int, limit: int) -> NDArray[np.int32]:
    cx = -0.5 + 3.0 * (np.arange(width) / width - 0.5)[None, :]
    cy = 3.0 * (np.arange(height) / height - 0.5)[:, None]
    x, y, steps = np.zeros((height, width)), np.zeros((height, width)), np.zeros((height, width), np.int32)
    inside = np.ones((height, width), bool)
    with np.errstate(all="ignore"):
        for _ in range(limit):
            inside &= x * x + y * y <= 4.0
            steps += inside
            x, y = x * x - y * y + cx, 2.0 * x * y + cy
    return steps


def main() -> None:
    steps = np.zeros((240, 320), np.int32)
    mandelbrot(steps, -0.5, 0.0, 3.0, 60)
    same = float((steps == mandelbrot_numpy(240, 320, 60)).mean())
    assert same > 0.999  # a fused multiply-add may move a pixel on the edge by a step
    print(f"mandelbrot: {steps.size} pixels, {100 * same:.2f} % equal to NumPy")


if __name__ == "__main__":
    main()
