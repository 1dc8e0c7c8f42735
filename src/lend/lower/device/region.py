"""Device regions -> kernels: one thread for each iteration.

Does: write `kernel @region_k(arrays…, words)`, each thread of which runs the iteration of its place, if there is one there; where
the loop reduces, a block of 64 threads runs the 2048 iterations of a block of the reduction tree.
Does not: launch it (`host.py`).
Invariants: what an iteration does is written by the same functions as for the processor. The last dimension of the box is the
launch's first, so that neighbours in a row are neighbouring threads; dimensions before the last two share the launch's third.
The order in which contributions are combined is that of `language/reduction.py`.
"""

from __future__ import annotations

from dataclasses import replace

from lend.ir.typed import Region, Store
from lend.language.reduction import BLOCK, LANES
from lend.language.types import ScalarType, Type
from lend.lower.aliases import Aliases
from lend.lower.arithmetic import memory_type, register_type
from lend.lower.builder import ModuleBuilder
from lend.lower.control import counted_loop
from lend.lower.device.abi import DeviceAbi, Shape
from lend.lower.device.environment import DeviceEnvironment
from lend.lower.device.places import Places
from lend.lower.environment import ENVIRONMENT, Environment
from lend.lower.faults import Report, call_fault
from lend.lower.indexing import add, literal, multiply, offset
from lend.lower.regions import Axis, RegionWriter, region_name
from lend.lower.values import ArrayValue
from lend.lower.writer import FunctionWriter
from lend.plan.regions import DeviceRegion

MOST_THREADS = 1024
"""Of a block."""
TERMS = BLOCK // LANES
"""So many contributions go into each lane of a block."""


