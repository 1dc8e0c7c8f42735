"""Device regions -> LLVM functions: a chunk of a parallel loop.

Does: write `void @region_k(ptr env, i64 begin, i64 end)`, which runs the iterations at the row-major positions begin to end.
Does not: launch it (`host.py`).
Invariants: the innermost loop steps one index by one, so that LLVM can vectorise it; a one-dimensional loop without reductions is
just that loop. What an iteration does depends on its position only, never on where its chunk begins or ends. Where accesses are
proved not to depend on each other, the innermost loop says so; private arrays, lanes and fault records are never among them: they
are not one per iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from lend.diagnostics.records import dataclass
from lend.ir import typed
from lend.ir.typed import For, Local, Region, Value, While
from lend.language.reduction import BLOCK, LANES
from lend.language.types import BOOL_, I64
from lend.lower import atomics, control, index_tests, memory, scalars
from lend.lower.aliases import Aliases
from lend.lower.builder import FunctionBuilder, ModuleBuilder
from lend.lower.control import counted_loop
from lend.lower.environment import ENVIRONMENT, Environment
from lend.lower.faults import Report, call_fault
from lend.lower.indexing import add, multiply, subtract
from lend.lower.reductions import Lanes, Reducer
from lend.lower.tiles.loops import TileWriter
from lend.lower.turns import Turn, turned_in_region
from lend.lower.values import ArrayValue, Lowered
from lend.lower.writer import FunctionWriter
from lend.plan.gathers import gathered_loads, gathers, tests_steps
from lend.plan.located import located
from lend.plan.regions import DeviceRegion
from lend.plan.tiling import Tiling, has_loop

COMMON_OPERATIONS: Mapping[type, Callable[[Any, Any], None]] = {
    typed.Constant: scalars.write_constant,
    typed.Unary: scalars.write_unary,
    typed.Binary: scalars.write_binary,
    typed.Math: scalars.write_math,
    typed.Cast: scalars.write_cast,
    typed.Load: memory.write_load,
    typed.Store: memory.write_store,
    typed.Atomic: atomics.write_atomic,
    typed.Size: memory.write_size,
    typed.Within: index_tests.write_within,
    typed.View: memory.write_view,
    typed.Local: memory.write_local,
    typed.If: control.write_if,
    typed.For: control.write_for,
    typed.While: control.write_while,
    typed.Call: control.write_call,
}
"""What a device region may hold; the host level adds to it."""

LONG = 64
"""From so many steps on, one wrong guess at the end of a loop is cheap."""


@dataclass(frozen=True)
class Axis:
    """One dimension of the box, as operands: `index = lower + k * step` for k below `count`, which is positive in a region."""

    lower: str
    upper: str
    step: str
    count: str


class RegionWriter(FunctionWriter):
    """One region being written. `host` is its host function, which is being written at the same time."""

    operations: ClassVar[Mapping[type, Callable[[Any, Any], None]]] = COMMON_OPERATIONS
    ends_at_fault: ClassVar[bool] = False

    def __init__(
        self,
        host: FunctionWriter,
        region: DeviceRegion,
        record: str,
        axes: list[Axis],
        partials: str | None,
        large: str = "false",
        panels: str = "false",
        turns: Mapping[Value, Turn] | None = None,
        module: ModuleBuilder | None = None,
        aliases: Aliases | None = None,
    ) -> None:
        super().__init__(module or host.builder.module, host.kernel, aliases or host.aliases, host.shapes)
        self._begin(region)
        self.environment = self.make_environment(host)
        self._record = self.environment.pointer(record)
        self.axes = [self._share(axis) for axis in axes]
        self.tile_counts = [] if region.tiling is None else tile_counts(self.builder, region.tiling, self.axes)
        self._partials = None if partials is None else self.environment.pointer(partials)
        for value in region.captures:
            self.bind(value, self.environment.value(value))
        for value, turn in (turns or {}).items():
            self.values[value] = turned_in_region(self, self.environment, self.array(value), turn)
        self._tiles = self._tile_writer(region)
        self.streaming = "false" if region.streams is None else self.environment.scalar(BOOL_, large)
        """Whether this launch is large enough for stores that go past the caches."""
        self.paced: tuple[str, str] | None = None
        """Whether this launch is held back, and a zero of which LLVM does not know that it is one: the sign of a count."""
        if region.paced is not None:
            sign = host.builder.emit(f"lshr i64 {axes[-1].count}, 63")
            self.paced = self.environment.scalar(BOOL_, large), self.environment.scalar(I64, sign)
        self.panels = self.environment.scalar(BOOL_, panels)
        """Whether tiles go panel by panel in this launch; of loops by rows, whether these are fetched ahead."""
        self.facts.wanted = can_fault(self.body) and not self._fallback
        self.facts.arrays([value for value in self.values.values() if isinstance(value, ArrayValue)])
        self._flag = self.builder.alloca("i1", "faulted") if _has_while(self.body) else None
        # LLVM reads "parallel" as "no access depends on another": within an iteration it then moves loads over stores (groups of
        # interleaved accesses), so that independent iterations are not enough.
        parallel = region.parallel.independent and region.parallel.final_writes
        self._group = self.builder.module.metadata("distinct !{}") if parallel else None
        self.facts.suffix = "" if self._group is None else f", !llvm.access.group {self._group}"

    def _begin(self, region: DeviceRegion) -> None:
        """What is known of the loop before any code is written."""
        self.body = region.parallel.body
        self._tiling = region.tiling
        self._variations = region.variations
        self._lengths = region.lengths
        self._name = region_name(region)
        self._fallback = region.parallel.fallback
        self.gathers = gathered_loads(self.body) if self.kernel.math != "fast" else frozenset()  # there, sums may become vectors
        self._reducer = Reducer(region.parallel, located(region.parallel, region.variations))
        self._base = "0"  # position of an iteration less its innermost counter
        self._inner = "0"  # the innermost counter
        self._indices: list[str] = []
        self._loops: list[str] = []  # open loops over positions
        self._private = self.aliases.private(locals_of(self.body))
        self._group: str | None = None

    def _tile_writer(self, region: DeviceRegion) -> TileWriter | None:
        if region.tiling is None:
            return None
        return TileWriter(self, region.tiling, region.variations, region.streams, region.by_rows)

    def make_environment(self, host: FunctionWriter) -> Environment:
        """How the host function hands values over."""
        return Environment(host, self)

    def write(self) -> None:
        """Write the function into the module."""
        if self._flag is not None:
            self.builder.append(f"store i1 false, ptr {self._flag}")
        self.before_loop()
        if self._partials is not None:
            self._blocks()
        elif self._tiles is not None and self._tiling is not None and not self._tiling.by_row:
            counted_loop(self, "%begin", "%end", self._tiles.tile, "tile")
        elif len(self.axes) == 1:
            self._iterations("%begin", "%end", "0", [], None)
        else:
            self._segments("%begin", "%end", self._decode("%begin"), None)
        if self.streaming != "false":
            self.builder.module.declare("lend.streamed", "declare void @lend.streamed()")
            self.builder.append("call void @lend.streamed()")
        self.after_loop()
        self.builder.ret("void")
        size = "optsize " if self._fallback else ""  # its loops have tests, which LLVM does not vectorise
        head = f"define internal void @{self._name}(ptr {ENVIRONMENT}, i64 %begin, i64 %end) noinline {size}nounwind"
        self.builder.module.add_function(f"{head} {{\n{self.builder.body()}\n}}")

    def before_loop(self) -> None:
        """What a chunk does first."""

    def after_loop(self) -> None:
        """What a chunk does last."""

    def _share(self, axis: Axis) -> Axis:
        """The region's own of an axis. Some iterations exist, so that a count by ones is just the distance."""
        share = self.environment.word
        lower, upper, step = share(axis.lower), share(axis.upper), share(axis.step)
        count = subtract(self.builder, upper, lower) if step == "1" else share(axis.count)
        return Axis(lower, upper, step, count)

    # ------------------------------------------------------------------------------------------- loops

    def _decode(self, position: str) -> list[str]:
        """The counter of each axis at a row-major position."""
        counters: list[str] = []
        for axis in reversed(self.axes[1:]):
            counters.insert(0, self.builder.emit(f"urem i64 {position}, {axis.count}"))
            position = self.builder.emit(f"udiv i64 {position}, {axis.count}")
        return [position, *counters]

    def _blocks(self) -> None:
        """Blocks of the reduction tree; each ends in its partial result."""
        builder, partials = self.builder, self._partials
        assert partials is not None
        lanes = Lanes(self, self._reducer)
        counters = self._decode("%begin") if len(self.axes) > 1 else []
        position, following, latch = self._open_positions("%begin", counters, "block")
        if self._tiles is None:
            lanes.clear()
        else:
            self._tiles.clear(lanes)
        whole = builder.emit(f"add i64 {position[0]}, {BLOCK}")
        end = self._smaller(whole, "%end")
        last = self._segments(position[0], end, position[1:] or [position[0]], lanes)
        if self._tiles is not None:
            self._tiles.finish(lanes)
        number = builder.emit(f"lshr i64 {position[0]}, {BLOCK.bit_length() - 1}")
        self._reducer.store_partial(builder, partials, number, lanes.fold())
        self._close_positions(following, [end, *(last if counters else [])], latch, "%end")

    def _segments(self, begin: str, end: str, counters: list[str], lanes: Lanes | None) -> list[str]:
        """Runs along the innermost axis from `begin` to `end`; gives the counters after it."""
        builder, flat = self.builder, len(self.axes) == 1
        position, following, latch = self._open_positions(begin, [] if flat else counters, "segment")
        here, now = position[0], position[1:] if not flat else [position[0]]
        length = subtract(builder, end, here)
        if not flat:
            length = self._smaller(length, subtract(builder, self.axes[-1].count, now[-1]))
        if lanes is not None:
            lane = builder.emit(f"and i64 {here}, {LANES - 1}", "lane")
            if self._tiles is None:
                length = self._smaller(length, builder.emit(f"sub i64 {LANES}, {lane}"))
            shift = subtract(builder, lane, now[-1])
        else:
            shift = "0"
        outer = now[:-1]
        stop = builder.emit(f"add i64 {now[-1]}, {length}")
        base = "0" if flat else subtract(builder, here, now[-1])
        self._iterations(now[-1], stop, base, outer, None if lanes is None else (lanes, shift))
        after = [stop] if flat else self._advance([*now[:-1], stop])
        reached = builder.emit(f"add i64 {here}, {length}")
        self._close_positions(following, [reached] if flat else [reached, *after], latch, end)
        return after

    def _iterations(self, begin: str, end: str, base: str, outer: list[str], lanes: tuple[Lanes, str] | None) -> None:
        """The innermost loop: its counter runs from begin to end, which is further, at these counters of the other axes."""
        if self._tiles is not None:
            if lanes is None:
                self._tiles.run(begin, end, outer)
            else:
                self._tiles.reduce(begin, end, add(self.builder, begin, lanes[1]), outer, lanes[0])
            return
        indices = [self.index(axis, counter) for axis, counter in zip(self.axes[:-1], outer, strict=True)]

        def iteration(counter: str) -> None:
            self._base, self._inner = base, counter
            self._indices = [*indices, self.index(self.axes[-1], counter)]
            parameters: list[Lowered] = [*self._indices, *self._reducer.identities(self.scalars)]
            self.bind_all(self.body.parameters, parameters)
            yields = [value for value in self.run(self.body) if isinstance(value, str)]
            if lanes is not None:
                lanes[0].accumulate(add(self.builder, counter, lanes[1]), yields)

        properties: tuple[str, ...] = self._rolled if has_loop(self.body) else ()
        if self._group is not None:
            parallel = self.builder.module.metadata(f'!{{!"llvm.loop.parallel_accesses", {self._group}}}')
            properties = (parallel, *properties)
        counted_loop(self, begin, end, iteration, properties=properties)

    def _advance(self, counters: list[str]) -> list[str]:
        """Counters of which the last has moved, carried over where they reach their count, as an odometer does."""
        builder, moved = self.builder, list(counters)
        for dimension in reversed(range(1, len(moved))):
            over = builder.emit(f"icmp eq i64 {moved[dimension]}, {self.axes[dimension].count}")
            moved[dimension] = builder.emit(f"select i1 {over}, i64 0, i64 {moved[dimension]}")
            carry = builder.emit(f"zext i1 {over} to i64")
            moved[dimension - 1] = builder.emit(f"add i64 {moved[dimension - 1]}, {carry}")
        return moved

    def index(self, axis: Axis, counter: str) -> str:
        """The index of an axis at a counter."""
        index = add(self.builder, axis.lower, multiply(self.builder, counter, axis.step))
        self.facts.index(index, axis.lower, axis.upper, axis.step)
        return index

    def _smaller(self, a: str, b: str) -> str:
        less = self.builder.emit(f"icmp ult i64 {a}, {b}")
        return self.builder.emit(f"select i1 {less}, i64 {a}, i64 {b}")

    def _open_positions(self, begin: str, counters: list[str], hint: str) -> tuple[list[str], list[str], str]:
        """Begin a loop over positions that carries counters: (position and counters, names of their next values, its latch)."""
        builder = self.builder
        loop, latch = builder.new_block(hint), builder.new_block("latch")
        before = builder.block
        builder.jump(loop)
        builder.open(loop)
        following = [builder.fresh("next") for _ in [begin, *counters]]
        now = [
            builder.emit(f"phi i64 [ {first}, %{before} ], [ {name}, %{latch} ]", hint)
            for first, name in zip([begin, *counters], following, strict=True)
        ]
        self._loops.append(loop)
        return now, following, latch

    def _close_positions(self, following: list[str], values: list[str], latch: str, end: str) -> None:
        """End that loop: go round again unless the position has reached `end`."""
        builder = self.builder
        came = builder.block
        builder.jump(latch)
        builder.open(latch)
        for name, value in zip(following, values, strict=True):
            builder.append(f"{name} = phi i64 [ {value}, %{came} ]")
        more = builder.emit(f"icmp ult i64 {following[0]}, {end}")
        after = builder.new_block("after")
        builder.branch(more, self._loops.pop(), after)
        builder.open(after)

    def properties(self, loop: For) -> tuple[str, ...]:
        """A loop whose length nothing foretells is unrolled only with the odd iterations first; twice, if it reads from anywhere.

        Last, they would be one more way out for each row that is guessed wrong. And where elements are far away, wrong guesses
        cost more than long bodies save; where each step is tested as well, not at all (`gathers.py`).
        """
        foretold = None not in self._variations.length(loop.extent) or self._lengths.get(loop.extent, 0) >= LONG
        if tests_steps(loop):
            line = (self.builder.module.metadata('!{!"llvm.loop.align", i32 64}'),) if gathers(loop, self.gathers) else ()
            return (*self.rolled, *line)
        if not foretold and gathers(loop, self.gathers):
            return (self.builder.module.metadata('!{!"llvm.loop.unroll.count", i32 2}'),)
        if foretold or control.counts_itself(self.scalar(loop.extent.lower), self.scalar(loop.extent.step)):
            return ()
        return self._rolled

    @property
    def rolled(self) -> tuple[str, ...]:
        """A loop that is not worth being unrolled at all."""
        return (self.builder.module.metadata('!{!"llvm.loop.unroll.disable"}'),)

    @property
    def _rolled(self) -> tuple[str, ...]:
        """A loop stays as it is, but for its last iterations."""
        return (self.builder.module.metadata('!{!"llvm.loop.unroll.runtime.disable"}'),)

    def access(self, array: Value) -> str:
        """In a region of independent iterations, accesses of arrays that iterations share are in its access group."""
        suffix = self.aliases.suffix(array)
        if self._group is None or not self.aliases.apart(array, self._private):
            return suffix
        return f"{suffix}, !llvm.access.group {self._group}"

    # ------------------------------------------------------------------------------------------- faults

    def record(self, site: int, report: Report) -> None:
        """The thread is the iteration's position, worked out where it is needed."""
        thread = add(self.builder, self._base, self._inner)
        call_fault(self.builder, self._record, thread, site, report, self._indices, self.aliases.nothing)
        if self._flag is not None:
            self.builder.append(f"store i1 true, ptr {self._flag}")

    def faulted(self) -> str | None:
        """Read by `while` loops."""
        return self.builder.emit(f"load i1, ptr {self._flag}") if self._flag is not None else None


def tile_counts(builder: FunctionBuilder, tiling: Tiling, axes: list[Axis]) -> list[str]:
    """How many tiles there are along each dimension."""
    counts: list[str] = []
    for axis, extent in zip(axes, tiling.extents, strict=True):
        more = add(builder, axis.count, str(extent - 1))
        counts.append(axis.count if extent == 1 else builder.emit(f"udiv i64 {more}, {extent}"))
    return counts


def region_name(region: DeviceRegion) -> str:
    """The function of a region, without `@`."""
    return f"region_{region.number}"


def can_fault(region: Region) -> bool:
    """Whether an operation in `region` has a site."""
    return any(
        getattr(operation, "site", None) is not None or any(can_fault(inner) for inner in operation.regions)
        for operation in region.operations
    )


def locals_of(region: Region) -> list[Value]:
    """The local arrays that are made in `region`."""
    found: list[Value] = []
    for operation in region.operations:
        if isinstance(operation, Local):
            found.append(operation.result)
        for inner in operation.regions:
            found += locals_of(inner)
    return found


def _has_while(region: Region) -> bool:
    return any(
        isinstance(operation, While) or any(_has_while(inner) for inner in operation.regions) for operation in region.operations
    )
