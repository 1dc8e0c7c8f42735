"""Loops whose vectors go over rows together: some rows at a time, what iterations carry in a buffer between them.

Does: write such a loop as three: what comes before its sequential loop; the steps, `ROWS` at a time for all iterations; what
follows.  Does not: choose (`plan/by_rows.py`).
Invariants: each iteration takes its steps in their order, and which of them are taken together does not depend on where a chunk
begins; nothing is stored in arrays before its last step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lend.ir.typed import Load, Operation, Value
from lend.lower import memory
from lend.lower.arithmetic import memory_type
from lend.lower.control import counted_loop
from lend.lower.indexing import add, multiply, offset, range_count, subtract
from lend.lower.tiles.pack import PackWriter, array_at
from lend.plan.by_rows import ROWS, ByRows
from lend.plan.tiling import Tiling
from lend.plan.variation import Variations

if TYPE_CHECKING:
    from lend.lower.regions import RegionWriter

PLACE = (0,)
"""The one place of a pack of a single vector."""
SECOND_CACHE = 2
"""Where rows are fetched to, as `llvm.prefetch` counts: further ones would drive what is carried out of the first."""

Step = Callable[[PackWriter, str], None]
"""Writes something for a vector; the text: its first iteration's number in the buffer."""


class RowsWriter:
    """Writes one such loop into a region."""

    def __init__(self, region: RegionWriter, tiling: Tiling, variations: Variations, by_rows: ByRows) -> None:
        self._region = region
        self._tiling = tiling
        self._variations = variations
        self._plan = by_rows
        self._builder = region.builder
        self._carried = by_rows.loop.body.parameters[1:]
        self._buffers = [
            self._builder.alloca(f"[{by_rows.width} x {memory_type(value.scalar)}]", "carried", 64) for value in self._carried
        ]

    def run(self, begin: str, end: str) -> None:
        """The iterations whose counters are in begin..end-1, of which there is one."""
        builder, plan = self._builder, self._plan
        head = self._pack(begin)
        for operation in plan.before:
            if operation in plan.shared:
                _write(head, operation)
                self._region.bind(operation.results[0], head.text(operation.results[0], PLACE))
        extent = plan.loop.extent
        lower, upper, step = (head.text(value, PLACE) for value in (extent.lower, extent.upper, extent.step))
        steps = range_count(builder, lower, upper, step)
        length = subtract(builder, end, begin)
        more = builder.emit(f"add i64 {length}, {plan.width - 1}")

        def piece(number: str) -> None:
            moved = multiply(builder, number, str(plan.width))
            rest = subtract(builder, length, moved)
            here = builder.emit(f"call i64 @llvm.umin.i64(i64 {rest}, i64 {plan.width})")
            self._piece(add(builder, begin, moved), here, head, (lower, step, steps))

        builder.module.declare("llvm.umin.i64", "declare i64 @llvm.umin.i64(i64, i64)")
        counted_loop(self._region, "0", builder.emit(f"udiv i64 {more}, {plan.width}"), piece, "piece")

    def _piece(self, start: str, length: str, head: PackWriter, extent: tuple[str, str, str]) -> None:
        """As many iterations as the buffer holds. `extent`: where the loop begins, its step, how many steps there are."""
        builder, (lower, step, steps) = self._builder, extent
        whole = builder.emit(f"udiv i64 {length}, {self._tiling.lanes}")
        left = subtract(builder, length, multiply(builder, whole, str(self._tiling.lanes)))
        self._each(start, whole, left, lambda pack, number: self._keep(pack, number, self._plan.loop.inits))
        blocks = builder.emit(f"udiv i64 {steps}, {ROWS}")

        def block(number: str) -> None:
            first = multiply(builder, number, str(ROWS))
            far, near, after = (builder.new_block(hint) for hint in ("far", "near", "after"))
            builder.branch(self._region.panels, far, near)
            for name, ahead in ((far, True), (near, False)):
                builder.open(name)
                rows = self._rows(head, (lower, step), first, ROWS, ahead)
                self._each(start, whole, left, rows)
                builder.jump(after)
            builder.open(after)

        def single(number: str) -> None:
            first = add(builder, multiply(builder, blocks, str(ROWS)), number)
            self._each(start, whole, left, self._rows(head, (lower, step), first, 1, False))

        self._some(blocks, block)
        self._some(builder.emit(f"urem i64 {steps}, {ROWS}"), single)
        self._each(start, whole, left, self._after)

    def _pack(self, counter: str) -> PackWriter:
        """The vector whose first iteration has this counter."""
        pack = PackWriter(self._region, self._tiling, self._variations, (1,), 1)
        pack.bind(self._region.body.parameters[0], self._region.index(self._region.axes[0], counter))
        return pack

    def _vector(self, counter: str, left: str | None) -> PackWriter:
        """A vector after what comes before the loop; `left`: how many of its iterations there are, None for all."""
        pack = self._pack(counter)
        if left is not None:
            lanes = self._tiling.lanes
            numbers = "<" + ", ".join(f"i64 {lane}" for lane in range(lanes)) + ">"
            mask = self._builder.emit(f"icmp ult <{lanes} x i64> {numbers}, {pack.broadcast('i64', left)}", "mask")
            pack.edge, pack.masks = mask, {PLACE: mask}
        for operation in self._plan.before:
            if operation not in self._plan.shared:
                _write(pack, operation)
        return pack

    def _slots(self, number: str) -> list[tuple[Value, str, str]]:
        """What is carried: its name in the loop, the type of a vector, and where that lies which begins at iteration `number`."""
        lanes, found = self._tiling.lanes, list[tuple[Value, str, str]]()
        for value, buffer in zip(self._carried, self._buffers, strict=True):
            place = offset(self._builder, buffer, multiply(self._builder, number, str(value.scalar.bytes)))
            found.append((value, f"<{lanes} x {memory_type(value.scalar)}>", place))
        return found

    def _keep(self, pack: PackWriter, number: str, values: tuple[Value, ...]) -> None:
        """Write what is carried on."""
        for value, (carried, type, slot) in zip(values, self._slots(number), strict=True):
            operand = pack.shaped(value, self._variations.of(carried), PLACE)
            align = carried.scalar.bytes * self._tiling.lanes
            self._builder.append(f"store {type} {operand}, ptr {slot}, align {min(align, 64)}{self._region.aliases.lanes}")

    def _fetch(self, pack: PackWriter, number: str, names: tuple[Value, ...]) -> None:
        """Read what is carried, under these names."""
        for name, (carried, type, slot) in zip(names, self._slots(number), strict=True):
            align = carried.scalar.bytes * self._tiling.lanes
            text = f"load {type}, ptr {slot}, align {min(align, 64)}{self._region.aliases.lanes}"
            pack.bind_shaped(name, {PLACE: self._builder.emit(text)})

    def _rows(self, head: PackWriter, extent: tuple[str, str], first: str, count: int, ahead: bool) -> Step:
        """What takes `count` steps from `first` on; what iterations share of them is written here. `ahead`: fetch later rows."""
        builder, loop, shared, (lower, step) = self._builder, self._plan.loop, self._plan.shared, extent
        index, known = loop.body.parameters[0], list[dict[Value, str]]()
        for row in range(count):
            place = add(builder, lower, multiply(builder, add(builder, first, str(row)), step))
            head.bind_shaped(index, {PLACE: place})
            found = {index: place}
            for operation in loop.body.operations:
                if operation in shared:
                    _write(head, operation)
                    found[operation.results[0]] = head.text(operation.results[0], PLACE)
            known.append(found)

        def write(pack: PackWriter, number: str) -> None:
            self._fetch(pack, number, self._carried)
            for found in known:
                for value, text in found.items():
                    pack.bind_shaped(value, {PLACE: text})
                for operation in loop.body.operations:
                    if operation not in shared:
                        _write(pack, operation)
                    if ahead and isinstance(operation, Load) and operation in self._plan.loads:
                        self._prefetch(pack, operation, step)
                pairs = zip(loop.body.yields, self._carried, strict=True)
                following = [pack.shaped(value, self._variations.of(carried), PLACE) for value, carried in pairs]
                for carried, operand in zip(self._carried, following, strict=True):
                    pack.bind_shaped(carried, {PLACE: operand})
            self._keep(pack, number, self._carried)

        return write

    def _prefetch(self, pack: PackWriter, load: Load, step: str) -> None:
        """Fetch what the same load will read `ROWS` steps later; there need be nothing."""
        builder, array = self._builder, array_at(pack, load.array, PLACE)
        pointer = memory.address(pack, array, [pack.text(index, PLACE) for index in load.indices], load.path)
        stride = array.strides[load.indices.index(self._plan.loop.body.parameters[0])]
        later = offset(builder, pointer, multiply(builder, multiply(builder, stride, step), str(ROWS)))
        builder.module.declare("llvm.prefetch.p0", "declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)")
        builder.append(f"call void @llvm.prefetch.p0(ptr {later}, i32 0, i32 {SECOND_CACHE}, i32 1)")

    def _after(self, pack: PackWriter, number: str) -> None:
        """What follows the loop."""
        self._fetch(pack, number, self._plan.loop.results)
        for operation in self._plan.after:
            _write(pack, operation)

    def _each(self, start: str, whole: str, left: str, step: Step) -> None:
        """A step for `whole` vectors from counter `start` on, and for one of which `left` iterations are there, if any."""
        builder, lanes = self._builder, str(self._tiling.lanes)

        def vector(number: str, left: str | None = None) -> None:
            moved = multiply(builder, number, lanes)
            step(self._vector(add(builder, start, moved), left), moved)

        self._some(whole, vector)
        part, after = builder.new_block("part"), builder.new_block("after")
        builder.branch(builder.emit(f"icmp ne i64 {left}, 0"), part, after)
        builder.open(part)
        vector(whole, left)
        builder.jump(after)
        builder.open(after)

    def _some(self, count: str, body: Callable[[str], None]) -> None:
        """`body(k)` for k below `count`, which may be 0."""
        builder = self._builder
        loop, after = builder.new_block("some"), builder.new_block("after")
        builder.branch(builder.emit(f"icmp ne i64 {count}, 0"), loop, after)
        builder.open(loop)
        counted_loop(self._region, "0", count, body, properties=self._region.rolled)
        builder.jump(after)
        builder.open(after)


def _write(pack: PackWriter, operation: Operation) -> None:
    pack.operations[type(operation)](pack, operation)
