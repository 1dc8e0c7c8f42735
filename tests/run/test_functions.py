"""Device functions: generic, nested, keyword arguments, several results, arrays, early returns, returns in loops."""

import math

import numpy as np
import pytest
from harness import check

import lend
from lend import Mut, Out, Ref, f32, f64, i32, i64
from lend.dims import K, M, N


@lend.function
def average(a, b):
    return (a + b) / 2


@lend.function
def polar(x: f64, y: f64) -> tuple[f64, f64]:
    return math.hypot(x, y), math.atan2(y, x)


@lend.function
def blend(a, b, *, weight=0.5):
    return a * (1 - weight) + b * weight


@lend.function
def sign(v):
    if v > 0:
        return 1
    if v < 0:
        return -1
    return 0


@lend.function
def first_above(row, limit):
    for j in range(len(row)):
        if row[j] > limit:
            return j
    return -1


@lend.function
def dot(a, b):
    total = 0.0
    for k in range(a.shape[0]):
        total += a[k] * b[k]
    return total


@lend.function
def fill(row, value):
    for j in range(len(row)):
        row[j] = value + j


@lend.function
def outer_average(a, b, c):
    return average(average(a, b), c)


@lend.function
def steps_to_one(n):
    count = 0
    while True:
        if n == 1:
            return count
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
        if count > 1000:
            break
    return -1


@lend.kernel
def averages(x: Ref[f32, N], y: Ref[f32, N], k: Ref[i32, N], out: Out[f32, N], wide: Out[f64, N]):
    for i in lend.grid(N):
        out[i] = average(x[i], y[i])
        wide[i] = average(k[i], 3)


@lend.kernel
def to_polar(x: Ref[f64, N], y: Ref[f64, N], r: Out[f64, N], phi: Out[f64, N]):
    for i in lend.grid(N):
        r[i], phi[i] = polar(x[i], y=y[i])


@lend.kernel
def blends(x: Ref[f64, N], y: Ref[f64, N], out: Out[f64, N, 3]):
    for i in lend.grid(N):
        out[i, 0] = blend(x[i], y[i])
        out[i, 1] = blend(x[i], y[i], weight=0.25)
        out[i, 2] = blend(b=x[i], weight=x[i], a=y[i])


@lend.kernel
def signs(x: Ref[f64, N], s: Out[i64, N]):
    for i in lend.grid(N):
        s[i] = sign(x[i])


@lend.kernel
def searches(x: Ref[f64, N, M], limit: f64, where: Out[i64, N]):
    for i in lend.grid(N):
        where[i] = first_above(x[i, :], limit)


@lend.kernel
def products(a: Ref[f64, N, K], b: Ref[f64, K, M], c: Out[f64, N, M]):
    for i, j in lend.grid(N, M):
        c[i, j] = dot(a[i, :], b[:, j])


@lend.kernel
def fills(x: Mut[f64, N, M]):
    for i in lend.grid(N):
        fill(x[i, :], 10.0 * i)


@lend.kernel
def nested(x: Ref[f64, N], out: Out[f64, N]):
    def twice(v):
        return v + v

    for i in lend.grid(N):
        out[i] = outer_average(x[i], twice(x[i]), 1.0)


@lend.kernel
def collatz(x: Ref[i64, N], out: Out[i64, N]):
    for i in lend.grid(N):
        out[i] = steps_to_one(x[i])


@lend.kernel
def host_level_calls(x: Ref[f64, N], scale: f64) -> f64:
    factor = average(scale, 2.0)
    r, phi = polar(factor, 1.0)
    total = 0.0
    for i in lend.grid(N):
        total += x[i] * r
    return total + phi * f64(sign(-3))


def test_a_function_is_generic(target):
    def reference(x, y, k, out, wide):
        out[...] = (x + y) / np.float32(2)
        wide[...] = (k + 3) / 2

    def arguments(rng, n):
        x, y = rng.random((2, n), np.float32)
        return x, y, rng.integers(-99, 99, n).astype(np.int32), np.zeros(n, np.float32), np.zeros(n)

    check(averages, reference, arguments, target=target, rtol=0)


def test_several_results(target):
    def reference(x, y, r, phi):
        r[...], phi[...] = np.hypot(x, y), np.arctan2(y, x)

    check(to_polar, reference, lambda rng, n: tuple(rng.normal(size=(4, n))), target=target)


def test_keyword_arguments_and_defaults(target):
    def reference(x, y, out):
        out[:, 0], out[:, 1], out[:, 2] = (x + y) / 2, 0.75 * x + 0.25 * y, y * (1 - x) + x * x

    check(blends, reference, lambda rng, n: (rng.random(n), rng.random(n), np.zeros((n, 3))), target=target)


def test_early_returns(target):
    def reference(x, s):
        s[...] = np.sign(x)

    def arguments(rng, n):
        x = rng.normal(size=n)
        x[::4] = 0
        return x, np.zeros(n, np.int64)

    check(signs, reference, arguments, target=target)


def test_a_return_inside_a_loop(target):
    def reference(x, limit, where):
        above = x > limit
        where[...] = np.where(above.any(axis=1), above.argmax(axis=1), -1) if x.shape[1] else -1

    def arguments(rng, n):
        return rng.random((n, n // 2)), 0.9, np.zeros(n, np.int64)

    check(searches, reference, arguments, target=target, sizes=(0, 1, 17, 100))


def test_functions_read_rows_and_columns(target):
    def reference(a, b, c):
        c[...] = a @ b

    def arguments(rng, n):
        return rng.random((n, 5)), rng.random((5, n + 1)), np.zeros((n, n + 1))

    check(products, reference, arguments, target=target, sizes=(0, 1, 17, 80))


def test_a_function_writes_its_array(target):
    def reference(x):
        x[...] = 10.0 * np.arange(x.shape[0])[:, None] + np.arange(x.shape[1])

    check(fills, reference, lambda rng, n: (rng.random((n, n + 1)),), target=target, sizes=(0, 1, 17, 80), rtol=0)


def test_functions_call_functions_and_nest(target):
    def reference(x, out):
        out[...] = ((x + 2 * x) / 2 + 1) / 2

    check(nested, reference, lambda rng, n: (rng.random(n), np.zeros(n)), target=target)


def test_returns_and_breaks_in_an_endless_loop(target):
    def reference(x, out):
        for i, v in enumerate(x.tolist()):
            count = 0
            while v != 1:
                v, count = (v // 2 if v % 2 == 0 else 3 * v + 1), count + 1
            out[i] = count

    check(
        collatz,
        reference,
        lambda rng, n: (rng.integers(1, 10**5, n), np.zeros(n, np.int64)),
        target=target,
        sizes=(0, 1, 17, 500),
    )


def test_functions_at_host_level(target):
    def reference(x, scale):
        factor = (scale + 2) / 2
        return x.sum() * np.hypot(factor, 1) - np.arctan2(1, factor)

    check(host_level_calls, reference, lambda rng, n: (rng.random(n), 1.5), target=target)


def test_a_function_is_callable_from_python(target):
    assert average(3.0, 4.0) == 3.5
    assert sign(-2) == -1
    assert polar(3.0, 4.0)[0] == pytest.approx(5)
