"""Index arrays at the native entry point: tested there, and refused by Python in its words."""

import threading
from contextlib import contextmanager

import numpy as np
import pytest

import lend
from lend import Index, Mut, Offsets, Out, Ref, Unique, f64, i32, i64, u8, u16
from lend.dims import K, M, N
from lend.runtime import vectorcall
from lend.targets.cpu.python_abi import python_abi

pytestmark = pytest.mark.skipif(
    python_abi() is None or not vectorcall.enabled(lend.Kernel), reason="this Python has no native path"
)


class N1(lend.Dim):
    equals = N + 1


@lend.kernel
def gather(x: Ref[f64, N], idx: Ref[Index[N], M], y: Out[f64, M]):
    for i in lend.grid(M):
        y[i] = x[idx[i]]


@lend.kernel
def gather_rows(x: Ref[f64, N], idx: Ref[Index[N, i32], M, K], y: Out[f64, M, K]):
    for i, j in lend.grid(M, K):
        y[i, j] = x[idx[i, j]]


@lend.kernel
def scatter(p: Ref[Unique[N, u16], M], x: Ref[f64, M], y: Mut[f64, N]):
    for i in lend.grid(M):
        y[p[i]] = x[i]


@lend.kernel
def lengths(rows: Ref[Offsets[K], N1], columns: Ref[Index[M, i32], K], y: Out[i64, N], z: Ref[f64, M]):
    for i in lend.grid(N):
        y[i] = rows[i + 1] - rows[i]


