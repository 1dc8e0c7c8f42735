"""Reductions by `+=` over boxes of one to three dimensions."""

import numpy as np
from harness import check
from tree import tree_sum

import lend
from lend import Ref, bool_, complex128, f32, f64, i16, i32, i64, u8
from lend.dims import K, M, N


@lend.kernel(math="strict")
def total_f32(x: Ref[f32, N]) -> f32:
    s = f32(0)
    for i in lend.grid(N):
        s += x[i]
    return s


@lend.kernel(math="strict")
def total_f64_2d(x: Ref[f64, N, M], start: f64) -> f64:
    s = start
    for i, j in lend.grid(N, M):
        s += x[i, j]
    return s


@lend.kernel
def total_3d_with_steps(x: Ref[f64, N, M, K]) -> f64:
    s = 0.0
    for i, j, k in lend.grid((0, N, 2), (M - 1, -1, -1), (1, K, 3)):
        s += x[i, j, k]
    return s


@lend.kernel
def total_i32(x: Ref[i32, N]) -> i32:
    s = i32(0)
    for i in lend.grid(N):
        s += x[i]
    return s


@lend.kernel
def total_u8_in_i64(x: Ref[u8, N, M]) -> i64:
    s = i64(0)
    for i, j in lend.grid(N, M):
        s += x[i, j]
    return s


@lend.kernel
def total_i16_wraps(x: Ref[i16, N]) -> i16:
    s = i16(7)
    for i in lend.grid(N):
        s += x[i]
    return s


@lend.kernel
def total_complex(x: Ref[complex128, N]) -> complex128:
    s = complex128(0)
    for i in lend.grid(N):
        s += x[i]
    return s


@lend.kernel
def count_true(mask: Ref[bool_, N]) -> i64:
    count = 0
    for i in lend.grid(N):
        if mask[i]:
            count += 1
    return count


@lend.kernel
def dot(x: Ref[f64, N], y: Ref[f64, N]) -> f64:
    s = 0.0
    for i in lend.grid(N):
        s += x[i] * y[i]
    return s


def test_sum_of_f32_has_the_bits_of_the_tree(target):
    def arguments(rng, n):
        return (rng.normal(size=n).astype(np.float32),)

    sizes = (0, 1, 17, 63, 64, 65, 2047, 2048, 2049, 4096, 10_000, 65_537)
    check(total_f32, tree_sum, arguments, target=target, sizes=sizes, rtol=0, strict=True, python_up_to=2049)


def test_sum_of_negative_zeros_is_negative_zero(target):
    total = total_f64_2d(np.full((3, 5), -0.0), -0.0)
    assert total == 0 and np.signbit(total)
    assert not np.signbit(total_f64_2d(np.full((3, 5), -0.0), 0.0))


def test_sum_of_a_box_is_in_row_major_order(target):
    def reference(x, start):
        return tree_sum(x.ravel(), start)

    check(
        total_f64_2d,
        reference,
        lambda rng, n: (rng.normal(size=(n, n // 2 + 3)), 0.5),
        target=target,
        sizes=(0, 1, 17, 100, 150),
        rtol=0,
        strict=True,
    )


def test_sum_over_a_box_with_steps(target):
    def reference(x):
        return x[::2, ::-1, 1::3].sum()

    check(total_3d_with_steps, reference, lambda rng, n: (rng.random((n, n + 1, n + 2)),), target=target, sizes=(0, 1, 9, 30))


def test_sum_of_i32_wraps(target):
    def arguments(rng, n):
        return (rng.integers(-(2**31), 2**31, n).astype(np.int32),)

    check(total_i32, lambda x: x.sum(dtype=np.int32), arguments, target=target)


def test_sum_of_u8_widens_into_the_accumulator(target):
    def arguments(rng, n):
        return (rng.integers(0, 256, (n, 3)).astype(np.uint8),)

    check(total_u8_in_i64, lambda x: x.sum(dtype=np.int64), arguments, target=target)


def test_sum_of_i16_wraps(target):
    def reference(x):
        return np.int16((int(x.sum(dtype=np.int64)) + 7 + 2**15) % 2**16 - 2**15)

    check(total_i16_wraps, reference, lambda rng, n: (rng.integers(-(2**15), 2**15, n).astype(np.int16),), target=target)


def test_sum_of_complex(target):
    def arguments(rng, n):
        return (rng.random(n) + 1j * rng.random(n),)

    check(total_complex, lambda x: x.sum(), arguments, target=target)


def test_counting_by_a_conditional_contribution(target):
    check(count_true, lambda mask: np.int64(mask.sum()), lambda rng, n: (rng.random(n) < 0.3,), target=target)


def test_dot(target):
    check(dot, lambda x, y: x @ y, lambda rng, n: tuple(rng.random((2, n))), target=target)
