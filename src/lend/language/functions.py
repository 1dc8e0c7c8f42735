"""The functions a kernel may call: which Python objects they are, and what they give.

Does: say for each function of `math` and each scalar function of NumPy what it is: a primitive `Math` operation, an operator, or a
few lines of kernel code (`library.py`).  Does not: compute.
Invariants: functions are known by what they are bound to, never by spelling.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

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
    """A function that is an operator: `np.add(a, b)` is `a + b`. `op` as in `ir.syntax` (unary ones by arity)."""

    op: str
    arity: int


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

UNARY = [
    "sqrt",
    "cbrt",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "erf",
    "erfc",
    "tgamma",
    "lgamma",
]
BINARY = ["atan2", "hypot", "fmod", "copysign", "nextafter", "remainder", "fmax", "fmin"]
PREDICATES = ["isnan", "isinf", "isfinite", "signbit"]
COMPLEX = ["exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh"]

_NUMPY_NAMES = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "atan2": "arctan2",
}  # fmt: skip


@cache
def table() -> dict[Any, Entry]:
    """All known functions, by the object itself."""
    from lend.language import library

    entries: dict[Any, Entry] = {}

    def add(entry: Entry, *functions: Any) -> None:
        for function in functions:
            if function is not None:
                entries[function] = entry

    for name in UNARY + BINARY:
        arity = 1 if name in UNARY else 2
        primitive = Primitive(name, arity, "both" if name in COMPLEX else "real")
        integral = name in ("floor", "ceil", "trunc")  # Python's give an int, NumPy's a float
        numpy_name = _NUMPY_NAMES.get(name, name)
        if name != "remainder":  # NumPy's remainder is `%`
            add(primitive, getattr(np, numpy_name, None) if name not in ("erf", "erfc", "tgamma", "lgamma") else None)
        if not integral:
            add(primitive, getattr(math, {"tgamma": "gamma"}.get(name, name), None))
    for name in ("floor", "ceil", "trunc"):
        add(Primitive(name, 1, "real", "i64"), getattr(math, name))
    for name in PREDICATES:
        add(
            Primitive(name, 1, "both" if name != "signbit" else "real", "bool"),
            getattr(np, name, None),
            getattr(math, name, None),
        )
    add(Primitive("fma", 3), getattr(math, "fma", None))
    add(Primitive("conj", 1, "complex"), np.conjugate)
    add(Primitive("rint", 1), np.rint)

    operators: dict[str, tuple[str, ...]] = {
        "+": ("add",), "-": ("subtract",), "*": ("multiply",), "/": ("true_divide",), "//": ("floor_divide",),
        "%": ("remainder", "mod"), "**": ("power", "float_power"), "<<": ("left_shift",), ">>": ("right_shift",),
        "&": ("bitwise_and",), "|": ("bitwise_or",), "^": ("bitwise_xor",),
        "==": ("equal",), "!=": ("not_equal",), "<": ("less",), "<=": ("less_equal",), ">": ("greater",), ">=": ("greater_equal",),
        "and": ("logical_and",), "or": ("logical_or",),
    }  # fmt: skip
    for op, names in operators.items():
        for name in names:
            add(OperatorFunction(op, 2), getattr(np, name))
    add(OperatorFunction("-", 1), np.negative)
    add(OperatorFunction("+", 1), np.positive)
    add(OperatorFunction("~", 1), np.bitwise_not)
    add(OperatorFunction("not", 1), np.logical_not)
    add(OperatorFunction("abs", 1), builtins.abs, np.absolute, np.fabs, math.fabs)
    add(OperatorFunction("**", 2), math.pow, builtins.pow)
    add(Fold("min"), builtins.min, np.minimum)
    add(Fold("max"), builtins.max, np.maximum)

    for name, function in library.FUNCTIONS.items():
        for module in (math, np):
            found = getattr(module, name, None)
            if found is not None:
                add(Library(function), found)
    for special in (
        "len",
        "round",
        "divmod",
        "range",
        "print",
        "enumerate",
        "zip",
        "isinstance",
        "sum",
        "any",
        "all",
        "sorted",
        "abs",
    ):
        if special != "abs":
            add(Special(special), getattr(builtins, special))
    add(Special("round"), np.round, np.around)
    add(Special("divmod"), np.divmod)
    add(Special("where"), np.where)
    add(Special("real"), np.real)
    add(Special("imag"), np.imag)
    add(Special("bit_count"), getattr(np, "bitwise_count", None))
    return entries


def lookup(function: Any) -> Entry | None:
    """What `function` is, or None if kernels do not know it."""
    try:
        return table().get(function)
    except TypeError:  # unhashable
        return None
