"""The words for what is in hand: types, entities, and the user's own text.

Does: describe entities, find where a value is written, quote it.  Does not: decide.
Invariants: what is quoted stands in the user's file as it is.
"""

from __future__ import annotations

import types

from lend.diagnostics.diagnostic import Label
from lend.diagnostics.spans import Span
from lend.diagnostics.words import counted
from lend.frontend.typecheck.emitter import Emitter, is_library
from lend.frontend.typecheck.entities import (
    Array,
    Conflict,
    Element,
    Entity,
    Function,
    Method,
    Missing,
    Number,
    Poison,
    Python,
    Record,
    Reducing,
    Scalar,
    Subgroups,
    TupleOf,
)
from lend.language.types import BF16, F16, F32, INDEX, ScalarType, StructType

LONGEST_QUOTE = 48
"""Characters of the user's text that a fix repeats."""


def shown(type: ScalarType | None, value: object = None) -> str:
    """A type or a literal in messages."""
    if type is None:
        return f"the literal `{literal_text(value)}`" if value is not None else "a literal"
    return f"`{type_name(type)}`"


def literal_text(value: object) -> str:
    """A literal in messages; a very long one in part."""
    try:
        text = str(value)
    except ValueError:  # an int of more digits than Python prints
        return "..."
    return text if len(text) <= 40 else f"{text[:20]}...{text[-8:]}"


def type_name(type: ScalarType) -> str:
    """A type as the user writes it."""
    return "i64" if type is INDEX else type.name


def object_text(value: object) -> str:
    """A Python object in messages, without the place in memory that `repr` would show."""
    if value is None:
        return "`None`"
    if isinstance(value, str):
        return f"the string `{value!r}`"
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if isinstance(value, types.ModuleType):
        return f"the module `{name}`"
    if isinstance(value, ScalarType | StructType) or (isinstance(name, str) and isinstance(value, type)):
        return f"the type `{name or repr(value)}`"
    if isinstance(name, str) and callable(value):
        return f"the function `{name}`"
    return f"a Python object of type `{type(value).__name__}`"


class Wording(Emitter):
    """What messages say of entities."""

    def describe(self, entity: Entity) -> str:
        """An entity in words, for messages."""
        match entity:
            case Number():
                return shown(entity.type, entity.value)
            case Scalar():
                return "a literal" if entity.literals is not None else shown(entity.value.scalar)
            case Array():
                return f"an array of {counted(len(entity.sizes), 'dimension')}"
            case Element() | Record():
                return f"a `{entity.type.name}`"
            case TupleOf():
                return f"a tuple of {counted(len(entity.items), 'value')}"
            case Function():
                return "a function"
            case Python():
                return object_text(entity.object)
            case Method():
                return f"the method `{entity.name}`"
            case Subgroups():
                return f"sub-groups of {entity.size} threads"
            case Reducing():
                return "a reduction variable"
            case Missing() | Conflict() | Poison():
                return "a value that is not known"

    def where(self, entity: Entity, span: Span) -> Span:
        """Where the expression stands that gave `entity`, if that is within `span`; else `span`."""
        used = self.uses.get(entity)
        return used if used is not None and within(used, span) else span

    def quoted(self, entity: Entity, span: Span) -> str:
        """The expression within `span` that gave `entity`, as written; `...` where it is not known or long."""
        used = self.uses.get(entity)
        if used is None or not within(used, span) or len(used.text) > LONGEST_QUOTE or is_library(used):
            return "..."
        return used.text

    def operands(self, a: Entity, b: Entity, left: str, right: str, span: Span) -> tuple[Span, tuple[Label, ...]]:
        """Where the operator between two values stands, with a label for each; all of `span` where it is not between them."""
        x, y = self.uses.get(a), self.uses.get(b)
        if x is None or y is None or x == y or not within(x, span) or not within(y, span):
            return span, ()
        labels = (Label(x, f"this is {left}"), Label(y, f"this is {right}"))
        if x.end_line != y.line or x.end_column >= y.column:
            return span, labels
        gap = Span(span.source, x.end_line, x.end_column, y.line, y.column)
        lead, operator = len(gap.text) - len(gap.text.lstrip(") ")), gap.text.strip("() ")
        if not operator or "," in operator:
            return span, labels
        return Span(span.source, gap.line, gap.column + lead, gap.line, gap.column + lead + len(operator)), labels


def within(inner: Span, outer: Span) -> bool:
    """Whether one span lies in another."""
    return (
        inner.source is outer.source
        and (outer.line, outer.column) <= (inner.line, inner.column)
        and (inner.end_line, inner.end_column) <= (outer.end_line, outer.end_column)
    )


def integer_division(span: Span) -> str | None:
    """The advice to divide with `//`, where the text divides with `/`."""
    return "divide with `//`" if "/" in span.text.replace("//", "") else None


def cast_hint(a: ScalarType | None, b: ScalarType | None, left: str = "...", right: str = "...") -> str:
    """Which cast to write so that two types meet; `left` and `right` are the two values as written."""
    if a is None or b is None:
        return f"write `f64({left if b is None else right})`: it may round"
    if a.is_float or b.is_float or a.kind == "complex" or b.kind == "complex":
        target, other, text = (a, b, right) if a.is_float or a.kind == "complex" else (b, a, left)
        if target in (F32, F16, BF16):
            return f"write `{target.name}({text})` for the {shown(other)} value, or `f64(...)` around both"
        return f"write `{target.name}({text})` for the {shown(other)} value: it may round"
    if a.bits == b.bits == 64:
        return f"write `i64({left if a.kind == 'uint' else right})` for the `u64` value: it wraps beyond 2**63 - 1"
    wide = max(a, b, key=lambda t: t.bits)
    if wide.bits < 64:
        return f"write `i{wide.bits * 2}(...)` around both"
    other, text = (b, right) if wide is a else (a, left)
    return f"write `{type_name(wide)}({text})` for the {shown(other)} value: it may wrap"
