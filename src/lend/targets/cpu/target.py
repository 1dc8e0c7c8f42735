"""The `cpu` target: the machine we run on, arrays used in place.

Does: hold what the driver needs to know of this target, as one frozen value.  Does not: choose a target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from lend.targets.cpu.emit import CompiledModule, compile_module, load_object
from lend.targets.cpu.machine import Machine, host, named
from lend.targets.cpu.memory import ALLOCATE, FREE, memory
from lend.targets.cpu.object_file import read_symbols
from lend.targets.cpu.threads import PARALLEL_FOR, pool

OURS: Mapping[str, Callable[[], int]] = {
    PARALLEL_FOR: lambda: pool().address,
    ALLOCATE: lambda: memory().addresses[ALLOCATE],
    FREE: lambda: memory().addresses[FREE],
}
"""Our own functions that compiled code may call."""


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
        return compile_module(ir, machine=self.machine, symbols=_symbols(name for name in OURS if f"@{name}(" in ir))

    def load(self, object_code: bytes, bitcode: bytes | None = None) -> CompiledModule:
        """Load what `compile(…).object_code()` gave."""
        symbols = _symbols(read_symbols(object_code).undefined.intersection(OURS))
        return load_object(object_code, machine=self.machine, symbols=symbols, bitcode=bitcode)


def _symbols(used: Iterable[str]) -> dict[str, int]:
    """Where our own functions are that the code calls; the pool, and the allocator, are made only for code that needs them."""
    return {name: OURS[name]() for name in used}


def cpu(processor: str | None = None) -> Target:
    """The target: of the host's processor, or of a named one (`x86-64-v2`) without the host's own features."""
    return Target("cpu", host() if processor is None else named(processor))
