"""Index arrays that the loop which reads them tests as it goes: the errors of tests beforehand, and nothing seems to have run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from harness import threads
from scripts import run_script

import lend
from lend import Index, Mut, Offsets, Out, Ref, f64, i16, i32, i64, u8
from lend.checks.read_whole import read_whole
from lend.dims import K, M, N
from lend.driver.pipeline import run
from lend.plan.regions import plan

PART = 300


class RowEnds(lend.Dim):
    equals = K + 1


@lend.kernel
def histogram(bins: Ref[Index[M, i32], N], counts: Out[i64, M]):
    parts = lend.zeros(i64, lend.cdiv(N, PART), M)
    for p in lend.grid(lend.cdiv(N, PART)):
        for k in range(PART * p, min(PART * (p + 1), N)):
            parts[p, bins[k]] += 1
    for b in lend.grid(M):
        total = i64(0)
        for p in range(lend.cdiv(N, PART)):
            total += parts[p, b]
        counts[b] = total


@lend.kernel
def two_at_once(first: Ref[Index[M], N], second: Ref[Index[16, u8], N], weights: Ref[f64, N], table: Mut[f64, M, 16]):
    parts = lend.zeros(f64, lend.cdiv(N, PART), M, 16)
    for p in lend.grid(lend.cdiv(N, PART)):
        for k in range(PART * p, min(PART * (p + 1), N)):
            a, b = first[k], second[k]
            if weights[k] > 0.0:
                parts[p, a, b] += weights[k]
    for a, b in lend.grid(M, 16):
        for p in range(lend.cdiv(N, PART)):
            table[a, b] += parts[p, a, b]


@lend.kernel
def rows_of(rows: Ref[Offsets[N], RowEnds], at: Ref[Index[M, i16], N], first: Ref[i64, K], counts: Out[i64, M]):
    parts = lend.zeros(i64, K, M)
    for r in lend.grid(K):
        for k in range(rows[r], rows[r + 1]):
            parts[r, at[k]] += 1
    for b in lend.grid(M):
        total = i64(0)
        for r in range(K):
            total += parts[r, b] + first[r]
        counts[b] = total


@lend.kernel
def reads_under_a_condition(bins: Ref[Index[M, i32], N], weights: Ref[f64, N], counts: Out[f64, M]):
    parts = lend.zeros(f64, lend.cdiv(N, PART), M)
    for p in lend.grid(lend.cdiv(N, PART)):
        for k in range(PART * p, min(PART * (p + 1), N)):
            if weights[k] > 0.0:
                parts[p, bins[k]] += weights[k]
    for b in lend.grid(M):
        total = 0.0
        for p in range(lend.cdiv(N, PART)):
            total += parts[p, b]
        counts[b] = total


@lend.kernel
def writes_what_the_caller_sees(bins: Ref[Index[M, i32], N], counts: Mut[i64, Literal[1], M]):
    for p in lend.grid(1):
        for k in range(N):
            counts[p, bins[k]] += 1


@lend.kernel
def something_before(bins: Ref[Index[M, i32], N], counts: Mut[i64, M]):
    parts = lend.zeros(i64, lend.cdiv(N, PART), M)
    for b in lend.grid(M):
        counts[b] = 0
    for p in lend.grid(lend.cdiv(N, PART)):
        for k in range(PART * p, min(PART * (p + 1), N)):
            parts[p, bins[k]] += 1
    for b in lend.grid(M):
        for p in range(lend.cdiv(N, PART)):
            counts[b] += parts[p, b]


@lend.kernel
def not_all_of_it(bins: Ref[Index[M, i32], N], counts: Out[i64, M]):
    parts = lend.zeros(i64, N // PART, M)
    for p in lend.grid(N // PART):
        for k in range(PART * p, PART * (p + 1)):
            parts[p, bins[k]] += 1
    for b in lend.grid(M):
        total = i64(0)
        for p in range(N // PART):
            total += parts[p, b]
        counts[b] = total


@lend.kernel
def length_from_temporaries(bins: Ref[Index[M, i32], N], counts: Out[i64, M]):
    parts = lend.zeros(i64, lend.cdiv(N, PART), M)
    for p in lend.grid(lend.cdiv(N, PART)):
        for k in range(PART * p, min(PART * (p + 1), N)):
            parts[p, bins[k]] += 1
        for k in range(min(parts[p, 0], M) if M > 0 else 0):
            parts[p, k] += 1
    for b in lend.grid(M):
        counts[b] = parts[0, b] if N > 0 else 0


@lend.kernel
def carries(bins: Ref[Index[M, i32], N], counts: Out[i64, M]):
    parts = lend.zeros(i64, lend.cdiv(N, PART), M)
    for p in lend.grid(lend.cdiv(N, PART)):
        last = i64(0)
        for k in range(PART * p, min(PART * (p + 1), N)):
            parts[p, bins[k]] += last
            last += 1
    for b in lend.grid(M):
        total = i64(0)
        for p in range(lend.cdiv(N, PART)):
            total += parts[p, b]
        counts[b] = total


def looked_at(kernel: Any) -> list[str | None]:
    """The arrays that a kernel's first loop tests."""
    compilation = run(next(iter(kernel.compilations())), until="schedule")
    assert compilation.scheduled is not None and compilation.judgement is not None
    return [value.name for value in plan(compilation.scheduled, 64, read_whole(compilation.judgement)).tested]


