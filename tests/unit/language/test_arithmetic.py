"""Scalar operations against NumPy: all pairs of the 8-bit types, edge values of the others."""

from __future__ import annotations

import fractions
import itertools
import math
import warnings

import ml_dtypes
import numpy as np
import pytest

from lend.language import arithmetic
from lend.language.arithmetic import binary, binary_function, cast, fault_of, unary
from lend.language.libm import BINARY, UNARY
from lend.language.rounding import bf16_bits, bf16_value, float_of_integer, round_bf16, round_f16
from lend.language.types import (
    BF16,
    BOOL_,
    COMPLEX64,
    COMPLEX128,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    INDEX,
    PART,
    U8,
    U16,
    U32,
    U64,
)  # fmt: skip

DTYPE = {
    BOOL_: np.bool_, I8: np.int8, I16: np.int16, I32: np.int32, I64: np.int64, U8: np.uint8, U16: np.uint16, U32: np.uint32,
    U64: np.uint64, F16: np.float16, BF16: ml_dtypes.bfloat16, F32: np.float32, F64: np.float64, COMPLEX64: np.complex64,
    COMPLEX128: np.complex128,
}  # fmt: skip
WIDE_INTEGERS = (I16, I32, I64, U16, U32, U64)
FLOATS = (F16, F32, F64)
UFUNC = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "min": np.minimum, "max": np.maximum,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
INTEGER_OPERATORS = ("add", "sub", "mul", "floordiv", "mod", "and", "or", "xor", "min", "max", *arithmetic.COMPARISONS)
SMOOTH = ("sqrt", "exp", "log", "sin", "cos", "tanh", "log1p", "expm1", "arctan", "cbrt", "floor", "ceil", "rint")
EDGE_FLOATS = [
    0.0, -0.0, 1.0, -1.0, 0.1, -0.1, 0.5, 1.5, 2.5, -2.5, 3.0, 7.0, -7.0, 10.0, 255.0, 65504.0, 65520.0, -65520.0, 1e-5, 6e-8,
    3e-8, 1e-40, 1e-45, 3.4e38, -3.4e38, 1e300, 5e-324, 1.7e308, math.pi, math.inf, -math.inf, math.nan,
    0.30000000000000004, 2.0**24 + 1, 2.0**53, 1 / 3,
]  # fmt: skip


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def edges(type):
    if type.is_integer:
        low, high = type.minimum, type.maximum
        values = {low, low + 1, high, high - 1, 0, 1, 2, 3, 5, 7, 100, high // 2, high // 3, low // 2}
        return sorted(values | ({-1, -2, -3, -7} if low < 0 else set()))
    rounded = [cast(type, value) for value in EDGE_FLOATS]
    if type.kind == "float":
        return rounded
    parts = [cast(PART[type], v) for v in (0.0, -0.0, 1.0, -2.5, 0.1, 1e17, 1e-40, math.inf, math.nan)]
    return [complex(a, b) for a in parts for b in parts]


def same(ours, theirs):
    """Equal, with NaN equal to NaN and zeros told apart."""
    if isinstance(ours, complex):
        return same(ours.real, theirs.real) and same(ours.imag, theirs.imag)
    if isinstance(ours, float):
        if math.isnan(ours):
            return math.isnan(theirs)
        return ours == theirs and math.copysign(1.0, ours) == math.copysign(1.0, theirs)
    return ours == theirs


def against_numpy(type, operator, pairs):
    function = binary_function(operator, type)
    left = np.array([a for a, _ in pairs], DTYPE[type])
    right = np.array([b for _, b in pairs], DTYPE[type])
    with np.errstate(all="ignore"):
        expected = UFUNC[operator](left, right)
    if type is BF16 and expected.dtype != np.bool_:
        expected = expected.astype(np.float32)
    for (a, b), value in zip(pairs, expected.tolist(), strict=True):
        assert same(function(a, b), value), f"{operator} {type}: {a!r}, {b!r}: {function(a, b)!r}, NumPy {value!r}"


# ------------------------------------------------------------------------------------------------------ integers


@pytest.mark.parametrize("type", [I8, U8], ids=str)
@pytest.mark.parametrize("operator", ["add", "sub", "mul", "floordiv", "mod", "and", "or", "xor", "min", "max", "eq", "lt", "ge"])
def test_all_pairs_of_bytes_as_numpy(type, operator):
    values = range(type.minimum, type.maximum + 1)
    pairs = [(a, b) for a in values for b in values if b or operator not in ("floordiv", "mod")]
    against_numpy(type, operator, pairs)


@pytest.mark.parametrize("type", WIDE_INTEGERS, ids=str)
@pytest.mark.parametrize("operator", INTEGER_OPERATORS)
def test_edges_of_wide_integers_as_numpy(type, operator):
    values = edges(type)
    against_numpy(type, operator, [(a, b) for a in values for b in values if b or operator not in ("floordiv", "mod")])


@pytest.mark.parametrize("type", [I8, U8, I32, U64, INDEX], ids=str)
def test_shifts_are_pythons_truncated(type):
    wrap = lambda n: cast(type, n)  # noqa: E731
    for a in edges(type):
        for count in (0, 1, type.bits - 1, type.bits, type.bits + 1, type.maximum):
            assert binary("shl", type, a, count) == (wrap(a << count) if count < 1000 else 0)
            assert binary("shr", type, a, count) == (a >> count if count < 1000 else (-1 if a < 0 else 0))


@pytest.mark.parametrize("type", [I8, U8, I64, U64], ids=str)
def test_integer_power_wraps(type):
    for a in edges(type):
        for exponent in (0, 1, 2, 3, 7, 64, 100):
            assert binary("pow", type, a, exponent) == cast(type, a**exponent)


@pytest.mark.parametrize("type", [I8, I16, I32, I64, INDEX], ids=str)
def test_the_least_integer_has_no_opposite(type):
    low = type.minimum
    assert unary("neg", type, low) == low
    assert unary("abs", type, low) == low
    assert binary("floordiv", type, low, -1) == low
    assert binary("mod", type, low, -1) == 0


def test_invert_flips_all_bits():
    assert unary("invert", U8, 5) == 250
    assert unary("invert", I8, 5) == -6
    assert unary("invert", BOOL_, True) is False
    assert unary("neg", U16, 1) == 65535


def test_bool_operators_give_bools():
    for a, b in itertools.product((False, True), repeat=2):
        assert binary("and", BOOL_, a, b) is (a and b)
        assert binary("or", BOOL_, a, b) is (a or b)
        assert binary("xor", BOOL_, a, b) is (a != b)
        assert binary("min", BOOL_, a, b) is (a and b)
        assert binary("eq", BOOL_, a, b) is (a == b)


def test_faults_are_named():
    assert fault_of("floordiv", I32, 0) == fault_of("mod", U8, 0) == "division"
    assert fault_of("shl", I32, -1) == fault_of("shr", I8, -3) == "shift"
    assert fault_of("pow", I32, -1) == "exponent"
    assert fault_of("floordiv", F32, 0.0) is None
    assert fault_of("pow", F64, -1.0) is None
    assert fault_of("floordiv", I32, 2) is fault_of("shl", U8, 200) is None
    assert binary("floordiv", I32, 7, 0) == binary("mod", I32, 7, 0) == 0


def test_population_count_is_of_the_two_complement_bits():
    assert arithmetic.math("popcount", (I8,), (-1,)) == 8
    assert arithmetic.math("popcount", (U64,), (2**64 - 1,)) == 64


# -------------------------------------------------------------------------------------------------------- floats


@pytest.mark.parametrize("type", FLOATS, ids=str)
@pytest.mark.parametrize("operator", ["add", "sub", "mul", "div", "floordiv", "mod", *list(arithmetic.COMPARISONS)])
def test_edges_of_floats_as_numpy(type, operator):
    values = edges(type)
    against_numpy(type, operator, [(a, b) for a in values for b in values])


@pytest.mark.parametrize("operator", ["add", "sub", "mul", "div", "eq", "lt", "ge"])
def test_edges_of_bf16_as_ml_dtypes(operator):
    values = edges(BF16)
    against_numpy(BF16, operator, [(a, b) for a in values for b in values])


@pytest.mark.parametrize("type", [F16, BF16, F32, F64], ids=str)
def test_minimum_and_maximum_propagate_nan_and_order_zeros(type):
    for a, b in ((0.0, -0.0), (-0.0, 0.0)):
        assert math.copysign(1, binary("min", type, a, b)) == -1
        assert math.copysign(1, binary("max", type, a, b)) == 1
    for operator in ("min", "max"):
        assert math.isnan(binary(operator, type, math.nan, 1.0))
        assert math.isnan(binary(operator, type, 1.0, math.nan))
    assert binary("min", type, -1.0, 2.0) == -1.0
    assert binary("max", type, -1.0, 2.0) == 2.0


@pytest.mark.parametrize("type", [F16, BF16, F32], ids=str)
def test_narrow_results_are_the_exact_ones_rounded_once(type):
    values = [v for v in edges(type) if math.isfinite(v)]
    rng = np.random.default_rng(3)
    values += [cast(type, v) for v in (rng.standard_normal(60) * np.exp(rng.uniform(-20, 20, 60))).tolist()]
    values = [v for v in values if math.isfinite(v)]
    for a, b in itertools.product(values, values):
        for operator, exact in (("add", lambda x, y: x + y), ("mul", lambda x, y: x * y), ("div", lambda x, y: x / y)):
            if operator == "div" and b == 0:
                continue
            expected = nearest(type, exact(fractions.Fraction(a), fractions.Fraction(b)))
            assert binary(operator, type, a, b) == expected, (operator, a, b)


def nearest(type, value):
    """A fraction rounded to nearest even in a binary format, without machine arithmetic."""
    bits, least, limit = {F16: (11, -24, 2.0**16), BF16: (8, -133, 2.0**128), F32: (24, -149, 2.0**128)}[type]
    if value == 0:
        return 0.0
    exponent = least
    if abs(value) >= fractions.Fraction(2) ** (least + bits):
        numerator, denominator = abs(value).numerator, abs(value).denominator
        exponent = numerator.bit_length() - denominator.bit_length() - bits
        while abs(value) >= fractions.Fraction(2) ** (exponent + bits):
            exponent += 1
        exponent = max(exponent, least)
    result = round(value / fractions.Fraction(2) ** exponent) * fractions.Fraction(2) ** exponent
    return math.copysign(math.inf, value) if abs(result) >= limit else float(result)


def test_fused_multiply_add_rounds_once():
    a = 1.0 + 2.0**-52
    assert arithmetic.math("fma", (F64,) * 3, (a, a, -1.0 - 2.0**-51)) == 2.0**-104
    assert arithmetic.math("fma", (F32,) * 3, (1.0 + 2.0**-23, 1.0 + 2.0**-23, -1.0 - 2.0**-22)) == 2.0**-46


@pytest.mark.parametrize("type", [F16, BF16, F32, F64], ids=str)
def test_functions_never_raise_and_give_values_of_their_type(type):
    values = edges(type)
    for name in sorted(UNARY):
        for a in values:
            result = arithmetic.math(name, (type,), (a,))
            assert same(cast(type, result), result), (name, a)
    for name in sorted(BINARY):
        for a, b in itertools.product(values, values):
            result = arithmetic.math(name, (type, type), (a, b))
            assert same(cast(type, result), result), (name, a, b)


@pytest.mark.parametrize("name", SMOOTH)
def test_functions_of_f32_are_close_to_numpys(name):
    values = np.array(edges(F32), np.float32)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(values)
    ours = [arithmetic.math({"arctan": "atan"}.get(name, name), (F32,), (v,)) for v in values.tolist()]
    np.testing.assert_allclose(np.array(ours), expected, rtol=3e-7)


def test_edge_values_of_functions_are_those_of_ieee():
    def f64(name, *arguments):
        return arithmetic.math(name, (F64,) * len(arguments), arguments)

    assert math.isnan(f64("sqrt", -1.0))
    assert f64("log", 0.0) == -math.inf
    assert f64("exp", 1000.0) == math.inf
    assert f64("lgamma", -1.0) == math.inf
    assert math.isnan(f64("fmod", 1.0, 0.0))
    assert math.isnan(f64("fmod", math.inf, 1.0))
    assert f64("remainder", 5.0, 3.0) == -1.0
    assert f64("fmax", math.nan, 1.0) == 1.0
    assert f64("pow", 0.0, -1.0) == math.inf
    assert math.isnan(f64("pow", -8.0, 1 / 3))
    assert f64("rint", 2.5) == 2.0
    assert f64("signbit", -0.0) is True
    assert f64("isnan", math.nan) is True


@pytest.mark.parametrize(("type", "dtype"), [(F16, np.float16), (F32, np.float32), (F64, np.float64)], ids=str)
def test_the_next_value_is_of_the_type_itself(type, dtype):
    values = edges(type)
    for a, b in itertools.product(values, values):
        with np.errstate(all="ignore"):
            expected = float(np.nextafter(dtype(a), dtype(b))) if a != b else b  # on zeros NumPy's halves differ from C
        assert same(arithmetic.math("nextafter", (type, type), (a, b)), expected), (a, b)
    assert arithmetic.math("nextafter", (BF16, BF16), (1.0, 2.0)) == 1.0078125


# ------------------------------------------------------------------------------------------------------- complex


@pytest.mark.parametrize("type", [COMPLEX64, COMPLEX128], ids=str)
@pytest.mark.parametrize("operator", ["add", "sub", "mul", "div", "eq", "ne"])
def test_edges_of_complex_as_numpy(type, operator):
    values = edges(type)
    pairs = list(itertools.product(values[::2], values[::3]))
    function = binary_function(operator, type)
    scalar = DTYPE[type]
    for a, b in pairs:
        with np.errstate(all="ignore"):
            expected = UFUNC[operator](scalar(a), scalar(b)).item()
        ours = function(a, b)
        if operator == "mul" and np.isfinite(ours) and np.isfinite(expected):  # NumPy may fuse one product with the sum
            assert abs(ours - expected) <= 2 * np.finfo(scalar).eps * abs(a) * abs(b)
        else:
            assert same(ours, expected), (operator, a, b, ours, expected)


def test_complex_parts_and_magnitude():
    assert unary("abs", COMPLEX128, 3 + 4j) == 5.0
    assert unary("abs", COMPLEX128, complex(1e308, 1e308)) < math.inf
    assert unary("neg", COMPLEX64, complex(0.0, 1.0)) == complex(-0.0, -1.0)
    assert arithmetic.math("conj", (COMPLEX64,), (1 + 2j,)) == 1 - 2j
    assert arithmetic.math("real", (COMPLEX64,), (1 + 2j,)) == 1.0
    assert arithmetic.math("complex", (F32, F32), (1.0, 2.0)) == 1 + 2j
    assert arithmetic.math("exp", (COMPLEX128,), (0j,)) == 1
    assert binary("pow", COMPLEX128, 1j, 2 + 0j) == -1


# --------------------------------------------------------------------------------------------------------- casts


@pytest.mark.parametrize("type", [I8, I16, I32, I64, U8, U16, U32, U64, INDEX], ids=str)
def test_casts_to_integers_wrap_and_saturate(type):
    assert cast(type, type.maximum + 1) == type.minimum
    assert cast(type, 1e300) == cast(type, math.inf) == type.maximum
    assert cast(type, -1e300) == cast(type, -math.inf) == type.minimum
    assert cast(type, math.nan) == 0
    assert cast(type, 2.9) == 2
    assert cast(type, -0.9) == 0
    assert cast(type, True) == 1 and cast(type, True) is not True
    assert cast(type, float(type.maximum)) == type.maximum


def test_casts_to_bool_compare_with_zero():
    assert cast(BOOL_, 2) is True
    assert cast(BOOL_, -0.0) is False
    assert cast(BOOL_, math.nan) is True
    assert cast(BOOL_, 1j) is True


def test_casts_to_narrow_floats_round_once():
    for value in EDGE_FLOATS:
        with np.errstate(all="ignore"):
            assert same(cast(F32, value), float(np.float32(value)))
            assert same(cast(F16, value), float(np.float16(value)))
    just_above_half = 1.0 + 2.0**-11 + 2.0**-40  # rounding to f32 first would give the even neighbour
    assert round_f16(just_above_half) == 1.0 + 2.0**-10
    assert round_bf16(1.0 + 2.0**-8 + 2.0**-40) == 1.0 + 2.0**-7


def test_every_bf16_is_itself():
    bits = np.arange(1 << 16, dtype=np.uint16)
    with np.errstate(all="ignore"):
        expected = bits.view(ml_dtypes.bfloat16).astype(np.float64)
    for pattern, value in zip(bits.tolist(), expected.tolist(), strict=True):
        assert same(bf16_value(pattern), value)
        if not math.isnan(value):
            assert same(round_bf16(value), value)
            assert bf16_bits(value) == pattern


def test_every_f32_near_a_bf16_rounds_as_ml_dtypes():
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 1 << 32, 20000, dtype=np.uint32)
    bits[::2] = (bits[::2] & 0xFFFF0000) | rng.choice([0x7FFF, 0x8000, 0x8001], len(bits[::2])).astype(np.uint32)
    values = bits.view(np.float32)
    with np.errstate(all="ignore"):
        expected = values.astype(ml_dtypes.bfloat16).astype(np.float64)
        values = values.astype(np.float64)
    for value, rounded in zip(values.tolist(), expected.tolist(), strict=True):
        assert same(round_bf16(value), rounded), value


