"""Where paths meet: the forms of values.

Does: find the form that values of several paths share, make region parameters of it and bring values into it.
Does not: know what the paths are (`branches.py`, `loops.py`).
Invariants: a form says all that the code after the merge may know; `conform` emits into the path it is called in.
"""

from __future__ import annotations

from typing import Any

from lend.diagnostics.records import dataclass
from lend.diagnostics.spans import Span
from lend.diagnostics.words import counted
from lend.frontend.typecheck.conversions import Conversions, join_types
from lend.frontend.typecheck.entities import (
    Array,
    Conflict,
    Element,
    Entity,
    Function,
    Missing,
    Number,
    Poison,
    Python,
    Record,
    Reducing,
    Scalar,
    TupleOf,
)
from lend.frontend.typecheck.wording import cast_hint, object_text, shown
from lend.ir import typed
from lend.ir.typed import Operation, Value
from lend.language import arithmetic
from lend.language.types import COMPLEX128, F64, I64, INDEX, Borrow, Layout, ScalarType, StructType, VectorType, array_type
from lend.language.vectors import vector_type


@dataclass(frozen=True)
class Fixed:
    """The same compile-time entity on every path; nothing is carried."""

    entity: Entity


@dataclass(frozen=True)
class Strong:
    """A scalar of a type."""

    type: ScalarType


@dataclass(frozen=True)
class Weak:
    """One of several literals, carried as I64 or F64."""

    literals: frozenset[int | float]

    @property
    def type(self) -> ScalarType:
        """What it is carried as."""
        return F64 if any(isinstance(v, float) for v in self.literals) else I64


@dataclass(frozen=True)
class Parts:
    """A tuple or (with `type`) a record."""

    items: tuple[Form, ...]
    type: StructType | None


@dataclass(frozen=True)
class Lent:
    """An array: its type, its sizes if they are the same entities on every path."""

    type: typed.ArrayType
    shape: tuple[Number | Scalar, ...] | None
    name: str
    vector: VectorType | None


@dataclass(frozen=True)
class Reduced:
    """A reduction variable."""

    entity: Reducing
    current: Form


@dataclass(frozen=True)
class Gone:
    """No value that may be read: Missing, Conflict or Poison."""

    entity: Missing | Conflict | Poison


Form = Fixed | Strong | Weak | Parts | Lent | Reduced | Gone

MAX_LITERALS = 8


