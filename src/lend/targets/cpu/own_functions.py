"""lend's own functions that compiled kernels call, by name.

Does: give their addresses; the pool, and the allocator, are made only for code that needs them.  Does not: load LLVM.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING

from lend.lower.waves_ir import DECLARATIONS, waves_ir
from lend.targets.cpu.exclusive import compile_exclusively
from lend.targets.cpu.hand_written import assemble
from lend.targets.cpu.memory import ALLOCATE, FREE, memory
from lend.targets.cpu.threads import CACHE_BYTES, PARALLEL_FOR, PARALLEL_NOW, THREAD_COUNT, pool

if TYPE_CHECKING:
    from lend.targets.cpu.hand_written import Code


def _distinct(bits: int) -> int:
    """`i32 lend_distinct(ptr elements, i64 count, i64 limit)` for a width: 1 if they differ and are at most `limit`."""
    from lend.targets.cpu.index_tests import index_test  # which needs the functions here

    return index_test("unique", bits).distinct_address


def _indices(bits: int) -> int:
    """`i32 lend_indices(ptr elements, i64 count, i64 limit)` for a width: 1 if those, at least one, are at most `limit`."""
    from lend.targets.cpu.index_tests import index_test

    return index_test("index", bits).address


@cache
def _wave_code() -> Code:
    return assemble(waves_ir(), addresses((CACHE_BYTES, PARALLEL_NOW, THREAD_COUNT)), optimised=True)


def _of_waves(name: str) -> int:
    """The code that runs loops in waves, which is the same for all kernels."""
    return compile_exclusively(_wave_code).address(name)


OURS: Mapping[str, Callable[[], int]] = {
    PARALLEL_FOR: lambda: pool().functions[PARALLEL_FOR],
    CACHE_BYTES: lambda: pool().functions[CACHE_BYTES],
    PARALLEL_NOW: lambda: pool().functions[PARALLEL_NOW],
    THREAD_COUNT: lambda: pool().functions[THREAD_COUNT],
    ALLOCATE: lambda: memory().addresses[ALLOCATE],
    FREE: lambda: memory().addresses[FREE],
    **{name: partial(_of_waves, name) for name in DECLARATIONS},
    **{f"lend_distinct_{bits}": partial(_distinct, bits) for bits in (8, 16, 32, 64)},
    **{f"lend_indices_{bits}": partial(_indices, bits) for bits in (8, 16, 32, 64)},
}
"""The functions."""


def addresses(used: Iterable[str]) -> dict[str, int]:
    """Where those are of `used` that are ours."""
    return {name: OURS[name]() for name in used if name in OURS}
