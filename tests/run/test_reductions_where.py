"""arg-min and arg-max by tuples, and reductions inside host-level loops."""

import math

import numpy as np
from harness import check

import lend
from lend import Mut, Ref, f32, f64, i32, i64
from lend.dims import M, N


@lend.kernel
def argmin(x: Ref[f64, N]) -> tuple[f64, i64]:
    best = (f64(math.inf), i64(-1))
    for i in lend.grid(N):
        best = min(best, (x[i], i))
    return best


@lend.kernel
def argmax(x: Ref[f32, N]) -> i64:
    best = (f32(-np.inf), i64(-1))
    for i in lend.grid(N):
        best = max(best, (x[i], i))
    return best[1]


@lend.kernel
def argmin_2d(x: Ref[i32, N, M]) -> tuple[i32, i64, i64]:
    best = (i32(2**31 - 1), i64(-1), i64(-1))
    for i, j in lend.grid(N, M):
        if x[i, j] >= 0:
            best = min((x[i, j], i, j), best)
    value, row, column = best
    return value, row, column


@lend.kernel
def normalise_rows(x: Mut[f64, N, M]) -> f64:
    largest = 0.0
    for i in range(N):
        s = 0.0
        for j in lend.grid(M):
            s += x[i, j]
        if s > 0:
            for j in lend.grid(M):
                x[i, j] /= s
        largest = max(largest, s)
    return largest


@lend.kernel
def power_iteration(a: Ref[f64, N, N], v: Mut[f64, N], w: Mut[f64, N], tol: f64) -> tuple[f64, i64]:
    previous = -1.0
    norm = 0.0
    steps = 0
    while abs(norm - previous) > tol and steps < 200:
        previous = norm
        norm = 0.0
        for i in lend.grid(N):
            t = 0.0
            for j in range(N):
                t += a[i, j] * v[j]
            w[i] = t
            norm += t * t
        norm = math.sqrt(norm)
        for i in lend.grid(N):
            v[i] = w[i] / norm
        steps += 1
    return norm, steps


@lend.kernel
def one_scalar_twice(x: Ref[f64, N]) -> f64:
    s = 1.0
    for i in lend.grid(N):
        s += x[i]
    for i in lend.grid(N):
        s = max(s, x[i] * 3)
    for i in lend.grid(0):
        s += x[i]
    return s


def test_argmin_takes_the_first_of_equals(target):
    def reference(x):
        return (x.min(), np.int64(x.argmin())) if len(x) else (np.inf, np.int64(-1))

    check(argmin, reference, lambda rng, n: (rng.integers(0, 1 + n // 4, n).astype(float),), target=target, rtol=0)


def test_argmin_of_nan_finds_the_first_nan(target):
    for size in (17, 5000):
        x = np.random.default_rng(2).normal(size=size)
        x[[size // 2, size - 3]] = np.nan
        value, where = argmin(x)
        assert np.isnan(value) and where == size // 2
    value, where = argmin.py(x[:17])
    assert where == np.argmin(x[:17])


def test_argmax_takes_the_last_of_equals_by_its_index(target):
    def reference(x):
        return np.int64(len(x) - 1 - x[::-1].argmax()) if len(x) else np.int64(-1)

    check(argmax, reference, lambda rng, n: (rng.integers(0, 1 + n // 4, n).astype(np.float32),), target=target)


def test_argmin_of_two_dimensions_with_a_condition(target):
    def reference(x):
        kept = np.where(x >= 0, x, 2**31 - 1)
        if not (x >= 0).any():
            return np.int32(2**31 - 1), np.int64(-1), np.int64(-1)
        row, column = np.unravel_index(kept.argmin(), x.shape)
        return kept.min(), np.int64(row), np.int64(column)

    def arguments(rng, n):
        return (rng.integers(-50, 50, (n, n // 2 + 1)).astype(np.int32),)

    check(argmin_2d, reference, arguments, target=target, sizes=(0, 1, 17, 100))


def test_a_reduction_in_a_host_level_loop(target):
    def reference(x):
        sums = x.sum(axis=1)
        x[sums > 0] /= sums[sums > 0, None]
        return sums.max(initial=0.0)

    check(normalise_rows, reference, lambda rng, n: (rng.random((n, n + 3)),), target=target, sizes=(0, 1, 17, 80))


def test_power_iteration(target):
    def reference(a, v, w, tol):
        previous, norm, steps = -1.0, 0.0, 0
        while abs(norm - previous) > tol and steps < 200:
            previous = norm
            w[...] = a @ v
            norm = np.sqrt((w * w).sum())
            v[...] = w / norm
            steps += 1
        return norm, np.int64(steps)

    def arguments(rng, n):
        return rng.random((n, n)) + n * np.eye(n), np.ones(n), np.zeros(n), 1e-6

    check(power_iteration, reference, arguments, target=target, sizes=(1, 9, 40), rtol=1e-8, python_up_to=9)


def test_one_scalar_is_reduced_by_loops_in_turn(target):
    def reference(x):
        return max(1.0 + x.sum(), 3 * x.max(initial=-np.inf))

    check(one_scalar_twice, reference, lambda rng, n: (rng.normal(size=n),), target=target, atol=1e-9)
