"""AMD's OCML and a linker: where they are.

Does: find them in ROCm (`ROCM_PATH`, /opt/rocm), in packages of PyPI and of Linux distributions.
Does not: run them (`emit.py`).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from lend.diagnostics.errors import DeviceError
from lend.targets.tools import PYTHON, first_file, package_folders, program, toolkit_folders

_ROCM = ("ROCM_PATH", "ROCM_HOME", "HIP_PATH")


@cache
def ocml() -> str:
    """The library of mathematical functions, as bitcode."""
    folders = [*toolkit_folders(*_ROCM), Path("/opt/rocm"), *package_folders("_rocm_sdk_core")]
    candidates = [folder / "amdgcn" / "bitcode" for folder in folders]
    candidates += [folder / "lib" / "llvm" / "amdgcn" / "bitcode" for folder in folders]
    candidates += [folder / "backends" / "amd" / "lib" for folder in package_folders("triton")]
    candidates += [Path("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode"), Path("/usr/lib/amdgcn/bitcode")]
    found = first_file(folder / "ocml.bc" for folder in candidates)
    if found is None:
        raise DeviceError(
            "mathematical functions for HIP need AMD's OCML: install ROCm or `rocm-device-libs`, or set ROCM_PATH to where it is"
        )
    return str(found)


@cache
def linker() -> tuple[str, ...]:
    """The command that begins a call of LLVM's linker."""
    folders = [*toolkit_folders(*_ROCM), Path("/opt/rocm")]
    for name in ("ld.lld", *(f"ld.lld-{version}" for version in range(25, 15, -1))):
        found = program(name, (folder / "llvm" / "bin" / name for folder in folders))
        if found is not None:
            return (found,)
    for folder in package_folders("ziglang"):
        found = program("", (folder / "zig",))
        return (found, "ld.lld") if found else (PYTHON, "-m", "ziglang", "ld.lld")
    raise DeviceError("linking code for HIP needs LLVM's linker: `pip install lend[hip]`, or install `lld`")
