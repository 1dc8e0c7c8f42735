"""How much work one iteration of a parallel loop is, roughly, in simple operations.

Does: count operations, loops weighted by their trip count, which may be a number that only the host level knows.
Does not: look at the machine, so that chunks are the same everywhere.
Invariants: an estimate depends on the program and its sizes, never on what the region computes.

Example: `y[i] += a * x[i]` costs 5 (two loads, a multiplication, an addition, a store); a row of a matrix-vector product costs
`2 + 5 per step of 0..K`.
"""

from __future__ import annotations

from dataclasses import field

from lend.diagnostics.records import dataclass
from lend.ir.typed import (
    Binary,
    Cast,
    Constant,
    Extent,
    For,
    If,
    Load,
    Local,
    Math,
    Operation,
    Parallel,
    Region,
    Size,
    Store,
    Unary,
    Value,
    While,
)

UNKNOWN_TRIPS = 16
"""What a loop of unknown length counts as."""
MATH_COST = 20
DIVISION_COST = 8
OPERATOR_COSTS = {"floordiv": DIVISION_COST, "mod": DIVISION_COST, "div": DIVISION_COST, "pow": MATH_COST}
LARGEST = 1 << 40
"""Estimates end here."""


@dataclass(frozen=True)
class ArraySize:
    """The size of a dimension of an array of the host level."""

    array: Value
    dimension: int

    def __str__(self) -> str:
        return f"{self.array.name or '_'}.shape[{self.dimension}]"


Bound = int | Value | ArraySize
"""A loop bound that the host level knows."""


@dataclass(frozen=True)
class Trips:
    """The trip count of `range(lower, upper, step)`, divided by `divisor`."""

    lower: Bound
    upper: Bound
    step: int
    divisor: int = 1

    def __str__(self) -> str:
        names = [bound.name or "_" if isinstance(bound, Value) else str(bound) for bound in (self.lower, self.upper)]
        return "..".join(names) + (f":{self.step}" if self.step != 1 else "") + (f" / {self.divisor}" if self.divisor > 1 else "")


@dataclass(frozen=True)
class Work:
    """`operations`, and for each of `loops` its trips times the work of its body."""

    operations: int
    loops: tuple[tuple[Trips, Work], ...] = ()

    def __add__(self, other: Work) -> Work:
        return Work(min(self.operations + other.operations, LARGEST), self.loops + other.loops)

    def times(self, count: int) -> Work:
        """This work `count` times."""
        return Work(min(self.operations * count, LARGEST), tuple((trips, work.times(count)) for trips, work in self.loops))

    def __str__(self) -> str:
        terms = [f"({work}) per step of {trips}" if work.loops else f"{work} per step of {trips}" for trips, work in self.loops]
        return " + ".join([str(self.operations), *terms])


@dataclass
class Known:
    """What is known of values: integers, sizes, and the host level's own (`host`, the captured ones)."""

    host: frozenset[Value]
    bounds: dict[Value, Bound] = field(default_factory=dict[Value, Bound])
    made: dict[Value, Binary] = field(default_factory=dict[Value, Binary])
    lengths: dict[Extent, int] = field(default_factory=dict[Extent, int])
    """Likely trip counts of ranges whose ends both move."""

    def bound(self, value: Value) -> Bound | None:
        """The value as a bound, if the host level knows it."""
        return self.bounds.get(value, value if value in self.host else None)


def work_of(region: Region, known: Known) -> Work:
    """The work of one run of `region`; at least 1."""
    work = _region(region, known)
    return work if work.operations else work + Work(1)


def _region(region: Region, known: Known) -> Work:
    total = Work(0)
    for operation in region.operations:
        total += _operation(operation, known)
    return total


