"""The body of a loop over threads, cut at its barriers.

Does: say which values are plainly the same in all threads, and cut a body into pieces between which all threads wait.
Does not: write the loops over pieces (`fission.py`).
Invariants: the pieces of a sequence and what stands between them are in the order of the text. A sequence begins and ends with a
piece, and so does what stands beside a branch, a loop or an exchange. Calls have been dissolved.

Values that are "uniform" here are computed once for the block: literals, arithmetic on uniform values, and what loops and
branches with barriers inside pass on of such. Reads never are, though the check of barriers may know that all threads read the
same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from lend.ir import typed
from lend.ir.clone import clone, fresh
from lend.ir.typed import Operation, Region, Value
from lend.language.types import BOOL_, INDEX
from lend.schedule.operations import OperationWriter

_PURE = (typed.Constant, typed.Unary, typed.Binary, typed.Math, typed.Cast, typed.Size)


@dataclass(eq=False)
class Piece:
    """Operations that each thread does without waiting; then `copies`: values and the arrays that keep them."""

    operations: list[Operation] = field(default_factory=list[Operation])
    copies: list[tuple[Value, Value]] = field(default_factory=list[tuple[Value, Value]])


@dataclass(eq=False)
class Hoisted:
    """An operation of the block."""

    operation: Operation


@dataclass(eq=False)
class Branch:
    """A branch that threads wait in."""

    operation: typed.If
    then: Sequence
    orelse: Sequence


@dataclass(eq=False)
class Loop:
    """A loop that threads wait in; `condition` of a `while`.

    `alive`: of one that sub-groups leave one by one, who is in it; `guard`: of one that threads are led through, who takes part.
    """

    operation: typed.For | typed.While
    condition: Sequence | None
    body: Sequence
    alive: Value | None = None
    guard: Value | None = None


@dataclass(eq=False)
class Exchange:
    """A sub-group's operation: what each thread gives is in an array when it begins. `between`: what the block does then."""

    operation: typed.Subgroup
    between: list[Operation] = field(default_factory=list[Operation])


Item = Piece | Hoisted | Branch | Loop | Exchange


@dataclass(eq=False)
class Sequence:
    """Pieces and what stands between them; `yields`: the values that a region ends in."""

    items: list[Item]
    yields: tuple[Value, ...]

    @property
    def last(self) -> Piece:
        """The piece that ends it."""
        piece = self.items[-1]
        assert isinstance(piece, Piece)
        return piece

    def pieces(self) -> Iterator[Piece]:
        """All pieces, those inside too."""
        for item in self.items:
            match item:
                case Piece():
                    yield item
                case Branch():
                    yield from item.then.pieces()
                    yield from item.orelse.pieces()
                case Loop():
                    if item.condition is not None:
                        yield from item.condition.pieces()
                    yield from item.body.pieces()
                case _:
                    pass


def dissolved(region: Region, mapping: dict[Value, Value]) -> Region:
    """A copy of a region in which the bodies of calls stand in place of the calls."""
    parameters = tuple(fresh(value, mapping) for value in region.parameters)
    operations = tuple(_dissolved(region.operations, mapping))
    return Region(parameters, operations, tuple(mapping.get(value, value) for value in region.yields))


def _dissolved(operations: tuple[Operation, ...], mapping: dict[Value, Value]) -> Iterator[Operation]:
    for operation in operations:
        match operation:
            case typed.Call(arguments=arguments, body=body, results=results):
                for parameter, argument in zip(body.parameters, arguments, strict=True):
                    mapping[parameter] = mapping.get(argument, argument)
                yield from _dissolved(body.operations, mapping)
                for result, value in zip(results, body.yields, strict=True):
                    mapping[result] = mapping.get(value, value)
            case typed.If(then=then, orelse=orelse):
                then, orelse = dissolved(then, mapping), dissolved(orelse, mapping)
                yield replace(clone(replace(operation, then=EMPTY, orelse=EMPTY), mapping), then=then, orelse=orelse)  # type: ignore[call-arg]
            case typed.For(body=body) | typed.Threads(body=body):
                body = dissolved(body, mapping)
                yield replace(clone(replace(operation, body=EMPTY), mapping), body=body)  # type: ignore[call-arg]
            case typed.While(condition=condition, body=body):
                condition, body = dissolved(condition, mapping), dissolved(body, mapping)
                copy = clone(replace(operation, condition=EMPTY, body=EMPTY), mapping)
                yield replace(copy, condition=condition, body=body)  # type: ignore[call-arg]
            case _:
                yield clone(operation, mapping)


