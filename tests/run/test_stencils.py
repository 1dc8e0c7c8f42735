"""Stencils of one, two and three dimensions."""

from typing import Literal

import numpy as np
from harness import check

import lend
from lend import Mut, Out, Ref, f32, f64, i32, u8
from lend.dims import K, M, N


@lend.kernel
def smooth(x: Ref[f32, N], y: Mut[f32, N]):
    for i in lend.grid((1, N - 1)):
        y[i] = 0.25 * x[i - 1] + 0.5 * x[i] + 0.25 * x[i + 1]


@lend.kernel
def periodic(x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = x[(i + 1) % N] - x[(i - 1) % N]


@lend.kernel
def jacobi(u: Mut[f64, N, M], v: Mut[f64, N, M], tol: f64, max_steps: i32) -> i32:
    assert N >= 3 and M >= 3
    steps = i32(0)
    err = tol + 1.0
    while err > tol and steps < max_steps:
        err = 0.0
        for i, j in lend.grid((1, N - 1), (1, M - 1)):
            v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
            err = max(err, abs(v[i, j] - u[i, j]))
        for i, j in lend.grid((1, N - 1), (1, M - 1)):
            u[i, j] = v[i, j]
        steps += 1
    return steps


@lend.kernel
def convolve(x: Ref[f64, N, M], w: Ref[f64, Literal[3], Literal[5]], y: Out[f64, N, M]):
    for i, j in lend.grid(N, M):
        total = 0.0
        for a in range(3):
            for b in range(5):
                r = i + a - 1
                c = j + b - 2
                if 0 <= r < N and 0 <= c < M:
                    total += w[a, b] * x[r, c]
        y[i, j] = total


@lend.kernel
def heat_3d(x: Ref[f32, N, M, K], y: Mut[f32, N, M, K], k: f32):
    for i, j, m in lend.grid((1, N - 1), (1, M - 1), (1, K - 1)):
        neighbours = x[i - 1, j, m] + x[i + 1, j, m] + x[i, j - 1, m] + x[i, j + 1, m] + x[i, j, m - 1] + x[i, j, m + 1]
        y[i, j, m] = x[i, j, m] + k * (neighbours - 6 * x[i, j, m])


@lend.kernel
def life(now: Ref[u8, N, M], after: Out[u8, N, M]):
    for i, j in lend.grid(N, M):
        alive = 0
        for di in range(-1, 2):
            for dj in range(-1, 2):
                if di != 0 or dj != 0:
                    alive += now[(i + di) % N, (j + dj) % M]
        after[i, j] = 1 if alive == 3 or (alive == 2 and now[i, j] == 1) else 0


@lend.kernel
def wave(u: Mut[f64, N], v: Mut[f64, N], c: f64, steps: i32):
    for _ in range(steps):
        for i in lend.grid((1, N - 1)):
            v[i] = 2 * u[i] - v[i] + c * (u[i - 1] - 2 * u[i] + u[i + 1])
        u, v = v, u


def test_smooth(target):
    def reference(x, y):
        y[1:-1] = np.float32(0.25) * x[:-2] + np.float32(0.5) * x[1:-1] + np.float32(0.25) * x[2:]

    check(smooth, reference, lambda rng, n: tuple(rng.random((2, n), np.float32)), target=target)


def test_periodic_neighbours_by_modulo(target):
    def reference(x, y):
        y[...] = np.roll(x, -1) - np.roll(x, 1)

    check(periodic, reference, lambda rng, n: tuple(rng.random((2, n))), target=target, rtol=0)


def jacobi_reference(u, v, tol, max_steps):
    steps, err = 0, tol + 1
    while err > tol and steps < max_steps:
        v[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        err = np.abs(v - u)[1:-1, 1:-1].max()
        u[1:-1, 1:-1] = v[1:-1, 1:-1]
        steps += 1
    return np.int32(steps)


def test_jacobi_converges_in_the_same_number_of_steps(target):
    def arguments(rng, n):
        u = rng.random((n, n + 2))
        return u, u.copy(), 1e-3, 400

    check(jacobi, jacobi_reference, arguments, target=target, sizes=(3, 4, 17, 40), python_up_to=4)


def test_jacobi_stops_at_max_steps(target):
    def arguments(rng, n):
        u = rng.random((n, n))
        return u, u.copy(), 0.0, 3

    check(jacobi, jacobi_reference, arguments, target=target, sizes=(17, 200))


def test_convolution_with_guards(target):
    def reference(x, w, y):
        n, m = x.shape
        padded = np.pad(x, ((1, 1), (2, 2)))
        y[...] = sum(w[a, b] * padded[a : a + n, b : b + m] for a in range(3) for b in range(5))

    def arguments(rng, n):
        return rng.random((n, n + 1)), rng.random((3, 5)), np.zeros((n, n + 1))

    check(convolve, reference, arguments, target=target, sizes=(0, 1, 9, 80))


def test_heat_in_three_dimensions(target):
    def reference(x, y, k):
        inner = x[1:-1, 1:-1, 1:-1]
        around = (
            x[:-2, 1:-1, 1:-1]
            + x[2:, 1:-1, 1:-1]
            + x[1:-1, :-2, 1:-1]
            + x[1:-1, 2:, 1:-1]
            + x[1:-1, 1:-1, :-2]
            + x[1:-1, 1:-1, 2:]
        )
        y[1:-1, 1:-1, 1:-1] = inner + np.float32(k) * (around - 6 * inner)

    def arguments(rng, n):
        return rng.random((n, n + 1, n + 3), np.float32), rng.random((n, n + 1, n + 3), np.float32), 0.1

    check(heat_3d, reference, arguments, target=target, sizes=(0, 1, 3, 9, 33), atol=1e-5, python_up_to=9)


def test_game_of_life(target):
    def reference(now, after):
        alive = sum(np.roll(now, (di, dj), (0, 1)) for di in (-1, 0, 1) for dj in (-1, 0, 1) if di or dj)
        after[...] = (alive == 3) | ((alive == 2) & (now == 1))

    def arguments(rng, n):
        return rng.integers(0, 2, (n, n + 2)).astype(np.uint8), np.zeros((n, n + 2), np.uint8)

    check(life, reference, arguments, target=target, sizes=(0, 1, 9, 90))


def test_wave_swaps_its_arrays(target):
    def reference(u, v, c, steps):
        for _ in range(steps):
            v[1:-1] = 2 * u[1:-1] - v[1:-1] + c * (u[:-2] - 2 * u[1:-1] + u[2:])
            u, v = v, u

    for steps in (0, 1, 2, 7):
        check(
            wave,
            reference,
            lambda rng, n, s=steps: (*rng.random((2, n)), 0.2, s),
            target=target,
            sizes=(0, 1, 3, 17, 3000),
            atol=1e-10,
        )
