"""A driver that is none: CUDA's and HIP's functions over memory of the host, checking every call.

Does: hold memory, streams, modules and events; run PTX on the processor, or Python in the place of kernels; fail a call when told
to. If it `delays`, what is begun in a stream is done when somebody waits for it, or at any call before: streams in any order, the
work of each in its own.
Does not: run machine code of AMD's. What it cannot make sense of is a test's failure, kept until `close`.
Invariants: memory is given to nobody twice, freed once, and touched only while it is held; a module's kernels take exactly what
their code says; a thread is in the context of the stream that it uses.
"""

from __future__ import annotations

import ctypes
import random
import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .ptx import Module

P, S, U, WHOLE = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint, ctypes.c_int
OUT = ctypes.c_void_p  # addresses of what a function fills in: looked at as numbers

CUDA = {
    "cuInit": (U,), "cuDeviceGetCount": (OUT,), "cuDriverGetVersion": (OUT,), "cuDeviceGetName": (OUT, WHOLE, WHOLE),
    "cuDeviceTotalMem_v2": (OUT, WHOLE), "cuDeviceGetAttribute": (OUT, WHOLE, WHOLE), "cuDevicePrimaryCtxRetain": (OUT, WHOLE),
    "cuCtxSetCurrent": (P,), "cuStreamCreate": (OUT, U), "cuMemAllocAsync": (OUT, S, P), "cuMemFreeAsync": (P, P),
    "cuMemcpyDtoHAsync_v2": (P, P, S, P), "cuMemcpyHtoDAsync_v2": (P, P, S, P), "cuMemsetD8Async": (P, ctypes.c_ubyte, S, P),
    "cuStreamSynchronize": (P,), "cuModuleLoadData": (OUT, P), "cuModuleGetFunction": (OUT, P, P), "cuModuleUnload": (P,),
    "cuLaunchKernel": (P, U, U, U, U, U, U, U, P, P, P), "cuEventCreate": (OUT, U), "cuEventDestroy_v2": (P,),
    "cuEventRecord": (P, P), "cuEventElapsedTime": (OUT, P, P), "cuStreamDestroy_v2": (P,),
    "cuDevicePrimaryCtxRelease_v2": (WHOLE,), "cuMemcpy2DAsync_v2": (OUT, P),
    "cuPointerGetAttribute": (OUT, WHOLE, P),
}  # fmt: skip
HIP = {
    "hipSetDevice": "cuCtxSetCurrent", "hipStreamCreateWithFlags": "cuStreamCreate", "hipMallocAsync": "cuMemAllocAsync",
    "hipFreeAsync": "cuMemFreeAsync", "hipMemcpyDtoHAsync": "cuMemcpyDtoHAsync_v2", "hipMemcpyHtoDAsync": "cuMemcpyHtoDAsync_v2",
    "hipMemsetD8Async": "cuMemsetD8Async", "hipStreamSynchronize": "cuStreamSynchronize", "hipModuleLoadData": "cuModuleLoadData",
    "hipModuleGetFunction": "cuModuleGetFunction", "hipModuleUnload": "cuModuleUnload",
    "hipModuleLaunchKernel": "cuLaunchKernel", "hipEventCreateWithFlags": "cuEventCreate", "hipEventDestroy": "cuEventDestroy_v2",
    "hipEventRecord": "cuEventRecord", "hipEventElapsedTime": "cuEventElapsedTime", "hipStreamDestroy": "cuStreamDestroy_v2",
    "hipMemcpy2DAsync": "hipMemcpy2DAsync",
}  # fmt: skip
"""HIP's functions, by CUDA's that do the same."""

CUDA_ALSO = {"hipSetDevice": (WHOLE,), "hipMemcpy2DAsync": (P, S, P, S, S, S, WHOLE, P)}
"""Functions of HIP's whose parameters are others."""

FULL = 2


