"""Blocks of threads -> kernels: a block of the launch for each block, a thread for each thread.

Does: write `kernel @region_k`, whose blocks run the code of one block of `lend.blocks`; barriers, arrays that threads share,
reductions of a block, operations of sub-groups.
Does not: launch it (`host.py`), or ask whether barriers are met by all (`checks/`).
Invariants: what a block does outside its loops over threads, all threads of the launch's block do, with the same values. A
launch's block has as many threads as the largest loop needs, rounded up to a power of two; those that a loop has no work for skip
all of it but the barriers and the branches and loops around them, which depend on nothing that differs between threads (proved).
The order in which contributions are combined is that of `language/reduction.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import Any, ClassVar

from lend.diagnostics.errors import DeviceError
from lend.ir import typed
from lend.ir.typed import Operation, Parallel, Region, Value
from lend.language.reduction import LANES
from lend.language.types import Borrow, ScalarType, size_of
from lend.lower.control import counted_loop, write_while
from lend.lower.device.abi import Shape
from lend.lower.device.meetings import Meetings, waits
from lend.lower.device.region import KernelWriter
from lend.lower.device.subgroups import write_subgroup
from lend.lower.faults import Report, call_fault
from lend.lower.indexing import add, multiply, offset
from lend.lower.reductions import Reducer
from lend.lower.regions import COMMON_OPERATIONS
from lend.lower.teams import TEAM
from lend.lower.values import ArrayValue, Lowered, assemble, describe, operands
from lend.lower.writer import FunctionWriter
from lend.plan.regions import DeviceRegion

ALIGNED = 64
"""Arrays that threads share begin at multiples of so many bytes."""


def threads_of(region: Region) -> Iterator[typed.Threads]:
    """The loops over threads in a block's body."""
    for operation in region.operations:
        if isinstance(operation, typed.Threads):
            yield operation
        else:
            for inner in operation.regions:
                yield from threads_of(inner)


def team_size(body: Region) -> int:
    """How many threads a launch's block has."""
    found = list(threads_of(body))
    most = max((prod(each.sizes) for each in found), default=1)
    if any(each.reductions for each in found):
        most = max(most, LANES)
    return 1 << max(most - 1, 0).bit_length()


