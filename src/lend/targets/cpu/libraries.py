"""The shared libraries that compiled code calls.

Does: load the C mathematical library and, where there is one, its vector library into LLVM's symbol search.
Does not: say which functions are used.
Invariants: nothing is unloaded; symbols of the process itself (the C library) are found without this.
"""

from __future__ import annotations

import contextlib
import sys
from functools import cache

import llvmlite.binding as llvm


@cache
def load_libraries() -> bool:
    """Load them, once. Gives whether a vector library was found."""
    if not sys.platform.startswith("linux"):
        return False
    with contextlib.suppress(RuntimeError):  # without it some symbol may be missing, which `emit.py` reports by name
        llvm.load_library_permanently("libm.so.6")
    try:
        llvm.load_library_permanently("libmvec.so.1")
    except RuntimeError:
        return False
    return True
