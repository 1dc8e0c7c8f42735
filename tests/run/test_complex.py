"""Complex arithmetic."""

import cmath

import numpy as np
from harness import check

import lend
from lend import Mut, Out, Ref, bool_, complex64, complex128, f32, f64, i32
from lend.dims import K, M, N


@lend.kernel
def multiply_add(a: complex64, x: Ref[complex64, N], y: Mut[complex64, N]):
    for i in lend.grid(N):
        y[i] += a * x[i] - x[i] * 2


@lend.kernel
def quotient(x: Ref[complex128, N], y: Ref[complex128, N], z: Out[complex128, N]):
    for i in lend.grid(N):
        z[i] = x[i] / y[i]


@lend.kernel
def parts(z: Ref[complex64, N], re: Out[f32, N], im: Out[f32, N], size: Out[f32, N], mirrored: Out[complex64, N]):
    for i in lend.grid(N):
        re[i] = z[i].real
        im[i] = z[i].imag
        size[i] = abs(z[i])
        mirrored[i] = z[i].conjugate()


@lend.kernel
def discrete_fourier(x: Ref[complex128, N], y: Out[complex128, N]):
    for k in lend.grid(N):
        total = complex128(0)
        for n in range(N):
            angle = -2 * np.pi * ((k * n) % N) / N
            total += x[n] * complex(np.cos(angle), np.sin(angle))
        y[k] = total


@lend.kernel
def exponentials(z: Ref[complex128, N], w: Out[complex128, N]):
    for i in lend.grid(N):
        w[i] = np.exp(z[i] * 1j) + np.sqrt(z[i])


@lend.kernel
def julia(z0: Ref[complex128, N, M], c: complex128, out: Out[i32, N, M]):
    for i, j in lend.grid(N, M):
        z = z0[i, j]
        steps = i32(0)
        while z.real * z.real + z.imag * z.imag < 4 and steps < 40:
            z = z * z + c
            steps += 1
        out[i, j] = steps


@lend.kernel
def compare(x: Ref[complex64, N], y: Ref[complex64, N], same: Out[bool_, N], other: Out[bool_, N]):
    for i in lend.grid(N):
        same[i] = x[i] == y[i]
        other[i] = x[i] != y[i]


@lend.kernel
def promote(x: Ref[f32, N], k: Ref[f64, K], y: Out[complex128, N]):
    for i in lend.grid(N):
        total = complex128(1j * x[i])
        for j in range(K):
            total = total + k[j]
        y[i] = -total


def numbers(rng, n, dtype=np.complex128):
    return (rng.normal(size=n) + 1j * rng.normal(size=n)).astype(dtype)


def test_multiply_add(target):
    def reference(a, x, y):
        y += np.complex64(a) * x - x * 2

    check(
        multiply_add, reference, lambda rng, n: (0.5 - 2j, numbers(rng, n, "c8"), numbers(rng, n, "c8")), target=target, atol=1e-5
    )


def test_quotient(target):
    def reference(x, y, z):
        z[...] = x / y

    check(quotient, reference, lambda rng, n: (numbers(rng, n), numbers(rng, n), numbers(rng, n)), target=target)


def test_quotient_of_large_numbers_does_not_overflow(target):
    z = np.zeros(1, complex)
    quotient(np.array([1e300 + 1e300j]), np.array([1e300 + 1e300j]), z)
    assert z[0] == 1


def test_parts(target):
    def reference(z, re, im, size, mirrored):
        re[...], im[...], size[...], mirrored[...] = z.real, z.imag, np.abs(z), z.conj()

    def arguments(rng, n):
        return numbers(rng, n, "c8"), *np.zeros((3, n), np.float32), np.zeros(n, np.complex64)

    check(parts, reference, arguments, target=target)


def test_discrete_fourier_transform(target):
    def reference(x, y):
        y[...] = np.fft.fft(x) if len(x) else 0

    check(
        discrete_fourier,
        reference,
        lambda rng, n: (numbers(rng, n), numbers(rng, n)),
        target=target,
        sizes=(0, 1, 9, 100),
        atol=1e-10,
    )


def test_complex_functions(target):
    def reference(z, w):
        w[...] = [cmath.exp(v * 1j) + cmath.sqrt(v) for v in z]

    check(
        exponentials,
        reference,
        lambda rng, n: (numbers(rng, n), numbers(rng, n)),
        target=target,
        sizes=(0, 1, 17, 1000),
        atol=1e-12,
    )


def test_julia(target):
    def reference(z0, c, out):
        z, out[...] = z0.copy(), 0
        for _ in range(40):
            going = z.real * z.real + z.imag * z.imag < 4
            out += going
            z = np.where(going, z * z + c, z)

    def arguments(rng, n):
        return numbers(rng, (n, n + 1)), -0.4 + 0.6j, np.zeros((n, n + 1), np.int32)

    check(julia, reference, arguments, target=target, sizes=(0, 1, 9, 50), python_up_to=9)


def test_equality(target):
    def reference(x, y, same, other):
        same[...], other[...] = x == y, x != y

    def arguments(rng, n):
        x = numbers(rng, n, "c8")
        y = np.where(rng.random(n) < 0.5, x, x.conj())
        return x, y, np.zeros(n, bool), np.zeros(n, bool)

    check(compare, reference, arguments, target=target)


def test_real_numbers_widen_to_complex(target):
    def reference(x, k, y):
        y[...] = -(1j * x.astype(np.float64) + k.sum())

    check(promote, reference, lambda rng, n: (rng.random(n, np.float32), rng.random(5), numbers(rng, n)), target=target)
