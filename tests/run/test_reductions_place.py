"""arg-min and arg-max, whose lanes need not compare places: equal values, infinities, NaN and edges of groups and blocks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lend
from lend import Ref, f32, f64, i32, i64
from lend.dims import N


@lend.kernel
def first_smallest(x: Ref[f64, N]) -> tuple[f64, i64]:
    assert N > 0
    best = (x[0], 0)
    for i in lend.grid(N):
        best = min(best, (x[i], i))
    return best


@lend.kernel
def first_smallest_from_nowhere(x: Ref[f64, N]) -> tuple[f64, i64]:
    best = (f64(math.inf), i64(2**62))
    for i in lend.grid(N):
        best = min(best, (x[i], i))
    return best


@lend.kernel
def last_greatest(x: Ref[f32, N]) -> tuple[f32, i64]:
    assert N > 0
    best = (x[0], 0)
    for i in lend.grid(N):
        best = max(best, (x[i], i))
    return best


@lend.kernel
def every_third(x: Ref[i32, N]) -> tuple[i32, i64]:
    best = (i32(2**31 - 1), i64(2**62))
    for i in lend.grid((1, N, 3)):
        best = min(best, (x[i], i))
    return best


@lend.kernel
def two_at_once(x: Ref[f64, N]) -> tuple[f64, i64, f64, i64, f64]:
    assert N > 0
    low, high, total = (x[0], 0), (x[0], 0), 0.0
    for i in lend.grid(N):
        low = min(low, (x[i], i))
        high = max(high, (x[i], i))
        total += x[i]
    return low[0], low[1], high[0], high[1], total


@lend.kernel
def of_the_positive(x: Ref[f64, N]) -> tuple[f64, i64]:
    best = (f64(math.inf), i64(2**62))
    for i in lend.grid(N):
        if x[i] > 0:
            best = min(best, (x[i], i))
    return best


@lend.kernel
def downwards(x: Ref[f64, N]) -> tuple[f64, i64]:
    best = (f64(math.inf), i64(2**62))
    for i in lend.grid((N - 1, -1, -1)):
        best = min(best, (x[i], i))
    return best


@lend.kernel
def another_place(x: Ref[f64, N]) -> tuple[f64, i64]:
    best = (f64(math.inf), i64(2**62))
    for i in lend.grid(N):
        best = min(best, (x[i], 100 - i))
    return best


OTHERS = (of_the_positive, downwards, another_place)
SIZES = (1, 2, 7, 8, 63, 64, 65, 127, 128, 129, 192, 200, 257, 2047, 2048, 2049, 2111, 2176, 4097, 70_001)


def same(found: tuple[Any, ...], expected: tuple[Any, ...]) -> bool:
    return all(a == b or (a != a and b != b) for a, b in zip(found, expected, strict=True))


def with_value(value: float, *, rest: float = 1.0) -> Callable[[np.random.Generator, int], np.ndarray]:
    """Arrays of `rest`, with `value` at a few places."""

    def fill(rng: np.random.Generator, n: int) -> np.ndarray:
        x = np.full(n, rest)
        x[rng.integers(0, n, 3)] = value
        return x

    return fill


FILLS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "all infinite": lambda rng, n: np.full(n, np.inf),
    "all minus infinite": lambda rng, n: np.full(n, -np.inf),
    "all NaN": lambda rng, n: np.full(n, np.nan),
    "few values": lambda rng, n: rng.integers(0, 3, n).astype(float),
    "many values": lambda rng, n: rng.normal(size=n),
    "zeros of both signs": lambda rng, n: np.where(rng.integers(0, 2, n) == 0, 0.0, -0.0),
    "NaN among numbers": with_value(np.nan),
    "NaN among infinities": with_value(np.nan, rest=np.inf),
    "a number among infinities": with_value(2.0, rest=np.inf),
    "infinity among minus infinities": with_value(np.inf, rest=-np.inf),
    "falling": lambda rng, n: -np.arange(n, dtype=float),
    "rising": lambda rng, n: np.arange(n, dtype=float),
}


@pytest.mark.parametrize("fill", FILLS)
def test_the_place_is_the_one_that_python_finds(fill: str) -> None:
    rng = np.random.default_rng(7)
    for n in SIZES:
        x = FILLS[fill](rng, n)
        smallest = int(np.argmin(x))  # the first NaN, else the first of the smallest
        for kernel in (first_smallest, first_smallest_from_nowhere):
            assert same(kernel(x), (x[smallest], smallest)), (kernel, n)
        y = x.astype(np.float32)
        backwards = n - 1 - int(np.argmax(y[::-1]))
        assert same(last_greatest(y), (y[backwards], backwards)), n
        place = n - 1 - int(np.argmax(x[::-1]))
        assert same(two_at_once(x)[:4], (x[smallest], smallest, x[place], place)), n


@pytest.mark.parametrize("n", SIZES)
def test_places_further_apart_and_other_orders(n: int) -> None:
    rng = np.random.default_rng(n)
    z = rng.integers(0, 4, n).astype(np.int32)
    if n > 1:
        first = 1 + 3 * int(np.argmin(z[1::3]))
        assert every_third(z) == (z[first], first)
    x = rng.integers(-1, 3, n).astype(float)
    for kernel in OTHERS:
        assert same(kernel(x), kernel.py(x)), kernel


def test_the_greatest_integer_is_found_too() -> None:
    z = np.full(1000, 2**31 - 1, np.int32)
    assert every_third(z) == (2**31 - 1, 1)
