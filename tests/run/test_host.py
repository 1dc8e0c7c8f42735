"""Host level: temporaries, returned arrays, reshapes, slices, swaps, single elements, kernels calling kernels."""

import numpy as np
from harness import check

import lend
from lend import Mut, Out, Ref, bool_, f32, f64, i32, i64
from lend.dims import H, M, N, S


@lend.kernel
def primes_below(n: i64):
    prime = lend.zeros(bool_, n)
    for i in lend.grid((2, n)):
        prime[i] = True
    for p in range(2, n):
        if p * p >= n:
            break
        if prime[p]:
            for i in lend.grid((p * p, n, p)):
                prime[i] = False
    return prime


@lend.kernel
def pairwise(x: Ref[f32, N], rows: i32):
    out = lend.empty(f32, rows, N)
    total = f64(0)
    for i, j in lend.grid(rows, N):
        out[i, j] = x[j] * f32(i)
        total += x[j]
    return out, total


@lend.kernel
def smooth_twice(x: Mut[f64, N]):
    tmp = lend.zeros(f64, N)
    for _ in range(2):
        for i in lend.grid(N):
            tmp[i] = 0.5 * x[i] + 0.25 * x[max(i - 1, 0)] + 0.25 * x[min(i + 1, N - 1)]
        for i in lend.grid(N):
            x[i] = tmp[i]


@lend.kernel
def haar_step(x: Ref[f64, N, S], y: Out[f64, H, 2, S]):
    assert N == 2 * H
    pairs = x.reshape(H, 2, S)
    for i, s in lend.grid(H, S):
        y[i, 0, s] = pairs[i, 0, s] + pairs[i, 1, s]
        y[i, 1, s] = pairs[i, 0, s] - pairs[i, 1, s]


@lend.kernel
def even_minus_odd(x: Ref[f64, N], y: Out[f64, M]):
    assert N == 2 * M
    even = x[::2]
    odd = x[1::2]
    for i in lend.grid(M):
        y[i] = even[i] - odd[i]


