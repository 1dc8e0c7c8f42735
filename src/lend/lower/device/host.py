"""The host function of a kernel that runs on a device -> LLVM for the processor that launches it.

Does: write `i32 @kernel(ptr arguments, ptr results, ptr fault)` by `language/abi.py`, whose arrays lie in the device's memory,
and the kernels of its regions into the device's module.
Does not: move arguments to the device and back (the runtime does), or know a driver: what is done with the device is done by the
functions of `DEVICE_FUNCTIONS`, which a target gives each of its devices.
Invariants: nothing here reads or writes an array but through those functions. A call of the driver that fails ends the kernel
with a fault whose site is DEVICE_FAILED.
"""

from __future__ import annotations

from collections.abc import Mapping

from lend.ir.typed import Distinct, Operation
from lend.language.abi import DEVICE_FAILED
from lend.language.reduction import BLOCK, LANES
from lend.language.types import ScalarType, size_of
from lend.lower.aliases import Aliases
from lend.lower.builder import ModuleBuilder
from lend.lower.chunks import divide_up
from lend.lower.device.abi import DeviceAbi, Shape
from lend.lower.device.packs import PackWriter, divided
from lend.lower.device.region import KernelWriter
from lend.lower.device.team import TeamKernelWriter
from lend.lower.environment import at
from lend.lower.faults import Failure
from lend.lower.host import FAULT, HostWriter
from lend.lower.indexing import multiply
from lend.lower.reductions import Reducer, define_fold
from lend.lower.regions import Axis, can_fault, region_name
from lend.lower.roots import find_roots
from lend.lower.shapes import Shapes
from lend.lower.values import Lowered
from lend.plan.packs import Packs
from lend.plan.regions import DeviceRegion, Plan

KERNELS = "lend_kernels"
"""A table of the host module: a handle for each kernel, by the region's number."""

DEVICE_FUNCTIONS: Mapping[str, str] = {
    "lend_allocate": "declare noalias ptr @lend_allocate(i64, i32) nounwind",
    "lend_free": "declare void @lend_free(ptr) nounwind",
    "lend_launch": "declare i32 @lend_launch(ptr, ptr, i64, ptr, i64, i64, i64, i64, i64) nounwind",
    "lend_read": "declare i32 @lend_read(ptr, ptr, i64) nounwind",
    "lend_write": "declare i32 @lend_write(ptr, ptr, i64) nounwind",
    "lend_scratch": "declare ptr @lend_scratch(i64) nounwind",
    "lend_record": "declare ptr @lend_record() nounwind",
    "lend_tag": "declare i64 @lend_tag() nounwind",
    "lend_settle": "declare i32 @lend_settle(ptr) nounwind",
}
"""What a device can be asked to do.

`ptr lend_allocate(bytes, zeroed)` and `lend_free(ptr)`: memory of the device. `lend_launch(kernel, pointers, how many, words,
their bytes, x, y, z, threads of a block)`: begin x * y * z threads; in blocks of that size along x, or any if it is 0.
`lend_read(to, device, bytes)` and `lend_write(device, from, bytes)`: copy, after what was begun, and wait for it.
`lend_scratch(bytes)`: memory of the device that the next call may take back. `lend_record()`: where faults are recorded.
`lend_tag()`: what a launch that can fault adds to positions, so that the earliest launch's faults are the smallest.
`lend_settle(fault)`: wait for such launches, and copy the record of a fault, if there is one; 1 if so. Launches and copies give
0, or the driver's error; what gives memory, null.
"""


