"""Blocks of threads -> loops that a processor runs: a block is an iteration, its threads are loops inside.

Does: rewrite each `Blocks` as a `Parallel` whose body is what the block does, in order: scalar operations, and a loop over the
threads for each piece of their code between barriers.
Does not: prove anything (`checks/`), or cut threads' code (`pieces.py`, `fission.py`).
Invariants: loops outside of `Blocks` stay the same objects. What a block shares, and what its threads keep across barriers, are
arrays that are made at the start of its body, of any content.

Example: the tiled product of matrices becomes, for each block, a loop that clears the sums of all threads, then for each tile one
loop that loads and one that multiplies, and at last one that stores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from lend.diagnostics.errors import DeviceError
from lend.ir import typed
from lend.ir.typed import Extent, Kernel, Operation, Region, Value
from lend.language.types import INDEX, Borrow, ElementType, Layout, ScalarType, array_type, size_of
from lend.schedule.contributions import apart
from lend.schedule.fission import Fission
from lend.schedule.innermost import integer_constants
from lend.schedule.interior import with_interiors
from lend.schedule.narrowing import narrowed
from lend.schedule.operations import OperationWriter
from lend.schedule.pieces import dissolved

MOST_BYTES = 1 << 24
"""Memory of a block: on a processor, more than any device has for what its threads share."""


Write = Callable[[typed.Blocks], typed.Parallel]
"""What stands in the place of a loop over blocks."""


def teams(kernel: Kernel) -> Kernel:
    """The kernel with loops in the place of blocks."""
    return with_blocks(kernel, lambda blocks: _Block(blocks).written())


def with_blocks(kernel: Kernel, write: Write, *, anywhere: bool = False) -> Kernel:
    """The kernel with what `write` makes of each `Blocks`; reductions over blocks are loops of their own then (`anywhere`: all of
    them, else those over blocks that are plainly numbered)."""
    if not _has_blocks(kernel.body):
        return kernel
    return replace(kernel, body=_host(kernel.body, integer_constants(kernel.body), write, anywhere))


def _has_blocks(region: Region) -> bool:
    return any(
        isinstance(operation, typed.Blocks) or any(_has_blocks(inner) for inner in operation.regions)
        for operation in region.operations
    )


def _host(region: Region, constants: dict[Value, int], write: Write, anywhere: bool) -> Region:
    operations = tuple(new for operation in region.operations for new in _operation(operation, constants, write, anywhere))
    return Region(region.parameters, operations, region.yields)


def _operation(operation: Operation, constants: dict[Value, int], write: Write, anywhere: bool) -> list[Operation]:
    if not any(_has_blocks(region) for region in operation.regions) and not isinstance(operation, typed.Blocks):
        return [operation]

    def host(region: Region) -> Region:
        return _host(region, constants, write, anywhere)

    match operation:
        case typed.Blocks():
            before, loop, after = apart(operation, constants, anywhere=anywhere) or ([], operation, [])
            return [*before, write(loop), *after]
        case typed.If(then=then, orelse=orelse):
            return [replace(operation, then=host(then), orelse=host(orelse))]
        case typed.For(body=body) | typed.Call(body=body):
            return [replace(operation, body=host(body))]
        case typed.While(condition=condition, body=body):
            return [replace(operation, condition=host(condition), body=host(body))]
        case _:
            return [operation]


class _Block:
    """Rewrites one `Blocks`."""

    def __init__(self, blocks: typed.Blocks) -> None:
        self._blocks = blocks
        self._arrays: list[typed.Local] = []

    def written(self) -> typed.Parallel:
        """The loop over blocks."""
        blocks = self._blocks
        region = dissolved(blocks.body, {})
        inner = self._region(region)
        bytes = sum(size_of(o.result.array.element) * prod(o.sizes) for o in self._arrays)
        if bytes > MOST_BYTES:
            raise DeviceError(
                f"line {blocks.span.line}: a block needs {bytes:,} bytes for what its threads share and keep across barriers, "
                f"and the processor gives it {MOST_BYTES:,}"
            )
        body = Region(region.parameters, (*self._arrays, *inner.operations), inner.yields)
        body = with_interiors(narrowed(body, {}), {})
        return typed.Parallel(
            blocks.span,
            blocks.results,
            blocks.box,
            blocks.reductions,
            body,
            blocks.site,
            independent=blocks.independent,
            fallback=blocks.fallback,
            team=True,
        )

    def _make(self, element: ElementType, sizes: Sequence[int], name: str | None) -> Value:
        """An array of the block."""
        result = Value(array_type(element, len(sizes), Borrow.OWNED, Layout.C), self._blocks.span, name)
        self._arrays.append(typed.Local(self._blocks.span, result, tuple(sizes), zeroed=False))
        return result

    def _region(self, region: Region) -> Region:
        operations = [new for operation in region.operations for new in self._operation(operation)]
        return Region(region.parameters, tuple(operations), region.yields)

    def _operation(self, operation: Operation) -> list[Operation]:
        match operation:
            case typed.Shared(result=result, sizes=sizes):
                self._arrays.append(typed.Local(operation.span, result, sizes, zeroed=False))
                return [] if result.array.borrow is not Borrow.ATOMIC else _cleared(operation)
            case typed.Threads():
                return Fission(operation, self._make, self._blocks.independent, self._blocks.fallback).write()
            case typed.If(then=then, orelse=orelse):
                return [replace(operation, then=self._region(then), orelse=self._region(orelse))]
            case typed.For(body=body):
                return [replace(operation, body=self._region(body))]
            case typed.While(condition=condition, body=body):
                return [replace(operation, condition=self._region(condition), body=self._region(body))]
            case _:
                return [operation]


def _cleared(operation: typed.Shared) -> list[Operation]:
    """Zeros in an array that threads will change by atomic operations."""
    host = OperationWriter(operation.span)
    box: list[Extent] = [host.extent(size) for size in operation.sizes]
    indices = tuple(Value(INDEX, operation.span) for _ in operation.sizes)
    inner = OperationWriter(operation.span)
    element = operation.result.array.element
    assert isinstance(element, ScalarType)
    old, zero = Value(element, operation.span), inner.zero(element)
    inner.operations.append(typed.Atomic(operation.span, old, "store", operation.result, indices, zero, None, "relaxed", None))
    body = Region(indices, tuple(inner.operations), ())
    if prod(operation.sizes):
        host.operations.append(typed.Parallel(operation.span, (), tuple(box), (), body, None, independent=True))
    return host.operations
