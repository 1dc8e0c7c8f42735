"""The C contenders: compiled on the spot with each compiler found, called through ctypes with everything bound beforehand."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SOURCE = Path(__file__).with_name("native.c")
FLAGS = ["-O3", "-march=native", "-fopenmp", "-shared", "-fPIC"]


def compilers() -> dict[str, str]:
    """The C compilers of this machine by family: the newest clang and gcc."""
    found: dict[str, str] = {}
    for family in ("clang", "gcc"):
        for name in [*(f"{family}-{number}" for number in range(30, 10, -1)), family]:
            if shutil.which(name):
                found[family] = name
                break
    return found


def compile_native(compiler: str) -> ctypes.CDLL | None:
    """The compiled kernels, or None, with a line on stderr, where the compiler cannot (clang without OpenMP)."""
    folder = tempfile.mkdtemp(prefix="lend-benchmarks-")
    library = Path(folder) / "native.so"
    done = subprocess.run([compiler, *FLAGS, str(SOURCE), "-o", str(library), "-lm"], capture_output=True, text=True)
    if done.returncode:
        print(f"{compiler} is left out: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return None
    return ctypes.CDLL(str(library))


def version(compiler: str) -> str:
    """The first line of what the compiler says of itself."""
    return subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout.splitlines()[0]


def bind(library: ctypes.CDLL, name: str, *arguments: Any, returns: Any = None) -> Callable[[], Any]:
    """A call of C function `name`: arrays become pointers, np.float32 and np.int32 their C types, ints int64_t."""
    function = getattr(library, name)
    function.restype = returns
    words = [_word(argument) for argument in arguments]
    return lambda: function(*words)


def _word(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        return ctypes.c_void_p(argument.ctypes.data)
    if isinstance(argument, np.float32):
        return ctypes.c_float(float(argument))
    if isinstance(argument, np.int32):
        return ctypes.c_int32(int(argument))
    return ctypes.c_int64(argument)
