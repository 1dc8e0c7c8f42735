"""One OpenCL device at work: its queue, its memory, its kernels.

Does: make context and queue, allocate, copy, load code, time launches.
Does not: what drivers have in common (`targets/device.py`), or compile for devices (`target.py`).
Invariants: the queue runs what it is given in order.
"""

from __future__ import annotations

import ctypes
import importlib
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from lend.diagnostics.errors import DeviceError
from lend.targets import calls_ir
from lend.targets.device import MOST_EVENTS, DriverDevice, Pointer
from lend.targets.opencl import launch_ir
from lend.targets.opencl.library import Found, address_of
from lend.targets.opencl.words import what_happened

READ_WRITE, USE_HOST_POINTER = 1, 1 << 3
COMMAND_START, COMMAND_END = 0x1282, 0x1283

_Size = ctypes.c_size_t
_COPY = ctypes.CFUNCTYPE(ctypes.c_int, Pointer, Pointer, _Size)
_SIGNATURES: Mapping[str, tuple[Any, list[Any]]] = {
    "clSVMAlloc": (Pointer, [Pointer, ctypes.c_uint64, _Size, ctypes.c_uint]),
    "clSVMFree": (None, [Pointer, Pointer]),
    "clEnqueueSVMMemFill": (
        ctypes.c_int, [Pointer, Pointer, Pointer, _Size, _Size, ctypes.c_uint, Pointer, Pointer],
    ),
    "clCreateBuffer": (Pointer, [Pointer, ctypes.c_uint64, _Size, Pointer, Pointer]),
    "clReleaseMemObject": (ctypes.c_int, [Pointer]),
    "clEnqueueReadBufferRect": (
        ctypes.c_int,
        [Pointer, Pointer, ctypes.c_uint, Pointer, Pointer, Pointer, _Size, _Size, _Size, _Size, Pointer, ctypes.c_uint, Pointer,
         Pointer],
    ),
    "clFinish": (ctypes.c_int, [Pointer]),
    "clGetEventProfilingInfo": (ctypes.c_int, [Pointer, ctypes.c_uint, _Size, Pointer, Pointer]),
    "clReleaseEvent": (ctypes.c_int, [Pointer]),
}  # fmt: skip


class _Built(NamedTuple):
    """A program and its kernels: pyopencl's objects."""

    program: Any
    kernels: list[Any]


