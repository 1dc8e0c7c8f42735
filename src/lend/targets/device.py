"""A device at work, whatever drives it: its memory, its record of faults, what host functions call back for.

Does: keep memory that is freed for later use, count what is copied, read faults, hand its functions to host functions.
Does not: know a driver (`opencl/`, `cuda/`, `hip/` do), decide what is copied (`runtime/device_work.py`), or compile.
Invariants: work is done in the order in which it is begun, so memory that is freed can be given to later work at once. Whoever
uses the device holds `lock`. No exception leaves a function that compiled code calls.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from lend.diagnostics.errors import DeviceError, DeviceMemoryError
from lend.language.abi import (
    DEVICE_FAILED,
    FAULT_SITE,
    FAULT_THREAD,
    FAULT_WORDS,
    HOST_LEVEL,
    NO_FAULT,
)
from lend.lower.device.abi import DeviceAbi
from lend.lower.device.faults import COUNT, POSITION, RECORD_BYTES, SLOT_COUNT, SLOT_WORDS, SLOTS, TAG_SHIFT
from lend.lower.device.module import DeviceCode
from lend.targets import calls_ir
from lend.targets.cpu.hand_written import assemble
from lend.targets.protocol import Module

WORD = 8
MOST_EVENTS = 4096
"""So many launches of a call are timed."""

Pointer = ctypes.c_void_p
_CALLBACKS: Mapping[str, Any] = {
    "lend_allocate": ctypes.CFUNCTYPE(Pointer, ctypes.c_int64, ctypes.c_int32),
    "lend_free": ctypes.CFUNCTYPE(None, Pointer),
    "lend_more_scratch": ctypes.CFUNCTYPE(Pointer, ctypes.c_int64),
    "lend_take_fault": ctypes.CFUNCTYPE(None, Pointer, ctypes.c_int32),
}
_DISTINCT = ctypes.CFUNCTYPE(ctypes.c_int32, Pointer, ctypes.c_int64, ctypes.c_int64)


class DriverDevice(ABC):
    """A device. `name`: what users call it, `opencl:0`; `label`: what its vendor does; `key`: what decides code beside the IR;
    `number`: its place among the driver's devices."""

    kind: str
    key: str
    number: int

    @property
    def stream(self) -> int:
        """What runs its work in order, for other libraries; 0 if they know nothing of the kind."""
        return 0

    def number_of(self, address: int) -> int:
        """The driver's number of the device whose memory that is, of this kind."""
        return self.number

    def wait_for(self, stream: int) -> None:
        """Wait for another library's stream of this device."""
        raise DeviceError(f"{self.name} has no streams of other libraries'")

    def __init__(self, name: str, label: str, text: str, called: Mapping[str, int]) -> None:
        """`text`: the code by hand for this driver; `called`: where the driver's functions are that it calls."""
        self.name = name
        self.label = label
        self.lock = threading.RLock()
        self.acquire, self.release = self.lock.acquire, self.lock.release
        self.begun: list[Any] = []
        self.released: deque[int] = deque()
        self.parted: deque[Any] = deque()
        self.tag_shift = TAG_SHIFT
        self._sizes: dict[int, int] = {}  # of blocks of memory in use
        self._asked: dict[int, int] = {}  # what was asked for
        self._free: dict[int, list[int]] = {}  # blocks that wait, by size
        self._bytes_in = self._bytes_out = 0
        self._raised: Exception | None = None
        self.live = self.cached = self.peak = 0
        """Bytes in use, bytes that wait to be used again, and the most that were in use."""
        own: dict[str, Callable[..., Any]] = {
            "lend_allocate": self._called_allocate,
            "lend_free": self._called_free,
            "lend_more_scratch": self._called_more_scratch,
            "lend_take_fault": self._called_take_fault,
        }
        self._callbacks = {symbol: prototype(own[symbol]) for symbol, prototype in _CALLBACKS.items()}
        for bits in (8, 16, 32, 64):
            self._callbacks[f"lend_distinct_{bits}"] = _DISTINCT(self._distinct(bits))
        addresses = {symbol: address_of(function) for symbol, function in self._callbacks.items()}
        self._code = assemble(text, {**called, **{symbol: addresses[symbol] for symbol in calls_ir.CALLBACKS}})
        self.symbols: dict[str, int] = {**addresses, **{symbol: self._code.address(symbol) for symbol in calls_ir.PROVIDED}}
        """The addresses of the functions that host functions call."""
        self._variables = {symbol: self.variable(symbol) for symbol in calls_ir.WORDS}
        self._epoch, self._tags = self._variables[calls_ir.EPOCH], self._variables[calls_ir.TAGS]
        self._settle = ctypes.CFUNCTYPE(ctypes.c_int32, Pointer)(self._code.address("lend_settle"))
        self._error = ctypes.c_int32.from_address(self._code.data_address(calls_ir.ERROR))

    def variable(self, symbol: str) -> ctypes.c_int64:
        """A variable of the code by hand."""
        return ctypes.c_int64.from_address(self._code.data_address(symbol))

    def make_record(self) -> None:
        """Memory where launches record faults; once the driver can be used."""
        self._variables[calls_ir.RECORD].value = self.allocate(RECORD_BYTES)
        self._clear_record()

    # ------------------------------------------------------------------------------------------------------ the driver's

    @abstractmethod
    def _new(self, size: int) -> int | None:
        """Memory from the driver, if it has any."""

    @abstractmethod
    def _release(self, address: int) -> None:
        """Memory back to the driver."""

    @abstractmethod
    def _copy_in(self, device: int, host: int, bytes: int) -> None: ...

    @abstractmethod
    def _copy_out(self, host: int, device: int, bytes: int) -> None: ...

    def _bring(self, host: int, device: int, bytes: int) -> None:
        self._copy_out(host, device, bytes)
        self.finish()

    def _copy_rows_out(self, host: int, block: int, offset: int, width: int, rows: int, pitch: int) -> None:
        for at in range(0, rows * pitch, pitch):
            self._copy_out(host + at, block + offset + at, width)

    @abstractmethod
    def zero(self, device: int, bytes: int) -> None:
        """Begin to clear memory."""

    @abstractmethod
    def finish(self) -> None:
        """Wait for everything that was begun."""

    @abstractmethod
    def start_clock(self) -> None:
        """Have the next launches timed by the device."""

    @abstractmethod
    def stop_clock(self) -> tuple[int, float]:
        """How many launches were begun since, and the seconds that those of them took that were timed."""

    @abstractmethod
    def build(self, binary: bytes, kernels: Sequence[str], shapes: Sequence[Any], native: bytes = b"") -> tuple[list[int], Any]:
        """The kernels of a module: their handles, and what keeps them. Raises DeviceError.

        `native`: what `native` gave for the same module, or nothing; it is taken where the driver accepts it.
        """

    def native(self, kept: Any) -> bytes:
        """What this driver has made of a module for this device, if it says; `kept` is what `build` gave."""
        return b""

    @abstractmethod
    def meaning(self, code: int) -> str:
        """A driver's error in words, with its number."""

    @property
    @abstractmethod
    def abi(self) -> DeviceAbi:
        """How its kernels are written."""

    @abstractmethod
    def compile(self, code: DeviceCode) -> Module:
        """Compile both passes, and load them."""

    @abstractmethod
    def load(self, content: bytes) -> Module | None:
        """Load what `Module.object_code` gave; None if it has to be compiled again."""

    def did(self, status: int, what: str) -> None:
        """Raise DeviceError if the driver could not do `what`."""
        if status:
            raise DeviceError(f"{self.name} could not {what}: {self.meaning(status)}")

    # ------------------------------------------------------------------------------------------------------------ memory

    def allocate(self, bytes: int) -> int:
        """Memory of the device. Raises DeviceMemoryError."""
        while self.released:
            self.free(self.released.popleft())
        size = _rounded(bytes)
        waiting = self._free.get(size)
        if waiting:
            address = waiting.pop()
            self.cached -= size
        else:
            address = self._new(size) or self._new_after_trim(size)
            if not address:
                raise DeviceMemoryError(
                    f"{self.name} has no memory for {bytes} bytes: {self.live} are in use"
                    + (f" of {self.label}" if self.label else "")
                )
        self._sizes[address] = size
        self._asked[address] = bytes
        self.live += size
        if self.live > self.peak:
            self.peak = self.live
        return address

    def _new_after_trim(self, size: int) -> int | None:
        self.trim()
        return self._new(size)

    def free(self, address: int) -> None:
        """Give memory back, for work that is begun after this."""
        size = self._sizes.pop(address)
        self._asked.pop(address, None)
        self.live -= size
        self.cached += size
        self._free.setdefault(size, []).append(address)

    def usage(self) -> tuple[int, int, int, int]:
        """Bytes: in use, kept for later, the most that were in use, and lost to rounding."""
        asked = dict(self._asked)  # other threads may allocate meanwhile
        lost = sum(self._sizes.get(address, bytes) - bytes for address, bytes in asked.items())
        return self.live, self.cached, self.peak, lost

    def trim(self) -> None:
        """Give what waits back to the driver."""
        self.finish()
        self.parted.clear()
        for size, addresses in self._free.items():
            while addresses:
                self._release(addresses[-1])  # if that fails, it still waits
                addresses.pop()
                self.cached -= size
        self._free.clear()

    @property
    def bytes_in(self) -> int:
        """How many bytes of arrays were copied to the device."""
        return self._bytes_in + self._variables[calls_ir.BYTES_WRITTEN].value

    @property
    def bytes_out(self) -> int:
        """How many bytes of arrays and partial results were copied from the device."""
        return self._bytes_out + self._variables[calls_ir.BYTES_READ].value

    def copy_in(self, device: int, host: int, bytes: int) -> None:
        """Begin to copy to the device; the host's memory must stay as it is until `finish`."""
        self._bytes_in += bytes
        self._copy_in(device, host, bytes)

    def copy_out(self, host: int, device: int, bytes: int) -> None:
        """Begin to copy from the device; it is there after `finish`."""
        self._bytes_out += bytes
        self._copy_out(host, device, bytes)

    def bring(self, host: int, device: int, bytes: int) -> None:
        """Copy from the device, and wait for everything that was begun."""
        self._bytes_out += bytes
        self._bring(host, device, bytes)

    def copy_rows_out(self, host: int, block: int, offset: int, width: int, rows: int, pitch: int) -> None:
        """Begin to copy rows of `width` bytes that lie `pitch` apart, on both sides, from `offset` in a block of memory on."""
        self._bytes_out += width * rows
        self._copy_rows_out(host, block, offset, width, rows, pitch)

    # ------------------------------------------------------------------------------------------------------------ faults

    @property
    def epoch(self) -> int:
        """How often the record of faults was looked at, and is empty now."""
        return self._epoch.value

    @property
    def tags(self) -> int:
        """How many launches since then can have recorded a fault."""
        return self._tags.value

    @property
    def counters(self) -> tuple[int, int]:
        """Where compiled code finds the epoch and the number of tags."""
        variables = self._variables
        return ctypes.addressof(variables[calls_ir.EPOCH]), ctypes.addressof(variables[calls_ir.TAGS])

    def settle(self, fault: int) -> bool:
        """Wait for launches that can fault; whether one has, and then its record is at `fault`."""
        return bool(self._settle(fault))

    def failure(self, bytes: int) -> DeviceError | DeviceMemoryError:
        """Why the last host function gave up; `bytes`: what it wanted for partial results, if that was it, else 0."""
        code, self._error.value = self._error.value, 0
        if bytes:
            return DeviceMemoryError(f"{self.name} has no memory for the partial results of a parallel loop ({bytes} bytes)")
        if not code:
            return DeviceMemoryError(f"{self.name} has no memory for what a kernel needs: {self.live} bytes are in use")
        return DeviceError(f"{self.name} could not run a kernel: {self.meaning(code)}")

    def _fault(self) -> Sequence[int] | None:
        """The record's fault, which is cleared."""
        raw = ctypes.create_string_buffer(RECORD_BYTES)
        self._copy_out(ctypes.addressof(raw), self._variables[calls_ir.RECORD].value, RECORD_BYTES)
        self.finish()
        self._clear_record()
        words = struct.unpack(f"<{RECORD_BYTES // WORD}q", raw.raw)
        for number in range(min(words[COUNT], SLOT_COUNT)):
            slot = words[SLOTS + SLOT_WORDS * number : SLOTS + SLOT_WORDS * (number + 1)]
            if slot[FAULT_THREAD] == words[POSITION]:
                return slot
        return None

    def _clear_record(self) -> None:
        head = struct.pack("<2q", NO_FAULT, 0)
        raw = ctypes.create_string_buffer(head, len(head))
        self._copy_in(self._variables[calls_ir.RECORD].value, ctypes.addressof(raw), len(head))
        self.finish()

    # ------------------------------------------------------------------------------------ what compiled code calls

    def _hold(self, error: Exception) -> None:
        """Keep what must not leave a function that compiled code calls, for who called the host function."""
        if self._raised is None:
            self._raised = error

    def raised(self) -> Exception | None:
        """What went wrong in a function that the last host function called, if anything did; told once."""
        error, self._raised = self._raised, None
        return error

    def _called_allocate(self, bytes: int, zeroed: int) -> int | None:
        try:
            address = self.allocate(bytes)
            try:
                if zeroed and bytes:
                    self.zero(address, bytes)
            except DeviceError:
                self.free(address)
                raise
            return address
        except DeviceMemoryError:  # the kernel says which array there is no room for
            return None
        except Exception as error:
            return self._hold(error)

    def _called_free(self, address: int | None) -> None:
        if address is not None and address in self._sizes:
            self.free(address)

    def _called_more_scratch(self, bytes: int) -> int | None:
        try:
            new = self.allocate(bytes)
        except DeviceMemoryError:
            return None
        except Exception as error:
            return self._hold(error)
        old = self._variables[calls_ir.SCRATCH].value
        if old:
            self.free(old)
        self._variables[calls_ir.SCRATCH].value = new
        self._variables[calls_ir.SCRATCH_BYTES].value = self._sizes[new]
        return new

    def _called_take_fault(self, fault: int, status: int) -> None:
        words = (ctypes.c_int64 * FAULT_WORDS).from_address(fault)
        try:
            found = None if status else self._fault()
        except Exception as error:
            found = self._hold(error)
        if found is None:  # what was recorded, if anything, is for the next who looks
            words[FAULT_THREAD], words[FAULT_SITE] = HOST_LEVEL, DEVICE_FAILED
            return
        self._variables[calls_ir.TAGS].value = 0
        self._variables[calls_ir.EPOCH].value += 1
        words[FAULT_THREAD:] = found[FAULT_THREAD:FAULT_WORDS]

    def _distinct(self, bits: int) -> Callable[[int, int, int], int]:
        def distinct(elements: int, count: int, limit: int) -> int:
            try:
                from lend.targets.cpu.own_functions import addresses

                name = f"lend_distinct_{bits}"
                room = ctypes.create_string_buffer(max(count * bits // 8, 1) + 64)
                start = ctypes.addressof(room)
                start += -start % 64
                self.copy_out(start, elements, count * bits // 8)
                self.finish()
                return _DISTINCT(addresses([name])[name])(start, count, limit)
            except Exception as error:  # what this says of the elements counts for nothing then
                self._hold(error)
                return 0

        return distinct


LEAST = 256
CLASSES = 8


@lru_cache(maxsize=1024)
def _rounded(bytes: int) -> int:
    """The size of the block of memory for so many bytes: within an eighth of what is asked for, so that blocks are used again."""
    size = max(bytes, LEAST)
    unit = 1 << max((size - 1).bit_length() - (CLASSES.bit_length() - 1), 6)
    return -(-size // unit) * unit


def address_of(function: Any) -> int:
    """Where a function of ctypes is."""
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address