class KernelWriter(RegionWriter):
    """One kernel being written, into the device's module, while its host function is.

    record: where faults are recorded, and what is added to positions there, as operands of the host function.
    """

    def __init__(
        self,
        host: FunctionWriter,
        region: DeviceRegion,
        record: tuple[str, str],
        axes: list[Axis],
        partials: str | None,
        module: ModuleBuilder,
        aliases: Aliases,
        abi: DeviceAbi,
        iterations: str,
    ) -> None:
        self._abi = abi
        self._kernel = region_name(region)
        plain = replace(region, tiling=None, streams=None, paced=None, panels=(), turned=())
        super().__init__(host, plain, record[0], axes, partials, module=module, aliases=aliases)
        self._tag = self.environment.word(record[1])
        self._group = None
        self.gathers = frozenset()  # nothing is loaded by arithmetic there
        self.facts.suffix = ""
        self._iterations_word = self.environment.word(iterations)
        self.places = Places(self.builder, self.facts.sums)
        self.note_exclusive(host, region)

    @property
    def device_environment(self) -> DeviceEnvironment:
        """What the launch hands over."""
        assert isinstance(self.environment, DeviceEnvironment)
        return self.environment

    @property
    def shape(self) -> Shape | None:
        """The threads of a block; None if any will do."""
        return (LANES, 1, 1) if self._partials is not None else self._abi.shape(min(len(self.axes), 3))

    def starts(self) -> list[int]:
        """The dimensions along which a launch may be done in parts."""
        dimensions = 0 if self._partials is not None else min(len(self.axes), 3)
        return list(range(dimensions)) if any(k < dimensions for k in self._abi.split) else []

    def make_environment(self, host: FunctionWriter) -> Environment:
        """Arrays are parameters."""
        return DeviceEnvironment(host, self, self._abi)

    def write(self) -> None:
        """Write the kernel into the device's module."""
        if self._flag is not None:
            self.builder.append(f"store i1 false, ptr {self._flag}")
        if self._partials is not None:
            self._reduce(self._partials)
        else:
            self.write_body()
        self.builder.ret("void")
        parameters = ", ".join([self.device_environment.parameters(), *(f"i64 %start.{k}" for k in self.starts())])
        head = f"define {self._abi.kernel} void @{self._kernel}({parameters}) nounwind"
        if self.shape is not None:
            head += self._abi.attributes(self.shape)
        self.builder.module.add_function(f"{head} {{\n{self.builder.body()}\n}}")

    def note_exclusive(self, host: FunctionWriter, region: DeviceRegion) -> None:
        """Parameters whose memory no other one reaches."""
        arrays = [(value, host.array(value).pointer) for value in region.captures if isinstance(self.values[value], ArrayValue)]
        for value, pointer in arrays:
            if not any(other is not value and self.aliases.meet(value, other) for other, _ in arrays):
                self.device_environment.exclusive.add(pointer)

    def record(self, site: int, report: Report) -> None:
        """The thread is the iteration's position, after those of earlier launches."""
        builder = self.builder
        thread = add(builder, add(builder, self._base, self._inner), self._tag)
        call_fault(builder, self._record, thread, site, report, self._indices, self.aliases.nothing)
        if self._flag is not None:
            builder.append(f"store i1 true, ptr {self._flag}")

    def between_iterations(self, carried: list[Type], body: Region | None = None) -> None:
        """A compiler that would add up in another order is kept from it: it leaves loops with such a load as they are."""
        if self._abi.dialect.keeps_order or self.scalars.mode == "fast":
            return
        if any(isinstance(type, ScalarType) and _rounds(type) for type in carried) or (body is not None and _stores_floats(body)):
            self.builder.emit(f"load volatile i64, ptr {ENVIRONMENT}, align 8", "once")

    # ------------------------------------------------------------------------------------------- without reductions

    def write_body(self) -> None:
        """What this thread's place asks for."""
        builder, inside = self.builder, "true"
        sizes = self.shape or (0, 0, 0)
        places = [self._position(dimension, sizes[dimension]) for dimension in range(min(len(self.axes), 3))]
        for dimension, place in enumerate(places):
            ok = builder.emit(f"icmp ult i64 {place}, {self.extents()[dimension]}")
            inside = ok if inside == "true" else builder.emit(f"and i1 {inside}, {ok}")
        work, done = builder.new_block("work"), builder.new_block("done")
        builder.branch(inside, work, done)
        builder.open(work)
        outer = places[1:2]
        if len(places) == 3:
            outer = [*self._unfold(places[2], self.axes[:-2]), *outer]
        self.at_place(outer, places[0])
        builder.jump(done)
        builder.open(done)

    def _position(self, dimension: int, size: int) -> str:
        """This thread's place along a dimension of the launch, of which this may be a part."""
        builder, start = self.builder, f"%start.{dimension}" if dimension in self.starts() else "0"
        if self._abi.parts is None:
            return add(builder, self._abi.position(builder, dimension, size), start)
        shared, own = self._abi.parts(builder, dimension, size)
        shared = add(builder, shared, start)
        place = add(builder, shared, own)
        self.places.note(place, shared, own, MOST_THREADS)
        return place

    def index(self, axis: Axis, counter: str) -> str:
        """The index of an axis at a counter."""
        index, step = super().index(axis, counter), literal(axis.step)
        if step is not None and index != counter:
            self.places.moved(index, counter, axis.lower, step)
        return index

    def element(self, pointer: str, indices: list[str], strides: tuple[str, ...]) -> str:
        """An address; what threads share comes first, where the target has registers for it."""
        found = self.places.address(pointer, indices, strides) if self._abi.parts is not None else None
        return super().element(pointer, indices, strides) if found is None else found

    def at_place(self, outer: list[str], place: str) -> None:
        """The iteration at a thread's place along the last dimension, at these counters of the others."""
        self.iterate([*outer, place])

    def extents(self) -> list[str]:
        """How many threads a launch needs along each of its dimensions; operands of the kernel."""
        counts = [axis.count for axis in reversed(self.axes)]
        if len(counts) <= 3:
            return counts
        leading = "1"
        for count in counts[2:]:
            leading = multiply(self.builder, leading, count)
        return [*counts[:2], leading]

    def _unfold(self, position: str, axes: list[Axis]) -> list[str]:
        """The counters of some axes at a row-major position."""
        counters: list[str] = []
        for axis in reversed(axes[1:]):
            counters.insert(0, self.builder.emit(f"urem i64 {position}, {axis.count}"))
            position = self.builder.emit(f"udiv i64 {position}, {axis.count}")
        return [position, *counters]

    def iterate(self, counters: list[str]) -> list[str]:
        """The body at these counters; gives what it contributes to the reductions."""
        builder, base = self.builder, "0"
        for counter, axis in zip(counters[:-1], self.axes[1:], strict=True):
            base = multiply(builder, add(builder, base, counter), axis.count)
        self._base, self._inner = base, counters[-1]
        self._indices = [self.index(axis, counter) for axis, counter in zip(self.axes, counters, strict=True)]
        self.bind_all(self.body.parameters, [*self._indices, *self._reducer.identities(self.scalars)])
        return [value for value in self.run(self.body) if isinstance(value, str)]

    # ------------------------------------------------------------------------------------------- with reductions

    def _reduce(self, partials: str) -> None:
        """A block of the reduction tree: each thread folds its lane, then the lanes are combined in halves."""
        builder, reducer = self.builder, self._reducer
        lane, block = self._abi.lane(builder), self._abi.block(builder, 0)
        first = add(builder, multiply(builder, block, str(BLOCK)), lane)
        slots = [builder.alloca(register_type(part.storage), "sum") for part in reducer.components]
        for slot, part, value in zip(slots, reducer.components, reducer.identities(self.scalars), strict=True):
            builder.append(f"store {register_type(part.storage)} {value}, ptr {slot}")

        def term(number: str) -> None:
            position = add(builder, first, multiply(builder, number, str(LANES)))
            work, next_one = builder.new_block("work"), builder.new_block("next")
            builder.branch(builder.emit(f"icmp ult i64 {position}, {self._iterations_word}"), work, next_one)
            builder.open(work)
            values = self.iterate(self._unfold(position, self.axes))
            self.between_iterations([part.storage for part in reducer.components])
            names = [register_type(part.storage) for part in reducer.components]
            old = [builder.emit(f"load {name}, ptr {slot}") for name, slot in zip(names, slots, strict=True)]
            for name, slot, value in zip(names, slots, reducer.combine(builder, old, values), strict=True):
                builder.append(f"store {name} {value}, ptr {slot}")
            builder.jump(next_one)
            builder.open(next_one)

        counted_loop(self, "0", str(TERMS), term, "term", (self.builder.module.metadata('!{!"llvm.loop.unroll.disable"}'),))
        own = [
            builder.emit(f"load {register_type(part.storage)}, ptr {slot}")
            for part, slot in zip(reducer.components, slots, strict=True)
        ]
        self._combine_lanes(lane, own, block, partials)

    def _combine_lanes(self, lane: str, own: list[str], block: str, partials: str) -> None:
        """Lanes in the block's memory, folded in halves; the first thread writes the block's result."""
        builder, reducer = self.builder, self._reducer
        self._store_lane(lane, own)
        self._abi.barrier(builder)
        width = LANES // 2
        while width:
            fold, after = builder.new_block("fold"), builder.new_block("folded")
            builder.branch(builder.emit(f"icmp ult i64 {lane}, {width}"), fold, after)
            builder.open(fold)
            upper = self._load_lane(add(builder, lane, str(width)))
            self._store_lane(lane, reducer.combine(builder, self._load_lane(lane), upper))
            builder.jump(after)
            builder.open(after)
            self._abi.barrier(builder)
            width //= 2
        result, done = builder.new_block("result"), builder.new_block("done")
        builder.branch(builder.emit(f"icmp eq i64 {lane}, 0"), result, done)
        builder.open(result)
        reducer.store_partial(builder, partials, block, self._load_lane("0"))
        builder.jump(done)
        builder.open(done)

    def _lane_places(self, lane: str) -> list[str]:
        builder, space = self.builder, self._abi.spaces.block
        places: list[str] = []
        for number, part in enumerate(self._reducer.components):
            name, type = f"{self._kernel}.lanes.{number}", f"[{LANES} x {memory_type(part.storage)}]"
            builder.module.declare(name, f"@{name} = internal addrspace({space}) global {type} undef, align 16")
            start = builder.emit(f"addrspacecast ptr addrspace({space}) @{name} to ptr", "lanes")
            places.append(offset(builder, start, multiply(builder, lane, str(part.storage.bytes))))
        return places

    def _load_lane(self, lane: str) -> list[str]:
        parts = self._reducer.components
        return [
            self.scalars.load(part.storage, place, part.alignment)
            for part, place in zip(parts, self._lane_places(lane), strict=True)
        ]

    def _store_lane(self, lane: str, values: list[str]) -> None:
        for part, place, value in zip(self._reducer.components, self._lane_places(lane), values, strict=True):
            self.scalars.store(part.storage, value, place, part.alignment)


def _rounds(type: ScalarType) -> bool:
    return type.kind in ("float", "complex")


def _stores_floats(region: Region) -> bool:
    """Whether floats are stored in a loop: elements that it adds up may be kept in registers, as if they were carried."""
    return any(
        (isinstance(operation, Store) and _rounds(operation.value.scalar)) or any(map(_stores_floats, operation.regions))
        for operation in region.operations
    )
