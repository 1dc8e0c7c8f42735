"""Which iterations of a parallel loop run together: vectors of lanes, several side by side, rows jammed into one tile.

Does: choose, from how subscripts vary, the dimension that vectors lie along, their width, and what makes a tile.
Does not: write code (`lower/tiles/`), or decide whether iterations are independent (`checks/`).
Invariants: only loops whose iterations are proved independent and which have no check left are tiled; a tile holds iterations of
the box and nothing else, and within each iteration operations keep their order; so no choice here changes a result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum, auto
from math import prod

from lend.diagnostics.records import dataclass
from lend.ir import typed
from lend.ir.typed import Load, Operation, Parallel, Region, Store, Value
from lend.language.reduction import LANES
from lend.language.types import BF16, F16, ArrayType, Layout, ScalarType
from lend.plan.variation import Variation, Variations

GAIN = 0.9
"""A tiling is used if it costs less than this share of doing one iteration after the other."""
LOOP_TRIPS = 32
WHILE_TRIPS = 16
TILE_COST = 2.0
GATHER, STRIDED = 3.0, 1.75
"""What an element of a vector costs that is read or written by itself: anywhere, or at even distances."""
MASKED = 6.0
"""The same under a mask, where each is a branch."""
MOST_PLACES = 32
LARGEST_TILE = 160
"""Instructions in the text of a tile, at most, where there is a choice."""
MOST_BRANCHES = 128
"""In a body: lanes go through all of them, each with a mask, and code for that takes ten times as long to compile."""


@dataclass(frozen=True)
class Tiling:
    """Iterations that run together, per dimension of the box.

    `vector`: the dimension that lanes lie along; `lanes`: iterations in a vector (1: no vectors, iterations only jammed);
    `vectors`: vectors side by side; `jam`: per dimension, rows of a tile (1 for `vector`); `order`: dimensions, outermost loop
    over tiles first.
    """

    vector: int
    lanes: int
    vectors: int
    jam: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def extents(self) -> tuple[int, ...]:
        """Iterations of a tile in each dimension."""
        return tuple(self.lanes * self.vectors if d == self.vector else rows for d, rows in enumerate(self.jam))

    @property
    def volume(self) -> int:
        """Iterations of a tile."""
        return prod(self.extents)

    @property
    def by_row(self) -> bool:
        """Whether a tile lies in one run along the last dimension, so that any run of iterations can be cut into tiles."""
        return self.vector == len(self.jam) - 1 and prod(self.jam) == 1 and self.order == tuple(range(len(self.jam)))


class Obstacle(Enum):
    """What keeps a loop from being tiled."""

    PROMISE = auto()  # its iterations are independent only by the word of `lend.unchecked`
    FALLBACK = auto()  # it is the version for launches that fail a condition
    CHECK = auto()  # an operation keeps its test
    COMPLEX = auto()
    LOCAL = auto()  # a private array
    LOOP_STEP = auto()  # a loop inside has a step that is no constant
    GRID_STEP = auto()  # the box has
    VIEW = auto()  # a view that moves from iteration to iteration
    ARRAYS = auto()  # a loop or a branch gives arrays
    COST = auto()  # nothing costs less than one iteration after the other
    NONE_FITS = auto()  # no tiling can be written, or only ones with too much text


@dataclass(frozen=True, eq=False)
class Untiled:
    """Why a loop is left to the code generator's own vectoriser; `at`: for what; `best`: the tiling that came nearest."""

    obstacle: Obstacle
    at: Operation | None = None
    best: Tiling | None = None


class Pattern(Enum):
    """How the lanes of a vector access memory."""

    SHARED = auto()  # one element for all
    NEIGHBOURS = auto()
    TURNED = auto()  # at even distances, so the launch makes a copy in which they are neighbours
    STRIDED = auto()  # at even distances
    GATHERED = auto()  # anywhere