class Merging(Conversions):
    """Merges of entities over control flow."""

    # ------------------------------------------------------------------------------------------------------------ forms

    def form(self, entity: Entity, *, constant: bool = False) -> Form:
        """The form of one entity; with `constant`, numbers stay compile-time values."""
        match entity:
            case Number():
                if constant:
                    return Fixed(entity)
                if entity.type is not None:
                    return Strong(entity.type)
                if isinstance(entity.value, complex):
                    return Strong(COMPLEX128)
                return Weak(frozenset((entity.value,)))
            case Scalar():
                return Weak(entity.literals) if entity.literals is not None else Strong(entity.value.scalar)
            case TupleOf():
                return Parts(tuple(self.form(item, constant=constant) for item in entity.items), None)
            case Record():
                return Parts(tuple(self.form(item, constant=constant) for item in entity.items), entity.type)
            case Element():
                return self.form(self.load_record(entity))
            case Array():
                return Lent(entity.value.array, entity.shape, entity.name, entity.vector)
            case Reducing():
                return Reduced(entity, self.form(entity.current))
            case Missing() | Conflict() | Poison():
                return Gone(entity)
            case _:
                return Fixed(entity)

    def load_record(self, element: Element) -> Entity:
        """The whole record at a place (defined in `arrays.py`)."""
        raise NotImplementedError

    def join_forms(self, a: Form, b: Form) -> Form:
        """The form that holds values of both."""
        if a == b:
            return a
        if isinstance(a, Gone) or isinstance(b, Gone):
            return self.join_gone(a, b)
        if isinstance(a, Fixed) and isinstance(b, Fixed):
            same = same_fixed(a.entity, b.entity)
            if same:
                return a
        a, b = self.loosen(a), self.loosen(b)
        match a, b:
            case Weak(), Weak():
                both = a.literals | b.literals
                return Weak(both) if len(both) <= MAX_LITERALS else Strong(Weak(both).type)
            case (Weak(), Strong()) | (Strong(), Weak()):
                weak, strong = (a, b) if isinstance(a, Weak) else (b, a)
                assert isinstance(weak, Weak) and isinstance(strong, Strong)
                literal = next((v for v in weak.literals if isinstance(v, float)), next(iter(weak.literals)))
                joined = self.join_literal(literal, strong.type)
                unfit = next((v for v in weak.literals if joined is not None and not self.fits(v, joined)), None)
                if joined is None or unfit is not None:
                    shown_literal = shown(None, literal if unfit is None else unfit)
                    return Gone(Conflict(f"it is {shown_literal} on one path and {shown(strong.type)} on another"))
                return Strong(joined)
            case Strong(), Strong():
                joined = join_types(a.type, b.type)
                if joined is None:
                    why = f"it is {shown(a.type)} on one path and {shown(b.type)} on another, and neither holds the other"
                    return Gone(Conflict(why, cast_hint(a.type, b.type)))
                return Strong(joined)
            case Parts(), Parts() if len(a.items) == len(b.items) and a.type is b.type:
                return Parts(tuple(map(self.join_forms, a.items, b.items)), a.type)
            case Parts(), Parts() if isinstance(a.type, VectorType) and isinstance(b.type, VectorType):
                return self.join_vectors(a, b)
            case Lent(), Lent():
                return self.join_arrays(a, b)
            case Reduced(), Reduced() if a.entity.name == b.entity.name:
                return Reduced(a.entity, self.join_forms(a.current, b.current))
            case _:
                return Gone(Conflict(f"it is {form_text(a)} on one path and {form_text(b)} on another"))

    def loosen(self, form: Form) -> Form:
        """A compile-time number or tuple as a run-time form."""
        if isinstance(form, Fixed) and isinstance(form.entity, Number | TupleOf | Record):
            return self.form(form.entity)
        return form

    def join_gone(self, a: Form, b: Form) -> Form:
        missing: list[Missing] = []
        for form in (a, b):
            if isinstance(form, Gone):
                if isinstance(form.entity, Poison | Conflict):
                    return form
                missing.append(form.entity)
        return Gone(Missing(tuple(span for entity in missing for span in entity.assigned), missing[-1].why))

    def join_vectors(self, a: Parts, b: Parts) -> Form:
        items = list(map(self.join_forms, a.items, b.items)) if len(a.items) == len(b.items) else []
        types = [item.type for item in items if isinstance(item, Strong)]
        if not types or len(types) < len(items):
            return Gone(Conflict(f"it is {form_text(a)} on one path and {form_text(b)} on another"))
        return Parts(tuple(items), vector_type(types[0], len(types)))

    def join_arrays(self, a: Lent, b: Lent) -> Form:
        x, y = a.type, b.type
        if x.element is not y.element or x.dimensions != y.dimensions or a.vector is not b.vector:
            return Gone(Conflict(f"it is {form_text(a)} on one path and {form_text(b)} on another"))
        if Borrow.ATOMIC in (x.borrow, y.borrow) and x.borrow is not y.borrow:
            return Gone(Conflict("it is `Atomic` on one path and not on another"))
        borrow = x.borrow if x.borrow is y.borrow or not x.borrow.writable else y.borrow
        if x.borrow.writable and y.borrow.writable:
            borrow = x.borrow
        layout = x.layout if x.layout is y.layout else Layout.STRIDED
        if Layout.UNALIGNED in (x.layout, y.layout):
            layout = Layout.UNALIGNED
        shape = a.shape if a.shape is not None and b.shape is not None and same_shape(a.shape, b.shape) else None
        return Lent(array_type(x.element, x.dimensions, borrow, layout), shape, a.name, a.vector)

    # ------------------------------------------------------------------------------------------- values in and out of forms

    def instantiate(self, form: Form, name: str | None, span: Span, values: list[Value], sizes: list[Operation]) -> Entity:
        """An entity of this form made of fresh values, which are appended to `values`; `sizes` takes what must come first."""
        match form:
            case Fixed() | Gone():
                return form.entity
            case Strong():
                values.append(self.new_value(form.type, span, name))
                return Scalar(values[-1])
            case Weak():
                values.append(self.new_value(form.type, span, name))
                return Scalar(values[-1], form.literals)
            case Parts():
                items = tuple(self.instantiate(item, name, span, values, sizes) for item in form.items)
                return Record(form.type, items) if form.type is not None else TupleOf(items)
            case Lent():
                own = name is not None and not name.startswith("#")  # else it is one of the arrays that paths return
                value = self.new_value(form.type, span, name if own else form.name if form.name.isidentifier() else None)
                values.append(value)
                shape = form.shape
                if shape is None:
                    with self.into(sizes):
                        shape = tuple(Scalar(self.size(value, k, span)) for k in range(form.type.dimensions))
                    if form.vector is not None:
                        shape = (*shape[:-1], Number(form.vector.length, None))
                return Array(value, form.name, shape, value, vector=form.vector)
            case Reduced():
                current = self.instantiate(form.current, name, span, values, sizes)
                assert isinstance(current, Scalar | TupleOf | Record)
                return Reducing(form.entity.name, form.entity.operator, current, form.entity.declared)

    def size(self, array: Value, dimension: int, span: Span) -> Value:
        """Emit the size of a dimension."""
        result = self.new_value(INDEX, span)
        self.emit(typed.Size(span, result, array, dimension))
        return result

    def conform(self, entity: Entity, form: Form, span: Span, out: list[Value]) -> None:
        """Append the values of `entity`, converted to the parts of `form`."""
        match form:
            case Fixed() | Gone():
                return
            case Strong() | Weak():
                if isinstance(entity, Missing):  # the result of a function on a path that has not returned
                    out.append(self.constant(arithmetic.cast(form.type, 0), form.type, span))
                    return
                scalar = self.number(entity, span)
                if isinstance(form, Weak) and isinstance(scalar, Scalar):
                    out.append(self.cast_value(scalar.value, form.type, span))
                else:
                    out.append(self.convert(scalar, form.type, span, "where paths meet"))
            case Parts():
                if isinstance(entity, Element):
                    entity = self.load_record(entity)
                items = entity.items if isinstance(entity, TupleOf | Record) else (entity,) * len(form.items)
                for item, part in zip(items, form.items, strict=True):
                    self.conform(item, part, span, out)
            case Lent():
                out.append(self.nothing(form, span) if isinstance(entity, Missing) else self.array_value(entity))
            case Reduced():
                assert isinstance(entity, Reducing)
                self.conform(entity.current, form.current, span, out)

    def array_value(self, entity: Entity) -> Value:
        """The value of an array."""
        assert isinstance(entity, Array)
        return entity.value

    def nothing(self, form: Lent, span: Span) -> Value:
        """An array without elements: the result of a function on a path that has not returned."""
        dimensions = form.type.dimensions
        result = self.new_value(array_type(form.type.element, dimensions, Borrow.OWNED, Layout.C), span)
        if self.level == "block":
            self.emit(typed.Shared(span, result, (0,) * dimensions))
        elif self.in_grid:
            self.emit(typed.Local(span, result, (0,) * dimensions))
        else:
            sizes = tuple(self.constant(0, INDEX, span) for _ in range(dimensions))
            self.emit(typed.Allocate(span, result, sizes, self.site("extent", span), self.site("memory", span)))
        return result

    def returned_form(self, form: Form, *, or_nothing: bool = False) -> Form:
        """The form of a result outside the code that computes it: sizes are asked for again there. `or_nothing`: not returned on
        every path."""
        if isinstance(form, Lent):
            type = form.type
            if or_nothing and type.layout is Layout.F:  # `nothing` is of layout C
                type = array_type(type.element, type.dimensions, type.borrow, Layout.STRIDED)
            return Lent(type, None, form.name, form.vector)
        if isinstance(form, Parts):
            return Parts(tuple(self.returned_form(item, or_nothing=or_nothing) for item in form.items), form.type)
        return form

    def arrays_in(self, entity: Entity) -> list[Array]:
        """The arrays an entity holds."""
        if isinstance(entity, Array):
            return [entity]
        if isinstance(entity, TupleOf | Record):
            return [array for item in entity.items for array in self.arrays_in(item)]
        return []

    def span_of(self, entity: Entity) -> Span | None:
        """Where a value was computed, if it is one."""
        match entity:
            case Scalar() | Array():
                return entity.value.span
            case TupleOf() | Record():
                return next((s for s in map(self.span_of, entity.items) if s is not None), None)
            case Element():
                return entity.span
            case _:
                return None