EMPTY = Region((), (), ())


def waits(operation: Operation) -> bool:
    """Whether threads wait for each other in an operation."""
    if isinstance(operation, typed.Sync | typed.Subgroup):
        return True
    return any(waits(inner) for region in operation.regions for inner in region.operations)


def used(operation: Operation) -> Iterator[Value]:
    """The values that an operation uses and does not make itself, in order of use; some more than once."""
    yield from operation.operands
    for region in operation.regions:
        made = set(region.parameters)
        for inner in region.operations:
            yield from (value for value in used(inner) if value not in made)
            made.update(inner.results)
        yield from (value for value in region.yields if value not in made)


def pure(operation: Operation) -> bool:
    """Whether an operation only computes scalars from others and cannot fail."""
    if getattr(operation, "site", None) is not None:
        return False
    if isinstance(operation, typed.If | typed.For | typed.While):
        return all(pure(inner) for region in operation.regions for inner in region.operations)
    return isinstance(operation, _PURE)


class Uniformity:
    """Which values of a body differ from thread to thread, or may.

    `apart`: branches and loops that sub-groups go through on their own: threads wait in them, but for their sub-group only, and
    what decides differs. `led`: loops that threads are led through though nothing asks for it, with their guards.
    """

    def __init__(self, body: Region, led: Mapping[Operation, Value | None] = MappingProxyType({})) -> None:
        self.varying: set[Value] = set(body.parameters)
        self.apart: set[Operation] = set()
        self.led = led
        self._guarded = 0
        self._region(body)

    def _region(self, region: Region) -> None:
        for operation in region.operations:
            self._operation(operation)

    def hoisted(self, operation: Operation) -> bool:
        """Whether the block does an operation, once."""
        return self._uniform(operation) and self.varying.isdisjoint(operation.results)

    def _uniform(self, operation: Operation) -> bool:
        view = isinstance(operation, typed.View) and operation.site is None
        return (view or pure(operation)) and self.varying.isdisjoint(used(operation))

    def _operation(self, operation: Operation) -> None:
        if not waits(operation) and operation not in self.led:
            if not self._uniform(operation) or (self._guarded and _risky(operation)):
                self.varying.update(operation.results)
            return
        match operation:
            case typed.If():
                self._branch(operation)
            case typed.For(body=body):
                yields = body.yields[1:] if operation.stops else body.yields
                ends = (operation.extent.lower, operation.extent.upper, operation.extent.step)
                self._loop(operation, (body,), body.parameters[1:], yields, ends)
            case typed.While(condition=condition, body=body):
                yields = body.yields[1:] if operation.stops else body.yields
                self._loop(operation, (condition, body), condition.parameters, yields, condition.yields)
            case _:
                self.varying.update(operation.results)

    def _branch(self, operation: typed.If) -> None:
        apart = operation.condition in self.varying and not _of_block(operation)
        self._guarded += apart
        self._region(operation.then)
        self._region(operation.orelse)
        self._guarded -= apart
        if apart:
            self.apart.add(operation)
            self.varying.update(operation.results)
        for result, *arms in zip(operation.results, operation.then.yields, operation.orelse.yields, strict=True):
            if not self.varying.isdisjoint(arms):
                self.varying.add(result)

    def _loop(
        self,
        loop: typed.For | typed.While,
        regions: tuple[Region, ...],
        carried: tuple[Value, ...],
        yields: tuple[Value, ...],
        ends: tuple[Value, ...],
    ) -> None:
        """To a fixed point: what is carried is uniform if it begins so and stays so, and all threads leave together."""
        sources = list(zip(carried, loop.inits, yields, strict=True))
        alike = [loop.results, *(r.parameters[-len(carried) :] if carried else () for r in regions)]
        ends = (*ends, *(loop.body.yields[:1] if loop.stops else ()))
        while True:
            apart = loop in self.apart
            self._guarded += apart
            for region in regions:
                self._region(region)
            self._guarded -= apart
            found = {value for value, init, following in sources if {init, following} & self.varying}
            if loop in self.led:
                found = set(carried) if self.led[loop] is not None else found
            elif not self.varying.isdisjoint(ends) and not _of_block(loop):
                self.apart.add(loop)
                found = set(carried)
            if found <= self.varying and apart == (loop in self.apart):
                break
            for position, value in enumerate(carried):
                if value in found:
                    self.varying.update(names[position] for names in alike)