@lend.kernel
def halves(x: Mut[f64, N, M]):
    top = x[: N // 2, :]
    bottom = x[N // 2 :, 1:]
    for i, j in lend.grid(top.shape[0], M):
        top[i, j] = 0
    for i, j in lend.grid(len(bottom), bottom.shape[1]):
        bottom[i, j] += 1


@lend.kernel
def single_elements(x: Mut[f64, N], k: i64) -> f64:
    assert N >= 2
    first = x[0]
    x[0] = x[N - 1]
    x[N - 1] = first
    x[k] += 10
    return x[k]


@lend.kernel
def axpy(a: f64, x: Ref[f64, N], y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] += a * x[i]


@lend.kernel
def total(x: Ref[f64, N]) -> f64:
    s = 0.0
    for i in lend.grid(N):
        s += x[i]
    return s


@lend.kernel
def calls_kernels(x: Ref[f64, N, M], y: Mut[f64, M]) -> f64:
    for i in range(N):
        axpy(1.0 / (i + 1), x[i, :], y)
    return total(y) + total(x=y)


@lend.kernel
def fibonacci(n: i32) -> i64:
    a = i64(0)
    b = i64(1)
    for _ in range(n):
        a, b = b, a + b
    return a


@lend.kernel
def jump_flooding(x: Mut[i64, N], y: Mut[i64, N]) -> i32:
    """Inclusive maximum scan by doubling, swapping the arrays."""
    step = 1
    rounds = i32(0)
    while step < N:
        for i in lend.grid(N):
            y[i] = max(x[i], x[i - step]) if i >= step else x[i]
        x, y = y, x
        step *= 2
        rounds += 1
    return rounds


@lend.kernel
def nothing():
    pass


@lend.kernel
def choose_at_host_level(x: Mut[f64, N], up: bool_) -> i64:
    if up:
        for i in lend.grid(N):
            x[i] += 1
        return N
    for i in lend.grid(N):
        x[i] -= 1
    return -N


def test_an_array_of_run_time_size_is_returned(target):
    def reference(n):
        sieve = np.array([k > 1 and all(k % d for d in range(2, int(k**0.5) + 1)) for k in range(n)], bool)
        return sieve

    check(primes_below, reference, lambda rng, n: (n,), target=target, sizes=(0, 1, 2, 17, 3000))


def test_a_returned_array_belongs_to_the_caller(target):
    first, other = primes_below(50), primes_below(50)
    first[:] = True
    assert other.sum() == 15
    del first
    kept = other[10:20]
    del other
    assert kept.tolist() == primes_below(20)[10:].tolist()
    assert kept.flags.writeable


def test_an_array_and_a_scalar_are_returned(target):
    def reference(x, rows):
        return (x[None] * np.arange(rows, dtype=np.float32)[:, None]), rows * x.sum(dtype=np.float64)

    check(pairwise, reference, lambda rng, n: (rng.random(n, np.float32), 7), target=target, rtol=1e-5)


def test_a_temporary_in_a_host_level_loop(target):
    def reference(x):
        for _ in range(2 if len(x) else 0):
            x[...] = 0.5 * x + 0.25 * np.r_[x[:1], x[:-1]] + 0.25 * np.r_[x[1:], x[-1:]]

    check(smooth_twice, reference, lambda rng, n: (rng.random(n),), target=target)


def test_reshape(target):
    def reference(x, y):
        pairs = x.reshape(y.shape)
        y[:, 0], y[:, 1] = pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]

    check(
        haar_step, reference, lambda rng, n: (rng.random((2 * n, 3)), np.zeros((n, 2, 3))), target=target, layouts=("C",), rtol=0
    )


def test_slices_with_steps(target):
    def reference(x, y):
        y[...] = x[::2] - x[1::2]

    check(even_minus_odd, reference, lambda rng, n: (rng.random(2 * n), np.zeros(n)), target=target, rtol=0)


def test_slices_of_two_dimensions_are_written(target):
    def reference(x):
        x[: len(x) // 2] = 0
        x[len(x) // 2 :, 1:] += 1

    check(halves, reference, lambda rng, n: (rng.random((n, n + 1)),), target=target, sizes=(0, 1, 17, 80), rtol=0)


def test_single_elements(target):
    def reference(x, k):
        x[0], x[-1] = x[-1], x[0]
        x[k] += 10
        return x[k]

    check(single_elements, reference, lambda rng, n: (rng.random(n), n // 2), target=target, sizes=(2, 17, 100), rtol=0)


def test_kernels_call_kernels(target):
    def reference(x, y):
        y += (x / np.arange(1, len(x) + 1)[:, None]).sum(axis=0)
        return 2 * y.sum()

    check(
        calls_kernels, reference, lambda rng, n: (rng.random((n, n + 1)), rng.random(n + 1)), target=target, sizes=(0, 1, 17, 80)
    )


def test_scalars_only(target):
    for run in (fibonacci, fibonacci.py):
        assert [run(n) for n in (-1, 0, 1, 2, 10, 90)] == [0, 0, 1, 1, 55, 2880067194370816120]


def test_arrays_are_swapped_a_number_of_times_that_depends_on_the_size(target):
    def reference(x, y):
        step, rounds = 1, 0
        while step < len(x):
            y[:step], y[step:] = x[:step], np.maximum(x[step:], x[:-step])
            x, y = y, x
            step, rounds = 2 * step, rounds + 1
        return np.int32(rounds)

    check(jump_flooding, reference, lambda rng, n: tuple(rng.integers(0, 10**6, (2, n))), target=target)


def test_a_kernel_without_parameters(target):
    assert nothing() is None
    assert nothing.py() is None


def test_returns_in_branches(target):
    def reference(x, up):
        x += 1 if up else -1
        return np.int64(len(x) if up else -len(x))

    for up in (True, False):
        check(
            choose_at_host_level,
            reference,
            lambda rng, n, u=up: (rng.random(n), u),
            target=target,
            sizes=(0, 17, 500),
            layouts=("C", "strided"),
        )