class DeviceHostWriter(HostWriter):
    """The host function being written; `device` is the module of its kernels."""

    def __init__(self, module: ModuleBuilder, plan: Plan, aliases: Aliases, shapes: Shapes, abi: DeviceAbi) -> None:
        super().__init__(module, plan, aliases, shapes)
        self._waves = {}
        self._abi = abi
        self.block_shapes: dict[str, Shape | None] = {}
        self.device = ModuleBuilder(abi.dialect)
        self._device_aliases = Aliases(self.device, find_roots(plan.kernel))
        self.packed: list[str] = []
        """Names of kernels for packs, whose numbers follow those of the regions."""
        self._first_packed = len(plan.regions)
        count = max(len(plan.regions) + sum(isinstance(region.packs, Packs) for region in plan.regions), 1)
        module.declare(KERNELS, f"@{KERNELS} = global [{count} x ptr] zeroinitializer")
        for name, text in DEVICE_FUNCTIONS.items():
            module.declare(name, text)
        self._faults = any(can_fault(region.parallel.body) for region in plan.regions)

    def before(self, operation: Operation) -> None:
        """What looks at an array's elements acts on them."""
        if isinstance(operation, Distinct):
            self._settle()

    # ------------------------------------------------------------------------------------------- elements

    def read(self, type: ScalarType, pointer: str, align: int, metadata: str) -> str:
        """Copied from the device."""
        slot = self.builder.alloca(f"[{type.bytes} x i8]", "element", 16)
        self._succeed(f"call i32 @lend_read(ptr {slot}, ptr {pointer}, i64 {type.bytes})")
        self._settle()
        return self.scalars.load(type, slot, 16)

    def write_element(self, type: ScalarType, value: str, pointer: str, align: int, metadata: str) -> None:
        """Copied to the device."""
        slot = self.builder.alloca(f"[{type.bytes} x i8]", "element", 16)
        self.scalars.store(type, value, slot, 16)
        self._succeed(f"call i32 @lend_write(ptr {pointer}, ptr {slot}, i64 {type.bytes})")

    def fetch(self, pointer: str, type: ScalarType) -> str:
        """A copy: nothing that was begun on the device is under way when it is there, so nobody else changes the element."""
        slot = self.builder.alloca(f"[{type.bytes} x i8]", "element", 16)
        self._succeed(f"call i32 @lend_read(ptr {slot}, ptr {pointer}, i64 {type.bytes})")
        self._settle()
        return slot

    def put_back(self, pointer: str, place: str, type: ScalarType) -> None:
        """Copied to the device."""
        self._succeed(f"call i32 @lend_write(ptr {pointer}, ptr {place}, i64 {type.bytes})")

    def _settle(self) -> None:
        """End the kernel if a launch before has recorded a fault: what was read from the device is not to be acted on."""
        if not self._faults:
            return
        faulted = self.builder.emit(f"call i32 @lend_settle(ptr {FAULT})")
        on = self.builder.new_block("fine")
        self.builder.branch(self.builder.emit(f"icmp eq i32 {faulted}, 0"), on, self._exit)
        self.builder.open(on)

    def _succeed(self, call: str) -> None:
        """A call that gives 0, or else the kernel ends."""
        status = self.builder.emit(call)
        fine = self.builder.emit(f"icmp eq i32 {status}, 0")
        self.check(fine, DEVICE_FAILED, Failure)

    # ------------------------------------------------------------------------------------------- parallel loops

    def _launch(self, region: DeviceRegion, axes: list[Axis], iterations: str, inits: list[str]) -> list[Lowered]:
        """At least one iteration; gives the reductions' results."""
        builder, reducer = self.builder, Reducer(region.parallel)
        faults = can_fault(region.parallel.body)
        record = builder.emit("call ptr @lend_record()", "record") if faults else "null"
        tag = builder.emit("call i64 @lend_tag()", "tag") if faults else "0"
        partials = blocks = None
        if reducer.components:
            blocks = divide_up(builder, iterations, BLOCK)
            partials = self._scratch(multiply(builder, blocks, str(reducer.partial_bytes)))
        team = region.parallel.team
        assert not team or partials is None  # blocks give their contributions to a loop of its own
        kind = TeamKernelWriter if team else KernelWriter
        writer = kind(self, region, (record, tag), axes, partials, self.device, self._device_aliases, self._abi, iterations)
        writer.write()
        self.block_shapes[region_name(region)] = writer.shape
        counts = [axis.count for axis in reversed(axes)]
        threads = [*counts[:2]]
        if len(counts) > 2:
            leading = "1"
            for count in counts[2:]:
                leading = multiply(builder, leading, count)
            threads.append(leading)
        block = 0
        if team:
            block = writer.shape[0] if writer.shape is not None else 1
            threads = [multiply(builder, iterations, str(block))]
        elif blocks is not None:
            block = LANES
            threads = [multiply(builder, blocks, str(LANES))]
        if isinstance(region.packs, Packs):
            self._begin_either(writer, region, region.packs, axes, threads)
        else:
            self._begin(writer, region.number, threads, block)
        results: list[Lowered] = []
        if partials is not None and blocks is not None:
            results += self._folded(region.number, reducer, partials, blocks, inits)
        return results

    def _begin_either(
        self, writer: KernelWriter, region: DeviceRegion, packs: Packs, axes: list[Axis], threads: list[str]
    ) -> None:
        """Begin a launch of packs if the rows of their arrays begin where wide accesses may, else one of single elements."""
        builder, aliases = self.builder, self._device_aliases
        several = PackWriter(self, region, packs, axes, self.device, aliases, self._abi)
        several.write()
        self.block_shapes[several.name] = several.shape
        number = self._first_packed + len(self.packed)
        self.packed.append(several.name)
        wide, single, begun = (builder.new_block(hint) for hint in ("packs", "single", "begun"))
        builder.branch(self._rows_begin_at_units(packs), wide, single)
        builder.open(wide)
        self._begin(several, number, [divided(builder, axes[-1], packs.elements).threads, *threads[1:]], 0)
        builder.jump(begun)
        builder.open(single)
        self._begin(writer, region.number, threads, 0)
        builder.jump(begun)
        builder.open(begun)

    def _rows_begin_at_units(self, packs: Packs) -> str:
        """An i1: whether each array of packs begins at a multiple of what their accesses are wide, and so do its rows."""
        builder, fits = self.builder, "true"
        for value, along in packs.arrays:
            array = self.array(value)
            unit = packs.unit(size_of(array.type.element))
            bits = builder.emit(f"ptrtoint ptr {array.pointer} to i64")
            for stride in (stride for dimension, stride in enumerate(array.strides) if dimension != along):
                bits = builder.emit(f"or i64 {bits}, {stride}")
            rest = builder.emit(f"and i64 {bits}, {unit - 1}")
            even = builder.emit(f"icmp eq i64 {rest}, 0")
            fits = even if fits == "true" else builder.emit(f"and i1 {fits}, {even}")
        return fits

    def _begin(self, writer: KernelWriter, number: int, threads: list[str], block: int) -> None:
        """Begin a launch."""
        environment = writer.device_environment
        pointers, words = environment.pack()
        kernel = self.builder.emit(f"load ptr, ptr {at(self.builder, f'@{KERNELS}', number)}, align 8", "kernel")
        counts = ", ".join(f"i64 {count}" for count in [*threads, "1", "1"][:3])
        handed = f"ptr {pointers}, i64 {len(environment.pointers)}, ptr {words}, i64 {8 * environment.words}"
        self._succeed(f"call i32 @lend_launch(ptr {kernel}, {handed}, {counts}, i64 {block})")

    def _scratch(self, bytes: str) -> str:
        """Memory of the device for partial results."""
        pointer = self.builder.emit(f"call ptr @lend_scratch(i64 {bytes})", "scratch")
        there = self.builder.emit(f"icmp ne ptr {pointer}, null")
        self.check(there, DEVICE_FAILED, lambda: Failure(size=bytes))
        return pointer

    def _folded(self, number: int, reducer: Reducer, partials: str, blocks: str, inits: list[str]) -> list[Lowered]:
        """The partial results, brought here and folded as on the processor."""
        builder, fold = self.builder, f"fold_{number}"
        define_fold(builder.module, reducer, fold)
        room = self._partials(blocks, reducer)
        self._succeed(
            f"call i32 @lend_read(ptr {room}, ptr {partials}, i64 {multiply(builder, blocks, str(reducer.partial_bytes))})"
        )
        self._settle()
        builder.append(f"call void @{fold}(ptr {room}, i64 {blocks})")
        results: list[Lowered] = [*reducer.combine(builder, inits, reducer.load_partial(builder, room, "0"))]
        self._release(room, blocks)
        return results

    def _heap(self, bytes: str) -> str:
        """Room on the host."""
        self.builder.module.declare("malloc", "declare noalias ptr @malloc(i64) nounwind")
        pointer = self.builder.emit(f"call ptr @malloc(i64 {bytes})")
        self.check(self.builder.emit(f"icmp ne ptr {pointer}, null"), DEVICE_FAILED, lambda: Failure(size=bytes))
        return pointer

    def _free_heap(self, pointer: str) -> None:
        """Give it back."""
        self.builder.module.declare("free", "declare void @free(ptr) nounwind")
        self.builder.append(f"call void @free(ptr {pointer})")
