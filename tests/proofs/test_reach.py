"""Subscripts that are not linear: how far they reach is computed before their loop, and then no iteration tests them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lend
from lend import Mut, Out, Ref, f64, i32, i64, u64
from lend.dims import K, M, N

from .verdicts import assert_accepted


@lend.kernel
def summed(x: Ref[f64, N], y: Mut[f64, M], n: i64):
    for i in lend.grid(M):
        for j in range(n):
            y[i] += x[i * n + j]


@lend.kernel
def dilated(x: Ref[f64, N], w: Ref[f64, K], y: Out[f64, M], stride: i64, step: i32):
    for o in lend.grid(M):
        total = 0.0
        for k in range(K):
            total += w[k] * x[o * stride + k * step]
        y[o] = total


@lend.kernel
def sliced(x: Ref[f64, N], y: Out[f64, M], s: i64):
    for i in lend.grid(M):
        part = x[i * s : i * s + 3]
        y[i] = part[0] + part[2]


@lend.kernel
def strided(x: Ref[f64, N], y: Out[f64, M], s: i64):
    for i in lend.grid(M):
        y[i] = x[i * s]


@lend.kernel
def strided_down(x: Ref[f64, N], y: Mut[f64, M], s: i64):
    for i in lend.grid((M - 1, -1, -1)):
        y[i] = x[i * s]


@lend.kernel
def least(x: Ref[f64, N], y: Out[f64, M], s: i64):
    for i in lend.grid(M):
        y[i] = x[min(i64(i32(i * s)), 3)]


@lend.kernel
def unsigned(x: Ref[f64, N], y: Out[f64, M], s: u64):
    for i in lend.grid(M):
        y[i] = x[min(u64(i) * s, u64(2))]


@lend.kernel
def ratio(x: Ref[f64, N], y: Out[f64, M], s: i64, t: i64):
    for i in lend.grid(M):
        y[i] = x[(i - t) // s]


@lend.kernel
def shares(x: Ref[f64, N], y: Mut[f64, M], s: i64, t: i64, r: i64):
    for i in lend.grid(M):
        y[i] = x[r + t // (i + s)]


@pytest.mark.parametrize(
    "kernel", [summed, dilated, sliced, strided, strided_down, least, unsigned, ratio, shares], ids=lambda k: k.__name__
)
def test_a_subscript_that_loops_bound_is_a_condition_of_the_launch(kernel: Any) -> None:
    bounds = {p.verdict for p in kernel.proofs() if p.obligation == "bounds" and p.subject.startswith(("x", "part"))}
    assert bounds == {"launch"}
    assert kernel.lower().plan.count("parallel ") == 2


def test_a_subscript_that_data_decide_keeps_its_test_and_has_one_version() -> None:
    @lend.kernel
    def kernel(x: Ref[f64, N], at: Ref[i64, M], y: Out[f64, M], s: i64):
        for i in lend.grid(M):
            y[i] = x[at[i] * s]

    assert_accepted(kernel, {"bounds checked x"})
    assert kernel.lower().plan.count("parallel ") == 1


def outcome(run: Callable[..., Any], *arguments: Any) -> Any:
    """What a run leaves in its array, or where it fails."""
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    try:
        run(*copies)
    except lend.BoundsError as error:
        return error.index, error.size, error.thread
    except lend.ArithmeticFault:
        return "division"
    return copies[1].tolist()


HUGE = [
    -1,
    0,
    1,
    2,
    3,
    5,
    -2,
    1 << 31,
    1 << 32,
    (1 << 30) + 1,
    1 << 61,
    1 << 62,
    (1 << 62) + 1,
    (1 << 63) - 1,
    -(1 << 62),
    -(1 << 63),
]


@pytest.mark.parametrize("kernel", [strided, strided_down, sliced, least], ids=lambda k: k.__name__)
@pytest.mark.parametrize("s", HUGE)
@pytest.mark.parametrize("m", [0, 1, 2, 3, 5, 9])
def test_numbers_that_wrap_are_not_taken_for_what_they_are_not(kernel: Any, s: int, m: int) -> None:
    x, y = np.arange(8.0), np.zeros(m)
    assert outcome(kernel, x, y, s) == outcome(kernel.py, x, y, s)


@pytest.mark.parametrize("s", [0, 1, 1 << 62, 1 << 63, (1 << 63) + 1, (1 << 64) - 1])
@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_unsigned_numbers_that_wrap(s: int, m: int) -> None:
    x, y = np.arange(2.0), np.zeros(m)
    assert outcome(unsigned, x, y, s) == outcome(unsigned.py, x, y, s)


@pytest.mark.parametrize("s", [-3, -1, 0, 1, 2, 9])
@pytest.mark.parametrize("t", [-9, -1, 0, 1, 4])
def test_a_quotient_by_a_scalar(s: int, t: int) -> None:
    x, y = np.arange(4.0), np.zeros(3)
    assert outcome(ratio, x, y, s, t) == outcome(ratio.py, x, y, s, t)


@pytest.mark.parametrize("t", [-40, -6, -5, -1, 0, 1, 4, 5, 40])
@pytest.mark.parametrize("s", [-1, 0, 1, 2, 7])
@pytest.mark.parametrize("r", [-5, 5])
@pytest.mark.parametrize("n", [1, 6, 9, 10, 40])
def test_a_quotient_whose_divisor_varies(t: int, s: int, r: int, n: int) -> None:
    x, y = np.arange(float(n)), np.zeros(4)
    assert outcome(shares, x, y, s, t, r) == outcome(shares.py, x, y, s, t, r)


@pytest.mark.parametrize(("t", "r", "n"), [(40, 5, 46), (-5, 5, 5), (20, -5, 16), (-4, 4, 4), (-20, 20, 16)])
def test_all_quotients_lie_just_inside(t: int, r: int, n: int) -> None:
    arrays = np.arange(float(n)), np.zeros(4)
    assert outcome(shares, *arrays, 1, t, r) == [float(r + t // (i + 1)) for i in range(4)]


@pytest.mark.parametrize(("t", "r", "n"), [(40, 5, 45), (-5, 4, 5), (20, -6, 16), (-4, 3, 4), (-20, 20, 15)])
def test_one_quotient_lies_outside_for_the_least_or_the_greatest_divisor(t: int, r: int, n: int) -> None:
    with pytest.raises(lend.BoundsError):
        shares(np.arange(float(n)), np.zeros(4), 1, t, r)


@pytest.mark.parametrize("n", [-2, 0, 1, 3, 4, 5])
@pytest.mark.parametrize("m", [0, 1, 2, 3])
def test_an_inner_loop_with_and_without_iterations(n: int, m: int) -> None:
    x, y = np.arange(8.0), np.zeros(m)
    assert outcome(summed, x, y, n) == outcome(summed.py, x, y, n)


@pytest.mark.parametrize("stride", [-1, 0, 1, 2, 3])
@pytest.mark.parametrize("step", [-1, 0, 1, 4, -(1 << 31)])
def test_two_products_in_one_subscript(stride: int, step: int) -> None:
    x, w, y = np.arange(9.0), np.arange(3.0), np.zeros(3)
    arguments = (x, w, y, stride, step)
    copies, others = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments], list(arguments)
    ends: list[Any] = []
    for run, own in ((dilated, copies), (dilated.py, others)):
        try:
            run(*own)
            ends.append(own[2].tolist())
        except lend.BoundsError as error:
            ends.append((error.index, error.thread))
    assert ends[0] == ends[1]


def test_the_version_without_tests_tests_nothing() -> None:
    code = summed.lower().ir
    fast, slow = (re.search(rf"define internal void @region_{k}\b.*?\n}}", code, re.DOTALL) for k in range(2))
    assert fast is not None and "fault" not in fast[0]
    assert slow is not None and "fault" in slow[0]
    y = np.zeros(2)
    summed(np.arange(6.0), y, 3)
    assert y.tolist() == [3.0, 12.0]
