"""C++ for devices that need not be here: what a vendor's compiler makes of a file of kernels.

Does: find nvcc (a toolkit's or NVIDIA's packages of PyPI) and clang, compile for sm_90 and gfx90a, and give of each kernel the
registers and how many accesses of 16 bytes its code has.
Does not: run anything. Neither GPU nor the vendors' headers are needed; a compiler that is not here leaves its column empty.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from lend.diagnostics.errors import LendError
from lend.targets.cuda import emit, toolkit

Taken = dict[str, tuple[int, int]]
"""By kernel: registers, and accesses of 16 bytes."""

WIDE = {
    "cuda": re.compile(r"\b(?:ld|st)\.global[\w.]*\.(?:v2\.[a-z]+64|v4\.[a-z]+32)\b"),
    "hip": re.compile(r"\bglobal_(?:load|store)_dwordx4\b"),
}
_ENTRY = {"cuda": re.compile(r"\.entry (\w+)\("), "hip": re.compile(r"^(\w+):(?: *;.*)?$", re.MULTILINE)}


def nvcc() -> str | None:
    """NVIDIA's compiler."""
    found = shutil.which("nvcc")
    if found is not None:
        return found
    try:
        beside = Path(toolkit.ptxas()).with_name("nvcc")
    except LendError:
        return None
    return str(beside) if beside.is_file() else None


def clang() -> str | None:
    """The newest clang."""
    names = (*(f"clang++-{version}" for version in range(30, 17, -1)), "clang++")
    return next((found for name in names if (found := shutil.which(name))), None)


def wide_accesses(code: str, vendor: str) -> dict[str, int]:
    """How many accesses of 16 bytes each kernel of a text of PTX or AMD's assembly has."""
    starts = list(_ENTRY[vendor].finditer(code))
    ends = [*(match.start() for match in starts[1:]), len(code)]
    return {match[1]: len(WIDE[vendor].findall(code[match.end() : end])) for match, end in zip(starts, ends, strict=True)}


def compiled(source: Path, vendor: str, definitions: Iterable[str] = ()) -> Taken:
    """What the kernels of a file take. Empty, and a line that says why, where there is no compiler or it refuses the file."""
    compiler = nvcc() if vendor == "cuda" else clang()
    if compiler is None:
        return {}
    options = ["-arch=sm_90", "-O3", "-ptx", "-Wno-deprecated-gpu-targets"]
    if vendor == "hip":
        options = ["-x", "hip", "--offload-arch=gfx90a", "--cuda-device-only", "-nogpuinc", "-nogpulib", "-O3", "-S"]
    with tempfile.TemporaryDirectory(prefix="lend") as folder:
        written = Path(folder, "code")
        command = [compiler, *options, *(f"-D{each}" for each in definitions), str(source), "-o", str(written)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"no C++ for {vendor}: {done.stderr.strip()[:300]}")
            return {}
        code = written.read_text()
    wide = wide_accesses(code, vendor)
    if vendor == "cuda":
        registers = {each.kernel: each.registers for each in emit.assemble(code, "sm_90")[1]}
    else:
        found = re.findall(r"^    \.name: +(\w+)\n(?:.*\n)*?    \.vgpr_count: +(\d+)", code, re.MULTILINE)
        registers = {name: int(number) for name, number in found}
    return {name: (number, wide.get(name, 0)) for name, number in registers.items()}
