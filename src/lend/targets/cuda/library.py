"""The CUDA driver of this process, and what its devices are.

Does: load the driver when a device is first asked for, list the devices that lend can use, and say of others why not.
Does not: make contexts, or run anything (`device.py`).
Invariants: nothing raises: what is wrong becomes a reason. The driver's library is the one that NVIDIA's installer puts on the
system; lend calls it by ctypes, since compiled host functions need the addresses of its functions.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

from lend.diagnostics.records import dataclass
from lend.targets.cuda.words import what_happened
from lend.targets.stream_device import Library

NAMES = ("libcuda.so.1", "libcuda.so")
MAJOR, MINOR = 75, 76
"""The numbers of the attributes that say a device's generation."""
LEAST = (7, 5)


@dataclass(frozen=True, eq=False)
class Found:
    """A device that lend can use. `processor`: as targets name it, `sm_90`."""

    number: int
    label: str
    processor: str
    memory: int
    driver: int

    @property
    def key(self) -> str:
        """What decides the code, beside the IR."""
        return f"{self.processor} {self.driver}"


@dataclass(frozen=True, eq=False)
class Devices:
    """What there is. `missing`: why there are none, or not all."""

    library: Library | None
    devices: tuple[Found, ...]
    missing: tuple[tuple[str, str], ...]


class SystemLibrary:
    """The driver's library."""

    def __init__(self, loaded: ctypes.CDLL) -> None:
        self._loaded = loaded

    def function(self, name: str, *arguments: Any) -> Callable[..., int]:
        """A function that gives the driver's status."""
        address = self.address(name)
        return ctypes.CFUNCTYPE(ctypes.c_int, *arguments)(address)

    def address(self, name: str) -> int:
        """Where it is."""
        found = ctypes.cast(getattr(self._loaded, name), ctypes.c_void_p).value
        assert found is not None
        return found


@cache
def library() -> Devices:
    """The devices, looked for once."""
    for name in NAMES:
        try:
            return look(SystemLibrary(ctypes.CDLL(name)))
        except (OSError, AttributeError):
            continue
    return Devices(None, (), (("cuda", "NVIDIA's driver (libcuda.so.1) is not installed"),))


def look(driver: Library) -> Devices:
    """The devices of a driver. Raises AttributeError for a library that is not one."""
    number = ctypes.c_int
    into = ctypes.POINTER(number)
    status = driver.function("cuInit", ctypes.c_uint)(0)
    count = number()
    if not status:
        status = driver.function("cuDeviceGetCount", into)(ctypes.byref(count))
    if status:
        return Devices(driver, (), (("cuda", what_happened(status)),))
    version = number()
    driver.function("cuDriverGetVersion", into)(ctypes.byref(version))
    name_of = driver.function("cuDeviceGetName", ctypes.c_char_p, number, number)
    memory_of = driver.function("cuDeviceTotalMem_v2", ctypes.POINTER(ctypes.c_size_t), number)
    attribute = driver.function("cuDeviceGetAttribute", into, number, number)
    found: list[Found] = []
    missing: list[tuple[str, str]] = []
    for device in range(count.value):
        text, memory, major, minor = ctypes.create_string_buffer(256), ctypes.c_size_t(), number(), number()
        name_of(text, 256, device)
        memory_of(ctypes.byref(memory), device)
        attribute(ctypes.byref(major), MAJOR, device)
        attribute(ctypes.byref(minor), MINOR, device)
        label = text.value.decode(errors="replace")
        if (major.value, minor.value) < LEAST:
            missing.append((f"cuda ({label})", "it is older than compute capability 7.5"))
            continue
        found.append(Found(device, label, f"sm_{major.value}{minor.value}", memory.value, version.value))
    if not count.value:
        missing.append(("cuda", "the driver finds no device"))
    return Devices(driver, tuple(found), tuple(missing))
