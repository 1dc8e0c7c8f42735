"""Which values are the same in all threads of a block, and which branches and loops all of them take together.

Does: find the values of a `Threads` that may differ between its threads, and where each difference comes from.
Does not: look at numbers (`if t < 32` of a block of 32 threads is taken by all: `check_barriers.py` sees that).

Invariants: a value that is not found here is the same in all threads that compute it, in the same iteration of the loops around
it, as long as no other obligation has failed: a load at one address of an array is one value if nobody writes there at that time.
Thread indices, results of atomic and sub-group operations, private arrays, what a branch yields that threads do not take
together, and what leaves a loop that they leave at different times are never the same.
"""

from __future__ import annotations

from dataclasses import field

from lend.diagnostics.records import dataclass
from lend.diagnostics.spans import Span
from lend.ir import typed
from lend.ir.typed import Operation, Region, Value


@dataclass(frozen=True)
class Cause:
    """Why a value differs: in words that follow its name, and where."""

    text: str
    span: Span


@dataclass
class Divergence:
    """The values that may differ, and the branches and loops whose threads may part, by the identity of the operation."""

    values: dict[Value, Cause] = field(default_factory=dict[Value, Cause])
    controls: dict[int, Cause] = field(default_factory=dict[int, Cause])


def divergence(threads: typed.Threads, block: Region) -> Divergence:
    """What differs between the threads of a block, whose code is `block`."""
    walk = _Walk(_assumed(block))
    count = len(threads.sizes)
    for parameter in threads.body.parameters[:count]:
        walk.mark(parameter, Cause(f"`{parameter.name or 't'}` is the index of a thread", parameter.span))
    for parameter in threads.body.parameters[count:]:
        walk.mark(parameter, Cause("each thread adds to a reduction on its own", parameter.span))
    changed = True
    while changed:
        before = len(walk.found.values), len(walk.found.controls)
        walk.region(threads.body, None)
        changed = before != (len(walk.found.values), len(walk.found.controls))
    return walk.found


def _assumed(region: Region) -> bool:
    """Whether some access is not judged: then nothing is known of what loads find."""
    for operation in region.operations:
        if isinstance(operation, typed.Load | typed.Store | typed.Atomic) and operation.site is None:
            return True
        if any(map(_assumed, operation.regions)):
            return True
    return False


class _Walk:
    """One pass after the other, until no more is found."""

    def __init__(self, assumed: bool) -> None:
        self.found = Divergence()
        self.private: set[Value] = set()
        self.assumed = assumed

    def mark(self, value: Value, cause: Cause) -> None:
        """The value may differ; the first cause is kept."""
        self.found.values.setdefault(value, cause)

    def cause(self, *values: Value) -> Cause | None:
        """The first cause among values."""
        return next((self.found.values[v] for v in values if v in self.found.values), None)

    def copy(self, target: Value, source: Value) -> None:
        """What is a name for a value that differs differs."""
        if source in self.found.values:
            self.mark(target, self.found.values[source])
        if source in self.private:
            self.private.add(target)

    def region(self, region: Region, parted: Cause | None) -> None:
        """The operations of a region; `parted`: why threads may not all be there."""
        for operation in region.operations:
            self.operation(operation, parted)

    def operation(self, operation: Operation, parted: Cause | None) -> None:
        """One operation."""
        match operation:
            case typed.If():
                self.branch(operation, parted)
            case typed.For() | typed.While():
                self.loop(operation, parted)
            case typed.Call():
                for parameter, argument in zip(operation.body.parameters, operation.arguments, strict=True):
                    self.copy(parameter, argument)
                self.region(operation.body, parted)
                for result, value in zip(operation.results, operation.body.yields, strict=True):
                    self.copy(result, value)
            case typed.Local():
                self.private.add(operation.result)
            case typed.Atomic():
                cause = Cause(f"each thread finds another state of `{operation.array.name or 'the array'}`", operation.span)
                self.mark(operation.result, cause)
            case typed.Subgroup():
                for result in operation.results:
                    self.mark(result, Cause("it is a result of a sub-group", operation.span))
            case typed.Load():
                self.load(operation, parted)
            case _:
                self.plain(operation)

    def plain(self, operation: Operation) -> None:
        """What is computed from values that differ differs."""
        cause = self.cause(*operation.operands)
        for result in operation.results:
            if cause is not None:
                self.mark(result, cause)
            if isinstance(operation, typed.View) and operation.array in self.private:
                self.private.add(result)

    def load(self, operation: typed.Load, parted: Cause | None) -> None:
        """A load is one value for all if all load it together, from one place of memory that they share."""
        self.plain(operation)
        name = operation.array.name or "the array"
        if operation.array in self.private:
            self.mark(operation.result, Cause(f"each thread has its own `{name}`", operation.span))
        elif self.assumed:
            self.mark(operation.result, Cause(f"`{name}` may be written at any time: `lend.unchecked` says so", operation.span))
        elif parted is not None:
            self.mark(operation.result, parted)

    def branch(self, operation: typed.If, parted: Cause | None) -> None:
        """Both regions; what they yield, if threads part."""
        cause = self.cause(operation.condition)
        if cause is not None:
            self.found.controls.setdefault(id(operation), cause)
        for region in operation.regions:
            self.region(region, cause or parted)
        for result, a, b in zip(operation.results, operation.then.yields, operation.orelse.yields, strict=True):
            self.copy(result, a)
            self.copy(result, b)
            if cause is not None and a is not b:
                self.mark(result, cause)

    def loop(self, operation: typed.For | typed.While, parted: Cause | None) -> None:
        """What it carries, and what leaves it, which differs if threads leave it at different times."""
        carried = operation.body.parameters[1:] if isinstance(operation, typed.For) else operation.body.parameters
        yields = operation.body.yields[1:] if operation.stops else operation.body.yields
        sources: list[Value] = [operation.body.yields[0]] if operation.stops else []
        if isinstance(operation, typed.For):
            sources += [operation.extent.lower, operation.extent.upper, operation.extent.step]
            self.copy(operation.body.parameters[0], operation.extent.lower)
            self.copy(operation.body.parameters[0], operation.extent.step)
        else:
            sources.append(operation.condition.yields[0])
        cause = self.cause(*sources)
        if cause is not None:
            self.found.controls.setdefault(id(operation), cause)
        for position, (parameter, init, value) in enumerate(zip(carried, operation.inits, yields, strict=True)):
            self.copy(parameter, init)
            self.copy(parameter, value)
            self.copy(operation.results[position], parameter)
            if isinstance(operation, typed.While):
                self.copy(operation.condition.parameters[position], parameter)
            if cause is not None:
                name = operation.results[position].name
                what = f"`{name}` leaves a loop" if name else "it leaves a loop"
                self.mark(operation.results[position], Cause(f"{what} that threads leave at different times", operation.span))
        for region in operation.regions:
            self.region(region, cause or parted)
