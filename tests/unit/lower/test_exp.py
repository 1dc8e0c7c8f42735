"""The exponential function that is written in place: its error, its edges, and that "strict" does without it."""

import math

import numpy as np
import pytest

import lend
from lend import Out, Ref, f32, f64
from lend.dims import N


@lend.kernel
def exp64(x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = math.exp(x[i])


@lend.kernel
def exp32(x: Ref[f32, N], y: Out[f32, N]):
    for i in lend.grid(N):
        y[i] = math.exp(x[i])


@lend.kernel(math="strict")
def strict64(x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = math.exp(x[i])


def result(kernel, x):
    y = np.empty_like(x)
    kernel(x, y)
    return y


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="needs a wider type to compare with")
@pytest.mark.parametrize(("kernel", "dtype", "least", "most"), [(exp64, "f8", -708.3, 709.7), (exp32, "f4", -87.3, 88.7)])
def test_the_error_is_small(kernel, dtype, least, most):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(least, most, 100_000), rng.uniform(-1, 1, 100_000), rng.normal(0, 1e-4, 1000)]).astype(dtype)
    exact = np.exp(x.astype(np.longdouble))
    error = np.abs(result(kernel, x).astype(np.longdouble) - exact) / np.spacing(exact.astype(dtype)).astype(np.longdouble)
    assert error.max() <= 1.2


@pytest.mark.parametrize(("kernel", "dtype"), [(exp64, "f8"), (exp32, "f4")])
def test_the_edges(kernel, dtype):
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30, 800.0, -800.0], dtype)
    assert np.array_equal(result(kernel, x), np.array([1, 1, np.inf, 0, np.nan, np.inf, 0, np.inf, 0], dtype), equal_nan=True)


@pytest.mark.parametrize(("kernel", "dtype", "least"), [(exp64, "f8", -746.0), (exp32, "f4", -104.5)])
def test_small_results_are_subnormal_and_then_zero(kernel, dtype, least):
    info = np.finfo(dtype)
    x = np.linspace(math.log(info.tiny) + 0.5, least, 5001).astype(dtype)
    exact = np.exp(x.astype(np.longdouble))
    error = np.abs(result(kernel, x).astype(np.longdouble) - exact)
    assert (error <= 1.2 * np.maximum(np.spacing(exact.astype(dtype)), info.smallest_subnormal).astype(np.longdouble)).all()


@pytest.mark.parametrize(("kernel", "dtype", "largest"), [(exp64, "f8", 709.782712893384), (exp32, "f4", 88.72283)])
def test_the_largest_results_are_finite(kernel, dtype, largest):
    x = np.array([largest, np.nextafter(np.array(largest, dtype), np.inf) + 1], dtype)
    with np.errstate(over="ignore"):
        assert np.isfinite(result(kernel, x)).tolist() == np.isfinite(np.exp(x)).tolist() == [True, False]


def test_strict_calls_the_library():
    x = np.random.default_rng(1).uniform(-5, 5, 1000)
    assert result(strict64, x).tolist() == [math.exp(v) for v in x.tolist()]
    assert "lend.f64.exp" not in strict64.lower(x, x.copy()).llvm