def test_large_integers_round_once():
    for value in (2**24 + 1, 2**62 + 2**38 + 1, 2**63 - 1, 2**64 - 1, (1 << 60) + (1 << 36) + 1, -(2**63) + 1, 10**18 + 7):
        dtype = np.uint64 if value > 0 else np.int64
        assert float_of_integer(F32, value) == float(dtype(value).astype(np.float32))
        assert float_of_integer(F64, value) == float(dtype(value).astype(np.float64))
        assert float_of_integer(BF16, value) == nearest(BF16, fractions.Fraction(value))
    assert cast(F64, 10**400) == math.inf
    assert cast(F32, 10**40) == math.inf
    assert cast(F16, -(10**6)) == -math.inf


def test_casts_take_any_number_and_nothing_else():
    assert cast(F32, np.float64(0.1)) == float(np.float32(0.1))
    assert cast(I32, np.int64(2**31)) == -(2**31)
    assert cast(F64, fractions.Fraction(1, 4)) == 0.25
    assert cast(COMPLEX64, 0.1) == complex(float(np.float32(0.1)), 0.0)
    assert cast(F32, ml_dtypes.bfloat16(1.5)) == 1.5
    for wrong in ("1", b"1", None, np.zeros(3)):
        with pytest.raises(TypeError):
            cast(F32, wrong)
    with pytest.raises(TypeError, match="complex"):
        cast(F32, 1j)


@pytest.mark.parametrize("type", [F16, F32, F64], ids=str)
def test_fmax_and_fmin_leave_nan_out_and_order_zeros(type):
    for a, b in ((0.0, -0.0), (-0.0, 0.0)):
        assert same(arithmetic.math("fmax", (type, type), (a, b)), 0.0)
        assert same(arithmetic.math("fmin", (type, type), (a, b)), -0.0)
    assert arithmetic.math("fmin", (type, type), (math.nan, 2.0)) == 2.0
    assert arithmetic.math("fmax", (type, type), (-1.0, math.nan)) == -1.0
    assert math.isnan(arithmetic.math("fmax", (type, type), (math.nan, math.nan)))
