"""The meaning of every scalar operation, in plain Python on Python values.

Does: casts, operators and mathematical functions exactly as compiled code does them, for `f32(0.1)` outside kernels, constant
folding and `kernel.py`.  Does not: raise faults (`fault_of` says when the caller must) or know arrays.
Invariants: a value is a bool, an int in its type's range, a float that is exactly one of its type's (f16, bf16, f32), or a
complex with such parts. No operation raises or warns for values of its type; each float operation rounds once. The exact result
of `+ - * / sqrt` on f32, f16 and bf16 is had by computing in f64, which has more than twice their bits, and rounding.

Example: `binary("add", I32, 2**31 - 1, 1) == -2**31`; `binary_function("add", F32)(0.5, 0.25) == 0.75`.
"""

from __future__ import annotations

import math as _math
import operator as _operator
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Literal

import numpy as np

from lend.language.libm import complex_ufunc, magnitude, math_function, real_function, round_parts
from lend.language.rounding import float_of_integer, round_f32, rounding, saturated, wrapping
from lend.language.types import COMPLEX64, PART, ScalarType

Number = int | float | complex | bool

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": _operator.eq,
    "ne": _operator.ne,
    "lt": _operator.lt,
    "le": _operator.le,
    "gt": _operator.gt,
    "ge": _operator.ge,
}
_LATTICE: dict[str, Callable[[Any, Any], Any]] = {
    "and": _operator.and_,  # pyright: ignore[reportUnknownMemberType]
    "or": _operator.or_,  # pyright: ignore[reportUnknownMemberType]
    "xor": _operator.xor,  # pyright: ignore[reportUnknownMemberType]
    "min": min,
    "max": max,
}


# ------------------------------------------------------------------------------------------------------ casts


def cast(type: ScalarType, value: Any) -> Any:
    """`value`, any number, as a value of `type`: integers wrap, floats saturate into integers, and round into floats.

    Raises TypeError for what is no number, and for a complex number as a real type.
    """
    if not isinstance(value, bool | int | float | complex):
        value = _python_number(value)
    if isinstance(value, complex) and type.kind not in ("complex", "bool"):
        raise TypeError(f"{type}(…) of a complex number: take its .real or .imag")
    return cast_function(type)(value)


def _python_number(value: Any) -> Number:
    if isinstance(value, np.generic):
        item: Any = value.item()  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        return item if isinstance(item, bool | int | float | complex) else value.__float__()
    if isinstance(value, str | bytes) or getattr(value, "ndim", 0):
        raise TypeError(f"a number is needed, not {type(value).__name__}")
    for convert in ("__index__", "__float__", "__complex__"):
        if hasattr(value, convert):
            return getattr(value, convert)()
    raise TypeError(f"a number is needed, not {type(value).__name__}")


@cache
def cast_function(type: ScalarType) -> Callable[[Any], Any]:
    """The cast to `type` of a Python bool, int, float or (to bool_ and complex) complex."""
    if type.kind == "bool":
        return _not_zero
    if type.kind == "complex":
        return _cast_to_complex(type)
    if type.kind == "float":
        return _cast_to_float(type)
    wrap = wrapping(type)

    def to_integer(value: int | float) -> int:
        return saturated(type, value) if isinstance(value, float) else wrap(int(value))

    return to_integer


def _not_zero(value: Any) -> bool:
    return value != 0


def _cast_to_float(type: ScalarType) -> Callable[[Any], Any]:
    rounded = rounding(type)

    def to_float(value: int | float) -> float:
        return rounded(value) if isinstance(value, float) else float_of_integer(type, int(value))

    return to_float


def _cast_to_complex(type: ScalarType) -> Callable[[Any], Any]:
    part = _cast_to_float(PART[type])
    narrow = type is COMPLEX64

    def to_complex(value: Any) -> complex:
        if isinstance(value, complex):
            return round_parts(value) if narrow else value
        return complex(part(value), 0.0)

    return to_complex


# -------------------------------------------------------------------------------------------------- operators


def unary(operator: str, type: ScalarType, a: Any) -> Any:
    """`operator a`, the operand being of `type`; operators are those of `ir.typed.UnaryOperator`."""
    return unary_function(operator, type)(a)


