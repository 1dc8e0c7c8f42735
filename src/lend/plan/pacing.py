"""Loops over memory that are held back, because then they are quicker.

Does: find loops that sum up, or multiply, what they read along the rows of one array, and little else.
Does not: hold them back (`lower/tiles/loops.py`).
Invariants: a choice about speed only: what is computed, and in which order, is the same.

Why: a sum in several vectors asks for elements as quickly as the processor can keep requests in mind, and these then stand in the
way of the lines that it would fetch on its own. A sum that waits for each addition before the next asks for less at a time, and
gets more: on Zen 4 a tenth, for f32. In the caches it would be slower, so that only launches that exceed them are held back. With
two arrays there is nothing to gain.
"""

from __future__ import annotations

from lend.ir import typed
from lend.ir.typed import Load, Parallel, Region, Store, Value
from lend.language.types import F32, F64, Layout, size_of
from lend.plan.tiling import Tiling
from lend.plan.variation import Variations

MOST = 8
"""Of bodies of more operations, arithmetic is in the way already."""


def paced_bytes(parallel: Parallel, variations: Variations, tiling: Tiling | None) -> int | None:
    """The bytes that an iteration of such a loop reads; None if it is another one."""
    if tiling is None or not tiling.by_row or tiling.lanes == 1 or len(parallel.reductions) != 1:
        return None
    (reduction,), body = parallel.reductions, parallel.body
    simple = reduction.operator in ("add", "mul") and reduction.inits[0].type in (F32, F64) and len(reduction.inits) == 1
    if not simple or len(body.operations) > MOST or any(_other(body, operation) for operation in body.operations):
        return None
    arrays: dict[Value, None] = {}
    for operation in body.operations:
        if isinstance(operation, Load) and _along_rows(operation, variations, tiling):
            arrays[operation.array] = None
    return size_of(next(iter(arrays)).array.element) if len(arrays) == 1 else None


def _other(body: Region, operation: typed.Operation) -> bool:
    """Whether something is done that is neither arithmetic nor a load of what stands outside."""
    made = {result for inner in body.operations for result in inner.results}
    return isinstance(operation, Store) or bool(operation.regions) or (isinstance(operation, Load) and operation.array in made)


def _along_rows(load: Load, variations: Variations, tiling: Tiling) -> bool:
    """Whether neighbouring iterations read neighbouring elements."""
    if load.array.array.layout is not Layout.C or load.path or variations.of(load.array)[tiling.vector] != 0:
        return False
    entries = [variations.of(index)[tiling.vector] for index in load.indices]
    return entries[-1] == 1 and all(entry == 0 for entry in entries[:-1])
