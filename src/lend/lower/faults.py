"""The functions that record a fault, and the words they are given.

Does: write `@lend_fault` and its kind into a module and calls of it.  Does not: decide what happens after a fault (`writer.py`).
Invariants: the record keeps the fault of the smallest thread, and of one thread the first; writers hold the record's lock.
"""

from __future__ import annotations

from lend.diagnostics.records import dataclass
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


@dataclass(frozen=True)
class Subscripts:
    """The (index, size) of each dimension of a failing access: which one failed is found out of line."""

    pairs: tuple[tuple[str, str], ...]


Report = Failure | Subscripts


def call_fault(
    builder: FunctionBuilder, record: str, thread: str, site: int, report: Report, indices: list[str], metadata: str
) -> None:
    """Record a fault from the open block."""
    builder.module.declare("lend_fault", _definition())
    name = "lend_fault"
    if isinstance(report, Failure):
        words = [report.dimension, report.index, report.size]
    elif len(report.pairs) == 1:
        words = ["0", *report.pairs[0]]
    else:
        name = f"lend_subscripts_{len(report.pairs)}"
        words = [word for pair in report.pairs for word in pair]
        builder.module.declare(name, _subscripts_definition(name, len(report.pairs)))
    threads = [*indices[:INDICES], *["0"] * (INDICES - len(indices))]
    arguments = ", ".join(f"i64 {word}" for word in (thread, str(site), *words, *threads))
    builder.append(f"call void @{name}(ptr {record}, {arguments}){metadata}")


def _subscripts_definition(name: str, dimensions: int) -> str:
    """A function that finds the first dimension whose index is outside, so that the caller keeps nothing ready for it."""
    pairs = [(f"%index{k}", f"%size{k}") for k in range(dimensions)]
    lines: list[str] = []
    chosen = (str(dimensions - 1), *pairs[-1])
    for k, (index, size) in reversed(list(enumerate(pairs[:-1]))):
        lines.append(f"  %inside{k} = icmp ult i64 {index}, {size}")
        words: list[str] = []
        for word, own, other in zip(("dimension", "index", "size"), (str(k), index, size), chosen, strict=True):
            words.append(f"%{word}.{k}")
            lines.append(f"  %{word}.{k} = select i1 %inside{k}, i64 {other}, i64 {own}")
        chosen = (words[0], words[1], words[2])
    threads = [f"%i{k}" for k in range(INDICES)]
    parameters = ", ".join(f"i64 {word}" for word in ("%thread", "%site", *(w for pair in pairs for w in pair), *threads))
    arguments = ", ".join(f"i64 {word}" for word in ("%thread", "%site", *chosen, *threads))
    body = "\n".join([*lines, f"  call void @lend_fault(ptr %record, {arguments})", "  ret void"])
    return f"define internal void @{name}(ptr %record, {parameters}) noinline cold nounwind {{\nentry:\n{body}\n}}"


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
