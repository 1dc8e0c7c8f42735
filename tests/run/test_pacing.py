"""Sums over memory that are held back: the same bits as the others, for all lengths, whatever the elements are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness import threads

import lend
from lend import Ref, f32, f64
from lend.dims import M, N
from lend.targets.cpu.target import cpu


def kernels() -> tuple[Any, Any, Any]:
    """Fresh ones."""

    @lend.kernel
    def total(x: Ref[lend.T, N]) -> lend.T:
        s = x[0] - x[0]
        for i in lend.grid(N):
            s += x[i]
        return s

    @lend.kernel
    def product_of_shifted(x: Ref[f64, N]) -> f64:
        s = 1.0
        for i in lend.grid((1, N)):
            s *= x[i] * 0.5 + 0.5
        return s

    @lend.kernel
    def squares(x: Ref[f32, N, M]) -> f32:
        s = f32(0)
        for i, j in lend.grid(N, M):
            s += x[i, j] * x[i, j]
        return s

    return total, product_of_shifted, squares


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> tuple[tuple[Any, Any, Any], tuple[Any, Any, Any]]:
    """Kernels as they are, and some all of whose launches exceed the caches; chunks are small."""
    for module in ("lend.plan.regions", "lend.lower.chunks"):
        monkeypatch.setattr(f"{module}.CHUNK_WORK", 700)
    plain = kernels()
    for kernel, argument in zip(plain, (np.ones(9), np.ones(9), np.ones((3, 3), np.float32)), strict=True):
        kernel(argument)
        kernel(argument.astype(np.float32) if kernel is plain[0] else argument)
    monkeypatch.setattr("lend.lower.host.LAST_CACHE", 0)  # the level that has no bytes
    return plain, kernels()


LENGTHS = [1, 2, 63, 64, 65, 127, 2047, 2048, 2049, 2111, 6000, 20_011]


def elements(n: int) -> np.ndarray:
    """Of all sizes, negative zeros among them."""
    rng = np.random.default_rng(n)
    return rng.standard_normal(n) * 10.0 ** rng.integers(-9, 9, n) * rng.integers(0, 2, n)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", LENGTHS)
def test_sums_have_the_same_bits(both: Any, n: int, dtype: Any) -> None:
    (plain, *_), (paced, *_) = both
    x = elements(n).astype(dtype)
    if cpu().machine.vector_bytes == 64:  # with narrow vectors, the 64 lanes are not in registers
        assert "paced" in paced.lower(x).ir
    for count in (1, 2, 4):
        with threads(count):
            assert np.asarray(paced(x)).tobytes() == np.asarray(plain(x)).tobytes()


@pytest.mark.parametrize("n", LENGTHS[2:])
def test_what_stands_in_the_sum_before_goes_into_no_other(both: Any, n: int) -> None:
    """Infinities, NaN and negative zeros stay in their own lane."""
    (plain, *_), (paced, *_) = both
    for wrong in (np.inf, -np.inf, np.nan):
        for place in (1, n // 2, n - 1):  # the sum begins with the first one less itself
            x = elements(n)
            x[place] = wrong
            np.testing.assert_array_equal(paced(x), plain(x))
            np.testing.assert_array_equal(paced(x), wrong)
    assert np.asarray(paced(np.full(n, -0.0))).tobytes() == np.asarray(plain(np.full(n, -0.0))).tobytes()


@pytest.mark.parametrize("n", LENGTHS)
def test_products_and_boxes(both: Any, n: int) -> None:
    (_, product, squares), (paced_product, paced_squares) = both[0], both[1][1:]
    x = 1.0 + elements(n) / 1e12
    assert np.asarray(paced_product(x)).tobytes() == np.asarray(product(x)).tobytes()
    for columns in (1, 7, 64, 200):
        box = np.resize(elements(n), (n // columns + 1, columns)).astype(np.float32)
        assert np.asarray(paced_squares(box)).tobytes() == np.asarray(squares(box)).tobytes()


def test_two_arrays_a_store_and_a_minimum_are_not_held_back() -> None:
    @lend.kernel
    def dot(x: Ref[f64, N], y: Ref[f64, N]) -> f64:
        s = 0.0
        for i in lend.grid(N):
            s += x[i] * y[i]
        return s

    @lend.kernel
    def least(x: Ref[f64, N]) -> f64:
        s = 1e300
        for i in lend.grid(N):
            s = min(s, x[i])
        return s

    @lend.kernel
    def with_a_store(x: Ref[f64, N], y: lend.Mut[f64, N]) -> f64:
        s = 0.0
        for i in lend.grid(N):
            y[i] = x[i]
            s += x[i]
        return s

    for kernel in (dot, least, with_a_store):
        assert "paced" not in kernel.lower().ir
