"""Which loads stay apart from the arithmetic that follows."""

from __future__ import annotations

from typing import Any

import lend
from lend import Out, Ref, f32, f64, i32, i64
from lend.dims import K, M, N
from lend.ir.typed import Load, Parallel, Region
from lend.plan.gathers import gathered_loads


def names(kernel: Any) -> list[str]:
    """The arrays that a kernel's gathered loads read."""
    compilation = next(iter(kernel.compilations()))
    found: list[str] = []

    def visit(region: Region, chosen: frozenset[Load]) -> None:
        for operation in region.operations:
            if isinstance(operation, Load) and operation in chosen:
                found.append(operation.array.name or "")
            for inner in operation.regions:
                visit(inner, gathered_loads(inner) if isinstance(operation, Parallel) else chosen)

    visit(compilation.kernel.body, frozenset())
    return found


@lend.kernel
def direct(at: Ref[i32, K], v: Ref[f64, K], x: Ref[f64, N], y: Out[f64, M]):
    for i in lend.grid(M):
        s = 0.0
        for k in range(K):
            s += v[k] * x[at[k] + i]
        y[i] = s


@lend.kernel
def through_a_branch(at: Ref[i64, K], x: Ref[f32, N], y: Out[f32, M]):
    for i in lend.grid(M):
        s = f32(0)
        for k in range(K):
            j = at[k]
            if j > i:
                s += x[j]
        y[i] = s


@lend.kernel
def whole_numbers(at: Ref[i32, K], x: Ref[i64, N], y: Out[i64, M]):
    for i in lend.grid(M):
        s = i64(0)
        for k in range(K):
            s += x[at[k]]
        y[i] = s


@lend.kernel
def outside_the_loop(at: Ref[i32, M], x: Ref[f64, N, K], y: Out[f64, M]):
    for i in lend.grid(M):
        row = at[i]
        s = 0.0
        for k in range(K):
            s += x[row, k]
        y[i] = s


@lend.kernel
def nothing_carried(at: Ref[i32, K], x: Ref[f64, N], y: Out[f64, M, K]):
    for i in lend.grid(M):
        for k in range(K):
            y[i, k] = x[at[k]]


def test_a_load_from_where_the_loop_reads_that_it_lies() -> None:
    assert names(direct) == ["x"]
    assert names(through_a_branch) == ["x"]


def test_integers_rows_and_loops_without_an_order_are_left_as_they_are() -> None:
    assert names(whole_numbers) == names(outside_the_loop) == names(nothing_carried) == []
