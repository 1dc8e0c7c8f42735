"""Implicit and explicit conversions between scalar types.

Does: join types, convert values where nothing is lost, refuse with the cast to write where something could be.
Does not: know operators.
Invariants: what `convert` accepts loses nothing, literals aside, which must fit.

The table: an integer literal joins with any number, a float literal with any float (and with an integer to f64); two types join
if one of them holds every value of the other (`language.types.widens`).
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

from lend.diagnostics.spans import Span
from lend.frontend.typecheck.emitter import Refused
from lend.frontend.typecheck.entities import (
    Array,
    Element,
    Entity,
    Function,
    Method,
    Number,
    Poison,
    Python,
    Record,
    Scalar,
    TupleOf,
)
from lend.frontend.typecheck.wording import Wording, cast_hint, integer_division, literal_text, shown, type_name
from lend.ir import typed
from lend.ir.typed import Value
from lend.language import arithmetic
from lend.language.types import (
    BOOL_,
    COMPLEX64,
    COMPLEX128,
    F64,
    I64,
    INDEX,
    PART,
    ElementType,
    ScalarType,
    StructType,
    VectorType,
    widens,
)


def literal_default(value: Any) -> ScalarType:
    """The type a literal has where nothing else says one."""
    if isinstance(value, bool):
        return BOOL_
    if isinstance(value, int):
        return I64
    return F64 if isinstance(value, float) else COMPLEX128


class Conversions(Wording):
    """Types of entities, joins, conversions."""

    # ----------------------------------------------------------------------------------------------- what an entity is

    def number(self, entity: Entity, span: Span, what: str | None = None) -> Number | Scalar:
        """The entity as a scalar; anything else is refused. `what` names the place ("an argument of `sqrt`")."""
        if isinstance(entity, Number | Scalar):
            return entity
        if isinstance(entity, Poison):
            raise Refused
        fix = None
        if isinstance(entity, Array):
            fix = f"work on one element, `{entity.name}[{', '.join('ijklmn'[: len(entity.sizes)])}]`, inside a loop"
            if not entity.name.isidentifier():
                fix = "work on one element: give every dimension a subscript"
        elif isinstance(entity, Element | Record) and isinstance(entity.type, VectorType):
            fix = f"use one of its items: `{self.quoted(entity, span).replace('...', 'v')}[0]`"
        elif isinstance(entity, Element | Record):
            fix = f"use one of its fields: {', '.join(f'`.{name}`' for name, _ in entity.type.fields)}"
        elif isinstance(entity, Function | Method) or (isinstance(entity, Python) and callable(entity.object)):
            fix = "call it: write its arguments in parentheses"
        described = self.describe(entity)
        message = f"{what} must be a number, not {described}" if what else f"a number is needed here, not {described}"
        self.refuse("L0208", message, self.where(entity, span), f"this is {described}", fix=fix)

    def scalar_type(self, entity: Number | Scalar) -> ScalarType | None:
        """The type of a scalar entity, None for literals."""
        if isinstance(entity, Number):
            return entity.type
        return None if entity.literals is not None else entity.value.scalar

    def sample(self, entity: Number | Scalar) -> Any:
        """A Python value of the literal's kind."""
        if isinstance(entity, Number):
            return entity.value
        assert entity.literals is not None
        return next((v for v in entity.literals if isinstance(v, float)), next(iter(entity.literals)))

    # ------------------------------------------------------------------------------------------------------------ joins

    def join(self, a: Number | Scalar, b: Number | Scalar) -> ScalarType | None:
        """The type both become, or None if there is none. Two literals join to their default type."""
        ta, tb = self.scalar_type(a), self.scalar_type(b)
        if ta is None and tb is None:
            pair = {literal_default(self.sample(a)), literal_default(self.sample(b))}
            return max(pair, key=[BOOL_, I64, F64, COMPLEX128].index)
        if ta is None:
            return self.join_literal(self.sample(a), tb)
        if tb is None:
            return self.join_literal(self.sample(b), ta)
        return join_types(ta, tb)

    def join_literal(self, literal: Any, type: ScalarType | None) -> ScalarType | None:
        """The type a literal and a value of `type` become."""
        assert type is not None
        if isinstance(literal, int):
            return I64 if type.kind == "bool" else type
        if isinstance(literal, float):
            if type.kind in ("float", "complex"):
                return type
            return F64 if widens(type, F64) else None
        if type.kind == "complex":
            return type
        if type.is_float:
            return COMPLEX128 if type is F64 else COMPLEX64
        return COMPLEX128 if widens(type, F64) else None

    def join_or_refuse(self, a: Number | Scalar, b: Number | Scalar, span: Span, operation: str) -> ScalarType:
        """The joined type; refused, with the cast to write, if something could be lost."""
        joined = self.join(a, b)
        if joined is not None:
            return joined
        ta, tb = self.scalar_type(a), self.scalar_type(b)
        left, right = shown(ta, self.sample_text(a)), shown(tb, self.sample_text(b))
        at, labels = self.operands(a, b, left, right, span)
        self.refuse(
            "L0204",
            f"{operation} of {left} and {right}: neither type holds all values of the other",
            at,
            f"{left} and {right} meet here",
            labels=labels,
            fix=cast_hint(ta, tb, self.quoted(a, span), self.quoted(b, span)),
        )

    def sample_text(self, entity: Number | Scalar) -> Any:
        """The literal's text, for messages."""
        return self.sample(entity) if self.scalar_type(entity) is None else None

    # ------------------------------------------------------------------------------------------------------ conversions

    def fits(self, literal: Any, type: ScalarType) -> bool:
        """Whether a literal may become `type`: integers in range, floats into floats, complex into complex."""
        if type.kind == "bool":
            return isinstance(literal, bool)
        if isinstance(literal, int):
            if type.is_integer:
                return type.minimum <= literal <= type.maximum
            return self.literal_finite(literal, type)
        if isinstance(literal, float):
            return type.kind in ("float", "complex") and self.literal_finite(literal, type)
        return type.kind == "complex"

    def literal_finite(self, literal: int | float, type: ScalarType) -> bool:
        """Whether a finite literal stays finite as `type`."""
        try:
            as_float = float(literal)
        except OverflowError:
            return False
        part = PART.get(type, type)
        return not math.isfinite(as_float) or math.isfinite(float(arithmetic.cast(part, as_float)))

    def convert(self, entity: Entity, type: ScalarType, span: Span, what: str = "") -> Value:
        """The value as `type`, where that loses nothing; `what` names the place ("an argument of `f`", "stored in `y`")."""
        scalar = self.number(entity, span)
        if isinstance(scalar, Number):
            if scalar.type is None:
                self.require_fit(scalar, scalar.value, type, span, what)
                return self.constant(arithmetic.cast(type, scalar.value), type, span)
            if widens(scalar.type, type):
                return self.constant(arithmetic.cast(type, scalar.value), type, span)
            self.refuse_lossy(scalar, scalar.type, type, span, what)
        if scalar.literals is not None:
            for literal in scalar.literals:
                self.require_fit(scalar, literal, type, span, what)
            return self.cast_value(scalar.value, type, span)
        if not widens(scalar.value.scalar, type):
            self.refuse_lossy(scalar, scalar.value.scalar, type, span, what)
        return self.cast_value(scalar.value, type, span)

    def require_fit(self, entity: Entity, literal: Any, type: ScalarType, span: Span, what: str) -> None:
        """Refuse a literal that is not a value of `type`."""
        if self.fits(literal, type):
            return
        at, place = self.where(entity, span), f" ({what})" if what else ""
        text = literal_text(literal)
        cast = f"`{type_name(type)}({text})`"
        if isinstance(literal, int) and not isinstance(literal, bool) and type.is_integer:
            limits = f"{shown(type)} holds {type.minimum} to {type.maximum}"
            fix = f"use a wider type, or write {cast}, which wraps"
            self.refuse("L0206", f"the literal `{text}` does not fit in {shown(type)}{place}", at, limits, fix=fix)
        fix = f"write {cast} to convert it"
        if isinstance(literal, complex):
            fix = "take its `.real` or `.imag`"
        elif type.kind == "bool":
            fix = "write `True` or `False`, or a comparison"
        elif type.is_float:  # an integer beyond its range
            fix = "use a smaller number, or `math.inf`"
        self.refuse(
            "L0205",
            f"the literal `{text}` is not a value of {shown(type)}{place}",
            at,
            f"{shown(type)} is needed here",
            fix=fix,
        )

    def refuse_lossy(self, entity: Entity, source: ScalarType, target: ScalarType, span: Span, what: str) -> NoReturn:
        """Refuse an implicit conversion that could lose something."""
        at, place = self.where(entity, span), f" ({what})" if what else ""
        if source.kind == "complex":
            fix = "take its `.real` or `.imag`, or `abs(...)`"
        else:
            fix = f"write `{type_name(target)}({self.quoted(entity, span)})` to convert it"
            if target.is_integer and (division := integer_division(at)) is not None:
                fix = f"{division}, or {fix}"
        self.refuse(
            "L0205",
            f"{shown(source)} cannot become {shown(target)} without a cast{place}",
            at,
            f"this is {shown(source)}, {shown(target)} is needed",
            fix=fix,
        )

    def cast_value(self, value: Value, type: ScalarType, span: Span) -> Value:
        """Emit a cast unless the value has that type already."""
        if value.type is type:
            return value
        result = self.new_value(type, span, value.name)
        self.emit(typed.Cast(span, result, value))
        return result

    def cast(self, entity: Number | Scalar, type: ScalarType, span: Span) -> Number | Scalar:
        """An explicit cast, such as `i32(x)`."""
        from_complex = isinstance(entity.value, complex) if isinstance(entity, Number) else entity.value.scalar.kind == "complex"
        if from_complex and type.kind not in ("complex", "bool"):
            self.refuse(
                "L0205",
                f"a complex number cannot become {shown(type)}",
                span,
                "this is complex",
                fix="take its `.real` or `.imag`",
            )
        if isinstance(entity, Number):
            return Number(arithmetic.cast(type, entity.value), type)
        return Scalar(self.cast_value(entity.value, type, span))

    def materialise(self, entity: Entity, span: Span, type: ScalarType | None = None) -> Value:
        """A run-time value: literals take `type`, or their default."""
        scalar = self.number(entity, span)
        if isinstance(scalar, Scalar):
            return scalar.value if type is None else self.convert(scalar, type, span)
        target = type or scalar.type or literal_default(scalar.value)
        return self.convert(scalar, target, span)

    def truth(self, entity: Entity, span: Span) -> Number | Scalar:
        """The entity as a condition: a bool constant or a `bool_` value. Numbers are true when not zero, as in Python."""
        if isinstance(entity, Python):
            return Number(bool(entity.object), BOOL_)
        if isinstance(entity, TupleOf):
            return Number(bool(entity.items), BOOL_)
        scalar = self.number(entity, span, "a condition")
        if isinstance(scalar, Number):
            return Number(bool(scalar.value), BOOL_)
        return Scalar(self.cast_value(scalar.value, BOOL_, span))

    def to_index(self, entity: Entity, span: Span, what: str) -> Value:
        """An integer for a subscript, a size or a loop bound, as INDEX or I64."""
        scalar = self.number(entity, span, what)
        type = self.scalar_type(scalar)
        if type is None and isinstance(scalar, Number) and isinstance(scalar.value, int):
            self.require_fit(scalar, scalar.value, I64, span, what)
            return self.constant(scalar.value, INDEX, span)
        if type is None and isinstance(scalar, Scalar) and scalar.value.scalar is I64:
            return scalar.value
        if type is None or not type.is_integer:
            named, at = shown(type, self.sample_text(scalar)), self.where(scalar, span)
            fix = "write an integer"
            if type is None or type.is_float:
                fix = integer_division(at) or f"write `i64({self.quoted(scalar, span)})` to truncate it"
            self.refuse("L0207", f"{what} must be an integer, not {named}", at, f"this is {named}", fix=fix)
        if isinstance(scalar, Number):
            self.require_fit(scalar, scalar.value, I64, span, what)
            return self.constant(scalar.value, INDEX, span)
        if type in (INDEX, I64):
            return scalar.value
        return self.cast_value(scalar.value, I64, span)

    # ---------------------------------------------------------------------------------------------------------- records

    def field_default(self, type: ElementType, span: Span) -> Entity:
        """Zero, of any element type."""
        if isinstance(type, StructType):
            return Record(type, tuple(self.field_default(member, span) for _, member in type.fields))
        return Number(arithmetic.cast(type, 0), type)


def join_types(a: ScalarType, b: ScalarType) -> ScalarType | None:
    """The one of two types that holds every value of the other."""
    if widens(a, b):
        return b
    return a if widens(b, a) else None
