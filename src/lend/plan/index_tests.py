"""Index arrays that the loop which reads them tests as it goes, so that they are read once.

Does: look whether sequential loops in the first parallel loop of a kernel go along an `Index` array, and put the tests of its
elements into these, each before it is used (`tested_steps.py`).  Does not: prove that the array is read whole
(`checks/read_whole.py`), or write code (`lower/index_tests.py`).

Invariants, for the promise that a wrong index is found before anything runs:
- Every element is tested: the array is proved to be read whole, and each of its reads stands in such a loop, at its index.
- No element is used before it is tested: a step with a wrong one is left out, with those after it. So nothing that a proof
  concludes from the promise happens without it, and what is left out decides neither subscripts nor lengths of loops: a step
  carries nothing, and no loop of the region takes its length from what the region loads of temporaries.
- Nobody sees that something ran: until the loop ends, in the loop and before it, only temporaries of the kernel are written, and
  nothing else can fail but for want of memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from lend.diagnostics.records import dataclass
from lend.ir import typed
from lend.ir.typed import Allocate, For, If, Kernel, Load, Operation, Parallel, Region, Store, Value
from lend.language.types import Layout
from lend.plan.tested_steps import TestedSteps
from lend.schedule.innermost import integer_constants
from lend.schedule.operations import OperationWriter

TOGETHER_BITS = 3
"""So many bits has the number of steps that are taken together."""

SIMPLE = (typed.Constant, typed.Unary, typed.Binary, typed.Math, typed.Cast, typed.Size)


@dataclass(frozen=True, eq=False)
class LoopWithTests:
    """A parallel loop that can test index arrays: per sequential loop in it the arrays, with their bounds."""

    parallel: Parallel
    arrays: Mapping[For, tuple[tuple[Value, Value | int], ...]]

    @property
    def parameters(self) -> tuple[Value, ...]:
        """The arrays that need no test before the kernel runs."""
        return tuple(dict.fromkeys(array for found in self.arrays.values() for array, _ in found))

    def rewritten(self, kernel: Kernel) -> tuple[Kernel, Parallel]:
        """The kernel with the tests in the loop, and the loop."""
        parallel = replace(self.parallel, body=self._region(self.parallel.body))
        operations = tuple(parallel if operation is self.parallel else operation for operation in kernel.body.operations)
        return replace(kernel, body=replace(kernel.body, operations=operations)), parallel

    def _region(self, region: Region) -> Region:
        operations: list[Operation] = []
        for operation in region.operations:
            if isinstance(operation, For) and operation in self.arrays:
                operations += _tested_loop(operation, self.arrays[operation])
            elif isinstance(operation, For):
                operations.append(replace(operation, body=self._region(operation.body)))
            elif isinstance(operation, If):
                operations.append(replace(operation, then=self._region(operation.then), orelse=self._region(operation.orelse)))
            else:
                operations.append(operation)
        return replace(region, operations=tuple(operations))


def _tested_loop(loop: For, arrays: tuple[tuple[Value, Value | int], ...]) -> list[Operation]:
    writer, steps = OperationWriter(loop.span), TestedSteps(loop, arrays)
    if steps.long:
        steps.one_by_one(writer, ())
    else:
        steps.together(writer, TOGETHER_BITS, ())
    return writer.operations


# ---------------------------------------------------------------------------------------------------------- which loop


def tested_loop(kernel: Kernel, whole: frozenset[Value]) -> LoopWithTests | None:
    """The loop that can test some of the arrays that are read `whole`, if there is one."""
    parallel = first_loop(kernel, frozenset())
    return None if parallel is None else _tested(kernel, parallel, whole)


def first_loop(kernel: Kernel, outputs: frozenset[Value]) -> Parallel | None:
    """The kernel's first parallel loop, if steps of it may be left out, and nothing but temporaries and `outputs` is written
    up to its end."""
    written = set(outputs)
    for operation in kernel.body.operations:
        if isinstance(operation, Parallel):
            return operation if _may_be_cut(operation, written) else None
        if isinstance(operation, Allocate):
            written.add(operation.result)
        elif not isinstance(operation, SIMPLE) or getattr(operation, "site", None) is not None:
            return None
    return None


def _may_be_cut(parallel: Parallel, written: set[Value]) -> bool:
    if parallel.team or parallel.fallback or parallel.reductions or parallel.site is not None:
        return False
    harmless = all(_harmless(operation, written) for operation in operations_in(parallel.body))
    return harmless and not _follows(parallel.body, written)


def _tested(kernel: Kernel, parallel: Parallel, whole: frozenset[Value]) -> LoopWithTests | None:
    constants = integer_constants(kernel.body)
    found: dict[For, list[tuple[Value, Value | int]]] = {}
    for parameter in kernel.parameters:
        array, facts = parameter.value, parameter.index
        if array not in whole or facts is None or facts[0] != "index" or array.array.layout is not Layout.C:
            continue
        bound = facts[1]
        loops = [loop for loop in _loops_along(parallel.body, array) if constants.get(loop.extent.step) == 1]
        uses = sum(
            array in operation.operands for operation in operations_in(kernel.body) if not isinstance(operation, typed.Size)
        )
        reads = sum(isinstance(o, Load) and o.array is array for loop in loops for o in loop.body.operations)
        if not loops or uses != reads or (isinstance(bound, Value) and bound not in kernel.dims) or array in kernel.body.yields:
            continue
        for loop in loops:
            found.setdefault(loop, []).append((array, bound))
    return LoopWithTests(parallel, {loop: tuple(arrays) for loop, arrays in found.items()}) if found else None


def _harmless(operation: Operation, written: set[Value]) -> bool:
    """Whether an operation cannot fail and writes nothing else."""
    if getattr(operation, "site", None) is not None:
        return False
    if isinstance(operation, Store):
        return operation.array in written
    if isinstance(operation, For):
        return not operation.stops
    return isinstance(operation, (*SIMPLE, Load, If))


def _follows(body: Region, written: set[Value]) -> bool:
    """Whether a loop's length, a branch or a subscript may come from what is loaded of what the loop writes."""
    loaded: set[Value] = set()
    for operation in operations_in(body):
        if not loaded.isdisjoint(deciding(operation)) or (
            operation.results and any(_reads(inner, written) for inner in operation.regions)
        ):
            return True
        if (isinstance(operation, Load) and operation.array in written) or not loaded.isdisjoint(operation.operands):
            loaded.update(operation.results)
    return False


def deciding(operation: Operation) -> tuple[Value, ...]:
    """The operands that decide a branch, a loop's length or a subscript."""
    match operation:
        case For(extent=extent):
            return extent.lower, extent.upper, extent.step
        case If(condition=condition):
            return (condition,)
        case Load(indices=indices) | Store(indices=indices):
            return indices
        case _:
            return ()


def _reads(region: Region, written: set[Value]) -> bool:
    return any(isinstance(operation, Load) and operation.array in written for operation in operations_in(region))


def _loops_along(region: Region, array: Value) -> list[For]:
    """The loops by ones that read the array in each step, at their index, and carry nothing."""
    found: list[For] = []
    for operation in region.operations:
        if isinstance(operation, For):
            index = operation.body.parameters[0]
            reads = [o for o in operation.body.operations if isinstance(o, Load) and o.array is array]
            if reads and not operation.inits and all(read.indices == (index,) for read in reads):
                found.append(operation)
                continue
        for inner in operation.regions:
            found += _loops_along(inner, array)
    return found


def operations_in(region: Region) -> Iterator[Operation]:
    """Its operations, and those in them."""
    for operation in region.operations:
        yield operation
        for inner in operation.regions:
            yield from operations_in(inner)
