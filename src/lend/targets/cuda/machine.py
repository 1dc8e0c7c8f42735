"""A CUDA device that kernels are compiled for and run on.

Does: join what one device can do with how code for it is made.  Does not: either of these (`targets/stream_device.py`,
`targets/code.py`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from lend.diagnostics.errors import DeviceError
from lend.lower.device.abi import DeviceAbi
from lend.lower.device.module import DeviceCode
from lend.targets.code import DeviceModule, compile_code, load_code
from lend.targets.cuda.library import Found
from lend.targets.cuda.target import Target, nearest
from lend.targets.cuda.words import what_happened
from lend.targets.stream_device import Driver, Library, StreamDevice
from lend.targets.stream_ir import Names

DRIVER = Driver(
    Names(
        "cuLaunchKernel",
        "cuMemcpyDtoHAsync_v2",
        "cuMemcpyHtoDAsync_v2",
        "cuStreamSynchronize",
        "cuCtxSetCurrent",
        "cuEventRecord",
    ),
    allocate="cuMemAllocAsync",
    free="cuMemFreeAsync",
    clear="cuMemsetD8Async",
    load="cuModuleLoadData",
    find="cuModuleGetFunction",
    unload="cuModuleUnload",
    new_stream="cuStreamCreate",
    drop_stream="cuStreamDestroy_v2",
    new_event="cuEventCreate",
    drop_event="cuEventDestroy_v2",
    elapsed="cuEventElapsedTime",
    memory_is_full=2,
)


ON_HOST, ON_DEVICE = 1, 2
DEVICE_ORDINAL = 9
"""The attribute of a pointer that is its device's number."""


class RowsCopied(ctypes.Structure):
    """The driver's `CUDA_MEMCPY2D`: what is copied from where to where."""

    _fields_ = (
        ("from_x", ctypes.c_size_t), ("from_y", ctypes.c_size_t), ("from_type", ctypes.c_uint), ("from_host", ctypes.c_void_p),
        ("from_device", ctypes.c_void_p), ("from_array", ctypes.c_void_p), ("from_pitch", ctypes.c_size_t),
        ("to_x", ctypes.c_size_t), ("to_y", ctypes.c_size_t), ("to_type", ctypes.c_uint), ("to_host", ctypes.c_void_p),
        ("to_device", ctypes.c_void_p), ("to_array", ctypes.c_void_p), ("to_pitch", ctypes.c_size_t),
        ("width", ctypes.c_size_t), ("rows", ctypes.c_size_t),
    )  # fmt: skip


class Device(StreamDevice):
    """A CUDA device."""

    kind = "cuda"

    def __init__(self, name: str, found: Found, library: Library) -> None:
        context = ctypes.c_void_p()
        retain = library.function("cuDevicePrimaryCtxRetain", ctypes.POINTER(ctypes.c_void_p), ctypes.c_int)
        status = retain(ctypes.byref(context), found.number)
        if status:
            raise DeviceError(f"{name} ({found.label}) cannot be used: {what_happened(status)}")
        copy = library.function("cuMemcpy2DAsync_v2", ctypes.POINTER(RowsCopied), ctypes.c_void_p)
        self._copy_rows: Callable[..., int] = copy
        pointer = ctypes.c_void_p
        self._pointer_attribute: Callable[..., int] = library.function("cuPointerGetAttribute", pointer, ctypes.c_int, pointer)
        try:
            super().__init__(name, found.label, library, DRIVER, context.value or 0)
        except BaseException:
            library.function("cuDevicePrimaryCtxRelease_v2", ctypes.c_int)(found.number)
            raise
        self.number = found.number
        self._target: Target = nearest(found.processor)
        self.key = f"{self._target.key} {found.key}"

    @property
    def abi(self) -> DeviceAbi:
        """How its kernels are written."""
        return self._target.abi

    def compile(self, code: DeviceCode) -> DeviceModule:
        """Compile both passes, and load them."""
        return compile_code(self, self._target, code)

    def load(self, content: bytes) -> DeviceModule | None:
        """Load what `DeviceModule.object_code` gave; None if it has to be compiled again."""
        return load_code(self, self._target, content)

    def number_of(self, address: int) -> int:
        """The driver's number of the device whose memory that is."""
        number = ctypes.c_int()
        self.did(self._pointer_attribute(ctypes.byref(number), DEVICE_ORDINAL, address), "look at another library's memory")
        return number.value

    def _rows_to_host(self, host: int, device: int, width: int, rows: int, pitch: int, stream: ctypes.c_void_p) -> int:
        copied = RowsCopied(
            from_type=ON_DEVICE, from_device=device, from_pitch=pitch,
            to_type=ON_HOST, to_host=host, to_pitch=pitch,
            width=width, rows=rows,
        )  # fmt: skip
        return self._copy_rows(ctypes.byref(copied), stream)

    def meaning(self, code: int) -> str:
        """CUDA's error in words."""
        return what_happened(code)
