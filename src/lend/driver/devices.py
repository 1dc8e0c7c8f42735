"""The devices of this machine, by name.

Does: list them, with the reason for each kind that is missing; make one when it is first used.  Does not: run kernels.
Invariants: nothing is loaded before a device other than the processor is asked for. A device is made once in a process, and not
used in a child of `fork`, which has no threads of the driver's.

Example: `lend.devices()` prints `cpu  AMD EPYC …`, `opencl:0  Intel(R) …`, and `no cuda: …`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lend.diagnostics.errors import DeviceError
from lend.diagnostics.records import dataclass
from lend.runtime.settings import available_processors, config, device_name, snapshot

if TYPE_CHECKING:
    from lend.runtime.memory_report import MemoryReport
    from lend.targets.device import DriverDevice as Device


DRIVEN = ("opencl", "cuda", "hip")
"""The kinds of devices that have drivers."""


@dataclass(frozen=True)
class DeviceInfo:
    """A device. `memory`: its bytes, None for the processor."""

    name: str
    label: str
    memory: int | None = None


class Devices(tuple[DeviceInfo, ...]):
    """What there is, the processor first. `missing`: pairs of a kind of device and why there is none."""

    missing: tuple[tuple[str, str], ...]

    def __new__(cls, found: Sequence[DeviceInfo], missing: Sequence[tuple[str, str]] = ()) -> Devices:
        devices = super().__new__(cls, found)
        devices.missing = tuple(missing)
        return devices

    def __repr__(self) -> str:
        width = max(len(device.name) for device in self)
        lines = [
            f"{device.name:{width}}  {device.label}" + ("" if device.memory is None else f", {device.memory / 2**30:.1f} GiB")
            for device in self
        ]
        return "\n".join([*lines, *(f"no {kind}: {why}" for kind, why in self.missing)])


def devices() -> Devices:
    """The devices that kernels can run on, and of the others why not."""
    from lend.targets.cpu.processor import description

    listed = [DeviceInfo("cpu", f"{description()}, {available_processors()} threads")]
    missing: list[tuple[str, str]] = []
    for kind in DRIVEN:
        found = _found(kind)
        listed += [DeviceInfo(f"{kind}:{k}", device.label, device.memory) for k, device in enumerate(found.devices)]
        missing += found.missing
    return Devices(listed, missing)


_made: dict[str, Device] = {}
_making = threading.Lock()
_owner = os.getpid()


def _in_child() -> None:
    """Have compiled code leave calls on devices to Python, which refuses them."""
    config.applied_on_devices(-1, 0)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


def device(name: str) -> Device:
    """The device of that name, made now if it has not been used before. Raises DeviceError."""
    if os.getpid() != _owner and _made:
        raise DeviceError(f"{name} was used before this process was forked, and cannot be used in the child: start it with spawn")
    made = _made.get(name)
    if made is None:
        with _making:
            made = _made.get(name)
            if made is None:
                made = _made[name] = _make(name)
    return made


def names_of(kind: str) -> dict[int, str]:
    """The names of the devices of a kind, by their driver's numbers; nothing for kinds that no program uses."""
    return {found.number: f"{kind}:{k}" for k, found in enumerate(_found(kind).devices)}


def memory() -> MemoryReport:
    """The memory of all devices in use: live, cached, peak, and the lines that hold it."""
    from lend.runtime.memory_report import report

    return report(_made.values())


def _make(name: str) -> Device:
    kind, number = device_name(name)
    found = _found(kind)
    if number >= len(found.devices):
        why = "; ".join(f"{what}: {reason}" for what, reason in found.missing if what.startswith(kind))
        there = ", ".join(info.name for info in devices())
        raise DeviceError(f"there is no device {name!r}; there are: {there}" + (f" ({why})" if why else ""))
    if kind == "opencl":
        from lend.targets.opencl.machine import Device as OpenCLDevice

        return OpenCLDevice(name, found.devices[number])
    assert found.library is not None
    if kind == "cuda":
        from lend.targets.cuda.machine import Device as CUDADevice

        return CUDADevice(name, found.devices[number], found.library)
    from lend.targets.hip.machine import Device as HIPDevice

    return HIPDevice(name, found.devices[number], found.library)


def _found(kind: str) -> Any:
    """What there is of a kind: its `devices`, and the reasons of what is `missing`."""
    if kind == "opencl":
        from lend.targets.opencl.library import library as opencl

        return opencl(str(snapshot().cache_dir))
    if kind == "cuda":
        from lend.targets.cuda.library import library as cuda

        return cuda()
    from lend.targets.hip.library import library as hip

    return hip()
