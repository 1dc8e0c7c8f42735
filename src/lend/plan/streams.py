"""Which stores of a parallel loop go past the caches when its arrays exceed them.

Does: find stores that write whole cache lines of arrays the loop does not read, and from how many iterations on that pays.
Does not: write them (`lower/tiles/`).
Invariants: a choice about speed only: what is stored, and where, is the same.

Why: an ordinary store first reads the line that it is going to overwrite, a third to a half of the traffic of a copy.
"""

from __future__ import annotations

from enum import Enum, auto

from lend.diagnostics.records import dataclass
from lend.ir import typed
from lend.ir.typed import Load, Operation, Parallel, Region, Store, Value
from lend.language.types import Layout, size_of
from lend.plan.cost import Work
from lend.plan.tiling import Tiling
from lend.plan.variation import Variations

LINE = 64
"""Bytes of a cache line."""
LONG = 5
"""Operations for each byte of a body that takes longer than memory does; one with loops inside does anyway."""
SHORTEST_RUN = 256
"""Along fewer iterations, lines that are not whole at both ends cost more than they save."""


@dataclass(frozen=True, eq=False)
class Streams:
    """`stores` go past the caches in launches whose iterations, at `bytes` each, exceed the last of them; `subscripts` makes the
    indices of each."""

    stores: tuple[Store, ...]
    subscripts: tuple[Operation, ...]
    bytes: int


class Unstreamed(Enum):
    """Why the stores of a loop go through the caches."""

    NOT_BY_ROW = auto()  # its tiles are not vectors along rows
    IN_WAVES = auto()  # what it writes is read soon, from the caches
    BY_ROWS = auto()  # what it writes is little beside the rows that it reads
    READS_NOTHING = auto()  # then nothing is gained
    READS_VIEWS = auto()  # which may be of the arrays that are written
    UPDATES = auto()  # it reads every array that it writes
    NOT_WHOLE_LINES = auto()  # not every iteration writes, or not one element after the other
    LONG = auto()  # memory keeps up with so long a body, whose code would stand twice


def find_streams(parallel: Parallel, variations: Variations, tiling: Tiling | None, work: Work) -> Streams | Unstreamed:
    """The streams of a tiled loop, or why it has none. `work`: of an iteration."""
    if tiling is None or not tiling.by_row or tiling.lanes == 1 or parallel.reductions:
        return Unstreamed.NOT_BY_ROW
    accesses = list(_accesses(parallel.body))
    read = {access.array for access in accesses if isinstance(access, Load)}
    if not read:
        return Unstreamed.READS_NOTHING
    if any(value not in _outside(parallel, read) for value in read):
        return Unstreamed.READS_VIEWS
    stores: list[Store] = []
    subscripts: dict[Operation, None] = {}
    for operation in parallel.body.operations:
        if not isinstance(operation, Store) or operation.array in read:
            continue
        if sum(access.array is operation.array for access in accesses) > 1 or not _whole_lines(operation, variations, tiling):
            continue
        needed = _needed(parallel.body, operation.indices)
        if needed is not None:
            stores.append(operation)
            subscripts |= dict.fromkeys(needed)
    if not stores:
        written = {access.array for access in accesses if isinstance(access, Store)}
        return Unstreamed.UPDATES if written <= read else Unstreamed.NOT_WHOLE_LINES
    arrays = {access.array for access in accesses if variations.of(access.array)[tiling.vector] == 0}
    bytes = sum(size_of(array.array.element) for array in arrays)
    if work.loops or work.operations > LONG * bytes:
        return Unstreamed.LONG
    order = {operation: number for number, operation in enumerate(parallel.body.operations)}
    return Streams(tuple(stores), tuple(sorted(subscripts, key=order.__getitem__)), bytes)


def _outside(parallel: Parallel, arrays: set[Value]) -> set[Value]:
    """Those of `arrays` that are not views made in the loop."""
    made = {result for operation in parallel.body.operations for result in operation.results}
    return {array for array in arrays if array not in made}


def _accesses(region: Region) -> list[Load | Store]:
    found: list[Load | Store] = []
    for operation in region.operations:
        if isinstance(operation, Load | Store):
            found.append(operation)
        for inner in operation.regions:
            found += _accesses(inner)
    return found


def _whole_lines(store: Store, variations: Variations, tiling: Tiling) -> bool:
    """Whether a tile writes whole lines, one after the other."""
    type = store.array.array
    if type.layout is not Layout.C or store.path or store.value.scalar.bytes * tiling.lanes * tiling.vectors % LINE:
        return False
    entries = [variations.of(index)[tiling.vector] for index in store.indices]
    return entries[-1] == 1 and all(entry == 0 for entry in entries[:-1])


def _needed(body: Region, values: tuple[Value, ...]) -> list[Operation] | None:
    """The operations of the body that make `values`; None if it takes more than arithmetic."""
    made = {result: operation for operation in body.operations for result in operation.results}
    found: dict[Operation, None] = {}
    todo = list(values)
    while todo:
        operation = made.get(todo.pop())
        if operation is None or operation in found:
            continue
        if not isinstance(operation, typed.Constant | typed.Unary | typed.Binary | typed.Cast | typed.Size):
            return None
        found[operation] = None
        todo += operation.operands
    return list(found)
