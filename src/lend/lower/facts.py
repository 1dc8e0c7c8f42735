"""What loops and arrays guarantee, told to LLVM, which then drops the tests of subscripts that follow from it.

Does: assume the range of loops' indices and of indices made from them by mirroring, clamping and wrapping.
Does not: decide anything: no test is left out here, LLVM drops those that it sees to hold.
Invariants: every fact holds by construction, in machine integers, whatever the program computes: it is about indices that loops
make and sizes that calls have checked, never about a test's outcome. Numbers here are those of i64 operands.

Example: with `index` in `1..N - 1`, `index - 1`, `index`, `index + 1` and `N - 1 - index` are below N, unsigned.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from lend.lower.builder import FunctionBuilder
from lend.lower.indexing import add, is_constant, literal
from lend.lower.values import ArrayValue

REACH = 8
"""Neighbours further away than this are left to LLVM."""
FAR = 1 << 62


class Facts:
    """The facts of one function being written. A *size* is an operand that is known not to be negative."""

    def __init__(self, builder: FunctionBuilder, wanted: bool = True) -> None:
        self._builder = builder
        self.wanted = wanted
        """Whether anything is said at all: without tests there is nothing to drop."""
        self.suffix = ""
        """What to append to an assumption, which for LLVM is an access of memory."""
        self.sums: dict[str, tuple[str, str, str]] = {}
        """How sums, differences and products came about: operator and operands."""
        self._sizes: set[str] = set()
        self._ranges: dict[str, tuple[int, str, int]] = {}  # index: (first, size, slack): in first .. size - slack
        self._most: dict[str, tuple[str, int]] = {}  # operand: (size, less): at most size - less, and less is at least 1
        self._least: dict[str, int] = {}  # size: what it is at least where the open block runs

    # ------------------------------------------------------------------------------------------- statements

    def arrays(self, arrays: list[ArrayValue]) -> None:
        """Sizes of arrays are not negative."""
        for array in arrays:
            for size in array.sizes:
                if size not in self._sizes and not is_constant(size):
                    self._sizes.add(size)
                    self._assume(f"sge i64 {size}, 0")

    def index(self, index: str, lower: str, upper: str, step: str) -> None:
        """`lower <= index < upper`, in a loop with a positive step; beside a size, also which neighbours are inside it."""
        by = literal(step)
        if by is None or by < 1:
            return
        self._assume(f"sge i64 {index}, {lower}")
        self._assume(f"slt i64 {index}, {upper}")
        first, (size, slack) = literal(lower), self._below(upper)
        if first is None or not 0 <= first < FAR or size is None:
            return
        # index is in first .. size - slack, and size - slack has not wrapped: a size is not negative
        self._ranges[index] = (first, size, slack)
        self._least[size] = max(self._least.get(size, 0), first + slack + 1)
        for neighbour in range(-min(first, REACH), min(slack, REACH) + 1):
            self._assume(f"ult i64 {add(self._builder, index, str(neighbour))}, {size}")

    def result(self, operator: str, result: str, left: str, right: str) -> None:
        """What follows for the result of a signed operation."""
        if is_constant(result):
            return
        if operator in ("add", "sub", "mul"):
            self.sums[result] = (operator, left, right)
            self._mirrored(result)
        elif operator == "min":
            self._minimum(result, left, right)
            self._minimum(result, right, left)
        elif operator == "max":
            self._maximum(result, left, right)
            self._maximum(result, right, left)

    def remainder(self, remainder: str, divisor: str, tested: str) -> None:
        """A remainder by a size is below it: `tested` is the size where it is not 0, and 1 where it is."""
        if divisor in self._sizes:
            self._assume(f"ult i64 {remainder}, {tested}")

    @contextmanager
    def loop(self) -> Generator[None]:
        """What is stated inside about sizes is known only there: the loop may not run."""
        before = dict(self._least)
        yield
        self._least = before

    # ------------------------------------------------------------------------------------------- conclusions

    def _mirrored(self, result: str) -> None:
        """`size - less - index`, with `index` in first .. size - slack, is in slack + 1 - less ..= size - less - first."""
        operator, left, right = self.sums[result]
        more, number = 0, literal(right)
        if number is not None and left in self.sums:  # (size - … - index) - more
            more = number if operator == "sub" else -number if operator == "add" else -1
            operator, left, right = self.sums[left]
        size, less = self._below(left)
        first, of, slack = self._ranges.get(right, (0, None, 0))
        if operator != "sub" or size is None or of != size or not 0 <= more <= REACH:
            return
        if less + more <= slack + 1 and less + more + first >= 1:
            self._assume(f"ult i64 {result}, {size}")

    def _minimum(self, result: str, bound: str, other: str) -> None:
        """The smaller of a number and `size - less` is below the size, and inside it where both are not negative."""
        size, less = self._most.get(bound) or self._below(bound)
        if size is None or less < 1:
            return
        self._most[result] = (size, less)
        natural = other in self._sizes or (literal(other) or -1) >= 0
        exact = self._below(bound) == (size, less)
        inside = natural and exact and self._least.get(size, 0) >= less
        self._assume(f"{'ult' if inside else 'slt'} i64 {result}, {size}")

    def _maximum(self, result: str, bound: str, other: str) -> None:
        """The larger of a number and a constant that is not negative is not negative, and inside a larger size."""
        number = literal(other)
        if number is None or number < 0:
            return
        self._sizes.add(result)
        size, _ = self._most.get(bound, (None, 0))
        if size is not None and self._least.get(size, 0) > number:
            self._assume(f"ult i64 {result}, {size}")

    def _below(self, operand: str) -> tuple[str | None, int]:
        """`(size, less)` where the operand is `size - less` and that does not wrap; None where that is not seen."""
        if operand in self._sizes:
            return operand, 0
        operator, left, right = self.sums.get(operand, ("", "", "%"))
        number = literal(right)
        if left in self._sizes and number is not None and operator in ("add", "sub"):
            less = number if operator == "sub" else -number
            if 0 <= less < FAR:
                return left, less
        return None, 0

    def _assume(self, comparison: str) -> None:
        if not self.wanted:
            return
        self._builder.module.declare("llvm.assume", "declare void @llvm.assume(i1)")
        self._builder.append(f"call void @llvm.assume(i1 {self._builder.emit(f'icmp {comparison}')}){self.suffix}")
