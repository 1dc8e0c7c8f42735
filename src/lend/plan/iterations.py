"""How many iterations a kernel runs, where its sizes alone decide.

Does: bound the trip counts of parallel loops by sizes.  Does not: weigh their work (`cost.py`).
Invariants: None for a kernel whose running time depends on more: other loops, scalars, data.

Example: for `for i, j in lend.grid((1, N - 1), M)` with the sizes N and M: `(((0, -1), (1, 0)),)`.
"""

from __future__ import annotations

from lend.ir.typed import Binary, Blocks, Constant, Distinct, For, Kernel, Operation, Parallel, Region, Value, While

Bound = tuple[int | None, int]
"""At most `dims[position] + constant`; just the constant, if the position is None."""

_MOST_EXTENTS = 6


def iteration_bounds(kernel: Kernel) -> tuple[tuple[Bound, ...], ...] | None:
    """Per parallel loop, bounds of its extents' trip counts; None if something else decides how long the kernel runs."""
    operations = list(_operations(kernel.body))
    if any(isinstance(operation, (Blocks, Distinct, For, While)) for operation in operations):
        return None
    made: dict[Value, Operation] = {result: operation for operation in operations for result in operation.results}
    loops: list[tuple[Bound, ...]] = []
    for operation in operations:
        if not isinstance(operation, Parallel):
            continue
        bounds: list[Bound] = []
        for extent in operation.box:
            lower, upper, step = (_bound(value, kernel, made) for value in (extent.lower, extent.upper, extent.step))
            if upper is None or lower is None or step is None or lower[0] is not None or step[0] is not None:
                return None
            if lower[1] < 0 or step[1] < 1:
                return None
            bounds.append(upper)
        if len(bounds) > _MOST_EXTENTS:
            return None
        loops.append(tuple(bounds))
    return tuple(loops)


def _operations(region: Region) -> list[Operation]:
    """All operations of a region and of those inside."""
    found: list[Operation] = []
    for operation in region.operations:
        found.append(operation)
        for inner in operation.regions:
            found += _operations(inner)
    return found


def _bound(value: Value, kernel: Kernel, made: dict[Value, Operation]) -> Bound | None:
    if value in kernel.dims:
        return kernel.dims.index(value), 0
    operation = made.get(value)
    if isinstance(operation, Constant) and type(operation.value) is int and abs(operation.value) < 1 << 32:
        return None, operation.value
    if isinstance(operation, Binary) and operation.operator in ("add", "sub"):
        left, right = _bound(operation.left, kernel, made), _bound(operation.right, kernel, made)
        if left is not None and right is not None and right[0] is None:
            return left[0], left[1] + (right[1] if operation.operator == "add" else -right[1])
    return None
