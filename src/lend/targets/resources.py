"""What one kernel takes of a device, as its assembler says.

Does: hold the figures.  Does not: find them (each target's `emit.py` does).
"""

from __future__ import annotations

from lend.diagnostics.records import dataclass


@dataclass(frozen=True)
class Resources:
    """One kernel. registers: of 32 bits, for each thread. spilled: bytes of registers that did not fit, for each thread. shared:
    bytes of each block's memory. scalar_registers: those that the threads of a wave share, where a device has such (AMD)."""

    kernel: str
    registers: int
    spilled: int
    shared: int
    scalar_registers: int = 0
