"""`lend.algorithms`: folds, scans, selection, histograms and random numbers, against NumPy and SciPy's definitions."""

import numpy as np
import pytest
from harness import place, threads

import lend
from guard import guarded
from lend import Mut, Ref, f64, i64, u32
from lend.algorithms import folding, histograms, selecting
from lend.dims import N

A = lend.algorithms
NUMBERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
SIZES = (0, 1, 2, folding.CHUNK - 1, folding.CHUNK, folding.CHUNK + 1, folding.WAVE - 1, folding.WAVE + 1, folding.WAVE + 5000)


@lend.function
def times(a, b):
    return a * b


@lend.function
def last(a, b):
    """Associative, and far from commutative."""
    return b


@lend.function
def compose(a, b):
    """Two affine maps modulo 2**16, one after the other: `x -> (a >> 16) * x + (a & 0xFFFF)`."""
    p, q, r, s = a >> 16, a & 0xFFFF, b >> 16, b & 0xFFFF
    return ((p * r) & 0xFFFF) << 16 | ((q * r + s) & 0xFFFF)


def numbers(dtype, n):
    return (np.random.default_rng(n).normal(size=n) * 50).astype(dtype)


@pytest.mark.parametrize("dtype", (*NUMBERS, "?"))
def test_sums_as_numpy(dtype):
    for n in SIZES:
        with np.errstate(all="ignore"):
            x = numbers(dtype, n)
        total, wanted = A.reduce(x), np.sum(x)
        assert type(total) is (float if dtype in ("f4", "f8") else int)
        assert total == pytest.approx(wanted, rel=1e-3 if dtype == "f4" else 1e-9, abs=1e-2), n
        scanned, cumulated = A.scan(x), np.cumsum(x)
        assert scanned.dtype == cumulated.dtype
        shifted = np.concatenate([cumulated.dtype.type([7]), cumulated[:-1] + cumulated.dtype.type(7)])[:n]
        exclusive = A.scan(x, exclusive=True, identity=0)
        if dtype in ("f4", "f8"):
            scale = np.abs(x).sum() + 1
            assert np.abs(scanned - cumulated).max(initial=0) <= 1e-5 * scale
            assert np.abs(exclusive + 7 - shifted).max(initial=0) <= 1e-5 * scale
        else:
            assert np.array_equal(scanned, cumulated) and np.array_equal(exclusive + exclusive.dtype.type(7), shifted)


@pytest.mark.parametrize("n", SIZES)
def test_any_associative_function_in_order(n):
    rng = np.random.default_rng(n)
    x = rng.integers(0, 1 << 32, n)
    folded, scanned = 1 << 16, []
    for value in x.tolist():
        folded = compose(folded, value)
        scanned.append(folded)
    assert A.reduce(x, compose, 1 << 16) == folded
    assert A.scan(x, compose).tolist() == scanned
    assert A.scan(x, compose, True, 1 << 16).tolist() == [1 << 16, *scanned][:n]
    assert A.reduce(x, last, -5) == (x[-1] if n else -5)
    assert np.array_equal(A.scan(x, last), x)


def test_functions_that_are_known():
    x = numbers("f8", 10_000)
    x[77] = np.nan
    for function, ufunc in ((min, np.minimum), (max, np.maximum), (np.maximum, np.maximum)):
        np.testing.assert_array_equal(A.scan(x, function), ufunc.accumulate(x))
        assert np.isnan(A.reduce(x, function, x[0]))
        assert A.reduce(x[:77], function, x[0]) == ufunc.reduce(x[:77])
    z = x[:50] + 1j
    assert A.reduce(z, times, 1) == pytest.approx(np.prod(z))


def test_sums_keep_the_sign_of_a_first_zero():
    assert np.signbit(A.scan(np.array([-0.0]))[0])


def test_folds_have_the_same_bits_on_any_number_of_threads():
    x = np.random.default_rng(1).normal(size=3 * folding.WAVE + 77)
    results = []
    for number in (1, 2, 3, 4):
        with threads(number):
            scans = [A.scan(x).tobytes(), A.scan(x, times, True, 1).tobytes()]
            results.append(
                [*scans, A.reduce(x), A.reduce(x, times, 1), A.compact(x, x > 0).tobytes(), A.histogram(x, 9).tobytes()]
            )
    assert results[1:] == results[:-1]