class OpenCLDevice(DriverDevice):
    """A device."""

    kind = "opencl"

    def __init__(self, name: str, found: Found) -> None:
        super().__init__(name, found.label, launch_ir.LAUNCH_IR, {called: address_of(called) for called in launch_ir.CALLED})
        pyopencl: Any = importlib.import_module("pyopencl")
        self.key = found.key
        self.number = int(name.partition(":")[2])
        self._pyopencl = pyopencl
        try:
            self._context: Any = pyopencl.Context([found.raw])
            self._queue: Any = pyopencl.CommandQueue(self._context)
        except pyopencl.Error as error:
            raise DeviceError(f"{name} ({found.label}) cannot be used: {what_happened(_code(error))}") from None
        self._functions = {name: _typed(name, *signature) for name, signature in _SIGNATURES.items()}
        self._begin_copy, self._copy = (_COPY(self._code.address(name)) for name in (launch_ir.BEGIN_COPY, launch_ir.COPY))
        self._queue_handle: int = self._queue.int_ptr
        self._context_handle: int = self._context.int_ptr
        self._alignment: int = found.raw.mem_base_addr_align // 8
        self._timed_queue: Any = None
        self._events: Any = ()
        block = min(int(found.raw.max_work_group_size), BLOCK_ON_PROCESSORS if is_processor(found.raw) else BLOCK)
        self.variable(launch_ir.BLOCK).value = 1 << (block.bit_length() - 1)
        self._variables[calls_ir.QUEUE].value = self._queue_handle
        self.make_record()

    # ------------------------------------------------------------------------------------------------------------ memory

    def _new(self, size: int) -> int | None:
        return self._functions["clSVMAlloc"](self._context_handle, READ_WRITE, size, 0)

    def _release(self, address: int) -> None:
        self._functions["clSVMFree"](self._context_handle, address)

    def _copy_in(self, device: int, host: int, bytes: int) -> None:
        status = self._begin_copy(device, host, bytes)
        if status:
            self.did(status, "copy an array")

    def _copy_out(self, host: int, device: int, bytes: int) -> None:
        status = self._begin_copy(host, device, bytes)
        if status:
            self.did(status, "copy an array")

    def _bring(self, host: int, device: int, bytes: int) -> None:
        status = self._copy(host, device, bytes)
        if status:
            self.did(status, "copy an array")

    def _copy_rows_out(self, host: int, block: int, offset: int, width: int, rows: int, pitch: int) -> None:
        # A buffer over shared virtual memory is that memory; the queue holds it until it has read it. It must begin where
        # a buffer of this device may.
        status = ctypes.c_int32(0)
        before = block % self._alignment
        block, offset = block - before, offset + before
        size = offset + (rows - 1) * pitch + width
        buffer = self._functions["clCreateBuffer"](self._context_handle, USE_HOST_POINTER, size, block, ctypes.byref(status))
        self.did(status.value, "copy an array")
        row, column = divmod(offset, pitch)
        three = _Size * 3
        begin, zero, region = three(column, row, 0), three(0, 0, 0), three(width, rows, 1)
        copy = self._functions["clEnqueueReadBufferRect"]
        code = copy(self._queue_handle, buffer, 0, begin, zero, region, pitch, 0, pitch, 0, host, 0, None, None)
        self._functions["clReleaseMemObject"](buffer)
        self.did(code, "copy an array")

    def zero(self, device: int, bytes: int) -> None:
        """Begin to clear memory."""
        pattern = ctypes.c_uint8(0)
        status = self._functions["clEnqueueSVMMemFill"](
            self._queue_handle, device, ctypes.byref(pattern), 1, bytes, 0, None, None
        )
        self.did(status, "clear an array")

    def finish(self) -> None:
        """Wait for everything that was begun."""
        self.did(self._functions["clFinish"](self._queue_handle), "finish its work")

    # ------------------------------------------------------------------------------------------------------------ clocks

    def start_clock(self) -> None:
        """Have the next launches timed by the device."""
        self.finish()
        if self._timed_queue is None:
            properties = self._pyopencl.command_queue_properties.PROFILING_ENABLE
            self._timed_queue = self._pyopencl.CommandQueue(self._context, properties=properties)
        self._events = (ctypes.c_void_p * MOST_EVENTS)()
        variables = self._variables
        variables[calls_ir.LAUNCHES].value = 0
        variables[calls_ir.EVENTS].value = ctypes.addressof(self._events)
        variables[calls_ir.EVENT_ROOM].value = MOST_EVENTS
        self._queue_handle = variables[calls_ir.QUEUE].value = self._timed_queue.int_ptr

    def stop_clock(self) -> tuple[int, float]:
        """How many launches were begun since, and the seconds that those of them took that were timed."""
        variables = self._variables
        count, nanoseconds = variables[calls_ir.LAUNCHES].value, 0
        try:
            self.finish()
            for event in self._events[: min(count, MOST_EVENTS)]:
                ends: list[int] = []
                for which in (COMMAND_START, COMMAND_END):
                    moment = ctypes.c_uint64()
                    self._functions["clGetEventProfilingInfo"](event, which, 8, ctypes.byref(moment), None)
                    ends.append(moment.value)
                nanoseconds += ends[1] - ends[0]
                self._functions["clReleaseEvent"](event)
        finally:
            variables[calls_ir.EVENT_ROOM].value = 0
            self._queue_handle = variables[calls_ir.QUEUE].value = self._queue.int_ptr
        return count, nanoseconds * 1e-9

    # -------------------------------------------------------------------------------------------------------------- code

    def build(self, binary: bytes, kernels: Sequence[str], shapes: Sequence[Any], native: bytes = b"") -> tuple[list[int], Any]:
        """The kernels of a SPIR-V module: their handles, and what keeps them. Raises DeviceError."""
        pyopencl = self._pyopencl
        built: _Built | None = None
        if native:
            try:
                built = self._built(pyopencl.Program(self._context, self._context.devices, [native]), kernels)
            except (pyopencl.Error, ValueError):  # another driver's, or damaged: the driver's part is done again
                built = None
        if built is None:
            try:
                built = self._built(pyopencl.Program(self._context, binary), kernels)
            except pyopencl.Error as error:
                raise DeviceError(
                    f"the driver of {self.name} ({self.label}) refuses a kernel: {what_happened(_code(error))}"
                ) from None
        return [kernel.int_ptr for kernel in built.kernels], built

    def _built(self, program: Any, kernels: Sequence[str]) -> _Built:
        options = "-cl-fp32-correctly-rounded-divide-sqrt" if self._rounds_division() else ""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = program.build(options=options)
            return _Built(program, [self._pyopencl.Kernel(program, name) for name in kernels])

    def native(self, kept: Any) -> bytes:
        """The program as the device runs it."""
        try:
            return b"" if kept is None else kept.program.binaries[0]
        except self._pyopencl.Error:
            return b""

    def _rounds_division(self) -> bool:
        return bool(self._context.devices[0].single_fp_config & 0x80)

    def meaning(self, code: int) -> str:
        """OpenCL's error in words."""
        return what_happened(code)


BLOCK = 256
"""The largest block of threads, where nothing else is said."""
BLOCK_ON_PROCESSORS = 1024
"""On processors a block is what one of their threads does at a time."""


def is_processor(raw: Any) -> bool:
    """Whether a device is a processor."""
    return bool(raw.type & 2)


def _typed(name: str, result: Any, arguments: list[Any]) -> Any:
    """A function of the library, with its types; a copy of our own."""
    return ctypes.CFUNCTYPE(result, *arguments)(address_of(name))


def _code(error: Any) -> int:
    code = getattr(error, "code", None)
    return int(code) if isinstance(code, int) else 0
