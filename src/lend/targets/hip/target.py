"""The `hip` target: code objects for one of AMD's processors.

Does: hold what the driver needs to know of this target, as one frozen value.  Does not: choose a device, or run anything.
"""

from __future__ import annotations

from lend.diagnostics.errors import DeviceError
from lend.diagnostics.records import dataclass
from lend.lower.device.abi import DeviceAbi
from lend.targets.hip import emit
from lend.targets.hip.dialect import ABI
from lend.targets.resources import Resources

PROCESSORS = ("gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1101", "gfx1200", "gfx1201")


@dataclass(frozen=True)
class Target:
    """HIP, for one processor."""

    name: str
    abi: DeviceAbi
    processor: str

    @property
    def key(self) -> str:
        """What decides the code of a given IR: a part of cache keys."""
        return f"{self.name} {emit.order('', self.processor).key} {emit.last(self.processor).key}"

    def emit(self, device: str) -> bytes:
        """What the driver loads: a linked code object."""
        return emit.code_object(device, self.processor)

    def assembly(self, device: str) -> str:
        """The machine code as text."""
        return emit.assembly(device, self.processor)

    def optimised(self, device: str) -> str:
        """The LLVM IR that it is written from."""
        return emit.optimised(device, self.processor)

    def linked(self, device: str) -> tuple[bytes, tuple[Resources, ...]]:
        """Machine code to the last byte, and what each kernel takes."""
        content = self.emit(device)
        return content, emit.resources(content)


def hip(processor: str = "gfx90a") -> Target:
    """The target for `gfx90a` to `gfx1201`. DeviceError for a processor that lend does not know."""
    if processor not in PROCESSORS:
        raise DeviceError(f"there is no HIP target `{processor}`; there are {', '.join(PROCESSORS)}")
    return Target("hip", ABI, processor)


def known(processor: str) -> bool:
    """Whether lend has code for a processor."""
    return processor in PROCESSORS
