"""Small vectors by value: operators and functions item by item, what meets what.

Does: `v + w`, `v * 2`, `-v`, `v == w`, functions of vectors, the vector that a value becomes.  Does not: read or replace items
(`vector_items.py`).
Invariants: an item is computed as the scalar that it is; a vector's items have one type, that of its `VectorType`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeGuard

from lend.diagnostics.spans import Span
from lend.diagnostics.words import counted
from lend.frontend.typecheck.branches import Branches
from lend.frontend.typecheck.conversions import literal_default
from lend.frontend.typecheck.entities import Element, Entity, Number, Record, Scalar, TupleOf
from lend.language.types import BOOL_, I64, INDEX, ElementType, ScalarType, StructType, VectorType, widens
from lend.language.vectors import vector_type


def is_vector(entity: Entity) -> TypeGuard[Record | Element]:
    """Whether an entity is a small vector, by value or in an array."""
    return isinstance(entity, Record | Element) and isinstance(entity.type, VectorType)


class Vectors(Branches):
    """Typing of what is done to whole vectors."""

    def operate(self, op: str, left: Entity, right: Entity, span: Span) -> Entity:
        """`left op right` (defined in `operators.py`)."""
        raise NotImplementedError

    def by_items(self, arguments: list[Entity], span: Span, what: str, make: Callable[[list[Entity]], Entity]) -> Record:
        """What `make` gives of the arguments' items, as a vector; a number stands for as many equal items."""
        values = [self.load_record(a) if isinstance(a, Element) else a for a in arguments]
        vectors = [v for v in values if isinstance(v, Record) and isinstance(v.type, VectorType)]
        first, *others = vectors
        for other in others:
            if len(other.items) != len(first.items):
                self.refuse(
                    "L0209",
                    f"{what} of {self.describe(first)} and {self.describe(other)}: one has {counted(len(first.items), 'item')}, "
                    f"the other {len(other.items)}",
                    span,
                    "their lengths differ",
                )
        numbers = [v if is_vector(v) else self.number(v, span, f"an operand of {what}") for v in values]
        columns = [v.items if isinstance(v, Record) else (v,) * len(first.items) for v in numbers]
        return self.vector_of([make(list(items)) for items in zip(*columns, strict=True)], span)

    def vector_of(self, items: list[Entity], span: Span) -> Record:
        """A vector of these numbers, which have one type."""
        numbers = [self.number(item, span, "an item of a vector") for item in items]
        types = [self.scalar_type(n) or literal_default(self.sample(n)) for n in numbers]
        type = I64 if types[0] is INDEX else types[0]
        return Record(vector_type(type, len(items)), tuple(Scalar(self.convert(n, type, span)) for n in numbers))

    def items_of(self, entity: Entity) -> tuple[Entity, ...]:
        """The items of a tuple or of a vector."""
        if isinstance(entity, Element):
            entity = self.load_record(entity)
        assert isinstance(entity, TupleOf | Record)
        return entity.items

    def operate_vectors(self, op: str, left: Entity, right: Entity, span: Span) -> Entity:
        """`left op right` where one of them is a vector."""
        if op in ("==", "!="):
            return self.compare_vectors(op, left, right, span)
        if op in ("<", "<=", ">", ">="):
            self.refuse(
                "L0209",
                f"`{op}` of {self.describe(left)} and {self.describe(right)}",
                span,
                "vectors have no order",
                fix=f"compare items, such as `v[0] {op} w[0]`",
            )
        return self.by_items([left, right], span, f"`{op}`", lambda items: self.operate(op, items[0], items[1], span))

    def compare_vectors(self, op: str, left: Entity, right: Entity, span: Span) -> Entity:
        """`==`: all items are equal."""
        if not (is_vector(left) and is_vector(right)):
            self.refuse(
                "L0209",
                f"{self.describe(left)} and {self.describe(right)} cannot be compared",
                span,
                "only one of them is a vector",
                fix="compare items, such as `v[0] == x`",
            )
        equal: Entity = Number(True, BOOL_)
        items = self.by_items([left, right], span, f"`{op}`", lambda pair: self.operate("==", pair[0], pair[1], span)).items
        for item in items:
            equal = self.operate("&", equal, item, span)
        return equal if op == "==" else self.negated(equal, span)

    def negated(self, entity: Entity, span: Span) -> Entity:
        """`not` of a condition."""
        return Scalar(self.unary("not", self.materialise(entity, span), span))

    def fitted(self, value: Entity, type: ElementType, span: Span, what: str = "") -> Record | None:
        """The record or vector `value` as one of `type`; None if it is none. Items are converted, if nothing is lost."""
        if isinstance(value, Element):
            value = self.load_record(value)
        if not isinstance(value, Record) or not isinstance(type, StructType):
            return None
        if value.type is type:
            return value
        if not (isinstance(type, VectorType) and isinstance(value.type, VectorType) and type.length == len(value.items)):
            return None
        if not widens(value.type.element, type.element):
            place = f" ({what})" if what else ""
            self.refuse(
                "L0205",
                f"`{value.type}` cannot become `{type}` without a cast{place}",
                self.where(value, span),
                f"this is a `{value.type}`",
                fix=f"write `{type}({self.quoted(value, span)})` to convert it",
            )
        return Record(type, tuple(Scalar(self.convert(item, type.element, span)) for item in value.items))

    def part_of_record(self, value: Entity, type: ElementType, what: str, span: Span, where: str) -> Entity:
        """A value that becomes a field of a record or an item of a vector."""
        if isinstance(type, ScalarType):
            return Scalar(self.convert(value, type, span, what))
        record = self.fitted(value, type, span, what)
        if record is None:
            self.refuse("L0219", f"{what} is `{type}`, not {self.describe(value)}", span, where)
        return record
