"""Rows of a sparse matrix whose loop tests what says where they are: offsets and indices are read once.

Does: look whether the first parallel loop of a kernel goes over all rows that an `Offsets` array divides others into, and, in
each, along `Index` arrays that are divided so; and put the tests of both into it: a row's offsets before the row, each index
before its use. Where what is gathered exceeds a core's cache, steps are taken one by one (`gathers.py`), else four together.
Does not: write code (`lower/index_tests.py`).

Example: `for i in grid(M)`, and in it `for k in range(rows[i], rows[i + 1])`, which reads `x[columns[k]]`, where `rows` is an
`Offsets` of as many values as `columns` has, with M + 1 elements.

Invariants, for the promise that a wrong element is found:
- Every element is tested. The loop runs over all pairs of neighbouring offsets, whatever happens, so that its inner loops go over
  all elements from the first offset to the last; those outside, of which there are seldom any, are tested before the loop.
- No element is used before it is tested: a row with wrong offsets is left out, and so are a step with a wrong index and those
  after it; each use of the arrays stands in what is left out. Floats alone leave such a loop, and decide neither branches nor
  subscripts, so that nothing that is concluded from the promise comes from there; what the loop writes, `first_loop` looks at.
- Nobody sees that something ran, but for elements of `Out` arrays, which hold nothing after an error; nothing else can fail.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lend.diagnostics.records import dataclass
from lend.ir import typed
from lend.ir.clone import clone
from lend.ir.typed import Binary, For, If, Kernel, Load, Operation, Parallel, Parameter, Region, Value
from lend.language.abi import WRONG_INDEX
from lend.language.types import BOOL_, F32, F64, ArrayType, Borrow, Layout
from lend.plan.gathers import gathered_loads
from lend.plan.index_tests import deciding, first_loop, operations_in
from lend.plan.tested_steps import TestedSteps
from lend.schedule.innermost import integer_constants
from lend.schedule.operations import OperationWriter

TOGETHER_BITS = 2
"""So many bits has the number of steps that are taken together where elements are near."""


def _bound(parameter: Parameter) -> Value | int:
    assert parameter.index is not None
    return parameter.index[1]


@dataclass(frozen=True, eq=False)
class RowsWithTests:
    """A parallel loop that can test the offsets of its rows, and the indices in these. Bounds are numbers or dims."""

    parallel: Parallel
    offsets: Parameter
    indices: tuple[Parameter, ...]
    loops: Mapping[For, tuple[Parameter, ...]]

    @property
    def parameters(self) -> tuple[Value, ...]:
        """The arrays that need no test before the kernel runs."""
        return (self.offsets.value, *(parameter.value for parameter in self.indices))

    def rewritten(self, kernel: Kernel) -> tuple[Kernel, Parallel]:
        """The kernel with the tests, and the loop."""
        body, span = self.parallel.body, self.parallel.span
        before, inner = OperationWriter(span), list[Operation]()
        for operation in body.operations:
            if isinstance(operation, For) and operation in self.loops:
                far = self._far(kernel, operation, before)
                inner += self._either(operation, far)
            else:
                inner.append(operation)
        holds = Value(BOOL_, span)
        test = typed.Within(span, holds, self.offsets.value, body.parameters[0], _bound(self.offsets), WRONG_INDEX, True)
        guarded = If(span, (), holds, Region((), tuple(inner), ()), Region((), (), ()))
        parallel = replace(self.parallel, body=replace(body, operations=(test, guarded)))
        for parameter in self.indices:
            rest = (Value(BOOL_, span), parameter.value, self.offsets.value, _bound(parameter), WRONG_INDEX)
            before.operations.append(typed.WithinRest(span, *rest))
        operations: list[Operation] = []
        for operation in kernel.body.operations:
            operations += [*before.operations, parallel] if operation is self.parallel else [operation]
        return replace(kernel, body=replace(kernel.body, operations=tuple(operations))), parallel

    def _far(self, kernel: Kernel, loop: For, before: OperationWriter) -> Value | None:
        """Whether the elements that a loop gathers lie far away; None if it gathers none of which the host level knows where."""
        known = {p.value for p in kernel.parameters} | {v for operation in kernel.body.operations for v in operation.results}
        arrays = {load.array for load in gathered_loads(Region((), (loop,), ())) if isinstance(load, Load)}
        if not arrays or not arrays <= known:
            return None
        result = Value(BOOL_, loop.span)
        before.operations.append(typed.Exceed(loop.span, result, tuple(sorted(arrays, key=lambda value: value.name or ""))))
        return result

    def _either(self, loop: For, far: Value | None) -> list[Operation]:
        """A loop along a row: step by step where elements are far, else several steps at a time, as far as that goes."""
        writer = OperationWriter(loop.span)
        steps = TestedSteps(loop, tuple((parameter.value, _bound(parameter)) for parameter in self.loops[loop]))
        if steps.long:
            steps.one_by_one(writer, loop.results)
            return writer.operations
        steps.together(writer, TOGETHER_BITS, loop.results)
        if far is None:
            return writer.operations
        results, single = tuple(Value(value.type, loop.span) for value in loop.results), OperationWriter(loop.span)
        steps.one_by_one(single, results)
        then = Region((), tuple(single.operations), results)
        return [If(loop.span, loop.results, far, then, _yielding(writer, loop.results))]


def _yielding(writer: OperationWriter, results: tuple[Value, ...]) -> Region:
    """What was written, with its results under names of its own."""
    mapping: dict[Value, Value] = {}
    operations = tuple(clone(operation, mapping) for operation in writer.operations)
    return Region((), operations, tuple(mapping[value] for value in results))


def tested_rows(kernel: Kernel) -> RowsWithTests | None:
    """The loop over rows that can test what says where they are, if the kernel's first loop is one."""
    outputs = frozenset(p.value for p in kernel.parameters if is_array(p) and p.value.array.borrow is Borrow.OUT)
    parallel = first_loop(kernel, outputs)
    if parallel is None or len(parallel.box) != 1:
        return None
    rows = _Rows(kernel, parallel)
    for offsets in rows.candidates("offsets"):
        loops = rows.along(offsets) if rows.are_all(offsets) else ()
        indices = {p: read for p in rows.candidates("index") if (read := rows.reading(p, offsets, loops))}
        if indices and not rows.decides(tuple(loop for read in indices.values() for loop in read)):
            arrays = {loop: tuple(p for p, read in indices.items() if loop in read) for loop in loops}
            return RowsWithTests(parallel, offsets, tuple(indices), {loop: found for loop, found in arrays.items() if found})
    return None


