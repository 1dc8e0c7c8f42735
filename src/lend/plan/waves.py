"""Loops of the host level whose steps may run in waves over rows, several at a time.

Does: find loops around parallel loops, give each parallel loop inside ("phase") coordinates, rows and columns, and bound how
far apart in them lie iterations of two phases that touch one element.
Does not: decide how many steps run at a time, or whether it pays (code does, when the loop begins: `lower/waves.py`).
Invariants: what runs between two phases neither reads nor writes what phases write, and cannot fail, or it is in `barriers`:
phases that are due run before it. Phases have no tests and no reductions, and their iterations are proved to be independent.

Why it matters: a row of step t + 1 needs rows of step t near it and no others. Rows of several steps that follow each other
closely find their data in the cache, where whole sweeps over large arrays go to memory each time. Each iteration runs once and
computes what it always does; only who waits for whom changes.

Example: `for t in range(steps)` around `v[i] = u[i - 1] + u[i + 1]` and `u[i] = v[i]`: rows are i, ahead and behind 1 row at
most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum, auto

from lend.diagnostics.records import dataclass
from lend.ir import typed
from lend.ir.typed import Kernel, Operation, Parallel, Region, Value
from lend.model.aliases import Aliases
from lend.model.build import build
from lend.model.linear import Linear
from lend.model.records import Model, RegionModel
from lend.plan.distances import Distance, Distances
from lend.schedule.innermost import integer_constants

FARTHEST = 64
"""Distances from here on are no neighbourhood."""
MOST_PHASES = 16

Sum = tuple[tuple[tuple[Value, int], ...], int]
"""Values of the host level with their factors, and a number."""


@dataclass(frozen=True)
class Coordinate:
    """Where an iteration lies along one axis: at its index in `dimension` of the box, or all of them at one place."""

    dimension: int | None
    place: Sum = ((), 0)


@dataclass(frozen=True, eq=False)
class Phase:
    """A parallel loop; where its iterations lie."""

    parallel: Parallel
    row: Coordinate
    column: Coordinate | None = None


@dataclass(frozen=True)
class Reach:
    """Along one axis, by phase and later phase: how far iterations that touch one element lie ahead of the later one, and behind.

    None: they never meet. `skew` and `lag`: by how much a phase is put behind, and how much a tile loses on its left, per step.
    """

    ahead: tuple[tuple[int | None, ...], ...]
    behind: tuple[tuple[int | None, ...], ...]

    @property
    def most(self) -> int:
        """The largest of these distances."""
        return max((x for line in (*self.ahead, *self.behind) for x in line if x is not None), default=0)

    @property
    def skew(self) -> int:
        """What one more step adds to the offset of a phase, at most."""
        return growth(self.ahead)

    @property
    def lag(self) -> int:
        """The same for what lies behind."""
        return growth(self.behind)


@dataclass(frozen=True, eq=False)
class Wave:
    """A loop whose phases may run in waves; `columns` where a second axis can be cut too."""

    loop: typed.For | typed.While
    phases: tuple[Phase, ...]
    barriers: frozenset[Operation]
    rows: Reach
    columns: Reach | None


class Order(Enum):
    """What keeps a loop to the order of its text."""

    MANY_PHASES = auto()
    ARRAYS = auto()  # it makes arrays
    FAR = auto()  # steps depend on each other across many rows
    REDUCES = auto()  # each step needs the whole result of a reduction
    FAILS = auto()  # a parallel loop or another operation can fail
    READS = auto()  # an element is read outside of parallel loops
    WRITES = auto()
    TEAMS = auto()  # blocks of threads


@dataclass(frozen=True, eq=False)
class Decision:
    """On a loop around `parallels` parallel loops: a wave; or what keeps its steps in order, and where that is."""

    loop: typed.For | typed.While
    parallels: int
    wave: Wave | None
    order: Order | None = None
    at: Operation | None = None

    def __str__(self) -> str:
        where = f"line {self.loop.span.line}: the loop around {self.parallels} parallel loops"
        if self.wave is None:
            place = "" if self.at is None else f" (line {self.at.span.line})"
            return f"{where} runs step by step: {'' if self.order is None else self.order.name}{place}"
        axes = "rows" if self.wave.columns is None else "rows and columns"
        return f"{where} runs in waves over {axes}: a step needs rows at most {self.wave.rows.most} away"


def growth(table: Sequence[Sequence[int | None]]) -> int:
    """By how much the offsets of `offsets` grow per run of all phases, in the long run."""
    count = len(table)
    found = offsets(table, [k % count for k in range(12 * count)])
    return -(-(found[-1] - found[4 * count - 1]) // 8)


def offsets(table: Sequence[Sequence[int | None]], sequence: Sequence[int]) -> list[int]:
    """The least offsets that never fall and grow by the table's entry, at least, from each phase to each later one."""
    found: list[int] = []
    for position, phase in enumerate(sequence):
        least = found[-1] if found else 0
        for earlier in range(position):
            apart = table[sequence[earlier]][phase]
            if apart is not None:
                least = max(least, found[earlier] + apart)
        found.append(least)
    return found