def choose_tiling(parallel: Parallel, variations: Variations, vector_bytes: int, by_row: bool = False) -> Tiling | Untiled:
    """The tiling of a loop, or why there is none. `by_row`: only one along rows."""
    refused = refusal(parallel, variations)
    if refused is not None:
        return refused
    estimate = Estimate(parallel, variations, vector_bytes, turning=not by_row)
    best: tuple[float, Tiling] | None = None
    for tiling in _candidates(parallel, variations, vector_bytes):
        cost = estimate.cost(tiling) if tiling.by_row or not by_row else None
        if cost is not None and (best is None or cost < best[0]):
            best = cost, tiling
    if best is None:
        if any(variations.constant(extent.step) is None for extent in parallel.box):
            return Untiled(Obstacle.GRID_STEP)
        view = _moving_view(parallel.body, variations)
        return Untiled(Obstacle.NONE_FITS) if view is None else Untiled(Obstacle.VIEW, view)
    plain = estimate.cost(Tiling(len(parallel.box) - 1, 1, 1, (1,) * len(parallel.box), tuple(range(len(parallel.box)))))
    return best[1] if plain is None or best[0] < GAIN * plain else Untiled(Obstacle.COST, None, best[1])


def refusal(parallel: Parallel, variations: Variations) -> Untiled | None:
    """Why a loop cannot be tiled in any way, if it cannot."""
    if parallel.fallback:
        return Untiled(Obstacle.FALLBACK)
    if not parallel.independent:
        return Untiled(Obstacle.PROMISE)
    if any(value.scalar.kind == "complex" for reduction in parallel.reductions for value in reduction.inits):
        return Untiled(Obstacle.COMPLEX)
    if sum(_branches(parallel.body)) > MOST_BRANCHES:
        return Untiled(Obstacle.NONE_FITS)
    return _unsupported(parallel.body, variations)


def _branches(region: Region) -> Iterator[int]:
    """One for each branch."""
    for operation in region.operations:
        if isinstance(operation, typed.If):
            yield 1
        for inner in operation.regions:
            yield from _branches(inner)


def _moving_view(region: Region, variations: Variations) -> Operation | None:
    """A view that is not the same for all iterations."""
    for operation in region.operations:
        if isinstance(operation, typed.View) and any(entry != 0 for entry in variations.of(operation.result)):
            return operation
        found = next((view for inner in operation.regions if (view := _moving_view(inner, variations)) is not None), None)
        if found is not None:
            return found
    return None


