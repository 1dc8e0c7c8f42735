"""Loads in sequential loops from wherever another load says: kept apart from the arithmetic that follows.

Does: find such loads, and products of them, where the loop carries floating-point values in its own order. Does not: write code.

Why. On Zen 4, loops that add "from memory" in one instruction take up to a third longer than loops that load first, if the
elements lie anywhere: in a sparse matrix times a vector as large as the last cache. Where all is near, both take as long. LLVM,
which counts instructions, folds a load that is used once; `llvm.arithmetic.fence` keeps it from that and is no instruction.

A loop that tests each index is left small: then what the processor does beyond a row's end, until it knows better, is what the
next row needs, and far elements come in half the time that they take an unrolled loop. Its sums wait for an addition only, not
for a multiplication too, so products are rounded on their own. There it is the other factor that is loaded first: products that
take the far element from memory themselves are a tenth quicker. And the loop begins with a line of the cache: it fits in one.
"""

from __future__ import annotations

from lend.ir import typed
from lend.ir.typed import Load, Operation, Region, Value
from lend.language.types import F32, F64, ScalarType


def gathered_loads(region: Region) -> frozenset[Operation]:
    """The loads of a region's innermost sequential loops that are to stay apart, and their products that are."""
    found: set[Operation] = set()
    for operation in region.operations:
        for inner in operation.regions:
            found |= gathered_loads(inner)
        if (
            isinstance(operation, typed.For)
            and any(_is_float(value) for value in operation.inits)
            and not _nested(operation.body)
        ):
            found |= _gathered(operation.body, tests_steps(operation))
    return frozenset(found)


def gathers(loop: typed.For, found: frozenset[Operation]) -> bool:
    """Whether a loop has some of these loads in its steps."""
    operations = loop.body.operations
    if tests_steps(loop):
        operations = tuple(inner for operation in operations for region in operation.regions for inner in region.operations)
    return not found.isdisjoint(operations)


def tests_steps(loop: typed.For) -> bool:
    """Whether a loop tests an index in each step, and has its step where it is right."""
    return loop.stops and any(isinstance(operation, typed.Within) for operation in loop.body.operations)


def _is_float(value: Value) -> bool:
    return isinstance(value.type, ScalarType) and value.type in (F32, F64)


def _nested(region: Region) -> bool:
    return any(
        isinstance(operation, typed.For | typed.While) or any(map(_nested, operation.regions)) for operation in region.operations
    )


def _gathered(body: Region, products: bool) -> set[Operation]:
    found: set[Operation] = set()
    near: dict[Value, Load] = {}
    far: dict[Value, Load] = {}
    loaded: set[Value] = set()  # what is loaded in an iteration, and what is computed from that

    def visit(region: Region) -> None:
        for operation in region.operations:
            if isinstance(operation, Load) and _is_float(operation.result):
                if loaded.isdisjoint(operation.indices):
                    near[operation.result] = operation
                else:
                    far[operation.result] = operation
                    found.add(operation)
            elif products and isinstance(operation, typed.Binary) and operation.operator == "mul":
                for value, other in ((operation.left, operation.right), (operation.right, operation.left)):
                    if value in far:
                        found.add(operation)
                        if other in near:
                            found.add(near[other])
                            found.discard(far[value])
            if isinstance(operation, Load) or not loaded.isdisjoint(operation.operands):
                loaded.update(operation.results)
            for inner in operation.regions:
                visit(inner)

    visit(body)
    return found
