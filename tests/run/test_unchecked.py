"""`lend.unchecked`, `kernel.on`, thread settings, and bits that no setting changes."""

import numpy as np
import pytest
from harness import check, on, threads
from scripts import run_script

import lend
from lend import Mut, Out, Ref, f32, f64, i64
from lend.dims import M, N


@lend.kernel
def scale_unchecked(a: f32, x: Ref[f32, N], y: Out[f32, N]):
    with lend.unchecked("i runs over the whole of x and y"):
        for i in lend.grid(N):
            y[i] = a * x[i]


@lend.kernel
def gather_unchecked(where: Ref[i64, N], x: Ref[f64, M], y: Out[f64, N]):
    for i in lend.grid(N):
        k = where[i] % M
        with lend.unchecked("k is a remainder by M"):
            value = x[k]
        y[i] = value


@lend.kernel
def half_unchecked(x: Mut[f64, N], k: i64):
    for i in lend.grid(N):
        with lend.unchecked("i is in the grid"):
            x[i] += 1
        x[i + k] += 1


@lend.kernel
def norm(x: Ref[f64, N, M]) -> f64:
    s = 0.0
    for i, j in lend.grid(N, M):
        s += x[i, j] * x[i, j]
    return s


def test_unchecked_loops(target):
    def reference(a, x, y):
        y[...] = np.float32(a) * x

    check(
        scale_unchecked,
        reference,
        lambda rng, n: (0.3, rng.random(n, np.float32), np.zeros(n, np.float32)),
        target=target,
        rtol=0,
    )


def test_unchecked_reads(target):
    def reference(where, x, y):
        if len(x):
            y[...] = x[where % len(x)]

    def arguments(rng, n):
        return rng.integers(-(2**40), 2**40, n), rng.random(n), np.zeros(n)

    check(gather_unchecked, reference, arguments, target=target, rtol=0)


def test_other_subscripts_keep_their_check():
    half_unchecked(np.zeros(9), 0)
    with pytest.raises(lend.BoundsError):
        half_unchecked(np.zeros(9), 1)


def test_on_cpu(target):
    x, y = np.ones(5, np.float32), np.zeros(5, np.float32)
    on(scale_unchecked, target)(2.0, x, y)
    assert (y == 2).all()
    scale_unchecked.on("cpu")(3.0, x, y)
    assert (y == 3).all()
    with pytest.raises(lend.DeviceError):
        scale_unchecked.on("no such device")


def test_a_thread_count_that_is_none():
    for wrong in (0, -1, 1.5, "many", None, True):
        with pytest.raises(lend.LendError):
            lend.config.threads = wrong


def test_the_same_bits_on_any_number_of_threads_run_after_run(target):
    x = np.random.default_rng(5).normal(size=(300, 701))
    run = on(norm, target)
    with threads(1):
        expected = run(x)
    for number in (1, 2, 3, 4, 7, 16):
        with threads(number):
            assert {run(x) for _ in range(20)} == {expected}


def test_the_environment_sets_the_threads(tmp_path):
    program = """
    import numpy as np, lend
    from lend import Ref, f64
    from lend.dims import N

    @lend.kernel
    def total(x: Ref[f64, N]) -> f64:
        s = 0.0
        for i in lend.grid(N):
            s += x[i]
        return s

    print(lend.config.threads, total(np.random.default_rng(1).normal(size=100_001)).hex())
    """
    seen = [run_script(tmp_path, program, LEND_THREADS=str(number)).split() for number in (1, 2, 5)]
    assert [int(number) for number, _ in seen] == [1, 2, 5]
    assert len({bits for _, bits in seen}) == 1