def _operation(operation: Operation, known: Known) -> Work:
    match operation:
        case Constant(result=result, value=value):
            if isinstance(value, int):
                known.bounds[result] = int(value)
            return Work(0)
        case Cast(result=result, operand=operand):
            bound = known.bound(operand)
            if bound is not None and result.scalar.is_integer:
                known.bounds[result] = bound  # only used to weigh: a wrapped value would weigh a little wrong
            return Work(1)
        case Size(result=result, array=array, dimension=dimension):
            if array in known.host:
                known.bounds[result] = ArraySize(array, dimension)
            return Work(0)
        case Load() | Store() | Unary():
            return Work(1)
        case Binary(operator=operator):
            known.made[operation.result] = operation
            return Work(OPERATOR_COSTS.get(operator, 1))
        case Math(function=function) if function.startswith("as_"):
            return Work(0)
        case Math():
            return Work(MATH_COST)
        case Local():
            return Work(1 + (_elements(operation) // 8 if operation.zeroed else 0))
        case Parallel(box=box, body=body):
            return _box(box, _region(body, known), known)
        case If(then=then, orelse=orelse):
            first, second = _region(then, known), _region(orelse, known)
            return Work(1 + max(first.operations, second.operations), first.loops + second.loops)
        case For(extent=extent, body=body):
            return Work(1) + _loop(extent, Work(1) + _region(body, known), known)
        case While(condition=condition, body=body):
            return Work(1) + (_region(condition, known) + _region(body, known)).times(UNKNOWN_TRIPS)
        case _:
            total = Work(1)
            for inner in operation.regions:
                total += _region(inner, known)
            return total


def _box(box: tuple[Extent, ...], body: Work, known: Known) -> Work:
    """The work of a loop over the threads of a block, whose sizes are numbers."""
    for extent in box:
        upper = known.bounds.get(extent.upper)
        body = body.times(upper if isinstance(upper, int) else UNKNOWN_TRIPS)
    return Work(1) + body


def _loop(extent: Extent, body: Work, known: Known) -> Work:
    """The work of a loop. One that starts at an unknown place below a known end is taken to run half of the way."""
    lower, upper, step = (known.bound(value) for value in (extent.lower, extent.upper, extent.step))
    if isinstance(step, int) and step != 0:
        span = _span(extent, known)
        if span is not None:
            known.lengths[extent] = min(max(-(-span // abs(step)), 0), LARGEST)
            return body.times(known.lengths[extent])
    if upper is None or not isinstance(step, int) or step == 0:
        return body.times(UNKNOWN_TRIPS)
    if isinstance(lower, int) and isinstance(upper, int):
        return body.times(len(range(lower, upper, step)) if abs(upper - lower) < LARGEST else LARGEST)
    if lower is None:
        return Work(0, ((Trips(0, upper, abs(step), 2), body),))
    return Work(0, ((Trips(lower, upper, step), body),))


def _span(extent: Extent, known: Known) -> int | None:
    """How far apart the ends of a range are where both move together: `B * p` and `min(B * (p + 1), N)` are B apart."""
    if isinstance(known.bound(extent.lower), int):
        return None
    lower = _sum(extent.lower, known)
    upper = known.made.get(extent.upper)
    ends = [upper.left, upper.right] if upper is not None and upper.operator in ("min", "max") else [extent.upper]
    for end in ends:
        terms, number = _sum(end, known)
        if terms == lower[0]:
            return abs(number - lower[1])
    return None


def _sum(value: Value, known: Known, depth: int = 8) -> tuple[dict[Value, int], int]:
    """An integer as a sum of values times numbers, and a number."""
    number = known.bounds.get(value)
    if isinstance(number, int):
        return {}, number
    operation = known.made.get(value)
    if operation is None or depth == 0:
        return {value: 1}, 0
    left, right = (_sum(operand, known, depth - 1) for operand in (operation.left, operation.right))
    if operation.operator in ("add", "sub"):
        sign = 1 if operation.operator == "add" else -1
        terms = {v: left[0].get(v, 0) + sign * right[0].get(v, 0) for v in (*left[0], *right[0])}
        return {v: factor for v, factor in terms.items() if factor}, left[1] + sign * right[1]
    if operation.operator == "mul" and (not left[0] or not right[0]):
        factor, other = (left[1], right) if not left[0] else (right[1], left)
        return {v: k * factor for v, k in other[0].items() if k * factor}, other[1] * factor
    return {value: 1}, 0


def _elements(operation: Local) -> int:
    elements = 1
    for size in operation.sizes:
        elements *= size
    return elements