def _risky(operation: Operation) -> bool:
    """Whether an operation divides integers or may never end: not to be done where nobody asked for it."""
    if isinstance(operation, typed.For | typed.While):
        return True
    if isinstance(operation, typed.Binary) and operation.operator in ("floordiv", "mod"):
        return operation.left.scalar.is_integer
    return any(_risky(inner) for region in operation.regions for inner in region.operations)


def _of_block(operation: Operation) -> bool:
    """Whether all threads of the block wait for each other in an operation."""
    if isinstance(operation, typed.Sync):
        return True
    return any(_of_block(inner) for region in operation.regions for inner in region.operations)


def counted_as_while(region: Region, loops: set[Operation]) -> Region:
    """A region in which these counted loops are `while` loops that carry their index."""
    operations: list[Operation] = []
    for operation in region.operations:
        match operation:
            case typed.If(then=then, orelse=orelse):
                then, orelse = counted_as_while(then, loops), counted_as_while(orelse, loops)
                operations.append(replace(operation, then=then, orelse=orelse))
            case typed.While(condition=condition, body=body):
                condition, body = counted_as_while(condition, loops), counted_as_while(body, loops)
                operations.append(replace(operation, condition=condition, body=body))
            case typed.For(body=body) if operation in loops:
                operations += _as_while(replace(operation, body=counted_as_while(body, loops)))
            case typed.For(body=body):
                operations.append(replace(operation, body=counted_as_while(body, loops)))
            case _:
                operations.append(operation)
    return Region(region.parameters, tuple(operations), region.yields)


def _as_while(loop: typed.For) -> list[Operation]:
    """The loop ends after an iteration whose index is the last one, so that the index does not wrap."""
    span, extent = loop.span, loop.extent
    before = OperationWriter(span)
    upper, step, lower = (before.cast(value, INDEX) for value in (extent.upper, extent.step, extent.lower))
    upward, downward = before.binary("gt", step, before.index(0)), before.binary("lt", step, before.index(0))
    if loop.site is not None:  # a step of zero is a fault, and no iteration
        before.operations.append(typed.For(span, (), extent, (), Region((Value(INDEX, span),), (), ()), False, loop.site))
    index, results = loop.body.parameters[0], tuple(Value(r.type, r.span, r.name) for r in loop.inits)

    def before_end(writer: OperationWriter, value: Value, end: Value) -> Value:
        """Whether an index lies before an end, in the direction of the step."""
        up = writer.binary("and", writer.binary("lt", value, end), upward)
        down = writer.binary("and", writer.binary("gt", value, end), downward)
        return writer.binary("or", up, down)

    test = OperationWriter(span)
    tested = Value(INDEX, span, index.name)
    inside = before_end(test, tested, upper)
    condition = Region((tested, *results), tuple(test.operations), (inside,))
    after = OperationWriter(span)
    more = before_end(after, index, after.binary("sub", upper, step))
    stop = after.not_(more)
    yields = loop.body.yields
    if loop.stops:
        stop, yields = after.binary("or", stop, yields[0]), yields[1:]
    following = after.binary("add", index, step)
    body = Region(loop.body.parameters, (*loop.body.operations, *after.operations), (stop, following, *yields))
    last = Value(INDEX, span)
    made = typed.While(span, (last, *loop.results), (lower, *loop.inits), condition, body, True)
    return [*before.operations, made]


class Cutter:
    """Cuts regions at barriers."""

    def __init__(self, uniformity: Uniformity) -> None:
        self._uniformity = uniformity

    def cut(self, region: Region) -> Sequence:
        """A region as pieces."""
        items: list[Item] = [Piece()]
        for operation in region.operations:
            piece = items[-1]
            assert isinstance(piece, Piece)
            if not waits(operation) and operation not in self._uniformity.led:
                if self._uniformity.hoisted(operation):
                    items.insert(-1, Hoisted(operation))
                else:
                    piece.operations.append(operation)
                continue
            match operation:
                case typed.If(then=then, orelse=orelse):
                    items.append(Branch(operation, self.cut(then), self.cut(orelse)))
                case typed.For(body=body):
                    items.append(Loop(operation, None, self.cut(body), guard=self._uniformity.led.get(operation)))
                case typed.While(condition=condition, body=body):
                    alive = Value(BOOL_, operation.span) if operation in self._uniformity.apart else None
                    items.append(Loop(operation, self.cut(condition), self.cut(body), alive))
                case typed.Subgroup() if operation.operator != "sync":
                    items.append(Exchange(operation))
                case _:
                    pass
            items.append(Piece())
        return Sequence(items, region.yields)
