"""Operators on scalars: result types, constant folding, fault sites.

Does: `+ - * / // % ** << >> & | ^ ~ not`, comparisons, `min`, `max`, casts by call.  Does not: look at syntax.
Invariants: every rule here stands in `docs/semantics.md`.
"""

from __future__ import annotations

import operator as python_operators
from collections.abc import Callable
from typing import Any

from lend.diagnostics.spans import Span
from lend.frontend.typecheck.conversions import literal_default
from lend.frontend.typecheck.emitter import Refused, region_of
from lend.frontend.typecheck.entities import Entity, Number, Poison, Python, Scalar, TupleOf
from lend.frontend.typecheck.vectors import Vectors, is_vector
from lend.frontend.typecheck.wording import literal_text, shown
from lend.ir import typed
from lend.ir.typed import BinaryOperator, Value
from lend.language import arithmetic
from lend.language.types import BOOL_, F64, I64, INDEX, PART, ScalarType

NAMES: dict[str, BinaryOperator] = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floordiv", "%": "mod", "**": "pow", "<<": "shl", ">>": "shr",
    "&": "and", "|": "or", "^": "xor", "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge",
}  # fmt: skip

_MODULE: Any = python_operators  # whose functions have no types of their own
_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "+": _MODULE.add, "-": _MODULE.sub, "*": _MODULE.mul, "/": _MODULE.truediv, "//": _MODULE.floordiv, "%": _MODULE.mod,
    "**": _MODULE.pow, "<<": _MODULE.lshift, ">>": _MODULE.rshift, "&": _MODULE.and_, "|": _MODULE.or_, "^": _MODULE.xor,
    "==": _MODULE.eq, "!=": _MODULE.ne, "<": _MODULE.lt, "<=": _MODULE.le, ">": _MODULE.gt, ">=": _MODULE.ge,
}  # fmt: skip

COMPARE = ("==", "!=", "<", "<=", ">", ">=")
MAX_LITERAL_BITS = 4096
MAX_LITERAL_PAIRS = 16


