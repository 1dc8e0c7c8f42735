"""Which loops go over the rows of a matrix together."""

from __future__ import annotations

from typing import Any, Literal

from planned import region_of

import lend
from lend import Mut, Out, Ref, f16, f64, i32
from lend.dims import K, M, N
from lend.plan.streams import Unstreamed


@lend.kernel
def columns(a: Ref[f64, N, M], y: Out[f64, M]):
    for j in lend.grid(M):
        s = 0.0
        for i in range(N):
            s += a[i, j]
        y[j] = s


@lend.kernel
def rows(a: Ref[f64, M, N], y: Out[f64, M]):
    for j in lend.grid(M):
        s = 0.0
        for i in range(N):
            s += a[j, i]
        y[j] = s


@lend.kernel
def window(a: Ref[f64, N], w: Ref[f64, K], y: Out[f64, M]):
    assert M + K <= N
    for j in lend.grid(M):
        s = 0.0
        for k in range(K):
            s += w[k] * a[j + k]
        y[j] = s


@lend.kernel
def few(a: Ref[f64, Literal[4], M], y: Out[f64, M]):
    for j in lend.grid(M):
        s = 0.0
        for i in range(4):
            s += a[i, j]
        y[j] = s


@lend.kernel
def in_two_dimensions(a: Ref[f64, N, M], b: Ref[f64, K, N], y: Out[f64, K, M]):
    for k, j in lend.grid(K, M):
        s = 0.0
        for i in range(N):
            s += a[i, j] * b[k, i]
        y[k, j] = s


@lend.kernel
def writes_in_the_loop(a: Ref[f64, N, M], y: Mut[f64, N, M]):
    for j in lend.grid(M):
        s = 0.0
        for i in range(N):
            s += a[i, j]
            y[i, j] = s


@lend.kernel
def of_any_length(a: Ref[f64, N, M], y: Out[f64, M]):
    for j in lend.grid(M):
        s = 0.0
        for i in range(min(j, N)):
            s += a[i, j]
        y[j] = s


@lend.kernel
def until(a: Ref[f64, N, M], y: Out[f64, M]):
    for j in lend.grid(M):
        s = 0.0
        for i in range(N):
            if s > 9.0:
                break
            s += a[i, j]
        y[j] = s


@lend.kernel
def from_anywhere(a: Ref[f64, N, M], at: Ref[lend.Index[N, i32], K], y: Out[f64, M]):
    for j in lend.grid(M):
        s = 0.0
        for k in range(K):
            s += a[at[k], j]
        y[j] = s


@lend.kernel
def halves(a: Ref[f16, N, M], y: Out[f16, M]):
    for j in lend.grid(M):
        s = f16(0)
        for i in range(N):
            s += a[i, j]
        y[j] = s


def goes_by_rows(kernel: Any) -> bool:
    region = region_of(kernel)
    assert (region.by_rows is None) == (region.unstreamed is not Unstreamed.BY_ROWS)
    return region.by_rows is not None


def test_sums_of_columns_do() -> None:
    assert goes_by_rows(columns)
    found = region_of(columns).by_rows
    assert found is not None and [load.array.name for load in found.loads] == ["a"] and found.width % 64 == 0


def test_what_reads_along_a_row_or_in_an_order_of_its_own_does_not() -> None:
    assert not any(map(goes_by_rows, (rows, window, from_anywhere)))


def test_short_loops_and_those_of_several_indices_do_not() -> None:
    assert not any(map(goes_by_rows, (few, in_two_dimensions)))


def test_what_writes_inside_or_ends_at_different_steps_does_not() -> None:
    assert not any(map(goes_by_rows, (writes_in_the_loop, of_any_length, until)))


def test_what_memory_holds_in_another_form_than_registers_does_not() -> None:
    assert not goes_by_rows(halves)
