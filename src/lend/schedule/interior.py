"""Loops over the threads of a block in two versions: one without the guards that all of its threads pass.

Does: find guards like `i < N` in such a loop, where both sides grow evenly with the threads' indices, and look at the outermost
threads before the loop; in blocks that lie inside, no thread asks.
Does not: leave out guards in blocks at the edge, or look at guards in sequential loops that depend on these.
Invariants: the version without guards runs only if each of them holds in all threads: sides are compared where they are least and
greatest, and it is tested that machine integers do not wrap on the way there.

Why: without the guards, vectors are read and written whole, without masks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lend.ir import typed
from lend.ir.clone import clone, fresh
from lend.ir.typed import Operation, Region, Value
from lend.language.types import ScalarType
from lend.schedule.innermost import integer_constants
from lend.schedule.operations import OperationWriter
from lend.schedule.pieces import EMPTY

FARTHEST = 1 << 40
"""Sides of guards that differ more than this among the threads are left alone."""
MOST_OPERATIONS = 300
"""In a loop that is written twice."""

_FLIPPED = {"lt": "lt", "le": "le", "gt": "lt", "ge": "le"}


def with_interiors(region: Region, constants: dict[Value, int]) -> Region:
    """The body of a block, with two versions of each loop over threads that has such guards."""
    known = constants | integer_constants(region)
    operations = [new for operation in region.operations for new in _operation(operation, known)]
    return Region(region.parameters, tuple(operations), region.yields)


def _operation(operation: Operation, constants: dict[Value, int]) -> list[Operation]:
    match operation:
        case typed.Parallel():
            return _versions(operation, constants)
        case typed.If(then=then, orelse=orelse):
            return [replace(operation, then=with_interiors(then, constants), orelse=with_interiors(orelse, constants))]
        case typed.For(body=body):
            return [replace(operation, body=with_interiors(body, constants))]
        case typed.While(condition=condition, body=body):
            inner = with_interiors(condition, constants)
            return [replace(operation, condition=inner, body=with_interiors(body, constants))]
        case _:
            return [operation]


def _versions(loop: typed.Parallel, constants: dict[Value, int]) -> list[Operation]:
    if not loop.independent or sum(1 for _ in _inside(loop.body)) > MOST_OPERATIONS:
        return [loop]
    guards = _Guards(loop, constants)
    if not guards.comparisons:
        return [loop]
    writer = OperationWriter(loop.span)
    holds = guards.everywhere(writer)
    plain = _Plain(guards).loop(loop)
    edge = replace(loop, results=tuple(Value(r.type, r.span, r.name) for r in loop.results))
    then, orelse = Region((), (plain,), plain.results), Region((), (edge,), edge.results)
    return [*writer.operations, typed.If(loop.span, loop.results, holds, then, orelse)]


def _inside(region: Region) -> Iterator[Operation]:
    for operation in region.operations:
        yield operation
        for inner in operation.regions:
            yield from _inside(inner)


def _wide(value: Value) -> bool:
    return isinstance(value.type, ScalarType) and value.type.kind == "int" and value.type.bits == 64


class _Guards:
    """The guards of one loop. `comparisons`: those to be looked at; `true`: all conditions that follow from them."""

    def __init__(self, loop: typed.Parallel, constants: dict[Value, int]) -> None:
        self._constants = constants | integer_constants(loop.body)
        self._indices = loop.body.parameters[: len(loop.box)]
        self._last = [self._constants.get(extent.upper, 0) - 1 for extent in loop.box]
        self._makers = {result: operation for operation in _inside(loop.body) for result in operation.results}
        self._unknown = {value for operation in _inside(loop.body) for region in operation.regions for value in region.parameters}
        self._growth: dict[Value, tuple[int, ...] | None] = {}
        self.comparisons: dict[Value, typed.Binary] = {}
        self.true: set[Value] = set()
        plain = all(self._constants.get(e.lower) == 0 and self._constants.get(e.step) == 1 for e in loop.box)
        if plain and min(self._last) >= 0:
            for operation in _inside(loop.body):
                if isinstance(operation, typed.If) and any(region.operations for region in operation.regions):
                    self._look(operation.condition)

    def _look(self, condition: Value) -> bool:
        """Whether a condition is known to hold where the comparisons do."""
        if condition in self.true:
            return True
        maker = self._makers.get(condition)
        if not isinstance(maker, typed.Binary):
            return False
        if maker.operator == "and":
            sides = [self._look(side) for side in (maker.left, maker.right)]
            found = all(sides)
        else:
            found = maker.operator in _FLIPPED and self._even(maker)
            if found:
                self.comparisons[condition] = maker
        if found:
            self.true.add(condition)
        return found

    def _even(self, comparison: typed.Binary) -> bool:
        """Whether both sides grow evenly, and one that does depends on the block: else all blocks would be edges."""
        sides = comparison.left, comparison.right
        growths = [self._grows(side) for side in sides]
        return None not in growths and any(
            any(growth or ()) and self._moved(side) for side, growth in zip(sides, growths, strict=True)
        )

    def _moved(self, value: Value) -> bool:
        """Whether a value is made from more than indices and numbers."""
        if value in self._indices or value in self._constants:
            return False
        maker = self._makers.get(value)
        return maker is None or any(map(self._moved, maker.operands))

    def _grows(self, value: Value) -> tuple[int, ...] | None:
        """By how much a value grows with each index; None if that is not known."""
        if value not in self._growth:
            found = self._grown(value)
            if found is not None and sum(abs(g) * last for g, last in zip(found, self._last, strict=True)) > FARTHEST:
                found = None
            self._growth[value] = found
        return self._growth[value]

    def _grown(self, value: Value) -> tuple[int, ...] | None:
        if value in self._indices:
            return tuple(int(value is index) for index in self._indices)
        if not _wide(value) or value in self._unknown:
            return None
        zero = (0,) * len(self._indices)
        if value in self._constants or value not in self._makers:
            return zero
        match self._makers[value]:
            case typed.Binary(operator="add" | "sub" as operator, left=left, right=right):
                a, b = self._grows(left), self._grows(right)
                sign = 1 if operator == "add" else -1
                return None if a is None or b is None else tuple(x + sign * y for x, y in zip(a, b, strict=True))
            case typed.Binary(operator="mul", left=left, right=right):
                for factor, other in ((left, right), (right, left)):
                    number, growth = self._constants.get(factor), self._grows(other)
                    if number is not None and growth is not None:
                        return tuple(number * x for x in growth)
                return None
            case typed.Cast(operand=operand) if _wide(operand):
                return self._grows(operand)
            case _:
                return None

    # ------------------------------------------------------------------------------------------------- at the corners

    def everywhere(self, writer: OperationWriter) -> Value:
        """A condition of the block: all comparisons hold in all threads."""
        known: tuple[dict[Value, Value], dict[Value, Value]] = {}, {}
        holds: Value | None = None

        def further(condition: Value) -> None:
            nonlocal holds
            holds = condition if holds is None else writer.binary("and", holds, condition)

        for comparison in self.comparisons.values():
            smaller, larger = comparison.left, comparison.right
            if comparison.operator in ("gt", "ge"):
                smaller, larger = larger, smaller
            ends = [tuple(self._at(side, greatest, known, writer) for greatest in (0, 1)) for side in (smaller, larger)]
            for (low, high), side in zip(ends, (smaller, larger), strict=True):
                if any(self._grows(side) or ()):
                    further(writer.binary("le", low, high))  # else it has wrapped
            operator = _FLIPPED[comparison.operator]
            assert operator in ("lt", "le")
            further(writer.binary(operator, ends[0][1], ends[1][0]))
        assert holds is not None
        return holds

    def _at(self, value: Value, greatest: int, known: Sequence[dict[Value, Value]], writer: OperationWriter) -> Value:
        """A value where it is least, or greatest."""
        growth = self._grows(value)
        assert growth is not None
        base = self._first(value, known[0], writer)
        least = sum(min(g * last, 0) for g, last in zip(growth, self._last, strict=True))
        most = sum(max(g * last, 0) for g, last in zip(growth, self._last, strict=True))
        distance = most if greatest else least
        return base if distance == 0 else writer.binary("add", base, writer.constant(distance, base.scalar))

    def _first(self, value: Value, known: dict[Value, Value], writer: OperationWriter) -> Value:
        """A value in the first thread."""
        if value in known:
            return known[value]
        if value in self._indices:
            known[value] = writer.index(0)
        elif value not in self._makers:
            known[value] = value
        else:
            maker = self._makers[value]
            for operand in maker.operands:
                self._first(operand, known, writer)
            writer.operations.append(clone(maker, known))
        return known[value]


class _Plain:
    """Copies a loop without the guards that hold."""

    def __init__(self, guards: _Guards) -> None:
        self._true = guards.true
        self._names: dict[Value, Value] = {}

    def loop(self, loop: typed.Parallel) -> typed.Parallel:
        """The version for blocks inside."""
        body = self._region(loop.body)
        return replace(loop, results=tuple(Value(r.type, r.span, r.name) for r in loop.results), body=body)

    def _region(self, region: Region) -> Region:
        parameters = tuple(fresh(value, self._names) for value in region.parameters)
        operations = tuple(self._operations(region.operations))
        return Region(parameters, operations, tuple(self._names.get(value, value) for value in region.yields))

    def _operations(self, operations: tuple[Operation, ...]) -> Iterator[Operation]:
        for operation in operations:
            match operation:
                case typed.If(condition=condition, then=then, results=results) if condition in self._true:
                    yield from self._operations(then.operations)
                    for result, value in zip(results, then.yields, strict=True):
                        self._names[result] = self._names.get(value, value)
                case typed.If(then=then, orelse=orelse):
                    then, orelse = self._region(then), self._region(orelse)
                    copy = clone(replace(operation, then=EMPTY, orelse=EMPTY), self._names)
                    yield replace(copy, then=then, orelse=orelse)  # type: ignore[call-arg]
                case typed.For(body=body):
                    body = self._region(body)
                    yield replace(clone(replace(operation, body=EMPTY), self._names), body=body)  # type: ignore[call-arg]
                case typed.While(condition=condition, body=body):
                    condition, body = self._region(condition), self._region(body)
                    copy = clone(replace(operation, condition=EMPTY, body=EMPTY), self._names)
                    yield replace(copy, condition=condition, body=body)  # type: ignore[call-arg]
                case _:
                    yield clone(operation, self._names)