def binary(operator: str, type: ScalarType, a: Any, b: Any) -> Any:
    """`a operator b`, both of `type`; operators are those of `ir.typed.BinaryOperator`. Where `fault_of` says so, 0."""
    return binary_function(operator, type)(a, b)


def math(function: str, types: Sequence[ScalarType], arguments: Sequence[Any]) -> Any:
    """The primitive `function` (`ir.typed.Math`) of arguments of `types`."""
    return math_function(function, types)(*arguments)


def fault_of(operator: str, type: ScalarType, right: Any) -> Literal["division", "shift", "exponent"] | None:
    """Which fault `… operator right` is, if it is one."""
    if not type.is_integer:
        return None
    if operator in ("floordiv", "mod"):
        return "division" if right == 0 else None
    if operator in ("shl", "shr"):
        return "shift" if right < 0 else None
    return "exponent" if operator == "pow" and right < 0 else None


@cache
def unary_function(operator: str, type: ScalarType) -> Callable[[Any], Any]:
    """The function for a unary operator on `type`. Raises KeyError if there is none."""
    if type.kind == "bool":
        return {"not": _operator.not_, "invert": _operator.not_}[operator]
    if type.kind == "float":
        return {"neg": _operator.neg, "abs": abs}[operator]
    if type.kind == "complex":
        return {"neg": _negated, "abs": magnitude(type)}[operator]
    wrap = wrapping(type)
    exact: Callable[[Any], Any] = {"neg": _operator.neg, "abs": abs, "invert": _operator.invert}[operator]

    def wrapped(a: int) -> int:
        return wrap(exact(a))

    return wrapped


def _negated(a: complex) -> complex:
    return complex(-a.real, -a.imag)


@cache
def binary_function(operator: str, type: ScalarType) -> Callable[[Any, Any], Any]:
    """The function for a binary operator on `type`. Raises KeyError if there is none."""
    if operator in COMPARISONS:
        if type.kind == "complex" and operator not in ("eq", "ne"):
            raise KeyError(operator)
        return COMPARISONS[operator]
    if type.kind == "complex":
        return _complex(operator, type)
    if type.kind == "float":
        return _float(operator, type)
    if operator in ("and", "or", "xor", "min", "max"):
        return _LATTICE[operator]
    if type.kind == "bool":
        raise KeyError(operator)
    return _integer(operator, type)


# --------------------------------------------------------------------------------------------------- integers


