"""Sparse matrices whose loop over rows tests offsets and indices as it goes: what is read, the errors, and the results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from harness import threads

import lend
from lend import Index, Mut, Offsets, Out, Ref, f32, f64, i16, i32, i64, u8
from lend.checks.read_whole import read_whole
from lend.dims import K, M, N
from lend.driver.pipeline import run
from lend.plan.regions import plan


class Values(lend.Dim): ...


class RowEnds(lend.Dim):
    equals = M + 1


@lend.kernel
def multiply(
    rows: Ref[Offsets[Values], RowEnds],
    columns: Ref[Index[N, i32], Values],
    values: Ref[f64, Values],
    x: Ref[f64, N],
    y: Out[f64, M],
):
    for i in lend.grid(M):
        total = 0.0
        for k in range(rows[i], rows[i + 1]):
            total += values[k] * x[columns[k]]
        y[i] = total


@lend.kernel
def small_offsets(
    rows: Ref[Offsets[Values, i16], K], columns: Ref[Index[N], Values], values: Ref[f32, Values], x: Ref[f32, N], y: Out[f64, K]
):
    for i in lend.grid(K):
        y[i] = -1.0
    for i in lend.grid(K - 1):
        total = f32(0)
        for k in range(rows[i], rows[i + 1]):
            total += values[k] * x[columns[k]]
        y[i] = total


@lend.kernel
def offsets_of_many(
    rows: Ref[Offsets[Values, i32], K], columns: Ref[Index[N, u8], Values], x: Ref[f32, N], low: Out[f32, M], high: Out[f32, M]
):
    assert K == M + 1
    for i in lend.grid(K - 1):
        least, most = f32(1e9), f32(-1e9)
        for k in range(rows[i], rows[i + 1]):
            least = min(least, x[columns[k]])
            most = max(most, x[columns[k]])
        low[i] = least
        high[i] = most


@lend.kernel
def two_of_a_row(
    rows: Ref[Offsets[Values], RowEnds],
    left: Ref[Index[N, i32], Values],
    right: Ref[Index[N, i16], Values],
    x: Ref[f64, N],
    y: Out[f64, M],
    z: Out[f64, M],
):
    for i in lend.grid(M):
        total = 0.0
        for k in range(rows[i], rows[i + 1]):
            if x[left[k]] > 0.0:
                total += x[left[k]] * x[right[k]]
        again = 1.0
        for k in range(rows[i], rows[i + 1]):
            again *= x[right[k]]
        y[i] = total
        z[i] = again


@lend.kernel
def not_the_first_row(rows: Ref[Offsets[Values], RowEnds], columns: Ref[Index[N], Values], x: Ref[f64, N], y: Mut[f64, M]):
    for i in lend.grid((1, M)):
        total = 0.0
        for k in range(rows[i], rows[i + 1]):
            total += x[columns[k]]
        y[i] = total


@lend.kernel
def what_was_there(rows: Ref[Offsets[Values], RowEnds], columns: Ref[Index[N], Values], x: Ref[f64, N], y: Mut[f64, M]):
    for i in lend.grid(M):
        total = 0.0
        for k in range(rows[i], rows[i + 1]):
            total += x[columns[k]]
        y[i] += total


@lend.kernel
def counts_as_well(rows: Ref[Offsets[Values], RowEnds], columns: Ref[Index[N], Values], x: Ref[f64, N], y: Out[f64, M]):
    for i in lend.grid(M):
        total, count = 0.0, i64(0)
        for k in range(rows[i], rows[i + 1]):
            total += x[columns[k]]
            count += 1
        y[i] = total / f64(count)


@lend.kernel
def decides(rows: Ref[Offsets[Values], RowEnds], columns: Ref[Index[N], Values], x: Ref[f64, N], y: Out[f64, M]):
    for i in lend.grid(M):
        total = 0.0
        for k in range(rows[i], rows[i + 1]):
            if total < 4.0:
                total += x[columns[k]]
        y[i] = total


@lend.kernel
def another_row(rows: Ref[Offsets[Values], RowEnds], columns: Ref[Index[N], Values], x: Ref[f64, N], y: Out[f64, M]):
    for i in lend.grid(M):
        total = 0.0
        for k in range(rows[i], rows[i + 1]):
            total += x[columns[k]]
        y[i] = total + f64(rows[0])


@lend.kernel
def the_index_before(rows: Ref[Offsets[Values], RowEnds], columns: Ref[Index[N], Values], x: Ref[f64, N], y: Out[f64, M]):
    for i in lend.grid(M):
        total = 0.0
        for k in range(rows[i], rows[i + 1]):
            total += x[columns[k]] - (x[columns[k - 1]] if k > 0 else 0.0)
        y[i] = total


@lend.kernel
def rows_under_a_condition(
    rows: Ref[Offsets[Values], RowEnds], columns: Ref[Index[N], Values], x: Ref[f64, N], use: Ref[f64, M], y: Out[f64, M]
):
    for i in lend.grid(M):
        total = 0.0
        if use[i] > 0.0:
            for k in range(rows[i], rows[i + 1]):
                total += x[columns[k]]
        y[i] = total


@lend.kernel
def indices_of_another_array(
    rows: Ref[Offsets[Values], RowEnds], columns: Ref[Index[N], K], weights: Ref[f64, Values], x: Ref[f64, N], y: Out[f64, M]
):
    for i in lend.grid(M):
        total = 0.0
        for k in range(rows[i], rows[i + 1]):
            total += weights[k] * (x[columns[k]] if k < K else 1.0)
        y[i] = total


def looked_at(kernel: Any) -> list[str | None]:
    """The arrays that a kernel's first loop tests."""
    compilation = run(next(iter(kernel.compilations())), until="schedule")
    assert compilation.scheduled is not None and compilation.judgement is not None
    return [value.name for value in plan(compilation.scheduled, 64, read_whole(compilation.judgement)).tested]


