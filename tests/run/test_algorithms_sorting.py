"""`lend.algorithms`: what sorts, against NumPy, on every element type and on inputs made to be hard."""

import ml_dtypes
import numpy as np
import pytest
from harness import place, threads

import lend
from guard import guarded
from lend import Ref, T, U, f64
from lend.algorithms import radix
from lend.dims import N

A = lend.algorithms
TYPES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", ml_dtypes.bfloat16)
SIZES = (0, 1, 2, radix.SHORT, radix.SHORT + 1, 1000)
LARGER = {"f8": (radix.CHUNK - 1, radix.CHUNK, radix.CHUNK + 1), "i4": (3 * radix.CHUNK + 5,), "u1": (radix.CHUNK + 1,)}


def stable(x):
    """NumPy's stable order; of bfloat16 by f32, which holds all its values."""
    return np.argsort(x.astype("f4") if x.dtype.kind == "V" else x, kind="stable")


def bits(x):
    return x.view(f"u{x.itemsize}")


def inputs(dtype, n, seed=1):
    """Random numbers, and inputs on which sorts go wrong."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    raw = rng.integers(0, 256, n * dtype.itemsize).astype(np.uint8).view(dtype) if dtype.kind != "b" else rng.random(n) < 0.5
    if dtype.kind in "fV" and dtype.itemsize == 2:  # of the narrow types other NaNs become the usual one where they are loaded
        raw = np.where(np.isnan(raw.astype("f4")), np.ones_like(raw), raw)
    yield "bits", raw
    yield "few", rng.choice(raw[:3], n) if n else raw
    yield "equal", np.full(n, 1).astype(dtype)
    with np.errstate(all="ignore"):
        yield "rising", np.arange(n).astype(dtype)
        yield "falling", np.arange(n)[::-1].astype(dtype)
    if dtype.kind in "fV":
        special = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.0, -1.0]).astype(dtype)
        yield "special", rng.choice(special, n)
        yield "normal", rng.normal(size=n).astype(dtype)
        yield "uniform", rng.random(n).astype(dtype)


def assert_sorts(x, what):
    order = stable(x)
    assert np.array_equal(A.argsort(x), order), f"argsort, {what}"
    found = A.sort(x)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found.astype("f8"), x[order].astype("f8"), err_msg=f"sort, {what}")
    assert np.array_equal(np.sort(bits(found)), np.sort(bits(x))), f"sort lost bits, {what}"
    values = np.arange(len(x), dtype=np.int32)
    keys, moved = A.sort_pairs(x, values)
    assert bits(keys).tobytes() == bits(x[order]).tobytes(), f"sort_pairs, keys, {what}"
    assert np.array_equal(moved, values[order]), f"sort_pairs, values, {what}"


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_sorts_as_numpy(dtype):
    for n in (*SIZES, *LARGER.get(dtype, ())):
        for name, x in inputs(dtype, n):
            assert_sorts(x, f"{dtype}, {n}, {name}")


def test_zeros_of_both_signs_are_equal_and_nan_is_last():
    x = np.array([0.0, np.nan, -0.0, 1.0, 0.0, -np.inf, -np.nan, -0.0])
    assert A.argsort(x).tolist() == [5, 0, 2, 4, 7, 3, 1, 6]
    assert np.signbit(A.sort(x)[1:5]).tolist() == [True, True, False, False]


def adversarial(n):
    """Keys whose upper bits agree in long runs while the lower ones are out of order, beside a sample that tells them apart."""
    rng = np.random.default_rng(3)
    yield "clumps", (rng.integers(0, 50, n) << 40) + rng.integers(0, 1 << 30, n)
    yield "a falling run", np.concatenate([rng.integers(-(1 << 62), 1 << 62, n // 2), (1 << 61) + np.arange(n - n // 2)[::-1]])
    hidden = rng.integers(-(1 << 62), 1 << 62, n)
    sampled = (np.arange(radix.SAMPLE, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) % np.uint64(n)).astype(np.int64)
    outside = np.ones(n, bool)
    outside[sampled] = False
    hidden[outside] = (5 << 50) + np.arange(outside.sum())[::-1]
    yield "what no sample sees", hidden
    yield "two values far apart", np.where(rng.random(n) < 0.5, -(1 << 62), (1 << 62) + 1)
    yield "one that differs", np.where(np.arange(n) == n // 3, 1, 0)
    yield "a last small one", np.concatenate([(1 << 60) + np.arange(n - 1), [1 << 60]])


@pytest.mark.parametrize("n", [5000, 2 * radix.CHUNK + 17])
def test_hard_for_what_is_estimated(n):
    for name, x in adversarial(n):
        assert_sorts(x, name)
        assert_sorts(x.astype("f8"), name)


def test_same_bits_on_any_number_of_threads():
    x = np.random.default_rng(4).choice(np.random.default_rng(5).normal(size=5000), 5 * radix.CHUNK)
    x[::7] = -0.0
    results = []
    for number in (1, 2, 3, 4):
        with threads(number):
            results.append(
                [A.sort(x).tobytes(), A.argsort(x).tobytes(), A.sort_pairs(x, x)[1].tobytes(), A.top_k(x, 99)[1].tobytes()]
            )
    assert results[1:] == results[:-1]


@pytest.mark.parametrize("layout", ["strided", "reversed", "unaligned"])
def test_layouts(layout):
    x = place(np.random.default_rng(6).normal(size=3000), layout)
    assert np.array_equal(A.sort(x.view), np.sort(x.view))
    assert np.array_equal(A.argsort(x.view), np.argsort(x.view, kind="stable"))
    x.assert_intact()


def test_nothing_beside_the_arrays_is_touched():
    """Arguments end where a page begins that may not be touched; results and temporaries are lend's own."""
    for n in (1, radix.SHORT + 1, 5000):
        x = np.random.default_rng(n).normal(size=n)
        lent = guarded(x)
        assert np.array_equal(A.sort(lent), np.sort(x))
        assert np.array_equal(A.argsort(lent), np.argsort(x, kind="stable"))
        assert np.array_equal(A.top_k(lent, min(n, 3))[0], np.sort(x)[::-1][: min(n, 3)])


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_unique(dtype):
    for n in (0, 1, 1000, 5000):
        for name, x in inputs(dtype, n):
            wide = x.astype("f4") if x.dtype.kind == "V" else x
            np.testing.assert_array_equal(A.unique(x).astype(wide.dtype), np.unique(wide), err_msg=f"{n}, {name}")


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_top_k(dtype):
    for n in (1, 60, 5000, radix.CHUNK + 1):
        for name, x in inputs(dtype, n):
            wide = x.astype("f4") if x.dtype.kind == "V" else x
            descending = n - 1 - np.argsort(wide[::-1], kind="stable")[::-1]
            for k in {0, 1, min(n, 50), n}:
                values, indices = A.top_k(x, k)
                assert np.array_equal(indices, descending[:k]), f"{n}, {name}, {k}"
                assert bits(values).tobytes() == bits(x[indices]).tobytes() or x.dtype.kind == "V"


