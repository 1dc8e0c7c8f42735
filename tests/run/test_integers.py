"""Integer arithmetic: wrap-around, flooring division, shifts, powers, bit tricks, mixed widths."""

import numpy as np
from harness import check

import lend
from lend import Out, Ref, bool_, i8, i16, i32, i64, u8, u16, u32, u64
from lend.dims import N


@lend.kernel
def fnv1a(text: Ref[u8, N]) -> u32:
    h = u32(2166136261)
    for i in range(N):
        h = (h ^ text[i]) * u32(16777619)
    return h


@lend.kernel
def murmur_mix(x: Ref[u32, N], y: Out[u32, N]):
    for i in lend.grid(N):
        h = x[i]
        h ^= h >> 16
        h *= 0x85EBCA6B
        h ^= h >> 13
        h *= 0xC2B2AE35
        h ^= h >> 16
        y[i] = h


@lend.kernel
def splitmix(seed: u64, y: Out[u64, N]):
    for i in lend.grid(N):
        z = seed + u64(i) * u64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> 30)) * u64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> 27)) * u64(0x94D049BB133111EB)
        y[i] = z ^ (z >> 31)


@lend.kernel
def floor_division(a: Ref[i32, N], b: Ref[i32, N], q: Out[i32, N], r: Out[i32, N]):
    for i in lend.grid(N):
        q[i] = a[i] // b[i]
        r[i] = a[i] % b[i]


@lend.kernel
def quotient_and_remainder(a: Ref[i64, N], b: i64, q: Out[i64, N], r: Out[i64, N]):
    for i in lend.grid(N):
        q[i], r[i] = divmod(a[i], b)


@lend.kernel
def small_wrap(a: Ref[i8, N], b: Ref[i8, N], s: Out[i8, N], d: Out[i8, N], p: Out[i8, N]):
    for i in lend.grid(N):
        s[i] = a[i] + b[i]
        d[i] = a[i] - b[i]
        p[i] = a[i] * b[i]


@lend.kernel
def negate_and_abs(a: Ref[i16, N], n: Out[i16, N], m: Out[i16, N], c: Out[i16, N]):
    for i in lend.grid(N):
        n[i] = -a[i]
        m[i] = abs(a[i])
        c[i] = ~a[i]


@lend.kernel
def shifts(a: Ref[i32, N], k: Ref[i32, N], left: Out[i32, N], right: Out[i32, N]):
    for i in lend.grid(N):
        left[i] = a[i] << k[i]
        right[i] = a[i] >> k[i]


@lend.kernel
def powers(a: Ref[i64, N], k: Ref[i64, N], y: Out[i64, N]):
    for i in lend.grid(N):
        y[i] = a[i] ** k[i]


@lend.kernel
def true_division(a: Ref[i32, N], b: Ref[i32, N], y: Out[lend.f64, N]):
    for i in lend.grid(N):
        y[i] = a[i] / b[i]


@lend.kernel
def collatz(x: Ref[i64, N], steps: Out[i32, N]):
    for i in lend.grid(N):
        v = x[i]
        count = i32(0)
        while v > 1:
            v = v // 2 if v % 2 == 0 else 3 * v + 1
            count += 1
        steps[i] = count


@lend.kernel
def mixed_widths(a: Ref[i8, N], b: Ref[u16, N], c: Ref[i64, N], y: Out[i64, N], less: Out[bool_, N]):
    for i in lend.grid(N):
        y[i] = a[i] + i32(b[i]) + c[i]
        less[i] = i32(a[i]) < i32(b[i])


@lend.kernel
def gcds(a: Ref[u32, N], b: Ref[u32, N], y: Out[u32, N]):
    for i in lend.grid(N):
        p = a[i]
        q = b[i]
        while q != 0:
            p, q = q, p % q
        y[i] = p


def ints(rng, dtype, n):
    kind = np.iinfo(dtype)
    values = rng.integers(kind.min, kind.max, n, dtype=dtype, endpoint=True)
    values[::7] = kind.min
    values[1::7] = kind.max
    values[2::7] = 0
    return values


def test_fnv1a_wraps(target):
    def reference(text):
        h = 2166136261
        for byte in text.tolist():
            h = ((h ^ byte) * 16777619) % 2**32
        return np.uint32(h)

    check(fnv1a, reference, lambda rng, n: (ints(rng, np.uint8, n),), target=target, sizes=(0, 1, 17, 500))


def test_murmur_mix_wraps(target):
    def reference(x, y):
        h = x.copy()
        h ^= h >> 16
        h *= np.uint32(0x85EBCA6B)
        h ^= h >> 13
        h *= np.uint32(0xC2B2AE35)
        h ^= h >> 16
        y[...] = h

    check(murmur_mix, reference, lambda rng, n: (ints(rng, np.uint32, n), np.zeros(n, np.uint32)), target=target)


