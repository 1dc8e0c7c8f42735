"""Blocks of threads -> LLVM: loops over blocks with loops over threads inside.

Does: write the body of a block once, with its arrays and the loops over its threads in place.
Does not: cut threads' code at barriers (`schedule/fission.py`), or operations of threads (as in other loops).
Invariants: a block is run whole by one thread of the processor, whose arrays no other sees. The thread that a fault names is the
block's position times `TEAM` and the thread's position in its loop; what the block does itself counts as its first thread's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any, ClassVar

from lend.ir.typed import Local, Parallel, Value
from lend.language.abi import HOST_LEVEL, NO_SITE
from lend.language.types import size_of
from lend.lower import memory, temporaries
from lend.lower.control import counted_loop
from lend.lower.facts import Facts
from lend.lower.faults import LIKELY, Failure, Report, call_fault
from lend.lower.indexing import add, literal, multiply, offset, subtract
from lend.lower.reductions import Lanes
from lend.lower.regions import COMMON_OPERATIONS, Axis, RegionWriter, tile_counts
from lend.lower.tiles.loops import TileWriter
from lend.lower.values import Lowered, describe
from lend.lower.writer import FunctionWriter
from lend.plan.regions import DeviceRegion

TEAM = 1024
"""The most threads of a block."""
MOST_ON_STACK = 1 << 15
"""Arrays of a block that take more bytes together are allocated, once for all blocks of a chunk."""
LINE = 64


def _kept(region: DeviceRegion) -> list[Local]:
    """The arrays of a block, which stand at the start of its body."""
    return [o for o in region.parallel.body.operations if isinstance(o, Local) and not o.zeroed] if region.parallel.team else []


def kept_bytes(region: DeviceRegion) -> int:
    """How much memory they take."""
    return sum(_rounded(operation) for operation in _kept(region))


def _rounded(operation: Local) -> int:
    """The bytes of an array, in whole cache lines."""
    bytes = size_of(operation.result.array.element) * prod(operation.sizes)
    return -(-max(bytes, 1) // LINE) * LINE


class TeamWriter(RegionWriter):
    """A loop over blocks."""

    operations: ClassVar[Mapping[type, Callable[[Any, Any], None]]] = COMMON_OPERATIONS

    def __init__(self, host: FunctionWriter, region: DeviceRegion, *rest: Any) -> None:
        super().__init__(host, region, *rest)
        self._team_region = region
        self._inside = {inner.parallel: inner for inner in region.inner}
        self._places: dict[Value, str] = {}
        self._memory: str | None = None

    def before_loop(self) -> None:
        """Memory for the arrays of one block after the other."""
        builder, arrays, total = self.builder, _kept(self._team_region), kept_bytes(self._team_region)
        if total <= MOST_ON_STACK:
            for operation in arrays:
                self._places[operation.result] = builder.alloca(f"[{_rounded(operation)} x i8]", "kept", LINE)
            return
        temporaries.declare_memory(builder.module)
        self._memory = builder.emit(f"call ptr @lend_allocate(i64 {total}, i32 0)", "kept")
        there, missing = builder.new_block("there"), builder.new_block("missing")
        builder.branch(builder.emit(f"icmp ne ptr {self._memory}, null"), there, missing, LIKELY)
        builder.open(missing)
        call_fault(builder, self._record, str(HOST_LEVEL), NO_SITE, Failure(size=str(total)), [], self.aliases.nothing)
        builder.ret("void")
        builder.open(there)
        start = 0
        for operation in arrays:
            self._places[operation.result] = offset(builder, self._memory, str(start))
            start += _rounded(operation)

    def after_loop(self) -> None:
        """Give it back."""
        if self._memory is not None:
            self.builder.append(f"call void @lend_free(ptr {self._memory})")

    def local(self, operation: Local) -> None:
        """An array of the block."""
        place = self._places.get(operation.result)
        if place is None:
            memory.write_local(self, operation)
            return
        sizes = tuple(str(size) for size in operation.sizes)
        self.bind(operation.result, describe(self.builder, operation.result.array, place, sizes, (), place))

    def threads(self, operation: Parallel) -> None:
        """A loop over the threads of the block."""
        writer = ThreadsWriter(self, self._inside[operation])
        with self.facts.loop():  # bounds that the block computes may leave nothing to do
            results = writer.write_here()
        self.bind_all(operation.results, results)

    def shared_with_nobody(self, array: Value) -> bool:
        """Arrays of the block are."""
        return self.aliases.within(array, self._private)

    def record(self, site: int, report: Report) -> None:
        """A fault of the block itself."""
        self.record_thread(site, report, "0", [])

    def record_thread(self, site: int, report: Report, thread: str, indices: list[str]) -> None:
        """A fault of one of its threads."""
        block = multiply(self.builder, add(self.builder, self._base, self._inner), str(TEAM))
        position, places = add(self.builder, block, thread), [*self._indices, *indices]
        call_fault(self.builder, self._record, position, site, report, places, self.aliases.nothing)
        if self._flag is not None:
            self.builder.append(f"store i1 true, ptr {self._flag}")


TeamWriter.operations = {**COMMON_OPERATIONS, Local: TeamWriter.local, Parallel: TeamWriter.threads}


class ThreadsWriter(RegionWriter):
    """A loop over the threads of a block, written where the block is."""

    operations: ClassVar[Mapping[type, Callable[[Any, Any], None]]] = COMMON_OPERATIONS

    def __init__(self, team: TeamWriter, region: DeviceRegion) -> None:
        FunctionWriter.__init__(self, team.builder.module, team.kernel, team.aliases, team.shapes)
        self._begin(region)
        self.builder, self.scalars = team.builder, team.scalars
        # Tiles begin before the first index of a row and end after the last, where lanes are off: nothing holds of these.
        self.facts = team.facts if region.tiling is None else Facts(team.builder, wanted=False)
        self.values = team.values
        self.carried = team.carried
        self._team = team
        self._flag = team._flag  # pyright: ignore[reportPrivateUsage]
        self.streaming = self.panels = "false"
        self.paced = None
        self.axes: list[Axis] = []
        for extent in region.parallel.box:
            lower, upper, step = (team.scalar(value) for value in (extent.lower, extent.upper, extent.step))
            count = subtract(self.builder, upper, lower)  # the bounds are in order
            if step != "1":
                count = str(len(range(int(lower), int(upper), int(step))))
            self.axes.append(Axis(lower, upper, step, count))
        self.tile_counts = [] if region.tiling is None else tile_counts(self.builder, region.tiling, self.axes)
        self._tiles = None if region.tiling is None else TileWriter(self, region.tiling, region.variations, None)
        self._region = region

    def write_here(self) -> list[Lowered]:
        """Write the loop into the open block; gives the reductions' results."""
        counts = [literal(axis.count) for axis in self.axes]
        numbers = [count for count in counts if count is not None]
        if 0 in numbers:
            return []
        if self._region.parallel.reductions:
            return self._reduced(str(prod(numbers)))
        if len(numbers) == len(counts):
            self._written(numbers)
            return []
        builder, some = self.builder, "true"  # bounds that the block has computed: there may be nothing between them
        for axis, count in zip(self.axes, counts, strict=True):
            if count is None:
                inside = builder.emit(f"icmp ne i64 {axis.count}, 0")
                some = inside if some == "true" else builder.emit(f"and i1 {some}, {inside}")
        loop, after = builder.new_block("threads"), builder.new_block("after")
        builder.branch(some, loop, after)
        builder.open(loop)
        self._written([])
        builder.jump(after)
        builder.open(after)
        return []

    def _written(self, counts: list[int]) -> None:
        """At least one iteration. `counts`: in each dimension, if these are numbers."""
        if self._tiles is None or self._tiling is None or self._tiling.by_row:
            self._nest([])
            return
        if counts:
            total = str(prod(-(-count // extent) for count, extent in zip(counts, self._tiling.extents, strict=True)))
        else:
            total = "1"
            for count in self.tile_counts:
                total = multiply(self.builder, total, count)
        if total == "1":
            self._tiles.tile("0")
        else:
            counted_loop(self, "0", total, self._tiles.tile, "tile")

    def _nest(self, outer: list[str]) -> None:
        """Loops over the dimensions from the next one on."""
        if len(outer) + 1 < len(self.axes):
            counted_loop(self, "0", self.axes[len(outer)].count, lambda counter: self._nest([*outer, counter]))
            return
        base = "0"
        for counter, axis in zip(outer, self.axes[1:], strict=True):
            base = multiply(self.builder, add(self.builder, base, counter), axis.count)
        self._iterations("0", self.axes[-1].count, base, outer, None)

    def _reduced(self, count: str) -> list[Lowered]:
        """A loop that reduces: all threads of a block are in one block of the tree."""
        lanes = Lanes(self, self._reducer)
        if self._tiles is None:
            lanes.clear()
        else:
            self._tiles.clear(lanes)
        if self._tiles is not None and len(self.axes) == 1:
            self._iterations("0", count, "0", [], (lanes, "0"))
        else:
            self._segments("0", count, ["0"] * len(self.axes), lanes)
        if self._tiles is not None:
            self._tiles.finish(lanes)
        inits = [self.scalar(init) for reduction in self._region.parallel.reductions for init in reduction.inits]
        return list(self._reducer.combine(self.builder, inits, lanes.fold(apart=True)))

    def shared_with_nobody(self, array: Value) -> bool:
        """As in the block."""
        return self._team.shared_with_nobody(array)

    def record(self, site: int, report: Report) -> None:
        """The thread is its position."""
        self._team.record_thread(site, report, add(self.builder, self._base, self._inner), self._indices)
