"""The benchmark kernels in lend, as a user writes them, and once more without checks where they read arrays."""

from __future__ import annotations

import math

import lend
from lend import Mut, Ref, f32, f64, i32
from lend.dims import H, N, W


@lend.kernel
def saxpy(a: f32, x: Ref[f32, N], y: Mut[f32, N]):
    for i in lend.grid(N):
        y[i] += a * x[i]


@lend.kernel
def saxpy_unchecked(a: f32, x: Ref[f32, N], y: Mut[f32, N]):
    for i in lend.grid(N):
        with lend.unchecked("i is below N, the size of both"):
            y[i] += a * x[i]


@lend.kernel
def stencil(u: Ref[f32, H, W], v: Mut[f32, H, W]):
    for i, j in lend.grid((1, H - 1), (1, W - 1)):
        v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


@lend.kernel
def stencil_unchecked(u: Ref[f32, H, W], v: Mut[f32, H, W]):
    for i, j in lend.grid((1, H - 1), (1, W - 1)):
        with lend.unchecked("the loop leaves the rim out"):
            v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


@lend.kernel
def total(x: Ref[f32, N]) -> f32:
    s = f32(0)
    for i in lend.grid(N):
        s += x[i]
    return s


@lend.kernel
def total_unchecked(x: Ref[f32, N]) -> f32:
    s = f32(0)
    for i in lend.grid(N):
        with lend.unchecked("i is below N"):
            s += x[i]
    return s


@lend.kernel
def mandelbrot(counts: Mut[i32, H, W], limit: i32):
    for i, j in lend.grid(H, W):
        cr = -2.0 + 3.0 * f64(j) / f64(W)
        ci = -1.5 + 3.0 * f64(i) / f64(H)
        zr = 0.0
        zi = 0.0
        n = i32(0)
        while n < limit and zr * zr + zi * zi <= 4.0:
            t = zr * zr - zi * zi + cr
            zi = 2.0 * zr * zi + ci
            zr = t
            n += 1
        counts[i, j] = n


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


@lend.kernel
def bilateral_unchecked(image: Ref[f32, H, W], out: Mut[f32, H, W], distance: f32, contrast: f32):
    near = -0.5 / (distance * distance)
    like = -0.5 / (contrast * contrast)
    for i, j in lend.grid((2, H - 2), (2, W - 2)):
        total = f32(0)
        weights = f32(0)
        with lend.unchecked("the loop leaves a rim of 2 out"):
            for y in range(i - 2, i + 3):
                for x in range(j - 2, j + 3):
                    d = image[y, x] - image[i, j]
                    weight = math.exp(near * f32((y - i) * (y - i) + (x - j) * (x - j)) + like * d * d)
                    total += weight * image[y, x]
                    weights += weight
            out[i, j] = total / weights


@lend.kernel
def nbody(x: Ref[f32, N], y: Ref[f32, N], z: Ref[f32, N], ax: Mut[f32, N], ay: Mut[f32, N], az: Mut[f32, N]):
    for i in lend.grid(N):
        sx = f32(0)
        sy = f32(0)
        sz = f32(0)
        for k in range(N):
            dx = x[k] - x[i]
            dy = y[k] - y[i]
            dz = z[k] - z[i]
            r2 = dx * dx + dy * dy + dz * dz + 0.01
            w = 1.0 / (r2 * math.sqrt(r2))
            sx += w * dx
            sy += w * dy
            sz += w * dz
        ax[i] = sx
        ay[i] = sy
        az[i] = sz


@lend.kernel
def nbody_unchecked(x: Ref[f32, N], y: Ref[f32, N], z: Ref[f32, N], ax: Mut[f32, N], ay: Mut[f32, N], az: Mut[f32, N]):
    for i in lend.grid(N):
        sx = f32(0)
        sy = f32(0)
        sz = f32(0)
        with lend.unchecked("i and k are below N, the size of all six"):
            for k in range(N):
                dx = x[k] - x[i]
                dy = y[k] - y[i]
                dz = z[k] - z[i]
                r2 = dx * dx + dy * dy + dz * dz + 0.01
                w = 1.0 / (r2 * math.sqrt(r2))
                sx += w * dx
                sy += w * dy
                sz += w * dz
            ax[i] = sx
            ay[i] = sy
            az[i] = sz


@lend.kernel
def polynomial_unchecked(x: Ref[f32, N], y: Mut[f32, N]):
    for i in lend.grid(N):
        with lend.unchecked("i is below N, the size of both"):
            y[i] = ((0.5 * x[i] - 1.25) * x[i] + 2.0) * x[i] + 0.75
