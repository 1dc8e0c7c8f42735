"""A device of CUDA's or HIP's driver, whose functions are twins.

Does: allocate, copy, load code and time launches through a driver's functions, by a table of their names.
Does not: find drivers or devices (`cuda/library.py`, `hip/library.py`), or what all drivers have in common (`device.py`).
Invariants: one stream; memory comes from the driver's own pool, in the order of the stream. Each call says first which device the
thread means.
"""

from __future__ import annotations

import ctypes
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from lend.diagnostics.errors import DeviceError
from lend.diagnostics.records import dataclass
from lend.lower.device.abi import Shape
from lend.targets import calls_ir, stream_ir
from lend.targets.device import MOST_EVENTS, DriverDevice, Pointer
from lend.targets.stream_ir import HANDLE_WORDS, Names

MOST_BLOCKS = (2**31 - 1, 65535, 65535)
"""How many blocks a launch takes along each dimension, on either driver."""

MOST_PITCH = 2**31 - 1
"""How far apart rows may lie that are copied at once, on either driver."""

_Size = ctypes.c_size_t
_int = ctypes.c_int
_Out = ctypes.POINTER(Pointer)


class Library(Protocol):
    """A driver's functions, by name: ctypes's, or others that look alike."""

    def function(self, name: str, *arguments: Any) -> Callable[..., int]:
        """A function that gives the driver's status."""
        ...

    def address(self, name: str) -> int:
        """Where it is."""
        ...


@dataclass(frozen=True)
class Driver:
    """The names of a driver's functions."""

    names: Names
    allocate: str
    free: str
    clear: str
    load: str
    find: str
    unload: str
    new_stream: str
    drop_stream: str
    new_event: str
    drop_event: str
    elapsed: str
    memory_is_full: int


