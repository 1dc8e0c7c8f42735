"""Captured globals, closure cells, modules and functions: the value they have at the call."""

import math
import types

import numpy as np
import pytest
from harness import check

import lend
from lend import Mut, Out, Ref, f64
from lend.dims import N

SCALE = 2.0
OFFSET = 1
NAMES = types.SimpleNamespace(deep=types.SimpleNamespace(factor=3.0))


def helper(v):
    return v + OFFSET


@lend.kernel
def scaled(x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = SCALE * x[i] + OFFSET


@lend.kernel
def through_a_function(x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = helper(x[i])


@lend.kernel
def uses_constants(y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = math.pi + np.e * i + math.tau


@lend.kernel
def through_attributes(x: Mut[f64, N]):
    for i in lend.grid(N):
        x[i] *= NAMES.deep.factor


def make(power):
    @lend.kernel
    def kernel(x: Ref[f64, N], y: Out[f64, N]):
        for i in lend.grid(N):
            y[i] = x[i] ** power

    def change(value):
        nonlocal power
        power = value

    return kernel, change


def test_globals_have_their_value_at_the_call(target, monkeypatch):
    def reference(x, y):
        y[...] = SCALE * x + OFFSET

    for scale, offset in ((2.0, 1), (3.5, 1), (3.5, -4), (2, 0.5), (2.0, 1)):
        monkeypatch.setitem(globals(), "SCALE", scale)
        monkeypatch.setitem(globals(), "OFFSET", offset)
        check(scaled, reference, lambda rng, n: (rng.random(n), np.zeros(n)), target=target, sizes=(0, 17, 500), layouts=("C",))


def test_globals_of_functions_too(target, monkeypatch):
    x, y = np.arange(5.0), np.zeros(5)
    for offset in (1, 7, 1):
        monkeypatch.setitem(globals(), "OFFSET", offset)
        for run in (through_a_function, through_a_function.py):
            run(x, y)
            np.testing.assert_array_equal(y, x + offset)


def test_a_function_that_is_replaced(target, monkeypatch):
    x, y = np.arange(5.0), np.zeros(5)
    through_a_function(x, y)
    monkeypatch.setitem(globals(), "helper", lambda v: v * 10)
    through_a_function(x, y)
    np.testing.assert_array_equal(y, x * 10)


def test_closure_cells(target):
    x, y = np.linspace(0.1, 2, 50), np.zeros(50)
    square, change = make(2)
    cube, _ = make(3)
    for run in (square, square.py):
        run(x, y)
        np.testing.assert_allclose(y, x**2, rtol=1e-14)
    cube(x, y)
    np.testing.assert_allclose(y, x**3, rtol=1e-14)
    change(4)
    for run in (square, square.py):
        run(x, y)
        np.testing.assert_allclose(y, x**4, rtol=1e-14)


def test_attributes_of_captured_objects(target):
    x = np.ones(5)
    through_attributes(x)
    NAMES.deep.factor = 5.0
    try:
        through_attributes(x)
    finally:
        NAMES.deep.factor = 3.0
    through_attributes(x)
    np.testing.assert_array_equal(x, 45)


def test_constants_of_modules(target):
    def reference(y):
        y[...] = 3 * math.pi + math.e * np.arange(len(y))

    check(uses_constants, reference, lambda rng, n: (np.zeros(n),), target=target, sizes=(0, 17, 500))


def test_a_name_that_does_not_exist_is_refused(target):
    with pytest.raises(lend.CompileError) as caught:
        lend.kernel(refers_to_nothing)(np.zeros(3))
    assert "missing_name" in str(caught.value)


def refers_to_nothing(x: Mut[f64, N]):
    for i in lend.grid(N):
        x[i] = missing_name  # noqa: F821