def test_which_arrays_a_loop_tests() -> None:
    assert looked_at(histogram) == ["bins"]
    assert looked_at(two_at_once) == ["first", "second"]
    assert looked_at(rows_of) == ["rows", "at"]


def test_what_is_tested_beforehand() -> None:
    assert looked_at(reads_under_a_condition) == looked_at(not_all_of_it) == []
    assert looked_at(writes_what_the_caller_sees) == looked_at(something_before) == []
    assert looked_at(length_from_temporaries) == looked_at(carries) == []


def error_of(kernel: Any, *arguments: Any) -> str:
    with pytest.raises(lend.BoundsError) as caught:
        kernel(*arguments)
    assert isinstance(caught.value, IndexError)
    return f"{caught.value} {caught.value.array} {caught.value.index} {caught.value.size}"


def outcome(kernel: Any, count: int, *arguments: np.ndarray) -> None:
    """A wrong index gives the error of a test beforehand, and leaves all arrays as they are."""
    before = [argument.copy() for argument in arguments]
    with threads(count):
        native = error_of(kernel, *arguments)
    lend.config.native = False
    try:
        assert error_of(kernel, *arguments) == native
    finally:
        lend.config.native = True
    for argument, old in zip(arguments, before, strict=True):
        assert argument.tobytes() == old.tobytes()


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("n", [1, 63, 64, 65, 300, 301, 5000])
def test_counts_and_wrong_indices_at_any_place(n: int, count: int) -> None:
    bins, counts = np.random.default_rng(n).integers(0, 50, n).astype(np.int32), np.full(50, 7)
    with threads(count):
        for _ in range(3):  # Python binds the first call, the entry point the later ones
            histogram(bins, counts)
    assert (counts == np.bincount(bins, minlength=50)).all()
    for place in sorted({0, n // 2, min(n - 1, 63), n - 1}):
        for wrong in (50, -1, 2**31 - 1, -(2**31)):
            bad = bins.copy()
            bad[place] = wrong
            outcome(histogram, count, bad, counts)
    histogram(bins, counts)
    assert (counts == np.bincount(bins, minlength=50)).all()


@pytest.mark.parametrize("n", [1, 64, 299, 1000])
def test_two_arrays_in_one_loop(n: int) -> None:
    rng = np.random.default_rng(n)
    first, second = rng.integers(0, 9, n), rng.integers(0, 16, n).astype(np.uint8)
    weights, table = rng.integers(-3, 9, n).astype(np.float64), np.zeros((9, 16))
    for _ in range(3):
        table[:] = 0.0
        two_at_once(first, second, weights, table)
    expected = np.zeros((9, 16))
    np.add.at(expected, (first, second), np.maximum(weights, 0.0))
    assert (table == expected).all()
    for array, wrong in ((first, 9), (first, -(2**63)), (second, 16), (second, 255)):
        for place in (0, n - 1):
            old, array[place] = array[place], wrong
            outcome(two_at_once, 2, first, second, weights, table)
            array[place] = old


def test_no_value_is_an_index_below_nothing() -> None:
    histogram(np.zeros(0, np.int32), np.zeros(0, np.int64))
    for _ in range(3):
        assert "there are none" in error_of(histogram, np.zeros(70, np.int32), np.zeros(0, np.int64))


def test_gaps_between_elements_are_tested_beforehand() -> None:
    bins, counts = np.random.default_rng(0).integers(0, 50, 2000).astype(np.int32), np.zeros(50, np.int64)
    histogram(bins[::2], counts)
    assert (counts == np.bincount(bins[::2], minlength=50)).all()
    bins[0] = 50
    outcome(histogram, 2, bins[::2], counts)


PROGRAM = """
import numpy as np, lend
from lend import Index, Out, Ref, i32, i64
from lend.dims import M, N

@lend.kernel
def histogram(bins: Ref[Index[M, i32], N], counts: Out[i64, M]):
    parts = lend.zeros(i64, lend.cdiv(N, 100), M)
    for p in lend.grid(lend.cdiv(N, 100)):
        for k in range(100 * p, min(100 * (p + 1), N)):
            parts[p, bins[k]] += 1
    for b in lend.grid(M):
        total = i64(0)
        for p in range(lend.cdiv(N, 100)):
            total += parts[p, b]
        counts[b] = total

bins, counts = np.arange(777, dtype=np.int32) % 7, np.zeros(7, np.int64)
for _ in range(3):
    histogram(bins, counts)
print(*counts)
bins[700] = 7
for _ in range(2):
    counts[:] = 5
    try:
        histogram(bins, counts)
    except lend.BoundsError as error:
        print(str(error).partition("but ")[2], *counts)
"""


def test_another_process_that_finds_the_code_tests_too(tmp_path: Path) -> None:
    said = [run_script(tmp_path, PROGRAM, LEND_CACHE="1", LEND_CACHE_DIR=str(tmp_path / "kept")) for _ in range(2)]
    wrong = "bins[700] is 7 5 5 5 5 5 5 5"
    assert [text.splitlines() if isinstance(text, str) else text for text in said] == [["111 " * 6 + "111", wrong, wrong]] * 2
