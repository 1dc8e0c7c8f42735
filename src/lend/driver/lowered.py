"""What a specialisation was compiled to, as texts.

Does: print trees and code when asked.  Does not: compile.
"""

from __future__ import annotations

from lend.driver.pipeline import Compilation
from lend.ir.print import print_kernel
from lend.targets.resources import Resources


class Lowered:
    """What a specialisation was compiled to. `times`: seconds by pipeline step."""

    def __init__(self, compilation: Compilation) -> None:
        self._compilation = compilation
        self.times = dict(compilation.times)

    @property
    def typed(self) -> str:
        """The typed tree, printed."""
        return print_kernel(self._compilation.kernel)

    @property
    def plan(self) -> str:
        """The host pass and the device regions, printed."""
        return str(self._compilation.plan)

    @property
    def ir(self) -> str:
        """The LLVM IR before optimisation."""
        return self._compilation.ir or ""

    @property
    def llvm(self) -> str:
        """The optimised LLVM IR."""
        assert self._compilation.module is not None
        return self._compilation.module.llvm

    @property
    def asm(self) -> str:
        """The assembly."""
        assert self._compilation.module is not None
        return self._compilation.module.asm

    @property
    def resources(self) -> tuple[Resources, ...]:
        """What each kernel takes of a device's processor: registers, spilled bytes, shared bytes. Empty for the CPU and where
        only the driver knows."""
        return ()

    def __repr__(self) -> str:
        steps = ", ".join(f"{name} {seconds * 1e3:.1f} ms" for name, seconds in self.times.items())
        return f"<lowered {self._compilation.signature.kernel}: {steps}>"
