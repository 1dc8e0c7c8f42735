"""Arguments by value: from what a user passes to the value the kernel gets.

Does: convert Python and NumPy scalars to a scalar type, give the numbers that the ABI stores, read results back.
Does not: know parameters' kinds (`arguments.py`).
Invariants: a Python float or complex rounds to the type, once; a Python int is range-checked; a NumPy scalar, a 0-d array and a
bool must be of a type that widens without loss. What is refused is refused with the cast to write.

Example: `convert(F32, 0.1, "saxpy: a") == 0.10000000149011612`.
"""

from __future__ import annotations

import ctypes
import math
import operator
from collections.abc import Callable
from typing import Any

from lend.diagnostics.errors import ArgumentError
from lend.diagnostics.words import class_of_value, counted
from lend.language.dtypes import scalar_of
from lend.language.rounding import bf16_bits, bf16_value, float_of_integer, rounding
from lend.language.types import BF16, BOOL_, COMPLEX64, COMPLEX128, F16, F32, F64, I64, PART, ScalarType, widens
from lend.runtime.elements import is_array, is_numpy_scalar, numpy_name

FORMATS = {
    "bool_": "?7x",
    "i8": "b7x",
    "i16": "h6x",
    "i32": "i4x",
    "i64": "q",
    "index": "q",
    "u8": "B7x",
    "u16": "H6x",
    "u32": "I4x",
    "u64": "Q",
    "f16": "e6x",
    "bf16": "H6x",
    "f32": "f4x",
    "f64": "d",
    "complex64": "ff",
    "complex128": "dd",
}
"""`struct` format of each scalar type in its ABI words (little-endian, no implied alignment), by name."""

LARGEST = {F16: 65504.0, BF16: 2.0**128 - 2.0**120, F32: 2.0**128 - 2.0**104, F64: math.ldexp(2.0**53 - 1, 971)}
"""The largest finite value of each float type."""

Converter = Callable[[Any, str], Any]
"""Takes the user's value and the subject of messages (`"saxpy: a"`)."""


# ---------------------------------------------------------------------------------------------------- conversion


def convert(element: ScalarType, value: Any, subject: str) -> Any:
    """The Python value (int, float, complex or bool, exactly one of `element`) that the kernel gets for `value`."""
    return CONVERTERS[element.kind](element, value, subject)


def _to_integer(element: ScalarType, value: Any, subject: str) -> int:
    if type(value) is not int:
        value = _integer_of(element, value, subject)
    if element.minimum <= value <= element.maximum:
        return value
    raise ArgumentError(
        f"{subject} must be {element}, and {_short(value)} does not fit: {element} holds {element.minimum} to {element.maximum}"
    )


def _integer_of(element: ScalarType, value: Any, subject: str) -> int:
    value = _plain(element, value, subject)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        raise ArgumentError(f"{subject} must be {element}, not the float {value!r}: pass int({_name(subject)})")
    try:
        return operator.index(value)
    except TypeError:
        raise _refused(element, value, subject) from None


def _to_float(element: ScalarType, value: Any, subject: str) -> float:
    return rounding(element)(value) if type(value) is float else _float_of(element, value, subject)


def _float_of(element: ScalarType, value: Any, subject: str) -> float:
    value = _plain(element, value, subject)
    if isinstance(value, float):
        return rounding(element)(float(value))
    if isinstance(value, complex):
        raise ArgumentError(f"{subject} must be {element}, not the complex {value!r}: pass {_name(subject)}.real")
    try:
        whole = operator.index(value)
    except TypeError:
        raise _refused(element, value, subject) from None
    if abs(whole) > LARGEST[element]:
        raise ArgumentError(
            f"{subject} must be {element}, and {_short(whole)} does not fit: {element} holds up to {LARGEST[element]:g}"
        )
    return float_of_integer(element, whole)


def _to_complex(element: ScalarType, value: Any, subject: str) -> complex:
    part = PART[element]
    value = _plain(element, value, subject)
    if not isinstance(value, complex):
        return complex(_to_float(part, value, subject))
    round_part = rounding(part)
    return complex(round_part(value.real), round_part(value.imag))


def _to_bool(element: ScalarType, value: Any, subject: str) -> bool:
    if type(value) is bool:
        return value
    value = _plain(element, value, subject)
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        raise ArgumentError(f"{subject} must be bool_, not {value!r}: pass bool({_name(subject)})")
    raise _refused(element, value, subject)


