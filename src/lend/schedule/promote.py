"""Elements that a sequential loop only updates are carried in a register, and stored once after it.

Does: rewrite `for d in …: y[i] += …` inside parallel loops as a value that the loop carries.
Does not: move anything else; elements of which it is not plain that nothing else in the loop touches them stay where they are.
Invariants: an element is read and written only if the loop runs at least once, as in the text; what the loop computes, and in
which order, stays the same.

Example: `for d in range(D): y[i] += a[i, d]` reads y[i], adds to a variable D times, and writes y[i].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lend.ir import typed
from lend.ir.typed import Load, Operation, Region, Store, Value
from lend.language.types import BOOL_


def promote(kernel: typed.Kernel) -> typed.Kernel:
    """The kernel with elements carried where that can be seen to be the same."""
    apart = {parameter.value for parameter in kernel.parameters}
    constants: dict[Value, int] = {}
    return replace(kernel, body=_host(kernel.body, apart, constants))


def _host(region: Region, apart: set[Value], constants: dict[Value, int]) -> Region:
    operations: list[Operation] = []
    for operation in region.operations:
        _note(operation, constants)
        match operation:
            case typed.Parallel():
                operations.append(replace(operation, body=_body(operation.body, apart, constants)))
            case typed.If():
                then, orelse = (_host(r, apart, constants) for r in (operation.then, operation.orelse))
                operations.append(replace(operation, then=then, orelse=orelse))
            case typed.For() | typed.Call():
                operations.append(replace(operation, body=_host(operation.body, apart, constants)))
            case typed.While():
                condition, body = (_host(r, apart, constants) for r in (operation.condition, operation.body))
                operations.append(replace(operation, condition=condition, body=body))
            case _:
                operations.append(operation)
    return Region(region.parameters, tuple(operations), region.yields)


def _note(operation: Operation, constants: dict[Value, int]) -> None:
    if isinstance(operation, typed.Constant) and isinstance(operation.value, int):
        constants[operation.result] = int(operation.value)


def _body(region: Region, apart: set[Value], constants: dict[Value, int]) -> Region:
    """The body of a parallel loop, or a region in it; the innermost loops first."""
    operations: list[Operation] = []
    for operation in region.operations:
        _note(operation, constants)
        match operation:
            case typed.If():
                then, orelse = (_body(r, apart, constants) for r in (operation.then, operation.orelse))
                operations.append(replace(operation, then=then, orelse=orelse))
            case typed.For():
                loop = replace(operation, body=_body(operation.body, apart, constants))
                operations += _loop(loop, apart, constants)
            case typed.While():
                condition, body = (_body(r, apart, constants) for r in (operation.condition, operation.body))
                operations.append(replace(operation, condition=condition, body=body))
            case _:
                operations.append(operation)
    return Region(region.parameters, tuple(operations), region.yields)


def _loop(loop: typed.For, apart: set[Value], constants: dict[Value, int]) -> Sequence[Operation]:
    """One loop, with what it updates carried."""
    step = constants.get(loop.extent.step, 0)
    pairs = _updated(loop, apart)
    if step == 0 or not pairs:
        return [loop]
    before: list[Operation] = []
    inits: list[Value] = []
    for load, store in pairs:
        first = Value(load.result.type, load.span, load.result.name)
        before.append(Load(load.span, first, store.array, store.indices, store.path, None))
        inits.append(first)
    drop = {id(operation) for pair in pairs for operation in pair}
    kept = tuple(operation for operation in loop.body.operations if id(operation) not in drop)
    body = Region(
        (*loop.body.parameters, *(load.result for load, _ in pairs)),
        kept,
        (*loop.body.yields, *(store.value for _, store in pairs)),
    )
    inner = tuple(Value(value.type, value.span, value.name) for value in loop.results)
    last = tuple(Value(load.result.type, load.span, load.result.name) for load, _ in pairs)
    carried = replace(loop, results=(*inner, *last), inits=(*loop.inits, *inits), body=body)
    after = [replace(store, value=value) for (_, store), value in zip(pairs, last, strict=True)]
    runs = Value(BOOL_, loop.span)
    bounds = (loop.extent.lower, loop.extent.upper)
    left, right = bounds if step > 0 else reversed(bounds)
    condition = typed.Binary(loop.span, runs, "lt", left, right)
    then = Region((), (*before, carried, *after), inner)
    return [condition, typed.If(loop.span, loop.results, runs, then, Region((), (), loop.inits))]


def _updated(loop: typed.For, apart: set[Value]) -> list[tuple[Load, Store]]:
    """Reads and writes of one element in each iteration, which nothing else in the loop can touch."""
    inside = _defined(loop.body)
    found: list[tuple[Load, Store]] = []
    accesses = _accesses(loop.body)
    if any(access.array not in apart for access in accesses):  # a view may be of any array
        return []
    if any(isinstance(access, typed.Atomic) for access in accesses):  # others may look at the elements when it has happened
        return []
    for position, operation in enumerate(loop.body.operations):
        if not isinstance(operation, Store) or operation.site is not None or operation.array in inside:
            continue
        if any(index in inside for index in operation.indices):
            continue
        same = [access for access in accesses if access.array is operation.array]
        loads = [access for access in same if isinstance(access, Load)]
        if len(same) != 2 or len(loads) != 1 or loads[0] not in loop.body.operations[:position]:
            continue
        load = loads[0]
        if load.site is None and load.indices == operation.indices and load.path == operation.path:
            found.append((load, operation))
    return found


def _accesses(region: Region) -> list[Load | Store | typed.Atomic]:
    found: list[Load | Store | typed.Atomic] = []
    for operation in region.operations:
        if isinstance(operation, Load | Store | typed.Atomic):
            found.append(operation)
        for inner in operation.regions:
            found += _accesses(inner)
    return found


def _defined(region: Region) -> set[Value]:
    found = set(region.parameters)
    for operation in region.operations:
        found.update(operation.results)
        for inner in operation.regions:
            found |= _defined(inner)
    return found
