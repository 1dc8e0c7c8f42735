"""`python -m benchmarks.index_types`: what the tests of index arrays cost at a call, in parallel reads of the array.

A read is a `max` reduction by lend over the same array. A test is the call of a kernel that does nothing else: its time holds
what every call costs that is bound in Python, some 10 µs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import lend
from benchmarks.timing import in_words, interleaved
from lend import Index, Offsets, Ref, T, Unique, bool_, i32, i64
from lend.dims import M, N

SIZES = {"100 K": 100_000, "1 M": 10**6, "10 M": 10**7}
ROUNDS = 15


@lend.kernel
def read(x: Ref[T, N]) -> T:
    top = x[0]
    for i in lend.grid(N):
        top = max(top, x[i])
    return top


@lend.kernel
def index(x: Ref[Index[N], M], y: Ref[bool_, N]):
    pass


@lend.kernel
def index_32(x: Ref[Index[N, i32], M], y: Ref[bool_, N]):
    pass


@lend.kernel
def offsets(x: Ref[Offsets[N], M], y: Ref[bool_, N]):
    pass


@lend.kernel
def offsets_32(x: Ref[Offsets[N, i32], M], y: Ref[bool_, N]):
    pass


@lend.kernel
def unique(x: Ref[Unique[N], M], y: Ref[bool_, N]):
    pass


@lend.kernel
def unique_32(x: Ref[Unique[N, i32], M], y: Ref[bool_, N]):
    pass


@lend.kernel
def computed(x: Ref[i64, M], y: Ref[bool_, N]) -> i64:
    p = lend.as_unique(x, N)
    return len(p)


@lend.kernel
def computed_32(x: Ref[i32, M], y: Ref[bool_, N]) -> i64:
    p = lend.as_unique(x, N)
    return len(p)


KERNELS = {np.int64: (index, offsets, unique, computed), np.int32: (index_32, offsets_32, unique_32, computed_32)}


def main() -> None:
    """The table."""
    print("| elements | stored as | test | a read | the test | in reads |\n|---|---|---|---|---|---|", flush=True)
    for label, size in SIZES.items():
        for dtype in KERNELS:
            for name, kernel, x in cases(size, dtype):
                read_seconds, test_seconds = times(kernel, x, size)
                figures = (in_words(read_seconds), in_words(test_seconds), f"{test_seconds / read_seconds:.2f}")
                print(f"| {' | '.join((label, np.dtype(dtype).name, name, *figures))} |", flush=True)
    from lend.cli.machine import machine

    print(f"\n{machine()}; the quickest of {ROUNDS} rounds.")


def cases(size: int, dtype: type) -> list[tuple[str, Any, Any]]:
    """What is tested: its name, the kernel whose call tests, and the array."""
    rng = np.random.default_rng(0)
    anywhere, shuffled = rng.integers(0, size, size).astype(dtype), rng.permutation(size).astype(dtype)
    of_index, of_offsets, of_unique, of_computed = KERNELS[dtype]
    return [
        ("Index", of_index, anywhere),
        ("Offsets", of_offsets, np.sort(anywhere)),
        ("Unique, ascending", of_unique, np.arange(size, dtype=dtype)),
        ("Unique, shuffled", of_unique, shuffled),
        ("as_unique, ascending", of_computed, np.arange(size, dtype=dtype)),
        ("as_unique, shuffled", of_computed, shuffled),
    ]


def times(kernel: Any, x: Any, size: int) -> tuple[float, float]:
    """The seconds of a read of `x`, and of a call of `kernel`."""
    y = np.broadcast_to(np.zeros(1, bool), size)
    for _ in range(3):  # the first two compile: a sample that begins with them would be one call
        read(x), kernel(x, y)
    found = interleaved({"read": lambda: read(x), "test": lambda: kernel(x, y)}, ROUNDS)
    return min(found["read"]), min(found["test"])


if __name__ == "__main__":
    main()
