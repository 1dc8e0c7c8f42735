"""Entry points of calls on devices: what they need of a device, and what this process calls it.

Does: give the ways of calls with arrays that live there, and of calls with arrays of the host.  Does not: write code
(`targets/cpu/entry_device.py`), or move anything (`runtime/mover.py`).
Invariants: where Python's objects are not as compiled code expects them, there is no entry point.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from lend.language.abi import FAULT_WORDS
from lend.runtime.arrays import Array
from lend.runtime.device_launch import begun
from lend.runtime.device_work import settle
from lend.runtime.launch import Executable
from lend.runtime.mover import Mover
from lend.targets.cpu.entry_names import Address

if TYPE_CHECKING:
    from lend.targets.cpu.entry import EntryCode, EntryPlan
    from lend.targets.cpu.python_abi import PythonAbi
    from lend.targets.device import DriverDevice

Json = Any


class Stays:
    """Calls whose arrays live on the device."""

    def __init__(self, device: DriverDevice, executable: Executable, elements: int) -> None:
        self.key = f"stays, {elements}"
        self._executable = executable
        self._elements = elements
        self._device = device
        self._told = _listener(device, executable)

    def code(self, plan: EntryPlan, abi: PythonAbi) -> EntryCode | None:
        """See `Way` (`native_entries.py`)."""
        from lend.targets.cpu.entry_device import Resident, resident_code

        slots = _slots()
        if slots is None:
            return None
        device, (epoch, tags) = self._device, self._device.counters
        own = (device, device.released, device.acquire, device.release, tags, epoch, self._told, self._executable)
        return resident_code(plan, abi, self._elements, Resident(Array, *slots, *own))

    def names(self) -> Iterable[tuple[Json, Any]]:
        """See `Way`."""
        device, (epoch, tags) = self._device, self._device.counters
        yield ["device"], device
        yield ["released"], device.released
        yield ["acquire"], device.acquire
        yield ["release"], device.release
        yield ["tags"], Address(tags)
        yield ["epoch"], Address(epoch)
        yield ["told"], self._told
        yield ["executable"], self._executable


class Moved:
    """Calls whose arrays go to the device and come back."""

    def __init__(self, device: DriverDevice, executable: Executable, elements: int) -> None:
        self.key = f"moved, {elements}"
        self._elements = elements
        self._move = Mover(device, executable).run

    def code(self, plan: EntryPlan, abi: PythonAbi) -> EntryCode | None:
        """See `Way`."""
        from lend.targets.cpu.entry_device import moving_code

        return moving_code(plan, abi, self._elements, self._move)

    def names(self) -> Iterable[tuple[Json, Any]]:
        """See `Way`."""
        return [(["move"], self._move)]


def _listener(device: DriverDevice, executable: Executable) -> Any:
    """What is told of launches, holding the device's lock, which it gives back."""

    def told(record: bytes) -> None:
        try:
            words = memoryview(record).cast("q").tolist()
            epoch, first, status = words[FAULT_WORDS:]
            begun(device, executable, words[:FAULT_WORDS] if status else None, epoch, first)
            if executable.result is not None:
                settle(device)
        finally:
            device.release()

    return told


@cache
def _slots() -> tuple[int, int, int, int] | None:
    """Where an `Array` has the array that calls are bound by, its device, its memory and its writer; None if not plain."""
    sample: Any = Array.__new__(Array)
    found: list[int] = []
    for name in ("_place", "_device", "_memory", "_writer"):
        value = object()
        setattr(sample, name, value)
        words = range(16, Array.__basicsize__, 8)
        places = [at for at in words if ctypes.c_uint64.from_address(id(sample) + at).value == id(value)]
        if len(places) != 1:
            return None
        found += places
    for count in (0, 3):
        if ctypes.c_ssize_t.from_address(id(items := deque[int](range(count))) + 16).value != len(items):
            return None
    return found[0], found[1], found[2], found[3]