class TeamKernelWriter(KernelWriter):
    """One kernel for blocks of threads."""

    operations: ClassVar[Mapping[type, Callable[[Any, Any], None]]] = COMMON_OPERATIONS

    @property
    def shape(self) -> Shape:
        """The threads of a block, in a row."""
        return (team_size(self.body), 1, 1)

    def starts(self) -> list[int]:
        """A launch of very many blocks is done in parts."""
        return [0] if 0 in self._abi.split else []

    def write_body(self) -> None:
        """The block at this place: all of its threads get here."""
        builder = self.builder
        self.lane = self._abi.lane(builder)
        self._shared_bytes = self._arrays = 0
        self._thread, self._thread_indices = "0", list[str]()
        self._loops_that_wait = False
        self._line = self.body.operations[0].span.line if self.body.operations else 0
        self._active: list[str] = []  # around the open block: whether this thread has work, where not all have
        self._meetings = Meetings(None)
        place = self._abi.block(builder, 0)
        if self.starts():
            place = add(builder, place, builder.emit(f"udiv i64 %start.0, {self.shape[0]}"))
        self.iterate(self._unfold(place, self.axes))

    def note_exclusive(self, host: FunctionWriter, region: DeviceRegion) -> None:
        """Only of what nobody writes: LLVM takes it that no barrier brings another thread's writes to memory that is reached by
        one pointer alone."""
        super().note_exclusive(host, region)
        stored = [o.array for o in _writes(self.body)]
        for value in region.captures:
            if isinstance(self.values[value], ArrayValue) and any(self.aliases.meet(value, array) for array in stored):
                self.device_environment.exclusive.discard(host.array(value).pointer)

    # ------------------------------------------------------------------------------------------- threads

    def threads(self, operation: typed.Threads) -> None:
        """A loop over the threads of the block: each runs its own iteration."""
        builder, count, size = self.builder, prod(operation.sizes), self.shape[0]
        self.barrier()
        thread = self.lane
        if count < size:  # the others take the way of the last
            idle = builder.emit(f"icmp uge i64 {self.lane}, {count}", "idle")
            thread = builder.emit(f"select i1 {idle}, i64 {max(count - 1, 0)}, i64 {self.lane}")
        self._thread, self._thread_indices = thread, self._decoded(thread, operation.sizes)
        reducer = Reducer(Parallel(operation.span, operation.results, (), operation.reductions, operation.body, None))
        identities = reducer.identities(self.scalars)
        self.bind_all(operation.body.parameters, [*self._thread_indices, *identities])
        self._meetings = Meetings(operation)
        values = identities
        if count:
            active = "true" if count == size else builder.emit(f"icmp ult i64 {self.lane}, {count}", "active")
            self._active.append(active)
            values = [value for value in self.run(operation.body) if isinstance(value, str)]
            self._active.pop()
        self._thread, self._thread_indices = "0", []
        if operation.reductions:
            self.bind_all(operation.results, [*self._combined(operation, reducer, values, count)])
        self.barrier()

    def _decoded(self, thread: str, sizes: tuple[int, ...]) -> list[str]:
        """A thread's indices, row-major."""
        indices: list[str] = []
        for size in reversed(sizes[1:]):
            indices.insert(0, self.builder.emit(f"urem i64 {thread}, {max(size, 1)}"))
            thread = self.builder.emit(f"udiv i64 {thread}, {max(size, 1)}")
        return [thread, *indices]

    def run(self, region: Region) -> list[Lowered]:
        """Write a region; where some threads have no work, these skip what is between barriers."""
        if not self._active or self._active[-1] == "true":
            return super().run(region)
        part: list[Operation] = []
        for operation in region.operations:
            if self._meetings.by_all(operation):
                self._guarded(part)
                part = []
                self.operations[type(operation)](self, operation)
            else:
                part.append(operation)
        self._guarded(part)
        return [self.get(value) for value in region.yields]

    def _guarded(self, operations: list[Operation]) -> None:
        """Operations for threads that have work; what they give means nothing in others."""
        if not operations:
            return
        builder = self.builder
        work, after = builder.new_block("work"), builder.new_block("idle")
        before = builder.block
        builder.branch(self._active[-1], work, after)
        builder.open(work)
        tested = dict(self.tested)
        self._active.append("true")
        for operation in operations:
            self.operations[type(operation)](self, operation)
        self._active.pop()
        self.tested = tested
        came = builder.block
        builder.jump(after)
        builder.open(after)
        results = [result for operation in operations for result in operation.results]
        nothing: list[Lowered] = [self._nothing(result) for result in results]
        arms = [(nothing, before), ([self.values[result] for result in results], came)]
        self.bind_all(tuple(results), self.merge([result.type for result in results], arms))

    def _nothing(self, value: Value) -> Lowered:
        """A value for threads that have none."""
        if isinstance(value.type, ScalarType):
            return self.zero(value.type)
        there = self.values[value]
        parts = ["null" if type == "ptr" else "0" for type, _ in operands(value.type, there)]
        return assemble(self.builder, value.type, parts)

    def sync(self, operation: typed.Sync) -> None:
        """A barrier that the user wrote."""
        self.barrier()

    def faulted(self) -> str | None:
        """A thread does not leave a loop with barriers on its own, whatever has happened to it."""
        return None if self._loops_that_wait else super().faulted()

    def loop(self, operation: typed.While) -> None:
        """A loop of unknown length."""
        held, self._loops_that_wait = self._loops_that_wait, self._loops_that_wait or waits(operation)
        write_while(self, operation)
        self._loops_that_wait = held

    def barrier(self) -> None:
        """All threads of the block wait for each other."""
        self._abi.barrier(self.builder)

    def subgroup(self, operation: typed.Subgroup) -> None:
        """An operation of neighbouring threads."""
        write_subgroup(self, self._abi, operation, apart=self._meetings.apart(operation))

    # ------------------------------------------------------------------------------------------- memory

    def shared(self, operation: typed.Shared) -> None:
        """An array that the threads of a block share."""
        array = operation.result.array
        pointer = self.block_memory(operation.result.name or "shared", size_of(array.element) * prod(operation.sizes))
        sizes = tuple(str(size) for size in operation.sizes)
        self.bind(operation.result, describe(self.builder, array, pointer, sizes, (), pointer))
        self._line = operation.span.line
        if array.borrow is Borrow.ATOMIC:
            self._clear(pointer, size_of(array.element) * prod(operation.sizes))

    def block_memory(self, name: str, bytes: int) -> str:
        """Memory of the block's own, of any content."""
        builder, space = self.builder, self._abi.spaces.block
        self._shared_bytes += -(-bytes // ALIGNED) * ALIGNED
        most = self._abi.most_shared
        if most and self._shared_bytes > most:
            raise DeviceError(
                f"line {self._line}: a block needs {self._shared_bytes:,} bytes of memory that its threads share, and "
                f"{self._abi.dialect.name} gives it {most:,}"
            )
        symbol, self._arrays = f"{self._kernel}.{self._arrays}", self._arrays + 1
        type = f"[{max(bytes, 1)} x i8]"
        builder.module.declare(symbol, f"@{symbol} = internal addrspace({space}) global {type} undef, align {ALIGNED}")
        return builder.emit(f"addrspacecast ptr addrspace({space}) @{symbol} to ptr", name)

    def _clear(self, pointer: str, bytes: int) -> None:
        """Zeros, by all threads, before any goes on. Elements have 4 or 8 bytes."""
        words, size = bytes // 4, self.shape[0]
        if not words:
            return
        self.barrier()

        def clear(number: str) -> None:
            at = add(self.builder, multiply(self.builder, number, str(size)), self.lane)
            inside = self.builder.emit(f"icmp ult i64 {at}, {words}")
            store, after = self.builder.new_block("clear"), self.builder.new_block("cleared")
            self.builder.branch(inside, store, after)
            self.builder.open(store)
            self.builder.append(f"store i32 0, ptr {offset(self.builder, pointer, multiply(self.builder, at, '4'))}, align 4")
            self.builder.jump(after)
            self.builder.open(after)

        counted_loop(self, "0", str(-(-words // size)), clear, "part")
        self.barrier()

    # ------------------------------------------------------------------------------------------- reductions of a block

    def _combined(self, operation: typed.Threads, reducer: Reducer, values: list[str], count: int) -> list[str]:
        """What the threads contribute, folded in the order of the tree; the same in all of them."""
        builder = self.builder
        rooms = [self.block_memory("sums", part.storage.bytes * max(self.shape[0], LANES)) for part in reducer.components]

        def load(lane: str) -> list[str]:
            return [
                self.scalars.load(
                    part.storage, offset(builder, room, multiply(builder, lane, str(part.storage.bytes))), part.alignment
                )
                for part, room in zip(reducer.components, rooms, strict=True)
            ]

        def store(lane: str, given: list[str]) -> None:
            for part, room, value in zip(reducer.components, rooms, given, strict=True):
                place = offset(builder, room, multiply(builder, lane, str(part.storage.bytes)))
                self.scalars.store(part.storage, value, place, part.alignment)

        identities = reducer.identities(self.scalars)
        store(self.lane, values)
        self.barrier()
        self._only_lanes(LANES, lambda: store(self.lane, self._gathered(reducer, load, identities, count)))
        width = LANES // 2
        while width:
            distance = str(width)

            def halve(distance: str = distance) -> None:
                upper = load(add(builder, self.lane, distance))
                store(self.lane, reducer.combine(builder, load(self.lane), upper))

            self._only_lanes(width, halve)
            width //= 2
        folded = load("0")
        self.barrier()
        inits = [self.scalar(init) for reduction in operation.reductions for init in reduction.inits]
        return reducer.combine(builder, inits, folded)

    def _gathered(self, reducer: Reducer, load: Callable[[str], list[str]], start: list[str], count: int) -> list[str]:
        """A lane: the values at its distance from each other, in order."""
        builder, total = self.builder, start
        for first in range(0, max(count, 1), LANES):
            at = add(builder, self.lane, str(first))
            there, after = builder.new_block("there"), builder.new_block("taken")
            before = builder.block
            builder.branch(builder.emit(f"icmp ult i64 {at}, {count}"), there, after)
            builder.open(there)
            more = reducer.combine(builder, total, load(at))
            came = builder.block
            builder.jump(after)
            builder.open(after)
            types = [part.type for part in reducer.components]
            merged = self.merge([*types], [([*total], before), ([*more], came)])
            total = [value for value in merged if isinstance(value, str)]
        return total

    def _only_lanes(self, count: int, work: Callable[[], None]) -> None:
        """The first threads work, and all wait."""
        builder = self.builder
        some, after = builder.new_block("fold"), builder.new_block("folded")
        builder.branch(builder.emit(f"icmp ult i64 {self.lane}, {count}"), some, after)
        builder.open(some)
        work()
        builder.jump(after)
        builder.open(after)
        self.barrier()

    # ------------------------------------------------------------------------------------------- faults

    def record(self, site: int, report: Report) -> None:
        """The thread is the block's position times TEAM, and the thread's own."""
        builder = self.builder
        block = multiply(builder, add(builder, self._base, self._inner), str(TEAM))
        position = add(builder, add(builder, block, self._thread), self._tag)
        places = [*self._indices, *self._thread_indices]
        call_fault(builder, self._record, position, site, report, places, self.aliases.nothing)
        if self._flag is not None:
            builder.append(f"store i1 true, ptr {self._flag}")


TeamKernelWriter.operations = {
    **COMMON_OPERATIONS,
    typed.Threads: TeamKernelWriter.threads,
    typed.Shared: TeamKernelWriter.shared,
    typed.Sync: TeamKernelWriter.sync,
    typed.Subgroup: TeamKernelWriter.subgroup,
    typed.While: TeamKernelWriter.loop,
}


def _writes(region: Region) -> Iterator[typed.Store | typed.Atomic]:
    """What changes arrays."""
    for operation in region.operations:
        if isinstance(operation, typed.Store | typed.Atomic):
            yield operation
        for inner in operation.regions:
            yield from _writes(inner)
