"""How a thread of a device records a fault: without waiting for another one.

Does: write `@lend_fault` for devices.  Does not: read the record (a target's runtime does).
Invariants: threads of a device may run in lockstep, so that a thread that waits for another may wait for ever: nothing here
waits. The record's first word is the smallest position that failed, counted from 2**TAG_SHIFT times the number of the launch:
the first launch's is the smallest. A thread that makes it smaller takes a slot of its own and writes there what failed; the slot
that bears the smallest position is the fault. Slots are taken in a ring: later ones have smaller
positions, and there are more of them than threads that can be between the two steps at once.
"""

from __future__ import annotations

from lend.language import abi
from lend.lower.faults import INDICES

POSITION, COUNT, SLOTS = 0, 1, 8
"""Words of the record: the smallest position, how many slots were taken, the first slot."""
SLOT_WORDS = 16
SLOT_COUNT = 4096
TAG_SHIFT = 44
"""Launches have fewer threads than 2**44."""
LAST_TAG = (1 << 18) - 1
"""Launches after this one are not told apart until somebody has looked at the record."""
RECORD_BYTES = 8 * (SLOTS + SLOT_WORDS * SLOT_COUNT)


def definition() -> str:
    """`void @lend_fault(ptr record, i64 thread, i64 site, i64 dimension, i64 index, i64 size, i64 i0 … i5)`."""
    names = ["site", "dimension", "index", "size", *(f"i{k}" for k in range(INDICES))]
    words = [abi.FAULT_SITE, abi.FAULT_DIMENSION, abi.FAULT_INDEX, abi.FAULT_SIZE]
    words += [abi.FAULT_INDICES + k for k in range(INDICES)]
    stores: list[str] = []
    for word, name in [*zip(words, names, strict=True), (abi.FAULT_THREAD, "thread")]:
        stores.append(f"  %{name}.at = getelementptr i8, ptr %slot, i64 {8 * word}")
        stores.append(f"  store i64 %{name}, ptr %{name}.at, align 8")
    parameters = ", ".join(f"i64 %{name}" for name in ["thread", *names])
    return f"""define internal void @lend_fault(ptr %record, {parameters}) noinline cold nounwind {{
entry:
  %before = atomicrmw min ptr %record, i64 %thread monotonic, align 8
  %first = icmp slt i64 %thread, %before
  br i1 %first, label %write, label %done
write:
  %count.at = getelementptr i8, ptr %record, i64 {8 * COUNT}
  %taken = atomicrmw add ptr %count.at, i64 1 monotonic, align 8
  %number = and i64 %taken, {SLOT_COUNT - 1}
  %bytes = mul i64 %number, {8 * SLOT_WORDS}
  %start = add i64 %bytes, {8 * SLOTS}
  %slot = getelementptr i8, ptr %record, i64 %start
{chr(10).join(stores)}
  br label %done
done:
  ret void
}}"""