class Operators(Vectors):
    """Typing of operators."""

    def operate(self, op: str, left: Entity, right: Entity, span: Span) -> Entity:
        """`left op right`."""
        if isinstance(left, Poison) or isinstance(right, Poison):
            raise Refused
        if op == "@":
            self.refuse(
                "L0209",
                "kernels have no matrix product `@`",
                span,
                "multiplies matrices",
                fix="write `*` for numbers, or the loops over `i`, `j` and `k` for matrices",
            )
        if op in ("==", "!=") and (isinstance(left, Python) or isinstance(right, Python)):
            return self.compare_objects(op, left, right, span)
        if is_vector(left) or is_vector(right):
            return self.operate_vectors(op, left, right, span)
        if isinstance(left, TupleOf) and isinstance(right, TupleOf):
            if op == "+":
                return TupleOf((*left.items, *right.items))
            if op in COMPARE:
                return self.compare_tuples(op, left, right, span)
        a, b = self.number(left, span, f"an operand of `{op}`"), self.number(right, span, f"an operand of `{op}`")
        if isinstance(a, Number) and isinstance(b, Number):
            folded = self.fold(op, a, b, span)
            if folded is not None:
                return folded
        combined = self.combine_literals(op, a, b, span)
        if combined is not None:
            return combined
        if op in COMPARE:
            return self.compare(op, a, b, span)
        match op:
            case "/":
                return self.divide(a, b, span)
            case "**":
                return self.power(a, b, span)
            case "//" | "%":
                return self.floor_divide(op, a, b, span)
            case "<<" | ">>":
                return self.shift(op, a, b, span)
            case "&" | "|" | "^":
                return self.bitwise(op, a, b, span)
            case _:
                type = self.arithmetic_type(a, b, span, op)
                return Scalar(self.binary(NAMES[op], self.convert(a, type, span), self.convert(b, type, span), span))

    def arithmetic_type(self, a: Number | Scalar, b: Number | Scalar, span: Span, op: str) -> ScalarType:
        """The joined type of arithmetic; two bools count as integers."""
        type = self.join_or_refuse(a, b, span, f"`{op}`")
        return I64 if type is BOOL_ else type

    # ---------------------------------------------------------------------------------------------------------- literals

    def fold(self, op: str, a: Number, b: Number, span: Span) -> Number | None:
        """The constant result, or None where it must be computed at run time (it would be a fault there)."""
        if a.type is None and b.type is None:
            return self.fold_literals(op, a.value, b.value, span)
        if op in ("/", "**", "<<", ">>", "//", "%"):
            return None
        type = self.join(a, b)
        if type is None or (a.type is None and not self.fits(a.value, type)) or (b.type is None and not self.fits(b.value, type)):
            return None
        if type is BOOL_ and op in ("+", "-", "*"):
            type = I64
        if op in ("&", "|", "^") and not (type.is_integer or type is BOOL_):
            return None
        if type.kind == "complex" and op in COMPARE[2:]:
            return None
        x, y = arithmetic.cast(type, a.value), arithmetic.cast(type, b.value)
        return Number(arithmetic.binary(NAMES[op], type, x, y), BOOL_ if op in COMPARE else type)

    def fold_literals(self, op: str, a: Any, b: Any, span: Span) -> Number:
        """Literals combine as in Python, in unbounded integers."""
        if op in ("<<", "**") and isinstance(a, int) and isinstance(b, int) and abs(b) > MAX_LITERAL_BITS:
            self.refuse(
                "L0206",
                f"the literal `{literal_text(a)} {op} {literal_text(b)}` is too large",
                span,
                "no type of a kernel holds it",
            )
        try:
            value = _PYTHON[op](a, b)
        except ZeroDivisionError:
            if op == "/" or isinstance(a, float) or isinstance(b, float):
                value = arithmetic.binary(NAMES[op], F64, float(a), float(b))
            else:
                self.refuse("L0210", "integer division by zero", span, "the divisor is `0`")
        except (TypeError, ValueError, OverflowError):
            self.refuse("L0209", f"`{literal_text(a)} {op} {literal_text(b)}` has no value", span, "Python refuses this too")
        return Number(value, BOOL_ if isinstance(value, bool) else None)

    def combine_literals(self, op: str, a: Number | Scalar, b: Number | Scalar, span: Span) -> Scalar | None:
        """An operation on values that are one of a few literals gives one of a few literals."""
        if op in COMPARE or op in ("<<", ">>", "**", "&", "|", "^"):
            return None
        sets: list[frozenset[int | float]] = []
        for entity in (a, b):
            if isinstance(entity, Scalar) and entity.literals is not None:
                sets.append(entity.literals)
            elif isinstance(entity, Number) and entity.type is None and not isinstance(entity.value, complex):
                sets.append(frozenset((entity.value,)))
            else:
                return None
        if len(sets[0]) * len(sets[1]) > MAX_LITERAL_PAIRS or (op in ("/", "//", "%") and 0 in sets[1]):
            return None
        values = frozenset(_PYTHON[op](x, y) for x in sets[0] for y in sets[1])
        floating = any(isinstance(v, float) for v in values)
        type = F64 if floating else I64
        left, right = self.convert(a, type, span), self.convert(b, type, span)
        return Scalar(self.binary(NAMES[op], left, right, span), frozenset(float(v) for v in values) if floating else values)

    # --------------------------------------------------------------------------------------------------------- operators

    def divide(self, a: Number | Scalar, b: Number | Scalar, span: Span) -> Scalar:
        """`/`: integers give f64 as in Python; floats and complex keep their type."""
        ta = self.scalar_type(a) or literal_default(self.sample(a))
        tb = self.scalar_type(b) or literal_default(self.sample(b))
        if all(t.is_integer or t is BOOL_ for t in (ta, tb)):
            left, right = (self.materialise(self.cast(e, F64, span), span) for e in (a, b))
            return Scalar(self.binary("div", left, right, span))
        type = self.join_or_refuse(a, b, span, "`/`")
        return Scalar(self.binary("div", self.convert(a, type, span), self.convert(b, type, span), span))

    def floor_divide(self, op: str, a: Number | Scalar, b: Number | Scalar, span: Span) -> Scalar:
        """`//` and `%`, which floor; integers have a fault site unless the divisor is a constant."""
        type = self.arithmetic_type(a, b, span, op)
        if type.kind == "complex":
            self.refuse("L0209", f"`{op}` of complex numbers", span, "Python has no such operation either")
        site = None
        if type.is_integer:
            if isinstance(b, Number) and b.value == 0:
                self.refuse("L0210", "integer division by zero", self.where(b, span), "the divisor")
            site = None if isinstance(b, Number) else self.site("division", span)
        left, right = self.convert(a, type, span), self.convert(b, type, span)
        return Scalar(self.binary(NAMES[op], left, right, span, site))

    def shift(self, op: str, a: Number | Scalar, b: Number | Scalar, span: Span) -> Scalar:
        """`<<` and `>>` of integers."""
        type = self.arithmetic_type(a, b, span, op)
        if not type.is_integer:
            wrong = next(e for e in (b, a) if not self.is_whole(e))
            self.refuse(
                "L0209",
                f"`{op}` shifts integers, not {shown(type)}",
                self.where(wrong, span),
                f"this is {self.describe(wrong)}",
                fix=f"write `i64({self.quoted(wrong, span)})`",
            )
        if isinstance(b, Number) and b.value < 0:
            self.refuse(
                "L0210",
                f"the shift count `{b.value}` is negative",
                span,
                "Python refuses this too",
                fix=f"shift the other way: `{'>>' if op == '<<' else '<<'} {-b.value}`",
            )
        site = None if isinstance(b, Number) or type.kind == "uint" else self.site("shift", span)
        if isinstance(b, Number):
            b = Number(min(b.value, type.bits), type)
        left, right = self.convert(a, type, span), self.convert(b, type, span)
        return Scalar(self.binary(NAMES[op], left, right, span, site))

    def is_whole(self, entity: Number | Scalar) -> bool:
        """Whether an entity is an integer."""
        type = self.scalar_type(entity) or literal_default(self.sample(entity))
        return type.is_integer or type is BOOL_

    def bitwise(self, op: str, a: Number | Scalar, b: Number | Scalar, span: Span) -> Scalar:
        """`& | ^` of integers or of bools."""
        type = self.join_or_refuse(a, b, span, f"`{op}`")
        if not (type.is_integer or type is BOOL_):
            self.refuse(
                "L0209",
                f"`{op}` of {shown(type)} values",
                span,
                "bit operations are of integers and bools",
                fix="write `i64(...)` around each float value, or `and` and `or` between conditions" if type.is_float else None,
            )
        left, right = self.convert(a, type, span), self.convert(b, type, span)
        return Scalar(self.binary(NAMES[op], left, right, span))

    def power(self, a: Number | Scalar, b: Number | Scalar, span: Span) -> Entity:
        """`**`: small constant exponents multiply; integers need a non-negative exponent."""
        ta = self.scalar_type(a) or literal_default(self.sample(a))
        exponent = b.value if isinstance(b, Number) and (b.type is None or b.type.is_integer) else None
        if isinstance(exponent, int) and not isinstance(exponent, bool):
            integral = ta.is_integer or ta is BOOL_
            if integral and exponent < 0:
                self.refuse(
                    "L0210",
                    f"an integer to the negative power `{exponent}`",
                    span,
                    "integer `**` needs an exponent of 0 or more",
                    fix="write `f64(...)` around the base",
                )
            exact = integral or self.unit.math != "strict"
            if exponent == 2 or (exact and exponent in (3, 4)):
                base = self.materialise(a, span, I64 if ta is BOOL_ else ta)
                square = self.binary("mul", base, base, span)
                if exponent == 2:
                    return Scalar(square)
                return Scalar(self.binary("mul", square, square if exponent == 4 else base, span))
            if not integral:
                b = Number(float(exponent), None)
        type = self.arithmetic_type(a, b, span, "**")
        site = None
        if type.kind == "int" and not isinstance(b, Number):
            site = self.site("exponent", span)
        left, right = self.convert(a, type, span), self.convert(b, type, span)
        return Scalar(self.binary("pow", left, right, span, site))

    def negate(self, op: str, operand: Entity, span: Span) -> Entity:
        """`- + ~ not`."""
        if op == "not":
            truth = self.truth(operand, span)
            if isinstance(truth, Number):
                return Number(not truth.value, BOOL_)
            return Scalar(self.unary("not", truth.value, span))
        if is_vector(operand):
            return self.by_items([operand], span, f"`{op}`", lambda items: self.negate(op, items[0], span))
        a = self.number(operand, span, f"an operand of `{op}`")
        type = self.scalar_type(a)
        if isinstance(a, Number):
            if op == "~" and not isinstance(a.value, int):
                self.refuse("L0209", f"`~` of {shown(type, a.value)}", span, "bit operations are of integers")
            if type is None:
                return Number({"-": -a.value, "+": a.value}[op] if op != "~" else ~a.value, None)
            if op == "-" and type is not BOOL_:
                return Number(arithmetic.unary("neg", type, a.value), type)
        kind = type or literal_default(self.sample(a))
        if op == "~":
            if kind is BOOL_:
                self.refuse("L0209", "`~` of a `bool_`", span, "in Python `~True` is -2", fix="write `not`")
            if not kind.is_integer:
                self.refuse("L0209", f"`~` of {shown(kind)}", span, "bit operations are of integers")
            return Scalar(self.unary("invert", self.materialise(a, span), span))
        value = self.materialise(a, span, I64 if kind is BOOL_ else None)
        if op == "+":
            return a if isinstance(a, Number) else Scalar(value, a.literals)
        literals = a.literals if isinstance(a, Scalar) else None
        return Scalar(self.unary("neg", value, span), frozenset(-v for v in literals) if literals is not None else None)

    def absolute(self, operand: Entity, span: Span) -> Entity:
        """`abs`: of a complex number its modulus."""
        a = self.number(operand, span, "the argument of `abs`")
        if isinstance(a, Number) and (a.type is None or a.type is BOOL_):
            return Number(abs(a.value), None)
        type = self.scalar_type(a)
        if type is not None and (type is BOOL_ or type.kind == "uint"):
            return a
        value = self.materialise(a, span)
        return Scalar(self.unary("abs", value, span, PART.get(value.scalar, value.scalar)))

    # -------------------------------------------------------------------------------------------------------- comparisons

    def compare(self, op: str, a: Number | Scalar, b: Number | Scalar, span: Span) -> Scalar:
        """One comparison of scalars."""
        type = self.join_or_refuse(a, b, span, f"`{op}`")
        if op not in ("==", "!="):
            self.require_order(type, op, span)
        left, right = self.convert(a, type, span, f"compared by `{op}`"), self.convert(b, type, span, f"compared by `{op}`")
        return Scalar(self.binary(NAMES[op], left, right, span))

    def require_order(self, type: ScalarType, op: str, span: Span) -> None:
        """Refuse what compares sizes of complex numbers."""
        if type.kind == "complex":
            self.refuse(
                "L0209",
                f"`{op}` of complex numbers",
                span,
                "complex numbers have no order",
                fix="compare `abs(...)`, `.real` or `.imag`",
            )

    def compare_objects(self, op: str, left: Entity, right: Entity, span: Span) -> Number:
        """`==` of compile-time objects: strings, types, None."""
        if isinstance(left, Python) and isinstance(right, Python):
            same = bool(left.object is right.object or (isinstance(left.object, str) and left.object == right.object))
            return Number(same if op == "==" else not same, BOOL_)
        self.refuse(
            "L0209",
            f"{self.describe(left)} and {self.describe(right)} cannot be compared",
            span,
            "one of them is no number",
        )

    def compare_tuples(self, op: str, left: TupleOf, right: TupleOf, span: Span) -> Entity:
        """Comparison of tuples, place by place."""
        if len(left.items) != len(right.items):
            self.refuse(
                "L0209", f"tuples of {len(left.items)} and {len(right.items)} values are compared", span, "their lengths differ"
            )
        if op in ("==", "!="):
            equal: Entity = Number(True, BOOL_)
            for a, b in zip(left.items, right.items, strict=True):
                equal = self.operate("&", equal, self.truth(self.operate("==", a, b, span), span), span)
            return self.negate("not", equal, span) if op == "!=" else equal
        strict: Entity = Number(op in ("<=", ">="), BOOL_)
        base = op[0]
        for a, b in zip(reversed(left.items), reversed(right.items), strict=True):
            before = self.truth(self.operate(base, a, b, span), span)
            equal = self.truth(self.operate("==", a, b, span), span)
            strict = self.operate("|", before, self.operate("&", equal, strict, span), span)
        return strict

    # -------------------------------------------------------------------------------------------------------- min and max

    def extremum(self, op: BinaryOperator, items: list[Entity], span: Span) -> Entity:
        """`min` or `max` of two or more; tuples are compared place by place, NaN wins."""
        result = items[0]
        for item in items[1:]:
            if is_vector(result) or is_vector(item):
                result = self.by_items([result, item], span, f"`{op}`", lambda pair: self.extremum(op, pair, span))
                continue
            if isinstance(result, TupleOf) and isinstance(item, TupleOf):
                result = self.tuple_extremum(op, result, item, span)
                continue
            a, b = self.number(result, span, f"an argument of `{op}`"), self.number(item, span, f"an argument of `{op}`")
            ordered = not any(isinstance(n, Number) and isinstance(n.value, complex) for n in (a, b))
            if isinstance(a, Number) and isinstance(b, Number) and a.type is None and b.type is None and ordered:
                result = Number((min if op == "min" else max)(a.value, b.value), None)
                continue
            type = self.join_or_refuse(a, b, span, f"`{op}`")
            self.require_order(type, op, span)
            left, right = self.convert(a, type, span, f"in `{op}`"), self.convert(b, type, span, f"in `{op}`")
            result = Scalar(self.binary(op, left, right, span))
        return result

    def tuple_extremum(self, op: BinaryOperator, left: TupleOf, right: TupleOf, span: Span) -> TupleOf:
        """The lexicographically smaller (greater) of two tuples; equal ones keep the left."""
        if len(left.items) != len(right.items):
            self.refuse(
                "L0209", f"`{op}` of tuples of {len(left.items)} and {len(right.items)} values", span, "their lengths differ"
            )
        pairs: list[tuple[Value, Value]] = []
        for a, b in zip(left.items, right.items, strict=True):
            x, y = self.number(a, span), self.number(b, span)
            type = self.join_or_refuse(x, y, span, f"`{op}`")
            pairs.append((self.convert(x, type, span, f"in `{op}`"), self.convert(y, type, span, f"in `{op}`")))
        take: Value | None = None
        for x, y in reversed(pairs):
            better, equal = self.better(op, y, x, span)
            take = better if take is None else self.binary("or", better, self.binary("and", equal, take, span), span)
        assert take is not None
        results = tuple(self.new_value(x.type, span) for x, _ in pairs)
        then, orelse = region_of([], [y for _, y in pairs]), region_of([], [x for x, _ in pairs])
        self.emit(typed.If(span, results, take, then, orelse))
        return TupleOf(tuple(Scalar(value) for value in results))

    def better(self, op: BinaryOperator, new: Value, old: Value, span: Span) -> tuple[Value, Value]:
        """Whether `new` comes before `old` in the order of `op`, and whether they are equal there; NaN comes first."""
        better = self.binary("lt" if op == "min" else "gt", new, old, span)
        equal = self.binary("eq", new, old, span)
        if new.scalar.is_float:
            new_nan, old_nan = self.math("isnan", (new,), BOOL_, span), self.math("isnan", (old,), BOOL_, span)
            wins = self.binary("and", new_nan, self.unary("not", old_nan, span), span)
            better = self.binary("or", better, wins, span)
            equal = self.binary("or", equal, self.binary("and", new_nan, old_nan, span), span)
        return better, equal

    def floating(self, entity: Number | Scalar, span: Span, what: str) -> ScalarType:
        """The floating type in which a mathematical function of this argument is computed."""
        type = self.scalar_type(entity) or literal_default(self.sample(entity))
        if type.kind in ("float", "complex"):
            return type
        if (type in (I64,) and self.scalar_type(entity) is not None) or (
            type.bits == 64 and type is not INDEX and self.scalar_type(entity)
        ):
            self.refuse(
                "L0205",
                f"{shown(type)} cannot become `f64` without a cast ({what})",
                self.where(entity, span),
                f"this is {shown(type)}",
                fix=f"write `f64({self.quoted(entity, span)})`: it may round",
            )
        return F64
