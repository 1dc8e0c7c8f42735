"""What threads keep across barriers: which values live in arrays of the block, and which are computed again.

Does: decide it for the body of one loop over threads, which has been cut into pieces.  Does not: write code (`fission.py`).
Invariants: an array holds, from the piece that makes a value to the last that needs it, that value of each thread; what a loop
with barriers carries has one array for all its names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from lend.diagnostics.diagnostic import Diagnostic, Label
from lend.diagnostics.errors import CompileError
from lend.ir import typed
from lend.ir.typed import Operation, Value
from lend.language.types import ScalarType
from lend.schedule import pieces
from lend.schedule.exchange import Exchanger
from lend.schedule.operations import OperationWriter
from lend.schedule.pieces import Branch, Exchange, Hoisted, Loop, Piece, Uniformity, used
from lend.schedule.privates import Make

AGAIN = 24
"""Operations that are done again in another piece rather than kept, at most."""


class Keeper:
    """Looks at one body. `indices`: the threads' own; `make`: gives an array of the block.

    `kept`: values and the arrays in which they live across pieces; `makers`: what makes each value of a piece; `apart`: branches
    and loops that sub-groups go through on their own.
    """

    def __init__(
        self, sequence: pieces.Sequence, uniformity: Uniformity, indices: Sequence[Value], sizes: Sequence[int], make: Make
    ) -> None:
        self.indices = tuple(indices)
        self.sizes = tuple(sizes)
        self.varying = uniformity.varying
        self.apart = uniformity.apart
        self.kept: dict[Value, Value] = {}
        self.makers: dict[Value, Operation] = {}
        self._make = make
        self._homes: dict[Value, Piece] = {}
        self._again: dict[Value, int] = {}  # values that are computed again, and by how many operations
        self._arrange(sequence)
        self._keep(sequence)

    def again(self, value: Value, maker: Operation) -> None:
        """Say how a value is computed in whatever piece needs it."""
        self.varying.add(value)
        self.makers[value] = maker

    # ------------------------------------------------------------------------------------------------- what is kept

    def _arrange(self, sequence: pieces.Sequence) -> None:
        """Say where values are made, and what pieces copy into which arrays."""
        for position, item in enumerate(sequence.items):
            match item:
                case Piece():
                    for operation in item.operations:
                        self._made(operation, item)
                case Branch():
                    self._arrange(item.then)
                    self._arrange(item.orelse)
                    self._branch(item)
                case Loop():
                    if item.condition is not None:
                        self._arrange(item.condition)
                    self._arrange(item.body)
                    before = sequence.items[position - 1]
                    assert isinstance(before, Piece)
                    self._loop(item, before)
                case Exchange():
                    before = sequence.items[position - 1]
                    after = next(later for later in sequence.items[position:] if isinstance(later, Piece))
                    assert isinstance(before, Piece)
                    self._exchange(item, before, after)
                case Hoisted():
                    pass

    def _made(self, operation: Operation, piece: Piece) -> None:
        for result in operation.results:
            self._homes[result] = piece
            self.makers[result] = operation

    def _branch(self, item: Branch) -> None:
        arms = (item.then, item.orelse)
        for position, result in enumerate(item.operation.results):
            if result in self.varying:
                array = self.kept[result] = self._of_loop(item.then, position) or self._array(result)
                for arm in arms:
                    if self.kept.get(arm.yields[position]) is not array:
                        arm.last.copies.append((arm.yields[position], array))

    def _of_loop(self, arm: pieces.Sequence, position: int) -> Value | None:
        """The array of what a loop in an arm leaves to the branch, which nobody but the branch uses then."""
        value = arm.yields[position]
        made = any(isinstance(item, Loop) and value in item.operation.results for item in arm.items)
        return self.kept.get(value) if made and arm.yields.count(value) == 1 else None

    def _loop(self, item: Loop, before: Piece) -> None:
        """What a loop carries of each thread is in an array all the time."""
        operation, skip = item.operation, int(item.operation.stops)
        if item.alive is not None:
            self._alive(item, item.alive)
        names = [operation.results, operation.body.parameters[-len(operation.results) :]]
        if isinstance(operation, typed.While):
            names.append(operation.condition.parameters)
        for position, (init, result) in enumerate(zip(operation.inits, operation.results, strict=True)):
            if result not in self.varying:
                continue
            array = self._array(result)
            for values in names:
                self.kept[values[position]] = array
            before.copies.append((init, array))
            following = item.body.yields[skip + position]
            if self._stored_at_once(item, following, operation.body.parameters[-len(operation.results) :][position]):
                self.kept[following] = array
            else:
                item.body.last.copies.append((following, array))

    def _alive(self, item: Loop, alive: Value) -> None:
        """Who is in a loop that sub-groups leave one by one: those whose condition held, and who have not stopped."""
        assert item.condition is not None
        self.varying.add(alive)
        array = self.kept[alive] = self._array(alive)
        item.condition.last.copies.append((item.condition.yields[0], array))
        if item.operation.stops:
            last = item.body.last
            writer = OperationWriter(item.operation.span, last.operations)
            goes_on = writer.not_(item.body.yields[0])
            self.varying.add(goes_on)
            self._made(last.operations[-1], last)
            last.copies.append((goes_on, array))

    def _stored_at_once(self, item: Loop, following: Value, parameter: Value) -> bool:
        """Whether the next value of what a loop carries may go to its array at once: nobody needs the old one after that."""
        home = self._homes.get(following)
        if home is None or home not in item.body.items or following in self.kept or item.body.yields.count(following) > 1:
            return False
        if parameter in item.body.yields and home is not item.body.last:
            return False
        later = item.body.items[item.body.items.index(home) + 1 :]
        return not any(self._rests_on(value, parameter) for values in map(_uses, later) for value in values)

    def _rests_on(self, value: Value, parameter: Value) -> bool:
        """Whether a use of a value is one of the parameter: views are taken anew in each piece that uses them."""
        maker = self.makers.get(value)
        return value is parameter or (isinstance(maker, typed.View) and any(self._rests_on(v, parameter) for v in used(maker)))

    def _exchange(self, item: Exchange, before: Piece, after: Piece) -> None:
        operation = item.operation
        assert operation.value is not None
        given = self._make(operation.value.scalar, (prod(self.sizes),), None)
        before.copies.append((operation.value, given))
        exchanger = Exchanger(operation, given, lambda type, sizes: self._make(type, sizes, None), self.indices, self.sizes)
        item.between = exchanger.between()
        reads = exchanger.reads()
        after.operations[:0] = reads
        for read in reads:
            self.varying.update(read.results)
            self._made(read, after)

    def _keep(self, sequence: pieces.Sequence) -> None:
        """Give arrays to values that other pieces need and do not compute again."""
        for value in self._homes:
            self._repeated(value)
        needed: dict[Value, None] = dict.fromkeys(self._decisive(sequence))
        for piece in sequence.pieces():
            for value in (*(v for o in piece.operations for v in used(o)), *(v for v, _ in piece.copies)):
                self._reached(value, piece, needed)
        for value in sequence.yields:
            self._reached(value, sequence.last, needed)
        for value in needed:
            if value in self.varying and value not in self.kept:
                self.kept[value] = self._array(value)

    def _reached(self, value: Value, piece: Piece, needed: dict[Value, None]) -> None:
        """Note what a use of a value in a piece needs from other pieces."""
        if value not in self.varying or self._homes.get(value) in (None, piece):
            return
        maker = self.makers[value]
        if value in self._again or isinstance(maker, typed.View):
            for operand in used(maker):
                self._reached(operand, piece, needed)
        else:
            needed[value] = None

    def _decisive(self, sequence: pieces.Sequence) -> Iterator[Value]:
        """The values that decide for the block, of which there may be one per thread."""
        for item in sequence.items:
            if isinstance(item, Branch):
                yield item.operation.condition
                yield from self._decisive(item.then)
                yield from self._decisive(item.orelse)
            elif isinstance(item, Loop):
                operation = item.operation
                if isinstance(operation, typed.For):
                    yield from (operation.extent.lower, operation.extent.upper, operation.extent.step)
                if item.condition is not None:
                    yield from item.condition.yields
                    yield from self._decisive(item.condition)
                if operation.stops:
                    yield item.body.yields[0]
                yield from self._decisive(item.body)

    def _repeated(self, value: Value) -> int | None:
        """How many operations it takes to compute a value from thread indices and uniform values, if that is few."""
        if value in self._again:
            return self._again[value]
        if value in self.indices or value not in self.varying:
            return 0
        maker = self.makers.get(value)
        simple = isinstance(maker, typed.Constant | typed.Unary | typed.Binary | typed.Cast | typed.Size)
        if maker is None or not simple or not pieces.pure(maker) or value in self.kept:
            return None
        total = 1
        for operand in maker.operands:
            count = self._repeated(operand)
            if count is None:
                return None
            total += count
        if total > AGAIN:
            return None
        self._again[value] = total
        return total

    def _array(self, value: Value) -> Value:
        if not isinstance(value.type, ScalarType):
            raise CompileError([_one_or_another(value)])
        return self._make(value.type, self.sizes, value.name)


def _one_or_another(value: Value) -> Diagnostic:
    """Which array a thread means could only be kept as an address."""
    name = f"`{value.name}`" if value.name else "this array"
    return Diagnostic(
        "L0421",
        f"{name} stands for one array or another across a barrier",
        Label(value.span, "each thread would have to keep which one it is"),
        notes=("all threads of a block wait at a barrier, and only numbers are kept for each of them until they go on",),
        fix="make one array with one more dimension, and keep its index",
    )


def _uses(item: pieces.Item) -> set[Value]:
    """All that an item uses."""
    match item:
        case Piece():
            return {v for o in item.operations for v in used(o)} | {v for v, _ in item.copies}
        case Exchange() | Hoisted():
            return set(item.operation.operands)
        case _:
            return set(used(item.operation))
