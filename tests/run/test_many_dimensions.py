"""Arrays of four, five and six dimensions."""

import numpy as np
from harness import check

import lend
from lend import Mut, Out, Ref, f32, f64, i32, i64
from lend.dims import B, C, D, H, K, L, P, W


@lend.kernel
def convolve_images(x: Ref[f32, B, C, H, W], w: Ref[f32, K, C, 3, 3], y: Out[f32, B, K, H, W]):
    for b, k, i, j in lend.grid(B, K, H, W):
        total = f32(0)
        for c in range(C):
            for di in range(3):
                for dj in range(3):
                    r = i + di - 1
                    s = j + dj - 1
                    if 0 <= r < H and 0 <= s < W:
                        total += x[b, c, r, s] * w[k, c, di, dj]
        y[b, k, i, j] = total


@lend.kernel
def max_pool(x: Ref[f32, B, C, H, W], y: Out[f32, B, C, P, L]):
    assert H == 2 * P and W == 2 * L
    for b, c, i, j in lend.grid(B, C, P, L):
        y[b, c, i, j] = max(
            x[b, c, 2 * i, 2 * j], x[b, c, 2 * i, 2 * j + 1], x[b, c, 2 * i + 1, 2 * j], x[b, c, 2 * i + 1, 2 * j + 1]
        )


@lend.kernel
def permute_five(x: Ref[i64, B, C, D, H, W], y: Out[i64, W, B, H, D, C]):
    for w, b, h, d, c in lend.grid(W, B, H, D, C):
        y[w, b, h, d, c] = x[b, c, d, h, w]


@lend.kernel
def six(x: Mut[f64, B, C, D, H, K, L]) -> f64:
    total = 0.0
    for b, c, d, h, k, n in lend.grid(B, C, D, H, K, L):
        x[b, c, d, h, k, n] += b + 10 * c + 100 * d + 1000 * h + 10000 * k + 100000 * n
        total += x[b, c, d, h, k, n]
    return total


@lend.kernel
def part_of_six(x: Mut[i32, B, C, D, H, K, L]):
    for b, d, n in lend.grid(B, (1, D), (L - 1, 0, -2)):
        block = x[b, :, d, :, :, n]
        for c in range(C):
            for h in range(H):
                for k in range(K):
                    block[c, h, k] = -block[c, h, k]


def test_convolution_of_images(target):
    def reference(x, w, y):
        h, v = x.shape[2:]
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        y[...] = sum(
            np.einsum("bchw,kc->bkhw", padded[:, :, a : a + h, b : b + v], w[:, :, a, b]) for a in range(3) for b in range(3)
        )

    def arguments(rng, n):
        shape = (2, 3, n, n + 1)
        return rng.random(shape, np.float32), rng.random((4, 3, 3, 3), np.float32), np.zeros((2, 4, n, n + 1), np.float32)

    check(convolve_images, reference, arguments, target=target, sizes=(0, 1, 5, 20), rtol=1e-5, python_up_to=5)


def test_max_pooling(target):
    def reference(x, y):
        b, c, p, q = y.shape
        y[...] = x.reshape(b, c, p, 2, q, 2).max(axis=(3, 5)) if y.size else 0

    def arguments(rng, n):
        return rng.random((2, 3, 2 * n, 2 * n + 2), np.float32), np.zeros((2, 3, n, n + 1), np.float32)

    check(max_pool, reference, arguments, target=target, sizes=(0, 1, 9, 30), rtol=0, python_up_to=9)


def test_permutation_of_five(target):
    def reference(x, y):
        y[...] = x.transpose(4, 0, 3, 2, 1)

    def arguments(rng, n):
        x = rng.integers(0, 99, (n, 2, n + 1, 3, 5))
        return x, np.zeros((5, n, 3, n + 1, 2), np.int64)

    check(permute_five, reference, arguments, target=target, sizes=(0, 1, 5, 12), python_up_to=5)


def test_six_dimensions(target):
    def reference(x):
        x += np.einsum("i,bcdhkli->bcdhkl", 10.0 ** np.arange(6), np.moveaxis(np.indices(x.shape), 0, -1))
        return x.sum()

    check(
        six, reference, lambda rng, n: (rng.random((2, n, 3, 1, n + 1, 4)),), target=target, sizes=(0, 1, 5, 12), python_up_to=5
    )


def test_part_of_six_dimensions(target):
    def reference(x):
        x[:, :, 1:, :, :, x.shape[5] - 1 : 0 : -2] *= -1

    def arguments(rng, n):
        return (rng.integers(1, 99, (2, n, 3, 2, n + 1, 4)).astype(np.int32),)

    check(part_of_six, reference, arguments, target=target, sizes=(0, 1, 5, 12), python_up_to=5)
