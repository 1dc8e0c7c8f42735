"""Several Python threads at once, and the GIL."""

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pickled
import pytest
from harness import threads

import lend
from lend import Mut, Out, Ref, f64
from lend.dims import N


@lend.kernel
def add(x: Mut[f64, N], k: f64):
    for i in lend.grid(N):
        x[i] += k


@lend.kernel
def first_called_by_many_threads(x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = x[i] * 3


@pytest.mark.parametrize("number", [1, 3])
def test_one_kernel_from_several_python_threads(number):
    def work(seed):
        x = np.full(50_000, float(seed))
        for _ in range(100):
            add(x, 1.0)
        return (x == seed + 100).all()

    with threads(number), ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))


@pytest.mark.parametrize("number", [1, 3])
def test_different_kernels_from_several_python_threads(number):
    stop = time.monotonic() + 1.5

    def going(count):
        return count < 5 or time.monotonic() < stop  # compiling takes its time on a busy machine

    def adds():
        x = np.zeros(30_000)
        count = 0
        while going(count):
            add(x, 1.0)
            count += 1
            assert x[0] == x[-1] == count
        return count

    def sums():
        x = np.random.default_rng(1).random(100_000)
        expected = pickled.total(x)
        count = 0
        while going(count):
            assert pickled.total(x) == expected
            count += 1
        return count

    def faults():
        from test_bounds_faults import read

        x, y = np.ones(20_000), np.zeros(20_000)
        count = 0
        while going(count):
            with pytest.raises(lend.BoundsError) as caught:
                read(x, 1 + count % 5, y)
            assert caught.value.thread == (20_000 - 1 - count % 5,)
            count += 1
        return count

    with threads(number), ThreadPoolExecutor(4) as pool:
        counts = [future.result() for future in [pool.submit(work) for work in (adds, sums, adds, faults)]]
    assert min(counts) > 3


def test_the_first_call_from_many_threads_at_once():
    barrier = threading.Barrier(8)

    def work(seed):
        x, y = np.full(1000, float(seed)), np.zeros(1000)
        barrier.wait()
        first_called_by_many_threads(x, y)
        return (y == 3 * seed).all()

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_many_specialisations_from_many_threads_at_once():
    @lend.kernel
    def generic(x: Ref[lend.T, N], y: Out[lend.T, N]):
        for i in lend.grid(N):
            y[i] = x[i] + 1

    barrier = threading.Barrier(6)

    def work(dtype):
        x, y = np.arange(100).astype(dtype), np.zeros(100, dtype)
        barrier.wait()
        for _ in range(20):
            generic(x, y)
        return (y == x + 1).all()

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, ["f4", "f8", "i4", "i8", "u1", "i2"]))


def test_python_goes_on_during_a_long_kernel():
    pickled.spin(10)
    start = time.perf_counter()
    pickled.spin(10_000_000)
    steps = int(10_000_000 * 0.7 / max(time.perf_counter() - start, 1e-4))
    done = threading.Event()
    thread = threading.Thread(target=lambda: (pickled.spin(steps), done.set()))
    thread.start()
    ticks = 0
    while not done.is_set():
        ticks += 1
        time.sleep(0.005)
    thread.join()
    assert ticks > 5, f"only {ticks} steps of Python in a kernel of about 0.7 s: the GIL was held"


def test_a_call_does_not_leak():
    x = np.zeros(1000)
    before = sys.getrefcount(x)
    for _ in range(100):
        add(x, 1.0)
        with pytest.raises(lend.LendError):
            add(x, "no")
    assert sys.getrefcount(x) == before
