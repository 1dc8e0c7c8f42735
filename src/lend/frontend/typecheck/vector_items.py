"""Items of small vectors: `v[k]` read and replaced.

Does: items of vectors by value, of arrays of vectors and of fields that are vectors; the type `Vec[…]` inside a kernel.
Does not: know operators (`vectors.py`).
Invariants: an index that is known when the kernel is compiled is judged here; any other one has a bounds site.
"""

from __future__ import annotations

from typing import Literal

from lend.diagnostics.spans import Span
from lend.frontend.typecheck.arrays import Arrays
from lend.frontend.typecheck.entities import Array, Element, Entity, Number, Python, Record, Scalar
from lend.frontend.typecheck.vectors import is_vector
from lend.ir import syntax, typed
from lend.language.annotations import vector_advice
from lend.language.types import INDEX, Borrow, Layout, ScalarType, VectorType, array_type
from lend.language.vectors import Vec, VectorAnnotation, length_of, vector_class


class VectorItems(Arrays):
    """Typing of subscripts of vectors."""

    def subscript_of(self, base: Entity, expression: syntax.Subscript) -> Entity:
        """`base[indices]` read."""
        if is_vector(base):
            return self.item(base, self.item_index(base, expression), expression)
        if isinstance(base, Python) and base.object is Vec:
            return self.vector_class_of(expression)
        if isinstance(base, Python) and base.object is Literal:
            return self.check(expression.indices[0]) if isinstance(expression.indices[0], syntax.Expr) else Python(None)
        return super().subscript_of(base, expression)

    def vector_class_of(self, expression: syntax.Subscript) -> Entity:
        """`Vec[f32, Literal[4]]` inside a kernel."""
        given: list[object] = []
        for index in expression.indices:
            entity = self.check(index) if isinstance(index, syntax.Expr) else Python(None)
            given.append(entity.object if isinstance(entity, Python) else entity.value if isinstance(entity, Number) else None)
        element = given[0]
        length = length_of(given[1]) if len(given) == 2 else None
        if not isinstance(element, ScalarType) or length is None:
            message, fix = vector_advice(VectorAnnotation(tuple(given)))
            if None in given:
                message = f"`{expression.span.text}` must be known when the kernel is compiled"
            self.refuse("L0217", message, expression.span, "no type of vectors", fix=fix)
        return Python(vector_class(element, length))

    def item_index(self, base: Record | Element, expression: syntax.Subscript) -> Number | Scalar:
        """The index of an item; one that is known is in range."""
        index, *more = expression.indices
        if more or isinstance(index, syntax.Slice):
            self.refuse(
                "L0211",
                f"{self.describe(base)} is indexed by one number",
                expression.span,
                "not one number",
                fix="write one subscript after the other, such as `x[i][k]`" if more else "write each item, such as `v[0]`",
            )
        entity = self.check(index)
        length = len(base.type.fields)
        number = self.number(entity, index.span, "the index of an item")
        if isinstance(number, Number) and isinstance(number.value, int) and not 0 <= number.value < length:
            fix = f"write `{length + number.value}`" if -length <= number.value < 0 else None
            self.refuse(
                "L0213",
                f"the index {number.value} is out of range for a `{base.type}`",
                index.span,
                f"its items are 0 to {length - 1}" if length > 1 else "its only item is 0",
                fix=fix,
            )
        value = self.to_index(number, index.span, "the index of an item")
        return number if isinstance(number, Number) else Scalar(value)

    def item(self, base: Record | Element, index: Number | Scalar, expression: syntax.Subscript) -> Entity:
        """One item of a vector, read as `expression`."""
        span = expression.span
        if isinstance(base, Element) and (base.in_rows or isinstance(index, Number)):
            indices, path = self.item_place(base, index, span)
            return Scalar(self.load(base.array, indices, path, span))
        record = self.settle(base)
        assert isinstance(record, Record)
        if isinstance(index, Number):
            return record.items[int(index.value)]
        copy = self.private_copy(record, expression)
        return Scalar(self.load(copy, (index.value,), (), span))

    def private_copy(self, record: Record, expression: syntax.Subscript) -> Array:
        """The vector that `expression` indexes, as a private array of which any item can be read or replaced."""
        assert isinstance(record.type, VectorType)
        span, name = expression.span, expression.value.span.text
        if self.level == "block":
            self.refuse(
                "L0212",
                "at block level the index of an item must be known when the kernel is compiled",
                span,
                "known at run time only",
                fix="write it inside `lend.threads`, or loop with `for k in lend.static_range(...)`",
            )
        element, length = record.type.element, record.type.length
        result = self.new_value(array_type(element, 1, Borrow.OWNED, Layout.C), span, name if name.isidentifier() else None)
        self.emit(typed.Local(span, result, (length,)))
        copy = Array(result, name, (Number(length, None),), result)
        for k, item in enumerate(record.items):
            self.store(copy, (self.constant(k, INDEX, span),), (), element, item, span)
        return copy

    def replace_item(self, base: Record | Element, index: Number | Scalar, value: Entity, target: syntax.Subscript) -> None:
        """`v[k] = value`, where `v` is what `target` indexes."""
        span = target.span
        type = base.type
        assert isinstance(type, VectorType)
        if isinstance(base, Element):
            self.require_writable(base.array, span)
            if not (base.in_rows or isinstance(index, Number)):
                self.refuse(
                    "L0212",
                    "the item of a field that is stored must be known when the kernel is compiled",
                    span,
                    "its index is known at run time only",
                    fix=f"loop with `for k in lend.static_range({type.length}):`, or store the whole vector",
                )
            indices, path = self.item_place(base, index, span)
            self.store(base.array, indices, path, type.element, value, span)
            return
        self.require_own(target)
        items = list(base.items)
        converted = Scalar(self.convert(value, type.element, span, f"an item of a `{type}`"))
        if isinstance(index, Number):
            items[index.value] = converted
        else:
            copy = self.private_copy(base, target)
            self.store(copy, (index.value,), (), type.element, converted, span)
            places = [self.constant(k, INDEX, span) for k in range(len(items))]
            items = [Scalar(self.load(copy, (place,), (), span)) for place in places]
        self.assign(target.value, Record(type, tuple(items)), span)

    def augmented_item(self, base: Record | Element, statement: syntax.AugAssign, target: syntax.Subscript) -> None:
        """`v[k] op= value`."""
        if isinstance(base, Element):
            self.require_writable(base.array, target.span)
        index = self.item_index(base, target)
        old = self.item(base, index, target)
        new = self.operate(statement.op, old, self.settle(self.check(statement.value)), statement.span)
        self.replace_item(base, index, new, target)

    def require_own(self, target: syntax.Expr) -> None:
        """Refuse to change a vector of another function (defined in `statements.py`)."""
        raise NotImplementedError

    def assign(self, target: syntax.Expr, value: Entity, span: Span) -> None:
        """Bind one target (defined in `statements.py`)."""
        raise NotImplementedError
