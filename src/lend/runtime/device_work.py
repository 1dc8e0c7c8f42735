"""What was begun on a device and may still fail: which launch recorded a fault.

Does: note calls whose launches can fault, find the call that a recorded fault belongs to, raise its error at the next wait.
Does not: run anything.
Invariants: a fault is raised once, by the first who waits for the device; its words name the kernel that recorded it, and of
several the first that was begun. After that the device is as good as new.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence

from lend.diagnostics.errors import InternalError, LendError
from lend.diagnostics.records import dataclass
from lend.diagnostics.sites import Site
from lend.language.abi import DEVICE_FAILED, FAULT_SITE, FAULT_SIZE, FAULT_THREAD, FAULT_WORDS, HOST_LEVEL
from lend.runtime.devices import Device
from lend.runtime.faults import fault_error, fault_of
from lend.runtime.moves import Box, count_of, rows_of

_FAULT = struct.Struct(f"<{FAULT_WORDS}q")


@dataclass(frozen=True, eq=False)
class Begun:
    """A call whose launches have the numbers `first` to before `end`, since the device was last known to be well."""

    kernel: str
    sites: Sequence[Site]
    epoch: int
    first: int
    end: int


def settle(device: Device) -> None:
    """Wait for what can fault. Raises the fault's error, if there was one; the device's lock is held."""
    memory = (ctypes.c_char * _FAULT.size)()
    if device.settle(ctypes.addressof(memory)):
        raise error_of(device, _FAULT.unpack(memory.raw), None)
    device.begun.clear()


def finish(device: Device) -> None:
    """Wait for everything. Raises a fault's error; the device's lock is held."""
    device.finish()
    settle(device)


def copy_box(device: Device, host: int, block: int, shape: Sequence[int], itemsize: int, box: Box) -> None:
    """Begin to copy a box of an array by rows without gaps from `block` to `host`, where it lies alike."""
    if not count_of(box):
        return
    rows = rows_of(box, shape, itemsize)
    for start in rows.starts:
        if rows.many == 1:
            device.copy_out(host + start, block + start, rows.width)
        else:
            device.copy_rows_out(host + start, block, start, rows.width, rows.many, rows.pitch)


def error_of(device: Device, words: Sequence[int], call: Begun | None) -> LendError:
    """The error for a record that a host function, `call`, or `settle` has filled."""
    if words[FAULT_THREAD] == HOST_LEVEL:
        raised = device.raised()
        if isinstance(raised, LendError):
            return raised
        if raised is not None:
            raise InternalError(f"{device.name}: {type(raised).__name__}: {raised}") from raised
        if words[FAULT_SITE] == DEVICE_FAILED:
            return device.failure(words[FAULT_SIZE])
        if call is None:
            raise InternalError(f"{device.name} recorded a fault of no launch")
        try:
            settle(device)  # what a launch has recorded came first
        except LendError as earlier:
            return earlier
        return fault_error(call.kernel, fault_of(words, call.sites))
    number, position = divmod(words[FAULT_THREAD], 1 << device.tag_shift)
    begun = [entry for entry in device.begun if entry.epoch == device.epoch - 1]  # recorded faults end an epoch
    device.begun.clear()
    for entry in [*begun, *([] if call is None else [call])]:
        if entry.first <= number < entry.end:
            decoded = list(words)
            decoded[FAULT_THREAD] = position
            return fault_error(entry.kernel, fault_of(decoded, entry.sites))
    raise InternalError(f"{device.name} recorded a fault of launch {number}, which nobody began")
