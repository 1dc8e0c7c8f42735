"""Arrays: subscripts, views, fields, stores, and what arrays know about themselves.

Does: loads, stores, sub-views, reshapes, temporaries.  Does not: know loops.
Invariants: every load and store has a bounds site, except inside `lend.unchecked`; a constant negative subscript is refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

from lend.diagnostics.sites import Access
from lend.diagnostics.spans import Span
from lend.diagnostics.words import counted
from lend.frontend.typecheck.emitter import Refused
from lend.frontend.typecheck.entities import Array, Element, Entity, Number, Poison, Python, Record, Scalar, TupleOf
from lend.frontend.typecheck.operators import Operators
from lend.ir import syntax, typed
from lend.ir.typed import Extent, Value
from lend.language.annotations import MAX_DIMENSIONS
from lend.language.borrows import Atomic
from lend.language.structs import struct_type
from lend.language.types import INDEX, Borrow, ElementType, Layout, ScalarType, StructType, VectorType, array_type

_REDUCED = {
    "sum": "write a parallel loop with `total += {0}[i]`",
    "min": "write a parallel loop with `least = min(least, {0}[i])`",
    "max": "write a parallel loop with `greatest = max(greatest, {0}[i])`",
    "mean": "write a parallel loop with `total += {0}[i]`, and divide by `len({0})`",
    "copy": "make an array with `lend.empty`, and copy in a parallel loop",
    "T": "write the subscripts in the other order",
}
"""What to write instead of methods that users of NumPy miss most."""


class Arrays(Operators):
    """Typing of array accesses."""

    # ----------------------------------------------------------------------------------------------------------- reading

    def subscript(self, expression: syntax.Subscript) -> Entity:
        """`value[indices]` read."""
        return self.subscript_of(self.check(expression.value), expression)

    def subscript_of(self, base: Entity, expression: syntax.Subscript) -> Entity:
        """`base[indices]` read."""
        if isinstance(base, TupleOf):
            return self.tuple_item(base, expression)
        if isinstance(base, Python) and base.object is Atomic:
            return self.atomic_of(expression)
        if not isinstance(base, Array):
            if isinstance(base, Poison):
                raise Refused
            self.refuse(
                "L0211", f"{self.describe(base)} has no elements to index", expression.span, f"this is {self.describe(base)}"
            )
        place = self.place(base, expression)
        if isinstance(place, Array | Element):
            return place
        if base.value.array.borrow is Borrow.ATOMIC:
            self.refuse_plain_read(base, expression)
        return Scalar(self.load(base, place, (), expression.span))

    def atomic_of(self, expression: syntax.Subscript) -> Entity:
        """`Atomic[i32]` (defined in `team_words.py`)."""
        raise NotImplementedError

    def refuse_plain_read(self, array: Array, expression: syntax.Subscript) -> NoReturn:
        """A plain read of an `Atomic` (defined in `atomics.py`)."""
        raise NotImplementedError

    def refuse_at_block_level(self, what: str, span: Span) -> NoReturn:
        """What a block cannot do outside `lend.threads` (defined in `atomics.py`)."""
        raise NotImplementedError

    def tuple_item(self, base: TupleOf, expression: syntax.Subscript) -> Entity:
        """`t[k]` with a compile-time k."""
        if len(expression.indices) != 1 or isinstance(expression.indices[0], syntax.Slice):
            self.refuse("L0211", "a tuple is indexed by one number", expression.span, "not one number", fix="write `t[0]`")
        index = self.check(expression.indices[0])
        if isinstance(index, Number | Python) and not (isinstance(index, Number) and isinstance(index.value, int)):
            self.refuse(
                "L0207",
                f"the index of a tuple must be an integer, not {self.describe(index)}",
                expression.indices[0].span,
                "this index",
            )
        if not isinstance(index, Number):
            self.refuse(
                "L0212",
                "the index of a tuple must be known when the kernel is compiled",
                expression.indices[0].span,
                "known at run time only",
                fix="write `for x in the_tuple:`, or `for k in lend.static_range(len(the_tuple)):`",
            )
        if not -len(base.items) <= index.value < len(base.items):
            self.refuse(
                "L0213",
                f"the index {index.value} is out of range for a tuple of {counted(len(base.items), 'value')}",
                expression.indices[0].span,
                "no such item",
            )
        return base.items[index.value]

    def place(self, base: Array, expression: syntax.Subscript) -> Array | Element | tuple[Value, ...]:
        """Where a subscript leads: a sub-view, a record's place, or the indices of a scalar element."""
        dimensions = len(base.sizes)
        indices = expression.indices
        if len(indices) > dimensions:
            fix = None
            if base.vector is not None and len(indices) == dimensions + 1:
                *outer, item = (index.span.text for index in indices)
                fix = f"write `{base.name}[{', '.join(outer)}][{item}]` for an item of a `{base.vector}`"
            self.refuse(
                "L0211",
                f"{len(indices)} subscripts on `{base.name}`, which has {counted(dimensions, 'dimension')}",
                expression.span,
                f"{len(indices)} subscripts",
                fix=fix,
            )
        if len(indices) < dimensions or any(isinstance(index, syntax.Slice) for index in indices):
            return self.view(base, expression)
        values = tuple(self.index(base, k, index) for k, index in enumerate(indices) if not isinstance(index, syntax.Slice))
        element = base.vector or base.value.array.element
        if isinstance(element, StructType):
            return Element(base, values, (), element, expression.span)
        return values

    def index(self, base: Array, dimension: int, expression: syntax.Expr) -> Value:
        """One subscript as an integer value."""
        return self.index_entity(base, dimension, self.check(expression), expression.span)

    def index_entity(self, base: Array, dimension: int, entity: Entity, span: Span) -> Value:
        """A subscript that has been checked, as an integer value."""
        if isinstance(entity, TupleOf):
            parts = ", ".join(f"{span.text}[{k}]" for k in range(len(base.sizes)))
            self.refuse(
                "L0207",
                "a subscript must be an integer, not a tuple",
                span,
                "this is a tuple",
                fix=f"write each index: `{base.name}[{parts}]`",
            )
        if isinstance(entity, Number) and isinstance(entity.value, int) and entity.value < 0:
            text = self.size_name(base, dimension)
            self.refuse(
                "L0214",
                f"the subscript `{entity.value}` is negative, and in kernels subscripts do not count from the end",
                span,
                "before the first element",
                fix=f"write `{base.name}[{text} - {-entity.value}]`"
                if len(base.sizes) == 1 and base.value.array.borrow is not Borrow.ATOMIC
                else f"write `{text} - {-entity.value}`",
            )
        return self.to_index(entity, span, "a subscript")

    def as_size(self, size: Number | Scalar, span: Span) -> Number | Scalar:
        """A size as the user reads it: an index, also where it was computed as an `i64`."""
        return Scalar(self.cast_value(size.value, INDEX, span)) if isinstance(size, Scalar) else size

    def size_name(self, array: Array, dimension: int) -> str:
        """How the user can write the size of a dimension."""
        size = array.shape[dimension]
        return str(size.value) if isinstance(size, Number) else (size.value.name or f"{array.name}.shape[{dimension}]")

    def bounds_site(self, array: Array, access: Access, span: Span) -> int | None:
        """A site for an access; None inside `lend.unchecked`."""
        return None if self.unchecked_depth else self.site("bounds", span, array=array.name, access=access)

    def load(self, array: Array, indices: tuple[Value, ...], path: tuple[int, ...], span: Span) -> Value:
        """Emit a load of a scalar."""
        result = self.new_value(element_at(array.value.array.element, path), span)
        self.emit(typed.Load(span, result, array.value, indices, path, self.bounds_site(array, "read", span)))
        return result

    def load_record(self, element: Element) -> Entity:
        """Load all fields of a record."""
        return self.load_fields(element, element.type, element.path)

    def load_fields(self, element: Element, type: StructType, path: tuple[int, ...]) -> Record:
        items: list[Entity] = []
        span = element.span
        for position, (_, member) in enumerate(type.fields):
            if isinstance(member, StructType):
                items.append(self.load_fields(element, member, (*path, position)))
            else:
                place = replace(element, path=path)
                items.append(Scalar(self.load(element.array, *self.item_place(place, Number(position, None), span), span)))
        return Record(type, tuple(items))

    def item_place(self, element: Element, index: Number | Scalar, span: Span) -> tuple[tuple[Value, ...], tuple[int, ...]]:
        """Indices and path of an item of a vector, or of a field that is a scalar."""
        if element.in_rows:
            return (*element.indices, self.to_index(index, span, "the index of an item")), ()
        assert isinstance(index, Number)
        return element.indices, (*element.path, index.value)

    def settle(self, entity: Entity) -> Entity:
        """The value to keep under a name: a record's place is read now."""
        if not isinstance(entity, Element):
            return entity
        record = self.load_record(entity)
        if entity in self.uses:
            self.uses[record] = self.uses[entity]
        return record

    def field(self, base: Element | Record, expression: syntax.Attribute) -> Entity:
        """`base.name`."""
        position = base.type.index_of(expression.name)
        if position is None or isinstance(base.type, VectorType):
            self.refuse_vector_field(base, expression)
            names = ", ".join(f"`{name}`" for name, _ in base.type.fields)
            self.refuse("L0215", f"`{base.type}` has no field `{expression.name}`", expression.span, f"its fields are {names}")
        if isinstance(base, Record):
            return base.items[position]
        member = base.type.fields[position][1]
        path = (*base.path, position)
        if isinstance(member, StructType):
            return Element(base.array, base.indices, path, member, expression.span)
        return Scalar(self.load(base.array, base.indices, path, expression.span))

    def refuse_vector_field(self, base: Element | Record, expression: syntax.Attribute) -> None:
        """Refuse an attribute of a vector."""
        if isinstance(base.type, VectorType):
            place = "xyzw".find(expression.name)
            self.refuse(
                "L0215",
                f"`{base.type}` has no attribute `{expression.name}`",
                expression.span,
                "a vector has items",
                fix=f"write `{expression.value.span.text}[{max(place, 0)}]`",
            )

    # ------------------------------------------------------------------------------------------------------------- views

    def view(self, base: Array, expression: syntax.Subscript) -> Array:
        """`x[i, :]`, `x[2:n]`, `x[i]` of more than one dimension."""
        span = expression.span
        parts: list[Value | Extent] = []
        shape: list[Number | Scalar] = []
        for dimension in range(len(base.shape)):
            index = expression.indices[dimension] if dimension < len(expression.indices) else syntax.Slice(span, None, None, None)
            if not isinstance(index, syntax.Slice):
                parts.append(self.index(base, dimension, index))
                continue
            extent, size = self.slice(base, dimension, index)
            parts.append(extent)
            shape.append(size)
        type = base.value.array
        layout = Layout.UNALIGNED if type.layout is Layout.UNALIGNED else Layout.STRIDED
        if type.layout is Layout.C and keeps_rows(expression.indices):
            layout = Layout.C
        result = self.new_value(array_type(type.element, len(shape), type.borrow, layout), span)
        site = None if self.unchecked_depth else self.site("bounds", span, array=base.name, access="read")
        self.emit(typed.View(span, result, base.value, tuple(parts), site))
        return Array(result, span.text, tuple(shape), base.base, base.index, base.vector)

    def slice(self, base: Array, dimension: int, index: syntax.Slice) -> tuple[Extent, Number | Scalar]:
        """One slice as an extent, and its size."""
        span = index.span
        step = self.check(index.step) if index.step is not None else Number(1, None)
        if not (isinstance(step, Number) and isinstance(step.value, int)) or step.value < 1:
            self.refuse(
                "L0216",
                "the step of a slice must be a positive integer that is known when the kernel is compiled",
                span,
                "this slice",
                fix=f"to walk backwards, index `{base.name}[{self.size_name(base, dimension)} - 1 - i]` in a loop",
            )
        whole = base.shape[dimension]
        bounds: list[tuple[Entity, Value]] = []
        for part, default in ((index.lower, Number(0, None)), (index.upper, whole)):
            entity = self.check(part) if part is not None else default
            if isinstance(entity, Number) and isinstance(entity.value, int) and entity.value < 0:
                self.refuse(
                    "L0214",
                    f"the slice bound `{entity.value}` is negative, and in kernels bounds do not count from the end",
                    part.span if part is not None else span,
                    "before the first element",
                    fix=f"write `{self.size_name(base, dimension)} - {-entity.value}`",
                )
            bounds.append((entity, self.to_index(entity, span, "a slice bound")))
        (lower, low), (upper, high) = bounds
        extent = Extent(low, high, self.constant(step.value, INDEX, span))
        if index.lower is None and index.upper is None and step.value == 1:
            return extent, whole
        if isinstance(lower, Number) and isinstance(upper, Number):
            return extent, Number(len(range(lower.value, upper.value, step.value)), None)
        last: Entity = Scalar(high) if isinstance(upper, Scalar) else upper
        if index.lower is not None and index.upper is not None:  # `upper - lower` could wrap to a large size
            lower = self.extremum("min", [lower, last], span)
        length = self.operate("-", last, lower, span)
        if step.value != 1:
            steps = self.operate("//", self.operate("-", length, Number(1, None), span), step, span)
            length = self.operate("+", steps, Number(1, None), span)
        length = self.extremum("max", [length, Number(0, None)], span)
        assert isinstance(length, Number | Scalar)
        return extent, length

    def reshape(self, array: Array, sizes: list[Entity], span: Span) -> Array:
        """`x.reshape(n, m)`: a borrow of the same memory."""
        self.host_only("`reshape`", span, "borrow the reshaped array before the loop")
        if len(sizes) == 1 and isinstance(sizes[0], TupleOf):
            sizes = list(sizes[0].items)
        shape, values = self.sizes(sizes, span, "reshape", array.vector)
        type = array.value.array
        layout = (
            type.layout if type.layout is Layout.C else Layout.UNALIGNED if type.layout is Layout.UNALIGNED else Layout.STRIDED
        )
        result = self.new_value(array_type(type.element, len(values), type.borrow, layout), span, array.name)
        shape_site = self.site(
            "shape", span, array=array.name, text=f"the reshape of `{array.name}` must keep the number of elements"
        )
        view_site = self.site("view", span, array=array.name)
        self.emit(typed.Reshape(span, result, array.value, values, shape_site, view_site))
        index = None if array.index is not None and array.index[0] == "offsets" else array.index
        return Array(result, array.name, shape, array.base, index, array.vector)

    def sizes(
        self, entities: list[Entity], span: Span, what: str, vector: VectorType | None = None
    ) -> tuple[tuple[Number | Scalar, ...], tuple[Value, ...]]:
        """Sizes of a new array (of vectors), as entities and as values."""
        most = MAX_DIMENSIONS - (vector is not None)
        if not 1 <= len(entities) <= most:
            self.refuse("L0217", f"`{what}` takes 1 to {most} sizes, not {len(entities)}", span, f"{len(entities)} sizes")
        if vector is not None:
            entities = [*entities, Number(vector.length, None)]
        shape: list[Number | Scalar] = []
        values: list[Value] = []
        for entity in entities:
            if isinstance(entity, Number) and isinstance(entity.value, int) and entity.value < 0:
                self.refuse(
                    "L0217",
                    f"the size `{entity.value}` is negative",
                    self.where(entity, span),
                    "a size is 0 or more",
                    fix="write each size as a number of 0 or more",
                )
            if isinstance(entity, Array):
                fix = f"write `len({entity.name})`"
                self.refuse(
                    "L0207", "a size must be an integer, not an array", self.where(entity, span), "this is an array", fix=fix
                )
            value = self.to_index(entity, span, "a size")
            values.append(value)
            shape.append(entity if isinstance(entity, Number) else Scalar(value))
        return tuple(shape), tuple(values)

    def allocate(self, name: str, arguments: list[Entity], span: Span) -> Array:
        """`lend.empty(f64, n, m)` and `lend.zeros`."""
        self.host_only(
            f"`lend.{name}`", span, "make the array before the loop, or use `lend.local(f64, 4)` for a small private one"
        )
        element, sizes, vector = self.element_and_sizes(name, arguments, span)
        shape, values = self.sizes(sizes, span, f"lend.{name}", vector)
        result = self.new_value(array_type(element, len(values), Borrow.OWNED, Layout.C), span)
        extent, memory = self.site("extent", span), self.site("memory", span)
        zeroed = name == "zeros"
        self.emit(typed.Allocate(span, result, values, extent, memory, zeroed, not zeroed and self.unchecked_depth > 0))
        return Array(result, f"lend.{name}(...)", shape, result, vector=vector)

    def element_and_sizes(
        self, name: str, arguments: list[Entity], span: Span
    ) -> tuple[ScalarType | StructType, list[Entity], VectorType | None]:
        """The element type and the sizes of a new array, and the vectors that it is of."""
        first = arguments[0] if arguments else None
        element = self.type_of(first) if isinstance(first, Python) else None
        if element is None:
            self.refuse(
                "L0217", f"`lend.{name}` begins with an element type", span, "no element type", fix=f"write `lend.{name}(f64, n)`"
            )
        sizes = arguments[1:]
        if len(sizes) == 1 and isinstance(sizes[0], TupleOf):
            sizes = list(sizes[0].items)
        return (element.element, sizes, element) if isinstance(element, VectorType) else (element, sizes, None)

    def type_of(self, entity: Python) -> ScalarType | StructType | None:
        """The element type that a Python object stands for."""
        if isinstance(entity.object, ScalarType):
            return entity.object
        return struct_type(entity.object)

    def host_only(self, what: str, span: Span, fix: str) -> None:
        """Refuse what only the host level can do."""
        if self.level == "block":
            fix = "make it before the loop over blocks, or share an array of fixed size between a block's threads: `lend.shared`"
            if "kernel" in what:
                fix = "make it a `@lend.function`, or call the kernel outside the loop"
        if self.in_grid:
            self.refuse("L0401", f"{what} inside a parallel loop", span, "only outside parallel loops", fix=fix)

    # ---------------------------------------------------------------------------------------------------------- attributes

    def array_attribute(self, array: Array, name: str, span: Span) -> Entity:
        """`x.shape`, `x.size`, `x.ndim`, `x.dtype`."""
        match name:
            case "shape":
                return TupleOf(tuple(self.as_size(size, span) for size in array.sizes))
            case "ndim":
                return Number(len(array.sizes), None)
            case "size":
                size: Entity = self.as_size(array.sizes[0], span)
                for more in array.sizes[1:]:
                    size = self.operate("*", size, self.as_size(more, span), span)
                return size
            case "dtype":
                element = array.vector or array.value.array.element
                return Python(element if isinstance(element, ScalarType) else element.python_class)
            case _:
                known = "`shape`, `ndim`, `size`, `dtype` and `reshape(...)`"
                self.refuse(
                    "L0215",
                    f"arrays in kernels have no attribute `{name}`",
                    span,
                    f"they have {known}",
                    fix=_REDUCED.get(name, "write a loop over the elements").format(array.name),
                )

    # ------------------------------------------------------------------------------------------------------------ writing

    def borrow_advice(self, array: Array) -> str:
        """How to borrow an array for writing."""
        if array.base.array.borrow is Borrow.OWNED:  # only `lend.as_unique` lends a temporary so
            return "write the array that `lend.as_unique` was called with, before that call"
        name = array.base.name or array.name
        return f"borrow it as `Mut` in the signature: `{name}: {self.writable_as.get(name, 'Mut[...]')}`"

    def require_writable(self, array: Array, span: Span) -> None:
        """Refuse a store through a `Ref`."""
        if not array.value.array.borrow.writable:
            self.refuse(
                "L0218",
                f"`{array.name}` is borrowed as `Ref`, which is read only",
                span,
                "written here",
                fix=self.borrow_advice(array),
            )

    def store(
        self, array: Array, indices: tuple[Value, ...], path: tuple[int, ...], type: ElementType, value: Entity, span: Span
    ) -> None:
        """Store a scalar or, field by field, a record."""
        if isinstance(type, StructType):
            record = self.fitted(value, type, span, f"stored in `{array.name}`")
            if record is None:
                part = "items" if isinstance(type, VectorType) else "fields"
                self.refuse(
                    "L0219",
                    f"`{array.name}` holds `{type}`, not {self.describe(value)}",
                    self.where(value, span),
                    f"{self.describe(value)} is stored here",
                    fix=f"build one, `{type}(...)`, or store into one of its {part}",
                )
            for position, (item, (_, member)) in enumerate(zip(record.items, type.fields, strict=True)):
                if type is array.vector:
                    self.store(array, (*indices, self.constant(position, INDEX, span)), (), member, item, span)
                else:
                    self.store(array, indices, (*path, position), member, item, span)
            return
        if self.level == "block":
            self.refuse_at_block_level(f"a store into `{array.name}`", span)
        converted = self.convert(value, type, span, f"stored in `{array.name}`")
        self.emit(typed.Store(span, array.value, indices, path, converted, self.bounds_site(array, "write", span)))


def element_at(element: ScalarType | StructType, path: tuple[int, ...]) -> ScalarType:
    """The scalar type that `path` leads to."""
    for position in path:
        assert isinstance(element, StructType)
        element = element.fields[position][1]
    assert isinstance(element, ScalarType)
    return element


def keeps_rows(indices: tuple[syntax.Expr | syntax.Slice, ...]) -> bool:
    """Whether a view of a row-major array without gaps has no gaps: indices, then one unit slice, then whole dimensions."""
    seen = False
    for index in indices:
        if not isinstance(index, syntax.Slice):
            if seen:
                return False
        elif index.step is not None or (seen and (index.lower is not None or index.upper is not None)):
            return False
        else:
            seen = True
    return True


def literal(expression: syntax.Expr | None) -> int | None:
    """An integer that is written as one."""
    if isinstance(expression, syntax.Literal) and isinstance(expression.value, int) and not isinstance(expression.value, bool):
        return expression.value
    return None
