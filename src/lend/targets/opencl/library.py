"""The OpenCL library of this process, and what its devices are.

Does: load `pyopencl` when a device is first asked for, register Intel's runtime if it is installed from PyPI, list the devices
that lend can use, and say of the others why not.  Does not: make contexts, or run anything (`device.py`).
Invariants: nobody has to set a variable, and none stays set; other drivers of the machine stay registered beside Intel's. Nothing
raises: what is wrong becomes a reason.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

from lend.diagnostics.records import dataclass

VENDORS = "OCL_ICD_VENDORS"
SYSTEM = "/etc/OpenCL/vendors"
INTEL = "libintelocl.so"

COARSE_GRAINED = 1
"""The bit of `CL_DEVICE_SVM_CAPABILITIES` for memory that kernels reach by address."""


@dataclass(frozen=True, eq=False)
class Found:
    """A device that lend can use. `raw`: pyopencl's own object."""

    raw: Any
    label: str
    version: str
    driver: str
    memory: int

    @property
    def key(self) -> str:
        """What decides the code of a given SPIR-V module."""
        return f"{self.raw.platform.name} {self.raw.platform.version} {self.label} {self.version} {self.driver}"


@dataclass(frozen=True, eq=False)
class Library:
    """What there is. `missing`: for each device that cannot be used, or for all of OpenCL, the reason."""

    devices: tuple[Found, ...]
    missing: tuple[tuple[str, str], ...]


@cache
def library(folder: str) -> Library:
    """The devices, looked for once; `folder` is lend's own, for a file that registers Intel's runtime."""
    try:
        pyopencl: Any = importlib.import_module("pyopencl")
    except ImportError:
        return Library((), (("opencl", "pyopencl is not installed: pip install 'lend[opencl]'"),))
    except Exception as error:  # a broken installation is the user's to mend, and no reason to fail here
        return Library((), (("opencl", f"pyopencl cannot be loaded ({type(error).__name__})"),))
    before = os.environ.get(VENDORS)
    try:
        register(Path(folder), before)
        return _look(pyopencl)
    finally:
        if before is None:
            os.environ.pop(VENDORS, None)
        else:
            os.environ[VENDORS] = before


def register(folder: Path, before: str | None) -> None:
    """Have the loader, which reads it at the first query, find Intel's runtime beside what it would find anyway."""
    runtime = intel_runtime()
    if runtime is None:
        return
    own = folder / "opencl-vendors"
    try:
        own.mkdir(mode=0o700, parents=True, exist_ok=True)
        wanted = {"lend-intel.icd": f"{runtime}\n"}
        system = Path(before or SYSTEM)
        for file in sorted(system.glob("*.icd")) if system.is_dir() else []:
            text = file.read_text(errors="replace")
            if Path(text.strip()).name != INTEL:
                wanted[file.name] = text
        for file in own.glob("*.icd"):
            if file.name not in wanted:
                file.unlink()
        for name, text in wanted.items():
            place = own / name
            if not place.exists() or place.read_text(errors="replace") != text:
                temporary = own / f"{name}.{os.getpid()}"
                temporary.write_text(text)
                temporary.replace(place)
    except OSError:
        return
    os.environ[VENDORS] = str(own)


def intel_runtime() -> Path | None:
    """Intel's library, if it is installed in this Python's environment."""
    for prefix in dict.fromkeys((sys.prefix, sys.base_prefix)):
        place = Path(prefix) / "lib" / INTEL
        if place.exists():
            return place.resolve()
    return None


def _look(pyopencl: Any) -> Library:
    found: list[Found] = []
    missing: list[tuple[str, str]] = []
    platforms: list[Any]
    try:
        platforms = list(pyopencl.get_platforms())
    except Exception:  # the loader reports that it knows no driver as an error
        platforms = []
    if not platforms:
        return Library((), (("opencl", "no OpenCL driver is installed; Intel's for processors comes with 'lend[opencl]'"),))
    for platform in platforms:
        devices: list[Any]
        try:
            devices = list(platform.get_devices())
        except Exception:  # OpenCL says as an error that a platform has none
            missing.append((f"opencl ({platform.name.strip()})", "its driver finds no device"))
            continue
        for raw in devices:
            label = raw.name.strip()
            reason = unusable(raw)
            if reason is None:
                found.append(Found(raw, label, raw.version.strip(), raw.driver_version.strip(), raw.global_mem_size))
            else:
                missing.append((f"opencl ({label})", reason))
    return Library(tuple(found), tuple(missing))


def unusable(raw: Any) -> str | None:
    """Why lend cannot use a device; None if it can."""
    try:
        if "SPIR-V" not in raw.il_version:
            return "it takes no SPIR-V"
        if not raw.svm_capabilities & COARSE_GRAINED:
            return "it has no memory that kernels reach by address (SVM)"
        if not raw.double_fp_config:
            return "it has no double precision"
        if not raw.available or not raw.endian_little or raw.address_bits != 64:
            return "it is not a 64-bit, little-endian device that is available"
    except Exception:  # queries that an old driver does not know
        return "its driver is older than OpenCL 2.1"
    return None


@cache
def functions() -> Any:
    """The library's functions by name: those of the loader that pyopencl has loaded."""
    return ctypes.CDLL(importlib.import_module("pyopencl._cl").__file__)


def address_of(name: str) -> int:
    """Where a function is."""
    address = ctypes.cast(getattr(functions(), name), ctypes.c_void_p).value
    assert address is not None
    return address
