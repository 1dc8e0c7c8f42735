"""Sequential loops of threads that all threads of a block go through together, because memory is read in order then.

Does: find loops in which neighbouring threads read neighbouring elements and a step leads all of them on, and cut bodies there as
if at barriers: the loop becomes one of the block, with a loop over the threads inside.
Does not: look at loops with loops inside, or at blocks of more than one dimension, whose rows share what they read.
Invariants: only blocks whose threads are proved independent are rewritten; each thread makes the steps of its text in order. A
loop that begins at the thread's index makes as many steps as the first thread does; who has no such step is left out of it. One
that begins further on does so where no start wraps, which the block looks at; else it stays as it is. (Where the way from
the start to the end has no 64-bit length, the text would have it make 2**43 steps or more.)

Example: `for j in range(t, M, T): s += x[b, j]` walks along the row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lend.ir import typed
from lend.ir.clone import clone
from lend.ir.typed import Extent, Operation, Region, Value
from lend.language.types import INDEX, Borrow, Layout, ScalarType
from lend.schedule.innermost import integer_constants
from lend.schedule.operations import OperationWriter
from lend.schedule.pieces import Uniformity, waits

LEAST_THREADS = 32
"""Fewer of them read so little at a time that loops of their own cost more than order gains."""
LONGEST_STEP = 1 << 20
_LAST = (1 << 63) - 1

Guards = dict[Operation, Value | None]
"""Loops of the block, branches around such, and what holds in threads that make a step; None if all do."""

Growth = tuple[int, int]
"""By how much a value grows from thread to thread, and from step to step of the loop."""


def in_step(body: Region, uniformity: Uniformity, threads: tuple[int, ...]) -> tuple[Region, Guards]:
    """The body of a loop over threads, with such loops rewritten."""
    if len(threads) != 1 or threads[0] < LEAST_THREADS:
        return body, {}
    rewriter = _Rewriter(body, uniformity, threads[0])
    return rewriter.region(body), rewriter.guards


class _Rewriter:
    """Goes through the regions that all threads of the block go through together."""

    def __init__(self, body: Region, uniformity: Uniformity, threads: int) -> None:
        self._thread = body.parameters[0]
        self._threads = threads
        self._varying = uniformity.varying
        self._apart = uniformity.apart
        self._constants = integer_constants(body)
        self._makers = {result: operation for operation in _inside(body) for result in operation.results}
        self.guards: Guards = {}

    def region(self, region: Region) -> Region:
        """A region; what is not rewritten stays the same object."""
        operations = [new for operation in region.operations for new in self._operation(operation)]
        return Region(region.parameters, tuple(operations), region.yields)

    def _operation(self, operation: Operation) -> list[Operation]:
        if isinstance(operation, typed.For) and not waits(operation):
            return self._loop(operation)
        if not waits(operation) or operation in self._apart:
            return [operation]
        match operation:
            case typed.If(then=then, orelse=orelse):
                return [replace(operation, then=self.region(then), orelse=self.region(orelse))]
            case typed.For(body=body):
                return [replace(operation, body=self.region(body))]
            case typed.While(condition=condition, body=body):
                return [replace(operation, condition=self.region(condition), body=self.region(body))]
            case _:
                return [operation]

    # ------------------------------------------------------------------------------------------------- which

    def _loop(self, loop: typed.For) -> list[Operation]:
        extent, step = loop.extent, self._constants.get(loop.extent.step, 0)
        inner = list(_inside(loop.body))
        simple = not any(isinstance(o, typed.For | typed.While | typed.Subgroup) for o in inner)
        arrays = any(not isinstance(value.type, ScalarType) for value in loop.results)
        if loop.stops or loop.site is not None or not simple or arrays or not 0 < step <= LONGEST_STEP:
            return [loop]
        if extent.upper in self._varying or self._short(extent, step):
            return [loop]
        start = None
        if extent.lower in self._varying:
            start = self._start(extent.lower)
            if start is None:
                return [loop]
        index = loop.body.parameters[0]
        growths: dict[Value, Growth | None] = {self._thread: (1, 0), index: (int(start is not None), 1)}
        if not any(self._in_order(operation, growths) for operation in inner):
            return [loop]
        if start is None:
            return self._together(loop)
        return self._from_own_place(loop, None) if start[0] is None else self._unless_it_wraps(loop, start[0])

    def _short(self, extent: Extent, step: int) -> bool:
        lower, upper = self._constants.get(extent.lower), self._constants.get(extent.upper)
        return lower is not None and upper is not None and len(range(lower, upper, step)) < 2

    def _start(self, lower: Value) -> tuple[Value | None] | None:
        """What is added to the thread's index where a loop begins; None in the tuple for nothing."""
        if lower is self._thread:
            return (None,)
        maker = self._makers.get(lower)
        if isinstance(maker, typed.Binary) and maker.operator == "add" and self._thread in maker.operands:
            (other,) = (value for value in maker.operands if value is not self._thread)
            if other not in self._varying and other.type is INDEX:
                return (other,)
        return None

    def _in_order(self, operation: Operation, growths: dict[Value, Growth | None]) -> bool:
        """Whether an operation reads neighbouring elements of the caller's memory, further ones in each step."""
        if not isinstance(operation, typed.Load) or operation.path:
            return False
        type = operation.array.array
        if type.borrow not in (Borrow.REF, Borrow.MUT, Borrow.OUT) or type.layout is not Layout.C:
            return False
        found = [self._grows(value, growths) for value in operation.indices]
        if None in found:
            return False
        along = [growth for growth in found if growth is not None]
        return along[-1][0] == 1 and all(g[0] == 0 for g in along[:-1]) and any(g[1] != 0 for g in along)

    def _grows(self, value: Value, known: dict[Value, Growth | None]) -> Growth | None:
        if value not in known:
            known[value] = self._grown(value, known)
        return known[value]

    def _grown(self, value: Value, known: dict[Value, Growth | None]) -> Growth | None:
        maker = self._makers.get(value)
        if value in self._constants or (maker is None and value not in self._varying):
            return 0, 0
        match maker:
            case typed.Binary(operator="add" | "sub" as operator, left=left, right=right):
                a, b = self._grows(left, known), self._grows(right, known)
                sign = 1 if operator == "add" else -1
                return None if a is None or b is None else (a[0] + sign * b[0], a[1] + sign * b[1])
            case typed.Binary(operator="mul", left=left, right=right):
                a, b = self._grows(left, known), self._grows(right, known)
                for factor, other in ((left, b), (right, a)):
                    number = self._constants.get(factor)
                    if number is not None and other is not None:
                        return number * other[0], number * other[1]
                return (0, 0) if a == b == (0, 0) else None
            case typed.Cast(operand=operand) if _wide(operand) and _wide(value):
                return self._grows(operand, known)
            case _:
                return None

    # ------------------------------------------------------------------------------------------------- how

    def _together(self, loop: typed.For) -> list[Operation]:
        """All threads make the same steps."""
        made = replace(loop)
        self.guards[made] = None
        return [made]

    def _unless_it_wraps(self, loop: typed.For, start: Value) -> list[Operation]:
        """A branch of the block: the loop as it is, for blocks in which the sum of `start` and a thread's index wraps."""
        before = OperationWriter(loop.span)
        safe = before.binary("le", start, before.index(_LAST + 1 - self._threads))
        as_it_is = clone(loop, {})
        results = tuple(Value(r.type, r.span, r.name) for r in loop.results)
        then = tuple(self._from_own_place(replace(loop, results=results), start))
        made = typed.If(loop.span, loop.results, safe, Region((), then, results), Region((), (as_it_is,), as_it_is.results))
        self.guards[made] = None
        return [*before.operations, made]

    def _from_own_place(self, loop: typed.For, start: Value | None) -> list[Operation]:
        """Thread t is t elements ahead of the first one, and ends when that has no place for it."""
        span, extent = loop.span, loop.extent
        before, inner = OperationWriter(span), OperationWriter(span)
        lower = before.index(0) if start is None else start
        upper = before.cast(extent.upper, INDEX)
        first = Value(INDEX, span, loop.body.parameters[0].name)
        inner.operations.append(typed.Binary(span, loop.body.parameters[0], "add", first, self._thread))
        room = inner.binary("sub", inner.binary("sub", upper, inner.index(1)), first)
        guard = inner.binary("le", self._thread, room)
        operations = (*inner.operations, *loop.body.operations)
        body = Region((first, *loop.body.parameters[1:]), operations, loop.body.yields)
        made = replace(loop, extent=replace(extent, lower=lower, upper=upper), body=body)
        self.guards[made] = guard
        return [*before.operations, made]


def _wide(value: Value) -> bool:
    return isinstance(value.type, ScalarType) and value.type.kind == "int" and value.type.bits == 64


def _inside(region: Region) -> Iterator[Operation]:
    for operation in region.operations:
        yield operation
        for inner in operation.regions:
            yield from _inside(inner)
