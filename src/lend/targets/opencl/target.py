"""The `opencl` target: SPIR-V for any device of OpenCL 2.1 or later.

Does: hold what the driver needs to know of this target, as one frozen value.  Does not: choose a device, or run anything.
"""

from __future__ import annotations

from lend.diagnostics.records import dataclass
from lend.lower.device.abi import DeviceAbi
from lend.targets import emission
from lend.targets.emission import Order
from lend.targets.opencl.dialect import ABI


@dataclass(frozen=True)
class Target:
    """OpenCL. `order`: how its modules are written."""

    name: str
    abi: DeviceAbi
    order: Order

    @property
    def key(self) -> str:
        """What decides the code of a given IR: a part of cache keys."""
        return f"{self.name} {self.order.key}"

    def emit(self, device: str) -> bytes:
        """The SPIR-V of a device's module."""
        return emission.emit(device, self.order)

    def assembly(self, device: str) -> str:
        """The same as text."""
        return emission.emit(device, self.order, "assembly").decode()

    def optimised(self, device: str) -> str:
        """The LLVM IR that it is written from."""
        return emission.emit(device, self.order, "llvm").decode()


OPENCL = Target(
    "opencl", ABI, Order("spirv64v1.4-unknown-unknown", passes="plain", options=("--spirv-ext=+SPV_EXT_shader_atomic_float_add",))
)
