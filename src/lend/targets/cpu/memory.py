"""Where arrays of ours are: temporaries, results, partial results of reductions.

Does: compile the allocator's code (`memory_ir.py`) once, set how much it keeps for later; give its functions' addresses.
Does not: allocate (compiled host functions do), or own what kernels return (`runtime/results.py` does, and calls `release`).
Invariants: the code outlives every array that it allocated. What is kept is given back when the process ends.

Example: `memory().kept`: the bytes that wait to be used again.
"""

from __future__ import annotations

import atexit
import ctypes
import mmap
import os
import sys
from collections.abc import Callable
from functools import cache

from lend.targets.cpu.exclusive import compile_exclusively
from lend.targets.cpu.hand_written import assemble
from lend.targets.cpu.memory_ir import memory_ir
from lend.targets.cpu.threads import PARALLEL_FOR, pool

ALLOCATE = "lend_allocate"
"""`ptr lend_allocate(i64 bytes, i32 zeroed)`: null if there is no memory."""

FREE = "lend_free"
"""`void lend_free(ptr)`, of what `lend_allocate` gave."""

MOST_KEPT = 1 << 30
SHARE_KEPT = 16
"""Freed arrays are kept for later ones up to this part of the machine's memory, and to `MOST_KEPT` bytes."""


class Memory:
    """The allocator of this process. A child of `fork` goes on with what its parent had kept."""

    def __init__(self) -> None:
        linux = sys.platform.startswith("linux")
        text = memory_ir(mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS if linux else None)
        self._code = assemble(text, {PARALLEL_FOR: pool().functions[PARALLEL_FOR]} if linux else {})
        self.addresses = {name: self._code.address(name) for name in (ALLOCATE, FREE)}
        self._limit = ctypes.c_int64.from_address(self._code.data_address("lend_memory_limit"))
        self._kept = ctypes.c_int64.from_address(self._code.data_address("lend_memory_kept"))
        self._trim = ctypes.CFUNCTYPE(None)(self._code.address("lend_memory_trim"))
        self.limit = min(MOST_KEPT, physical_bytes() // SHARE_KEPT)
        free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.addresses[FREE])
        free._code = self._code  # pyright: ignore[reportAttributeAccessIssue]  # whoever can call it keeps it
        self.release: Callable[[int], None] = free
        """Free what `lend_allocate` gave."""
        atexit.register(self.trim)

    @property
    def limit(self) -> int:
        """How many bytes of freed arrays are kept at most."""
        return self._limit.value

    @limit.setter
    def limit(self, bytes: int) -> None:
        self._limit.value = bytes
        if self.kept > bytes:
            self.trim()

    @property
    def kept(self) -> int:
        """How many bytes of freed arrays are kept now."""
        return self._kept.value

    def trim(self) -> None:
        """Give everything that is kept back to the system."""
        self._trim()


def physical_bytes() -> int:
    """How much memory the machine has; if it does not say, as much as lets nothing be kept."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 0


@cache
def _memory() -> Memory:
    return Memory()


def memory() -> Memory:
    """The allocator of this process, made at the first call."""
    return compile_exclusively(_memory)
