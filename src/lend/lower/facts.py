"""What loops and arrays guarantee, told to LLVM, which then drops the tests of subscripts that follow from it.

Does: assume the range of a loop's index, and that sizes are not negative.  Does not: decide anything: no test is left out here.
Invariants: every fact holds by construction of the loop, in machine integers, whatever the program computes: it is about indices
that loops make and sizes that calls have checked, never about a test's outcome.

Example: with `index` in `1..N - 1`, `index - 1`, `index` and `index + 1` are below N, unsigned.
"""

from __future__ import annotations

from lend.lower.builder import FunctionBuilder
from lend.lower.indexing import add, is_constant, literal
from lend.lower.values import ArrayValue
from lend.lower.writer import FunctionWriter

REACH = 8
"""Neighbours further away than this are left to LLVM."""


def state_sizes(writer: FunctionWriter, arrays: list[ArrayValue]) -> None:
    """Sizes are not negative."""
    for array in arrays:
        for size in array.sizes:
            if size not in writer.sizes and not is_constant(size):
                writer.sizes.add(size)
                _assume(writer.builder, f"sge i64 {size}, 0")


def state_index(writer: FunctionWriter, index: str, lower: str, upper: str) -> None:
    """`lower <= index < upper`, for a loop by ones; beside a size, also which neighbours are inside it."""
    _assume(writer.builder, f"sge i64 {index}, {lower}")
    _assume(writer.builder, f"slt i64 {index}, {upper}")
    first, (size, slack) = literal(lower), _below(writer, upper)
    if first is None or first < 0 or size is None:
        return
    # index is in [first, size - slack), and size - slack has not wrapped: a size is not negative
    for neighbour in range(-min(first, REACH), min(slack, REACH) + 1):
        _assume(writer.builder, f"ult i64 {add(writer.builder, index, str(neighbour))}, {size}")


def _below(writer: FunctionWriter, upper: str) -> tuple[str | None, int]:
    """A size, and how much less `upper` is; None if that is not seen."""
    if upper in writer.sizes:
        return upper, 0
    operator, left, right = writer.sums.get(upper, ("", "", "%"))
    number = literal(right)
    if left in writer.sizes and number is not None and operator in ("add", "sub"):
        slack = number if operator == "sub" else -number
        if 0 <= slack < 1 << 62:
            return left, slack
    return None, 0


def _assume(builder: FunctionBuilder, comparison: str) -> None:
    builder.module.declare("llvm.assume", "declare void @llvm.assume(i1)")
    builder.append(f"call void @llvm.assume(i1 {builder.emit(f'icmp {comparison}')})")
