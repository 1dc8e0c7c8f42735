"""`lend.algorithms` under the judge, called from kernels: what they take for granted holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lend
import lend.algorithms as algorithms
from lend import Ref, bool_, f32, f64, i32, i64
from lend.dims import N


def reduce(x: Ref[f64, N]):
    return algorithms.reduce(x)


def scan(x: Ref[f64, N]):
    return algorithms.scan(x)


def compact(x: Ref[f64, N], mask: Ref[bool_, N]):
    return algorithms.compact(x, mask)


def sort(x: Ref[f64, N]):
    return algorithms.sort(x)


def argsort(x: Ref[f64, N]):
    return algorithms.argsort(x)


def sort_pairs(x: Ref[f32, N], y: Ref[i64, N]):
    return algorithms.sort_pairs(x, y)


def unique(x: Ref[i32, N]):
    return algorithms.unique(x)


def top_k(x: Ref[f64, N], k: i64):
    return algorithms.top_k(x, k)


def histogram(x: Ref[f64, N]):
    return algorithms.histogram(x, 8, -2.0, 2.0)


def arguments(n: int) -> dict[Callable[..., Any], tuple[Any, ...]]:
    rng = np.random.default_rng(n)
    x = rng.standard_normal(n)
    return {
        reduce: (x,),
        scan: (x,),
        compact: (x, x > 0),
        sort: (x,),
        argsort: (x,),
        sort_pairs: (x.astype(np.float32), np.arange(n)),
        unique: (rng.integers(-5, 5, n).astype(np.int32),),
        top_k: (x, min(n, 3)),
        histogram: (x,),
    }


@pytest.mark.parametrize("n", [0, 1, 90])
@pytest.mark.parametrize("function", arguments(0), ids=lambda f: f.__name__)
def test_an_algorithm_does_nothing_that_it_must_not(function: Callable[..., Any], n: int) -> None:
    report = lend.sanitize(function, runs=1)(*arguments(n)[function])
    assert report.ok, str(report)
    if function is sort:
        assert np.array_equal(report.result, np.sort(arguments(n)[sort][0]))
