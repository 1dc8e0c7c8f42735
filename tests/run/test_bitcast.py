"""`lend.bitcast`: the bits of a number as a number of another type."""

import ml_dtypes
import numpy as np
import pytest
from harness import LAYOUTS, check

import lend
from lend import Out, Ref, T, U, bf16, f16, f32, f64, i16, i32, i64, u16, u32, u64
from lend.dims import N

NUMBERS = {
    f16: np.float16, bf16: ml_dtypes.bfloat16, f32: np.float32, f64: np.float64, i16: np.int16, i32: np.int32, i64: np.int64,
    u16: np.uint16, u32: np.uint32, u64: np.uint64,
}  # fmt: skip
PAIRS = [(a, b) for a in NUMBERS for b in NUMBERS if np.dtype(NUMBERS[a]).itemsize == np.dtype(NUMBERS[b]).itemsize]


@lend.kernel
def reinterpret(x: Ref[T, N], y: Out[U, N]):
    for i in lend.grid(N):
        y[i] = lend.bitcast(x[i], y.dtype)


@lend.kernel
def halve(x: Ref[f64, N], y: Out[f64, N]):
    """One less in the exponent, for numbers that are neither zero nor small."""
    for i in lend.grid(N):
        y[i] = lend.bitcast(lend.bitcast(x[i], i64) - (1 << 52), f64)


@lend.kernel
def of_an_index(y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = lend.bitcast(i, f64)


@pytest.mark.parametrize(("source", "wanted"), PAIRS, ids=[f"{a}-{b}" for a, b in PAIRS])
def test_bits_stay(source, wanted):
    def arguments(rng, n):
        bits = rng.integers(0, 256, n * np.dtype(NUMBERS[source]).itemsize).astype(np.uint8)
        numbers = bits.view(NUMBERS[source])
        if np.isnan(numbers.astype(np.float64)).any():  # NaNs other than the usual one may become it
            numbers[np.isnan(numbers.astype(np.float64))] = 1
        with np.errstate(all="ignore"):
            as_target = numbers.view(NUMBERS[wanted]).astype(np.float64)
        numbers[np.isnan(as_target)] = 0
        return numbers, np.zeros(n, NUMBERS[wanted])

    def reference(x, y):
        y[...] = x.view(NUMBERS[wanted])

    check(reinterpret, reference, arguments, sizes=(0, 1, 17, 1000), layouts=("C", "mixed"), strict=True)


def test_bits_are_computed_with():
    def reference(x, y):
        y[...] = x / 2

    check(halve, reference, lambda rng, n: (rng.normal(size=n) + 9, np.zeros(n)), rtol=0, layouts=LAYOUTS)


def test_an_index_is_an_i64():
    y = np.ones(3)
    of_an_index(y)
    assert y.view(np.int64).tolist() == [0, 1, 2]


def test_special_values():
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324])
    for run in (reinterpret, reinterpret.py):
        y = np.zeros(6, np.uint64)
        run(x, y)
        assert (y == x.view(np.uint64)).all()


def test_vectors_of_bits_are_as_wide_as_others():
    loop = reinterpret.explain(np.zeros(1000), np.zeros(1000, np.uint64)).loops[0]
    assert loop.vector is not None and loop.vector.elements > 1


def test_widths_must_agree():
    with pytest.raises(lend.CompileError, match=r"the bits of `f64` are no `u32`") as caught:

        @lend.kernel
        def narrowed(x: f64):
            return lend.bitcast(x, u32)

    assert "cast it: `u32(x)`" in str(caught.value)
    with pytest.raises(lend.CompileError, match=r"`lend.bitcast` gives an integer or a float"):

        @lend.kernel
        def no_type(x: f64):
            return lend.bitcast(x, x)
