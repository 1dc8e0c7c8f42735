"""Generates typed scalar expressions as source text, with NumPy's way to compute the same where it has one.

Does: choose among all operators, functions, casts and literals, so that lend's typing rules give the type asked for.
Does not: run anything.
Invariants: `Expressions.of(type, depth)` is an expression of exactly that type; `weak` one that becomes it without a cast.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from choices import Choices
from operations import (
    ARITHMETIC,
    BINARY,
    BITWISE,
    COMPARE,
    COMPLEX_UNARY,
    DOUBLE_LITERALS,
    EXACT_IN_NUMPY,
    FLOAT_LITERALS,
    INTEGER_LITERALS,
    UNARY,
    WIDER,
)  # fmt: skip
from values import BITS, COMPLEX, DTYPES, FLOATS, INTEGERS, PARTS, SIGNED, TYPES, limits

Reference = Callable[[dict[str, np.ndarray]], Any]


@dataclass(frozen=True)
class Node:
    """An expression. `reference` computes it by NumPy from the arrays of the kernel's loads; None where NumPy has no such thing.
    `ulps`: how far compiled code and plain Python may lie apart."""

    text: str
    type: str
    parts: tuple[Node, ...] = ()
    reference: Reference | None = None
    ulps: float = 0.0


Leaf = Callable[[str], Node | None]


def combined(function: Callable[..., Any], parts: Sequence[Node], type: str) -> Reference | None:
    """NumPy's function of the parts, if each has a reference."""
    references = [part.reference for part in parts]
    if any(reference is None for reference in references):
        return None

    def run(env: dict[str, np.ndarray]) -> Any:
        return np.asarray(function(*(r(env) for r in references))).astype(DTYPES[type], copy=False)  # type: ignore[misc]

    return run


