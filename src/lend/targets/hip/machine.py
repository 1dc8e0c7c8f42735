"""A HIP device that kernels are compiled for and run on.

Does: join what one device can do with how code for it is made.  Does not: either of these (`targets/stream_device.py`,
`targets/code.py`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from lend.lower.device.abi import DeviceAbi
from lend.lower.device.module import DeviceCode
from lend.targets.code import DeviceModule, compile_code, load_code
from lend.targets.hip.library import Found
from lend.targets.hip.target import Target, hip
from lend.targets.hip.words import what_happened
from lend.targets.stream_device import Driver, Library, StreamDevice
from lend.targets.stream_ir import Names

DRIVER = Driver(
    Names(
        "hipModuleLaunchKernel", "hipMemcpyDtoHAsync", "hipMemcpyHtoDAsync", "hipStreamSynchronize", "hipSetDevice",
        "hipEventRecord", context="i32",
    ),
    allocate="hipMallocAsync",
    free="hipFreeAsync",
    clear="hipMemsetD8Async",
    load="hipModuleLoadData",
    find="hipModuleGetFunction",
    unload="hipModuleUnload",
    new_stream="hipStreamCreateWithFlags",
    drop_stream="hipStreamDestroy",
    new_event="hipEventCreateWithFlags",
    drop_event="hipEventDestroy",
    elapsed="hipEventElapsedTime",
    memory_is_full=2,
)  # fmt: skip


DEVICE_TO_HOST = 2


class Device(StreamDevice):
    """A HIP device."""

    kind = "hip"

    def __init__(self, name: str, found: Found, library: Library) -> None:
        size, pointer = ctypes.c_size_t, ctypes.c_void_p
        self._copy_rows: Callable[..., int] = library.function(
            "hipMemcpy2DAsync", pointer, size, pointer, size, size, size, ctypes.c_int, pointer
        )
        super().__init__(name, found.label, library, DRIVER, found.number)
        self.number = found.number
        self._target: Target = hip(found.processor)
        self.key = f"{self._target.key} {found.key}"

    @staticmethod
    def most_blocks() -> tuple[int, int, int]:
        """HIP counts the threads of a launch along a dimension in 32 bits."""
        return 2**22 - 1, 65535, 65535

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

    def _rows_to_host(self, host: int, device: int, width: int, rows: int, pitch: int, stream: ctypes.c_void_p) -> int:
        return self._copy_rows(host, pitch, device, pitch, width, rows, DEVICE_TO_HOST, stream)

    def meaning(self, code: int) -> str:
        """HIP's error in words."""
        return what_happened(code)
