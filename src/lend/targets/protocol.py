"""What every target gives the driver, in one shape.

Does: say it.  Does not: do any of it (`cpu/`, `opencl/`).
Invariants: the folders of targets have files of the same names where they do the same: `target.py` holds the target as a frozen
value, `dialect.py` its tables, `machine.py` a device at work. What they share stands beside them: `device.py`, `code.py`.
"""

from __future__ import annotations

from typing import Protocol

from lend.lower.device.abi import DeviceAbi
from lend.lower.device.module import DeviceCode


class Module(Protocol):
    """A specialisation's machine code, loaded. `times`: seconds by part of the work that made it."""

    times: dict[str, float]

    def address(self, name: str) -> int:
        """The address of a function that the host calls."""
        ...

    def object_code(self) -> bytes:
        """All that is needed to load it again."""
        ...

    @property
    def llvm(self) -> str:
        """The optimised LLVM IR."""
        ...

    @property
    def asm(self) -> str:
        """The assembly text."""
        ...


class TargetDevice(Protocol):
    """A device that kernels are compiled for. `key`: what decides the code, beside the IR."""

    name: str
    label: str
    key: str

    @property
    def abi(self) -> DeviceAbi:
        """How its kernels are written."""
        ...

    def compile(self, code: DeviceCode) -> Module:
        """Compile both passes, and load them."""
        ...

    def load(self, content: bytes) -> Module | None:
        """Load what `Module.object_code` gave; None if it has to be compiled again."""
        ...