class Expressions:
    """Chooses expressions. `leaf(type)` gives a variable or a load of that type, or None if there is none."""

    def __init__(self, choices: Choices, leaf: Leaf, types: Sequence[str] = TYPES, faults: int = 3, inexact: bool = True) -> None:
        self.choices, self.leaf, self.types, self.faults, self.inexact = choices, leaf, types, faults, inexact
        self.reals = [t for t in types if t not in COMPLEX and t != "bool_"]
        self.integers = [t for t in types if t in INTEGERS]
        self.floats = [t for t in types if t in FLOATS]
        self.floats_of_c = [t for t in self.floats if t in ("f32", "f64")]

    # ------------------------------------------------------------------------------------------------------------ entry

    def of(self, type: str, depth: int) -> Node:
        """An expression of exactly that type."""
        if depth <= 0 or self.choices.chance(12):
            return self.simple(type)
        if type == "bool_":
            return self.condition(depth)
        if type in COMPLEX and self.inexact and self.choices.chance(10):
            return self.inexact_function(type, depth - 1)
        before, self.inexact = self.inexact, False  # inside of others, a few ulps become many
        try:
            return self.composed(type, depth)
        finally:
            self.inexact = before

    def composed(self, type: str, depth: int) -> Node:
        """An operation on expressions."""
        options: list[tuple[int, Callable[[str, int], Node]]] = [
            (30, self.arithmetic), (6, self.conditional), (4, self.negated), (8, self.cast), (3, self.where), (2, self.logic),
        ]  # fmt: skip
        if type in INTEGERS:
            options += [
                (10, self.bitwise),
                (8, self.shift),
                (10, self.division),
                (4, self.integer_power),
                (6, self.integer_function),
            ]
        if type in FLOATS:
            options += [
                (8, self.division),
                (8, self.quotient),
                (14, self.unary_function),
                (12, self.binary_function),
                (4, self.power),
            ]
        if type in COMPLEX:
            options += [(10, self.quotient), (8, self.complex_function)]
        else:
            options += [(6, self.extremum), (3, self.absolute)]
        if type == "f64" and self.integers:
            options += [(5, self.integer_quotient)]
        if type == "i64" and self.floats_of_c:
            options += [(8, self.to_integer)]
        if type in ("f32", "f64") and set(self.types) & set(COMPLEX):
            options += [(4, self.part)]
        return self.choices.often(options)(type, depth - 1)

    def weak(self, type: str, depth: int) -> Node:
        """An expression that joins with that type to it: of the type, of a narrower one, or a literal."""
        if self.choices.chance(15):
            return self.literal(type)
        narrower = [t for t in WIDER[type] if t in self.types]
        if narrower and self.choices.chance(20):
            inner = self.of(self.choices.pick(narrower), depth)
            return Node(
                inner.text, inner.type, inner.parts, combined(lambda a: a.astype(DTYPES[type]), [inner], type), inner.ulps
            )
        return self.of(type, depth)

    # ----------------------------------------------------------------------------------------------------------- leaves

    def simple(self, type: str) -> Node:
        """A variable, or a literal made of that type by a cast."""
        found = self.leaf(type) if not self.choices.chance(12) else None
        if found is not None:
            return found
        literal = self.literal(type)
        if type == "bool_":
            return literal
        return Node(f"{type}({literal.text})", type, (), literal.reference)

    def literal(self, type: str) -> Node:
        """A literal that fits the type."""
        if type == "bool_":
            text = self.choices.pick(("True", "False"))
            return Node(text, type, (), lambda env: np.bool_(text == "True"))
        if type in INTEGERS or self.choices.chance(25):
            low, high = limits(type) if type in INTEGERS else (-1000, 1000)
            if type in SIGNED and self.choices.chance(6):
                value = self.choices.pick((low, low + 1))
            else:
                value = self.choices.pick([n for n in INTEGER_LITERALS if low <= n <= high])
            return Node(f"({value})" if value < 0 else str(value), type, (), lambda env: np.asarray(value).astype(DTYPES[type]))
        pool = FLOAT_LITERALS + (DOUBLE_LITERALS if type in ("f64", "complex128") else ())
        text = self.choices.pick(pool)
        if type in COMPLEX and self.choices.chance(40):
            text = self.choices.pick(("1j", "(2.0 - 0.5j)", "(-1j)", "0j", "(1 + 1j)"))
        number = eval(text, {"math": math, "np": np})
        return Node(f"({text})" if text[0] == "-" else text, type, (), lambda env: np.asarray(number).astype(DTYPES[type]))

    # -------------------------------------------------------------------------------------------------- any number type

    def pair(self, type: str, depth: int) -> tuple[Node, Node]:
        """Two operands that join to the type."""
        a, b = self.of(type, depth), self.weak(type, depth)
        return (b, a) if self.choices.chance(25) else (a, b)

    def arithmetic(self, type: str, depth: int) -> Node:
        op = self.choices.pick(tuple(ARITHMETIC))
        parts = self.pair(type, depth)
        reference = None
        if type != "bf16" and type not in COMPLEX:
            reference = combined(ARITHMETIC[op], parts, type)
        return Node(f"({parts[0].text} {op} {parts[1].text})", type, parts, reference, max(p.ulps for p in parts))

    def negated(self, type: str, depth: int) -> Node:
        inner = self.of(type, depth)
        op = self.choices.pick(("-", "+")) if type not in INTEGERS or self.choices.chance(50) else "~"
        reference = combined({"-": np.negative, "+": lambda a: a, "~": np.invert}[op], [inner], type)
        return Node(f"({op}{inner.text})", type, (inner,), reference, inner.ulps)

    def arms(self, type: str, depth: int) -> tuple[Node, Node]:
        """Two values to choose from. Rarely of two types: a condition that is a constant gives an arm with the type it has."""
        if self.choices.chance(75):
            return self.of(type, depth), self.of(type, depth)
        a, b = self.pair(type, depth)
        return replace(a, reference=None), b

    def conditional(self, type: str, depth: int) -> Node:
        test, (a, b) = self.of("bool_", depth), self.arms(type, depth)
        reference = combined(lambda t, x, y: np.where(t, x, y), (test, a, b), type)
        return Node(f"({a.text} if {test.text} else {b.text})", type, (test, a, b), reference, max(a.ulps, b.ulps))

    def where(self, type: str, depth: int) -> Node:
        test, (a, b) = self.of("bool_", depth), self.arms(type, depth)
        reference = combined(np.where, (test, a, b), type)
        return Node(f"np.where({test.text}, {a.text}, {b.text})", type, (test, a, b), reference)

    def logic(self, type: str, depth: int) -> Node:
        op = self.choices.pick(("and", "or"))
        a, b = self.of(type, depth), self.of(type, depth)
        choose = (lambda x, y: np.where(x != 0, y, x)) if op == "and" else (lambda x, y: np.where(x != 0, x, y))
        return Node(f"({a.text} {op} {b.text})", type, (a, b), combined(choose, (a, b), type))

    def cast(self, type: str, depth: int) -> Node:
        source = self.choices.pick(self.types if type in COMPLEX else [*self.reals, "bool_"])
        inner = self.of(source, depth)
        reference = None
        if (
            "bf16" not in (source, type)
            and not (source in FLOATS and type in INTEGERS)
            and not (source in INTEGERS and type == "f16")
        ):
            reference = combined(lambda a: a.astype(DTYPES[type]), [inner], type)
        name = type
        if type == "i64" and self.choices.chance(20):
            name = "int"
        if type == "f64" and self.choices.chance(20):
            name = "float"
        return Node(f"{name}({inner.text})", type, (inner,), reference, inner.ulps)

    # --------------------------------------------------------------------------------------------------------- integers

    def bitwise(self, type: str, depth: int) -> Node:
        op, parts = self.choices.pick(tuple(BITWISE)), self.pair(type, depth)
        return Node(f"({parts[0].text} {op} {parts[1].text})", type, parts, combined(BITWISE[op], parts, type))

    def shift(self, type: str, depth: int) -> Node:
        a, b = self.of(type, depth), self.of(type, depth)
        op = self.choices.pick(("<<", ">>"))
        if self.choices.chance(30):
            count = self.choices.pick((1, 3, BITS[type] - 1, BITS[type], 100))
            whole = min(count, BITS[type])
            function: Any = {"<<": np.left_shift, ">>": np.right_shift}[op]
            shifted = combined(lambda x: function(x, DTYPES[type](whole)), [a], type)
            return Node(f"({a.text} {op} {count})", type, (a,), shifted)
        if type in SIGNED and not self.choices.chance(self.faults):
            mask = DTYPES[type](2 * BITS[type] - 1 if type != "i8" else 15)
            b = Node(f"({b.text} & {mask})", type, (b,), combined(lambda x: x & mask, [b], type))
        reference = combined({"<<": np.left_shift, ">>": np.right_shift}[op], (a, b), type)
        return Node(f"({a.text} {op} {b.text})", type, (a, b), reference)

    def divisor(self, type: str, depth: int) -> Node:
        """A divisor that is rarely zero."""
        b = self.of(type, depth)
        if type not in INTEGERS or self.choices.chance(self.faults):
            return b
        if self.choices.chance(20):
            value = self.choices.pick([n for n in (1, 2, 3, 7, 10, 64, -1, -3, 100) if n > 0 or type in SIGNED])
            return Node(f"({value})" if value < 0 else str(value), type, (), lambda env: np.asarray(value, DTYPES[type]))
        return Node(f"({b.text} | 1)", type, (b,), combined(lambda x: x | DTYPES[type](1), [b], type))

    def division(self, type: str, depth: int) -> Node:
        a, b = self.of(type, depth), self.divisor(type, depth)
        op = self.choices.pick(("//", "%"))
        function = np.floor_divide if op == "//" else np.remainder
        reference = combined(function, (a, b), type) if type != "bf16" else None
        if self.choices.chance(15):
            return Node(f"divmod({a.text}, {b.text})[{0 if op == '//' else 1}]", type, (a, b), reference)
        return Node(f"({a.text} {op} {b.text})", type, (a, b), reference)

    def integer_power(self, type: str, depth: int) -> Node:
        a = self.of(type, depth)
        if self.choices.chance(50):
            exponent = self.choices.pick((2, 3, 4, 0, 1, 5, 7))
            power = combined(lambda x: np.power(x, DTYPES[type](exponent)), [a], type)
            return Node(f"({a.text} ** {exponent})", type, (a,), power)
        b = self.of(type, depth)
        if type in SIGNED and not self.choices.chance(self.faults):
            b = Node(f"({b.text} & 63)", type, (b,), combined(lambda x: x & DTYPES[type](63), [b], type))
        return Node(f"({a.text} ** {b.text})", type, (a, b), combined(np.power, (a, b), type) if type in SIGNED else None)

    def integer_function(self, type: str, depth: int) -> Node:
        a, b = self.of(type, depth), self.of(type, depth)
        name = self.choices.pick(
            ("np.sign", "np.square", "math.gcd", "np.clip", "math.lcm", "np.bitwise_count", "np.add", "np.negative")
        )
        match name:
            case "np.sign" | "np.square" | "np.negative":
                return Node(f"{name}({a.text})", type, (a,), combined(getattr(np, name[3:]), [a], type))
            case "np.bitwise_count":
                if not hasattr(np, "bitwise_count"):
                    return a
                count = combined(np.bitwise_count, [a], type)  # of the absolute value
                return Node(f"{name}({a.text})", type, (a,), count)
            case "np.clip":
                low, high = self.choices.pick((0, 1, 5)), self.choices.pick((7, 100, 127))
                clip = combined(lambda x: np.clip(x, DTYPES[type](low), DTYPES[type](high)), [a], type)
                return Node(f"np.clip({a.text}, {low}, {high})", type, (a,), clip)
            case "np.add":
                return Node(f"{name}({a.text}, {b.text})", type, (a, b), combined(np.add, (a, b), type))
            case _:
                return Node(f"{name}({a.text}, {b.text})", type, (a, b))

    def to_integer(self, type: str, depth: int) -> Node:
        inner = self.of(self.choices.pick(self.floats), depth)
        name = self.choices.pick(("round", "math.floor", "math.ceil", "math.trunc", "int", "np.round"))
        return Node(f"{name}({inner.text})", type, (inner,))

    # ----------------------------------------------------------------------------------------------------------- floats

    def quotient(self, type: str, depth: int) -> Node:
        parts = self.pair(type, depth)
        reference = combined(np.true_divide, parts, type) if type in ("f64", "f32", "f16") else None
        return Node(f"({parts[0].text} / {parts[1].text})", type, parts, reference, max(p.ulps for p in parts))

    def integer_quotient(self, type: str, depth: int) -> Node:
        kind = self.choices.pick(self.integers)
        a, b = self.of(kind, depth), self.of(kind, depth)
        return Node(
            f"({a.text} / {b.text})",
            type,
            (a, b),
            combined(lambda x, y: x.astype(np.float64) / y.astype(np.float64), (a, b), type),
        )

    def power(self, type: str, depth: int) -> Node:
        a = self.of(type, depth)
        if self.choices.chance(60):
            exponent = self.choices.pick(("2", "3", "0.5", "-1", "4", "2.0", "-0.5", "0", "1", "-2", "1.5", "0.25", "100"))
            return Node(f"({a.text} ** {exponent})", type, (a,))
        if self.choices.chance(20):
            base = self.choices.pick(("2.0", "10.0", "math.e", "0.5", "1.0", "2"))
            return Node(f"({base} ** {a.text})", type, (a,))
        b = self.weak(type, depth)
        return Node(f"({a.text} ** {b.text})", type, (a, b))

    def unary_function(self, type: str, depth: int) -> Node:
        name = self.choices.pick(UNARY)
        argument = self.of(type, depth)
        if (
            type == "f64"
            and self.choices.chance(15)
            and self.integers
            and name not in ("np.square", "np.sign", "math.fabs", "np.negative")
        ):
            kind = self.choices.pick([t for t in self.integers if BITS[t] < 64] or ["f64"])
            if not (name in ("np.floor", "np.ceil", "np.trunc") and kind != "f64"):
                return Node(f"{name}({self.of(kind, depth).text})", type, (argument,))
        reference = None
        if name in EXACT_IN_NUMPY and type != "bf16":
            reference = combined(EXACT_IN_NUMPY[name], [argument], type)
        return Node(f"{name}({argument.text})", type, (argument,), reference)

    def binary_function(self, type: str, depth: int) -> Node:
        name, parts = self.choices.pick(BINARY), self.pair(type, depth)
        if name == "np.copysign":  # of a NaN that is computed the sign is open
            parts = (parts[0], self.simple(type))
        reference = None
        if name in EXACT_IN_NUMPY and type != "bf16":
            reference = combined(EXACT_IN_NUMPY[name], parts, type)
        return Node(f"{name}({parts[0].text}, {parts[1].text})", type, parts, reference)

    def extremum(self, type: str, depth: int) -> Node:
        name = self.choices.pick(("min", "max"))
        parts: tuple[Node, ...] = self.pair(type, depth)
        if self.choices.chance(20):
            parts = (*parts, self.weak(type, depth))
        reference = None
        if type in INTEGERS and len(parts) == 2:
            reference = combined(np.minimum if name == "min" else np.maximum, parts, type)
        return Node(f"{name}({', '.join(p.text for p in parts)})", type, parts, reference)

    def absolute(self, type: str, depth: int) -> Node:
        inner = self.of(type, depth)
        return Node(f"abs({inner.text})", type, (inner,), combined(np.abs, [inner], type))

    # ---------------------------------------------------------------------------------------------------------- complex

    def part(self, type: str, depth: int) -> Node:
        whole = next(c for c, p in PARTS.items() if p == type)
        if whole not in self.types:
            return self.of(type, depth)
        inner = self.of_exact(whole, depth)
        how = self.choices.pick((".real", ".imag", "abs", "np.real"))
        text = f"{inner.text}{how}" if how[0] == "." else f"{how}({inner.text})"
        function = {".real": np.real, ".imag": np.imag, "np.real": np.real}.get(how)
        return Node(text, type, (inner,), combined(function, [inner], type) if function else None)

    def of_exact(self, type: str, depth: int) -> Node:
        """Without functions that agree to a few ulps only."""
        before, self.inexact = self.inexact, False
        try:
            return self.of(type, depth)
        finally:
            self.inexact = before

    def complex_function(self, type: str, depth: int) -> Node:
        if self.choices.chance(50) and PARTS[type] in self.types:
            a, b = self.of(PARTS[type], depth), self.of(PARTS[type], depth)
            return Node(f"complex({a.text}, {b.text})", type, (a, b))
        inner = self.of(type, depth)
        name = self.choices.pick((".conjugate()", "np.conjugate"))
        text = f"{inner.text}{name}" if name[0] == "." else f"{name}({inner.text})"
        return Node(text, type, (inner,), combined(np.conjugate, [inner], type))

    def inexact_function(self, type: str, depth: int) -> Node:
        """A function that agrees to a few ulps only."""
        inner = self.of_exact(type, depth)
        if self.choices.chance(20):
            exponent = self.choices.pick(("3", "(2.0 - 0.5j)", "0.5", "1j", "-1", "0"))
            return Node(f"({inner.text} ** {exponent})", type, (inner,), None, 1e3)
        return Node(f"{self.choices.pick(COMPLEX_UNARY)}({inner.text})", type, (inner,), None, 16)

    # ------------------------------------------------------------------------------------------------------- conditions

    def condition(self, depth: int) -> Node:
        """An expression of bool_."""
        how = self.choices.often(
            ((50, "compare"), (12, "chain"), (14, "logic"), (8, "not"), (8, "cast"), (8, "predicate"), (8, "bits"))
        )
        depth -= 1
        match how:
            case "compare" | "chain":
                complexes = [t for t in self.types if t in COMPLEX]
                if how == "compare" and complexes and self.choices.chance(8):
                    type, ops = self.choices.pick(complexes), ("==", "!=")
                    a, b = self.of_exact(type, depth), self.of_exact(type, depth)
                else:
                    type, ops = self.choices.pick(self.reals), tuple(COMPARE)
                    a, b = self.pair(type, depth)
                op = self.choices.pick(ops)
                if how == "compare":
                    return Node(f"({a.text} {op} {b.text})", "bool_", (a, b), combined(COMPARE[op], (a, b), "bool_"))
                c, op2 = self.of(type, depth), self.choices.pick(ops)
                chain = combined(lambda x, y, z: COMPARE[op](x, y) & COMPARE[op2](y, z), (a, b, c), "bool_")
                return Node(f"({a.text} {op} {b.text} {op2} {c.text})", "bool_", (a, b, c), chain)
            case "logic" | "bits":
                a, b = self.of("bool_", depth), self.of("bool_", depth)
                op = self.choices.pick(("and", "or") if how == "logic" else ("&", "|", "^"))
                function = {"and": np.logical_and, "or": np.logical_or, **BITWISE}[op]
                return Node(f"({a.text} {op} {b.text})", "bool_", (a, b), combined(function, (a, b), "bool_"))
            case "not":
                inner = self.of("bool_", depth)
                return Node(f"(not {inner.text})", "bool_", (inner,), combined(np.logical_not, [inner], "bool_"))
            case "cast":
                inner = self.of_exact(self.choices.pick(self.types), depth)
                name = self.choices.pick(("bool_", "bool"))
                return Node(f"{name}({inner.text})", "bool_", (inner,), combined(lambda a: a != 0, [inner], "bool_"))
            case _:
                kinds = self.floats or ["f64"]
                kind, name = (
                    self.choices.pick(kinds),
                    self.choices.pick(("math.isnan", "np.isinf", "math.isfinite", "np.signbit")),
                )
                inner = self.simple(kind) if name == "np.signbit" else self.of(kind, depth)  # of a computed NaN the sign is open
                function = {"math.isnan": np.isnan, "np.isinf": np.isinf, "math.isfinite": np.isfinite}.get(name)
                return Node(
                    f"{name}({inner.text})", "bool_", (inner,), combined(function, [inner], "bool_") if function else None
                )

    # ------------------------------------------------------------------------------------------------------ any two types

    def wild(self, depth: int) -> Node:
        """An operation on two types that may not join: lend must compute or refuse it."""
        a = self.of_exact(self.choices.pick(self.types), depth)
        b = self.of_exact(self.choices.pick(self.types), depth)
        if self.choices.chance(30):
            b = self.literal(self.choices.pick(self.types))
        op = self.choices.pick(
            ("+", "-", "*", "/", "**", "<", "==", "if", "min", "<<", ">>", "&", "|", "//", "%", "and", "math.hypot")
        )
        if op == "**" and (a.type in COMPLEX or b.type in COMPLEX):
            op = "=="  # powers of complex numbers agree to a few ulps only
        if op == "if":
            text = f"{a.text} if {self.condition(depth).text} else {b.text}"
        elif op[0] in "m":
            text = f"{op}({a.text}, {b.text})"
        else:
            text = f"{a.text} {op} {b.text}"
        type = self.choices.pick(("f64", "i64", "bool_", "complex128"))
        return Node(f"{type}({text})", type, (a, b))
