"""The `cuda` target: PTX for a generation of NVIDIA's processors.

Does: hold what the driver needs to know of this target, as one frozen value.  Does not: choose a device, or run anything.
"""

from __future__ import annotations

from lend.diagnostics.errors import DeviceError
from lend.diagnostics.records import dataclass
from lend.lower.device.abi import DeviceAbi
from lend.targets.cuda import emit
from lend.targets.cuda.dialect import ABI
from lend.targets.resources import Resources

PROCESSORS = ("sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120", "sm_121")


@dataclass(frozen=True)
class Target:
    """CUDA, for one processor."""

    name: str
    abi: DeviceAbi
    processor: str

    @property
    def key(self) -> str:
        """What decides the code of a given IR: a part of cache keys."""
        return f"{self.name} {emit.order('', self.processor).key} {emit.last(self.processor).key}"

    def emit(self, device: str) -> bytes:
        """What the driver loads: PTX."""
        return self.assembly(device).encode()

    def assembly(self, device: str) -> str:
        """The same as text."""
        return emit.ptx(device, self.processor)

    def optimised(self, device: str) -> str:
        """The LLVM IR that it is written from."""
        return emit.optimised(device, self.processor)

    def linked(self, device: str) -> tuple[bytes, tuple[Resources, ...]]:
        """Machine code to the last byte, and what each kernel takes."""
        return emit.assemble(self.assembly(device), self.processor)


def cuda(processor: str = "sm_90") -> Target:
    """The target for `sm_75` to `sm_121`. DeviceError for a processor that lend does not know."""
    if processor not in PROCESSORS:
        raise DeviceError(f"there is no CUDA target `{processor}`; there are {', '.join(PROCESSORS)}")
    return Target("cuda", ABI, processor)


def nearest(processor: str) -> Target:
    """The target for a device: of its own generation, or the latest before it, whose PTX its driver takes too."""
    number = int(processor.removeprefix("sm_"))
    fitting = [known for known in PROCESSORS if int(known.removeprefix("sm_")) <= number]
    return cuda(fitting[-1] if fitting else PROCESSORS[0])
