"""Operations of the typed tree, one after the other, for passes that make some.

Does: append constants, arithmetic, accesses and loops to a list.  Does not: know what they are for.
Invariants: everything made has one span, and no site: it cannot fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from lend.diagnostics.spans import Span
from lend.ir import typed
from lend.ir.typed import BinaryOperator, Extent, Operation, Region, Value
from lend.language.types import BOOL_, INDEX, ElementType, ScalarType, StructType


class OperationWriter:
    """Appends to `operations`."""

    def __init__(self, span: Span, operations: list[Operation] | None = None) -> None:
        self.span = span
        self.operations: list[Operation] = [] if operations is None else operations

    def constant(self, value: int | float | complex | bool, type: ScalarType) -> Value:
        """A literal."""
        result = Value(type, self.span)
        self.operations.append(typed.Constant(self.span, result, value))
        return result

    def index(self, value: int) -> Value:
        """A literal INDEX."""
        return self.constant(value, INDEX)

    def zero(self, type: ScalarType) -> Value:
        """The zero of a type."""
        zeros: dict[str, int | float | complex | bool] = {"bool": False, "int": 0, "uint": 0, "float": 0.0, "complex": 0j}
        return self.constant(zeros[type.kind], type)

    def binary(self, operator: BinaryOperator, left: Value, right: Value) -> Value:
        """`left operator right`."""
        result = Value(BOOL_ if operator in typed.COMPARISONS else left.type, self.span)
        self.operations.append(typed.Binary(self.span, result, operator, left, right))
        return result

    def not_(self, condition: Value) -> Value:
        """The opposite."""
        result = Value(BOOL_, self.span)
        self.operations.append(typed.Unary(self.span, result, "not", condition))
        return result

    def cast(self, value: Value, type: ScalarType) -> Value:
        """`value` as `type`."""
        if value.type is type:
            return value
        result = Value(type, self.span)
        self.operations.append(typed.Cast(self.span, result, value))
        return result

    def load(self, array: Value, indices: Sequence[Value], path: tuple[int, ...] = ()) -> Value:
        """An element of which it is known that it exists."""
        element: ElementType = array.array.element
        for position in path:
            assert isinstance(element, StructType)
            element = element.fields[position][1]
        result = Value(element, self.span) if isinstance(element, ScalarType) else None
        assert result is not None
        self.operations.append(typed.Load(self.span, result, array, tuple(indices), path, None))
        return result

    def store(self, array: Value, indices: Sequence[Value], value: Value, path: tuple[int, ...] = ()) -> None:
        """Write one."""
        self.operations.append(typed.Store(self.span, array, tuple(indices), path, value, None))

    def select(self, condition: Value, then: Callable[[OperationWriter], Value], orelse: Value) -> Value:
        """`then()` if the condition holds."""
        inner = OperationWriter(self.span)
        value = then(inner)
        result = Value(orelse.type, self.span)
        branch = Region((), tuple(inner.operations), (value,))
        self.operations.append(typed.If(self.span, (result,), condition, branch, Region((), (), (orelse,))))
        return result

    def extent(self, upper: int) -> Extent:
        """0..upper."""
        return Extent(self.index(0), self.index(upper), self.index(1))

    def loop(
        self, count: int, inits: Sequence[Value], body: Callable[[OperationWriter, Value, list[Value]], list[Value]]
    ) -> list[Value]:
        """`for k in range(count)`, which carries values."""
        inner = OperationWriter(self.span)
        k = Value(INDEX, self.span)
        carried = [Value(init.type, self.span) for init in inits]
        following = body(inner, k, carried)
        results = tuple(Value(init.type, self.span) for init in inits)
        region = Region((k, *carried), tuple(inner.operations), tuple(following))
        self.operations.append(typed.For(self.span, results, self.extent(count), tuple(inits), region, False, None))
        return list(results)

    def clear(self, array: Value, sizes: Sequence[int], before: Sequence[Value] = (), after: Sequence[Value] = ()) -> None:
        """Zeros in all elements `[*before, 0..sizes, *after]` of an array, by loops."""
        paths = list(leaf_paths(array.array.element))

        def fill(writer: OperationWriter, rest: Sequence[int], indices: tuple[Value, ...]) -> None:
            if rest:
                writer.loop(rest[0], (), lambda inner, k, _: fill(inner, rest[1:], (*indices, k)) or [])
                return
            for path, type in paths:
                writer.store(array, (*before, *indices, *after), writer.zero(type), path)

        fill(self, sizes, ())


def leaf_paths(element: ElementType, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], ScalarType]]:
    """The scalars in an element: their paths and types."""
    if isinstance(element, ScalarType):
        yield path, element
        return
    for position, (_, member) in enumerate(element.fields):
        yield from leaf_paths(member, (*path, position))
