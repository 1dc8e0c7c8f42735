"""Operations of sub-groups on devices -> LLVM.

Does: write them with a device's own exchange between neighbouring threads, where it has one of that size; else by way of memory
that the block shares, for which all threads of the block must get there together.
Does not: ask whether a sub-group's threads do (`checks/`).
Invariants: the order of combination is that of `language/reduction.py` for `reduce_*`, and from the left for `scan_*`. Only
`sync` orders memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from lend.diagnostics.errors import DeviceError
from lend.ir import typed
from lend.ir.typed import BinaryOperator
from lend.language.types import BOOL_, U64, ScalarType
from lend.lower.arithmetic import ScalarEmitter, register_type
from lend.lower.device.abi import DeviceAbi
from lend.lower.indexing import add, multiply, offset

if TYPE_CHECKING:
    from lend.lower.device.team import TeamKernelWriter

Read = Callable[[str], str]
"""The value that a lane of this thread's sub-group gives, by its number (an i64 below the size)."""


def write_subgroup(writer: TeamKernelWriter, abi: DeviceAbi, operation: typed.Subgroup, apart: bool) -> None:
    """One operation. `apart`: sub-groups may get here on their own."""
    native = abi.subgroups is not None and operation.size <= abi.subgroups.most
    if not native and apart:
        raise DeviceError(
            f"line {operation.span.line}: sub-groups of {operation.size} threads that go their own ways are more than "
            f"{abi.dialect.name} can do"
        )
    if operation.operator == "sync":
        if native and abi.subgroups is not None:
            abi.subgroups.sync(writer.builder, writer.lane, operation.size)
        else:
            writer.barrier()
        return
    assert operation.value is not None
    value, type = writer.scalar(operation.value), operation.value.scalar
    exchange = _Exchange(writer, abi, operation, type, native)
    writer.bind(operation.results[0], exchange.result(value))


class _Exchange:
    """One operation being written."""

    def __init__(
        self, writer: TeamKernelWriter, abi: DeviceAbi, operation: typed.Subgroup, type: ScalarType, native: bool
    ) -> None:
        self._writer = writer
        self._abi = abi
        self._operation = operation
        self._type = type
        self._native = native
        self._builder = writer.builder
        self._strict = ScalarEmitter(writer.builder, "strict")
        self._lane = self._builder.emit(f"and i64 {writer.lane}, {operation.size - 1}", "lane")
        self._room = "" if native else writer.block_memory("exchanged", 8 * writer.shape[0])

    def result(self, value: str) -> str:
        """What this thread gets."""
        name, _, operator = self._operation.operator.partition("_")
        if name == "shuffle":
            return self._shuffled(value)
        if name == "ballot":
            return self._with(value, self._ballot)
        if name == "scan":
            return self._with(value, lambda read: self._scanned(read, cast("BinaryOperator", operator)))
        return self._reduced(value, cast("BinaryOperator", operator))

    def _with(self, value: str, work: Callable[[Read], str]) -> str:
        """`work`, which may read what each lane gives."""
        if self._native:
            return work(lambda lane: self._moved(value, lane))
        own = offset(self._builder, self._room, multiply(self._builder, self._writer.lane, "8"))
        self._writer.scalars.store(self._type, value, own, 8)
        self._writer.barrier()
        first = self._builder.emit(f"sub i64 {self._writer.lane}, {self._lane}")

        def read(lane: str) -> str:
            place = offset(self._builder, self._room, multiply(self._builder, add(self._builder, first, lane), "8"))
            return self._writer.scalars.load(self._type, place, 8)

        result = work(read)
        self._writer.barrier()
        return result

    def _moved(self, value: str, lane: str) -> str:
        """The value of a lane, by the device's own exchange of words."""
        emit, shuffle = self._builder.emit, self._abi.subgroups
        assert shuffle is not None
        name, size = register_type(self._type), self._operation.size
        bits = 1 if self._type is BOOL_ else 64 if name in ("double", "i64") else 32 if name == "float" else self._type.bits
        raw = emit(f"bitcast {name} {value} to i{bits}") if name in ("float", "double") else value
        if bits <= 32:
            word = raw if bits == 32 else emit(f"zext i{bits} {raw} to i32")
            moved = shuffle.move(self._builder, word, lane, self._writer.lane, size)
            moved = moved if bits == 32 else emit(f"trunc i32 {moved} to i{bits}")
        else:
            low = shuffle.move(self._builder, emit(f"trunc i64 {raw} to i32"), lane, self._writer.lane, size)
            high = emit(f"trunc i64 {emit(f'lshr i64 {raw}, 32')} to i32")
            high = shuffle.move(self._builder, high, lane, self._writer.lane, size)
            upper = emit(f"shl i64 {emit(f'zext i32 {high} to i64')}, 32")
            moved = emit(f"or i64 {upper}, {emit(f'zext i32 {low} to i64')}")
        return emit(f"bitcast i{bits} {moved} to {name}") if name in ("float", "double") else moved

    def _shuffled(self, value: str) -> str:
        """The value of another lane, or the thread's own where there is none."""
        emit, operation = self._builder.emit, self._operation
        assert operation.lane is not None
        told = emit(f"sext i32 {self._writer.scalar(operation.lane)} to i64")
        words = {"shuffle_xor": "xor", "shuffle_up": "sub", "shuffle_down": "add"}
        word = words.get(operation.operator)
        other = told if word is None else emit(f"{word} i64 {self._lane}, {told}")
        inside = emit(f"icmp ult i64 {other}, {operation.size}")
        lane = emit(f"select i1 {inside}, i64 {other}, i64 {self._lane}")
        return self._with(value, lambda read: read(lane))

    def _reduced(self, value: str, operator: BinaryOperator) -> str:
        """The upper half of the lanes with the lower half, until all have the same."""
        half = self._operation.size // 2
        while half:
            other = self._builder.emit(f"xor i64 {self._lane}, {half}")

            def both(read: Read, mine: str = value, other: str = other) -> str:
                return self._strict.binary(operator, self._type, mine, read(other))

            value = self._with(value, both)
            half //= 2
        return value

    def _scanned(self, read: Read, operator: BinaryOperator) -> str:
        """Each lane takes in those before it, from the left."""
        total = read("0")
        for lane in range(1, self._operation.size):
            more = self._strict.binary(operator, self._type, total, read(str(lane)))
            mine = self._builder.emit(f"icmp uge i64 {self._lane}, {lane}")
            total = self._strict.select(self._type, mine, more, total)
        return total

    def _ballot(self, read: Read) -> str:
        """A bit for each lane."""
        bits = self._writer.zero(U64)
        for lane in range(self._operation.size):
            bit = self._builder.emit(f"zext i1 {read(str(lane))} to i64")
            bits = self._builder.emit(f"or i64 {bits}, {self._builder.emit(f'shl i64 {bit}, {lane}')}")
        return bits
