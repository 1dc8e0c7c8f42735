"""Pictures of u8: colour conversion, thresholds, look-up tables, blurs, histograms by column."""

from typing import Literal

import numpy as np
from harness import check

import lend
from lend import Mut, Out, Ref, f32, i32, i64, u8
from lend.dims import C, H, N, W


@lend.kernel
def grey(rgb: Ref[u8, H, W, 3], out: Out[u8, H, W]):
    for i, j in lend.grid(H, W):
        weighted = 77 * i32(rgb[i, j, 0]) + 150 * i32(rgb[i, j, 1]) + 29 * i32(rgb[i, j, 2])
        out[i, j] = u8(weighted >> 8)


@lend.kernel(math="strict")
def rgb_to_yuv(rgb: Ref[u8, H, W, Literal[3]], yuv: Out[u8, H, W, Literal[3]]):
    for i, j in lend.grid(H, W):
        r = f32(rgb[i, j, 0])
        g = f32(rgb[i, j, 1])
        b = f32(rgb[i, j, 2])
        y = 0.299 * r + 0.587 * g + 0.114 * b
        yuv[i, j, 0] = u8(y + 0.5)
        yuv[i, j, 1] = u8(0.492 * (b - y) + 128.5)
        yuv[i, j, 2] = u8(0.877 * (r - y) + 128.5)


@lend.kernel
def threshold(x: Ref[u8, H, W], y: Out[u8, H, W], limit: u8 = 128):
    for i, j in lend.grid(H, W):
        y[i, j] = 255 if x[i, j] >= limit else 0


@lend.kernel
def apply_table(table: Ref[u8, 256], x: Ref[u8, N], y: Out[u8, N]):
    for i in lend.grid(N):
        y[i] = table[x[i]]


@lend.kernel
def invert(x: Mut[u8, N]):
    for i in lend.grid(N):
        x[i] = 255 - x[i]


@lend.kernel
def box_blur(x: Ref[u8, H, W], y: Out[u8, H, W], radius: i64):
    for i, j in lend.grid(H, W):
        total = i64(0)
        count = i64(0)
        for a in range(max(0, i - radius), min(H, i + radius + 1)):
            for b in range(max(0, j - radius), min(W, j + radius + 1)):
                total += x[a, b]
                count += 1
        y[i, j] = u8(total // count)


@lend.kernel
def histogram_rows(x: Ref[u8, H, W], h: Out[i32, H, C]):
    assert C == 256
    for i in lend.grid(H):
        for c in range(C):
            h[i, c] = 0
        for j in range(W):
            h[i, x[i, j]] += 1


@lend.kernel
def blend(a: Ref[u8, N], b: Ref[u8, N], alpha: f32, y: Out[u8, N]):
    for i in lend.grid(N):
        y[i] = u8(round(alpha * a[i] + (1 - alpha) * b[i]))


def picture(rng, *shape):
    return rng.integers(0, 256, shape).astype(np.uint8)


def test_grey_by_integers(target):
    def reference(rgb, out):
        out[...] = (rgb.astype(np.int32) @ np.array([77, 150, 29], np.int32)) >> 8

    check(
        grey, reference, lambda rng, n: (picture(rng, n, n + 1, 3), picture(rng, n, n + 1)), target=target, sizes=(0, 1, 17, 100)
    )


def test_rgb_to_yuv_through_floats(target):
    def reference(rgb, yuv):
        r, g, b = (rgb[..., k].astype(np.float32) for k in range(3))
        f = np.float32
        y = f(0.299) * r + f(0.587) * g + f(0.114) * b
        for k, plane in enumerate((y + f(0.5), f(0.492) * (b - y) + f(128.5), f(0.877) * (r - y) + f(128.5))):
            yuv[..., k] = np.floor(np.clip(plane, 0, 255))

    def arguments(rng, n):
        return picture(rng, n, n + 1, 3), picture(rng, n, n + 1, 3)

    check(rgb_to_yuv, reference, arguments, target=target, sizes=(0, 1, 17, 60))


def test_threshold_with_a_default(target):
    def reference(x, y, limit=128):
        y[...] = np.where(x >= limit, 255, 0)

    check(threshold, reference, lambda rng, n: (picture(rng, n, 3), picture(rng, n, 3)), target=target, sizes=(0, 1, 17, 2000))
    check(
        threshold,
        reference,
        lambda rng, n: (picture(rng, n, 3), picture(rng, n, 3), 17),
        target=target,
        sizes=(33,),
        layouts=("C",),
    )


def test_a_byte_subscripts_a_table(target):
    def reference(table, x, y):
        y[...] = table[x]

    check(apply_table, reference, lambda rng, n: (picture(rng, 256), picture(rng, n), picture(rng, n)), target=target)


def test_invert_in_place(target):
    def reference(x):
        x[...] = 255 - x

    check(invert, reference, lambda rng, n: (picture(rng, n),), target=target)


def test_box_blur_of_any_radius(target):
    def reference(x, y, radius):
        h, w = x.shape
        for i in range(h):
            for j in range(w):
                part = x[max(0, i - radius) : i + radius + 1, max(0, j - radius) : j + radius + 1].astype(np.int64)
                y[i, j] = part.sum() // part.size

    for radius in (0, 2):
        check(
            box_blur,
            reference,
            lambda rng, n, r=radius: (picture(rng, n, n + 1), picture(rng, n, n + 1), r),
            target=target,
            sizes=(0, 1, 9, 40),
            python_up_to=9,
        )


def test_histogram_of_each_row(target):
    def reference(x, h):
        for i, row in enumerate(x):
            h[i] = np.bincount(row, minlength=256)

    def arguments(rng, n):
        return picture(rng, n, 2 * n), rng.integers(0, 9, (n, 256)).astype(np.int32)

    check(histogram_rows, reference, arguments, target=target, sizes=(0, 1, 9, 60), python_up_to=9)


def test_blend_rounds(target):
    def reference(a, b, alpha, y):
        y[...] = np.rint(np.float32(alpha) * a.astype(np.float32) + (1 - np.float32(alpha)) * b.astype(np.float32))

    check(blend, reference, lambda rng, n: (picture(rng, n), picture(rng, n), 0.25, picture(rng, n)), target=target)
