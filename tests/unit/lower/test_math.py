"""Compiled mathematical functions: equal to plain Python under "strict", within a few units in the last place otherwise."""

from __future__ import annotations

import cmath

import numpy as np
import pytest
from scalar_harness import DTYPES, FLOATS, INTEGERS, Loops, assert_same, float_values, pair_up, python, values_of

from lend.language.libm import math_function
from lend.language.types import BF16, BOOL_, COMPLEX64, COMPLEX128, F16, F32, F64, PART, ScalarType
from lend.lower.math import COMPLEX, INTRINSICS, LIBRARY
from lend.targets.cpu.machine import named

PREDICATES = ("isnan", "isinf", "isfinite", "signbit")
BINARY = ("atan2", "hypot", "nextafter", "remainder", "pow", "copysign", "fmax", "fmin", "fmod")
UNARY = tuple(sorted((set(LIBRARY) | set(INTRINSICS)) - set(BINARY) - {"fma"}))
# The C library's own functions of complex numbers differ from these at most so much (units in the last place of the larger part).
COMPLEX_ULPS = 8


def add_real_functions(made: Loops) -> Loops:
    for type in FLOATS:
        for name in (*UNARY, *PREDICATES):
            target = BOOL_ if name in PREDICATES else type
            made.add(f"{name}.{type}", [type], target, lambda e, v, f=name, t=type, r=target: e.math(f, [t], v, r))
        for name in BINARY:
            made.add(f"{name}.{type}", [type] * 2, type, lambda e, v, f=name, t=type: e.math(f, [t] * 2, v, t))
        made.add(f"fma.{type}", [type] * 3, type, lambda e, v, t=type: e.math("fma", [t] * 3, v, t))
    return made


@pytest.fixture(scope="module")
def strict() -> Loops:
    return add_real_functions(Loops("strict"))


@pytest.fixture(scope="module")
def default() -> Loops:
    return add_real_functions(Loops("default"))


@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_strict_functions_equal_plain_python_to_the_bit(strict: Loops, type: ScalarType) -> None:
    a = float_values(type)
    pairs = pair_up(a, a)
    for name in (*UNARY, *PREDICATES):
        function = math_function(name, (type,))
        assert_same(strict.run(f"{name}.{type}", a), [function(x) for x in python(a)], f"{name} of {type}")
    for name in BINARY:
        function = math_function(name, (type, type))
        expected = [function(x, y) for x, y in zip(python(pairs[0]), python(pairs[1]), strict=True)]
        got = strict.run(f"{name}.{type}", *pairs)
        if name in ("fmax", "fmin"):  # C leaves the sign of zero open
            got, expected = got + got.dtype.type(0), [e + 0.0 for e in expected]
        assert_same(got, expected, f"{name} of {type}")


@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_fma_rounds_once(strict: Loops, type: ScalarType) -> None:
    random = np.random.default_rng(0)
    a, b, c = (random.standard_normal(500).astype(DTYPES[type]) for _ in range(3))
    function = math_function("fma", (type,) * 3)
    expected = [function(*each) for each in zip(python(a), python(b), python(c), strict=True)]
    assert_same(strict.run(f"fma.{type}", a, b, c), expected, f"fma of {type}")


def ulps(got: np.ndarray, want: np.ndarray, dtype: type) -> np.ndarray:
    """The distance in units of the last place of `want` (f64) as a number of `dtype`; 0 where both are the same."""
    info = np.finfo(dtype)
    with np.errstate(all="ignore"):
        unit = np.maximum(2.0 ** np.floor(np.log2(np.abs(want))) * float(info.eps), float(info.smallest_subnormal))
        same = (got == want.astype(dtype)) | (np.isnan(got) & np.isnan(want))
        return np.where(same, 0, np.abs(got.astype(np.float64) - want) / unit)


@pytest.mark.parametrize("type", [F32, F64], ids=str)
def test_default_functions_are_within_3_ulp(default: Loops, strict: Loops, type: ScalarType) -> None:
    random, dtype = np.random.default_rng(7), DTYPES[type]
    spread = (random.standard_normal(20_000) * 10.0 ** random.uniform(-6, 2, 20_000)).astype(dtype)
    inside = random.uniform(-1.5, 1.5, 20_000).astype(dtype)
    a = np.concatenate([spread, inside, float_values(type)])
    b = np.roll(a, 17)
    for name in (*UNARY, *BINARY):
        if name in ("tgamma", "lgamma", "nextafter"):  # the C library's own gamma functions are worse; nextafter is exact
            continue
        arguments = (a,) if name in UNARY else (a, b)
        wide = "f64" if name not in ("fmod", "remainder") else str(type)
        want = strict.run(f"{name}.{wide}", *(x.astype(DTYPES[F64] if wide == "f64" else dtype) for x in arguments))
        worst = ulps(default.run(f"{name}.{type}", *arguments), want.astype(np.float64), dtype)
        k = int(np.nanargmax(worst))
        assert worst[k] <= 3.5, (name, [x[k] for x in arguments], want[k], worst[k])  # the reference itself is 0.5 off