def _integer(operator: str, type: ScalarType) -> Callable[[int, int], int]:
    wrap, bits = wrapping(type), type.bits
    modulus = 1 << bits

    def shl(a: int, b: int) -> int:
        return wrap(a << b) if 0 <= b < bits else 0

    def shr(a: int, b: int) -> int:
        return a >> min(b, bits) if b >= 0 else 0

    def floordiv(a: int, b: int) -> int:
        return wrap(a // b) if b else 0

    def mod(a: int, b: int) -> int:
        return a % b if b else 0

    def power(a: int, b: int) -> int:
        return wrap(pow(a, b, modulus)) if b >= 0 else 0

    special: dict[str, Callable[[int, int], int]] = {"shl": shl, "shr": shr, "floordiv": floordiv, "mod": mod, "pow": power}
    if operator in special:
        return special[operator]
    exact: Callable[[int, int], int] = {"add": _operator.add, "sub": _operator.sub, "mul": _operator.mul}[operator]

    def wrapped(a: int, b: int) -> int:
        return wrap(exact(a, b))

    return wrapped


# ----------------------------------------------------------------------------------------------------- floats


def divide(a: float, b: float) -> float:
    """IEEE division of two f64."""
    if b:
        return a / b
    if a == 0.0 or a != a:
        return _math.nan
    return _math.inf if _math.copysign(1.0, a) == _math.copysign(1.0, b) else -_math.inf


def minimum(a: float, b: float) -> float:
    """The smaller; NaN if either is, and -0.0 below 0.0."""
    if a != a or b != b:
        return _math.nan
    if a == b:
        return a if _math.copysign(1.0, a) < 0.0 else b
    return a if a < b else b


def maximum(a: float, b: float) -> float:
    """The larger; NaN if either is, and 0.0 above -0.0."""
    if a != a or b != b:
        return _math.nan
    if a == b:
        return b if _math.copysign(1.0, a) < 0.0 else a
    return a if a > b else b


def _float(operator: str, type: ScalarType) -> Callable[[float, float], float]:
    if operator in ("min", "max"):
        return minimum if operator == "min" else maximum
    if operator == "pow":
        return real_function("pow", type)
    wide = type.bits == 64
    narrow = rounding(type)
    if operator in ("floordiv", "mod"):
        return _floor_division(operator, type)
    exact: Callable[[float, float], float] = {
        "add": _operator.add,
        "sub": _operator.sub,
        "mul": _operator.mul,
        "div": divide,
    }[operator]
    if wide:
        return exact

    def rounded(a: float, b: float) -> float:
        return narrow(exact(a, b))

    return rounded


def _floor_division(operator: str, type: ScalarType) -> Callable[[float, float], float]:
    """`//` and `%` as NumPy's floor_divide and remainder (npy_divmod), in f64 or, for the narrower types, f32 arithmetic."""
    step = rounding(type) if type.bits >= 32 else round_f32
    last = rounding(type)

    def mod(a: float, b: float) -> float:
        rest = _remainder(a, b)
        if b == 0.0:
            return rest
        if rest:
            return last(step(rest + b)) if (b < 0.0) != (rest < 0.0) else rest
        return _math.copysign(0.0, b)

    def floordiv(a: float, b: float) -> float:
        if b == 0.0:
            return divide(a, b)
        rest = _remainder(a, b)
        quotient = step(step(a - rest) / b)
        if rest and (b < 0.0) != (rest < 0.0):
            quotient = step(quotient - 1.0)
        if not quotient:
            return _math.copysign(0.0, divide(a, b))
        if not _math.isfinite(quotient):
            return quotient
        floor = float(_math.floor(quotient))
        return last(step(floor + 1.0) if step(quotient - floor) > 0.5 else floor)

    return mod if operator == "mod" else floordiv


def _remainder(a: float, b: float) -> float:
    """C's fmod: exact, with the sign of `a`; NaN where C gives it."""
    if b == 0.0 or _math.isinf(a) or a != a or b != b:
        return _math.nan
    return _math.fmod(a, b)


# ---------------------------------------------------------------------------------------------------- complex


def _complex(operator: str, type: ScalarType) -> Callable[[complex, complex], complex]:
    """As NumPy: the product by four multiplications, the quotient by Smith's method (Communications of the ACM 5, 1962)."""
    part = rounding(PART[type])

    def add(a: complex, b: complex) -> complex:
        return complex(part(a.real + b.real), part(a.imag + b.imag))

    def sub(a: complex, b: complex) -> complex:
        return complex(part(a.real - b.real), part(a.imag - b.imag))

    def mul(a: complex, b: complex) -> complex:
        real = part(part(a.real * b.real) - part(a.imag * b.imag))
        return complex(real, part(part(a.real * b.imag) + part(a.imag * b.real)))

    def div(a: complex, b: complex) -> complex:
        c, d = b.real, b.imag
        if abs(c) >= abs(d):
            if c == 0.0 and d == 0.0:
                return complex(part(divide(a.real, abs(c))), part(divide(a.imag, abs(c))))
            ratio = part(d / c)
            scale = part(divide(1.0, part(c + part(d * ratio))))
            real = part(part(a.real + part(a.imag * ratio)) * scale)
            return complex(real, part(part(a.imag - part(a.real * ratio)) * scale))
        ratio = part(divide(c, d))
        scale = part(divide(1.0, part(d + part(c * ratio))))
        real = part(part(part(a.real * ratio) + a.imag) * scale)
        return complex(real, part(part(part(a.imag * ratio) - a.real) * scale))

    if operator == "pow":
        return complex_ufunc(np.power, type)
    return {"add": add, "sub": sub, "mul": mul, "div": div}[operator]
