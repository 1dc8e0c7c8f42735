"""Which iterations of a parallel loop run together: vectors of lanes, several side by side, rows jammed into one tile.

Does: choose, from how subscripts vary, the dimension that vectors lie along, their width, and what makes a tile.
Does not: write code (`lower/tiles/`), or decide whether iterations are independent (`checks/`).
Invariants: only loops whose iterations are proved independent and which have no check left are tiled; a tile holds iterations of
the box and nothing else, and within each iteration operations keep their order; so no choice here changes a result.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from math import prod

from lend.diagnostics.records import dataclass
from lend.ir import typed
from lend.ir.typed import Load, Operation, Parallel, Region, Value
from lend.language.reduction import LANES
from lend.language.types import BF16, F16, ScalarType
from lend.plan.tile_cost import Estimate
from lend.plan.variation import Variations

GAIN = 0.9
"""A tiling is used if it costs less than this share of doing one iteration after the other."""
MOST_PLACES = 32
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
    ATOMIC = auto()  # an atomic operation
    TEAM = auto()  # it is a loop over blocks of threads: vectors lie along the threads
    NONE_FITS = auto()  # no tiling can be written, or only ones with too much text


@dataclass(frozen=True, eq=False)
class Untiled:
    """Why a loop is left to the code generator's own vectoriser; `at`: for what; `best`: the tiling that came nearest."""

    obstacle: Obstacle
    at: Operation | None = None
    best: Tiling | None = None


def choose_tiling(
    parallel: Parallel, variations: Variations, vector_bytes: int, by_row: bool = False, inside: bool = False
) -> Tiling | Untiled:
    """The tiling of a loop, or why there is none. `by_row`: only one along rows; `inside`: of a loop over threads of a block."""
    refused = refusal(parallel, variations)
    if refused is not None:
        return refused
    estimate = Estimate(parallel, variations, vector_bytes, turning=not by_row and not inside)
    best: tuple[float, Tiling] | None = None
    for tiling in _candidates(parallel, variations, vector_bytes, _counts(parallel, variations) if inside else None):
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


def _counts(parallel: Parallel, variations: Variations) -> tuple[int, ...] | None:
    """The iterations along each dimension, if these are numbers."""
    counts: list[int] = []
    for extent in parallel.box:
        lower, upper, step = (variations.constant(value) for value in (extent.lower, extent.upper, extent.step))
        if lower is None or upper is None or step is None or step < 1:
            return None
        counts.append(len(range(lower, upper, step)))
    return tuple(counts) if min(counts) > 0 else None


def _candidates(
    parallel: Parallel, variations: Variations, vector_bytes: int, counts: tuple[int, ...] | None = None
) -> Iterator[Tiling]:
    """Tilings worth looking at. `counts`: the iterations of a small box, which whole tiles should fill."""
    if counts is None:
        yield from _all_candidates(parallel, variations, vector_bytes)
        return
    found = list(dict.fromkeys(_all_candidates(parallel, variations, vector_bytes, counts)))
    whole = [t for t in found if not any(count % extent for count, extent in zip(counts, t.extents, strict=True))]
    narrow = [t for t in found if all(extent <= count for count, extent in zip(counts, t.extents, strict=True))]
    yield from whole if any(t.lanes > 1 for t in whole) else narrow or found


def _all_candidates(
    parallel: Parallel, variations: Variations, vector_bytes: int, counts: tuple[int, ...] | None = None
) -> Iterator[Tiling]:
    dimensions = len(parallel.box)
    size = _widest(parallel.body, variations)
    loops = has_loop(parallel.body)
    for v in reversed(range(dimensions)):
        step = variations.constant(parallel.box[v].step)
        if step is None:
            continue
        if parallel.reductions:  # lanes of the tree lie along the last dimension
            lanes = max(vector_bytes // max(size, *(v.scalar.bytes for r in parallel.reductions for v in r.inits)), 1)
            if v == dimensions - 1 and 1 < lanes <= LANES:
                yield from (_tiling(dimensions, v, lanes, vectors, None, 1) for vectors in _halves(LANES // lanes))
            continue
        widths = [max(vector_bytes // size, 1), 1]
        if counts is not None:
            widths = [*_halves(min(widths[0], 1 << (counts[v].bit_length() - 1))), 1]
        for lanes in dict.fromkeys(widths):
            if lanes == 1 and (not loops or v != dimensions - 1):
                continue
            wide = (8,) if loops and dimensions == 1 else ()  # columns of a matrix: rows are read in longer pieces
            for vectors in (*wide, 4, 3, 2, 1) if lanes > 1 else (8, 4, 2):
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


def operations_in(region: Region) -> int:
    """The operations of a region and of those inside."""
    return sum(1 + sum(map(operations_in, operation.regions)) for operation in region.operations)


def has_loop(region: Region) -> bool:
    """Whether there is a loop in it."""
    return any(
        isinstance(operation, typed.For | typed.While) or any(has_loop(inner) for inner in operation.regions)
        for operation in region.operations
    )


def _unsupported(region: Region, variations: Variations) -> Untiled | None:
    """The first operation that cannot be written for packs, and why."""
    for operation in region.operations:
        if isinstance(operation, typed.Within):
            return Untiled(Obstacle.COST)  # it is put where vectors do not pay
        if getattr(operation, "site", None) is not None:
            return Untiled(Obstacle.LOOP_STEP if isinstance(operation, typed.For) else Obstacle.CHECK, operation)
        match operation:
            case typed.Local():
                return Untiled(Obstacle.LOCAL, operation)
            case typed.Atomic():
                return Untiled(Obstacle.ATOMIC, operation)
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
