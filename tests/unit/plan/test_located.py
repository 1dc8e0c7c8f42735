"""Which reductions look for a place."""

from __future__ import annotations

from typing import Any

import pytest
from planned import region_of

import lend
from lend import Ref, f64, i32, i64
from lend.dims import M, N
from lend.plan.located import located


@lend.kernel
def pairs_with_the_index(x: Ref[f64, N]) -> i64:
    low, high, total = (0.0, 0), (0.0, i64(0)), 0.0
    for i in lend.grid((1, N, 2)):
        low = min(low, (x[i], i))
        high = max(high, (2.0 * x[i], i))
        total += x[i]
    return low[1] + high[1]


@lend.kernel
def only_some(x: Ref[f64, N]) -> i64:
    best = (0.0, 0)
    for i in lend.grid(N):
        if x[i] > 0:
            best = min(best, (x[i], i))
    return best[1]


@lend.kernel
def downwards(x: Ref[f64, N]) -> i64:
    best = (0.0, 0)
    for i in lend.grid((N - 1, -1, -1)):
        best = min(best, (x[i], i))
    return best[1]


@lend.kernel
def another_number(x: Ref[f64, N]) -> i64:
    best = (0.0, 0)
    for i in lend.grid(N):
        best = min(best, (x[i], 7 - i))
    return best[1]


@lend.kernel
def cut_short(x: Ref[f64, N]) -> i32:
    best = (0.0, i32(0))
    for i in lend.grid(N):
        best = min(best, (x[i], i32(i)))
    return best[1]


@lend.kernel
def two_dimensions(x: Ref[f64, N, M]) -> i64:
    best = (0.0, 0)
    for i, j in lend.grid(N, M):
        best = min(best, (x[i, j], j))
    return best[1]


def found(kernel: Any) -> tuple[bool, ...]:
    region = region_of(kernel)
    return located(region.parallel, region.variations)


def test_pairs_of_something_and_the_index_do() -> None:
    assert found(pairs_with_the_index) == (True, True, False)


@pytest.mark.parametrize("kernel", [only_some, downwards, another_number, cut_short, two_dimensions])
def test_what_may_skip_iterations_or_goes_another_way_does_not(kernel: Any) -> None:
    assert found(kernel) == (False,)