def test_splitmix_wraps_in_64_bits(target):
    def reference(seed, y):
        z = np.uint64(seed) + np.arange(len(y), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        y[...] = z ^ (z >> np.uint64(31))

    check(splitmix, reference, lambda rng, n: (2**64 - 59, np.zeros(n, np.uint64)), target=target)


def test_division_floors(target):
    def reference(a, b, q, r):
        wide = a.astype(np.int64)
        q[...] = (wide // b).astype(np.int32)  # INT_MIN // -1 wraps
        r[...] = wide % b

    def arguments(rng, n):
        b = ints(rng, np.int32, n)
        b[::3] = rng.integers(-4, 5, len(b[::3]))
        b[b == 0] = -1
        return ints(rng, np.int32, n), b, np.zeros(n, np.int32), np.zeros(n, np.int32)

    check(floor_division, reference, arguments, target=target)


def test_divmod(target):
    def reference(a, b, q, r):
        q[...], r[...] = np.divmod(a, b)

    for divisor in (7, -7, 1, 2**40):
        check(
            quotient_and_remainder,
            reference,
            lambda rng, n, d=divisor: (ints(rng, np.int64, n), d, np.zeros(n, np.int64), np.zeros(n, np.int64)),
            target=target,
            layouts=("C", "strided"),
        )


def test_i8_wraps(target):
    def reference(a, b, s, d, p):
        s[...] = a + b
        d[...] = a - b
        p[...] = a * b

    def arguments(rng, n):
        return ints(rng, np.int8, n), ints(rng, np.int8, n)[::-1], *np.zeros((3, n), np.int8)

    check(small_wrap, reference, arguments, target=target)


def test_negation_and_abs_of_the_least_integer_wrap(target):
    def reference(a, n, m, c):
        n[...] = -a
        m[...] = np.abs(a)
        c[...] = ~a

    check(negate_and_abs, reference, lambda rng, n: (ints(rng, np.int16, n), *np.zeros((3, n), np.int16)), target=target)


def test_shifts_by_the_width_or_more(target):
    def reference(a, k, left, right):
        left[...] = [(x << s) % 2**32 - 2**32 * ((x << s) % 2**32 >= 2**31) for x, s in zip(a.tolist(), k.tolist(), strict=True)]
        right[...] = [x >> s for x, s in zip(a.tolist(), k.tolist(), strict=True)]

    def arguments(rng, n):
        return ints(rng, np.int32, n), rng.integers(0, 70, n).astype(np.int32), *np.zeros((2, n), np.int32)

    check(shifts, reference, arguments, target=target, sizes=(0, 1, 17, 1000))


def test_integer_powers_wrap(target):
    def reference(a, k, y):
        y[...] = [(x**e + 2**63) % 2**64 - 2**63 for x, e in zip(a.tolist(), k.tolist(), strict=True)]

    def arguments(rng, n):
        return rng.integers(-9, 10, n), rng.integers(0, 40, n), np.zeros(n, np.int64)

    check(powers, reference, arguments, target=target, sizes=(0, 1, 17, 1000))


def test_true_division_of_integers_is_f64(target):
    def reference(a, b, y):
        y[...] = a / b

    check(
        true_division,
        reference,
        lambda rng, n: (ints(rng, np.int32, n), ints(rng, np.int32, n), np.zeros(n)),
        target=target,
        rtol=0,
    )


def test_collatz(target):
    def steps_of(v):
        count = 0
        while v > 1:
            v, count = (v // 2 if v % 2 == 0 else 3 * v + 1), count + 1
        return count

    def reference(x, steps):
        steps[...] = [steps_of(v) for v in x.tolist()]

    check(
        collatz,
        reference,
        lambda rng, n: (rng.integers(0, 10**6, n), np.zeros(n, np.int32)),
        target=target,
        sizes=(0, 1, 9, 400),
        python_up_to=9,
    )


def test_mixed_widths(target):
    def reference(a, b, c, y, less):
        y[...] = a.astype(np.int64) + b + c
        less[...] = a.astype(np.int64) < b

    def arguments(rng, n):
        return ints(rng, np.int8, n), ints(rng, np.uint16, n), rng.integers(-9, 9, n), np.zeros(n, np.int64), np.zeros(n, bool)

    check(mixed_widths, reference, arguments, target=target)


def test_gcd(target):
    def reference(a, b, y):
        y[...] = np.gcd(a, b)

    check(
        gcds, reference, lambda rng, n: (ints(rng, np.uint32, n), ints(rng, np.uint32, n), np.zeros(n, np.uint32)), target=target
    )
