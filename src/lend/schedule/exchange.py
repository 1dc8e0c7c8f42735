"""Operations of sub-groups, by way of an array that holds what each thread gives.

Does: write what happens between the piece that fills the array and the piece that reads it, and what each thread reads.
Does not: fill the array (`fission.py`).
Invariants: the array has an element per thread, in row-major order of the threads; sub-groups are runs of it. The order of
combination is that of `language/reduction.py` for `reduce_*`, and from the left for `scan_*`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import cast

from lend.ir import typed
from lend.ir.typed import BinaryOperator, Extent, Operation, Region, Value
from lend.language.types import INDEX, U64, ElementType
from lend.schedule.operations import OperationWriter


class Exchanger:
    """Writes one operation. `given`: the array; `make`: gives an array of the block; `indices`: the thread's."""

    def __init__(
        self,
        operation: typed.Subgroup,
        given: Value,
        make: Callable[[ElementType, Sequence[int]], Value],
        indices: Sequence[Value],
        sizes: Sequence[int],
    ) -> None:
        self._operation = operation
        self._given = given
        self._make = make
        self._indices = indices
        self._sizes = sizes
        self._groups = prod(sizes) // operation.size
        self._shared: Value | None = None  # what all lanes of a sub-group get, once for each of them

    def between(self) -> list[Operation]:
        """Between the pieces: what all lanes of a sub-group share is worked out."""
        writer = OperationWriter(self._operation.span)
        name, _, operator = self._operation.operator.partition("_")
        if name == "reduce":
            self._halve(writer, cast("BinaryOperator", operator))
            self._spread(writer, self._given, self._operation.size)
        elif name == "scan":
            self._scan(writer, cast("BinaryOperator", operator))
        elif name == "ballot":
            ballots = self._make(U64, (self._groups,))
            self._collect(writer, ballots)
            self._spread(writer, ballots, 1)
        return writer.operations

    def reads(self) -> list[Operation]:
        """What each thread does to get its result."""
        operation = self._operation
        writer = OperationWriter(operation.span)
        own = linear(writer, self._indices, self._sizes)
        lane = writer.binary("and", own, writer.index(operation.size - 1))
        name = operation.operator.partition("_")[0]
        if name == "shuffle":
            value = self._shuffled(writer, own, lane)
        else:
            value = writer.load(self._given if self._shared is None else self._shared, (own,))
        return [*writer.operations[:-1], _renamed(writer.operations[-1], value, operation.results[0])]

    def _shuffled(self, writer: OperationWriter, own: Value, lane: Value) -> Value:
        """The value of another lane, or the thread's own where there is none."""
        operation = self._operation
        assert operation.lane is not None
        told = writer.cast(operation.lane, INDEX)
        match operation.operator:
            case "shuffle":
                other = told
            case "shuffle_xor":
                other = writer.binary("xor", lane, told)
            case "shuffle_up":
                other = writer.binary("sub", lane, told)
            case _:
                other = writer.binary("add", lane, told)
        inside = writer.binary("ge", other, writer.index(0))
        inside = writer.binary("and", inside, writer.binary("lt", other, writer.index(operation.size)))
        moved = writer.binary("add", own, writer.binary("sub", other, lane))
        if operation.operator == "shuffle_up":
            moved = writer.binary("sub", own, told)
        elif operation.operator == "shuffle_down":
            moved = writer.binary("add", own, told)
        mine = writer.load(self._given, (own,))
        return writer.select(inside, lambda inner: inner.load(self._given, (moved,)), mine)

    def _loop(self, writer: OperationWriter, box: Sequence[int], body: Callable[[OperationWriter, list[Value]], None]) -> None:
        """Independent iterations over a box."""
        inner = OperationWriter(writer.span)
        indices = [Value(INDEX, writer.span) for _ in box]
        body(inner, indices)
        extents: list[Extent] = [writer.extent(count) for count in box]
        region = Region(tuple(indices), tuple(inner.operations), ())
        writer.operations.append(typed.Parallel(writer.span, (), tuple(extents), (), region, None, independent=True))

    def _spread(self, writer: OperationWriter, found: Value, apart: int) -> None:
        """Hand `found[group * apart]` to all lanes, side by side, so that nobody has to look for it."""
        size, shared = self._operation.size, self._make(found.array.element, (self._groups * self._operation.size,))
        self._shared = shared

        def spread(inner: OperationWriter, indices: list[Value]) -> None:
            at = inner.binary("add", inner.binary("mul", indices[0], inner.index(size)), indices[1])
            place = inner.binary("mul", indices[0], inner.index(apart))
            inner.store(shared, (at,), inner.load(found, (place,)))

        self._loop(writer, (self._groups, size), spread)

    def _halve(self, writer: OperationWriter, operator: BinaryOperator) -> None:
        """The upper half of the lanes into the lower half, until one is left."""
        size, given = self._operation.size, self._given
        half = size // 2
        while half:
            distance = half

            def step(inner: OperationWriter, indices: list[Value]) -> None:
                at = inner.binary("add", inner.binary("mul", indices[0], inner.index(size)), indices[1])
                other = inner.binary("add", at, inner.index(distance))  # noqa: B023  (called at once)
                inner.store(given, (at,), inner.binary(operator, inner.load(given, (at,)), inner.load(given, (other,))))

            self._loop(writer, (self._groups, half), step)
            half //= 2

    def _scan(self, writer: OperationWriter, operator: BinaryOperator) -> None:
        """Each lane takes in the one before it, from the left."""
        size, given = self._operation.size, self._given

        def scan(inner: OperationWriter, indices: list[Value]) -> None:
            first = inner.binary("mul", indices[0], inner.index(size))

            def step(deeper: OperationWriter, k: Value, carried: list[Value]) -> list[Value]:
                at = deeper.binary("add", deeper.binary("add", first, k), deeper.index(1))
                total = deeper.binary(operator, carried[0], deeper.load(given, (at,)))
                deeper.store(given, (at,), total)
                return [total]

            inner.loop(size - 1, [inner.load(given, (first,))], step)

        self._loop(writer, (self._groups,), scan)

    def _collect(self, writer: OperationWriter, ballots: Value) -> None:
        """A bit for each lane."""
        size, given = self._operation.size, self._given

        def collect(inner: OperationWriter, indices: list[Value]) -> None:
            first = inner.binary("mul", indices[0], inner.index(size))

            def step(deeper: OperationWriter, k: Value, carried: list[Value]) -> list[Value]:
                bit = deeper.cast(deeper.load(given, (deeper.binary("add", first, k),)), U64)
                return [deeper.binary("or", carried[0], deeper.binary("shl", bit, deeper.cast(k, U64)))]

            (bits,) = inner.loop(size, [inner.constant(0, U64)], step)
            inner.store(ballots, (indices[0],), bits)

        self._loop(writer, (self._groups,), collect)


def linear(writer: OperationWriter, indices: Sequence[Value], sizes: Sequence[int]) -> Value:
    """The row-major number of a thread."""
    number = indices[0]
    for index, size in zip(indices[1:], sizes[1:], strict=True):
        number = writer.binary("add", writer.binary("mul", number, writer.index(size)), index)
    return number


def _renamed(operation: Operation, value: Value, result: Value) -> Operation:
    """The operation that makes `value`, making `result` instead."""
    from dataclasses import replace

    if isinstance(operation, typed.If):
        return replace(operation, results=(result,))
    assert isinstance(operation, typed.Load) and operation.result is value
    return replace(operation, result=result)
