"""Barriers after branches and loops that hold barriers and of which nobody knows beforehand how they go.

Does: find those of a model, and write a kernel that has a barrier after each.  Does not: decide whether threads get there
together.
Invariants: a kernel that has them is left as it is; the new barriers are marked as `inserted`.

Why: the threads of a block leave `while changed: ...; lend.sync(); ...` together, but whether it had an iteration, and so whether
a barrier lies between what stands before and after it, is known at run time only. With a barrier after it, one does.
"""

from __future__ import annotations

from dataclasses import replace

from lend.ir import typed
from lend.ir.typed import Operation, Region
from lend.model.records import Model


def unguarded(model: Model) -> set[int]:
    """The branches and loops, by identity, that hold a barrier, have no known course, and no barrier after them."""
    around = (c for barrier in model.barriers if barrier.of_block for c in barrier.scope.controls)
    return {id(c.operation) for c in around if c.opaque and id(c.operation) not in model.closed}


def with_exit_barriers(kernel: typed.Kernel, operations: set[int]) -> typed.Kernel:
    """The kernel with a barrier after each of these operations."""
    return replace(kernel, body=_region(kernel.body, operations))


def _region(region: Region, operations: set[int]) -> Region:
    made: list[Operation] = []
    for operation in region.operations:
        made.append(_inside(operation, operations))
        if id(operation) in operations:
            made.append(typed.Sync(operation.span, inserted=True))
    if all(a is b for a, b in zip(made, region.operations, strict=False)) and len(made) == len(region.operations):
        return region
    return Region(region.parameters, tuple(made), region.yields)


def _inside(operation: Operation, operations: set[int]) -> Operation:
    match operation:
        case typed.If():
            then, orelse = _region(operation.then, operations), _region(operation.orelse, operations)
            if then is operation.then and orelse is operation.orelse:
                return operation
            return replace(operation, then=then, orelse=orelse)
        case typed.For() | typed.While() | typed.Call() | typed.Blocks() | typed.Threads():
            body = _region(operation.body, operations)
            return operation if body is operation.body else replace(operation, body=body)
        case _:
            return operation