def test_the_logarithm_of_f32_is_within_1_ulp(default: Loops) -> None:
    first, last = (int(np.float32(x).view(np.uint32)) for x in (0.5, 2.0))
    a = np.arange(first, last, dtype=np.uint32).view(np.float32)
    assert ulps(default.run("log.f32", a), np.log(a.astype(np.float64)), np.float32).max() < 1.0
    edge = default.run("log.f32", np.array([0.0, -0.0, -1.0, np.inf, -np.inf, np.nan, 1.0], np.float32))
    np.testing.assert_array_equal(edge, np.array([-np.inf, -np.inf, np.nan, np.inf, np.nan, np.nan, 0.0], np.float32))


@pytest.mark.parametrize("type", [F32, F64], ids=str)
def test_fast_keeps_infinities_and_nans(strict: Loops, type: ScalarType) -> None:
    fast = add_real_functions(Loops("fast"))
    a = float_values(type)
    pairs = pair_up(a, a)
    for name in (*UNARY, *BINARY):
        arguments = pairs if name in BINARY else (a,)
        got, want = fast.run(f"{name}.{type}", *arguments), strict.run(f"{name}.{type}", *arguments)
        normal = np.abs(want) >= np.finfo(DTYPES[type]).smallest_normal
        assert (np.isnan(got) == np.isnan(want)).all(), name
        assert (np.isinf(got) == np.isinf(want)).all(), name
        assert np.allclose(got[normal & np.isfinite(want)], want[normal & np.isfinite(want)], rtol=1e-6, atol=0), name


def test_default_calls_the_vector_library_and_strict_does_not(default: Loops, strict: Loops) -> None:
    if not any("_ZGV" in line for line in default.compiled.llvm.splitlines()):
        pytest.skip("no vector library here")
    assert "_ZGV" not in strict.compiled.llvm
    assert "lend-vector-math" not in default.compiled.llvm


def test_an_old_processor_has_every_function_too() -> None:
    made = add_real_functions(Loops("strict", named("x86-64" if "x86_64" in named("").triple else "generic")))
    a = float_values(F64)
    assert_same(made.run("floor.f64", a), np.floor(a).tolist(), "floor")
    assert_same(made.run("sqrt.f16", a), made.run("sqrt.f16", a).tolist(), "sqrt")


@pytest.mark.parametrize("type", INTEGERS, ids=str)
def test_popcount_counts_the_bits_of_the_type(type: ScalarType) -> None:
    made = Loops()
    made.add("popcount", [type], type, lambda e, v: e.math("popcount", [type], v, type))
    a = values_of(type)
    assert made.run("popcount", a).tolist() == [bin(x & ((1 << type.bits) - 1)).count("1") for x in a.tolist()]


@pytest.mark.parametrize("type", [F16, BF16], ids=str)
def test_nextafter_steps_in_the_narrow_type(strict: Loops, type: ScalarType) -> None:
    one = np.ones(1, DTYPES[type])
    step = float(strict.run(f"nextafter.{type}", one, 2 * one)[0]) - 1.0
    assert step == (2.0**-10 if type is F16 else 2.0**-7)


# ------------------------------------------------------------------------------------------------------ complex


@pytest.fixture(scope="module")
def complex_loops() -> Loops:
    made = Loops("default")
    for type in (COMPLEX64, COMPLEX128):
        for name in COMPLEX:
            made.add(f"{name}.{type}", [type], type, lambda e, v, f=name, t=type: e.math(f, [t], v, t))
        made.add(f"pow.{type}", [type] * 2, type, lambda e, v, t=type: e.binary("pow", t, v[0], v[1]))
        for part in ("real", "imag"):
            made.add(f"{part}.{type}", [type], PART[type], lambda e, v, f=part, t=type: e.math(f, [t], v, PART[t]))
        made.add(f"complex.{type}", [PART[type]] * 2, type, lambda e, v, t=type: e.math("complex", [PART[t]] * 2, v, t))
    return made


def numpy_function(name: str) -> object:
    return np.conjugate if name == "conj" else getattr(np, name)


def close(got: np.ndarray, want: np.ndarray, eps: float) -> np.ndarray:
    """Whether each part is near, by the size of the whole; infinities, NaNs and zeros' signs where the value is special."""
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(want.real), np.abs(want.imag))
        near = [np.abs(g - w) <= COMPLEX_ULPS * eps * size for g, w in ((got.real, want.real), (got.imag, want.imag))]
        same = [(g == w) | (np.isnan(g) & np.isnan(w)) for g, w in ((got.real, want.real), (got.imag, want.imag))]
        return (near[0] | same[0]) & (near[1] | same[1])


