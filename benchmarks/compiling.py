"""The C++ contenders' libraries: each family's source compiled with each compiler found."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
FLAGS = ("-O3", "-march=native", "-fopenmp")
NEWEST = 30


def compilers() -> dict[str, str]:
    """The newest clang++ and g++ of this machine, by family: the command."""
    found: dict[str, str] = {}
    for family in ("clang++", "g++"):
        named = [name for number in range(NEWEST, 8, -1) if shutil.which(name := f"{family}-{number}")]
        plain = [family] if shutil.which(family) else []
        candidates = sorted([*named, *plain], key=_major, reverse=True)
        if candidates:
            found[family] = candidates[0]
    return found


def _major(compiler: str) -> int:
    answer = subprocess.run([compiler, "-dumpversion"], capture_output=True, text=True).stdout
    head = answer.strip().split(".")[0]
    return int(head) if head.isdigit() else 0


def version(compiler: str) -> str:
    """`g++ 12.2.0`."""
    answer = subprocess.run([compiler, "-dumpversion"], capture_output=True, text=True).stdout.strip()
    return f"{compiler.rsplit('-', 1)[0]} {answer}"


def build(compiler: str, families: Iterable[str], folder: Path) -> str:
    """Compile families into `folder`; what went wrong, or nothing."""
    for family in families:
        source = HERE / "kernels" / family / "in_cpp.cpp"
        command = [
            compiler,
            *FLAGS,
            "-std=c++17",
            "-shared",
            "-fPIC",
            f"-I{HERE}",
            str(source),
            "-o",
            str(folder / f"{family}.so"),
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit status {done.returncode}"
    return ""
