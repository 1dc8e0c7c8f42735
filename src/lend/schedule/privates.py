"""Private arrays of threads -> arrays of the block with an element, or a row, per thread.

Does: rewrite the body of a loop over threads so that no private array is made in it.  Does not: look at anything else.
Invariants: threads touch their own elements only; each private array begins with zeros where the text makes it, as before.

An array of which only elements are read and written lies with the threads last, so that neighbouring threads find theirs side by
side. One that views are taken of, or that branches give, lies with each thread's elements together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from lend.ir import typed
from lend.ir.typed import Extent, Operation, Region, Value
from lend.language.types import ElementType
from lend.schedule.operations import OperationWriter

Make = Callable[[ElementType, Sequence[int], str | None], Value]
"""Gives an array of the block, of undefined content: its element, sizes and name."""


def expanded(body: Region, sizes: Sequence[int], make: Make) -> Region:
    """The body of a loop over so many threads, with private arrays among the block's."""
    locals = {operation.result: operation for operation in _locals(body)}
    if not locals:
        return body
    passed = set(_passed(body))
    writer = _Expander(body.parameters[: len(sizes)])
    for value, operation in locals.items():
        apart = (*sizes, *operation.sizes) if value in passed else (*operation.sizes, *sizes)
        array = make(value.array.element, apart, value.name)
        (writer.by_thread if value in passed else writer.by_element)[value] = array
    return writer.region(body)


def _locals(region: Region) -> Iterator[typed.Local]:
    for operation in region.operations:
        if isinstance(operation, typed.Local):
            yield operation
        for inner in operation.regions:
            yield from _locals(inner)


def _passed(region: Region) -> Iterator[Value]:
    """Values that are used in another way than for their elements and sizes."""
    for operation in region.operations:
        kept = operation.array if isinstance(operation, typed.Load | typed.Store | typed.Size) else None
        yield from (value for value in operation.operands if value is not kept)
        for inner in operation.regions:
            yield from _passed(inner)
    yield from region.yields


class _Expander:
    """Rewrites a body. `by_element`: private arrays that lie with threads last; `by_thread`: those with threads first."""

    def __init__(self, indices: Sequence[Value]) -> None:
        self._indices = tuple(indices)
        self.by_element: dict[Value, Value] = {}
        self.by_thread: dict[Value, Value] = {}

    def region(self, region: Region) -> Region:
        """A region of the body."""
        operations = [new for operation in region.operations for new in self._operation(operation)]
        return Region(region.parameters, tuple(operations), region.yields)

    def _operation(self, operation: Operation) -> list[Operation]:
        match operation:
            case typed.Local(result=result, sizes=sizes):
                return self._made(operation, result, sizes)
            case typed.Load(array=array) | typed.Store(array=array) if array in self.by_element:
                return [replace(operation, array=self.by_element[array], indices=(*operation.indices, *self._indices))]
            case typed.Size(array=array) if array in self.by_element:
                return [replace(operation, array=self.by_element[array])]
            case typed.If(then=then, orelse=orelse):
                return [replace(operation, then=self.region(then), orelse=self.region(orelse))]
            case typed.For(body=body) | typed.Call(body=body):
                return [replace(operation, body=self.region(body))]
            case typed.While(condition=condition, body=body):
                return [replace(operation, condition=self.region(condition), body=self.region(body))]
            case _:
                return [operation]

    def _made(self, operation: typed.Local, result: Value, sizes: tuple[int, ...]) -> list[Operation]:
        """Zeros, and the thread's part by its old name where it has one."""
        writer = OperationWriter(operation.span)
        if result in self.by_element:
            writer.clear(self.by_element[result], sizes, after=self._indices)
            return writer.operations
        array = self.by_thread[result]
        writer.clear(array, sizes, before=self._indices)
        parts: list[Value | Extent] = [*self._indices, *(writer.extent(size) for size in sizes)]
        writer.operations.append(typed.View(operation.span, result, array, tuple(parts), None))
        return writer.operations