@pytest.mark.parametrize("type", [COMPLEX64, COMPLEX128], ids=str)
@pytest.mark.parametrize("name", COMPLEX)
def test_complex_functions_agree_with_numpy(complex_loops: Loops, type: ScalarType, name: str) -> None:
    random = np.random.default_rng(11)
    dtype, eps = DTYPES[type], np.finfo(DTYPES[type]).eps
    plain = random.standard_normal(3000) * 3 + 1j * random.standard_normal(3000) * 3
    unit = np.exp(1j * random.uniform(-4, 4, 1000)) * (1 + random.standard_normal(1000) * 1e-5)
    spread = (random.standard_normal(1000) + 1j * random.standard_normal(1000)) * 10.0 ** random.uniform(-30, 30, 1000)
    axis = np.concatenate([random.standard_normal(100) * 5 + 0j, 1j * random.standard_normal(100) * 5])
    z = np.concatenate([plain, unit, axis, *([] if name in ("sin", "cos", "tan", "exp", "sinh", "cosh", "tanh") else [spread])])
    z = z.astype(dtype)
    with np.errstate(all="ignore"):
        want = numpy_function(name)(z)  # type: ignore[operator]
    got = complex_loops.run(f"{name}.{type}", z)
    bad = ~close(got, want, eps)
    k = int(bad.argmax())
    assert not bad.any(), (int(bad.sum()), z[k], got[k], want[k])


@pytest.mark.parametrize("type", [COMPLEX64, COMPLEX128], ids=str)
@pytest.mark.parametrize("name", COMPLEX)
def test_complex_functions_of_zeros_infinities_and_nans_agree_with_numpy(
    complex_loops: Loops, type: ScalarType, name: str
) -> None:
    z = values_of(type)
    with np.errstate(all="ignore"):
        want = numpy_function(name)(z)  # type: ignore[operator]
    got = complex_loops.run(f"{name}.{type}", z)
    bad = ~close(got, want, np.finfo(DTYPES[type]).eps)
    assert not bad.any(), [(z[k], got[k], want[k]) for k in np.flatnonzero(bad)]


@pytest.mark.parametrize("type", [COMPLEX64, COMPLEX128], ids=str)
def test_complex_branch_cuts_follow_the_sign_of_zero(complex_loops: Loops, type: ScalarType) -> None:
    z = np.array([complex(-2.0, 0.0), complex(-2.0, -0.0)], DTYPES[type])
    assert np.sign(complex_loops.run(f"sqrt.{type}", z).imag).tolist() == [1, -1]
    assert np.sign(complex_loops.run(f"log.{type}", z).imag).tolist() == [1, -1]


def test_complex_square_root_and_logarithm_do_not_overflow_or_underflow(complex_loops: Loops) -> None:
    z = np.array([complex(1e308, 1e308), complex(-1.7e308, 1e-300), complex(5e-324, 5e-324), complex(0, 1e-320)])
    assert close(complex_loops.run("sqrt.complex128", z), np.array([cmath.sqrt(v) for v in z]), 1e-15).all()
    assert close(complex_loops.run("log.complex128", z), np.array([cmath.log(v) for v in z]), 1e-15).all()


@pytest.mark.parametrize("type", [COMPLEX64, COMPLEX128], ids=str)
def test_complex_powers_agree_with_numpy(complex_loops: Loops, type: ScalarType) -> None:
    random = np.random.default_rng(13)
    a = (random.standard_normal(500) + 1j * random.standard_normal(500)).astype(DTYPES[type])
    exponents = [0, 1, 2, 3, -1, -4, 17, 0.5, -1.5, 1j, 2 - 0.5j]
    for exponent in exponents:
        b = np.full(len(a), exponent, DTYPES[type])
        with np.errstate(all="ignore"):
            want = a**b
        got = complex_loops.run(f"pow.{type}", a, b)
        tolerance = np.finfo(DTYPES[type]).eps * 16 * (1 + abs(exponent))
        assert np.allclose(got, want, rtol=tolerance, atol=0), exponent
    near_unit = (np.exp(1j * random.uniform(-3, 3, 300)) * random.uniform(0.9, 1.1, 300)).astype(DTYPES[type])
    got = complex_loops.run(f"pow.{type}", near_unit, np.full(300, 120, DTYPES[type]))
    assert np.allclose(got, near_unit.astype(np.complex128) ** 120, rtol=np.finfo(DTYPES[type]).eps * 2000, atol=0)
    zero = np.zeros(3, DTYPES[type])
    got = complex_loops.run(f"pow.{type}", zero, np.array([0, 2, -1], DTYPES[type]))
    assert got[0] == 1 and got[1] == 0 and np.isnan(got[2])


@pytest.mark.parametrize("type", [COMPLEX64, COMPLEX128], ids=str)
def test_complex_values_come_apart_and_together(complex_loops: Loops, type: ScalarType) -> None:
    z = values_of(type)
    real, imaginary = complex_loops.run(f"real.{type}", z), complex_loops.run(f"imag.{type}", z)
    assert_same(real, z.real.tolist(), "real")
    assert_same(imaginary, z.imag.tolist(), "imag")
    assert_same(complex_loops.run(f"complex.{type}", real, imaginary), z.tolist(), "complex")
