"""How the thread pool's memory is laid out, and the numbers of Linux that its code needs.

Does: name offsets and system calls.  Does not: know the code (`threads_ir.py`, `workers_ir.py`, `placement_ir.py`).
Invariants: the memory is all zero at first, and again in a child of `fork`. What different threads write often lies in different
cache lines.
"""

from __future__ import annotations

from typing import NamedTuple

MAX_THREADS = 256
SPIN_NS = 50_000
WORTH_NS = 100_000  # waking a sleeping thread costs the one that wakes it up to 60 µs (measured in a virtual machine)
STACK_BYTES = 8 << 20

LOCK, STARTED = 0, 4
STATE, GENERATION = 128, 132  # the generation is the upper half of the state: little-endian machines only
SLEEPERS = 256
WAITING = 384
CREDIT = 448  # nanoseconds that launches in a row might have saved with more threads, and when the last of them ended
JOB = 136  # region, environment, iterations, chunk, runs (8 bytes each), limit (4 bytes): in the cache line of the state
CONTROL = 180  # the caller's floating-point control word, on x86-64
RUNS = 512  # per thread: next chunk, end of the run, its first chunk; 128 bytes apart
RUN_BYTES = 128
PLACES = RUNS + RUN_BYTES * MAX_THREADS  # per thread: where it may run; in the order of the runs
PLACE_BYTES = 256
PLACE_STATE, PLACE_THREAD, PLACE_MASK = 0, 4, 128  # 4 bytes each, and MASK_BYTES
MASK_BYTES = 128  # 1024 processors; on larger machines nobody is placed
POOL_BYTES = PLACES + PLACE_BYTES * MAX_THREADS

AWAKE, ASLEEP, BUSY, PLACED = 0, 1, 2, 3
"""States of a place: see `placement_ir.py`."""
MOST_PLACED = 16
"""Among more threads than this, two on one processor are no great loss: the others take their chunks."""


class SystemCalls(NamedTuple):
    """Numbers of Linux system calls."""

    futex: int
    get_processor: int
    get_affinity: int
    set_affinity: int
    thread_number: int
    give_way: int


SYSTEM_CALLS = {
    "x86_64": SystemCalls(futex=202, get_processor=309, get_affinity=204, set_affinity=203, thread_number=186, give_way=24),
    "aarch64": SystemCalls(futex=98, get_processor=168, get_affinity=123, set_affinity=122, thread_number=178, give_way=124),
    "riscv64": SystemCalls(futex=98, get_processor=168, get_affinity=123, set_affinity=122, thread_number=178, give_way=124),
}
"""By architecture; where there is none, there are no workers."""

WAIT, WAKE, WAIT_BITSET, WAKE_BITSET = 128, 129, 137, 138
"""Futex operations, private to the process."""


def numbers(architecture: str) -> dict[str, int]:
    """What `$NAME` stands for in the code."""
    calls = SYSTEM_CALLS[architecture]
    return {
        "FUTEX": calls.futex, "GET_PROCESSOR": calls.get_processor, "GET_AFFINITY": calls.get_affinity,
        "SET_AFFINITY": calls.set_affinity, "THREAD_NUMBER": calls.thread_number, "GIVE_WAY": calls.give_way,
        "POOL_BYTES": POOL_BYTES, "SPIN_NS": SPIN_NS, "STACK_BYTES": STACK_BYTES,
        "STARTED": STARTED, "STATE": STATE, "GENERATION": GENERATION, "SLEEPERS": SLEEPERS, "WAITING": WAITING, "CREDIT": CREDIT,
        "LIMIT": JOB + 40, "JOB": JOB, "RUN_BYTES": RUN_BYTES, "RUNS": RUNS,
        "WAIT_BITSET": WAIT_BITSET, "WAKE_BITSET": WAKE_BITSET, "WAIT": WAIT, "WAKE": WAKE,
        "PLACES": PLACES, "PLACE_BYTES": PLACE_BYTES, "PLACE_THREAD": PLACE_THREAD, "PLACE_MASK": PLACE_MASK,
        "MASK_BYTES": MASK_BYTES, "MASK_BITS": 8 * MASK_BYTES, "MASK_WORDS": MASK_BYTES // 8,
        "AWAKE": AWAKE, "ASLEEP": ASLEEP, "BUSY": BUSY, "PLACED": PLACED, "MOST_PLACED": MOST_PLACED,
    }  # fmt: skip
