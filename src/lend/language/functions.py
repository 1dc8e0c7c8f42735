"""The functions a kernel may call: which Python objects they are, and what they give.

Does: say for each function of `math` and each scalar function of NumPy what it is: a primitive `Math` operation, an operator, or
a few lines of kernel code (`library.py`).  Does not: compute.
Invariants: functions are known by what they are bound to, never by spelling.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Literal

import numpy as np

from lend.diagnostics.records import dataclass
from lend.language import library

Domain = Literal["real", "complex", "both"]


@dataclass(frozen=True)
class Primitive:
    """A `Math` operation: arguments are joined and made floating; `domain` says for which kinds it exists."""

    name: str
    arity: int
    domain: Domain = "real"
    result: Literal["same", "bool", "part", "i64"] = "same"


@dataclass(frozen=True)
class OperatorFunction:
    """A function that is an operator: `np.add(a, b)` is `a + b`. `op` as in `ir.syntax` (unary ones by arity).

    `floating`: integers, where it is given nothing else, are made floating first, as `math.pow(2, 3)` is 8.0.
    """

    op: str
    arity: int
    floating: bool = False


@dataclass(frozen=True)
class Fold:
    """`min` or `max` of two or more."""

    op: Literal["min", "max"]


@dataclass(frozen=True)
class Library:
    """A function written in kernel code."""

    python: Callable[..., Any]


@dataclass(frozen=True)
class Special:
    """A function that the type checker treats by itself, by this name."""

    name: str


Entry = Primitive | OperatorFunction | Fold | Library | Special

UNARY = (
    *("sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("floor", "ceil", "trunc", "rint", "erf", "erfc", "tgamma", "lgamma"),
)
BINARY = ("atan2", "hypot", "fmod", "copysign", "nextafter", "remainder", "fmax", "fmin")
PREDICATES = ("isnan", "isinf", "isfinite", "signbit")
COMPLEX = frozenset(("exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "isnan", "isinf", "isfinite"))
INTEGRAL = frozenset(("floor", "ceil", "trunc"))
"""Python's give an int, NumPy's a float."""

_PYTHON_NAMES = {"tgamma": "gamma"}
_NUMPY_NAMES = {
    **{f"a{name}": f"arc{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "tan2")},
    **dict.fromkeys(("erf", "erfc", "tgamma", "lgamma", "remainder")),  # NumPy's remainder is `%`
}
"""Where NumPy's name is another one; None where the function is not NumPy's."""

_NUMPY_OPERATORS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "true_divide": "/",
    "floor_divide": "//",
    "remainder": "%",
    "mod": "%",
    "power": "**",
    "left_shift": "<<",
    "right_shift": ">>",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "logical_and": "and",
    "logical_or": "or",
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}

_SPECIAL = ("len", "round", "divmod", "range", "print", "enumerate", "zip", "isinstance", "sum", "any", "all", "sorted")


@cache
def table() -> dict[Any, Entry]:
    """All known functions, by the object itself."""
    return {function: entry for entry, function in (*_primitives(), *_operators(), *_others()) if function is not None}


def _primitives() -> Iterator[tuple[Entry, Any]]:
    for name in (*UNARY, *BINARY, *PREDICATES):
        domain: Domain = "both" if name in COMPLEX else "real"
        result = "bool" if name in PREDICATES else "same"
        primitive = Primitive(name, 2 if name in BINARY else 1, domain, result)
        python = Primitive(name, 1, domain, "i64") if name in INTEGRAL else primitive
        numpy_name = _NUMPY_NAMES.get(name, name)
        if numpy_name is not None:
            yield primitive, getattr(np, numpy_name, None)
        yield python, getattr(math, _PYTHON_NAMES.get(name, name), None)
    yield Primitive("fma", 3), getattr(math, "fma", None)
    yield Primitive("conj", 1, "complex"), np.conjugate
    yield Primitive("rint", 1), np.rint


def _operators() -> Iterator[tuple[Entry, Any]]:
    for name, op in _NUMPY_OPERATORS.items():
        yield OperatorFunction(op, 2), getattr(np, name)
    for op, function in (("-", np.negative), ("+", np.positive), ("~", np.bitwise_not), ("not", np.logical_not)):
        yield OperatorFunction(op, 1), function
    for function in (builtins.abs, np.absolute):
        yield OperatorFunction("abs", 1), function
    for function in (np.fabs, math.fabs):
        yield OperatorFunction("abs", 1, floating=True), function
    yield OperatorFunction("**", 2), builtins.pow
    for function in (math.pow, np.float_power):
        yield OperatorFunction("**", 2, floating=True), function


def _others() -> Iterator[tuple[Entry, Any]]:
    yield from ((Fold("min"), builtins.min), (Fold("min"), np.minimum), (Fold("max"), builtins.max), (Fold("max"), np.maximum))
    for name, function in library.FUNCTIONS.items():
        for module in (math, np):
            yield Library(function), getattr(module, name, None)
    for name in _SPECIAL:
        yield Special(name), getattr(builtins, name)
    yield from ((Special("round"), np.round), (Special("round"), np.around), (Special("divmod"), np.divmod))
    yield from ((Special("where"), np.where), (Special("real"), np.real), (Special("imag"), np.imag))
    yield from ((Special("bit_count"), getattr(np, "bitwise_count", None)), (Special("bit_count"), int.bit_count))


def lookup(function: Any) -> Entry | None:
    """What `function` is, or None if kernels do not know it."""
    try:
        return table().get(function)
    except TypeError:  # unhashable
        return None
