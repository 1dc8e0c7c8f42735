"""The mathematical functions of kernels on Python values, by the C library that compiled kernels call too.

Does: give for each function of `ir.typed.Math` and its argument types a Python function.  Does not: say which Python objects they
are for the user (`functions.py`).
Invariants: nothing here raises or warns for any value: the edge cases are IEEE's and C's. f32 is computed by C's f32 functions,
f16 and bf16 in f32 and then rounded, as in compiled code, so that under `math="strict"` both give the same bits.

Example: `math_function("exp", (F32,))(1.0) == 2.7182817459106445`.
"""

from __future__ import annotations

import ctypes
import math
import struct
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from lend.language.bit_patterns import bit_function, target_of
from lend.language.rounding import bf16_bits, bf16_value, round_f32, rounding
from lend.language.types import BF16, F16, F32, F64, PART, ScalarType

ROUNDINGS = frozenset(("floor", "ceil", "trunc", "rint"))
TRIGONOMETRIC = frozenset(("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"))
POWERS = frozenset(("sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p"))
UNARY = ROUNDINGS | TRIGONOMETRIC | POWERS | {"erf", "erfc", "tgamma", "lgamma"}
BINARY = frozenset(("atan2", "hypot", "fmod", "copysign", "nextafter", "remainder", "fmax", "fmin", "pow"))
TERNARY = frozenset(("fma",))
PREDICATES = frozenset(("isnan", "isinf", "isfinite", "signbit"))
COMPLEX = frozenset(("exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "conj"))


def math_function(function: str, types: Sequence[ScalarType]) -> Callable[..., Any]:
    """The Python function for the primitive `function` of arguments of `types`. Raises KeyError if there is none."""
    return _math_function(function, tuple(types))


@cache
def _math_function(function: str, types: tuple[ScalarType, ...]) -> Callable[..., Any]:
    kind = types[0].kind
    if (target := target_of(function)) is not None:
        return bit_function(types[0], target)
    if kind in ("bool", "int", "uint"):
        return _integer(function, types[0])
    if kind == "complex":
        return _of_complex(function, types[0])
    if function == "complex":
        return complex
    if function in PREDICATES:
        return {"isnan": math.isnan, "isinf": math.isinf, "isfinite": math.isfinite, "signbit": _signbit}[function]
    if function == "nextafter" and types[0] in (F16, BF16):
        return _next_f16 if types[0] is F16 else _next_bf16
    if function in ("fmax", "fmin"):
        return _fmax if function == "fmax" else _fmin
    return real_function(function, types[0])


@cache
def _library() -> ctypes.PyDLL:
    """C's mathematical library: in the process already, on Unix."""
    return ctypes.PyDLL("ucrtbase" if sys.platform == "win32" else None)


@cache
def real_function(name: str, type: ScalarType) -> Callable[..., float]:
    """C's function `name` for a float type. Raises KeyError if it is none of the primitives."""
    arity = 1 if name in UNARY else 2 if name in BINARY else 3 if name in TERNARY else 0
    if arity == 0:
        raise KeyError(name)
    number = ctypes.c_double if type is F64 else ctypes.c_float
    native: Callable[..., float] = _prototype(number, arity)((name if type is F64 else name + "f", _library()))
    if type in (F32, F64):
        return native
    narrow = rounding(type)

    def rounded(*arguments: float) -> float:
        return narrow(native(*arguments))

    return rounded


@cache
def _prototype(number: Any, arity: int) -> Any:
    return ctypes.PYFUNCTYPE(number, *[number] * arity)


def _fmax(a: float, b: float) -> float:
    """The larger of what is a number; 0.0 is above -0.0, which C leaves open."""
    if a != a or b != b:
        return b if a != a else a
    if a == b:
        return b if _signbit(a) else a
    return a if a > b else b


def _fmin(a: float, b: float) -> float:
    """The smaller of what is a number; -0.0 is below 0.0, which C leaves open."""
    if a != a or b != b:
        return b if a != a else a
    if a == b:
        return a if _signbit(a) else b
    return a if a < b else b


def _signbit(value: float) -> bool:
    return math.copysign(1.0, value) < 0.0


def _step(bits: int, value: float, towards: float, sign_bit: int) -> int:
    """The bits of the neighbour of `value` (whose bits are given) in the direction of another value."""
    if value == 0.0:
        return 1 if towards > 0.0 else sign_bit | 1
    return bits + 1 if (towards > value) == (value > 0.0) else bits - 1


def _next_f16(value: float, towards: float) -> float:
    if value != value or towards != towards:
        return math.nan
    if value == towards:
        return towards
    bits = _step(struct.unpack("<H", struct.pack("<e", value))[0], value, towards, 1 << 15)
    return struct.unpack("<e", struct.pack("<H", bits))[0]


def _next_bf16(value: float, towards: float) -> float:
    if value != value or towards != towards:
        return math.nan
    if value == towards:
        return towards
    return bf16_value(_step(bf16_bits(value), value, towards, 1 << 15))


def _integer(function: str, type: ScalarType) -> Callable[..., Any]:
    if function != "popcount":
        raise KeyError(function)
    mask = (1 << type.bits) - 1

    def popcount(value: int) -> int:
        return (value & mask).bit_count()

    return popcount


def _of_complex(function: str, type: ScalarType) -> Callable[..., Any]:
    if function == "real":
        return _real
    if function == "imag":
        return _imaginary
    if function == "conj":
        return complex.conjugate
    if function in PREDICATES:
        return {"isnan": _complex_isnan, "isinf": _complex_isinf, "isfinite": _complex_isfinite}[function]
    if function not in COMPLEX:
        raise KeyError(function)
    ufunc: Any = getattr(np, function)
    return complex_ufunc(ufunc, type)


def complex_ufunc(ufunc: Any, type: ScalarType) -> Callable[..., complex]:
    """NumPy's scalar function on complex values of `type`, without warnings."""
    number = np.complex64 if PART[type] is F32 else np.complex128

    def apply(*arguments: complex) -> complex:
        with np.errstate(all="ignore"):
            return complex(ufunc(*map(number, arguments)))

    return apply


def _real(value: complex) -> float:
    return value.real


def _imaginary(value: complex) -> float:
    return value.imag


def _complex_isnan(value: complex) -> bool:
    return value != value


def _complex_isinf(value: complex) -> bool:
    return math.isinf(value.real) or math.isinf(value.imag)


def _complex_isfinite(value: complex) -> bool:
    return math.isfinite(value.real) and math.isfinite(value.imag)


def magnitude(type: ScalarType) -> Callable[[complex], float]:
    """`abs` of a complex type, a value of its part's type."""
    hypot = real_function("hypot", PART[type])

    def absolute(value: complex) -> float:
        return hypot(value.real, value.imag)

    return absolute


def round_parts(value: complex) -> complex:
    """The complex64 nearest to `value`."""
    return complex(round_f32(value.real), round_f32(value.imag))
