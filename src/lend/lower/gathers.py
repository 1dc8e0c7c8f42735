"""Loads in sequential loops from wherever another load says: kept apart from the arithmetic that follows.

Does: find such loads where the loop carries floating-point values in its own order. Does not: write code.

Why. On Zen 4, loops that add "from memory" in one instruction take up to a third longer than loops that load first, if the
elements lie anywhere: in a sparse matrix times a vector as large as the last cache. Where all is near, both take as long. LLVM,
which counts instructions, folds a load that is used once; `llvm.arithmetic.fence` keeps it from that and is no instruction.
"""

from __future__ import annotations

from lend.ir import typed
from lend.ir.typed import Load, Region, Value
from lend.language.types import F32, F64, ScalarType


def gathered_loads(region: Region) -> frozenset[Load]:
    """The loads of a region's innermost sequential loops that are to stay apart."""
    found: set[Load] = set()
    for operation in region.operations:
        for inner in operation.regions:
            found |= gathered_loads(inner)
        if (
            isinstance(operation, typed.For)
            and any(_is_float(value) for value in operation.inits)
            and not _nested(operation.body)
        ):
            found |= _gathered(operation.body)
    return frozenset(found)


def _is_float(value: Value) -> bool:
    return isinstance(value.type, ScalarType) and value.type in (F32, F64)


def _nested(region: Region) -> bool:
    return any(
        isinstance(operation, typed.For | typed.While) or any(map(_nested, operation.regions)) for operation in region.operations
    )


def _gathered(body: Region) -> set[Load]:
    found: set[Load] = set()
    loaded: set[Value] = set()  # what is loaded in an iteration, and what is computed from that

    def visit(region: Region) -> None:
        for operation in region.operations:
            if isinstance(operation, Load) and _is_float(operation.result) and not loaded.isdisjoint(operation.indices):
                found.add(operation)
            if isinstance(operation, Load) or not loaded.isdisjoint(operation.operands):
                loaded.update(operation.results)
            for inner in operation.regions:
                visit(inner)

    visit(body)
    return found
