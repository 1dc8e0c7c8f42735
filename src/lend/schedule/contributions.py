"""What blocks of threads contribute to reductions is kept in arrays, which a second loop reduces.

Does: split a loop over blocks that reduces into one that stores a value per block, and one over the same box that combines them.
Does not: look at boxes whose bounds are not plainly `0..n`, unless it is asked to: numbering their blocks costs a division each.
Invariants: the tree of a reduction goes over the positions of the blocks, as before: the result has the same bits.

Why: a loop that reduces is cut at multiples of 2048 iterations, which are few pieces where an iteration is a whole block.
"""

from __future__ import annotations

from dataclasses import replace

from lend.diagnostics.records import dataclass
from lend.ir import typed
from lend.ir.typed import Extent, Operation, Region, Value
from lend.language.abi import NO_SITE
from lend.language.reduction import identity
from lend.language.types import INDEX, U64, Borrow, Layout, array_type
from lend.schedule.operations import OperationWriter
from lend.schedule.pieces import dissolved


def apart(
    blocks: typed.Blocks, constants: dict[Value, int], *, anywhere: bool = False
) -> tuple[list[Operation], typed.Blocks, list[Operation]] | None:
    """What stands before the loop over blocks, the loop, and what stands after it; None if it stays as it is.

    anywhere: also where blocks are not numbered from 0 in steps of 1.
    """
    plain = [constants.get(e.lower) == 0 and constants.get(e.step) == 1 for e in blocks.box]
    if not blocks.reductions or not (anywhere or all(plain)):
        return None
    count = len(blocks.box)
    before = OperationWriter(blocks.span)
    axes = [
        _Axis(before.binary("max", before.cast(extent.upper, INDEX), before.index(0))) if simple else _axis(before, extent)
        for extent, simple in zip(blocks.box, plain, strict=True)
    ]
    sizes = tuple(axis.count for axis in axes)
    inits = [init for reduction in blocks.reductions for init in reduction.inits]
    arrays = [_array(before, init, sizes) for init in inits]
    body = OperationWriter(blocks.span)
    start: dict[Value, Value] = {}
    position = count
    for reduction in blocks.reductions:
        for init in reduction.inits:
            first = before.constant(identity(reduction.operator, init.scalar), init.scalar)
            start[blocks.body.parameters[position]] = first
            position += 1
    indices = blocks.body.parameters[:count]
    body.operations += blocks.body.operations
    stores = OperationWriter(blocks.span)
    numbers = tuple(axis.number(stores, index) for axis, index in zip(axes, indices, strict=True))
    for array, value in zip(arrays, blocks.body.yields, strict=True):
        stores.store(array, numbers, start.get(value, value))
    body.operations += stores.operations
    loop = replace(blocks, results=(), reductions=(), body=dissolved(Region(indices, tuple(body.operations), ()), start))
    places = tuple(Value(INDEX, index.span, index.name) for index in indices)
    fresh = tuple(Value(init.type, blocks.span, init.name) for init in inits)
    inner = OperationWriter(blocks.span)
    yields = tuple(inner.load(array, places) for array in arrays)
    region = Region((*places, *fresh), tuple(inner.operations), yields)
    zero, one = before.index(0), before.index(1)
    box = tuple(Extent(zero, size, one) for size in sizes)
    combined = typed.Parallel(blocks.span, blocks.results, box, blocks.reductions, region, None, independent=True)
    return before.operations, loop, [combined]


@dataclass(frozen=True)
class _Axis:
    """A dimension of the box: how many blocks it has; where it begins, whether it goes up, and the size of its steps as a u64,
    which is not 0. None: from 0 by 1."""

    count: Value
    lower: Value | None = None
    upward: Value | None = None
    size: Value | None = None

    def number(self, writer: OperationWriter, index: Value) -> Value:
        """How many blocks stand before an index."""
        lower, upward, size = self.lower, self.upward, self.size
        if lower is None or upward is None or size is None:
            return index
        way = writer.select(upward, lambda inner: inner.binary("sub", index, lower), writer.binary("sub", lower, index))
        return writer.cast(writer.binary("floordiv", writer.cast(way, U64), size), INDEX)


def _axis(writer: OperationWriter, extent: Extent) -> _Axis:
    """Of any bounds, as far apart as i64 can be. A step of 0, at which the loop itself fails, counts as 1; more blocks than an
    i64 counts are as many as no memory holds, so that making the array fails."""
    lower, upper, step = (writer.cast(value, INDEX) for value in (extent.lower, extent.upper, extent.step))
    zero, one = writer.index(0), writer.index(1)
    step = writer.select(writer.binary("eq", step, zero), lambda _: one, step)
    upward = writer.binary("gt", step, zero)
    first, last = writer.select(upward, lambda _: lower, upper), writer.select(upward, lambda _: upper, lower)
    size = writer.cast(writer.select(upward, lambda _: step, writer.binary("sub", zero, step)), U64)
    beyond = writer.cast(writer.binary("sub", writer.binary("sub", last, first), one), U64)
    count = writer.binary("add", writer.cast(writer.binary("floordiv", beyond, size), INDEX), one)
    count = writer.select(writer.binary("lt", count, one), lambda inner: inner.index((1 << 63) - 1), count)
    some = writer.binary("lt", first, last)
    return _Axis(writer.select(some, lambda _: count, zero), lower, upward, size)


def _array(writer: OperationWriter, init: Value, sizes: tuple[Value, ...]) -> Value:
    """An array for what each block contributes."""
    array = Value(array_type(init.scalar, len(sizes), Borrow.OWNED, Layout.C), writer.span, init.name)
    writer.operations.append(typed.Allocate(writer.span, array, sizes, NO_SITE, NO_SITE, zeroed=False))
    return array