def _candidates(parallel: Parallel, variations: Variations, vector_bytes: int) -> Iterator[Tiling]:
    """Tilings worth looking at."""
    dimensions = len(parallel.box)
    size = _widest(parallel.body, variations)
    loops = _has_loop(parallel.body)
    for v in reversed(range(dimensions)):
        step = variations.constant(parallel.box[v].step)
        if step is None:
            continue
        if parallel.reductions:  # lanes of the tree lie along the last dimension
            lanes = max(vector_bytes // max(size, *(v.scalar.bytes for r in parallel.reductions for v in r.inits)), 1)
            if v == dimensions - 1 and 1 < lanes <= LANES:
                yield from (_tiling(dimensions, v, lanes, vectors, None, 1) for vectors in _halves(LANES // lanes))
            continue
        for lanes in dict.fromkeys((max(vector_bytes // size, 1), 1)):
            if lanes == 1 and (not loops or v != dimensions - 1):
                continue
            for vectors in (4, 3, 2, 1) if lanes > 1 else (8, 4, 2):
                yield _tiling(dimensions, v, lanes, vectors, None, 1)
                for d in reversed(range(dimensions)):  # of rows that cost the same, those that are nearer in memory
                    for rows in (2, 4, 6, 8):
                        if loops and d != v and lanes * vectors * rows <= MOST_PLACES * lanes:
                            yield _tiling(dimensions, v, lanes, vectors, d, rows)


def _halves(count: int) -> Iterator[int]:
    """`count`, half of it, … 1."""
    while count:
        yield count
        count //= 2


def _tiling(dimensions: int, v: int, lanes: int, vectors: int, d: int | None, rows: int) -> Tiling:
    jam = tuple(rows if d == k else 1 for k in range(dimensions))
    if d is None and v == dimensions - 1:
        order = tuple(range(dimensions))
    else:  # panels along the vector dimension, within which rows follow each other: what a panel reads stays near
        order = (v, *(k for k in range(dimensions) if k not in (v, d)), *(() if d is None else (d,)))
    return Tiling(v, lanes, vectors, jam, order)


def panel_arrays(parallel: Parallel, variations: Variations, tiling: Tiling) -> tuple[Value, ...]:
    """The arrays whose reads all rows of a panel share: if they fit into a core's cache as they are, panels gain nothing.

    Without any, tiles follow each other along rows.
    """
    found: dict[Value, None] = {}

    def visit(region: Region) -> None:
        for operation in region.operations:
            if isinstance(operation, Load):
                entries = variations.of(operation.result)
                others = [entry for d, entry in enumerate(entries) if d != tiling.vector]
                if entries[tiling.vector] != 0 and all(entry == 0 for entry in others):
                    found[operation.array] = None
            for inner in operation.regions:
                visit(inner)

    visit(parallel.body)
    return tuple(found)


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
                chain = 4.0 * _depth(operation.condition.parameters, operation.body)
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
        chain = 4.0 * _depth(tuple(floats), operation.body)
        ends = self._variations.length(extent)
        masks = 2.0 * self._count(ends, tiling) if any(entry != 0 for entry in ends) else 0.0
        if masks and tiling.lanes > 1:
            masks += 1.0 * sum(self._count(self._variations.of(value), tiling) for value in carried)
        return _Cost(trips * (max(body.cost + spills + masks, chain) + 1.0) + 2, body.straight + 2)

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


def _widest(region: Region, variations: Variations) -> int:
    """The size in bytes of the widest values that differ from iteration to iteration: they fill the vectors."""
    sizes = [1]
    for operation in region.operations:
        match operation:
            case typed.Load(result=value) | typed.Store(value=value):
                sizes.append(value.scalar.bytes)
            case typed.Unary(result=value) | typed.Binary(result=value) | typed.Cast(result=value) | typed.Math(result=value):
                if None in variations.of(value):
                    sizes.append(2 * value.scalar.bytes if value.scalar in (F16, BF16) else value.scalar.bytes)
            case _:
                pass
        sizes += [_widest(inner, variations) for inner in operation.regions]
    return max(sizes)


def _has_loop(region: Region) -> bool:
    return any(
        isinstance(operation, typed.For | typed.While) or any(_has_loop(inner) for inner in operation.regions)
        for operation in region.operations
    )


def _unsupported(region: Region, variations: Variations) -> Untiled | None:
    """The first operation that cannot be written for packs, and why."""
    for operation in region.operations:
        if getattr(operation, "site", None) is not None:
            return Untiled(Obstacle.LOOP_STEP if isinstance(operation, typed.For) else Obstacle.CHECK, operation)
        match operation:
            case typed.Local():
                return Untiled(Obstacle.LOCAL, operation)
            case typed.Reshape() | typed.Allocate() | typed.Distinct() | typed.Require() | typed.Parallel():
                return Untiled(Obstacle.NONE_FITS, operation)
            case typed.For(extent=extent):
                if variations.constant(extent.step) in (None, 0):
                    return Untiled(Obstacle.LOOP_STEP, operation)
            case _:
                pass
        values = (*operation.results, *operation.operands)
        if any(isinstance(value.type, ScalarType) and value.type.kind == "complex" for value in values):
            return Untiled(Obstacle.COMPLEX, operation)
        loops = isinstance(operation, typed.If | typed.For | typed.While)
        if loops and any(not isinstance(value.type, ScalarType) for value in operation.results):
            return Untiled(Obstacle.ARRAYS, operation)
        for inner in operation.regions:
            found = _unsupported(inner, variations)
            if found is not None:
                return found
    return None
