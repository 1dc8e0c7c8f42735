"""The host function -> LLVM: a kernel's host level, which launches its device regions.

Does: write `i32 @kernel(ptr arguments, ptr results, ptr fault)` by `language/abi.py`, and the functions of its regions.
Does not: write loop bodies of regions (`regions.py`) or the pool that runs them (`lend_parallel_for`, a target's).
Invariants: a fault at the host level, and a fault recorded by a region, end the function with 1; every way out frees what is not
returned. Chunks are computed from the iteration count and the plan alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from lend.ir import typed
from lend.ir.typed import Allocate, Local, Parallel, Region, Require, Value
from lend.language.abi import FAULT_THREAD, HOST_LEVEL, NO_FAULT, NO_SITE, argument_words, result_words
from lend.language.reduction import BLOCK
from lend.language.types import ArrayType, size_of
from lend.lower import temporaries
from lend.lower.aliases import Aliases
from lend.lower.builder import ModuleBuilder
from lend.lower.chunks import divide_up, write_chunk
from lend.lower.computed_indices import write_distinct
from lend.lower.control import checked_count, write_for, write_while
from lend.lower.environment import WORD, at
from lend.lower.faults import LIKELY, Failure, Report, call_fault
from lend.lower.index_tests import write_within_rest
from lend.lower.indexing import add, multiply, saturating_product
from lend.lower.reductions import PARTIAL_BYTES, Reducer, define_fold
from lend.lower.regions import COMMON_OPERATIONS, Axis, RegionWriter, can_fault, region_name, tile_counts
from lend.lower.scalars import index_word
from lend.lower.shapes import Shapes
from lend.lower.teams import MOST_ON_STACK, TeamWriter, kept_bytes
from lend.lower.turns import release_turn, write_turn
from lend.lower.values import ArrayValue, Lowered, carries_strides, describe
from lend.lower.waves import Launch, WaveWriter
from lend.lower.writer import FunctionWriter
from lend.plan.regions import DeviceRegion, Plan

ARGUMENTS, RESULTS, FAULT = "%arguments", "%results", "%fault"
CORE_CACHE, LAST_CACHE = 2, 3
"""The numbers of the cache that a core has for itself, and of the last one."""
LONG = 250
"""Lines of a host function that LLVM writes as they stand, which costs tens of nanoseconds for each step of a loop."""
STACK_BLOCKS = 64
"""Partial results of so many blocks lie on the stack; more are allocated."""


class HostWriter(FunctionWriter):
    """The host function being written."""

    ends_at_fault: ClassVar[bool] = True

    def __init__(self, module: ModuleBuilder, plan: Plan, aliases: Aliases, shapes: Shapes) -> None:
        super().__init__(module, plan.kernel, aliases, shapes)
        self._regions = {region.parallel: region for region in plan.regions}
        self._waves = {wave.loop: wave for wave in plan.waves}
        self._wave: WaveWriter | None = None  # of the loop that is being written
        self._exit = self.builder.new_block("fault_exit")
        self.table = temporaries.Table(self.builder, temporaries.capacity(plan.kernel.body))

    def write(self) -> None:
        """Write the function, and those of its regions, into the module."""
        self._arguments()
        yields = self.run(self.kernel.body)
        self._results(yields)
        self.table.sweep("0", yields)
        self.builder.ret("i32 0")
        self.builder.open(self._exit)
        self.table.sweep("0", [])
        self.builder.ret("i32 1")
        parameters = ", ".join(f"ptr noalias {name}" for name in (ARGUMENTS, RESULTS, FAULT))
        body = self.builder.body()
        effort = ""
        if not computes(self.kernel.body):  # nothing to unroll or to vectorise: LLVM need not try
            effort = "noinline optnone " if body.count("\n") > LONG else "optsize "
        self.builder.module.add_function(f"define i32 @kernel({parameters}) {effort}nounwind {{\n{body}\n}}")

    # ------------------------------------------------------------------------------------------- boundary

    def _arguments(self) -> None:
        word = 0
        declared = {parameter.value: parameter.sizes for parameter in self.kernel.parameters}
        for value in (*self.kernel.dims, *declared):
            if isinstance(value.type, ArrayType):
                self.bind(value, self._array_argument(value.type, word, declared[value]))
            else:
                self.bind(value, self.scalars.load(value.type, at(self.builder, ARGUMENTS, word), WORD))
            word += argument_words(value.type)

    def _array_argument(self, type: ArrayType, word: int, declared: tuple[Value | int, ...]) -> ArrayValue:
        """An array; a size that the signature says, which the call has checked, is not read again."""

        def read(llvm: str, position: int) -> str:
            return self.builder.emit(f"load {llvm}, ptr {at(self.builder, ARGUMENTS, word + position)}, align {WORD}")

        count = type.dimensions
        sizes = tuple(self._declared(declared[k : k + 1]) or read("i64", 1 + k) for k in range(count))
        strides = tuple(read("i64", 1 + count + k) for k in range(count)) if carries_strides(type) else ()
        return describe(self.builder, type, read("ptr", 0), sizes, strides)

    def _declared(self, size: tuple[Value | int, ...]) -> str | None:
        """The operand of a size in the signature, if it stands already: a number or a dim, not one that the body computes."""
        if not size:
            return None
        if isinstance(size[0], int):
            return str(size[0])
        return self.scalar(size[0]) if size[0] in self.values else None

    def _results(self, yields: list[Lowered]) -> None:
        word = 0
        for value, lowered in zip(self.kernel.body.yields, yields, strict=True):
            if isinstance(lowered, ArrayValue):
                words = [("ptr", lowered.pointer), ("ptr", lowered.owner)]
                words += [("i64", operand) for operand in (*lowered.sizes, *lowered.strides)]
                for position, (llvm, operand) in enumerate(words):
                    self.builder.append(f"store {llvm} {operand}, ptr {at(self.builder, RESULTS, word + position)}, align {WORD}")
            else:
                self.scalars.store(value.scalar, lowered, at(self.builder, RESULTS, word), WORD)
            word += result_words(value.type)

    # ------------------------------------------------------------------------------------------- scopes, faults

    def enter(self, *regions: Region) -> str | None:
        """A mark, if the regions allocate."""
        return self.table.mark() if any(temporaries.capacity(region) for region in regions) else None

    def leave(self, mark: str | None, yields: list[Lowered]) -> None:
        """Free what was allocated since, except what leaves."""
        if mark is not None:
            self.table.sweep(mark, yields)

    def record(self, site: int, report: Report) -> None:
        """A fault of the host level."""
        call_fault(self.builder, FAULT, str(HOST_LEVEL), site, report, [], self.aliases.nothing)

    def leave_at_fault(self) -> None:
        """To the common exit."""
        self.builder.jump(self._exit)

    # ------------------------------------------------------------------------------------------- parallel loops

    def launch(self, operation: Parallel) -> None:
        """Run a region over its box, and combine its reductions."""
        builder, region = self.builder, self._regions[operation]
        axes: list[Axis] = []
        for extent in operation.box:
            lower, upper, step = (self.scalar(value) for value in (extent.lower, extent.upper, extent.step))
            axes.append(Axis(lower, upper, step, checked_count(self, lower, upper, step, operation.site)))
        iterations = saturating_product(builder, [axis.count for axis in axes])
        inits = [self.get(value) for reduction in operation.reductions for value in reduction.inits]
        work, after = builder.new_block("launch"), builder.new_block("after")
        some = builder.emit(f"icmp ne i64 {iterations}, 0")
        before = builder.block
        builder.branch(some, work, after)
        builder.open(work)
        combined = self._launch(region, axes, iterations, [text for text in inits if isinstance(text, str)])
        came = builder.block
        builder.jump(after)
        builder.open(after)
        types = [value.type for value in operation.results]
        self.bind_all(operation.results, self.merge(types, [(inits, before), (combined, came)]))

    def _launch(self, region: DeviceRegion, axes: list[Axis], iterations: str, inits: list[str]) -> list[Lowered]:
        """At least one iteration; gives the reductions' results."""
        builder, reducer = self.builder, Reducer(region.parallel)
        partials = blocks = None
        if reducer.components:
            blocks = divide_up(builder, iterations, BLOCK)
            partials = self._partials(blocks, reducer)
        each = region.paced if region.streams is None else region.streams.bytes
        large = "false" if each is None else self._passes(iterations, each)
        turned = [(value, last) for value, last in region.turned if not self._written(region.parallel.body, value)]
        turns = {value: write_turn(self, self.array(value), last) for value, last in turned}
        kind = TeamWriter if region.parallel.team else RegionWriter
        writer = kind(self, region, FAULT, axes, partials, large, self._panels(region), turns)
        writer.write()
        phase = None if self._wave is None else self._wave.phase(region.parallel)
        if self._wave is None or phase is None:
            self._dispatch(region, writer.environment.fill(), iterations, axes)
        else:
            arrays = [self.array(value) for value in region.captures if isinstance(value.type, ArrayType)]
            launch = Launch(phase, region_name(region), writer.environment, axes, iterations, arrays)
            self._wave.launch(launch, lambda env: self._dispatch(region, env, iterations, axes))
        for turn in turns.values():
            release_turn(self, turn)
        results: list[Lowered] = []
        if partials is not None and blocks is not None:
            fold = f"fold_{region.number}"
            define_fold(builder.module, reducer, fold)
            builder.append(f"call void @{fold}(ptr {partials}, i64 {blocks})")
            results += reducer.combine(builder, inits, reducer.load_partial(builder, partials, "0"))
            self._release(partials, blocks)
        if can_fault(region.parallel.body) or kept_bytes(region) > MOST_ON_STACK:
            self._stop_after_fault()
        return results

    def _passes(self, iterations: str, bytes: int) -> str:
        """Whether iterations go through more memory than the last cache holds."""
        builder = self.builder
        builder.module.declare("lend_cache_bytes", "declare i64 @lend_cache_bytes(i64)")
        cache = builder.emit(f"call i64 @lend_cache_bytes(i64 {LAST_CACHE})")
        return builder.emit(f"icmp ugt i64 {iterations}, {builder.emit(f'udiv i64 {cache}, {bytes}')}")

    def _written(self, body: Region, array: Value) -> bool:
        """Whether a loop may write an array, under whatever name: a copy made before it would not hold."""
        for operation in body.operations:
            if isinstance(operation, typed.Store):
                roots = self.aliases.private([operation.array])
                if not roots or not self.aliases.apart(array, roots):
                    return True
            if any(self._written(inner, array) for inner in operation.regions):
                return True
        return False

    def _panels(self, region: DeviceRegion) -> str:
        """Whether tiles go panel by panel, and not row by row: where what the rows of a panel share exceeds a core's cache.

        Of loops by rows: whether the arrays that they read exceed the last cache.
        """
        if region.by_rows is not None:
            return self._exceed([self.array(value) for value in region.by_rows.arrays], LAST_CACHE, 4)
        arrays = [self.array(value) for value in region.panels if value in self.values]
        if region.tiling is None or region.tiling.by_row or not arrays:
            return "false"
        return self._exceed(arrays, CORE_CACHE, 5)

    def exceed(self, operation: typed.Exceed) -> None:
        """Whether arrays are larger than a core's cache."""
        self.bind(operation.result, self._exceed([self.array(value) for value in operation.arrays], CORE_CACHE, 4))

    def _exceed(self, arrays: list[ArrayValue], level: int, shift: int) -> str:
        """Whether arrays are larger than a cache (a shift of 4), or a half of it (5)."""
        builder, total = self.builder, "0"
        for array in arrays:
            size = str(size_of(array.type.element))
            bytes = saturating_product(builder, [*array.sizes, size])
            total = add(builder, total, builder.emit(f"lshr i64 {bytes}, 4"))  # sixteenths: sums of a few do not wrap
        builder.module.declare("lend_cache_bytes", "declare i64 @lend_cache_bytes(i64)")
        cache = builder.emit(f"call i64 @lend_cache_bytes(i64 {level})")
        return builder.emit(f"icmp ugt i64 {total}, {builder.emit(f'lshr i64 {cache}, {shift}')}")

    def _dispatch(self, region: DeviceRegion, env: str, iterations: str, axes: list[Axis]) -> None:
        """One chunk is run here; more are the pool's. Positions are those of iterations, or of tiles where tiles are not rows."""
        builder = self.builder
        chunk = write_chunk(self, region, iterations)
        if region.tiling is not None and not region.tiling.by_row:
            iterations = saturating_product(builder, tile_counts(builder, region.tiling, axes))
            more = builder.emit(f"add i64 {chunk}, {region.tiling.volume - 1}")
            chunk = builder.emit(f"udiv i64 {more}, {region.tiling.volume}", "chunk")
        here, pool, after = (builder.new_block(hint) for hint in ("here", "pool", "joined"))
        single = builder.emit(f"icmp ule i64 {iterations}, {chunk}")
        builder.branch(single, here, pool)
        builder.open(here)
        builder.append(f"call void @{region_name(region)}(ptr {env}, i64 0, i64 {iterations})")
        builder.jump(after)
        builder.open(pool)
        builder.module.declare("lend_parallel_for", "declare void @lend_parallel_for(ptr, ptr, i64, i64)")
        builder.append(f"call void @lend_parallel_for(ptr @{region_name(region)}, ptr {env}, i64 {iterations}, i64 {chunk})")
        builder.jump(after)
        builder.open(after)

    def loop(self, operation: typed.For | typed.While) -> None:
        """A loop; what waits in it for later steps has run when it ends."""
        wave = self._waves.get(operation)
        if wave is not None:
            self._wave = WaveWriter(self, wave)
        if isinstance(operation, typed.For):
            write_for(self, operation)
        else:
            write_while(self, operation)
        if wave is not None and self._wave is not None:
            self._wave.flush()
            self._wave = None

    def before(self, operation: typed.Operation) -> None:
        """Some operations need what waits to have run."""
        if self._wave is not None and operation in self._wave.barriers:
            self._wave.flush()

    # ------------------------------------------------------------------------------------------- partial results

    def _partials(self, blocks: str, reducer: Reducer) -> str:
        """Room for the partial result of each block."""
        builder = self.builder
        stack = builder.alloca(f"[{STACK_BLOCKS * reducer.partial_bytes} x i8]", "partials", PARTIAL_BYTES)
        many, after = builder.new_block("many"), builder.new_block("room")
        few = builder.emit(f"icmp ule i64 {blocks}, {STACK_BLOCKS}")
        before = builder.block
        builder.branch(few, after, many)
        builder.open(many)
        heap = self._heap(multiply(builder, blocks, str(reducer.partial_bytes)))
        came = builder.block
        builder.jump(after)
        builder.open(after)
        return builder.emit(f"phi ptr [ {stack}, %{before} ], [ {heap}, %{came} ]", "partials")

    def _release(self, partials: str, blocks: str) -> None:
        builder = self.builder
        release, after = builder.new_block("release"), builder.new_block("released")
        few = builder.emit(f"icmp ule i64 {blocks}, {STACK_BLOCKS}")
        builder.branch(few, after, release)
        builder.open(release)
        self._free_heap(partials)
        builder.jump(after)
        builder.open(after)

    def _heap(self, bytes: str) -> str:
        """Memory of the host for partial results."""
        return temporaries.allocate(self, bytes, NO_SITE)

    def _free_heap(self, pointer: str) -> None:
        """Give it back."""
        temporaries.release(self, pointer)

    def _stop_after_fault(self) -> None:
        """Leave if a thread has recorded a fault."""
        builder = self.builder
        thread = builder.emit(f"load i64, ptr {at(builder, FAULT, FAULT_THREAD)}, align {WORD}")
        fine = builder.emit(f"icmp eq i64 {thread}, {NO_FAULT}")
        on = builder.new_block("fine")
        builder.branch(fine, on, self._exit, LIKELY)
        builder.open(on)


