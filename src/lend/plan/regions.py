"""Typed kernel -> plan: the host pass and its numbered device regions.

Does: number every `Parallel` of a kernel, list what it captures, and say how finely it may be cut into chunks.
Does not: change the tree; the host pass is the kernel's body itself, which launches region k where it meets `regions[k]`.
Invariants: captures are in the order of first use; a chunk's size depends on the program and its sizes only, never on the
number of threads; where a region reduces, chunks are whole blocks of `BLOCK` iterations.

Example: `print(plan(kernel))` says for saxpy
    region 0: parallel i over 1 dimension, cost 5; captures y, a, x
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from lend.diagnostics.records import dataclass
from lend.ir.typed import Binary, Call, Cast, Constant, Extent, Kernel, Parallel, Region, Size, Value
from lend.language.reduction import BLOCK
from lend.plan.by_rows import ByRows, find_by_rows
from lend.plan.cost import Bound, Known, Work, work_of
from lend.plan.index_tests import tested_loop
from lend.plan.pacing import paced_bytes
from lend.plan.packs import Packs, Unpacked
from lend.plan.row_tests import tested_rows
from lend.plan.streams import Streams, Unstreamed, find_streams
from lend.plan.tile_cost import turned_arrays
from lend.plan.tiling import Obstacle, Tiling, Untiled, choose_tiling, panel_arrays
from lend.plan.variation import SIZE_BITS, Variations
from lend.plan.waves import Decision, Wave, find_waves
from lend.schedule.teams import teams

CHUNK_WORK = 32768
"""Simple operations that a chunk holds at least, so that starting it is cheap in comparison."""
CHUNKS = 64
"""Chunks of one launch, at most."""
FINE = 64
"""From chunks of so many iterations on, launches are cut into equal shares."""
CACHE_LINE_GRAIN = 64
"""Chunks of at least this many iterations are multiples of it, so that they end at cache lines."""


@dataclass(frozen=True, eq=False)
class DeviceRegion:
    """One parallel loop: its number, what it uses of the host level, the work of an iteration; `untiled`, `unstreamed`: why not.

    The chunk of a launch is rounded up to a multiple of `unit` from `max(grain, ceil(iterations / CHUNKS))`, where `grain` is
    `ceil(CHUNK_WORK / cost)` and the cost is that of `work` at the launch's own sizes. From a grain of FINE on it is
    `ceil(iterations / n)` with the largest power of two n that leaves chunks of at least `grain`: for equal shares.
    """

    number: int
    parallel: Parallel
    captures: tuple[Value, ...]
    work: Work
    variations: Variations
    tiling: Tiling | None = None
    streams: Streams | None = None
    untiled: Untiled | None = None
    unstreamed: Unstreamed | None = None
    panels: tuple[Value, ...] = ()
    turned: tuple[tuple[Value, int], ...] = ()
    inner: tuple[DeviceRegion, ...] = ()
    """Of blocks: the loops over their threads, which run where the block runs."""
    by_rows: ByRows | None = None
    """How the iterations go over the rows of a matrix together, if they do."""
    lengths: Mapping[Extent, int] = field(default_factory=dict[Extent, int])
    """Likely trip counts of loops inside of which both ends move."""
    paced: int | None = None
    """Of a loop that is held back in large launches: the bytes that an iteration reads."""
    packs: Packs | Unpacked = Unpacked.ONE
    """On a device: iterations that one thread may run together."""

    @property
    def grain(self) -> int | None:
        """The least chunk; None if it depends on sizes."""
        return None if self.work.loops else -(-CHUNK_WORK // self.work.operations)

    @property
    def unit(self) -> int:
        """Chunks are multiples of this many iterations: a tile takes its time, whether all of it is there or not."""
        if self.parallel.reductions:
            return BLOCK
        if self.grain is not None and self.grain >= CACHE_LINE_GRAIN:
            return CACHE_LINE_GRAIN
        return self.tiling.volume if self.tiling is not None and self.tiling.by_row else 1

    def chunk(self, iterations: int, cost: int) -> int:
        """The chunk of a launch of so many iterations that cost so much each (`lower/chunks.py` writes the same as code)."""
        grain = -(-CHUNK_WORK // cost)
        shares = 1 << (min(max(iterations // grain, 1), CHUNKS).bit_length() - 1)
        chunk = -(-iterations // shares) if grain >= FINE else max(grain, -(-iterations // CHUNKS))
        return -(-chunk // self.unit) * self.unit

    def alone(self, cost: int) -> int:
        """The most iterations that are one chunk."""
        grain = -(-CHUNK_WORK // cost)
        return max(2 * grain - 1, self.unit) if grain >= FINE else -(-grain // self.unit) * self.unit

    def __str__(self) -> str:
        dimensions = len(self.parallel.box)
        indices = ", ".join(value.name or "_" for value in self.parallel.body.parameters[:dimensions])
        reductions = "".join(
            f"; reduces {', '.join(value.name or '_' for value in reduction.inits)} by {reduction.operator}"
            for reduction in self.parallel.reductions
        )
        captures = ", ".join(value.name or str(value.type) for value in self.captures) or "nothing"
        tiled = f"; {self.tiling}" if self.tiling is not None else ""
        over = "1 dimension" if dimensions == 1 else f"{dimensions} dimensions"
        return f"region {self.number}: parallel {indices} over {over}, cost {self.work}{reductions}{tiled}; captures {captures}"


@dataclass(frozen=True, eq=False)
class Plan:
    """A kernel and its device regions, in the order of the text.

    `waves`: loops around regions that may run several steps at a time; `decisions`: on each loop around regions; `tested`: index
    arrays whose elements the regions test as they go.
    """

    kernel: Kernel
    regions: tuple[DeviceRegion, ...]
    waves: tuple[Wave, ...] = ()
    decisions: tuple[Decision, ...] = ()
    tested: tuple[Value, ...] = ()

    def __str__(self) -> str:
        lines = (*map(str, self.regions), *map(str, self.decisions))
        return "\n".join([f"plan of {self.kernel.name}", *(f"  {line}" for line in lines)])


def plan(kernel: Kernel, vector_bytes: int = 16, whole: frozenset[Value] | None = None) -> Plan:
    """Number the device regions of `kernel`, and tile them for a machine with such vectors; blocks of threads become loops.

    `whole`: index arrays that are proved to be read whole, so that the loop that reads them may test them; None where all index
    arrays have been tested.
    """
    kernel, plain, tested = _with_tests(kernel, vector_bytes, whole)
    decisions = find_waves(kernel)
    kernel = teams(kernel)
    constants = _constants(kernel.body, {})
    bits = _bits(kernel.body, constants, dict.fromkeys(kernel.dims, SIZE_BITS))
    waves = tuple(decision.wave for decision in decisions if decision.wave is not None)
    phases = {phase.parallel for wave in waves for phase in wave.phases}
    regions: list[DeviceRegion] = []
    for number, parallel in enumerate(_parallels(kernel.body)):
        captures = tuple(captured(parallel.body))
        known = Known(frozenset(captures), dict[Value, Bound](constants))
        variations = Variations(parallel, constants, bits)
        waits = parallel in phases
        if parallel.team:
            inner = tuple(_threads(parallel, constants, bits, vector_bytes))
            work = work_of(parallel.body, known)
            regions.append(
                DeviceRegion(number, parallel, captures, work, variations, untiled=Untiled(Obstacle.TEAM), inner=inner)
            )
            continue
        chosen = choose_tiling(parallel, variations, vector_bytes, by_row=waits)
        tiling = chosen if isinstance(chosen, Tiling) else None
        by_rows = None if waits else find_by_rows(parallel, variations, tiling)
        found = Unstreamed.IN_WAVES if waits else Unstreamed.BY_ROWS
        work = work_of(plain.get(parallel, parallel).body, known)
        if not waits and by_rows is None:
            found = find_streams(parallel, variations, tiling, work)
        streams = found if isinstance(found, Streams) else None
        regions.append(
            DeviceRegion(
                number,
                parallel,
                captures,
                work,
                variations,
                tiling,
                streams,
                chosen if isinstance(chosen, Untiled) else None,
                found if isinstance(found, Unstreamed) else None,
                () if tiling is None else panel_arrays(parallel, variations, tiling),
                () if tiling is None or waits or tiling.lanes == 1 else turns(parallel, variations, tiling),
                by_rows=by_rows,
                lengths=known.lengths,
                paced=None if waits or by_rows is not None else paced_bytes(parallel, variations, tiling),
            )
        )
    return Plan(kernel, tuple(regions), waves, decisions, tested)


def _with_tests(
    kernel: Kernel, vector_bytes: int, whole: frozenset[Value] | None
) -> tuple[Kernel, dict[Parallel, Parallel], tuple[Value, ...]]:
    """The kernel with tests in its first loop, if vectors do not pay there; what that loop was; the arrays it tests."""
    found = None if whole is None else tested_loop(kernel, whole) or tested_rows(kernel)
    if found is None:
        return kernel, {}, ()
    constants = _constants(kernel.body, {})
    variations = Variations(found.parallel, constants, _bits(kernel.body, constants, dict.fromkeys(kernel.dims, SIZE_BITS)))
    if isinstance(choose_tiling(found.parallel, variations, vector_bytes), Tiling):
        return kernel, {}, ()
    kernel, parallel = found.rewritten(kernel)
    return kernel, {parallel: found.parallel}, found.parameters


def _threads(team: Parallel, constants: dict[Value, int], bits: dict[Value, int], vector_bytes: int) -> Iterator[DeviceRegion]:
    """The loops over the threads of a block, numbered in the order of the text."""
    for number, parallel in enumerate(_parallels(team.body)):
        variations = Variations(parallel, constants, bits)
        chosen = choose_tiling(parallel, variations, vector_bytes, inside=True)
        captures = tuple(captured(parallel.body))
        work = work_of(parallel.body, Known(frozenset(captures), dict[Value, Bound](constants)))
        found = (chosen, None) if isinstance(chosen, Tiling) else (None, chosen)
        yield DeviceRegion(number, parallel, captures, work, variations, found[0], untiled=found[1])


def turns(parallel: Parallel, variations: Variations, tiling: Tiling) -> tuple[tuple[Value, int], ...]:
    """The arrays that a launch copies first, each with the dimension that comes last in the copy."""
    return tuple(turned_arrays(parallel, variations, tiling.vector).items())


def _parallels(region: Region) -> Iterator[Parallel]:
    for operation in region.operations:
        if isinstance(operation, Parallel):
            yield operation
        else:
            for inner in operation.regions:
                yield from _parallels(inner)


def _constants(region: Region, known: dict[Value, int]) -> dict[Value, int]:
    """The integer constants of the host and block level, casts of them and what is passed on to called kernels."""
    for operation in region.operations:
        if isinstance(operation, Constant) and isinstance(operation.value, int):
            known[operation.result] = int(operation.value)
        elif isinstance(operation, Cast) and operation.operand in known and operation.result.scalar.is_integer:
            known[operation.result] = known[operation.operand]
        elif not isinstance(operation, Parallel) or operation.team:
            if isinstance(operation, Call):
                for parameter, argument in zip(operation.body.parameters, operation.arguments, strict=True):
                    if argument in known:
                        known[parameter] = known[argument]
            for inner in operation.regions:
                _constants(inner, known)
    return known


def _bits(region: Region, constants: dict[Value, int], known: dict[Value, int]) -> dict[Value, int]:
    """How many bits hold sizes, and sums and differences of them, at host level."""

    def of(value: Value) -> int:
        return constants[value].bit_length() if value in constants else known.get(value, 64)

    for operation in region.operations:
        match operation:
            case Size(result=result):
                known[result] = SIZE_BITS
            case Binary(operator="add" | "sub" | "min" | "max", result=result, left=left, right=right):
                if result.scalar.is_integer and result.scalar.bits == 64:
                    known[result] = min(max(of(left), of(right)) + 1, 64)
            case Cast(result=result, operand=operand):
                if operand in known and result.scalar.is_integer and result.scalar.bits == 64:
                    known[result] = known[operand]
            case Parallel(team=False):
                pass
            case _:
                if isinstance(operation, Call):
                    pairs = zip(operation.body.parameters, operation.arguments, strict=True)
                    known |= {parameter: known[argument] for parameter, argument in pairs if argument in known}
                for inner in operation.regions:
                    _bits(inner, constants, known)
    return known


def captured(region: Region) -> list[Value]:
    """The values that `region` uses and does not define, in the order of first use."""
    defined: set[Value] = set()
    found: dict[Value, None] = {}

    def visit(inner: Region) -> None:
        defined.update(inner.parameters)
        for operation in inner.operations:
            for operand in operation.operands:
                if operand not in defined:
                    found.setdefault(operand)
            for nested in operation.regions:
                visit(nested)
            defined.update(operation.results)
        for value in inner.yields:
            if value not in defined:
                found.setdefault(value)

    visit(region)
    return list(found)
