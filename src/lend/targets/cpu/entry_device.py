"""Native entry points of calls on devices.

Does: write the entry point of a specialisation for a device: with arrays that live there, which begins the launch in machine code
(`resident_code`); with arrays of the host, which hands the words of the call to what moves them (`moving_code`).
Does not: move anything, or know a driver.
Invariants: those of `entry.py`. Who launches holds the device's lock; the callback that is told of a launch gives it back, and
where nobody need be told, the code does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lend.diagnostics.records import dataclass
from lend.language.abi import FAULT_WORDS
from lend.language.signature import ArrayKind
from lend.language.types import ArrayType, Layout
from lend.targets.cpu.entry import EntryCode, EntryPlan, EntryWriter
from lend.targets.cpu.entry_arguments import NotNative
from lend.targets.cpu.python_abi import PythonAbi

COUNT = 16
"""Where a `deque` has the number of its items."""

MORE = 3
"""Words behind the record of a launch: the epoch and the number of tags before it, and its status."""


@dataclass(frozen=True)
class Resident:
    """What launches on arrays of a device need, beside what all need.

    array: their class; place, device_at, memory_at, writer_at: where its instances have the array that calls are bound by, the
    device, the memory, and who may write to it here: the device if anybody, or `executable`, that is these launches.
    released: the device's queue of memory that is to be freed. acquire, release: its lock's methods. tags, epoch: the addresses
    of its numbers (`targets/calls_ir.py`). told: called with record and `MORE` words after a launch that can have recorded
    something, or gives something.
    """

    array: type
    place: int
    device_at: int
    memory_at: int
    writer_at: int
    device: Any
    released: Any
    acquire: Any
    release: Any
    tags: int
    epoch: int
    told: Any
    executable: Any


def resident_code(plan: EntryPlan, abi: PythonAbi, elements: int, resident: Resident) -> EntryCode | None:
    """The entry point of calls whose arrays all live on the device; None if Python alone can bind them.

    `elements`: how many each thread takes, which a setting may change.
    """
    try:
        return _ResidentWriter(plan, abi, elements, resident).write()
    except NotNative:
        return None


def moving_code(plan: EntryPlan, abi: PythonAbi, elements: int, move: Any) -> EntryCode | None:
    """The entry point of calls with arrays of the host, whose words `move` gets as bytes; None if Python alone can bind them."""
    try:
        return _MovingWriter(plan, abi, elements, move).write()
    except NotNative:
        return None


class _DeviceWriter(EntryWriter):
    applied = 16

    def __init__(self, plan: EntryPlan, abi: PythonAbi, elements: int) -> None:
        super().__init__(plan, abi)
        self._elements = elements

    def settings(self) -> None:
        """Other settings make other code."""
        super().settings()
        b = self.b
        b.require_same("i64", b.field("i64", b.address(self.plan.settings), 24), str(self._elements))


class _ResidentWriter(_DeviceWriter):
    def __init__(self, plan: EntryPlan, abi: PythonAbi, elements: int, resident: Resident) -> None:
        super().__init__(plan, abi, elements)
        self._resident = resident
        self._written: list[str] = []

    def array(self, kind: ArrayKind, type: ArrayType, value: str) -> None:
        """What lies on a device is no mapping of a file; its elements cannot be looked at here."""
        if kind.facts is not None:
            raise NotNative
        super().array(kind, type, value)
        self.call.arrays[-1] = replace(self.call.arrays[-1], base="null")

    def admitted(self, value: str, type: ArrayType) -> str:
        """The array that an array on this very device is bound by."""
        b, resident = self.b, self._resident
        b.require_same("ptr", b.type_of(value), b.object(resident.array))
        b.require_same("ptr", b.field("ptr", value, resident.device_at), b.object(resident.device))
        if type.borrow.writable:
            writer = b.field("ptr", value, resident.writer_at)
            known = [b.emit(f"icmp eq ptr {writer}, {b.object(one)}") for one in (resident.device, resident.executable)]
            b.require(b.emit(f"or i1 {known[0]}, {known[1]}"))
            self._written.append(b.field("ptr", value, resident.memory_at))
        return b.field("ptr", value, resident.place)

    def run(self) -> None:
        """Begin, with the device's lock."""
        b, plan, resident = self.b, self.plan, self._resident
        b.require_same("i64", b.field("i64", b.object(resident.released), COUNT), "0")
        leaves, results, record = self.room(MORE)
        failed, locked = b.new_block("failed"), b.new_block("locked")
        got = b.api("PyObject_CallNoArgs", b.object(resident.acquire))
        b.branch(b.emit(f"icmp eq ptr {got}, null"), failed, locked, (1, 2000))
        b.open(locked)
        b.api("Py_DecRef", got)
        for memory in self._written:
            b.support("written", memory)
        before = [b.field("i64", b.address(at), 0) for at in (resident.epoch, resident.tags)]
        status = b.support("unlocked", b.address(plan.kernel), self.call.words, results, record)
        after = [b.field("i64", b.address(at), 0) for at in (resident.epoch, resident.tags)]
        quiet = [b.emit(f"icmp eq i64 {then}, {now}") for then, now in zip(before, after, strict=True)]
        quiet += [b.emit(f"icmp eq i32 {status}, 0"), "true" if plan.result is None else "false"]
        tell, done, fine = b.new_block("tell"), b.new_block("done"), b.new_block("fine")
        b.branch(b.all_of(quiet), done, tell)
        b.open(tell)
        for place, word in enumerate([*before, b.emit(f"sext i32 {status} to i64")]):
            b.put("i64", word, record, 8 * (FAULT_WORDS + place))
        told = b.support("told", b.object(resident.told), record, str(8 * (FAULT_WORDS + MORE)))
        heard = b.new_block("heard")
        b.branch(b.emit(f"icmp eq ptr {told}, null"), failed, heard)
        b.open(heard)
        b.api("Py_DecRef", told)
        b.jump(fine)
        b.open(done)
        given = b.api("PyObject_CallNoArgs", b.object(resident.release))
        back = b.new_block("back")
        b.branch(b.emit(f"icmp eq ptr {given}, null"), failed, back, (1, 2000))
        b.open(back)
        b.api("Py_DecRef", given)
        b.jump(fine)
        b.open(failed)
        b.ret("ptr null")
        b.open(fine)
        self.result(leaves, results)


class _MovingWriter(_DeviceWriter):
    def __init__(self, plan: EntryPlan, abi: PythonAbi, elements: int, move: Any) -> None:
        super().__init__(plan, abi, elements)
        self._move = move

    def admitted(self, value: str, type: ArrayType) -> str:
        """An array of the host without gaps: others are copied first."""
        if type.layout not in (Layout.C, Layout.F):
            raise NotNative
        return super().admitted(value, type)

    def run(self) -> None:
        """Hand on the words."""
        self.room()  # which refuses kernels that give arrays
        self.b.ret(f"ptr {self.b.support('told', self.b.object(self._move), self.call.words, str(8 * self.word))}")
