"""A kernel's code for a target by name, whether or not such a device is here.

Does: compile for `cuda:sm_90`, `hip:gfx942`, `opencl` or `cpu`, and show what came of it.  Does not: load or launch.
Invariants: the steps are the pipeline's own; only the last two, `lower` and `emit`, are the target's.
"""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

from lend.diagnostics.errors import DeviceError
from lend.driver.lowered import Lowered
from lend.driver.pipeline import Compilation, run
from lend.lower.device.abi import DeviceAbi
from lend.lower.device.module import DeviceCode, lower_for_device
from lend.plan.device import device_plan
from lend.runtime.settings import snapshot
from lend.targets.resources import Resources


class NamedTarget(Protocol):
    """What each device's target can do without the device."""

    @property
    def key(self) -> str: ...
    @property
    def abi(self) -> DeviceAbi: ...
    def assembly(self, device: str) -> str: ...
    def optimised(self, device: str) -> str: ...
    def emit(self, device: str) -> bytes: ...


class LinkedTarget(NamedTarget, Protocol):
    """A target whose machine code can be made here."""

    def linked(self, device: str) -> tuple[bytes, tuple[Resources, ...]]: ...


def named_target(name: str) -> NamedTarget | None:
    """`cuda:sm_90` and its like; None for `cpu`. Raises DeviceError for what is no target."""
    kind, _, processor = name.partition(":")
    if kind == "cuda":
        from lend.targets.cuda.target import cuda

        return cuda(processor) if processor else cuda()
    if kind == "hip":
        from lend.targets.hip.target import hip

        return hip(processor) if processor else hip()
    if name == "opencl":
        from lend.targets.opencl.target import OPENCL

        return OPENCL
    if name == "cpu":
        return None
    raise DeviceError(f"there is no target `{name}`; there are cpu, opencl, cuda:sm_75 to cuda:sm_121, hip:gfx90a to hip:gfx1201")


class DeviceLowered(Lowered):
    """What a specialisation is compiled to for a device's target."""

    def __init__(self, compilation: Compilation, target: NamedTarget) -> None:
        if compilation.scheduled is None:
            run(compilation, until="schedule")
        assert compilation.scheduled is not None
        compilation.plan = device_plan(compilation.scheduled, compilation.elements)
        super().__init__(compilation)
        self._target = target
        self._code: DeviceCode = lower_for_device(compilation.plan, target.abi)

    @property
    def ir(self) -> str:
        """The LLVM IR of the device's module before optimisation."""
        return self._code.device

    @property
    def host(self) -> str:
        """The LLVM IR of the host function before optimisation."""
        return self._code.host

    @property
    def llvm(self) -> str:
        """The optimised LLVM IR of the device's module."""
        return self._target.optimised(self._code.device) if self._code.kernels else ""

    @property
    def asm(self) -> str:
        """The device's module as text: PTX, AMD's assembly, SPIR-V."""
        return self._target.assembly(self._code.device) if self._code.kernels else ""

    @cached_property
    def _linked(self) -> tuple[bytes, tuple[Resources, ...]]:
        if not self._code.kernels:
            return b"", ()
        linked = getattr(self._target, "linked", None)
        return linked(self._code.device) if linked is not None else (self._target.emit(self._code.device), ())

    @property
    def object(self) -> bytes:
        """Machine code (CUDA, HIP) or what the driver compiles (OpenCL)."""
        return self._linked[0]

    @property
    def resources(self) -> tuple[Resources, ...]:
        """What each kernel takes of a processor, by the region's number; empty where only the driver knows."""
        return self._linked[1]


def inspect(compilation: Compilation, target: str) -> Lowered:
    """The code of a specialisation for a target. CompileError if it is refused."""
    found = named_target(target)
    if found is not None:
        compilation = compilation.fresh()
        compilation.elements = snapshot().elements
        return DeviceLowered(compilation, found)
    compiled = compilation.fresh()
    run(compiled)
    return Lowered(compiled)