def test_which_arrays_a_loop_tests() -> None:
    assert looked_at(multiply) == looked_at(offsets_of_many) == ["rows", "columns"]
    assert looked_at(two_of_a_row) == ["rows", "left", "right"]


@pytest.mark.parametrize(
    "kernel",
    [
        small_offsets, not_the_first_row, what_was_there, counts_as_well, decides, another_row, the_index_before,
        rows_under_a_condition, indices_of_another_array,
    ],
    ids=lambda kernel: kernel.__name__,
)  # fmt: skip
def test_what_is_tested_beforehand(kernel: Any) -> None:
    assert looked_at(kernel) == []


# ----------------------------------------------------------------------------------------------------------------- results


def matrix(seed: int, rows: int, columns: int, longest: int, skipped: tuple[int, int] = (0, 0)) -> list[np.ndarray]:
    """A sparse matrix, with elements before the first row and behind the last one; a vector, and room for the product."""
    rng = np.random.default_rng(seed)
    starts = np.zeros(rows + 1, np.int64)
    np.cumsum(rng.integers(0, longest + 1, rows), out=starts[1:])
    starts += skipped[0]
    count = int(starts[-1]) + skipped[1]
    indices = rng.integers(0, columns, count).astype(np.int32)
    return [starts, indices, rng.standard_normal(count), rng.standard_normal(columns), np.full(rows, np.nan)]


def products(starts: np.ndarray, columns: np.ndarray, values: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The exact order, rounded at each operation or fused: within a few units of the terms' sizes."""
    terms = values * x[columns]
    return np.array([sum(terms[a:b].tolist()) for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)])


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("longest", [0, 1, 3, 4, 9, 70])
@pytest.mark.parametrize("skipped", [(0, 0), (5, 0), (0, 1), (4, 300)])
def test_products_of_rows_of_all_lengths(longest: int, skipped: tuple[int, int], count: int) -> None:
    arguments = matrix(longest, 700, 90, longest, skipped)
    with threads(count):
        for _ in range(3):  # Python binds the first call, the entry point the later ones
            arguments[-1][:] = np.nan
            multiply(*arguments)
            assert np.allclose(arguments[-1], products(*arguments[:-1]), rtol=1e-12, atol=1e-12)


def test_far_elements_and_near_ones_are_added_in_one_order() -> None:
    arguments = matrix(1, 3000, 500, 33)
    multiply(*arguments)
    near, far = arguments[-1].copy(), np.zeros(1 << 23)
    far[:500] = arguments[3]
    for count in (1, 2):
        with threads(count):
            multiply(*arguments[:3], far, arguments[-1])
        assert arguments[-1].tobytes() == near.tobytes()


def test_several_loops_and_arrays_of_a_row() -> None:
    starts, left, _, x, y = matrix(2, 300, 60, 11, (3, 2))
    right, z = left[::-1].astype(np.int16), y.copy()
    for _ in range(3):
        two_of_a_row(starts, left, right, x, y, z)
    chosen = np.where(x[left] > 0.0, x[left] * x[right], 0.0)
    assert np.allclose(y, products(starts, left, chosen, np.ones(60)), rtol=1e-12, atol=1e-12)
    bounds = list(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True))
    assert np.allclose(z, [np.prod(x[right[a:b]]) for a, b in bounds], rtol=1e-12)
    for array in (left, right):
        for place in (0, 2, 700, array.size - 1):
            old, array[place] = array[place], 60
            refused(two_of_a_row, starts, left, right, x, y, z)
            array[place] = old


def test_offsets_of_another_width() -> None:
    starts, indices, _, x, _ = matrix(3, 200, 40, 7)
    starts, indices, x = starts.astype(np.int32), indices.astype(np.uint8), x.astype(np.float32)
    low, high = np.zeros(200, np.float32), np.zeros(200, np.float32)
    for _ in range(3):
        offsets_of_many(starts, indices, x, low, high)
    bounds = list(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True))
    assert low.tolist() == [min([np.float32(1e9), *x[indices[a:b]]]) for a, b in bounds]
    assert high.tolist() == [max([np.float32(-1e9), *x[indices[a:b]]]) for a, b in bounds]
    for wrong in (-1, 2**31 - 1, -(2**31)):
        bad = starts.copy()
        bad[77] = wrong
        refused(offsets_of_many, bad, indices, x, low, high)


