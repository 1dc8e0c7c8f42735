"""Kernels generic over element types, and comptime parameters: numbers, flags, words, types, functions."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import pytest
from harness import check

import lend
from lend import Mut, Out, Ref, T, U, comptime, f32, f64, i32, i64
from lend.dims import N

Number = TypeVar("Number")


@lend.kernel
def scale(x: Mut[T, N], y: Ref[T, N]):
    for i in lend.grid(N):
        x[i] = 2 * x[i] + y[i]


@lend.kernel
def largest(x: Ref[Number, N]) -> Number:
    best = x[0]
    for i in lend.grid(N):
        best = max(best, x[i])
    return best


@lend.kernel
def convert(x: Ref[T, N], y: Out[U, N]):
    for i in lend.grid(N):
        y[i] = x[i]


@lend.kernel
def polynomial(x: Ref[f64, N], y: Out[f64, N], degree: comptime[int] = 3):
    for i in lend.grid(N):
        value = 0.0
        for k in lend.static_range(degree + 1):
            value = value * x[i] + (k + 1)
        y[i] = value


@lend.kernel
def window_sums(x: Ref[f64, N], y: Out[f64, N], width: comptime[int]):
    for i in lend.grid(N):
        window = lend.local(f64, width)
        for k in range(width):
            window[k] = x[(i + k) % N]
        total = 0.0
        for k in range(width):
            total += window[k]
        y[i] = total


@lend.kernel
def signed_or_not(x: Ref[f32, N], y: Out[f32, N], absolute: comptime[bool], how: comptime[str] = "plain"):
    for i in lend.grid(N):
        v = x[i]
        if absolute:
            v = abs(v)
        if how == "double":
            v = v * 2
        elif how == "half":
            v = v / 2
        y[i] = v


@lend.kernel
def accumulate(x: Ref[f32, N], A: comptime[type]) -> f64:
    total = A(0)
    for i in lend.grid(N):
        total += A(x[i])
    return f64(total)


@lend.kernel
def apply(f: comptime[Callable[..., Any]], x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = f(x[i])


@lend.kernel
def fold(f: comptime[Callable[..., Any]], x: Ref[i64, N], start: i64) -> i64:
    total = start
    for i in range(N):
        total = f(total, x[i])
    return total


@lend.function
def square(v):
    return v * v


@lend.function
def one_more(v):
    return v + 1


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16"])
def test_one_kernel_for_every_element_type(target, dtype):
    def reference(x, y):
        x *= 2
        x += y

    def arguments(rng, n):
        return tuple((100 * rng.random((2, n))).astype(dtype))

    check(scale, reference, arguments, target=target, sizes=(0, 1, 17, 1000), layouts=("C", "strided"))


def test_a_type_variable_of_the_users_own(target):
    for dtype in ("i2", "u8", "f4", "f8"):
        check(
            largest,
            lambda x: x.max(),
            lambda rng, n, d=dtype: ((100 * rng.random(n)).astype(d),),
            target=target,
            sizes=(1, 17, 3000),
        )


def test_a_generic_kernel_refuses_two_types_for_one_variable(target):
    with pytest.raises(lend.ArgumentError):
        scale(np.zeros(3, np.float32), np.zeros(3, np.float64))


def test_two_type_variables(target):
    def reference(x, y):
        y[...] = x

    for source, aim in (("i4", "f8"), ("u1", "i2"), ("f4", "f8"), ("f4", "c8"), ("f8", "f8"), ("?", "i4")):
        check(
            convert,
            reference,
            lambda rng, n, s=source, a=aim: ((9 * rng.random(n)).astype(s), np.zeros(n, a)),
            target=target,
            sizes=(0, 17),
            layouts=("C", "mixed"),
        )


def test_a_generic_kernel_refuses_what_loses(target):
    with pytest.raises(lend.CompileError):
        convert(np.zeros(3), np.zeros(3, np.float32))
    y = np.zeros(3)
    convert(np.ones(3, np.float32), y)  # a refused specialisation leaves the others alone
    assert (y == 1).all()


def test_comptime_numbers_unroll(target):
    def reference(x, y, degree=3):
        y[...] = 0
        for k in range(degree + 1):
            y[...] = y * x + (k + 1)

    check(polynomial, reference, lambda rng, n: (rng.random(n), np.zeros(n)), target=target)
    for degree in (-1, 0, 6):
        check(polynomial, reference, lambda rng, n, d=degree: (rng.random(n), np.zeros(n), d), target=target, layouts=("C",))


def test_comptime_numbers_size_local_arrays(target):
    def reference(x, y, width):
        y[...] = sum(np.roll(x, -k) for k in range(width))

    for width in (1, 4):
        check(
            window_sums,
            reference,
            lambda rng, n, w=width: (rng.random(n), np.zeros(n), w),
            target=target,
            layouts=("C", "strided"),
        )


def test_comptime_flags_and_words_choose_code(target):
    factors = {"plain": 1, "double": 2, "half": 0.5}

    def reference(x, y, absolute, how="plain"):
        y[...] = (np.abs(x) if absolute else x) * np.float32(factors[how])

    for absolute in (True, False):
        for how in factors:
            check(
                signed_or_not,
                reference,
                lambda rng, n, a=absolute, h=how: (rng.normal(size=n).astype("f4"), np.zeros(n, "f4"), a, h),
                target=target,
                sizes=(17, 100),
                layouts=("C",),
                rtol=0,
            )


def test_comptime_types(target):
    x = np.full(1000, 0.1, np.float32)
    assert accumulate(x, f64) == pytest.approx(100, rel=1e-7)
    assert accumulate(x, A=f32) == pytest.approx(100, rel=1e-4)
    assert accumulate(x, i32) == 0
    assert accumulate.py(x, f64) == accumulate(x, f64)


def test_functions_as_comptime_arguments(target):
    def reference(f, x, y):
        y[...] = f(x)

    for f in (square, one_more, lambda v: 3 * v - 1):
        check(
            apply,
            reference,
            lambda rng, n, f=f: (f, rng.random(n), np.zeros(n)),
            target=target,
            sizes=(0, 17, 500),
            layouts=("C", "mixed"),
        )


def test_a_plain_def_as_comptime_argument(target):
    def clipped(v):
        if v > 0.5:
            return 0.5
        return v

    x, y = np.random.default_rng(3).random(50), np.zeros(50)
    apply(clipped, x, y)
    np.testing.assert_array_equal(y, np.minimum(x, 0.5))


def test_lambdas_of_two_arguments(target):
    x = np.arange(1, 11)
    assert fold(lambda a, b: a + b, x, 0) == 55
    assert fold(lambda a, b: a * b, x, 1) == 3628800
    assert fold(lambda a, b: max(a, b), x, -5) == 10
    assert fold.py(lambda a, b: a * b, x, 1) == 3628800


def test_a_lambda_captures_from_its_scope(target):
    x, y = np.random.default_rng(3).random(50), np.zeros(50)
    for factor in (2.0, 3.0):
        apply(lambda v: v * factor, x, y)
        np.testing.assert_array_equal(y, x * factor)
