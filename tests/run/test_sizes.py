"""Sizes, derived and fixed ones, contracts, defaults and keyword arguments."""

from typing import Literal

import numpy as np
import pytest
from harness import check

import lend
from lend import Mut, Out, Ref, comptime, f32, f64, i32, i64
from lend.dims import M, N


class N1(lend.Dim):
    equals = N + 1


class Pairs(lend.Dim):
    equals = N * M // 2


class Rows(lend.Dim): ...


@lend.kernel
def differences(x: Ref[f64, N1], y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = x[i + 1] - x[i]


@lend.kernel
def pairs(x: Ref[i64, N, M], y: Out[i64, Pairs]) -> i64:
    for i in lend.grid(Pairs):
        y[i] = x[(2 * i) // M, (2 * i) % M]
    return Pairs + N1


@lend.kernel
def rotate(points: Mut[f64, Rows, Literal[2]], matrix: Ref[f64, Literal[2], 2]):
    for i in lend.grid(Rows):
        x = points[i, 0]
        y = points[i, 1]
        points[i, 0] = matrix[0, 0] * x + matrix[0, 1] * y
        points[i, 1] = matrix[1, 0] * x + matrix[1, 1] * y


@lend.kernel
def with_contracts(x: Ref[f32, N], y: Ref[f32, M], k: i32, T: comptime[int] = 4) -> i64:
    """A docstring stands before the contracts."""
    assert N == 2 * M, "x must be twice as long as y"
    assert 0 <= k < M
    assert N % T == 0 and T > 0
    return N + k


@lend.kernel
def wide_contract(k: i32, n: i64) -> i64:
    assert k + 1 > k  # in unbounded integers: never false
    assert n * n <= 2**62
    return n


@lend.kernel
def defaults(x: Mut[f64, N], scale: f64 = 2.0, *, shift: i32 = 1, twice: comptime[bool] = False):
    for i in lend.grid(N):
        x[i] = x[i] * scale + shift
        if twice:
            x[i] *= 2


@lend.kernel
def sizes_as_numbers(x: Ref[f64, N, M]) -> tuple[i64, f64, i64, i64]:
    return N * M, N / (M + 1), len(x), x.shape[1]


def test_a_derived_size(target):
    def reference(x, y):
        y[...] = np.diff(x)

    check(differences, reference, lambda rng, n: (rng.random(n + 1), np.zeros(n)), target=target, rtol=0)


def test_a_derived_size_that_disagrees(target):
    with pytest.raises(lend.ShapeError) as caught:
        differences(np.zeros(7), np.zeros(7))
    message = str(caught.value)
    assert "x" in message and "y" in message and "7" in message and "8" in message


def test_a_derived_size_of_two(target):
    def reference(x, y):
        y[...] = x.ravel()[: 2 * len(y) : 2]
        return np.int64(len(y) + len(x) + 1)

    check(
        pairs,
        reference,
        lambda rng, n: (rng.integers(0, 99, (n, 3)), np.zeros(3 * n // 2, np.int64)),
        target=target,
        sizes=(0, 1, 17, 900),
    )


def test_fixed_sizes(target):
    def reference(points, matrix):
        points[...] = points @ matrix.T

    check(rotate, reference, lambda rng, n: (rng.random((n, 2)), rng.random((2, 2))), target=target)
    with pytest.raises(lend.ShapeError):
        rotate(np.zeros((5, 3)), np.zeros((2, 2)))
    with pytest.raises(lend.ShapeError):
        rotate(np.zeros((5, 2)), np.zeros((2, 3)))


def test_a_size_that_disagrees_names_both_arguments_and_both_sizes(target):
    from test_maps import saxpy

    with pytest.raises(lend.ShapeError) as caught:
        saxpy(1.0, np.zeros(41, np.float32), np.zeros(43, np.float32))
    for word in ("saxpy", "x", "y", "N", "41", "43"):
        assert word in str(caught.value)


def test_the_number_of_dimensions_is_checked(target):
    with pytest.raises(lend.ShapeError):
        differences(np.zeros((3, 1)), np.zeros(2))


def test_contracts_hold(target):
    x, y = np.zeros(16, np.float32), np.zeros(8, np.float32)
    for run in (with_contracts, with_contracts.py):
        assert run(x, y, 7) == 23
        assert run(x, y, k=0, T=8) == 16


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((16, 7, 0, 4), ("N == 2 * M", "twice as long")),
        ((16, 8, 8, 4), ("0 <= k < M",)),
        ((16, 8, -1, 4), ("0 <= k < M",)),
        ((16, 8, 1, 3), ("N % T == 0",)),
    ],
)
def test_contracts_fail(target, arguments, words):
    n, m, k, t = arguments
    for run in (with_contracts, with_contracts.py):
        with pytest.raises(lend.ContractError) as caught:
            run(np.zeros(n, np.float32), np.zeros(m, np.float32), k, t)
        for word in words:
            assert word in str(caught.value)


def test_contracts_are_evaluated_in_unbounded_integers(target):
    for run in (wide_contract, wide_contract.py):
        assert run(2**31 - 1, 2**31) == 2**31
        with pytest.raises(lend.ContractError):
            run(0, 2**32)  # n * n wraps to 0 in 64 bits


def test_defaults_and_keywords(target):
    for run in (defaults, defaults.py):
        for keywords, expected in (
            ({}, 7.0),
            ({"scale": 3.0}, 10.0),
            ({"shift": -1}, 5.0),
            ({"twice": True}, 14.0),
            ({"twice": True, "shift": 0, "scale": 1}, 6.0),
        ):
            x = np.full(5, 3.0)
            run(x, **keywords)
            assert (x == expected).all(), keywords
        x = np.full(5, 3.0)
        run(scale=0.5, x=x)
        assert (x == 2.5).all()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: defaults(),
        lambda x: defaults(x, 1.0, 2),
        lambda x: defaults(x, scale=1.0, wrong=2),
        lambda x: defaults(x, 1.0, scale=2.0),
        lambda x: defaults(scale=2.0),
        lambda x: defaults(x, twice=None),
    ],
)
def test_a_call_with_wrong_arguments(target, call):
    x = np.full(5, 3.0)
    with pytest.raises(lend.ArgumentError):
        call(x)
    assert (x == 3).all()


def test_sizes_are_numbers(target):
    for run in (sizes_as_numbers, sizes_as_numbers.py):
        assert run(np.zeros((7, 3))) == (21, 1.75, 7, 3)
        assert run(np.zeros((0, 3))) == (0, 0.0, 0, 3)