def _write_require(writer: HostWriter, operation: Require) -> None:
    """A condition that ends the kernel if it is false."""

    def report() -> Failure:
        return Failure("0", _word(writer, operation.index), _word(writer, operation.size))

    writer.check(writer.scalar(operation.condition), operation.site, report)


def _word(writer: HostWriter, value: Value | None) -> str:
    return "0" if value is None else index_word(writer, value.scalar, writer.scalar(value))


def _write_allocate(writer: HostWriter, operation: Allocate) -> None:
    temporaries.write_allocate(writer, operation, writer.table)


def _write_local(writer: HostWriter, operation: Local) -> None:
    temporaries.write_host_local(writer, operation, writer.table)


def computes(region: Region) -> bool:
    """Whether there is a loop at host level that launches nothing."""
    return any(
        computes(inner) or (isinstance(operation, typed.For | typed.While) and not _launches(operation))
        for operation in region.operations
        if not isinstance(operation, Parallel)
        for inner in operation.regions
    )


def _launches(operation: typed.Operation) -> bool:
    return any(isinstance(o, Parallel) or _launches(o) for inner in operation.regions for o in inner.operations)


HOST_OPERATIONS: Mapping[type, Callable[[Any, Any], None]] = {
    **COMMON_OPERATIONS,
    typed.Allocate: _write_allocate,
    typed.Local: _write_local,
    typed.Reshape: temporaries.write_reshape,
    typed.Distinct: write_distinct,
    typed.WithinRest: write_within_rest,
    typed.Exceed: HostWriter.exceed,
    typed.Require: _write_require,
    typed.Parallel: HostWriter.launch,
    typed.For: HostWriter.loop,
    typed.While: HostWriter.loop,
}
HostWriter.operations = HOST_OPERATIONS
