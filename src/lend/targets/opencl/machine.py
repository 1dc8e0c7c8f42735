"""A device that kernels are compiled for and run on.

Does: join what one OpenCL device can do with how code for it is made.  Does not: either of these (`device.py`,
`targets/code.py`).
"""

from __future__ import annotations

from lend.lower.device.abi import DeviceAbi
from lend.lower.device.module import DeviceCode
from lend.targets.code import DeviceModule, compile_code, load_code
from lend.targets.opencl.device import OpenCLDevice, is_processor
from lend.targets.opencl.dialect import ABI, ABI_ON_PROCESSORS
from lend.targets.opencl.library import Found
from lend.targets.opencl.target import OPENCL


class Device(OpenCLDevice):
    """An OpenCL device."""

    def __init__(self, name: str, found: Found) -> None:
        super().__init__(name, found)
        self.key = f"{OPENCL.key} {found.key}"
        self._abi = ABI_ON_PROCESSORS if is_processor(found.raw) else ABI

    @property
    def abi(self) -> DeviceAbi:
        """How its kernels are written."""
        return self._abi

    def compile(self, code: DeviceCode) -> DeviceModule:
        """Compile both passes, and load them."""
        return compile_code(self, OPENCL, code)

    def load(self, content: bytes) -> DeviceModule | None:
        """Load what `DeviceModule.object_code` gave; None if it has to be compiled again."""
        return load_code(self, OPENCL, content)
