"""Which integers and conditions proofs could need.

Does: find the values that subscripts, sizes, loop bounds, guards and divisors depend on.  Does not: evaluate them.
Invariants: what is left out may be taken as unknown at any time; leaving too little out costs time only.
"""

from __future__ import annotations

from collections.abc import Iterator

from lend.ir import typed
from lend.ir.typed import Operation, Region, Value


def relevant(kernel: typed.Kernel) -> set[Value]:
    """All values that an obligation could depend on."""
    needed: set[Value] = set(kernel.contracts.yields)
    needed.update(p.index[1] for p in kernel.parameters if p.index is not None and isinstance(p.index[1], Value))
    needed.update(size for parameter in kernel.parameters for size in parameter.sizes if isinstance(size, Value))
    sources: dict[Value, list[Value]] = {}
    for region in (kernel.contracts, kernel.body):
        for operation in _all(region):
            needed.update(_asked(operation))
            _connect(operation, sources)
    pending = list(needed)
    while pending:
        for source in sources.get(pending.pop(), ()):
            if source not in needed:
                needed.add(source)
                pending.append(source)
    return needed


def _all(region: Region) -> Iterator[Operation]:
    for operation in region.operations:
        yield operation
        for inner in operation.regions:
            yield from _all(inner)


def _asked(operation: Operation) -> Iterator[Value]:
    """What an operation asks of its operands by itself."""
    match operation:
        case typed.Load() | typed.Store() | typed.Atomic():
            yield from operation.indices
        case typed.View():
            yield from operation.operands[1:]
        case typed.Allocate() | typed.Reshape():
            yield from operation.sizes
        case typed.Require():
            yield operation.condition
            if operation.facts is not None:
                yield operation.facts[2]
        case typed.Binary() if operation.site is not None:
            yield operation.right
        case typed.For():
            yield from (operation.extent.lower, operation.extent.upper, operation.extent.step)
        case typed.Parallel() | typed.Blocks():
            for extent in operation.box:
                yield from (extent.lower, extent.upper, extent.step)
        case typed.While():
            yield operation.condition.yields[0]
        case typed.If() if any(map(_matters, (*operation.then.operations, *operation.orelse.operations))):
            yield operation.condition
        case _:
            return


def _matters(operation: Operation) -> bool:
    """Whether it matters under which condition an operation happens."""
    match operation:
        case typed.Constant() | typed.Unary() | typed.Math() | typed.Cast() | typed.Size():
            return False
        case typed.Binary():
            return operation.site is not None
        case typed.If() | typed.Call():
            return any(_matters(inner) for region in operation.regions for inner in region.operations)
        case _:
            return True


def _connect(operation: Operation, sources: dict[Value, list[Value]]) -> None:
    """Note what an operation's results, and its regions' parameters, are made from."""
    match operation:
        case typed.If():
            for result, a, b in zip(operation.results, operation.then.yields, operation.orelse.yields, strict=True):
                sources[result] = [operation.condition, a, b]
        case typed.Call():
            for parameter, argument in zip(operation.body.parameters, operation.arguments, strict=True):
                sources[parameter] = [argument]
            for result, value in zip(operation.results, operation.body.yields, strict=True):
                sources[result] = [value]
        case typed.For() | typed.While():
            carried = operation.body.parameters[1:] if isinstance(operation, typed.For) else operation.body.parameters
            yields = operation.body.yields[1:] if operation.stops else operation.body.yields
            for position, (parameter, init, value) in enumerate(zip(carried, operation.inits, yields, strict=True)):
                sources[parameter] = [init, value]
                sources[operation.results[position]] = [init, value]
                if isinstance(operation, typed.While):
                    sources[operation.condition.parameters[position]] = [parameter, init, value]
        case typed.Parallel() | typed.Blocks() | typed.Threads():
            return
        case _:
            for result in operation.results:
                sources[result] = list(operation.operands)
