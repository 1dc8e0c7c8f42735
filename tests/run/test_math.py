"""Functions of `math` and NumPy's ufuncs, `min max abs round divmod int float bool`, and the math modes."""

import math

import numpy as np
import pytest
import scipy.special
from harness import check

import lend
from lend import Mut, Out, Ref, bool_, f32, f64, i64, u32
from lend.dims import N

UNARY = {
    "sin": math.sin, "cos": math.cos, "tan": math.tan, "atan": math.atan, "sinh": math.sinh, "cosh": math.cosh, "tanh": math.tanh,
    "asinh": math.asinh,
    "exp": math.exp, "expm1": math.expm1, "exp2": np.exp2, "cbrt": np.cbrt, "floor": np.floor, "ceil": np.ceil,
    "trunc": np.trunc, "rint": np.rint, "fabs": math.fabs, "erf": math.erf, "erfc": math.erfc,
}  # fmt: skip
POSITIVE = {
    "log": math.log, "log2": math.log2, "log10": math.log10, "log1p": math.log1p, "sqrt": math.sqrt, "gamma": math.gamma,
    "lgamma": math.lgamma,
}  # fmt: skip
UNIT = {"asin": math.asin, "acos": math.acos, "atanh": math.atanh, "arcsin": np.arcsin}
BINARY = {
    "atan2": math.atan2, "hypot": math.hypot, "fmod": math.fmod, "copysign": math.copysign, "remainder": math.remainder,
    "pow": math.pow, "fmax": np.fmax, "fmin": np.fmin, "minimum": np.minimum, "arctan2": np.arctan2, "power": np.power,
}  # fmt: skip


def one(function):
    """A kernel that maps `function` over x."""

    @lend.kernel
    def kernel(x: Ref[lend.T, N], y: Out[lend.T, N]):
        for i in lend.grid(N):
            y[i] = function(x[i])

    return kernel


def two(function):
    @lend.kernel
    def kernel(a: Ref[lend.T, N], b: Ref[lend.T, N], y: Out[lend.T, N]):
        for i in lend.grid(N):
            y[i] = function(a[i], b[i])

    return kernel


def expected(function, *arrays):
    """The function in f64, element by element."""
    return np.array([float(function(*map(float, row))) for row in zip(*arrays, strict=True)], np.float64)


@pytest.mark.parametrize("name", [*UNARY, *POSITIVE, *UNIT])
def test_a_function_of_one_argument(target, name):
    function = {**UNARY, **POSITIVE, **UNIT}[name]
    kernel = one(function)
    rng = np.random.default_rng(1)
    wide = rng.uniform(-6, 6, 200)
    if name in POSITIVE:
        wide = np.abs(wide) + 0.01
    if name in UNIT:
        wide = rng.uniform(-0.99, 0.99, 200)
    for dtype, rtol in ((np.float64, 1e-14), (np.float32, 1e-6)):
        x = wide.astype(dtype)
        wanted = expected(function, x)
        for run in (kernel, kernel.py):
            y = np.zeros_like(x)
            run(x, y)
            np.testing.assert_allclose(y, wanted, rtol=rtol, atol=4 * np.finfo(dtype).eps, err_msg=f"{name} {dtype.__name__}")


@pytest.mark.parametrize("name", BINARY)
def test_a_function_of_two_arguments(target, name):
    function = BINARY[name]
    kernel = two(function)
    rng = np.random.default_rng(2)
    a, b = rng.uniform(0.1, 6, 200), rng.uniform(-6, 6, 200)
    for dtype, rtol in ((np.float64, 1e-14), (np.float32, 2e-6)):
        x, y = a.astype(dtype), b.astype(dtype)
        wanted = expected(function, x, y)
        for run in (kernel, kernel.py):
            z = np.zeros_like(x)
            run(x, y, z)
            np.testing.assert_allclose(z, wanted, rtol=rtol, atol=4 * np.finfo(dtype).eps, err_msg=f"{name} {dtype.__name__}")