@lend.kernel
def composed(x: Ref[f64, N]):
    """Rows whose sizes the kernel computes, sorted."""
    positive = A.compact_if(x, lambda v: v > 0)
    order = A.argsort(positive)
    keys, values = A.sort_pairs(positive, order)
    best, _ = A.top_k(positive, 2)
    return A.sort(positive), keys, values, best, A.unique(positive)


@lend.kernel
def sorted_of_any_type(x: Ref[T, N], y: Ref[U, N]):
    return lend.algorithms.sort(x), lend.algorithms.argsort(y)


def test_inside_kernels():
    x = np.random.default_rng(7).normal(size=2000).round(1)
    positive = x[x > 0]
    for run in (composed, composed.py):
        y = x[:60] if run is composed.py else x
        positive = y[y > 0]
        ordered, keys, values, best, different = run(y)
        order = np.argsort(positive, kind="stable")
        assert np.array_equal(ordered, np.sort(positive)) and np.array_equal(keys, ordered)
        assert np.array_equal(values, order[order]) and np.array_equal(best, ordered[::-1][:2])
        assert np.array_equal(different, np.unique(positive))
    a, b = sorted_of_any_type(x.astype("f4"), (9 * x).astype("i2"))
    assert np.array_equal(a, np.sort(x.astype("f4"))) and np.array_equal(b, np.argsort((9 * x).astype("i2"), kind="stable"))


def test_bad_arguments():
    x = np.zeros(3)
    with pytest.raises(lend.ArgumentError, match=r"sort: x must be an array of integers, floats or bools, not of complex128"):
        A.sort(x.astype(complex))
    with pytest.raises(lend.ShapeError, match=r"argsort: x must have one dimension, not 2"):
        A.argsort(np.zeros((2, 2)))
    with pytest.raises(lend.ShapeError, match=r"sort_pairs: there are 3 keys and 2 values"):
        A.sort_pairs(x, x[:2])
    with pytest.raises(lend.ShapeError, match=r"top_k: there are 3 elements, fewer than k = 4"):
        A.top_k(x, 4)
    with pytest.raises(lend.ArgumentError, match=r"top_k: k must be at least 0, not -1"):
        A.top_k(x, -1)
    with pytest.raises(lend.CompileError, match=r"dimension"):

        @lend.kernel
        def pairs_of_a_matrix(x: Ref[f64, N], y: Ref[f64, N, N]):
            return A.sort_pairs(x, y)


@pytest.mark.parametrize("n", [1_000_000])
def test_large(n):
    rng = np.random.default_rng(8)
    for x in (rng.random(n), rng.normal(size=n).astype("f4"), rng.integers(-(1 << 62), 1 << 62, n), rng.integers(0, 99, n)):
        order = np.argsort(x, kind="stable")
        assert np.array_equal(A.sort(x), x[order]) and np.array_equal(A.argsort(x), order)
