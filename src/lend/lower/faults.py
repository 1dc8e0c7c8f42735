"""The function that records a fault, and the words it is given.

Does: write `@lend_fault` into a module and calls of it.  Does not: decide what happens after a fault (`writer.py`).
Invariants: the record keeps the fault of the smallest thread, and of one thread the first; writers hold the record's lock.
"""

from __future__ import annotations

from dataclasses import dataclass

from lend.language import abi
from lend.lower.builder import FunctionBuilder

LIKELY = (1 << 20, 1)
"""Branch weights of a test that nearly always holds."""

INDICES = abi.FAULT_WORDS - abi.FAULT_INDICES


@dataclass(frozen=True)
class Failure:
    """What a failing test reports: i64 operands."""

    dimension: str = "0"
    index: str = "0"
    size: str = "0"


def call_fault(
    builder: FunctionBuilder, record: str, thread: str, site: int, failure: Failure, indices: list[str], metadata: str
) -> None:
    """Record a fault from the open block."""
    builder.module.declare("lend_fault", _definition())
    words = [thread, str(site), failure.dimension, failure.index, failure.size, *indices[:INDICES]]
    words += ["0"] * (5 + INDICES - len(words))
    builder.append(f"call void @lend_fault(ptr {record}, {', '.join(f'i64 {word}' for word in words)}){metadata}")


def _definition() -> str:
    stores: list[str] = []
    words = [(abi.FAULT_SITE, "site"), (abi.FAULT_DIMENSION, "dimension"), (abi.FAULT_INDEX, "index"), (abi.FAULT_SIZE, "size")]
    words += [(abi.FAULT_INDICES + k, f"i{k}") for k in range(INDICES)]
    for word, name in words:
        stores.append(f"  %{name}.at = getelementptr i8, ptr %record, i64 {8 * word}")
        stores.append(f"  store i64 %{name}, ptr %{name}.at, align 8")
    parameters = ", ".join(f"i64 %{name}" for _, name in words)
    return f"""define internal void @lend_fault(ptr %record, i64 %thread, {parameters}) noinline cold nounwind {{
entry:
  %lock = getelementptr i8, ptr %record, i64 {8 * abi.FAULT_LOCK}
  %thread.at = getelementptr i8, ptr %record, i64 {8 * abi.FAULT_THREAD}
  %seen = load atomic i64, ptr %thread.at monotonic, align 8
  %settled = icmp sle i64 %seen, %thread
  br i1 %settled, label %done, label %spin
spin:
  %pair = cmpxchg weak ptr %lock, i64 0, i64 1 acquire monotonic, align 8
  %won = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %won, label %held, label %spin
held:
  %old = load atomic i64, ptr %thread.at monotonic, align 8
  %earlier = icmp sle i64 %old, %thread
  br i1 %earlier, label %release, label %write
write:
  store atomic i64 %thread, ptr %thread.at monotonic, align 8
{chr(10).join(stores)}
  br label %release
release:
  store atomic i64 0, ptr %lock release, align 8
  br label %done
done:
  ret void
}}"""
