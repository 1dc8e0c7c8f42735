"""What the sizes and numbers of a call make of a plan: iterations, work, chunks.

Does: evaluate values of the host level as far as they follow from the arguments.
Does not: run anything; what an array holds, or a loop carries, is not known.
Invariants: None stands for what is not known; a number is what the compiled code would compute, wrapping aside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from math import prod

from lend.diagnostics.records import dataclass
from lend.ir import typed
from lend.ir.typed import Kernel, Operation, Parallel, Region, Value
from lend.plan.cost import LARGEST, ArraySize, Bound, Trips, Work
from lend.plan.regions import DeviceRegion

OPERATORS: Mapping[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b if b else 0,
    "mod": lambda a, b: a % b if b else 0,
    "min": min,
    "max": max,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


@dataclass(frozen=True)
class Given:
    """What a call says: integers by their values, and the shapes of arrays."""

    numbers: Mapping[Value, int] = field(default_factory=dict[Value, int])
    shapes: Mapping[Value, tuple[int, ...]] = field(default_factory=dict[Value, tuple[int, ...]])


class Sizes:
    """The host level of one kernel for one call, or for none."""

    def __init__(self, kernel: Kernel, given: Given) -> None:
        self._given = given
        self._made: dict[Value, Operation] = {}
        self._same: dict[Value, Value] = {}
        self._collect(kernel.body)

    def _collect(self, region: Region) -> None:
        for operation in region.operations:
            self._made.update(dict.fromkeys(operation.results, operation))
            if isinstance(operation, typed.Call):
                self._same.update(zip(operation.body.parameters, operation.arguments, strict=True))
                self._same.update(zip(operation.results, operation.body.yields, strict=True))
            if not isinstance(operation, Parallel):
                for inner in operation.regions:
                    self._collect(inner)

    def of(self, value: Value) -> int | None:
        """An integer or a truth value."""
        if value in self._given.numbers:
            return self._given.numbers[value]
        if value in self._same:
            return self.of(self._same[value])
        match self._made.get(value):
            case typed.Constant(value=int(number)):
                return number
            case typed.Cast(operand=operand) if value.scalar.is_integer and operand.scalar.is_integer:
                return self.of(operand)
            case typed.Unary(operator="neg" | "not" as operator, operand=operand):
                number = self.of(operand)
                return None if number is None else -number if operator == "neg" else not number
            case typed.Binary(operator=operator, left=left, right=right) if operator in OPERATORS:
                a, b = self.of(left), self.of(right)
                return None if a is None or b is None else OPERATORS[operator](a, b)
            case typed.Size(array=array, dimension=dimension):
                shape = self.shape(array)
                return None if shape is None else shape[dimension]
            case typed.If(results=results, condition=condition, then=then, orelse=orelse):
                holds = self.of(condition)
                taken = then if holds else orelse
                return None if holds is None else self.of(taken.yields[results.index(value)])
            case _:
                return None

    def shape(self, array: Value) -> tuple[int | None, ...] | None:
        """The sizes of an array; None for one that is made in the kernel in other ways than as a temporary."""
        if array in self._given.shapes:
            return self._given.shapes[array]
        if array in self._same:
            return self.shape(self._same[array])
        made = self._made.get(array)
        return tuple(map(self.of, made.sizes)) if isinstance(made, typed.Allocate) else None

    def extents(self, parallel: Parallel) -> list[int | None]:
        """The trip counts of a box."""
        return [self._trips(self.of(e.lower), self.of(e.upper), self.of(e.step)) for e in parallel.box]

    def iterations(self, parallel: Parallel) -> int | None:
        """The iterations of a box."""
        counts = self.extents(parallel)
        return prod(count for count in counts if count is not None) if None not in counts else None

    def loop(self, operation: typed.For | typed.While) -> int | None:
        """The steps of a sequential loop, if it has no `break`."""
        if isinstance(operation, typed.While) or operation.stops:
            return None
        extent = operation.extent
        return self._trips(self.of(extent.lower), self.of(extent.upper), self.of(extent.step))

    def _trips(self, lower: int | None, upper: int | None, step: int | None) -> int | None:
        if lower is None or upper is None or not step:
            return None
        return max(0, -((lower - upper) // step) if step > 0 else -((upper - lower) // -step))

    def cost(self, work: Work, unknown: int | None = None) -> int | None:
        """The operations of an iteration, loops of unknown length counted as `unknown`, if that is given."""
        total = work.operations
        for trips, body in work.loops:
            steps, each = self._bounded(trips), self.cost(body, unknown)
            steps = unknown if steps is None else steps
            if steps is None or each is None:
                return None
            total = min(total + min(steps, LARGEST) * each, LARGEST)
        return total

    def _bounded(self, trips: Trips) -> int | None:
        count = self._trips(self._bound(trips.lower), self._bound(trips.upper), trips.step)
        return None if count is None else count // trips.divisor

    def _bound(self, bound: Bound) -> int | None:
        if isinstance(bound, ArraySize):
            shape = self.shape(bound.array)
            return None if shape is None else shape[bound.dimension]
        return self.of(bound) if isinstance(bound, Value) else bound

    def pieces(self, region: DeviceRegion) -> int | None:
        """The chunks of a launch."""
        counts, cost = self.extents(region.parallel), self.cost(region.work)
        known = [count for count in counts if count is not None]
        if cost is None or len(known) < len(counts):
            return None
        iterations = prod(known)
        if not iterations:
            return 0
        chunk, tiling = region.chunk(iterations, cost), region.tiling
        if tiling is not None and not tiling.by_row:
            iterations = prod(-(-count // extent) for count, extent in zip(known, tiling.extents, strict=True))
            chunk = -(-chunk // tiling.volume)
        return -(-iterations // chunk)
