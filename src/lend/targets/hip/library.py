"""The HIP driver of this process, and what its devices are.

Does: load the driver when a device is first asked for, list the devices that lend can use, and say of others why not.
Does not: run anything (`machine.py`).
Invariants: nothing raises: what is wrong becomes a reason. What a device is comes from `hip-python`, which knows HIP's records;
its functions are called by ctypes, since compiled host functions need their addresses.
"""

from __future__ import annotations

import ctypes
import importlib
from functools import cache
from typing import Any

from lend.diagnostics.records import dataclass
from lend.targets.cuda.library import SystemLibrary
from lend.targets.hip.target import known
from lend.targets.hip.words import what_happened
from lend.targets.stream_device import Library

NAMES = ("libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6")
MODULES = ("rocm.bindings.hip", "hip.hip")
"""Where `hip-python` has the driver's functions, in its versions."""


@dataclass(frozen=True, eq=False)
class Found:
    """A device that lend can use. `processor`: as targets name it, `gfx942`."""

    number: int
    label: str
    processor: str
    memory: int

    @property
    def key(self) -> str:
        """What decides the code, beside the IR."""
        return self.processor


@dataclass(frozen=True, eq=False)
class Devices:
    """What there is. `missing`: why there are none, or not all."""

    library: Library | None
    devices: tuple[Found, ...]
    missing: tuple[tuple[str, str], ...]


@cache
def library() -> Devices:
    """The devices, looked for once."""
    for name in NAMES:
        try:
            loaded = SystemLibrary(ctypes.CDLL(name))
        except OSError:
            continue
        bindings = _bindings()
        if bindings is None:
            return Devices(None, (), (("hip", "hip-python is not installed: pip install 'lend[hip]'"),))
        return look(loaded, bindings)
    return Devices(None, (), (("hip", "AMD's driver (libamdhip64.so of ROCm) is not installed"),))


def _bindings() -> Any:
    for name in MODULES:
        try:
            return importlib.import_module(name)
        except Exception:  # not installed, or broken: the next may do
            continue
    return None


def look(driver: Library, bindings: Any) -> Devices:
    """The devices of a driver."""
    status, count = _asked(bindings.hipGetDeviceCount())
    if status:
        return Devices(driver, (), (("hip", what_happened(status)),))
    found: list[Found] = []
    missing: list[tuple[str, str]] = []
    for number in range(int(count)):
        properties = bindings.hipDeviceProp_t()
        status, _ = _asked(bindings.hipGetDeviceProperties(properties, number))
        if status:
            missing.append((f"hip ({number})", what_happened(status)))
            continue
        label = _text(properties.name)
        processor = _text(properties.gcnArchName).partition(":")[0]
        if not known(processor):
            missing.append((f"hip ({label})", f"lend has no code for {processor}"))
            continue
        found.append(Found(number, label, processor, int(properties.totalGlobalMem)))
    if not int(count):
        missing.append(("hip", "the driver finds no device"))
    return Devices(driver, tuple(found), tuple(missing))


def _asked(answer: Any) -> tuple[int, Any]:
    """A status and what came with it."""
    parts: list[Any] = list(answer) if isinstance(answer, tuple) else [answer]  # pyright: ignore[reportUnknownArgumentType]
    return int(parts[0]), parts[1] if len(parts) > 1 else None


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
