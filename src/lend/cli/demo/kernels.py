"""The demo's kernels: three filters for a photograph, and heat spreading through a plate.

Does: compute.  Does not: read pictures, measure or compare (`cases.py`), or say the same with NumPy (`reference.py`).
Invariants: a photograph is three planes (red, green, blue) of H x W values from 0 to 1; beyond its border the pixel at the
border is repeated.

A second reading after the README: a kernel is a function over arrays that are lent to it. `Ref` lends for reading, `Mut` for
reading and writing, `Out` to be filled; `H` in two annotations is the same size. A `for … in lend.grid(…)` runs its iterations in
parallel, in no order.
"""

from __future__ import annotations

import math
from typing import Literal

import lend
from lend import Mut, Out, Ref, comptime, f32, f64, i32, i64
from lend.dims import C, H, K, M, N, W


@lend.function
def clamp(position: i64, last: i64) -> i64:
    """The position from 0 to `last` that is nearest to `position`."""
    return min(max(position, 0), last)


@lend.kernel
def gaussian_blur(picture: Ref[f32, C, H, W], weights: Ref[f32, K], blurred: Out[f32, C, H, W], R: comptime[int] = 9):
    """Each pixel becomes the weighted mean of its neighbours: first along its row, then along its column.

    `R` is a compile-time value: each radius has code of its own, in which the loops over `k` are unrolled.
    """
    assert K == 2 * R + 1  # a contract, checked once at the call
    rows = lend.empty(f32, C, H, W)  # a temporary, freed when the kernel ends

    for c, i, j in lend.grid(C, H, W):
        total = f32(0)
        for k in range(-R, R + 1):
            total += weights[R + k] * picture[c, i, clamp(j + k, W - 1)]
        rows[c, i, j] = total

    for c, i, j in lend.grid(C, H, W):  # starts when the loop above has ended, and sees what it wrote
        total = f32(0)
        for k in range(-R, R + 1):
            total += weights[R + k] * rows[c, clamp(i + k, H - 1), j]
        blurred[c, i, j] = total


@lend.kernel
def sobel_edges(picture: Ref[f32, Literal[3], H, W], edges: Out[f32, H, W]):
    """The steepness of the brightness at each pixel: bright where the picture changes fast."""
    grey = lend.empty(f32, H, W)
    for i, j in lend.grid(H, W):
        grey[i, j] = 0.299 * picture[0, i, j] + 0.587 * picture[1, i, j] + 0.114 * picture[2, i, j]

    for i, j in lend.grid(H, W):
        up, down = clamp(i - 1, H - 1), clamp(i + 1, H - 1)
        left, right = clamp(j - 1, W - 1), clamp(j + 1, W - 1)
        along_row = (
            (grey[up, right] - grey[up, left]) + 2 * (grey[i, right] - grey[i, left]) + (grey[down, right] - grey[down, left])
        )
        along_column = (
            (grey[down, left] - grey[up, left]) + 2 * (grey[down, j] - grey[up, j]) + (grey[down, right] - grey[up, right])
        )
        edges[i, j] = math.sqrt(along_row * along_row + along_column * along_column)


@lend.kernel
def bilateral(
    picture: Ref[f32, Literal[3], H, W],
    smooth: Out[f32, Literal[3], H, W],
    distance: f32,
    contrast: f32,
    R: comptime[int] = 4,
):
    """Smooths, but keeps edges: the mean over a neighbourhood in which near pixels and pixels of a like colour weigh most.

    `distance` (in pixels) and `contrast` (in brightness) are the widths of the two Gaussians. The rows run in parallel; within a
    row the pixels are the innermost loop, because that is the loop that becomes vectors.
    """
    assert distance > 0 and contrast > 0 and H > 0 and W > 0
    nearness = -0.5 / (distance * distance)
    likeness = -0.5 / (contrast * contrast)
    padded = lend.empty(f32, 3, H + 2 * R, W + 2 * R)
    for c, i, j in lend.grid(3, H + 2 * R, W + 2 * R):
        padded[c, i, j] = picture[c, clamp(i - R, H - 1), clamp(j - R, W - 1)]

    totals = lend.zeros(f32, 3, H, W)
    weights = lend.zeros(f32, H, W)
    for i in lend.grid(H):
        for y in range(-R, R + 1):
            for x in range(-R, R + 1):
                far = nearness * f32(y * y + x * x)
                for j in range(W):
                    r, g, b = padded[0, R + i + y, R + j + x], padded[1, R + i + y, R + j + x], padded[2, R + i + y, R + j + x]
                    difference = (r - picture[0, i, j]) ** 2 + (g - picture[1, i, j]) ** 2 + (b - picture[2, i, j]) ** 2
                    weight = math.exp(far + likeness * difference)
                    totals[0, i, j] += weight * r
                    totals[1, i, j] += weight * g
                    totals[2, i, j] += weight * b
                    weights[i, j] += weight

    for c, i, j in lend.grid(3, H, W):
        smooth[c, i, j] = totals[c, i, j] / weights[i, j]


@lend.kernel
def settle_heat(plate: Mut[f64, N, M], following: Mut[f64, N, M], tolerance: f64, max_steps: i32) -> i32:
    """Lets heat spread through a plate whose rim keeps its temperature, until no point changes by more than `tolerance`.

    The `while` loop is compiled too: Python is not asked between two steps. The largest change is a reduction, which gives the
    same bits on any number of threads. `following` must have the plate's rim; the number of steps is returned.
    """
    assert N >= 3 and M >= 3
    steps = i32(0)
    change = tolerance + 1.0
    while change > tolerance and steps < max_steps:
        change = 0.0
        for i, j in lend.grid((1, N - 1), (1, M - 1)):
            following[i, j] = 0.25 * (plate[i - 1, j] + plate[i + 1, j] + plate[i, j - 1] + plate[i, j + 1])
            change = max(change, abs(following[i, j] - plate[i, j]))
        plate, following = following, plate  # two names change places; nothing is copied
        steps += 1
    if steps % 2 == 1:
        for i, j in lend.grid(N, M):  # the newest temperatures are in the other array: copy them into the caller's
            following[i, j] = plate[i, j]
    return steps