@lend.kernel
def halves(x: Ref[Index[N // 2 - 3, u8], M], z: Ref[f64, N], y: Out[i64, M]):
    for i in lend.grid(M):
        y[i] = x[i]


@lend.kernel
def several(xs: tuple[Ref[Index[N], M], ...], y: Mut[i64, N]):
    for i in lend.grid(N):
        for x in xs:
            for k in range(M):
                if x[k] == i:
                    y[i] += 1


@contextmanager
def bound_in_python(kernel):
    """The calls in the block that Python bound."""
    calls, bind = [], kernel._binder.bind

    def counted(*arguments):
        calls.append(arguments)
        return bind(*arguments)

    kernel._binder.bind = counted
    try:
        yield calls
    finally:
        del kernel._binder.bind


def check(kernel, *arguments, native=True):
    """Call a kernel three times; whether Python had no part in the third."""
    kernel(*arguments)
    kernel(*arguments)
    with bound_in_python(kernel) as calls:
        kernel(*arguments)
    assert len(calls) == (0 if native else 1)


def refused(kernel, error, message, *arguments):
    """A call that Python refuses, of a kernel that has an entry point."""
    with bound_in_python(kernel) as calls, pytest.raises(error) as caught:
        kernel(*arguments)
    assert type(caught.value) is error and str(caught.value) == message
    assert len(calls) == 1


@pytest.mark.parametrize("size", [1, 7, 4096, 4097, 200_000])
def test_indices(size):
    x, y = np.arange(float(size + 3)), np.zeros(size)
    idx = np.random.default_rng(1).integers(0, size + 3, size)
    check(gather, x, idx, y)
    assert (y == x[idx]).all()
    for place in {0, size // 2, size - 1}:
        for value, negative in ((size + 3, ""), (-1, ": negative ones do not count from the end")):
            bad = idx.copy()
            bad[place] = value
            message = (
                f"gather: idx must be Ref[Index[N], M], of indices below N = {size + 3}, but idx[{place}] is {value}{negative}"
            )
            refused(gather, lend.BoundsError, message, x, bad, y)
    check(gather, x, idx, y)


def test_no_indices():
    check(gather, np.zeros(3), np.zeros(0, np.int64), np.zeros(0))
    check(gather, np.zeros(0), np.zeros(0, np.int64), np.zeros(0))
    message = "gather: idx must be Ref[Index[N], M], of indices below N = 0, and there are none, but the array has 1 element"
    refused(gather, lend.BoundsError, message, np.zeros(0), np.zeros(1, np.int64), np.zeros(1))


def test_tables_of_indices():
    x, idx, y = np.arange(5.0), np.array([[0, 4], [2, 3], [1, 1]], np.int32), np.zeros((3, 2))
    check(gather_rows, x, idx, y)
    assert (y == x[idx]).all()
    idx[2, 0] = 5
    message = "gather_rows: idx must be Ref[Index[N, i32], M, K], of indices below N = 5, but idx[2, 0] is 5"
    refused(gather_rows, lend.BoundsError, message, x, idx, y)


def test_arrays_with_gaps_are_bound_in_python():
    x, wide = np.arange(5.0), np.zeros((3, 4), np.int32)
    check(gather_rows, x, wide[:, ::2], np.zeros((3, 2)), native=False)
    check(gather_rows, x, np.asfortranarray(wide), np.zeros((3, 4)), native=False)


@pytest.mark.parametrize("size", [1, 300, 20_000])
def test_distinct_indices(size):
    p, x, y = np.random.default_rng(2).permutation(size).astype(np.uint16), np.arange(float(size)), np.zeros(size)
    check(scatter, p, x, y)
    assert (y[p] == x).all()
    if size > 1:
        bad = p.copy()
        bad[size - 1] = bad[3]
        message = (
            f"scatter: p must be Ref[Unique[N, u16], M], of indices that differ, but p[3] and p[{size - 1}] are both {bad[3]}"
        )
        refused(scatter, lend.BorrowError, message, bad, x, y)


def test_distinct_indices_that_are_far_apart():
    p = (np.arange(9, dtype=np.uint16) * 7000)[::-1].copy()
    check(scatter, p, np.zeros(9), np.zeros(60_000), native=False)  # too sparse for bits
    check(scatter, np.sort(p), np.zeros(9), np.zeros(60_000))


def test_offsets_and_indices_of_a_matrix():
    rows, columns, y, z = np.array([0, 2, 2, 5]), np.array([1, 0, 3, 2, 3], np.int32), np.zeros(3, np.int64), np.zeros(4)
    check(lengths, rows, columns, y, z)
    assert y.tolist() == [2, 0, 3]
    start = "lengths: rows must be Ref[Offsets[K], N1], of offsets"
    refused(lengths, lend.BoundsError, f"{start} that never decrease, but rows[1] is 2 and rows[2] is 1",
            np.array([0, 2, 1, 5]), columns, y, z)  # fmt: skip
    refused(lengths, lend.BoundsError, f"{start} in 0..K = 5, but rows[3] is 6", np.array([0, 2, 2, 6]), columns, y, z)
    refused(lengths, lend.BoundsError, f"{start} in 0..K = 5, but rows[0] is -1", np.array([-1, 2, 2, 5]), columns, y, z)
    message = "lengths: columns must be Ref[Index[M, i32], K], of indices below M = 4, but columns[2] is 4"
    refused(lengths, lend.BoundsError, message, rows, np.array([1, 0, 4, 2, 3], np.int32), y, z)
    check(lengths, np.array([0]), np.zeros(0, np.int32), np.zeros(0, np.int64), z)


def test_bounds_that_are_computed():
    y = np.zeros(2, np.int64)
    check(halves, np.array([0, 1], np.uint8), np.zeros(11), y)
    start = "halves: x must be Ref[Index[(N // 2) - 3, u8], M], of indices below (N // 2) - 3"
    refused(halves, lend.BoundsError, f"{start} = 2, but x[1] is 2", np.array([0, 2], np.uint8), np.zeros(10), y)
    for size, bound in ((6, 0), (3, -2)):
        message = f"{start} = {bound}, and there are none, but the array has 2 elements"
        refused(halves, lend.BoundsError, message, np.array([0, 2], np.uint8), np.zeros(size), y)
    check(halves, np.array([0, 255], np.uint8), np.zeros(10_000), y)


def test_tuples_of_index_arrays():
    y = np.zeros(3, np.int64)
    check(several, (np.array([0, 1]), np.array([1, 1])), y)
    assert y.tolist() == [3, 9, 0]
    message = "several: xs[1] must be Ref[Index[N], M], of indices below N = 3, but xs[1][0] is 3"
    refused(several, lend.BoundsError, message, (np.array([0, 1]), np.array([3, 1])), y)


def test_other_threads_run_while_large_arrays_are_tested():
    size = 1 << 16
    x, idx, results = np.arange(float(size)), np.random.default_rng(3).integers(0, size, size), []

    def work():
        y = np.zeros(size)
        for _ in range(30):
            gather(x, idx, y)
        results.append(bool((y == x[idx]).all()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 4
