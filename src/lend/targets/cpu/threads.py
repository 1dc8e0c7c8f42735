"""The process's thread pool.

Does: compile the pool's code once, give it memory, set the number of threads.  Does not: read settings; run regions (compiled
host functions do, through `lend_parallel_for`).
Invariants: one pool per process, never freed, since its workers end with the process. A child of `fork` has the same code and
fresh memory (the kernel wipes it), so it starts its own workers at its first launch.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache

from lend.diagnostics.errors import InternalError
from lend.targets.cpu.caches import LEVELS, cache_bytes
from lend.targets.cpu.exclusive import compile_exclusively
from lend.targets.cpu.hand_written import assemble
from lend.targets.cpu.pool_layout import MAX_THREADS, POOL_BYTES, SYSTEM_CALLS
from lend.targets.cpu.processor import architecture
from lend.targets.cpu.threads_ir import pool_ir

PARALLEL_FOR = "lend_parallel_for"
"""`void lend_parallel_for(ptr region, ptr env, i64 iterations, i64 chunk)`; region is `void(ptr env, i64 begin, i64 end)`."""
PARALLEL_NOW = "lend_parallel_now"
"""The same, for work that is known to pay for waking threads."""
CACHE_BYTES = "lend_cache_bytes"
"""`i64 lend_cache_bytes(i64 level)`: the bytes of a core's data cache of level 1 or 2, or of the last one (3)."""
THREAD_COUNT = "lend_thread_count"
"""`i64 lend_thread_count()`: how many threads a launch may use."""

_READ_WRITE = 3
_PRIVATE_ANONYMOUS = 0x22
_WIPE_ON_FORK = 18


_ALIVE: list[object] = []
"""Code that workers may run in."""


def available_threads() -> int:
    """The number of processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Pool:
    """The workers of this process, and the addresses of the functions that compiled code calls, by name."""

    def __init__(self) -> None:
        linux = sys.platform.startswith("linux")
        self._parallel = linux and architecture() in SYSTEM_CALLS
        # The first kernel of a process with an empty cache waits for this, and the pool itself waits for memory and the system:
        # registers are given out as they come, which takes a third of the time and is not seen in any launch.
        self._code = assemble(pool_ir(architecture(), linux), level=0)
        _ALIVE.append(self._code)
        self.address = self._code.address(PARALLEL_FOR)
        names = (PARALLEL_FOR, PARALLEL_NOW, CACHE_BYTES, THREAD_COUNT)
        self.functions = {name: self._code.address(name) for name in names}
        self._threads = ctypes.c_int32.from_address(self._code.data_address("lend_pool_threads"))
        self._worth = ctypes.c_int64.from_address(self._code.data_address("lend_pool_worth"))
        self._caches = (ctypes.c_int64 * LEVELS).from_address(self._code.data_address("lend_pool_caches"))
        self.caches = cache_bytes()
        if self._parallel:
            self._attach()
        self.configure(available_threads())

    @property
    def threads(self) -> int:
        """How many threads a launch may use, the calling one included."""
        return self._threads.value

    def configure(self, threads: int) -> None:
        """Use this many threads from the next launch on; 0 and 1 mean the calling thread only."""
        self._threads.value = max(1, min(threads, MAX_THREADS)) if self._parallel else 1

    @property
    def worth_ns(self) -> int:
        """How long the rest of a launch must take, in nanoseconds, for sleeping workers to be woken."""
        return self._worth.value

    @worth_ns.setter
    def worth_ns(self, nanoseconds: int) -> None:
        self._worth.value = nanoseconds

    @property
    def caches(self) -> tuple[int, ...]:
        """The bytes of the data caches by level, as compiled code takes them to be."""
        return tuple(self._caches)

    @caches.setter
    def caches(self, sizes: tuple[int, ...]) -> None:
        self._caches[:] = sizes

    def _attach(self) -> None:
        """Give the pool its memory: zeroed, and zeroed again in every child of a fork."""
        libc = ctypes.CDLL(None)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
        libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        memory = libc.mmap(None, POOL_BYTES, _READ_WRITE, _PRIVATE_ANONYMOUS, -1, 0)
        if memory in (None, ctypes.c_void_p(-1).value):
            raise InternalError("no memory for the thread pool")
        libc.madvise(memory, POOL_BYTES, _WIPE_ON_FORK)  # Linux 4.14; before that, forks by Python are reset below
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._code.address("lend_pool_attach"))(memory)
        os.register_at_fork(after_in_child=ctypes.CFUNCTYPE(None)(self._code.address("lend_pool_reset")))


@cache
def _pool() -> Pool:
    return Pool()


def pool() -> Pool:
    """The pool of this process, made at the first call."""
    return compile_exclusively(_pool)
