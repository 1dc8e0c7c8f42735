"""The writer of one LLVM function from typed operations: what host functions and device regions have in common.

Does: hold the open function, what each typed value is in it, and the shape of a failing test and of phis.
Does not: know single operations (`scalars.py`, `memory.py`, `control.py`, collected in each subclass's table).
Invariants: every typed value is bound before it is read; a failing access is skipped and never executed, not even speculatively.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from lend.diagnostics.errors import InternalError
from lend.ir.typed import For, Kernel, Operation, Region, Value
from lend.language.types import ScalarType, Type
from lend.lower.aliases import Aliases
from lend.lower.arithmetic import ScalarEmitter, register_type
from lend.lower.builder import FunctionBuilder, ModuleBuilder
from lend.lower.facts import Facts
from lend.lower.faults import LIKELY, Report
from lend.lower.indexing import add, multiply, offset
from lend.lower.shapes import Shapes
from lend.lower.values import ArrayValue, Lowered, assemble, describe, operands
from lend.plan.cost import ArraySize

Subscript = tuple[tuple[str, str], ...]
"""The (index, size) of each dimension, as operands."""

ZEROS = {"bool": False, "int": 0, "uint": 0, "float": 0.0, "complex": 0j}


class FunctionWriter:
    """One function being written."""

    operations: ClassVar[Mapping[type, Callable[[Any, Any], None]]] = {}
    """What writes each kind of operation: `(writer, operation)`."""

    ends_at_fault: ClassVar[bool]
    """Whether a fault leaves the function at once (the host level) or the thread goes on (a device region)."""

    def __init__(self, module: ModuleBuilder, kernel: Kernel, aliases: Aliases, shapes: Shapes) -> None:
        self.kernel = kernel
        self.aliases = aliases
        self.shapes = shapes
        self.builder = FunctionBuilder(module)
        self.scalars = ScalarEmitter(self.builder, kernel.math)
        self.values: dict[Value, Lowered] = {}
        self.facts = Facts(self.builder)
        self.tested: dict[Subscript, str] = {}  # the outcome of each test of subscripts made on every way to the open block
        self.carried: list[tuple[Value, ...]] = []  # what the loops around the open block carry, outermost first
        self.gathers: frozenset[Operation] = frozenset()  # loads, and products, that stay apart from the arithmetic that follows

    # ------------------------------------------------------------------------------------------- values

    def bind(self, value: Value, lowered: Lowered) -> None:
        """Say what `value` is from here on; sizes that are known from the start take their operands from there."""
        self.values[value] = self._settled(value, lowered) if isinstance(lowered, ArrayValue) else lowered

    def _settled(self, value: Value, array: ArrayValue) -> ArrayValue:
        known = self.shapes.get(value, ())
        sizes = list(array.sizes)
        for dimension, size in enumerate(known):
            if isinstance(size, int):
                sizes[dimension] = str(size)
            elif isinstance(size, ArraySize):
                if size.array in self.values:
                    sizes[dimension] = self.array(size.array).sizes[size.dimension]
            elif size in self.values:
                sizes[dimension] = self.scalar(size)
        if tuple(sizes) == array.sizes:
            return array
        return describe(self.builder, array.type, array.pointer, tuple(sizes), array.strides, array.owner)

    def bind_all(self, values: tuple[Value, ...], lowered: list[Lowered]) -> None:
        """`bind`, one by one."""
        for value, what in zip(values, lowered, strict=True):
            self.bind(value, what)

    def get(self, value: Value) -> Lowered:
        """What `value` is here."""
        if value not in self.values:
            raise InternalError(f"{value!r} is used before it is defined", value.span)
        return self.values[value]

    def scalar(self, value: Value) -> str:
        """The operand of a scalar value."""
        lowered = self.get(value)
        assert isinstance(lowered, str)
        return lowered

    def array(self, value: Value) -> ArrayValue:
        """The descriptor of an array value."""
        lowered = self.get(value)
        assert isinstance(lowered, ArrayValue)
        return lowered

    def zero(self, type: ScalarType) -> str:
        """The operand of a type's zero."""
        return self.scalars.constant(type, ZEROS[type.kind])

    # ------------------------------------------------------------------------------------------ regions

    def run(self, region: Region) -> list[Lowered]:
        """Write the operations of `region`, whose parameters are bound, and give what it yields."""
        tested = dict(self.tested)
        for operation in region.operations:
            self.before(operation)
            self.operations[type(operation)](self, operation)
        self.tested = tested  # what is tested in a branch or a loop need not have been tested after it
        return [self.get(value) for value in region.yields]

    def merge(self, types: list[Type], arms: list[tuple[list[Lowered], str]]) -> list[Lowered]:
        """Phis at the start of the open block, of the values that come from each block; none where all are the same."""
        merged: list[list[str]] = []
        for position, type in enumerate(types):
            columns = zip(*(operands(type, values[position]) for values, _ in arms), strict=True)
            merged.append([self._phi(column, [block for _, block in arms]) for column in columns])
        return [assemble(self.builder, type, parts) for type, parts in zip(types, merged, strict=True)]

    def _phi(self, column: tuple[tuple[str, str], ...], blocks: list[str]) -> str:
        if len({operand for _, operand in column}) == 1:
            return column[0][1]
        arms = ", ".join(f"[ {operand}, %{block} ]" for (_, operand), block in zip(column, blocks, strict=True))
        return self.builder.emit(f"phi {column[0][0]} {arms}")

    # ------------------------------------------------------------------------------------------- scopes

    def before(self, operation: Operation) -> None:
        """Before each operation."""

    def enter(self, *regions: Region) -> str | None:
        """Before regions whose temporaries end with them; the host level keeps a mark of its live allocations."""
        return None

    def leave(self, mark: str | None, yields: list[Lowered]) -> None:
        """After (one run of) them: free what `yields` does not hold."""

    def properties(self, loop: For) -> tuple[str, ...]:
        """Metadata nodes about a sequential loop."""
        return ()

    def element(self, pointer: str, indices: list[str], strides: tuple[str, ...]) -> str:
        """The address of an element: `pointer` moved by the sum of the products."""
        start = "0"
        for index, stride in zip(indices, strides, strict=True):
            start = add(self.builder, start, multiply(self.builder, index, stride))
        return offset(self.builder, pointer, start)

    def read(self, type: ScalarType, pointer: str, align: int, metadata: str) -> str:
        """An element's value."""
        return self.scalars.load(type, pointer, align, metadata)

    def write_element(self, type: ScalarType, value: str, pointer: str, align: int, metadata: str) -> None:
        """Change an element."""
        self.scalars.store(type, value, pointer, align, metadata)

    def shared_with_nobody(self, array: Value) -> bool:
        """Whether no other thread of the processor can touch an array while this code runs."""
        return False

    def fetch(self, pointer: str, type: ScalarType) -> str:
        """Where an element that is read and changed in one step can be reached: where it is, or a copy."""
        return pointer

    def put_back(self, pointer: str, place: str, type: ScalarType) -> None:
        """It has been changed there."""

    def between_iterations(self, carried: list[Type], body: Region | None = None) -> None:
        """Where a sequential loop that carries such values goes round again."""

    def access(self, array: Value) -> str:
        """What to append to a load or store through `array`."""
        return self.aliases.suffix(array)

    # ------------------------------------------------------------------------------------------- faults

    def record(self, site: int, report: Report) -> None:
        """Write down a fault, in the open block, which nothing but a fault reaches."""
        raise NotImplementedError

    def leave_at_fault(self) -> None:
        """Close the open block: the function ends here with a fault."""
        raise NotImplementedError

    def faulted(self) -> str | None:
        """An i1 that says whether this chunk has recorded a fault, read now; None if that cannot be."""
        return None

    def check(self, ok: str, site: int, describe: Callable[[], Report]) -> str:
        """Record a fault unless `ok`, then go on in either case. Gives the condition that still has to be minded.

        `describe` writes what the report needs, out of line.
        """
        fine, bad = self.builder.new_block("fine"), self.builder.new_block("fault")
        self.builder.branch(ok, fine, bad, LIKELY)
        self.builder.open(bad)
        self.record(site, describe())
        if self.ends_at_fault:
            self.leave_at_fault()
        else:
            self.builder.jump(fine)
        self.builder.open(fine)
        return "true" if self.ends_at_fault else ok

    def skip_unless(
        self, ok: str, site: int | None, describe: Callable[[], Report], access: Callable[[], str], type: ScalarType
    ) -> str:
        """`access()` if `ok`; else a fault, and the zero of `type`. The access is a branch of its own.

        Without a site, the fault has been recorded already.
        """
        if ok == "true":
            return access()
        fine, bad, after = (self.builder.new_block(hint) for hint in ("fine", "fault", "after"))
        self.builder.branch(ok, fine, bad, LIKELY)
        self.builder.open(bad)
        if site is not None:
            self.record(site, describe())
        if self.ends_at_fault:
            self.leave_at_fault()
            self.builder.open(fine)
            return access()
        failed = self.builder.block
        self.builder.jump(after)
        self.builder.open(fine)
        value = access()
        came = self.builder.block
        self.builder.jump(after)
        self.builder.open(after)
        if not value:  # a store
            return ""
        return self.builder.emit(f"phi {register_type(type)} [ {value}, %{came} ], [ {self.zero(type)}, %{failed} ]")