class StreamDevice(DriverDevice):
    """A device. `context`: what says which one a thread means: the handle of CUDA's context, or the number of HIP's device."""

    def __init__(self, name: str, label: str, library: Library, driver: Driver, context: int) -> None:
        text = stream_ir.launch_ir(driver.names, self.most_blocks())
        super().__init__(name, label, text, {called: library.address(called) for called in driver.names.called})
        self._driver = driver
        whole = ctypes.c_int32 if driver.names.context == "i32" else ctypes.c_uint64
        whole.from_address(self._code.data_address(stream_ir.CONTEXT)).value = context
        self._context = context if driver.names.context == "i32" else Pointer(context)
        function = library.function
        word: Any = _int if driver.names.context == "i32" else Pointer
        self._enter = function(driver.names.enter, word)
        self._allocate = function(driver.allocate, _Out, _Size, Pointer)
        self._free_function = function(driver.free, Pointer, Pointer)
        self._to_host = function(driver.names.to_host, Pointer, Pointer, _Size, Pointer)
        self._to_device = function(driver.names.to_device, Pointer, Pointer, _Size, Pointer)
        self._clear = function(driver.clear, Pointer, ctypes.c_ubyte, _Size, Pointer)
        self._wait = function(driver.names.wait, Pointer)
        self._load = function(driver.load, _Out, Pointer)
        self._find = function(driver.find, _Out, Pointer, ctypes.c_char_p)
        self._unload = function(driver.unload, Pointer)
        self._new_event = function(driver.new_event, _Out, ctypes.c_uint)
        self._drop_event = function(driver.drop_event, Pointer)
        self._elapsed = function(driver.elapsed, ctypes.POINTER(ctypes.c_float), Pointer, Pointer)
        self._events: Any = ()
        self._left: deque[Pointer] = deque()  # modules that nobody holds, and the driver still has
        self._stream = Pointer()
        self.did(self._enter(self._context), "be used")
        self.did(function(driver.new_stream, _Out, ctypes.c_uint)(ctypes.byref(self._stream), 1), "make a stream")
        self._variables[calls_ir.QUEUE].value = self._stream.value or 0
        try:
            self.make_record()
        except BaseException:
            self._give_up(function(driver.drop_stream, Pointer))
            raise

    def _give_up(self, drop_stream: Callable[..., int]) -> None:
        """Leave nothing behind of a device that cannot be used."""
        self._wait(self._stream)
        for address in [*self._sizes, *(address for waiting in self._free.values() for address in waiting)]:
            self._free_function(address, self._stream)
        drop_stream(self._stream)

    @staticmethod
    def most_blocks() -> tuple[int, int, int]:
        """How many blocks one launch takes along each dimension."""
        return MOST_BLOCKS

    @property
    def stream(self) -> int:
        """Its stream, for other libraries."""
        return self._stream.value or 0

    def wait_for(self, stream: int) -> None:
        """Wait for another library's stream of this device."""
        self.did(self._enter(self._context), "be used")
        self.did(self._wait(stream), "wait for another library's work")

    # ------------------------------------------------------------------------------------------------------------ memory

    def _new(self, size: int) -> int | None:
        self.did(self._enter(self._context), "be used")
        found = Pointer()
        status = self._allocate(ctypes.byref(found), size, self._stream)
        if status and status != self._driver.memory_is_full:
            self.did(status, "allocate memory")
        return found.value if not status else None

    def _release(self, address: int) -> None:
        self.did(self._enter(self._context), "be used")
        self.did(self._free_function(address, self._stream), "give memory back")

    def _copy_in(self, device: int, host: int, bytes: int) -> None:
        self.did(self._enter(self._context), "be used")
        self.did(self._to_device(device, host, bytes, self._stream), "copy an array")

    def _copy_out(self, host: int, device: int, bytes: int) -> None:
        self.did(self._enter(self._context), "be used")
        self.did(self._to_host(host, device, bytes, self._stream), "copy an array")

    def zero(self, device: int, bytes: int) -> None:
        """Begin to clear memory."""
        self.did(self._enter(self._context), "be used")
        self.did(self._clear(device, 0, bytes, self._stream), "clear an array")

    def finish(self) -> None:
        """Wait for everything that was begun."""
        entered = self._enter(self._context)
        waited = self._wait(self._stream)  # whatever happens: somebody's memory may be copied to or from
        self.did(entered, "be used")
        self.did(waited, "finish its work")

    def _copy_rows_out(self, host: int, block: int, offset: int, width: int, rows: int, pitch: int) -> None:
        if pitch > MOST_PITCH:
            super()._copy_rows_out(host, block, offset, width, rows, pitch)
            return
        self.did(self._enter(self._context), "be used")
        self.did(self._rows_to_host(host, block + offset, width, rows, pitch, self._stream), "copy an array")

    # ------------------------------------------------------------------------------------------------------------ clocks

    def start_clock(self) -> None:
        """Have the next launches timed by the device: an event before each, and one after it."""
        self.finish()
        events = (ctypes.c_void_p * (2 * MOST_EVENTS))()
        for number in range(len(events)):
            event = Pointer()
            status = self._new_event(ctypes.byref(event), 0)
            if status:
                self._drop_events(events[:number])
                self.did(status, "make an event")
            events[number] = event.value
        self._events = events
        self._variables[calls_ir.LAUNCHES].value = 0
        self._variables[calls_ir.EVENTS].value = ctypes.addressof(events)
        self._variables[calls_ir.EVENT_ROOM].value = MOST_EVENTS

    def stop_clock(self) -> tuple[int, float]:
        """How many launches were begun since, and the seconds that those of them took that were timed."""
        count, milliseconds = self._variables[calls_ir.LAUNCHES].value, 0.0
        try:
            self.finish()
            for number in range(min(count, MOST_EVENTS)):
                between = ctypes.c_float()
                self._elapsed(ctypes.byref(between), self._events[2 * number], self._events[2 * number + 1])
                milliseconds += between.value
        finally:
            self._variables[calls_ir.EVENT_ROOM].value = 0
            self._drop_events(self._events)
            self._events = ()
        return count, milliseconds * 1e-3

    def _drop_events(self, events: Sequence[int]) -> None:
        for event in events:
            self._drop_event(event)

    # -------------------------------------------------------------------------------------------------------------- code

    def build(
        self, binary: bytes, kernels: Sequence[str], shapes: Sequence[Shape | None], native: bytes = b""
    ) -> tuple[list[int], Any]:
        """The kernels of a module: their handles, and what keeps them. Raises DeviceError."""
        self._unload_left()
        self.did(self._enter(self._context), "be used")
        module = Pointer()
        image = ctypes.create_string_buffer(binary + b"\0")
        status = self._load(ctypes.byref(module), ctypes.addressof(image))
        if status:
            raise DeviceError(f"the driver of {self.name} ({self.label}) refuses a kernel: {self.meaning(status)}")
        loaded = Loaded(self, module)
        handles = (ctypes.c_uint64 * (HANDLE_WORDS * len(kernels)))()
        for number, (kernel, shape) in enumerate(zip(kernels, shapes, strict=True)):
            function = Pointer()
            self.did(self._find(ctypes.byref(function), module, kernel.encode()), f"find {kernel}")
            handles[HANDLE_WORDS * number] = function.value or 0
            handles[HANDLE_WORDS * number + 1 : HANDLE_WORDS * (number + 1)] = list(shape or (1, 1, 1))
        loaded.handles = handles
        start = ctypes.addressof(handles)
        return [start + 8 * HANDLE_WORDS * number for number in range(len(kernels))], loaded

    def unload(self, module: Pointer) -> None:
        """Give a module back, after the work that was begun; later, if that cannot be done now."""
        self._left.append(module)
        with self.lock:
            self._unload_left()

    def _unload_left(self) -> None:
        while self._left:
            self.finish()
            module = self._left.popleft()
            try:
                self.did(self._unload(module), "give code back")
            except DeviceError:
                self._left.append(module)
                raise

    @abstractmethod
    def _rows_to_host(self, host: int, device: int, width: int, rows: int, pitch: int, stream: Pointer) -> int:
        """Begin to copy rows of `width` bytes that lie `pitch` apart, on both sides; gives the driver's status."""

    @abstractmethod
    def meaning(self, code: int) -> str: ...


class Loaded:
    """A module of the driver's, and the handles of its kernels; given back when nobody holds it any more."""

    def __init__(self, device: StreamDevice, module: Pointer) -> None:
        self.handles: Any = None
        self._device = device
        self._module = module

    def __del__(self) -> None:
        try:
            self._device.unload(self._module)
        except Exception:  # the process may be ending, and the driver with it
            return
