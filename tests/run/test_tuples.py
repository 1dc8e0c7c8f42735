"""Tuples of borrows, and tuples of scalars inside kernels."""

import numpy as np
import pytest
from harness import check

import lend
from lend import Mut, Out, Ref, f32, f64, i32, i64
from lend.dims import M, N


@lend.kernel
def sum_of(xs: tuple[Ref[f64, N], ...], y: Out[f64, N]):
    for i in lend.grid(N):
        total = 0.0
        for k in lend.static_range(len(xs)):
            total += xs[k][i]
        y[i] = total


@lend.kernel
def rotate(xs: tuple[Mut[f32, N, M], Mut[f32, N, M], Mut[f32, N, M]]):
    a, b, c = xs
    for i, j in lend.grid(N, M):
        a[i, j], b[i, j], c[i, j] = b[i, j], c[i, j], a[i, j]


@lend.kernel
def gather(sources: tuple[Ref[i32, N], Ref[f64, N]], out: Mut[f64, N]):
    for i in lend.grid(N):
        out[i] += sources[0][i] * sources[1][i]


@lend.kernel
def scale_each(xs: tuple[Mut[f64, N], ...], factors: Ref[f64, M]) -> i64:
    for k in lend.static_range(len(xs)):
        for i in lend.grid(N):
            xs[k][i] *= factors[k]
    return len(xs)


@lend.kernel
def tuples_of_scalars(x: Ref[i64, N], y: Out[i64, N]):
    for i in lend.grid(N):
        pair = (x[i], i)
        a, b = pair
        (c, d), e = (b, a), 2
        a, b, c = c, a, b
        weights = (3, 5, 7)
        y[i] = a + 10 * b + 100 * c + d * weights[1] + e + len(weights)


def test_any_number_of_arrays(target):
    def reference(xs, y):
        y[...] = sum(xs)

    for number in (1, 2, 5):
        check(
            sum_of,
            reference,
            lambda rng, n, k=number: (tuple(rng.random((k, n))), np.zeros(n)),
            target=target,
            sizes=(0, 1, 17, 1000),
        )


def test_arrays_of_a_tuple_are_written(target):
    def reference(xs):
        a, b, c = xs
        a[...], b[...], c[...] = b.copy(), c.copy(), a.copy()

    check(
        rotate,
        reference,
        lambda rng, n: (tuple(rng.random((3, n, n + 2), np.float32)),),
        target=target,
        sizes=(0, 1, 17, 60),
        rtol=0,
    )


def test_arrays_of_several_types(target):
    def reference(sources, out):
        out += sources[0] * sources[1]

    check(gather, reference, lambda rng, n: ((rng.integers(-9, 9, n).astype("i4"), rng.random(n)), rng.random(n)), target=target)


def test_a_loop_over_the_arrays_at_host_level(target):
    def reference(xs, factors):
        for x, factor in zip(xs, factors, strict=True):
            x *= factor
        return np.int64(len(xs))

    check(scale_each, reference, lambda rng, n: (tuple(rng.random((3, n))), rng.random(3)), target=target, rtol=0)


def test_sizes_agree_inside_a_tuple(target):
    with pytest.raises(lend.ShapeError):
        sum_of((np.zeros(3), np.zeros(4)), np.zeros(3))
    with pytest.raises(lend.ArgumentError):
        rotate((np.zeros((2, 2), np.float32),) * 2)


def test_one_array_twice_in_a_tuple(target):
    x, y = np.random.default_rng(1).random(9), np.zeros(9)
    sum_of((x, x, x), y)  # shared borrows may overlap
    np.testing.assert_allclose(y, 3 * x)
    z = np.zeros((2, 3), np.float32)
    with pytest.raises(lend.BorrowError):
        rotate((z, z, np.zeros((2, 3), np.float32)))


def test_tuples_of_scalars(target):
    def reference(x, y):
        i = np.arange(len(x))
        y[...] = i + 10 * x + 100 * i + x * 5 + 2 + 3

    check(tuples_of_scalars, reference, lambda rng, n: (rng.integers(-99, 99, n), np.zeros(n, np.int64)), target=target)