class Rows(ctypes.Structure):
    """`CUDA_MEMCPY2D`, written down from the driver's manual."""

    _fields_ = [
        (f"{end}{name}", kind)
        for end in ("src", "dst")
        for name, kind in (
            ("XInBytes", S),
            ("Y", S),
            ("MemoryType", WHOLE),
            ("Host", P),
            ("Device", P),
            ("Array", P),
            ("Pitch", S),
        )
    ] + [("WidthInBytes", S), ("Height", S)]


@dataclass
class Stream:
    """A stream, and what was begun in it and is not done."""

    context: int
    begun: deque[Callable[[], None]] = field(default_factory=deque[Callable[[], None]])

    def go_on(self) -> None:
        """Do the first of it."""
        self.begun.popleft()()


@dataclass
class Launch:
    """One launch: what the kernel was handed, and how many threads."""

    kernel: str
    pointers: list[int]
    words: list[int]
    starts: list[int]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]

    def places(self, dimension: int) -> range:
        """The places of its threads along a dimension."""
        start = self.starts[dimension] if dimension < len(self.starts) else 0
        return range(start, start + self.grid[dimension] * self.block[dimension])


@dataclass
class FakeDriver:
    """The driver. `kernels`: Python for each kernel, by name. `fail`: the number of the call that fails, and with what.

    runs: whether kernels that `kernels` has no Python for are run; else they do nothing. delays: the order of what may be done in
    several.
    """

    kernels: dict[str, Callable[[Launch], None]] = field(default_factory=dict[str, Callable[[Launch], None]])
    hip: bool = False
    memory: int = 1 << 30
    fail: tuple[int, int] | None = None
    context: int = 0x1000
    devices: int = 1
    runs: bool = False
    delays: random.Random | None = None
    parameters: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    """For HIP, whose code is no text: the sizes of each kernel's parameters."""

    def __post_init__(self) -> None:
        self.calls: list[str] = []
        self.wrong: list[str] = []
        self.blocks: dict[int, Any] = {}  # memory that is held, by address
        self.owners: dict[int, int] = {}  # the context of each
        self.code: dict[int, Module] = {}
        self.retained = 0
        self.modules: dict[int, dict[str, list[int]]] = {}
        self.functions: dict[int, tuple[int, str]] = {}
        self.streams: dict[int, Stream] = {}
        self.events: set[int] = set()
        self.launches: list[Launch] = []
        self.bytes_in = self.bytes_out = 0
        self._entered: int | None = None
        self._next = 0x10000
        self._callbacks: dict[str, Any] = {}

    # ---------------------------------------------------------------------------------------------------- the library

    def function(self, name: str, *arguments: Any) -> Callable[..., int]:
        """As of `Library`."""
        return ctypes.CFUNCTYPE(WHOLE, *arguments)(self.address(name))

    def address(self, name: str) -> int:
        """As of `Library`."""
        known = HIP[name] if name in HIP else name
        if name not in self._callbacks:
            types = CUDA_ALSO.get(name) or CUDA[known]
            own = getattr(self, "_" + known)
            self._callbacks[name] = ctypes.CFUNCTYPE(WHOLE, *types)(lambda *given: self._call(known, own, given))
        address = ctypes.cast(self._callbacks[name], P).value
        assert address is not None
        return address

    def _call(self, name: str, own: Callable[..., int], given: tuple[Any, ...]) -> int:
        self.calls.append(name)
        failing = self.fail is not None and len(self.calls) - 1 == self.fail[0]
        try:
            if self.delays is not None:
                self._go_on(self.delays)
            if failing and self.fail is not None:
                if name == "cuStreamSynchronize":  # it waits, and tells of what went wrong meanwhile
                    own(*given)
                return self.fail[1]
            return own(*[0 if value is None else value for value in given])
        except Exception as error:  # it must not leave a callback
            self.wrong.append(f"{name}: {type(error).__name__}: {error}")
            return 999

    def expect(self, holds: bool, what: str) -> None:
        """What a right program never does."""
        if not holds:
            self.wrong.append(what)

    def close(self) -> None:
        """Raise if anything was wrong."""
        assert not self.wrong, "\n".join(self.wrong)

    def _go_on(self, order: random.Random) -> None:
        """Do some of what was begun."""
        waiting = [stream for stream in self.streams.values() if stream.begun]
        for _ in range(order.randrange(3) if waiting else 0):
            stream = order.choice(waiting)
            if stream.begun:
                stream.go_on()

    def _begin(self, stream: int, work: Callable[[], None]) -> int:
        """Do it, or have it done later."""
        self._in_stream(stream)
        if self.delays is None:
            work()
        else:
            self.streams[stream].begun.append(work)
        return 0

    def touches_the_host(self) -> bool:
        """Whether something that was begun and is not done reads or writes the host's memory."""
        return any(work.__name__ == "copy" for stream in self.streams.values() for work in stream.begun)

    # ------------------------------------------------------------------------------------------------------- functions

    def _put(self, out: int, value: int, size: int = 8) -> None:
        ctypes.memmove(out, value.to_bytes(size, "little"), size)

    def _new(self) -> int:
        self._next += 0x100
        return self._next

    def _cuInit(self, flags: int) -> int:
        return 0

    def _cuDeviceGetCount(self, out: int) -> int:
        self._put(out, self.devices, 4)
        return 0

    def _cuDriverGetVersion(self, out: int) -> int:
        self._put(out, 13000, 4)
        return 0

    def _cuDeviceGetName(self, out: int, size: int, device: int) -> int:
        ctypes.memmove(out, b"No Such Card\0", 13)
        return 0

    def _cuDeviceTotalMem_v2(self, out: int, device: int) -> int:
        self._put(out, self.memory)
        return 0

    def _cuDeviceGetAttribute(self, out: int, attribute: int, device: int) -> int:
        self._put(out, {75: 9, 76: 0}[attribute], 4)
        return 0

    def _cuDevicePrimaryCtxRetain(self, out: int, device: int) -> int:
        self.expect(0 <= device < self.devices, f"the device {device}")
        self.retained += 1
        self._put(out, self.context + device)
        return 0

    def _cuDevicePrimaryCtxRelease_v2(self, device: int) -> int:
        self.retained -= 1
        return 0

    def _cuPointerGetAttribute(self, out: int, attribute: int, address: int) -> int:
        self.expect(attribute == 9, f"the attribute {attribute} of a pointer")
        start = next((start for start, block in self.blocks.items() if start <= address < start + len(block)), None)
        if start is None:
            return 1
        self._put(out, self.owners[start] - self.context, 4)
        return 0

    def foreign(self, array: Any, device: int = 0) -> int:
        """Memory of another library's on a device, with the elements of an array; gives its address."""
        block = (ctypes.c_uint8 * max(array.nbytes, 1)).from_buffer_copy(array.tobytes() or b"\0")
        self.blocks[ctypes.addressof(block)] = block
        self.owners[ctypes.addressof(block)] = self.context + device
        return ctypes.addressof(block)

    def _cuCtxSetCurrent(self, context: int) -> int:
        first = 0 if self.hip else self.context
        self.expect(first <= context < first + self.devices, f"the context {context}")
        self._entered = context
        return 0

    def _cuStreamCreate(self, out: int, flags: int) -> int:
        self.expect(flags == 1, "a stream that waits for the default one")
        self.expect(self._entered is not None, "a stream before the device is chosen")
        stream = self._new()
        self.streams[stream] = Stream(self._entered or 0)
        self._put(out, stream)
        return 0

    def _cuStreamDestroy_v2(self, stream: int) -> int:
        self._in_stream(stream)
        self._cuStreamSynchronize(stream)
        self.streams.pop(stream, None)
        return 0

    def _in_stream(self, stream: int) -> None:
        self.expect(self._entered is not None, "a call before the device is chosen")
        self.expect(stream in self.streams, f"the stream {stream:#x}")
        self.expect(self.streams[stream].context == self._entered, "a stream of another device")

    def _cuMemAllocAsync(self, out: int, size: int, stream: int) -> int:
        self._in_stream(stream)
        self.expect(size > 0, "an allocation of nothing")
        context = self.streams[stream].context
        if sum(len(self.blocks[at]) for at, own in self.owners.items() if own == context) + size > self.memory:
            return FULL
        block = (ctypes.c_uint8 * size)(*b"\xa5" * min(size, 64))
        self.blocks[ctypes.addressof(block)] = block
        self.owners[ctypes.addressof(block)] = context
        self._put(out, ctypes.addressof(block))
        return 0

    def _cuMemFreeAsync(self, address: int, stream: int) -> int:
        def free() -> None:
            self.expect(address in self.blocks, f"memory at {address:#x} is freed that is not held")
            self.expect(self.owners.get(address) == self.streams[stream].context, "memory of another device is freed")
            self.blocks.pop(address, None)
            self.owners.pop(address, None)

        return self._begin(stream, free)

    def held(self, address: int, size: int, context: int | None = None) -> bool:
        """Whether memory is held, on a device."""
        for start, block in self.blocks.items():
            if start <= address and address + size <= start + len(block):
                return context is None or self.owners[start] == context
        return False

    def _touch(self, address: int, size: int, stream: int, what: str) -> None:
        fine = self.held(address, size, self.streams[stream].context)
        self.expect(fine, f"{size} bytes are {what} at {address:#x}, which are not held there")

    def _cuMemcpyDtoHAsync_v2(self, host: int, device: int, size: int, stream: int) -> int:
        def copy() -> None:
            self._touch(device, size, stream, "read")
            ctypes.memmove(host, device, size)

        self.bytes_out += size
        return self._begin(stream, copy)

    def _cuMemcpyHtoDAsync_v2(self, device: int, host: int, size: int, stream: int) -> int:
        def copy() -> None:
            self._touch(device, size, stream, "written")
            ctypes.memmove(device, host, size)

        self.bytes_in += size
        return self._begin(stream, copy)

    def _cuMemcpy2DAsync_v2(self, given: int, stream: int) -> int:
        rows = Rows.from_buffer_copy(ctypes.string_at(given, ctypes.sizeof(Rows)))
        self.expect((rows.srcMemoryType, rows.dstMemoryType) == (2, 1), "rows that are not copied from the device to the host")
        self.expect(not any((rows.srcXInBytes, rows.srcY, rows.dstXInBytes, rows.dstY)), "rows that begin elsewhere")
        return self._rows(rows.dstHost, rows.dstPitch, rows.srcDevice, rows.srcPitch, rows.WidthInBytes, rows.Height, stream)

    def _hipMemcpy2DAsync(
        self, to: int, to_pitch: int, source: int, pitch: int, width: int, height: int, kind: int, stream: int
    ) -> int:
        self.expect(kind == 2, "rows that are not copied from the device to the host")
        return self._rows(to, to_pitch, source, pitch, width, height, stream)

    def _rows(self, to: int, to_pitch: int, source: int, pitch: int, width: int, height: int, stream: int) -> int:
        def copy() -> None:
            for k in range(height):
                self._touch(source + k * pitch, width, stream, "read")
                ctypes.memmove(to + k * to_pitch, source + k * pitch, width)

        self.expect(width <= pitch < 1 << 31 and width <= to_pitch < 1 << 31, "rows that lie too far apart, or overlap")
        self.bytes_out += width * height
        return self._begin(stream, copy)

    def _cuMemsetD8Async(self, device: int, value: int, size: int, stream: int) -> int:
        def fill() -> None:
            self._touch(device, size, stream, "set")
            ctypes.memset(device, value, size)

        return self._begin(stream, fill)

    def _cuStreamSynchronize(self, stream: int) -> int:
        self.expect(stream in self.streams, f"the stream {stream:#x}")
        while self.streams[stream].begun:
            self.streams[stream].go_on()
        return 0

    def _cuModuleLoadData(self, out: int, image: int) -> int:
        module = self._new()
        if self.hip:
            self.expect(ctypes.string_at(image, 4) == b"\x7fELF", "what is loaded is no code object")
            self.modules[module] = self.parameters
        else:
            text = ctypes.string_at(image).decode()
            self.expect(".version" in text, "what is loaded is no PTX")
            entries = re.findall(r"\.visible \.entry (\w+)\(([^)]*)\)", text)
            self.modules[module] = {name: [_size(part) for part in taken.split(",\n")] for name, taken in entries}
            if self.runs:
                self.code[module] = Module(text)
        self._put(out, module)
        return 0

    def _cuModuleGetFunction(self, out: int, module: int, name: int) -> int:
        text = ctypes.string_at(name).decode()
        self.expect(text in self.modules[module], f"a kernel {text}")
        function = self._new()
        self.functions[function] = module, text
        self._put(out, function)
        return 0

    def _cuModuleUnload(self, module: int) -> int:
        self.expect(module in self.modules, "a module is given back that is not loaded")
        self.expect(not any(stream.begun for stream in self.streams.values() if stream.context == self._entered), "code in use")
        self.modules.pop(module, None)
        self.code.pop(module, None)
        return 0

    def _cuLaunchKernel(self, function: int, *rest: int) -> int:
        grid, block, (shared, stream, parameters, extra) = rest[:3], rest[3:6], rest[6:]
        self._in_stream(stream)
        self.expect(shared == 0 and extra == 0, "shared memory or extra parameters")
        self.expect(all(1 <= n <= most for n, most in zip(grid, (2**31 - 1, 65535, 65535), strict=True)), f"a grid of {grid}")
        self.expect(all(n >= 1 for n in block) and block[0] * block[1] * block[2] <= 1024, f"a block of {block}")
        self.expect(function in self.functions, "a kernel that was not found")
        module, name = self.functions[function]
        self.expect(module in self.modules, "a kernel whose module is not loaded any more")
        values = self._parameters(self.modules[module][name], parameters)
        count = next(k for k, value in enumerate(values) if isinstance(value, bytes))
        raw = values[count]
        words = [int.from_bytes(raw[at : at + 8], "little", signed=True) for at in range(0, len(raw), 8)]
        launch = Launch(name, values[:count], words, values[count + 1 :], grid, block)
        self.launches.append(launch)

        def work() -> None:
            for pointer in launch.pointers:
                self._touch(pointer, 1, stream, f"handed to {name}")
            if name in self.kernels:
                self.kernels[name](launch)
            elif self.runs:
                own = [ctypes.create_string_buffer(v if isinstance(v, bytes) else v.to_bytes(8, "little")) for v in values]
                places = (P * len(own))(*map(ctypes.addressof, own))
                self.code[module].run(name, ctypes.addressof(places), grid, block)

        return self._begin(stream, work)

    def _parameters(self, sizes: list[int], parameters: int) -> list[Any]:
        """The values of a kernel's parameters: words of 8 bytes are numbers, the block of words is bytes."""
        places = (ctypes.c_void_p * len(sizes)).from_address(parameters)
        values: list[Any] = []
        for size, place in zip(sizes, places, strict=True):
            raw = ctypes.string_at(place, abs(size))
            values.append(raw if size < 0 else int.from_bytes(raw, "little"))
        return values

    def _cuEventCreate(self, out: int, flags: int) -> int:
        event = self._new()
        self.events.add(event)
        self._put(out, event)
        return 0

    def _cuEventDestroy_v2(self, event: int) -> int:
        self.expect(event in self.events, "an event is given back that is not held")
        self.events.discard(event)
        return 0

    def _cuEventRecord(self, event: int, stream: int) -> int:
        self._in_stream(stream)
        self.expect(event in self.events, "an event that is not held")
        return 0

    def _cuEventElapsedTime(self, out: int, first: int, second: int) -> int:
        self.expect({first, second} <= self.events, "an event that is not held")
        ctypes.c_float.from_address(out).value = 0.25
        return 0


def _size(parameter: str) -> int:
    """The size of a parameter in PTX: of the block of words, negative."""
    array = re.search(r"\.b8 \w+\[(\d+)\]", parameter)
    return -int(array[1]) if array is not None else 8
