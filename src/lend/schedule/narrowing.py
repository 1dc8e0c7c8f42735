"""Loops over the threads of a block in which only some do anything run over those alone.

Does: turn a guard on an index (`t == 0`, `t < half`, `t % 32 == 0`) around all that such a loop does into bounds of the loop.
Does not: look at loops that reduce, or that can fail: a fault names its thread by the place in the whole loop.
Invariants: the bounds lie inside the box; threads outside would have done nothing.

Example: `if t < half: s[t] += s[t + half]` runs over `0..half`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from lend.ir import typed
from lend.ir.typed import Extent, Operation, Region, Value
from lend.language.types import INDEX, ScalarType
from lend.schedule.innermost import integer_constants
from lend.schedule.operations import OperationWriter

_MIRRORED: dict[str, str] = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq"}


def narrowed(region: Region, constants: dict[Value, int]) -> Region:
    """The body of a block with guards as bounds."""
    known = constants | integer_constants(region)
    operations = [new for operation in region.operations for new in _operation(operation, known)]
    return Region(region.parameters, tuple(operations), region.yields)


def _operation(operation: Operation, constants: dict[Value, int]) -> list[Operation]:
    match operation:
        case typed.Parallel():
            return _Narrower(operation, constants).written()
        case typed.If(then=then, orelse=orelse):
            return [replace(operation, then=narrowed(then, constants), orelse=narrowed(orelse, constants))]
        case typed.For(body=body):
            return [replace(operation, body=narrowed(body, constants))]
        case typed.While(condition=condition, body=body):
            return [replace(operation, condition=narrowed(condition, constants), body=narrowed(body, constants))]
        case _:
            return [operation]


@dataclass
class _Bounds:
    """What is known of an index, as values of the block; `every`: a step and a remainder."""

    lower: Value | None = None
    upper: Value | None = None
    every: tuple[int, int] | None = None


class _Narrower:
    """Looks at one loop."""

    def __init__(self, loop: typed.Parallel, constants: dict[Value, int]) -> None:
        self._loop = loop
        self._constants = constants | integer_constants(loop.body)
        self._indices = loop.body.parameters
        self._makers = {result: operation for operation in loop.body.operations for result in operation.results}
        self._writer = OperationWriter(loop.span)
        self._bounds = [_Bounds() for _ in loop.box]

    def written(self) -> list[Operation]:
        """The loop, and before it what computes its bounds."""
        loop = self._loop
        guard = self._guard()
        if guard is None:
            return [loop]
        kept: list[Value] = []
        for condition in self._conjuncts(guard.condition):
            if not self._bound(condition) and not self._remainder(condition):
                kept.append(condition)
        if not any(bounds.lower or bounds.upper or bounds.every for bounds in self._bounds):
            return [loop]
        inner = OperationWriter(loop.span, list(loop.body.operations[:-1]))
        if kept:
            condition = kept[0]
            for other in kept[1:]:
                condition = inner.binary("and", condition, other)
            inner.operations.append(replace(guard, condition=condition))
        else:
            inner.operations += guard.then.operations
        body = replace(loop.body, operations=tuple(inner.operations))
        box = self._box()
        return [*self._writer.operations, replace(loop, box=box, body=body)]

    def _guard(self) -> typed.If | None:
        """The branch that holds all that the loop does."""
        loop = self._loop
        *before, last = loop.body.operations or (None,)
        if loop.reductions or not loop.independent or not isinstance(last, typed.If) or last.orelse.operations or last.results:
            return None
        plain = all(map(_harmless, before)) and not _fails(last)
        numbers = all(self._constants.get(e.lower) == 0 and self._constants.get(e.step) == 1 for e in loop.box)
        return last if plain and numbers and all(e.upper in self._constants for e in loop.box) else None

    def _conjuncts(self, condition: Value) -> list[Value]:
        maker = self._makers.get(condition)
        if isinstance(maker, typed.Binary) and maker.operator == "and":
            return [*self._conjuncts(maker.left), *self._conjuncts(maker.right)]
        return [condition]

    def _bound(self, condition: Value) -> bool:
        """Whether a condition became bounds."""
        maker = self._makers.get(condition)
        if not isinstance(maker, typed.Binary) or maker.operator not in _MIRRORED:
            return False
        for index, other, operator in (
            (maker.left, maker.right, maker.operator),
            (maker.right, maker.left, _MIRRORED[maker.operator]),
        ):
            outside = other not in self._makers and other not in self._indices
            settled = other in self._constants
            if index in self._indices and _wide(other) and (outside or settled):
                if self._bounds[self._indices.index(index)].every is not None and not settled:
                    return False
                self._note(self._indices.index(index), operator, other)
                return True
        return False

    def _remainder(self, condition: Value) -> bool:
        """Whether a condition became a step: a remainder by a number is a number, and all else about the index is numbers."""
        maker = self._makers.get(condition)
        if not isinstance(maker, typed.Binary) or maker.operator != "eq":
            return False
        for side, other in ((maker.left, maker.right), (maker.right, maker.left)):
            division, rest = self._makers.get(side), self._constants.get(other)
            if not isinstance(division, typed.Binary) or division.operator != "mod" or division.left not in self._indices:
                continue
            step = self._constants.get(division.right, 0)
            bounds = self._bounds[self._indices.index(division.left)]
            numbers = all(end is None or end in self._constants for end in (bounds.lower, bounds.upper))
            if rest is not None and 0 <= rest < step and bounds.every is None and numbers:
                bounds.every = step, rest
                return True
        return False

    def _note(self, d: int, operator: str, end: Value) -> None:
        """Take in `index operator end`."""
        count, bounds = self._constants[self._loop.box[d].upper], self._bounds[d]
        if operator in ("lt", "le", "eq"):
            upper = self._clamped(end, 0, count) if operator == "lt" else self._clamped(end, -1, count - 1, 1)
            bounds.upper = upper if bounds.upper is None else self._either("min", bounds.upper, upper)
        if operator in ("gt", "ge", "eq"):
            lower = self._clamped(end, -1, count - 1, 1) if operator == "gt" else self._clamped(end, 0, count)
            bounds.lower = lower if bounds.lower is None else self._either("max", bounds.lower, lower)

    def _clamped(self, value: Value, least: int, most: int, more: int = 0) -> Value:
        """`value` in least..most, and so much more."""
        number, writer = self._constants.get(value), self._writer
        if number is not None:
            return self._number(max(min(number, most), least) + more)
        result = writer.binary("max", writer.binary("min", writer.cast(value, INDEX), writer.index(most)), writer.index(least))
        return writer.binary("add", result, writer.index(more)) if more else result

    def _number(self, value: int) -> Value:
        result = self._writer.index(value)
        self._constants[result] = value
        return result

    def _either(self, operator: str, a: Value, b: Value) -> Value:
        """The smaller or the larger of two bounds."""
        numbers = self._constants.get(a), self._constants.get(b)
        if numbers[0] is not None and numbers[1] is not None:
            return self._number(min(numbers[0], numbers[1]) if operator == "min" else max(numbers[0], numbers[1]))
        assert operator in ("min", "max")
        return self._writer.binary(operator, a, b)

    def _box(self) -> tuple[Extent, ...]:
        box: list[Extent] = []
        for extent, bounds in zip(self._loop.box, self._bounds, strict=True):
            lower, upper = bounds.lower or extent.lower, bounds.upper or extent.upper
            step = extent.step
            if bounds.every is not None:
                first, number = self._constants[lower], bounds.every[0]
                lower, step = self._number(first + (bounds.every[1] - first) % number), self._number(number)
            if bounds.lower is not None or bounds.every is not None:  # never below it
                upper = self._either("max", upper, lower)
            box.append(Extent(lower, upper, step))
        return tuple(box)


def _wide(value: Value) -> bool:
    return isinstance(value.type, ScalarType) and value.type.kind == "int" and value.type.bits == 64


def _harmless(operation: Operation | None) -> bool:
    """Whether it does not matter if an operation is left out where nobody needs its result."""
    simple = typed.Constant | typed.Unary | typed.Binary | typed.Math | typed.Cast | typed.Size | typed.Load | typed.View
    return isinstance(operation, simple) and getattr(operation, "site", None) is None


def _fails(operation: Operation) -> bool:
    """Whether something in an operation has a test."""
    if getattr(operation, "site", None) is not None:
        return True
    return any(_fails(inner) for region in operation.regions for inner in region.operations)