def is_array(parameter: Parameter) -> bool:
    """Whether a parameter is an array."""
    return isinstance(parameter.value.type, ArrayType)


class _Rows:
    """What is asked of a loop."""

    def __init__(self, kernel: Kernel, parallel: Parallel) -> None:
        self.kernel, self.parallel, self.body = kernel, parallel, parallel.body
        self.index = parallel.body.parameters[0]
        self.constants = integer_constants(kernel.body)
        self.made = {result: operation for operation in operations_in(kernel.body) for result in operation.results}

    def candidates(self, kind: str) -> list[Parameter]:
        """Rows without gaps, of a kind, whose bound a region can have."""
        found: list[Parameter] = []
        for parameter in self.kernel.parameters:
            if parameter.index is not None and parameter.index[0] == kind and is_array(parameter):
                type, bound = parameter.value.array, parameter.index[1]
                if type.dimensions == 1 and type.layout is Layout.C and (isinstance(bound, int) or bound in self.kernel.dims):
                    found.append(parameter)
        return found

    def are_all(self, offsets: Parameter) -> bool:
        """Whether the loop is over all pairs of neighbouring offsets, which are used for nothing but their row."""
        (extent,), size = self.parallel.box, offsets.sizes[0]
        if (self.constants.get(extent.lower), self.constants.get(extent.step)) != (0, 1):
            return False
        if isinstance(size, int):
            ends = self.constants.get(extent.upper) == size - 1
        else:
            ends = self._is_next(size, extent.upper) or self._is_before(extent.upper, size, offsets.value)
        uses = self._uses(self.kernel.body, offsets.value)
        return ends and uses == sum(self._is_own(operation, offsets.value) for operation in operations_in(self.body))

    def along(self, offsets: Parameter) -> tuple[For, ...]:
        """The loops along a row, which each row goes through."""
        found: list[For] = []
        for operation in self.body.operations:
            if isinstance(operation, For) and self.constants.get(operation.extent.step) == 1:
                ends = (self._loaded(operation.extent.lower), self._loaded(operation.extent.upper))
                if all(load is not None and load.array is offsets.value for load in ends):
                    first, last = (load.indices[0] for load in ends if load is not None)
                    if first is self.index and self._is_next(last, self.index):
                        found.append(operation)
        return tuple(found)

    def reading(self, parameter: Parameter, offsets: Parameter, loops: tuple[For, ...]) -> tuple[For, ...]:
        """The loops that read an array which the offsets divide, at their index, if nothing else uses it."""
        assert offsets.index is not None
        if parameter.sizes[0] != offsets.index[1]:
            return ()
        array, count, found = parameter.value, 0, list[For]()
        for loop in loops:
            at = (loop.body.parameters[0],)
            reads = sum(isinstance(o, Load) and o.array is array and o.indices == at for o in operations_in(loop.body))
            if reads:
                count += reads
                found.append(loop)
        return tuple(found) if count == self._uses(self.kernel.body, array) else ()

    def decides(self, loops: tuple[For, ...]) -> bool:
        """Whether what passes over a step that is left out is no float, or decides a branch, a length or a subscript."""
        passed = {value for loop in loops for value in (*loop.results, *loop.body.parameters[1:])}
        if any(value.type not in (F32, F64) for value in passed):
            return True
        operations, before = list(operations_in(self.body)), 0
        while len(passed) != before:
            before = len(passed)
            for operation in operations:
                if not passed.isdisjoint((*operation.operands, *(v for region in operation.regions for v in region.yields))):
                    passed.update(operation.results)
                    if isinstance(operation, For):
                        passed.update(
                            v for v, init in zip(operation.body.parameters[1:], operation.inits, strict=True) if init in passed
                        )
        return any(not passed.isdisjoint(deciding(operation)) for operation in operations)

    def _uses(self, region: Region, array: Value) -> int:
        """How often an array is used, but for its size."""
        operations = [operation for operation in operations_in(region) if not isinstance(operation, typed.Size)]
        return sum(array in operation.operands for operation in operations) + (array in region.yields)

    def _is_own(self, operation: Operation, offsets: Value) -> bool:
        """Whether an operation reads an end of its row."""
        if not isinstance(operation, Load) or operation.array is not offsets:
            return False
        (place,) = operation.indices
        return place is self.index or self._is_next(place, self.index)

    def _loaded(self, value: Value) -> Load | None:
        """The load that gives a value, through casts."""
        operation = self.made.get(value)
        while isinstance(operation, typed.Cast) and operation.operand.scalar.is_integer and _widens(operation):
            operation = self.made.get(operation.operand)
        return operation if isinstance(operation, Load) else None

    def _is_next(self, value: Value, other: Value) -> bool:
        """Whether a value is another plus 1."""
        match self.made.get(value):
            case Binary(operator="add", left=left, right=right):
                return any(a is other and self.constants.get(b) == 1 for a, b in ((left, right), (right, left)))
            case _:
                return False

    def _is_before(self, value: Value, size: Value, array: Value) -> bool:
        """Whether a value is an array's size minus 1."""
        match self.made.get(value):
            case Binary(operator="sub", left=left, right=right) if self.constants.get(right) == 1:
                made = self.made.get(left)
                return left is size or (isinstance(made, typed.Size) and made.array is array)
            case _:
                return False


def _widens(cast: typed.Cast) -> bool:
    """Whether a cast of an integer keeps its value."""
    source, target = cast.operand.scalar, cast.result.scalar
    return target.is_integer and target.minimum <= source.minimum and source.maximum <= target.maximum
