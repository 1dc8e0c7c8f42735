"""Sequential loops along index arrays whose steps test the indices that they use.

Does: write such a loop, with the test of its step's elements before each step: one by one, or several steps in a row, so that
what a loop costs is paid once for them.  Does not: decide where that may be (`index_tests.py`, `row_tests.py`), or write code
(`lower/index_tests.py`).
Invariants: a step whose elements are wrong is left out, and so are those after it; what is carried then passes on as it is.

Why each step has its own test: a comparison and a jump that is never taken are one instruction, which takes no time beside the
loads and stores of a step; a test of many elements at once, in vectors, has to be waited for.
"""

from __future__ import annotations

from lend.ir import typed
from lend.ir.clone import clone
from lend.ir.typed import Extent, For, If, Operation, Region, Value
from lend.language.abi import WRONG_INDEX
from lend.language.types import BOOL_
from lend.schedule.operations import OperationWriter

LONG = 24
"""Steps of more operations are taken one by one: there is little to gain."""


class TestedSteps:
    """A loop by ones, and the arrays whose elements at its index are tested, with their bounds."""

    __test__ = False  # no test of pytest's

    def __init__(self, loop: For, arrays: tuple[tuple[Value, Value | int], ...]) -> None:
        self.loop, self.arrays = loop, arrays

    @property
    def long(self) -> bool:
        """Whether steps are so long that they are better taken one by one."""
        return _count(self.loop.body) > LONG

    def one_by_one(self, writer: OperationWriter, results: tuple[Value, ...]) -> None:
        """Write the loop as it is, but for the tests."""
        self._write(writer, self.loop.extent, 1, self.loop.inits, results)

    def together(self, writer: OperationWriter, bits: int, results: tuple[Value, ...]) -> None:
        """Write the loop with 2**bits steps at a time, and one for the steps that are left."""
        lower, upper = self.loop.extent.lower, self.loop.extent.upper
        scalar = self.loop.body.parameters[0].scalar
        shift, zero = writer.constant(bits, scalar), writer.constant(0, scalar)
        length = writer.binary("max", writer.binary("sub", upper, lower), zero)
        whole = writer.binary("shl", writer.binary("shr", length, shift), shift)
        middle, by = writer.binary("add", lower, whole), writer.constant(1 << bits, scalar)
        carried = tuple(Value(value.type, self.loop.span) for value in self.loop.results)
        self._write(writer, Extent(lower, middle, by), 1 << bits, self.loop.inits, carried)
        self._write(writer, Extent(middle, upper, self.loop.extent.step), 1, carried, results)

    def _write(
        self, writer: OperationWriter, extent: Extent, count: int, inits: tuple[Value, ...], results: tuple[Value, ...]
    ) -> None:
        """A loop each of whose steps does `count` of the steps."""
        body, span = self.loop.body, self.loop.span
        index, *carried = body.parameters
        inner = OperationWriter(span)
        go_on, stop = inner.constant(False, BOOL_), inner.constant(True, BOOL_)
        first, *values = parameters = tuple(Value(value.type, span, value.name) for value in body.parameters)

        def steps(number: int, values: list[Value]) -> tuple[list[Operation], tuple[Value, ...]]:
            if number == count:
                return [], (go_on, *values)
            begin = OperationWriter(span)
            place = first if number == 0 else begin.binary("add", first, begin.constant(number, first.scalar))
            mapping = dict(zip((index, *carried), (place, *values), strict=True))
            operations = [clone(operation, mapping) for operation in body.operations]
            following, yields = steps(number + 1, [mapping.get(value, value) for value in body.yields])
            operations += following
            for array, bound in reversed(self.arrays):
                holds, out = Value(BOOL_, span), tuple(Value(value.type, span) for value in yields)
                test = typed.Within(span, holds, array, place, bound, WRONG_INDEX)
                then, orelse = Region((), tuple(operations), yields), Region((), (), (stop, *values))
                operations, yields = [test, If(span, out, holds, then, orelse)], out
            return [*begin.operations, *operations], yields

        operations, yields = steps(0, list(values))
        region = Region(parameters, (*inner.operations, *operations), yields)
        writer.operations.append(For(span, results, extent, inits, region, True, None))


def _count(region: Region) -> int:
    return sum(1 + sum(map(_count, operation.regions)) for operation in region.operations)
