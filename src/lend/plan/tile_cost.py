"""What a tiling costs: instructions of a tile, weighed by how often loops inside run, for each iteration of the box.

Does: estimate it from how values and subscripts vary.  Does not: choose (`tiling.py`).
Invariants: an estimate depends on the loop and the width of vectors only, never on sizes or on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto
from typing import TYPE_CHECKING

from lend.diagnostics.records import dataclass
from lend.ir import typed
from lend.ir.typed import Load, Operation, Parallel, Region, Store, Value
from lend.language.reduction import LANES
from lend.language.types import ArrayType, Layout, ScalarType
from lend.plan.variation import Variation, Variations

if TYPE_CHECKING:
    from lend.plan.tiling import Tiling

LOOP_TRIPS = 32
WHILE_TRIPS = 16
TILE_COST = 2.0
GATHER, STRIDED = 3.0, 1.75
"""What an element of a vector costs that is read or written by itself: anywhere, or at even distances."""
MASKED = 6.0
"""The same under a mask."""
LARGEST_TILE = 160
"""Instructions in the text of a tile, at most, where there is a choice."""


class Pattern(Enum):
    """How the lanes of a vector access memory."""

    SHARED = auto()  # one element for all
    NEIGHBOURS = auto()
    TURNED = auto()  # at even distances, so the launch makes a copy in which they are neighbours
    STRIDED = auto()  # at even distances
    GATHERED = auto()  # anywhere


def turned_arrays(parallel: Parallel, variations: Variations, vector: int) -> dict[Value, int]:
    """Arrays to copy before a launch so that lanes along `vector` find elements side by side, and the dimension that comes last.

    That pays where rows share what a loop inside reads of them: `b[j, k]` in a loop over k, for all i of a grid over i and j.
    """
    if parallel.reductions:
        return {}
    found: dict[Value, int | None] = {}
    made: set[Value] = set()
    loops: set[Value] = set()

    def look(operation: Load) -> int | None:
        type = operation.array.array
        entries = [variations.of(index)[vector] for index in operation.indices]
        shared = any(entry == 0 for d, entry in enumerate(variations.of(operation.result)) if d != vector)
        moving = [d for d, entry in enumerate(entries) if entry != 0]
        plain = type.layout is Layout.C and isinstance(type.element, ScalarType) and not operation.path
        if not plain or not shared or len(moving) != 1 or entries[moving[0]] != 1 or moving[0] == type.dimensions - 1:
            return None
        others = (index for d, index in enumerate(operation.indices) if d != moving[0])
        return moving[0] if all(index in loops for index in others) else None

    def visit(region: Region) -> None:
        for operation in region.operations:
            made.update(operation.results)
            if isinstance(operation, typed.For):
                loops.add(operation.body.parameters[0])
            if isinstance(operation, Load):
                turn = look(operation)
                if found.setdefault(operation.array, turn) != turn:
                    found[operation.array] = None
            elif any(isinstance(operand.type, ArrayType) for operand in operation.operands):
                found.update(dict.fromkeys(o for o in operation.operands if isinstance(o.type, ArrayType)))
            for inner in operation.regions:
                visit(inner)

    visit(parallel.body)
    return {array: turn for array, turn in found.items() if turn is not None and array not in made}


class Estimate:
    """What a tile costs, in instructions, weighed by how often loops inside run; per iteration of the box."""

    def __init__(self, parallel: Parallel, variations: Variations, vector_bytes: int, turning: bool = True) -> None:
        self._parallel = parallel
        self._variations = variations
        self._vector_bytes = vector_bytes
        self._turning = turning
        self._turns: dict[int, dict[Value, int]] = {}
        self._masks = 0  # branches and loops around that iterations of a vector leave one by one
        self._registers = 30 if vector_bytes >= 64 else 14
        self._depths: dict[Operation, int] = {}

    def cost(self, tiling: Tiling) -> float | None:
        """The cost of an iteration; None if this tiling cannot be written."""
        if tiling.lanes == 1 and tiling.volume > 1 and self._diverges(self._parallel.body, tiling):
            return None
        total = self._region(self._parallel.body, tiling)
        if total is not None and self._parallel.reductions:
            held = tiling.lanes * tiling.vectors == LANES
            each = len(self._parallel.reductions) * tiling.vectors * (1.0 if held or tiling.volume == 1 else 3.0)
            total = _Cost(total.cost + each, total.straight + each)
        if total is None or (total.straight > LARGEST_TILE and tiling.volume > tiling.lanes):
            return None
        return (total.cost + TILE_COST) / tiling.volume * (1 + 0.002 * total.straight / 16)

    def _region(self, region: Region, tiling: Tiling) -> _Cost | None:
        cost, straight = 0.0, 0.0
        for operation in region.operations:
            found = self._operation(operation, tiling)
            if found is None:
                return None
            cost += found.cost
            straight += found.straight
            if straight > LARGEST_TILE and tiling.volume > tiling.lanes:
                return None
        return _Cost(cost, straight)

    def _operation(self, operation: Operation, tiling: Tiling) -> _Cost | None:
        masked = tiling.lanes > 1 and self._ends(operation)[tiling.vector] != 0
        self._masks += masked
        found = self._cost_of(operation, tiling)
        self._masks -= masked
        return found

    def _ends(self, operation: Operation) -> Variation:
        """Along what iterations may go different ways at an operation."""
        match operation:
            case typed.If(condition=condition):
                return self._variations.of(condition)
            case typed.For():
                return self._variations.ends(operation)
            case typed.While(condition=condition, body=body, stops=stops):
                return self._variations.along((*condition.yields, *(body.yields[:1] if stops else ())))
            case _:
                return (0,) * len(self._parallel.box)

    def _cost_of(self, operation: Operation, tiling: Tiling) -> _Cost | None:
        match operation:
            case typed.View(result=result) if tiling.lanes > 1 and self._variations.of(result)[tiling.vector] != 0:
                return None  # a view that moves with the lanes
            case typed.Constant() | typed.Size() | typed.View():
                return _Cost(0, 0)
            case typed.Load():
                return self._access(operation, operation.result, self._variations.of(operation.result), tiling)
            case typed.Store():
                return self._access(operation, operation.value, None, tiling)
            case typed.Unary() | typed.Binary() | typed.Cast() | typed.Math():
                return self._arithmetic(operation, tiling)
            case typed.For():
                return self._for(operation, tiling)
            case typed.While():
                parts = [self._region(inner, tiling) for inner in operation.regions]
                if any(part is None for part in parts):
                    return None
                body = sum(part.cost for part in parts if part is not None)
                chain = 4.0 * self._chain(operation, operation.condition.parameters, operation.body)
                straight = sum(part.straight for part in parts if part is not None)
                # about as much again as is carried lives through the loop: what it compares with, masks
                spills = 3.0 * max(0, 2 * self._held(operation.condition.parameters, tiling) - self._registers)
                return _Cost(WHILE_TRIPS * (max(body + spills, chain) + 2), straight)
            case _:
                parts = [self._region(inner, tiling) for inner in operation.regions]
                if any(part is None for part in parts):
                    return None
                return _Cost(
                    sum(part.cost for part in parts if part is not None) + 1,
                    sum(part.straight for part in parts if part is not None) + 1,
                )

    def _count(self, variation: Variation, tiling: Tiling) -> int:
        """How many operands a value with this variation has in a tile."""
        count = 1
        for d, entry in enumerate(variation):
            if entry != 0:
                count *= tiling.vectors if d == tiling.vector else tiling.jam[d]
        return count

    def _vector(self, variation: Variation, tiling: Tiling) -> bool:
        return tiling.lanes > 1 and variation[tiling.vector] is None

    def _pieces(self, bytes: int, tiling: Tiling) -> int:
        """Registers of a vector."""
        return max(1, -(-tiling.lanes * bytes // self._vector_bytes))

    def _access(self, operation: Load | Store, value: Value, shared: Variation | None, tiling: Tiling) -> _Cost | None:
        bytes = value.scalar.bytes
        if shared is not None and not self._vector(shared, tiling):
            count = self._count(shared, tiling)
            return _Cost(0.5 * count, count)
        every = tuple(None for _ in tiling.jam)
        count = self._count(every if shared is None else shared, tiling)
        if tiling.lanes == 1:
            return _Cost(0.5 * count if shared is not None else 1.0 * count, count)  # a read is an operand of what uses it
        pattern = self.pattern(operation, tiling)
        if pattern in (Pattern.NEIGHBOURS, Pattern.TURNED):
            return _Cost(1.1 * count * self._pieces(bytes, tiling), count)
        each = MASKED if self._masks else GATHER if pattern is Pattern.GATHERED else STRIDED
        return _Cost(float(count * (each * tiling.lanes + 1)), count * tiling.lanes)

    def pattern(self, operation: Load | Store, tiling: Tiling) -> Pattern:
        """How lanes access an array."""
        if isinstance(operation, Load) and not self._vector(self._variations.of(operation.result), tiling):
            return Pattern.SHARED
        if self._neighbours(operation, tiling):
            return Pattern.NEIGHBOURS
        if operation.array in self._turned(tiling.vector):
            return Pattern.TURNED
        entries = [self._variations.of(index)[tiling.vector] for index in operation.indices]
        return Pattern.GATHERED if None in entries else Pattern.STRIDED

    def _turned(self, vector: int) -> dict[Value, int]:
        if vector not in self._turns:
            self._turns[vector] = turned_arrays(self._parallel, self._variations, vector) if self._turning else {}
        return self._turns[vector]

    def _neighbours(self, operation: Load | Store, tiling: Tiling) -> bool:
        """Whether lanes access neighbouring elements."""
        type = operation.array.array
        if operation.path or type.layout not in (Layout.C, Layout.F):
            return False
        unit = type.dimensions - 1 if type.layout is Layout.C else 0
        entries = [self._variations.of(index)[tiling.vector] for index in operation.indices]
        return all(entry in (1, -1) if d == unit else entry == 0 for d, entry in enumerate(entries))

    def _arithmetic(self, operation: typed.Unary | typed.Binary | typed.Cast | typed.Math, tiling: Tiling) -> _Cost:
        variation = self._variations.of(operation.result)
        count = self._count(variation, tiling)
        wide = self._vector(variation, tiling)
        type = operation.operands[0].scalar
        pieces = self._pieces(max(type.bytes, operation.result.scalar.bytes), tiling) if wide else 1
        each = 1.0
        if isinstance(operation, typed.Math) and operation.function == "exp":
            return _Cost(14.0 * count * pieces, 20 * count * pieces)  # written in place
        if isinstance(operation, typed.Math) and operation.function.startswith("as_"):
            return _Cost(0.0, 0)  # the same bits in another register
        if isinstance(operation, typed.Math):
            each = 16.0 if operation.function == "sqrt" else 2.0 if operation.function in ("floor", "fma", "trunc") else 30.0
        elif isinstance(operation, typed.Binary) and operation.operator in ("floordiv", "mod", "div", "pow"):
            if type.is_float:
                each = 40.0 if operation.operator == "pow" else 12.0 if wide else 5.0
            else:
                each = 12.0 * tiling.lanes if wide else 12.0
        elif isinstance(operation, typed.Binary) and type.is_float and operation.operator in ("add", "sub", "mul"):
            each = 0.5  # two of them are one instruction, or run side by side
        elif isinstance(operation, typed.Cast) and type.is_integer and operation.result.scalar.is_integer:
            each = 0.5
        return _Cost(each * count * pieces, count * pieces * (tiling.lanes if each > 100 else 1))

    def _for(self, operation: typed.For, tiling: Tiling) -> _Cost | None:
        body = self._region(operation.body, tiling)
        if body is None:
            return None
        extent = operation.extent
        bounds = [self._variations.constant(value) for value in (extent.lower, extent.upper, extent.step)]
        trips = LOOP_TRIPS
        if None not in bounds and bounds[2] != 0:
            trips = min(len(range(*[b for b in bounds if b is not None])), 64)
        carried = [value for value in operation.body.parameters[1:] if isinstance(value.type, ScalarType)]
        floats = [value for value in carried if value.scalar.is_float]
        used = self._held(carried, tiling) + _most_loaded(operation.body, self, tiling)
        spills = 3.0 * max(0, used - self._registers)
        chain = 4.0 * self._chain(operation, tuple(floats), operation.body)
        ends = self._variations.length(extent)
        masks = 2.0 * self._count(ends, tiling) if any(entry != 0 for entry in ends) else 0.0
        if masks and tiling.lanes > 1:
            masks += 1.0 * sum(self._count(self._variations.of(value), tiling) for value in carried)
        return _Cost(trips * (max(body.cost + spills + masks, chain) + 1.0) + 2, body.straight + 2)

    def _chain(self, loop: Operation, carried: tuple[Value, ...], body: Region) -> int:
        if loop not in self._depths:
            self._depths[loop] = _depth(carried, body)
        return self._depths[loop]

    def _held(self, carried: Iterable[Value], tiling: Tiling) -> int:
        """The registers that hold what a loop carries."""
        return sum(
            self._count(self._variations.of(value), tiling)
            * (self._pieces(value.scalar.bytes, tiling) if self._vector(self._variations.of(value), tiling) else 1)
            for value in carried
        )

    def _diverges(self, region: Region, tiling: Tiling) -> bool:
        """Whether iterations of a tile may take different ways."""
        for operation in region.operations:
            ends = self._ends(operation)
            if self._count(ends, tiling) > 1:
                return True
            if any(self._diverges(inner, tiling) for inner in operation.regions):
                return True
        return False

    def loaded(self, operation: Load, tiling: Tiling) -> int:
        """The registers that the values of one read take."""
        variation = self._variations.of(operation.result)
        if not self._vector(variation, tiling):
            return 1
        rows = self._count(variation, tiling)
        return min(rows, tiling.vectors) * self._pieces(operation.result.scalar.bytes, tiling)


@dataclass(frozen=True)
class _Cost:
    """`cost`, and how many instructions stand in the text."""

    cost: float
    straight: float


def _most_loaded(region: Region, estimate: Estimate, tiling: Tiling) -> int:
    """Registers for what is read in a loop, roughly: the widest read, and one for another."""
    widths = [estimate.loaded(operation, tiling) for operation in region.operations if isinstance(operation, Load)]
    return max(widths, default=0) + 1


def _depth(carried: tuple[Value, ...], body: Region) -> int:
    """The longest chain of operations from what is carried to what goes round."""
    depth: dict[Value, int] = dict.fromkeys((*carried, *body.parameters), 0)

    def visit(region: Region) -> None:
        for operation in region.operations:
            for inner in operation.regions:
                visit(inner)
            longest = max((depth[value] for value in operation.operands if value in depth), default=None)
            if isinstance(operation, typed.If):
                for result, a, b in zip(operation.results, operation.then.yields, operation.orelse.yields, strict=True):
                    ways = [depth[value] for value in (a, b, operation.condition) if value in depth]
                    if ways:
                        depth[result] = max(ways) + 1
            elif longest is not None:
                for result in operation.results:
                    depth[result] = longest + (3 if isinstance(operation, typed.Math) else 1)

    visit(body)
    return max((depth.get(value, 0) for value in body.yields), default=0)
