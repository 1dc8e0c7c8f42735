"""NVIDIA's libdevice and `ptxas`: where they are.

Does: find them in NVIDIA's packages of PyPI, a toolkit (`CUDA_HOME`, `CUDA_PATH`, /usr/local/cuda) or on the path.
Does not: run them (`emit.py`).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from lend.diagnostics.errors import DeviceError
from lend.targets.tools import first_file, package_folders, program, toolkit_folders

_TOOLKITS = ("CUDA_HOME", "CUDA_PATH")


def _folders() -> list[Path]:
    packaged = [folder / release for folder in package_folders("nvidia") for release in ("cu13", "cu14", "cuda_nvcc")]
    return [*packaged, *toolkit_folders(*_TOOLKITS), Path("/usr/local/cuda")]


@cache
def libdevice() -> str:
    """The library of mathematical functions, as bitcode."""
    found = first_file(folder / "nvvm" / "libdevice" / "libdevice.10.bc" for folder in _folders())
    if found is None:
        raise DeviceError(
            "mathematical functions for CUDA need NVIDIA's libdevice: `pip install lend[cuda]`, or set CUDA_HOME to a toolkit"
        )
    return str(found)


@cache
def ptxas() -> str:
    """NVIDIA's assembler."""
    found = program("ptxas", (folder / "bin" / "ptxas" for folder in _folders()))
    if found is None:
        raise DeviceError("assembling PTX needs `ptxas`: `pip install nvidia-cuda-nvcc`, or set CUDA_HOME to a toolkit")
    return found
