"""Which branches and loops are followed by a barrier because they hold one.

Does: say of a branch or a loop inside `lend.threads` whether anybody but its threads can tell how often its barriers are met.
Does not: ask whether all threads agree: the run shows that.
Invariants: the rule is of the language (see `docs/sanitize.md`), read off the typed tree: a `while`, a loop that `break`s, and
branches and loops whose conditions and bounds are no linear arithmetic of constants, sizes, integer parameters and indices, are
followed by a barrier if they hold one. A `while` that counts from constants to constants is as plain as `range` is; what another
carries is data, in it and after it, and what a `range` carries is data if it changes by more than a constant each time.

Example: `if q[b] > 0: lend.sync()` is followed by one, `if b > 0: lend.sync()` is not.
"""

from __future__ import annotations

from collections.abc import Iterator

from lend.ir import typed
from lend.ir.typed import Operation, Region, Value

CONSTANT, LINEAR = 1, 2
"""What is known of a value: it is fixed when the kernel is compiled; it is linear arithmetic of what is."""

_SUMS = ("add", "sub", "min", "max", "and", "or", "eq", "ne", "lt", "le", "gt", "ge")
_FACTORS = ("mul", "floordiv", "mod", "shl", "shr")


class Opaque:
    """The branches and loops of one kernel."""

    def __init__(self, kernel: typed.Kernel) -> None:
        self.known: dict[Value, int] = dict.fromkeys(kernel.dims, LINEAR)
        for parameter in kernel.parameters:
            if not hasattr(parameter.value.type, "element"):
                self.set(parameter.value, LINEAR)
        if any(isinstance(operation, typed.Sync) for operation in _inside(kernel.body)):
            self.region(kernel.body)

    def followed(self, operation: typed.If | typed.For | typed.While) -> bool:
        """Whether a barrier follows if the operation holds one."""
        match operation:
            case typed.If():
                return not self.of(operation.condition)
            case typed.For():
                return operation.stops or not self.bounds(operation.extent)
            case typed.While():
                return operation.stops or self.of(operation.condition.yields[0]) != CONSTANT

    # ------------------------------------------------------------------------------------------------- what is known

    def of(self, value: Value) -> int:
        return self.known.get(value, 0)

    def set(self, value: Value, level: int) -> None:
        scalar = getattr(value.type, "kind", "")
        self.known[value] = level if scalar in ("int", "uint", "bool") else 0

    def region(self, region: Region) -> None:
        for operation in region.operations:
            self.operation(operation)

    def operation(self, operation: Operation) -> None:
        match operation:
            case typed.Constant():
                self.set(operation.result, CONSTANT)
            case typed.Size():
                self.set(operation.result, LINEAR)
            case typed.Cast() | typed.Unary():
                self.set(operation.result, self.of(operation.operand))
            case typed.Binary():
                self.set(operation.result, self.binary(operation))
            case typed.Call():
                for parameter, argument in zip(operation.body.parameters, operation.arguments, strict=True):
                    self.known[parameter] = self.of(argument)
                self.region(operation.body)
                for result, value in zip(operation.results, operation.body.yields, strict=True):
                    self.known[result] = self.of(value)
            case typed.If():
                self.region(operation.then)
                self.region(operation.orelse)
                for result, *arms in zip(operation.results, operation.then.yields, operation.orelse.yields, strict=True):
                    self.set(result, self.joined(operation.condition, *arms))
            case typed.For() | typed.While():
                self.loop(operation)
            case typed.Parallel() | typed.Blocks() | typed.Threads():
                indices = len(operation.sizes if isinstance(operation, typed.Threads) else operation.box)
                for parameter in operation.body.parameters[:indices]:
                    self.set(parameter, LINEAR)
                self.region(operation.body)
            case _:
                pass

    def joined(self, *values: Value) -> int:
        """What is known of something that comes of several."""
        levels = [self.of(value) for value in values]
        return max(levels) if all(levels) else 0

    def binary(self, operation: typed.Binary) -> int:
        level = self.joined(operation.left, operation.right)
        if operation.operator in _SUMS or level == CONSTANT:
            return level
        if operation.operator in _FACTORS and CONSTANT in (self.of(operation.right), self.of(operation.left)):
            return level
        return 0

    # ------------------------------------------------------------------------------------------------------- loops

    def loop(self, operation: typed.For | typed.While) -> None:
        """What a loop carries: all that is constant if it is known how often it runs, else what nothing but a count changes."""
        levels = [self.of(value) for value in operation.inits]
        plain = not operation.stops and not any(isinstance(o, typed.Shared | typed.Local) for o in _inside(operation.body))
        while plain:
            self.iteration(operation, levels, CONSTANT)
            if not self.constant(operation):
                break
            values = zip(levels, operation.body.yields, self.carried(operation), strict=True)
            after = [a if value is p or a == self.of(value) == CONSTANT else 0 for a, value, p in values]
            if after == levels:
                return self.leave(operation, levels)
            levels = after
        return self.changing(operation)

    def changing(self, operation: typed.For | typed.While) -> None:
        """A loop of which each iteration is one of many."""
        starts = [self.of(value) for value in operation.inits]
        moves = list(zip(operation.body.yields[int(operation.stops) :], self.carried(operation), strict=True))
        kept = [level if value is parameter else 0 for level, (value, parameter) in zip(starts, moves, strict=True)]
        self.iteration(operation, kept, LINEAR)
        if not isinstance(operation, typed.For) or operation.stops or self.of(operation.extent.step) != CONSTANT:
            return self.leave(operation, kept)
        made = {result: inner for inner in _inside(operation.body) for result in inner.results}
        counted = [
            level or (start and LINEAR if self.counts(value, parameter, made) else 0)
            for level, start, (value, parameter) in zip(kept, starts, moves, strict=True)
        ]
        self.iteration(operation, counted, LINEAR)
        return self.leave(operation, counted if self.joined(operation.extent.lower, operation.extent.upper) else kept)

    def counts(self, value: Value, start: Value, made: dict[Value, Operation]) -> bool:
        """Whether a value is `start` and constants added to it."""
        operation = made.get(value)
        if value is start or not isinstance(operation, typed.Binary | typed.Cast):
            return value is start
        if isinstance(operation, typed.Cast):
            return self.counts(operation.operand, start, made)
        left, right = operation.left, operation.right
        if operation.operator == "add" and self.of(left) == CONSTANT:
            left, right = right, left
        return operation.operator in ("add", "sub") and self.of(right) == CONSTANT and self.counts(left, start, made)

    def carried(self, operation: typed.For | typed.While) -> tuple[Value, ...]:
        """What it carries, as an iteration has it."""
        return operation.body.parameters[int(isinstance(operation, typed.For)) :]

    def constant(self, operation: typed.For | typed.While) -> bool:
        """Whether it runs a number of times that is fixed when the kernel is compiled."""
        if isinstance(operation, typed.While):
            return self.of(operation.condition.yields[0]) == CONSTANT
        return self.bounds(operation.extent) == CONSTANT

    def bounds(self, extent: typed.Extent) -> int:
        """What is known of how often a `range` counts."""
        return self.joined(extent.lower, extent.upper) if self.of(extent.step) == CONSTANT else 0

    def iteration(self, operation: typed.For | typed.While, levels: list[int], index: int) -> None:
        """An iteration, if so much is known of what is carried and, at most, of an index."""
        for parameter, level in zip(self.carried(operation), levels, strict=True):
            self.set(parameter, level)
        if isinstance(operation, typed.While):
            for parameter, level in zip(operation.condition.parameters, levels, strict=True):
                self.set(parameter, level)
            self.region(operation.condition)
        else:
            known = self.of(operation.extent.step) == CONSTANT and self.of(operation.extent.lower)
            level = index if self.bounds(operation.extent) == CONSTANT else LINEAR
            self.set(operation.body.parameters[0], level if known else 0)
        self.region(operation.body)

    def leave(self, operation: typed.For | typed.While, levels: list[int]) -> None:
        """After the loop."""
        for result, level in zip(operation.results, levels, strict=True):
            self.set(result, level)


def _inside(region: Region) -> Iterator[Operation]:
    """All operations in a region."""
    for operation in region.operations:
        yield operation
        for inner in operation.regions:
            yield from _inside(inner)