CONVERTERS: dict[str, Callable[[ScalarType, Any, str], Any]] = {
    "int": _to_integer,
    "uint": _to_integer,
    "float": _to_float,
    "complex": _to_complex,
    "bool": _to_bool,
}


def converter_of(element: ScalarType) -> Converter:
    """`convert` for one type, with a short way for the Python type that is usual there."""
    slow = CONVERTERS[element.kind]
    if element.is_integer:
        least, most = element.minimum, element.maximum

        def integer(value: Any, subject: str) -> Any:
            return value if type(value) is int and least <= value <= most else slow(element, value, subject)

        return integer
    if element is F64:
        return lambda value, subject: value if type(value) is float else slow(element, value, subject)
    if element is F32:
        single = ctypes.c_float

        def rounded(value: Any, subject: str) -> Any:
            return single(value).value if type(value) is float else slow(element, value, subject)

        return rounded
    return lambda value, subject: slow(element, value, subject)


def _plain(element: ScalarType, value: Any, subject: str) -> Any:
    """A NumPy scalar or 0-d array as a Python number, if its type widens to `element`; other values as they are."""
    if is_array(value) and value.ndim == 0:
        value = value[()]
    if not is_numpy_scalar(value):
        return value
    source = scalar_of(value.dtype)
    if source is None:
        raise _refused(element, value, subject)
    if not widens(source, element):
        name = _name(subject)
        by_hand = {"int": f"int({name})", "uint": f"int({name})", "float": f"float({name})", "complex": f"complex({name})"}
        fix = f"{numpy_name(element)}({name})" if element.kind != "bool" else f"bool({name})"
        other = by_hand.get(element.kind)
        better = other is not None and source.kind == element.kind
        raise ArgumentError(
            f"{subject} must be {element}, and a NumPy {source} does not always fit without loss: "
            f"pass {f'{other} or ' if better else ''}{fix}"
        )
    return python_number(source, value)


def python_number(source: ScalarType, value: Any) -> Any:
    """A NumPy scalar of type `source` as a Python bool, int, float or complex of the same value."""
    match source.kind:
        case "bool":
            return bool(value)
        case "int" | "uint":
            return int(value)
        case "float":
            return float(value)
        case _:
            return complex(value)


def _refused(element: ScalarType, value: Any, subject: str) -> ArgumentError:
    if is_array(value):
        given = f"an array of {counted(value.ndim, 'dimension')}"
        return ArgumentError(f"{subject} must be one {element}, not {given}: pass an element, or annotate it Ref[{element}, N]")
    given = "None" if value is None else f"{class_of_value(value)} {_short(value)}".rstrip()
    return ArgumentError(f"{subject} must be {element}, not {given}")


def _name(subject: str) -> str:
    return subject.rpartition(": ")[2]


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:  # a user's own __repr__, or an int of more digits than Python prints
        return ""
    return text if len(text) <= 40 else f"{text[:37]}..."


# --------------------------------------------------------------------------------------------------- type variables


def strong_type(value: Any) -> ScalarType | None:
    """The scalar type that a NumPy scalar or 0-d array has by itself."""
    if is_numpy_scalar(value) or (is_array(value) and value.ndim == 0):
        return scalar_of(value.dtype)
    return None


def weak_type(value: Any) -> ScalarType | None:
    """The scalar type that a Python number stands for where nothing else decides."""
    if isinstance(value, bool):
        return BOOL_
    if isinstance(value, float):
        return F64
    if isinstance(value, complex):
        return COMPLEX128
    return I64 if hasattr(value, "__index__") else None


# ------------------------------------------------------------------------------------------------------------- ABI


def words_of(element: ScalarType, value: Any) -> tuple[Any, ...]:
    """A converted value as the numbers that `FORMATS[element.name]` packs."""
    if element in (COMPLEX64, COMPLEX128):
        return value.real, value.imag
    return (bf16_bits(value),) if element is BF16 else (value,)


def value_of(element: ScalarType, words: tuple[Any, ...]) -> Any:
    """The Python value of the numbers that `FORMATS[element.name]` unpacks."""
    if element in (COMPLEX64, COMPLEX128):
        return complex(words[0], words[1])
    return bf16_value(words[0]) if element is BF16 else words[0]


def word_count(element: ScalarType) -> int:
    """How many numbers `words_of` gives."""
    return 2 if element in (COMPLEX64, COMPLEX128) else 1