def form_text(form: Form) -> str:
    """What values of a form are, in words."""
    match form:
        case Strong():
            return shown(form.type)
        case Weak():
            return "a literal"
        case Parts():
            return f"a `{form.type}`" if form.type is not None else f"a tuple of {counted(len(form.items), 'value')}"
        case Lent():
            outer = form.type.dimensions - (form.vector is not None)
            return f"an array of `{form.vector or form.type.element}` with {counted(outer, 'dimension')}"
        case Fixed():
            return object_text(form.entity.object) if isinstance(form.entity, Python) else "a function"
        case _:
            return "something else"


def same_fixed(a: Entity, b: Entity) -> bool:
    """Whether two compile-time entities are the same."""
    if isinstance(a, Number) and isinstance(b, Number):
        return a.type is b.type and type(a.value) is type(b.value) and repr(a.value) == repr(b.value)
    if isinstance(a, TupleOf) and isinstance(b, TupleOf):
        return len(a.items) == len(b.items) and all(map(same_fixed, a.items, b.items))

    if isinstance(a, Python) and isinstance(b, Python):
        same: Any = a.object is b.object or (isinstance(a.object, str) and a.object == b.object)
        return bool(same)
    if isinstance(a, Function) and isinstance(b, Function):
        return a.identity is not None and a.identity is b.identity and a.outer is b.outer
    return a is b


def same_shape(a: tuple[Number | Scalar, ...], b: tuple[Number | Scalar, ...]) -> bool:
    """Whether two shapes are the same entities."""
    return all(
        x is y
        or (isinstance(x, Scalar) and isinstance(y, Scalar) and x.value is y.value)
        or (isinstance(x, Number) and isinstance(y, Number) and x.value == y.value)
        for x, y in zip(a, b, strict=True)
    )