@pytest.mark.parametrize("mode", ["strict", "default", "fast"])
def test_math_modes(target, mode):
    @lend.kernel(math=mode)
    def kernel(x: Ref[f64, N], y: Ref[f64, N], z: Out[f64, N]):
        for i in lend.grid(N):
            z[i] = x[i] * y[i] + math.sqrt(x[i]) / (y[i] + 3)

    def reference(x, y, z):
        z[...] = x * y + np.sqrt(x) / (y + 3)

    exact = mode == "strict"
    check(
        kernel,
        reference,
        lambda rng, n: (rng.random(n), rng.normal(size=n), np.zeros(n)),
        target=target,
        rtol=0 if exact else 1e-9,
        atol=0 if exact else 1e-12,
        strict=exact,
        layouts=("C", "strided", "mixed"),
    )


@lend.kernel(math="strict")
def strict_products(x: Ref[f32, N], y: Ref[f32, N], z: Mut[f32, N]):
    for i in lend.grid(N):
        z[i] = x[i] * y[i] - z[i] * z[i]


def test_strict_math_does_not_fuse(target):
    def reference(x, y, z):
        z[...] = x * y - z * z

    check(
        strict_products, reference, lambda rng, n: tuple(rng.normal(size=(3, n)).astype("f4")), target=target, rtol=0, strict=True
    )


@lend.kernel(math="strict")
def builtins(x: Ref[f64, N], y: Ref[f64, N], r: Out[i64, N], t: Out[i64, N], w: Out[bool_, N], q: Out[f64, N], m: Out[f64, N]):
    for i in lend.grid(N):
        r[i] = round(x[i])
        t[i] = int(x[i])
        w[i] = bool(x[i])
        q[i] = x[i] // y[i] + min(x[i], y[i], 0.5) + max(abs(x[i]), y[i]) + float(r[i])
        m[i] = x[i] % y[i]


def test_builtins(target):
    def reference(x, y, r, t, w, q, m):
        r[...], t[...], w[...] = np.rint(x), np.trunc(x), x != 0
        q[...] = x // y + np.minimum(np.minimum(x, y), 0.5) + np.maximum(np.abs(x), y) + r
        m[...] = x % y

    def arguments(rng, n):
        x = rng.normal(scale=9, size=n)
        x[::3] = np.round(x[::3]) + 0.5
        x[1::9] = 0
        whole = np.zeros((2, n), np.int64)
        return x, rng.normal(size=n), *whole, np.zeros(n, bool), *np.zeros((2, n))

    check(builtins, reference, arguments, target=target, rtol=0, strict=True)


@lend.kernel
def ieee(x: Ref[f64, N], y: Ref[f64, N], z: Out[f64, N], nan: Out[bool_, N]):
    for i in lend.grid(N):
        z[i] = x[i] / y[i]
        nan[i] = math.isnan(z[i]) or np.isinf(z[i])


def test_division_of_floats_by_zero_is_not_a_fault(target):
    def reference(x, y, z, nan):
        z[...] = x / y
        nan[...] = ~np.isfinite(z)

    def arguments(rng, n):
        return rng.integers(-1, 2, n).astype(float), rng.integers(-1, 2, n).astype(float), np.zeros(n), np.zeros(n, bool)

    check(ieee, reference, arguments, target=target, rtol=0)


@lend.kernel
def powers(x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = x[i] ** 3 + x[i] ** 0.5 + x[i] ** -1 + 2.0 ** x[i]


def test_powers_of_floats(target):
    def reference(x, y):
        y[...] = x**3 + x**0.5 + 1 / x + 2.0**x

    check(powers, reference, lambda rng, n: (rng.random(n) + 0.5, np.zeros(n)), target=target)


def test_lgamma_matches_scipy(target):
    x, y = np.linspace(0.1, 20, 100), np.zeros(100)
    one(math.lgamma)(x, y)
    np.testing.assert_allclose(y, scipy.special.gammaln(x), rtol=1e-12, atol=1e-14)


@lend.kernel(math="fast")
def fast_powers(x: Ref[f64, N], k: Ref[u32, N], y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = math.pow(x[i], k[i]) + x[i] ** f64(k[i])


def test_fast_powers_need_no_library_of_the_compiler():
    x, k, y = np.linspace(0.5, 2.0, 50), np.arange(50, dtype=np.uint32) % 7, np.empty(50)
    fast_powers(x, k, y)
    assert np.allclose(y, 2 * x**k, rtol=1e-12)
