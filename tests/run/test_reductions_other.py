"""Reductions by `*= &= |= ^=`, min and max."""

import numpy as np
from harness import check

import lend
from lend import Ref, bool_, complex64, f32, f64, i8, i32, i64, u32, u64
from lend.dims import M, N


@lend.kernel
def product(x: Ref[f64, N]) -> f64:
    p = 1.0
    for i in lend.grid(N):
        p *= x[i]
    return p


@lend.kernel
def product_u64(x: Ref[u64, N]) -> u64:
    p = u64(1)
    for i in lend.grid(N):
        p *= x[i]
    return p


@lend.kernel
def product_complex(x: Ref[complex64, N]) -> complex64:
    p = complex64(1)
    for i in lend.grid(N):
        p *= x[i]
    return p


@lend.kernel
def bits_of(x: Ref[u32, N]) -> tuple[u32, u32, u32]:
    every = u32(0xFFFFFFFF)
    some = u32(0)
    parity = u32(0)
    for i in lend.grid(N):
        every &= x[i]
        some |= x[i]
        parity ^= x[i]
    return every, some, parity


@lend.kernel
def truths(x: Ref[bool_, N, M]) -> tuple[bool_, bool_, bool_]:
    every = True
    some = False
    odd = False
    for i, j in lend.grid(N, M):
        every &= x[i, j]
        some |= x[i, j]
        odd ^= x[i, j]
    return every, some, odd


@lend.kernel
def range_of(x: Ref[f32, N]) -> tuple[f32, f32]:
    low = f32(np.inf)
    high = f32(-np.inf)
    for i in lend.grid(N):
        low = min(low, x[i])
        high = max(x[i], high)
    return low, high


@lend.kernel
def range_of_i8(x: Ref[i8, N]) -> tuple[i8, i8]:
    low = i8(127)
    high = i8(-128)
    for i in lend.grid(N):
        low = min(x[i], low)
        high = max(high, x[i])
    return low, high


@lend.kernel
def several(x: Ref[f64, N], limit: f64) -> tuple[f64, i64, f64, f64]:
    s = 0.0
    count = i64(0)
    low = limit
    big = 1.0
    for i in lend.grid(N):
        v = x[i]
        if v < 0:
            continue
        s += v
        s += 2 * v
        if v > limit:
            count += 1
            big *= 1 + v / 1000
        low = min(low, v)
    return s, count, low, big


@lend.kernel
def contributions_in_an_inner_loop(x: Ref[i32, N, M]) -> tuple[i64, i32]:
    s = i64(0)
    most = i32(-1)
    for i in lend.grid(N):
        for j in range(M):
            s += x[i, j] * (j % 3)
            most = max(most, x[i, j])
    return s, most


def test_product(target):
    check(product, lambda x: np.prod(x), lambda rng, n: (rng.uniform(0.9, 1.1, n),), target=target, rtol=1e-10)


def test_product_of_u64_wraps(target):
    def arguments(rng, n):
        return (rng.integers(0, 2**63, n).astype(np.uint64) * np.uint64(2) + np.uint64(1),)

    check(product_u64, lambda x: np.multiply.reduce(x, dtype=np.uint64), arguments, target=target)


def test_product_of_complex(target):
    def arguments(rng, n):
        return (np.exp(1j * rng.random(n)).astype(np.complex64),)

    check(product_complex, lambda x: np.prod(x), arguments, target=target, rtol=2e-3)


def test_and_or_xor_of_integers(target):
    def reference(x):
        return np.bitwise_and.reduce(x, initial=0xFFFFFFFF), np.bitwise_or.reduce(x), np.bitwise_xor.reduce(x)

    def arguments(rng, n):
        return (rng.integers(0, 2**32, n).astype(np.uint32) | np.uint32(0x1010),)

    check(bits_of, reference, arguments, target=target)


def test_and_or_xor_of_bools(target):
    def reference(x):
        return x.all(), x.any(), np.logical_xor.reduce(x, axis=None)

    check(truths, reference, lambda rng, n: (rng.random((n, 3)) < 0.5,), target=target)
    check(truths, reference, lambda rng, n: (np.ones((n, 2), bool),), target=target, sizes=(1, 17, 4000))


def test_min_and_max_of_floats(target):
    def reference(x):
        return x.min(initial=np.float32(np.inf)), x.max(initial=np.float32(-np.inf))

    check(range_of, reference, lambda rng, n: (rng.normal(size=n).astype(np.float32),), target=target, rtol=0)


def test_min_and_max_propagate_nan_from_anywhere(target):
    for size in (1, 17, 2049, 10_000):
        for place in {0, size // 2, size - 1}:
            x = np.random.default_rng(1).normal(size=size).astype(np.float32)
            x[place] = np.nan
            assert np.isnan(range_of(x)).all()
            if size < 100:
                assert np.isnan(range_of.py(x)).all()


def test_min_and_max_know_negative_zero(target):
    zeros = np.zeros(100, np.float32)
    zeros[::3] = -0.0
    low, high = range_of(zeros)
    assert np.signbit(low) and not np.signbit(high)


def test_min_and_max_of_small_integers(target):
    def reference(x):
        return x.min(initial=127), x.max(initial=-128)

    check(range_of_i8, reference, lambda rng, n: (rng.integers(-128, 128, n).astype(np.int8),), target=target)


def test_several_reductions_in_one_loop(target):
    def reference(x, limit):
        kept = x[x >= 0]
        big = kept[kept > limit]
        return 3 * kept.sum(), np.int64(big.size), min(limit, kept.min(initial=limit)), np.prod(1 + big / 1000)

    check(several, reference, lambda rng, n: (rng.normal(size=n), 0.5), target=target, rtol=1e-10)


def test_contributions_in_an_inner_loop(target):
    def reference(x):
        weights = np.arange(x.shape[1]) % 3
        return np.int64((x.astype(np.int64) * weights).sum()), x.max(initial=-1)

    def arguments(rng, n):
        return (rng.integers(0, 1000, (n, 11)).astype(np.int32),)

    check(contributions_in_an_inner_loop, reference, arguments, target=target, sizes=(0, 1, 17, 2500))
