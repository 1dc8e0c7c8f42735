"""A loop over the threads of a block -> loops that never wait, one for each piece between barriers.

Does: write the pieces as parallel loops over the threads, and what stands between them as operations of the block; keep private
values that live across a barrier in arrays with an element per thread.
Does not: cut (`pieces.py`), prove anything, or look at memory that the user sees.
Invariants: each thread does in each piece what its text says, in that order. Values that are plainly cheap (sums and products of
indices, comparisons of such) are computed again where they are needed. Of a value that decides for the block and is not uniform
by its form, the first thread's counts: that all threads have the same is what the obligation "barrier" proves.

Example: `s[t] = x[i]; sync(); y[i] = s[t + 1]` becomes two loops over t, and i is computed in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lend.diagnostics.spans import Span
from lend.ir import typed
from lend.ir.clone import clone
from lend.ir.typed import Extent, Operation, Region, Value
from lend.language.reduction import identity
from lend.language.types import BOOL_, INDEX
from lend.schedule import pieces
from lend.schedule.exchange import linear
from lend.schedule.keeping import Keeper
from lend.schedule.lockstep import in_step
from lend.schedule.operations import OperationWriter
from lend.schedule.pieces import Branch, Cutter, Exchange, Hoisted, Loop, Piece, Uniformity, counted_as_while, used
from lend.schedule.privates import Make, expanded


class Fission:
    """Rewrites one `Threads`. `make`: gives an array of the block, of undefined content."""

    def __init__(self, threads: typed.Threads, make: Make, independent: bool, fallback: bool) -> None:
        self._threads = threads
        self._independent = independent
        self._fallback = fallback
        self._identities = OperationWriter(threads.span)
        body = expanded(self._without_reductions(threads), threads.sizes, make)
        uniformity = Uniformity(body)
        if any(isinstance(operation, typed.For) for operation in uniformity.apart):
            body = counted_as_while(body, uniformity.apart)
            uniformity = Uniformity(body)
        if independent and not fallback:
            body, led = in_step(body, uniformity, threads.sizes)
            uniformity = Uniformity(body, led)
        self._varying = uniformity.varying
        self._sequence = Cutter(uniformity).cut(body)
        self._keeper = Keeper(self._sequence, uniformity, body.parameters, threads.sizes, make)
        self._guards: list[Value] = []

    def _without_reductions(self, threads: typed.Threads) -> Region:
        """The body with what it reduces starting from the identity, as a literal."""
        count = len(threads.sizes)
        start: dict[Value, Value] = {}
        position = count
        for reduction in threads.reductions:
            for init in reduction.inits:
                type = init.scalar
                start[threads.body.parameters[position]] = self._identities.constant(identity(reduction.operator, type), type)
                position += 1
        plain = Region(threads.body.parameters[:count], threads.body.operations, threads.body.yields)
        return pieces.dissolved(plain, start)

    def write(self) -> list[Operation]:
        """The operations of the block that stand for the loop."""
        out: list[Operation] = list(self._identities.operations)
        self._write(self._sequence, out, last=True)
        return out

    # ------------------------------------------------------------------------------------------------- writing

    def _write(self, sequence: pieces.Sequence, out: list[Operation], last: bool = False) -> None:
        for item in sequence.items:
            match item:
                case Hoisted():
                    out.append(item.operation)
                case Piece():
                    self._piece(item, out, last and item is sequence.last)
                case Exchange():
                    out += item.between
                case Branch():
                    self._write_branch(item, out)
                case Loop():
                    self._write_loop(item, out)

    def _write_branch(self, item: Branch, out: list[Operation]) -> None:
        operation = item.operation
        if operation in self._keeper.apart:
            self._write_guarded(item, out)
            return
        condition = self._decided(operation.condition, out)
        chosen = [k for k, result in enumerate(operation.results) if result not in self._varying]
        arms: list[Region] = []
        for arm in (item.then, item.orelse):
            inner: list[Operation] = []
            self._write(arm, inner)
            arms.append(Region((), tuple(inner), tuple(arm.yields[k] for k in chosen)))
        results = tuple(operation.results[k] for k in chosen)
        out.append(replace(operation, results=results, condition=condition, then=arms[0], orelse=arms[1]))

    def _write_guarded(self, item: Branch, out: list[Operation]) -> None:
        """Both arms, each for the threads that take it."""
        condition = item.operation.condition
        opposite = Value(condition.type, condition.span)
        self._keeper.again(opposite, typed.Unary(condition.span, opposite, "not", condition))
        for arm, guard in ((item.then, condition), (item.orelse, opposite)):
            self._guards.append(guard)
            self._write(arm, out)
            self._guards.pop()

    def _write_apart(self, item: Loop, alive: Value, out: list[Operation]) -> None:
        """A loop that goes on while anyone is in it, for those who are."""
        assert item.condition is not None
        start = _PieceWriter(self._keeper, item.operation.span)
        starts = start.constant(True, BOOL_)
        for guard in self._guards:
            starts = start.binary("and", starts, start.need(guard))
        start.keep(self._keeper.kept[alive], starts)
        out.append(self._loop(start, OperationWriter(start.span, out)))
        tests, inner = list[Operation](), list[Operation]()
        some = self._some(alive, tests)
        self._guards.append(alive)
        self._write(item.condition, inner)
        self._write(item.body, inner)
        self._guards.pop()
        condition, body = Region((), tuple(tests), (some,)), Region((), tuple(inner), ())
        out.append(typed.While(item.operation.span, (), (), condition, body, False))

    def _some(self, alive: Value, out: list[Operation]) -> Value:
        """Whether a flag is set in any thread."""
        writer, host = _PieceWriter(self._keeper, alive.span), OperationWriter(alive.span, out)
        before, some = Value(BOOL_, alive.span), Value(BOOL_, alive.span)
        after = writer.binary("or", before, writer.need(alive))
        reduction = typed.Reduction("or", (host.constant(False, BOOL_),))
        loop = self._loop(writer, host)
        body = Region((*writer.indices, before), tuple(writer.operations), (after,))
        out.append(replace(loop, results=(some,), reductions=(reduction,), body=body))
        return some

    def _loop(self, piece: _PieceWriter, host: OperationWriter) -> typed.Parallel:
        """What a piece does, for all threads."""
        box = tuple(host.extent(size) for size in self._threads.sizes)
        body = Region(piece.indices, tuple(piece.operations), ())
        return typed.Parallel(piece.span, (), box, (), body, None, self._independent, False, self._fallback)

    def _write_loop(self, item: Loop, out: list[Operation]) -> None:
        if item.alive is not None:
            self._write_apart(item, item.alive, out)
            return
        operation = item.operation
        chosen = [k for k, result in enumerate(operation.results) if result not in self._varying]
        results = tuple(operation.results[k] for k in chosen)
        inits = tuple(operation.inits[k] for k in chosen)
        inner: list[Operation] = []
        self._guards += [] if item.guard is None else [item.guard]
        self._write(item.body, inner)
        del self._guards[len(self._guards) - (item.guard is not None) :]
        skip = int(operation.stops)
        yields = [item.body.yields[skip + k] for k in chosen]
        if operation.stops:
            yields.insert(0, self._decided(item.body.yields[0], inner))
        if isinstance(operation, typed.For):
            parameters = (operation.body.parameters[0], *(operation.body.parameters[1 + k] for k in chosen))
            body = Region(parameters, tuple(inner), tuple(yields))
            extent = operation.extent
            extent = Extent(*(self._decided(v, out) for v in (extent.lower, extent.upper, extent.step)))
            out.append(replace(operation, results=results, inits=inits, extent=extent, body=body))
            return
        assert item.condition is not None
        tests: list[Operation] = []
        self._write(item.condition, tests)
        holds = self._decided(item.condition.yields[0], tests)
        condition = Region(tuple(operation.condition.parameters[k] for k in chosen), tuple(tests), (holds,))
        body = Region(tuple(operation.body.parameters[k] for k in chosen), tuple(inner), tuple(yields))
        out.append(replace(operation, results=results, inits=inits, condition=condition, body=body))

    def _decided(self, value: Value, out: list[Operation]) -> Value:
        """A value that decides for the block: the first thread's, where there is one of each."""
        if value not in self._varying:
            return value
        writer = OperationWriter(value.span, out)
        array = self._keeper.kept[value]
        return writer.load(array, [writer.index(0) for _ in range(array.array.dimensions)])

    def _piece(self, piece: Piece, out: list[Operation], last: bool) -> None:
        """A piece as a loop over the threads; none if it does nothing."""
        reductions = self._threads.reductions if last else ()
        results = self._threads.results if last else ()
        stores = [(v, self._keeper.kept[v]) for o in piece.operations for v in o.results if v in self._keeper.kept]
        copies = [*piece.copies, *stores]
        yields = self._sequence.yields if last else ()
        live = _live(piece.operations, {v for v, _ in copies} | set(yields))
        if not live and not copies and not reductions:
            return
        span = self._threads.span
        writer = _PieceWriter(self._keeper, span)
        conditions = [writer.need(guard) for guard in self._guards]
        guarded = _PieceWriter(self._keeper, span, writer) if conditions else writer
        for operation in live:
            guarded.append(operation)
        values = [(guarded.need(value), array) for value, array in copies]
        for value, array in values:
            guarded.keep(array, value)
        for condition in conditions[1:]:
            conditions[0] = writer.binary("and", conditions[0], condition)
        if conditions:
            inner = Region((), tuple(guarded.operations), ())
            writer.operations.append(typed.If(span, (), conditions[0], inner, Region((), (), ())))
        yields = tuple(writer.need(value) for value in yields)
        fresh = tuple(Value(init.type, span, init.name) for reduction in reductions for init in reduction.inits)
        body = Region((*writer.indices, *fresh), tuple(writer.operations), yields)
        loop = self._loop(writer, OperationWriter(span, out))
        out.append(replace(loop, results=results, reductions=reductions, body=body))


