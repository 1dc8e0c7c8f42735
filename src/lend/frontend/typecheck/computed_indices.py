"""`lend.as_unique`: indices that a kernel has computed, as indices that are known to differ.

Does: copy and test a row of integers by kernel code (`library.distinct`), end the kernel if the test fails, and lend the copy
with what was found.  Does not: index arrays that are arguments, which each call tests.
Invariants: nothing but the copying loop writes the copy, since names have it as a `Ref` only.
"""

from __future__ import annotations

from functools import cache

from lend.diagnostics.spans import Span
from lend.frontend.capture import Captured, capture
from lend.frontend.parse import parse_function
from lend.frontend.signature import signature_of
from lend.frontend.typecheck.entities import Array, Entity, Python, Scalar, TupleOf
from lend.frontend.typecheck.kernel_calls import KernelCalls
from lend.ir import syntax, typed
from lend.ir.typed import Extent, Value
from lend.language import library
from lend.language.signature import Signature
from lend.language.types import BOOL_, I64, INDEX, Borrow, Layout, ScalarType, array_type


class _Distinct:
    """The kernel that copies and tests."""

    __name__ = library.distinct.__name__

    @staticmethod
    @cache
    def front_end() -> tuple[syntax.Function, Captured, Signature]:
        """As of any kernel."""
        captured = capture(library.distinct)
        tree, _ = parse_function(captured)
        return tree, captured, signature_of(captured, tree)[0]


class ComputedIndices(KernelCalls):
    """Typing of `lend.as_unique`."""

    def as_unique(self, arguments: list[Entity], span: Span) -> Entity:
        """`lend.as_unique(indices, bound)`."""
        self.host_only("`lend.as_unique`", span, "call it before the loop")
        self.count(arguments, (2,), "lend.as_unique", span)
        array = self.settle(arguments[0])
        element = array.value.array.element if isinstance(array, Array) else None
        if not isinstance(array, Array) or not isinstance(element, ScalarType) or not element.is_integer:
            at = self.where(array, span)
            what = f"an array of `{element}`" if isinstance(array, Array) else self.describe(array)
            self.refuse("L0208", f"`lend.as_unique` takes a row of integers, not {what}", at, f"this is {what}")
        if len(array.shape) != 1:
            at = self.where(array, span)
            self.refuse("L0211", "`lend.as_unique` takes a row", at, f"`{array.name}` has {len(array.shape)} dimensions")
        bound = self.to_index(arguments[1], span, "the bound of `lend.as_unique`")
        found = self.call_kernel(_Distinct, [array, Scalar(bound), Python(element)], {}, span)
        assert isinstance(found, TupleOf)
        own, *places = found.items
        assert isinstance(own, Array)
        size = self.to_index(own.shape[0], span, "a size")
        wrong, value, first, second = (self.to_index(place, span, "a place") for place in places)
        text = span.text if isinstance(arguments[1], Array) else self.text_of(arguments[1], bound)
        self.require_none(wrong, size, span, self.site("index", span, array=array.name, text=text), (wrong, value))
        facts = (own.value, bound)
        self.require_none(second, size, span, self.site("unique", span, array=array.name), (first, second), facts)
        return self.lend_copy(own, array.name, size, bound, span)

    def indices_differ(self, arguments: list[Entity], span: Span) -> Entity:
        """`indices_differ(row, bound)`, for the kernel that copies and tests."""
        array = self.settle(arguments[0])
        assert isinstance(array, Array)
        found = self.new_value(BOOL_, span)
        self.emit(typed.Distinct(span, found, array.value, self.to_index(arguments[1], span, "a bound")))
        return Scalar(found)

    def require_none(
        self,
        place: Value,
        size: Value,
        span: Span,
        site: int,
        record: tuple[Value, Value],
        facts: tuple[Value, Value] | None = None,
    ) -> None:
        """End the kernel unless a place is the array's end."""
        none = self.new_value(BOOL_, span)
        left, right = (self.cast_value(value, I64, span) if value.type is INDEX else value for value in (place, size))
        self.emit(typed.Binary(span, none, "eq", left, right))
        said = None if facts is None else (facts[0], "unique", facts[1])
        self.emit(typed.Require(span, none, site, *record, said))

    def lend_copy(self, own: Array, name: str, size: Value, bound: Value, span: Span) -> Array:
        """The copy as a shared borrow, with what is known of it."""
        start, step = self.constant(0, INDEX, span), self.constant(1, INDEX, span)
        result = self.new_value(array_type(own.value.array.element, 1, Borrow.REF, Layout.C), span)
        site = self.site("bounds", span, array=name, access="read")
        self.emit(typed.View(span, result, own.value, (Extent(start, size, step),), site))
        return Array(result, f"lend.as_unique({name}, …)", own.shape, own.base, ("unique", Scalar(bound)))

    def text_of(self, entity: Entity, bound: Value) -> str:
        """A bound, for messages."""
        return bound.name or str(getattr(entity, "value", "its bound"))
