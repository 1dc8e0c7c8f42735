"""The processor that code is generated for.

Does: name the host's processor and its features, make LLVM target machines.  Does not: read settings (a name is passed in).
Invariants: code is generated for exactly `Machine.features`; an engine gets a target machine of its own, since it frees it.
"""

from __future__ import annotations

from functools import cache

import llvmlite
import llvmlite.binding as llvm

from lend.diagnostics.records import dataclass


@dataclass(frozen=True)
class Machine:
    """A processor: LLVM's triple, processor name and feature list (`+avx2,-avx512f,…`)."""

    triple: str
    cpu: str
    features: str

    @property
    def architecture(self) -> str:
        """`x86_64`, `aarch64`, …"""
        name = self.triple.split("-", 1)[0]
        return {"amd64": "x86_64", "arm64": "aarch64"}.get(name, name)

    @property
    def key(self) -> str:
        """What decides the machine code of a given IR: a part of cache keys."""
        version = ".".join(map(str, llvm.llvm_version_info))
        return f"{self.triple} {self.cpu} {self.features} llvm-{version} llvmlite-{llvmlite.__version__}"

    @property
    def vector_bytes(self) -> int:
        """The size of a vector register."""
        features = self.features.split(",")
        return 64 if "+avx512f" in features else 32 if "+avx" in features or "+avx2" in features else 16

    @property
    def is_host_architecture(self) -> bool:
        """Whether code for this machine can be run, or at least loaded, in this process."""
        return self.architecture == host().architecture


@cache
def _initialise() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


@cache
def host() -> Machine:
    """The processor we run on."""
    cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    if cpu.startswith("znver"):
        features += f",{_NO_GATHERS}"
    return Machine(llvm.get_process_triple(), cpu, features)


_NO_GATHERS = "+prefer-no-gather,+prefer-no-scatter"
"""On Zen 4 a vector gather or scatter was never faster than single loads and stores, and up to three times slower (measured)."""


_LEVELS = {"x86-64-v3": "+avx,+avx2,+fma", "x86-64-v4": "+avx,+avx2,+avx512f,+fma"}
"""Features that LLVM gives these names anyway, for those who read `Machine.features`."""


def named(cpu: str, features: str = "", triple: str | None = None) -> Machine:
    """A processor by its name, such as `x86-64-v2`: without the host's own features."""
    return Machine(triple or host().triple, cpu, features or _LEVELS.get(cpu, ""))


def target_machine(machine: Machine, level: int = 3) -> llvm.TargetMachine:
    """A new LLVM target machine, for code that is loaded anywhere in memory; `level` is that of the code generator."""
    _initialise()
    target = llvm.Target.from_triple(machine.triple)
    return target.create_target_machine(cpu=machine.cpu, features=machine.features, opt=level, jit=True)
