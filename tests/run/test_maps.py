"""Maps: each iteration writes its own element."""

import numpy as np
from harness import check

import lend
from lend import Mut, Out, Ref, f32, f64, i32, i64
from lend.dims import K, M, N


@lend.kernel
def saxpy(a: f32, x: Ref[f32, N], y: Mut[f32, N]):
    for i in lend.grid(N):
        y[i] += a * x[i]


@lend.kernel
def clamp(low: f64, high: f64, x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = low if x[i] < low else high if x[i] > high else x[i]


@lend.kernel
def horner(c: Ref[f64, K], x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        value = 0.0
        for k in range(K - 1, -1, -1):
            value = value * x[i] + c[k]
        y[i] = value


@lend.kernel
def transpose(x: Ref[f32, N, M], y: Out[f32, M, N]):
    for i, j in lend.grid(M, N):
        y[i, j] = x[j, i]


@lend.kernel
def outer(x: Ref[f64, N], y: Ref[f64, M], z: Mut[f64, N, M]):
    for i, j in lend.grid(N, M):
        z[i, j] -= x[i] * y[j]


@lend.kernel
def every_third(x: Ref[i32, N], y: Mut[i32, N]):
    for i in lend.grid((1, N, 3)):
        y[i] = x[i] + y[i - 1]


@lend.kernel
def backwards(x: Ref[i32, N], y: Mut[i32, N]):
    for i in lend.grid((N - 1, -1, -2)):
        y[N - 1 - i] = x[i]


@lend.kernel
def piecewise(x: Ref[f32, N], y: Mut[f32, N]):
    for i in lend.grid(N):
        v = x[i]
        if v < -1.0:
            y[i] = -1
        elif v < 0:
            y[i] = v * v
        elif v == 0:
            continue
        else:
            w = v / 3
            y[i] = w + 0.5


@lend.kernel
def ramp(start: f64, step: f64, y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = start + i * step


@lend.kernel
def row_numbers(rows: Out[i64, N, M], cells: Out[i64, N, M]):
    for i, j in lend.grid(N, M):
        rows[i, j] = i
        cells[i, j] = i * M + j


def test_saxpy(target):
    def reference(a, x, y):
        y += np.float32(a) * x

    check(saxpy, reference, lambda rng, n: (0.1, rng.random(n, np.float32), rng.random(n, np.float32)), target=target)


def test_clamp_by_conditional_expressions(target):
    def reference(low, high, x, y):
        np.clip(x, low, high, out=y)

    check(clamp, reference, lambda rng, n: (-0.5, 0.7, rng.normal(size=n), np.zeros(n)), target=target, rtol=0)


def test_horner_sums_in_an_inner_loop(target):
    def reference(c, x, y):
        y[...] = sum(c[k] * x**k for k in range(len(c))) if len(c) else 0

    check(horner, reference, lambda rng, n: (rng.random(min(n, 7)), rng.random(n), np.zeros(n)), target=target)


def test_transpose(target):
    def reference(x, y):
        y[...] = x.T

    def arguments(rng, n):
        return rng.random((n, 3 * n // 2), np.float32), np.zeros((3 * n // 2, n), np.float32)

    check(transpose, reference, arguments, target=target, sizes=(0, 1, 2, 17, 120), rtol=0)


def test_outer_product(target):
    def reference(x, y, z):
        z -= np.outer(x, y)

    def arguments(rng, n):
        return rng.random(n), rng.random(n + 2), rng.random((n, n + 2))

    check(outer, reference, arguments, target=target, sizes=(0, 1, 17, 130), atol=1e-15)


def test_grid_with_a_step(target):
    def reference(x, y):
        y[1::3] = x[1::3] + y[: len(y) - 1 : 3][: len(y[1::3])]

    check(every_third, reference, lambda rng, n: tuple(rng.integers(-9, 9, (2, n)).astype(np.int32)), target=target)


def test_grid_with_a_negative_step(target):
    def reference(x, y):
        y[::2] = x[::-1][::2]

    check(backwards, reference, lambda rng, n: tuple(rng.integers(-9, 9, (2, n)).astype(np.int32)), target=target)


def test_branches_and_continue(target):
    def reference(x, y):
        y[...] = np.where(
            x < -1, np.float32(-1), np.where(x < 0, x * x, np.where(x == 0, y, x / np.float32(3) + np.float32(0.5)))
        )

    def arguments(rng, n):
        x = rng.normal(size=n).astype(np.float32)
        x[::5] = 0
        return x, np.full(n, 7, np.float32)

    check(piecewise, reference, arguments, target=target)


def test_an_index_becomes_a_float(target):
    def reference(start, step, y):
        y[...] = start + np.arange(len(y)) * step

    check(ramp, reference, lambda rng, n: (0.25, 1.5, np.zeros(n)), target=target)


def test_indices_are_stored(target):
    def reference(rows, cells):
        rows[...] = np.arange(rows.shape[0])[:, None]
        cells[...] = np.arange(cells.size).reshape(cells.shape)

    def arguments(rng, n):
        return np.zeros((n, 3), np.int64), np.zeros((n, 3), np.int64)

    check(row_numbers, reference, arguments, target=target, sizes=(0, 1, 17, 3001))
