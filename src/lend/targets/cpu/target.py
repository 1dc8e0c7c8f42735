"""The `cpu` target: the machine we run on, arrays used in place.

Does: hold what the driver needs to know of this target, as one frozen value.  Does not: choose a target.
"""

from __future__ import annotations

from lend.diagnostics.records import dataclass
from lend.targets.cpu.emit import CompiledModule, compile_module, load_object
from lend.targets.cpu.machine import Machine, host, named
from lend.targets.cpu.object_file import read_symbols
from lend.targets.cpu.own_functions import OURS, addresses


@dataclass(frozen=True)
class Target:
    """A processor of this computer."""

    name: str
    machine: Machine

    @property
    def key(self) -> str:
        """What decides the machine code of a given IR: a part of cache keys."""
        return f"{self.name} {self.machine.key}"

    def compile(self, ir: str) -> CompiledModule:
        """Compile and load a module; its regions run on the process's thread pool."""
        return compile_module(ir, machine=self.machine, symbols=addresses(name for name in OURS if f"@{name}(" in ir))

    def load(self, object_code: bytes, bitcode: bytes | None = None) -> CompiledModule:
        """Load what `compile(…).object_code()` gave."""
        symbols = addresses(read_symbols(object_code).undefined)
        return load_object(object_code, machine=self.machine, symbols=symbols, bitcode=bitcode)


def cpu(processor: str | None = None) -> Target:
    """The target: of the host's processor, or of a named one (`x86-64-v2`) without the host's own features."""
    return Target("cpu", host() if processor is None else named(processor))