def test_no_rows() -> None:
    good = matrix(4, 0, 5, 3, (0, 6))
    for _ in range(3):
        multiply(*good)
    for place in (0, 5):
        bad = [argument.copy() for argument in good]
        bad[1][place] = 5
        refused(multiply, *bad)
    empty = (
        np.zeros(0, np.int32),
        np.zeros(0, np.uint8),
        np.zeros(3, np.float32),
        np.zeros(0, np.float32),
        np.zeros(0, np.float32),
    )
    with pytest.raises(lend.ContractError):
        offsets_of_many(*empty)


# ------------------------------------------------------------------------------------------------------------------ errors


def refused(kernel: Any, *arguments: Any) -> None:
    """A call says what a test beforehand says; nothing but what it was lent as `Out` is touched, and it runs again after."""

    def said() -> str:
        with pytest.raises(lend.BoundsError) as caught:
            kernel(*arguments)
        return f"{caught.value} {caught.value.array} {caught.value.index} {caught.value.size}"

    before = [argument.tobytes() for argument in arguments if argument.dtype != np.float64 and argument.dtype != np.float32]
    native = said()
    lend.config.native = False
    try:
        assert said() == native
    finally:
        lend.config.native = True
    assert [a.tobytes() for a in arguments if a.dtype != np.float64 and a.dtype != np.float32] == before


def wrong_offsets(starts: np.ndarray, values: int) -> Iterator[tuple[int, int]]:
    """Places and what must not stand there."""
    last = starts.size - 1
    yield from ((place, -1) for place in (0, last // 2, last))
    yield from ((place, values + 1) for place in (0, last // 2, last))
    yield from ((last // 2, -(2**63)), (last // 2, 2**63 - 1), (last, 2**62))
    yield from ((place, int(starts[place - 1]) - 1) for place in (1, last // 2, last) if starts[place - 1] > 0)


@pytest.mark.parametrize("columns", [90, 1 << 18])
@pytest.mark.parametrize("skipped", [(0, 0), (5, 3)])
@pytest.mark.parametrize("count", [1, 3])
def test_wrong_elements_at_any_place(count: int, skipped: tuple[int, int], columns: int) -> None:
    good = matrix(7, 400, columns, 9, skipped)
    with threads(count):
        for _ in range(3):
            multiply(*good)
        expected = good[-1].copy()
        starts, indices = good[0], good[1]
        for place in {0, 4, 5, int(starts[1]), indices.size // 2, int(starts[-2]), indices.size - 4, indices.size - 1}:
            for wrong in (columns, -1, 2**31 - 1, -(2**31)):
                bad = [argument.copy() for argument in good]
                bad[1][place] = wrong
                refused(multiply, *bad)
        for place, wrong in wrong_offsets(starts, indices.size):
            bad = [argument.copy() for argument in good]
            bad[0][place] = wrong
            refused(multiply, *bad)
        multiply(*good)
    assert good[-1].tobytes() == expected.tobytes()


def test_rows_of_wrong_offsets_are_left_out() -> None:
    good = matrix(7, 400, 90, 9)
    multiply(*good)
    multiply(*good)
    count = good[1].size
    longer = [np.zeros(count + 5000, array.dtype) for array in good[1:3]]  # what lies behind would do as indices
    for array, part in zip(longer, good[1:3], strict=True):
        array[:count] = part
    starts, y = good[0].copy(), np.full(400, 5.0)
    starts[200] = count + 1000
    with pytest.raises(lend.BoundsError, match=f"rows.200. is {count + 1000}"):
        multiply(starts, longer[0][:count], longer[1][:count], good[3], y)
    assert y[199:201].tolist() == [5.0, 5.0]


def test_what_the_first_error_is() -> None:
    good = matrix(8, 50, 20, 6)
    multiply(*good)
    multiply(*good)
    changes: list[tuple[int, int, int, str]] = [
        (1, 30, 20, "of indices below N = 20, but columns[30] is 20"),
        (1, 30, -3, "but columns[30] is -3: negative ones do not count from the end"),
        (0, 10, 10**6, "rows[10] is 1000000"),
    ]
    for argument, place, wrong, text in changes:
        bad = [array.copy() for array in good]
        bad[argument][place] = wrong
        with pytest.raises(lend.BoundsError) as caught:
            multiply(*bad)
        assert text in str(caught.value)


@pytest.mark.parametrize("stretch", [lambda a: np.repeat(a, 2)[::2], lambda a: a[::-1].copy()[::-1]])
def test_arrays_with_gaps_are_tested_beforehand(stretch: Callable[[np.ndarray], np.ndarray]) -> None:
    good = matrix(9, 60, 30, 8)
    for position in (0, 1):
        arguments = [stretch(a) if number == position else a for number, a in enumerate(good)]
        for _ in range(3):
            multiply(*arguments)
        assert np.allclose(good[-1], products(*good[:-1]), rtol=1e-12, atol=1e-12)
        bad = [a.copy() for a in good]
        bad[position][7] = -1
        refused(multiply, *(stretch(a) if number == position else a for number, a in enumerate(bad)))