class _PieceWriter(OperationWriter):
    """Writes the operations of one piece, with its own names. `outer`: what is named already."""

    def __init__(self, keeper: Keeper, span: Span, outer: _PieceWriter | None = None) -> None:
        super().__init__(span)
        self._keeper = keeper
        if outer is None:
            self.indices = tuple(Value(INDEX, value.span, value.name) for value in keeper.indices)
            self._names = dict(zip(keeper.indices, self.indices, strict=True))
        else:
            self.indices, self._names = outer.indices, dict(outer._names)

    def append(self, operation: Operation) -> None:
        """An operation of the text."""
        for value in used(operation):
            self.need(value)
        self.operations.append(clone(operation, self._names))

    def need(self, value: Value) -> Value:
        """What `value` is in this piece: it is read, or computed again, where that has not been done."""
        keeper = self._keeper
        if value in self._names or value not in keeper.varying:
            return self._names.get(value, value)
        array = keeper.kept.get(value)
        if array is None:
            self.append(keeper.makers[value])
        else:
            self._names[value] = self.load(array, self.indices)
        return self._names[value]

    def keep(self, array: Value, value: Value) -> None:
        """Put a thread's value into an array of the block."""
        at = self.indices
        if array.array.dimensions != len(at):
            at = (linear(self, at, self._keeper.sizes),)
        self.store(array, at, value)


def _live(operations: Sequence[Operation], wanted: set[Value]) -> list[Operation]:
    """The operations without those that only compute what nobody wants."""
    found: list[Operation] = []
    for operation in reversed(operations):
        view = isinstance(operation, typed.View) and operation.site is None
        if (pieces.pure(operation) or view) and wanted.isdisjoint(operation.results):
            continue
        found.append(operation)
        wanted.update(used(operation))
    return found[::-1]