def find_waves(kernel: Kernel) -> tuple[Decision, ...]:
    """For every loop around parallel loops, whether it may run in waves; loops inside one that does are left out."""
    finder = _Finder(kernel)
    finder.region(kernel.body, 0)
    return tuple(finder.decisions)


class _Refused(Exception):
    """Why a loop keeps the plain order."""

    def __init__(self, order: Order, at: Operation | None = None) -> None:
        super().__init__(order)
        self.order = order
        self.at = at


class _Finder:
    """Looks at one kernel's loops, the outermost first."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.decisions: list[Decision] = []
        self._aliases: Aliases | None = None
        self._model: Model | None = None
        self._constants = integer_constants(kernel.body)

    def region(self, region: Region, depth: int) -> None:
        """The loops in a region of the host level that `depth` loops stand around."""
        for operation in region.operations:
            if isinstance(operation, Parallel):
                continue
            loop = isinstance(operation, typed.For | typed.While)
            if loop and any(_parallels(operation)) and self._wave(operation, depth):
                continue
            for inner in operation.regions:
                self.region(inner, depth + loop)

    def _wave(self, loop: typed.For | typed.While, depth: int) -> bool:
        """Whether this loop is one."""
        parallels = len(list(_parallels(loop)))
        try:
            wave = self._found(loop, depth)
        except _Refused as refusal:
            self.decisions.append(Decision(loop, parallels, None, refusal.order, refusal.at))
            return False
        self.decisions.append(Decision(loop, parallels, wave))
        return True

    def _found(self, loop: typed.For | typed.While, depth: int) -> Wave:
        contents = _Contents(loop, self._constants)
        phases = contents.phases
        self._aliases = self._aliases or Aliases(self.kernel)  # most loops are refused by what these say
        barriers = contents.barriers(self._aliases)
        if self._model is None:
            self._model = build(self.kernel)
        regions = {region.operation: region for region in self._model.regions}
        models = [regions[phase] for phase in phases]
        axes = _Axes(self._model, Distances(self._model, loop, models, depth), models, self._constants)
        rows = axes.choose(None)
        if rows is None:
            raise _Refused(Order.FAR)
        columns = axes.choose(rows)
        found = columns or [None] * len(phases)
        placed = tuple(Phase(p, row, column) for p, row, column in zip(phases, rows, found, strict=True))
        return Wave(loop, placed, barriers, axes.reach(rows), axes.reach(columns) if columns else None)


class _Contents:
    """What stands in a loop: phases, and what may have to wait for them."""

    def __init__(self, loop: typed.For | typed.While, constants: dict[Value, int]) -> None:
        self.phases: list[Parallel] = []
        self._constants = constants
        self._others: list[tuple[Operation, bool]] = []  # and whether a branch stands around
        for region in loop.regions:
            self._region(region, False)
        if not self.phases:
            first = next(operation for operation, _ in self._others if isinstance(operation, Parallel))
            raise _Refused(_why(first), first)
        if len(self.phases) > MOST_PHASES:
            raise _Refused(Order.MANY_PHASES)

    def barriers(self, aliases: Aliases) -> frozenset[Operation]:
        """The operations before which phases that are due must have run."""
        roots, base = aliases.roots, aliases.base
        stores = (o for phase in self.phases for o in _operations(phase.body) if isinstance(o, typed.Store))
        written = {root for store in stores for root in roots[base[store.array]]}
        found: list[Operation] = []
        for operation, guarded in self._others:
            if isinstance(operation, typed.Load) and operation.site is None and written.isdisjoint(roots[base[operation.array]]):
                continue
            if not guarded:
                raise _Refused(_why(operation), operation)
            found.append(operation)
        return frozenset(found)

    def _region(self, region: Region, guarded: bool) -> None:
        for operation in region.operations:
            self._operation(operation, guarded)

    def _operation(self, operation: Operation, guarded: bool) -> None:
        match operation:
            case Parallel():
                if self._is_phase(operation):
                    self.phases.append(operation)
                else:
                    self._others.append((operation, guarded))
            case typed.Allocate() | typed.Local() | typed.Reshape():
                raise _Refused(Order.ARRAYS, operation)
            case typed.Load() | typed.Store() | typed.Atomic() | typed.Distinct() | typed.Require() | typed.Blocks():
                self._others.append((operation, guarded))
            case typed.If():
                self._region(operation.then, True)
                self._region(operation.orelse, True)
            case _:
                if getattr(operation, "site", None) is not None:
                    self._others.append((operation, guarded))
                for inner in operation.regions:
                    self._region(inner, guarded)

    def _is_phase(self, operation: Parallel) -> bool:
        """Whether a parallel loop may run row by row, later than it stands."""
        inside = list(_operations(operation.body))
        tested = any(getattr(inner, "site", None) is not None for inner in (operation, *inside))
        atomic = any(isinstance(inner, typed.Atomic) for inner in inside)
        return operation.independent and not operation.reductions and not tested and not atomic


def _why(operation: Operation) -> Order:
    """What an operation that cannot wait does to a loop."""
    match operation:
        case Parallel(reductions=(_, *_)):
            return Order.REDUCES
        case typed.Load():
            return Order.READS
        case typed.Store() | typed.Atomic():
            return Order.WRITES
        case typed.Blocks():
            return Order.TEAMS
        case _:
            return Order.FAILS


class _Axes:
    """Coordinates of the phases of one loop."""

    def __init__(self, model: Model, distances: Distances, regions: list[RegionModel], constants: dict[Value, int]) -> None:
        self._model = model
        self._distances = distances
        self._regions = regions
        self._constants = constants
        self._expressions: dict[tuple[int, Coordinate], Linear] = {}

    def choose(self, rows: list[Coordinate] | None) -> list[Coordinate] | None:
        """Rows, or columns beside `rows`, for all phases; None where they reach too far. Large boxes choose first."""
        chosen: dict[int, Coordinate] = {}
        for number in sorted(range(len(self._regions)), key=lambda k: -len(self._regions[k].indices)):
            for candidate in self._candidates(number, None if rows is None else rows[number]):
                others = [*chosen.items(), (number, candidate)]
                if all(self._near(number, candidate, other, coordinate) for other, coordinate in others):
                    chosen[number] = candidate
                    break
            else:
                return None
        if all(coordinate.dimension is None for coordinate in chosen.values()):
            return None
        return [chosen[k] for k in range(len(self._regions))]

    def reach(self, coordinates: list[Coordinate]) -> Reach:
        """The distances between phases with these coordinates."""
        count = range(len(coordinates))
        found = [[self._distance(a, coordinates[a], b, coordinates[b]) for b in count] for a in count]
        ahead = tuple(tuple(None if d is None or d.low is None else -d.low for d in line) for line in found)
        return Reach(ahead, tuple(tuple(None if d is None else d.high for d in line) for line in found))

    def _candidates(self, number: int, row: Coordinate | None) -> Iterator[Coordinate]:
        """Where a phase may lie: along the outermost dimension that rows leave, or at one place that it writes to."""
        region = self._regions[number]
        first = 0 if row is None or row.dimension is None else row.dimension + 1
        if first < len(region.indices) and self._constants.get(region.operation.box[first].step) == 1:
            candidate = Coordinate(first)
            self._expressions[number, candidate] = region.indices[first]
            yield candidate
        for access in self._distances.writes(region):
            for subscript in access.element or ():
                place = self._sum(subscript)
                if place is not None and self._distances.fixed(subscript):
                    candidate = Coordinate(None, place)
                    self._expressions[number, candidate] = subscript
                    yield candidate

    def _sum(self, expression: Linear) -> Sum | None:
        """An expression in values of the host level; None if it is not made of such."""
        terms: list[tuple[Value, int]] = []
        for name, factor in expression.terms:
            value = self._model.space.names.launch.get(name)
            if value is None or value not in self._model.kernel.dims:
                return None
            terms.append((value, factor))
        return tuple(terms), expression.offset

    def _near(self, a: int, at: Coordinate, b: int, other: Coordinate) -> bool:
        distance = self._distance(a, at, b, other)
        if distance is None:
            return True
        bounds = (distance.low, distance.high)
        return all(bound is not None and abs(bound) < FARTHEST for bound in bounds)

    def _distance(self, a: int, at: Coordinate, b: int, other: Coordinate) -> Distance | None:
        earlier, later = self._expressions[a, at], self._expressions[b, other]
        return self._distances.between(self._regions[a], self._regions[b], earlier, later)


def _parallels(operation: Operation) -> Iterator[Parallel]:
    return (o for region in operation.regions for o in _operations(region) if isinstance(o, Parallel))


def _operations(region: Region) -> Iterator[Operation]:
    """All operations of a region and of those inside."""
    for operation in region.operations:
        yield operation
        for inner in operation.regions:
            yield from _operations(inner)