@pytest.mark.parametrize("dtype", (*NUMBERS, "?", "c8", "c16", "f2"))
def test_compaction(dtype):
    for n in (0, 1, selecting.CHUNK - 1, selecting.CHUNK, selecting.CHUNK + 1, 20_000):
        with np.errstate(all="ignore"):
            x = (50 * np.random.default_rng(n).normal(size=n)).astype(dtype)
        for mask in (np.zeros(n, bool), np.ones(n, bool), np.random.default_rng(2).random(n) < 0.3, np.arange(n) == n - 1):
            found = A.compact(x, mask)
            assert found.dtype == x.dtype and np.array_equal(found, x[mask])
        assert np.array_equal(A.compact(x, np.arange(n, dtype=np.uint8) % 3), x[np.arange(n, dtype=np.uint8) % 3 != 0])


def test_compaction_by_a_predicate():
    for n in (0, 1, 5000):
        x = numbers("f8", n)
        x[: n // 9] = np.nan
        assert np.array_equal(A.compact_if(x, lambda v: v * v - 3.0 * v > 100.0), x[x * x - 3.0 * x > 100.0])


@pytest.mark.parametrize("layout", ["strided", "reversed", "unaligned"])
def test_layouts(layout):
    x = place(numbers("f8", 9000), layout)
    assert np.array_equal(A.compact(x.view, x.view > 0), x.view[x.view > 0])
    np.testing.assert_allclose(A.scan(x.view), np.cumsum(x.view), rtol=1e-9, atol=1e-9)
    assert np.array_equal(A.histogram(x.view), np.histogram(x.view)[0])
    x.assert_intact()


def test_nothing_beside_the_arrays_is_touched():
    for n in (1, folding.CHUNK, folding.CHUNK + 1):
        x = guarded(numbers("f8", n))
        mask = guarded(np.arange(n) % 2 == 0)
        np.testing.assert_allclose(A.scan(x), np.cumsum(x), rtol=1e-9, atol=1e-9)
        assert np.array_equal(A.compact(x, mask), x[mask])
        assert A.histogram(x, 5, -10.0, 10.0).sum() == ((x >= -10) & (x <= 10)).sum()


@pytest.mark.parametrize("dtype", (*NUMBERS, "?"))
def test_histograms_as_numpy(dtype):
    for n in (1, 1000, histograms.CHUNK + 1):
        with np.errstate(all="ignore"):
            x = numbers(dtype, n)
        for bins in (1, 2, 10, 1000):
            assert np.array_equal(A.histogram(x, bins), np.histogram(x.view("u1") if dtype == "?" else x, bins)[0]), (n, bins)
        if dtype != "?":
            assert np.array_equal(A.histogram(x, 7, -3, 40), np.histogram(x, 7, (-3, 40))[0])


def test_histograms_at_their_edges():
    x = np.concatenate([np.linspace(0, 1, 11), np.nextafter(np.linspace(0, 1, 11), 0), np.nextafter(np.linspace(0, 1, 11), 1)])
    x = np.concatenate([x, [np.nan, np.inf, -np.inf, -1, 2]])
    assert np.array_equal(A.histogram(x, 10, 0.0, 1.0), np.histogram(x, 10, (0.0, 1.0))[0])
    assert np.array_equal(A.histogram(np.full(50, 3.5)), np.histogram(np.full(50, 3.5))[0])
    assert A.histogram(np.zeros(0), 4).tolist() == [0, 0, 0, 0]
    assert A.histogram(np.arange(100_000.0), 100_000).tolist() == [1] * 100_000


# ----------------------------------------------------------------------------------------------------------- random numbers

KNOWN_ANSWERS = (
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
)
"""Of Random123's `kat_vectors`, for philox4x32 with 10 rounds: counter, key, result."""


@lend.kernel
def philox(words: Ref[u32, 6], out: Mut[u32, N, 4]):
    for i in lend.grid(N):
        r = A.philox4x32((words[0], words[1], words[2], words[3]), (words[4], words[5]))
        for k in lend.static_range(4):
            out[i, k] = r[k]


@lend.kernel
def elementwise(y: Mut[f64, N], z: Mut[f64, N], seed: i64):
    for i in lend.grid(N):
        y[i] = A.uniform_at(seed, i)
        z[i] = A.normal_at(seed, i)


@pytest.mark.parametrize(("counter", "key", "result"), KNOWN_ANSWERS)
def test_philox_gives_the_published_answers(counter, key, result):
    assert A.philox4x32(counter, key) == result
    out = np.zeros((20, 4), np.uint32)
    philox(np.array([*counter, *key], np.uint32), out)
    assert (out == np.array(result, np.uint32)).all()


def test_sequences():
    u, z = A.uniform(10_001, 5), A.normal(10_001, 5)
    y, w = np.zeros(10_001), np.zeros(10_001)
    elementwise(y, w, 5)
    assert np.array_equal(y, u) and np.allclose(w, z, rtol=1e-12, atol=1e-14)
    assert np.array_equal(A.uniform(1000, 5, 77), u[77:1077]) and np.allclose(A.normal(999, 5, 78), z[78:1077], rtol=1e-12)
    assert [A.uniform_at(5, i) for i in range(5)] == u[:5].tolist()
    assert [A.normal_at(5, i) for i in range(5)] == pytest.approx(z[:5], rel=1e-12)
    assert not np.array_equal(A.uniform(1000, 6), u[:1000]) and len(A.uniform(0)) == 0
    assert len(np.unique(u)) == len(u)


def test_moments():
    from scipy import stats

    u, z = A.uniform(1_000_000, 12), A.normal(1_000_000, 12)
    assert u.min() >= 0 and u.max() < 1
    assert stats.kstest(u, "uniform").pvalue > 1e-3 and stats.kstest(z, "norm").pvalue > 1e-3
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 4e-3 and abs(np.corrcoef(z[::2], z[1::2])[0, 1]) < 5e-3


# ------------------------------------------------------------------------------------------------------------- in kernels


@lend.kernel
def composed(x: Ref[f64, N], m: i64):
    y = A.compact_if(x, lambda v: v > 0)
    sums = A.scan(y, exclusive=True)
    counts = A.histogram(y, m, 0.0, 100.0)
    noise = A.uniform(m, 3)
    kept = A.compact(sums, y)
    return y, sums, counts, noise, kept, A.reduce(y), A.reduce(y, times, 1.0), A.reduce(counts, max)


def test_inside_kernels():
    for run, n in ((composed, 5000), (composed.py, 60)):
        x = numbers("f8", n)
        positive = x[x > 0]
        y, sums, counts, noise, kept, total, product, most = run(x, 11)
        assert np.array_equal(y, positive) and np.array_equal(noise, A.uniform(11, 3))
        np.testing.assert_allclose(sums, np.cumsum(positive) - positive, rtol=1e-9, atol=1e-9)
        assert np.array_equal(counts, np.histogram(positive, 11, (0.0, 100.0))[0]) and most == counts.max()
        assert np.array_equal(kept, sums) and total == pytest.approx(positive.sum())
        with np.errstate(over="ignore"):
            assert product == pytest.approx(np.prod(positive))


def test_bad_arguments():
    x = np.zeros(3)
    with pytest.raises(lend.ArgumentError, match=r"reduce: x must be an array of .*complex numbers or bools, not of <U1"):
        A.reduce(np.array(["a"]))
    with pytest.raises(lend.ArgumentError, match=r"scan: 'one' is no number of float64"):
        A.scan(x, identity="one")
    with pytest.raises(lend.ShapeError, match=r"compact: x has 3 elements, and mask 2"):
        A.compact(x, x[:2])
    with pytest.raises(lend.ArgumentError, match=r"histogram: bins must be at least 1, not 0"):
        A.histogram(x, 0)
    with pytest.raises(lend.ArgumentError, match=r"histogram: low must not exceed high"):
        A.histogram(x, 3, 2.0, 1.0)
    with pytest.raises(lend.ArgumentError, match=r"uniform: n must be an int, not 1.5"):
        A.uniform(1.5)
    with pytest.raises(lend.ArgumentError, match=r"normal: seed must be at least 0, not -1"):
        A.normal(3, -1)
    with pytest.raises(lend.CompileError):
        A.reduce(x, lambda a, b: a.nothing)


def test_what_is_proved():
    """Folds and scans keep no test and take nothing on trust; compaction says what it takes on trust."""
    for late, arguments in (
        (folding.reduce_kernel, (np.zeros(9), times, 1.0)),
        (folding.scan_kernel, (np.zeros(9), times, False, 1.0)),
        (selecting.compact_kernel, (np.zeros(9), np.zeros(9, bool))),
    ):
        assert late.kernel.proofs(*arguments).counts.keys() <= {"proved", "assumed"}
    for late in (folding.reduce_kernel, folding.scan_kernel):
        assert late.kernel.proofs(np.zeros(9), times, *([False] if late is folding.scan_kernel else []), 1.0).counts.keys() == {
            "proved"
        }
