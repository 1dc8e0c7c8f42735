"""Loops whose vectors go over rows of a matrix, one after the other, when each could go down a column.

Does: find parallel loops with one index and a sequential loop inside in which neighbouring iterations read neighbouring elements
of a row and each step the next row (sums of columns, a transposed matrix times a vector).  Does not: write code
(`lower/tiles/by_rows.py`).
Invariants: a choice about speed only. Nothing in such a loop is written before its sequential loop ends, so that any iteration
may take its steps whenever it likes; each takes them in their order.

Why: tiles that go down columns read a short piece of each row, from pages far apart, and wait for each. Row by row, memory is
read as it lies. What the iterations carry then has to go through a buffer in the first cache, once for `ROWS` rows.
"""

from __future__ import annotations

from lend.diagnostics.records import dataclass
from lend.ir import typed
from lend.ir.typed import Load, Operation, Parallel, Value
from lend.language.types import Layout, ScalarType, size_of
from lend.plan.tiling import Tiling
from lend.plan.variation import Variations

ROWS = 8
"""Rows that are read side by side."""
BUFFER = 1 << 14
"""Bytes of what iterations carry, at most."""
LONGEST = 12
"""Operations of a step, at most: it is written `ROWS` times."""
FEWEST = 2 * ROWS
"""With fewer steps, what is carried stays in registers."""

PURE = (typed.Constant, typed.Unary, typed.Binary, typed.Math, typed.Cast, typed.Size, Load)


@dataclass(frozen=True, eq=False)
class ByRows:
    """`loop`: the sequential loop; `before` and `after` it in the body; `loads`: those that read rows.

    `shared`: operations before the loop and in it whose result is the same for all iterations, as are their operands.
    """

    loop: typed.For
    before: tuple[Operation, ...]
    after: tuple[Operation, ...]
    loads: tuple[Load, ...]
    shared: frozenset[Operation]

    @property
    def arrays(self) -> tuple[Value, ...]:
        """The arrays whose rows are read."""
        return tuple(dict.fromkeys(load.array for load in self.loads))

    @property
    def width(self) -> int:
        """Iterations that the buffer holds: a multiple of every vector's lanes."""
        return BUFFER // sum(value.scalar.bytes for value in self.loop.inits) // 64 * 64


def find_by_rows(parallel: Parallel, variations: Variations, tiling: Tiling | None) -> ByRows | None:
    """How a loop goes over rows, if it does."""
    if tiling is None or tiling.lanes == 1 or not tiling.by_row or len(parallel.box) != 1 or parallel.reductions:
        return None
    operations = parallel.body.operations
    places = [number for number, operation in enumerate(operations) if isinstance(operation, typed.For)]
    if len(places) != 1:
        return None
    loop = operations[places[0]]
    assert isinstance(loop, typed.For)
    before, after = operations[: places[0]], operations[places[0] + 1 :]
    if not all(isinstance(operation, PURE) for operation in (*before, *loop.body.operations)):
        return None
    loads = _rows(loop, variations)
    if not loads or not _carries(loop, variations) or not _is_long(loop, variations):
        return None
    own = {parallel.body.parameters[0], *loop.body.parameters[1:]}  # what differs from iteration to iteration
    shared: set[Operation] = set()
    for operation in (*before, *loop.body.operations):
        if variations.of(operation.results[0]) == (0,) and own.isdisjoint(operation.operands):
            shared.add(operation)
        else:
            own.update(operation.results)
    if not own.isdisjoint((loop.extent.lower, loop.extent.upper, loop.extent.step)):
        return None
    return ByRows(loop, before, after, loads, frozenset(shared))


def _carries(loop: typed.For, variations: Variations) -> bool:
    """Whether all that goes from step to step is a number for each iteration, which memory holds as registers do."""
    types = [value.type for value in loop.inits]
    if (
        loop.stops
        or not types
        or not all(isinstance(type, ScalarType) and type.kind in ("float", "int", "uint") for type in types)
    ):
        return False
    if any(isinstance(type, ScalarType) and type.is_float and type.bytes < 4 for type in types):
        return False
    return all(variations.of(value) == (None,) for value in loop.body.parameters[1:])


def _is_long(loop: typed.For, variations: Variations) -> bool:
    """Whether all iterations take the same steps, of which there may be many, and each is short."""
    lower, upper, step = (variations.constant(value) for value in (loop.extent.lower, loop.extent.upper, loop.extent.step))
    if step is None or variations.length(loop.extent) != (0,) or variations.of(loop.body.parameters[0]) != (0,):
        return False
    if lower is not None and upper is not None and len(range(lower, upper, step)) < FEWEST:
        return False
    return len(loop.body.operations) <= LONGEST


def _rows(loop: typed.For, variations: Variations) -> tuple[Load, ...]:
    """The loads that read rows; none if another load of the loop goes along anything else from step to step."""
    step = loop.body.parameters[0]
    moving, found = {step}, list[Load]()
    for operation in loop.body.operations:
        if not isinstance(operation, Load):
            if not moving.isdisjoint(operation.operands):
                moving.update(operation.results)
            continue
        if variations.of(operation.result) == (0,):
            continue  # one element for all iterations
        type, last = operation.array.array, operation.indices[-1]
        whole = type.layout is Layout.C and isinstance(type.element, ScalarType) and not operation.path
        neighbours = variations.of(last) == (1,) and all(variations.of(index) == (0,) for index in operation.indices[:-1])
        if not whole or not neighbours or last in moving or size_of(type.element) > 8:
            return ()
        if moving.isdisjoint(operation.indices):
            continue  # the same in each step
        if sum(index is step for index in operation.indices) != 1 or len(moving.intersection(operation.indices)) != 1:
            return ()
        found.append(operation)
    return tuple(found)
