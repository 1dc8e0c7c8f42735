"""Filters in lend."""

from __future__ import annotations

import math

import lend
from benchmarks.kernels.filters import TAPS
from lend import Mut, Out, Ref, f32, f64
from lend.dims import H, N, W


class Padded(lend.Dim):
    equals = N + 15


@lend.kernel
def fir(x: Ref[f64, Padded], y: Out[f64, N]):
    for i in lend.grid(N):
        s = 0.0
        for j in lend.static_range(16):
            s += TAPS[j] * x[i + j]
        y[i] = s


@lend.kernel
def bilateral(image: Ref[f32, H, W], out: Mut[f32, H, W], distance: f32, contrast: f32):
    near = -0.5 / (distance * distance)
    like = -0.5 / (contrast * contrast)
    for i, j in lend.grid((2, H - 2), (2, W - 2)):
        total = f32(0)
        weights = f32(0)
        for y in range(i - 2, i + 3):
            for x in range(j - 2, j + 3):
                d = image[y, x] - image[i, j]
                weight = math.exp(near * f32((y - i) * (y - i) + (x - j) * (x - j)) + like * d * d)
                total += weight * image[y, x]
                weights += weight
        out[i, j] = total / weights
