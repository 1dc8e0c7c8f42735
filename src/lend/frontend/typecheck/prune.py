"""Removes what checking left behind: values that nothing reads.

Does: drop operations without effect whose results are unused, and unused results of branches and calls.
Does not: change what a kernel does: stores, faults and loops stay.
Invariants: operations that can fault are effects.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from lend.ir import typed
from lend.ir.typed import Operation, Region, Value


def prune(region: Region, keep: Iterable[Value] = ()) -> Region:
    """The region without dead operations; values in `keep` are read by others."""
    live: set[Value] = set(keep)
    return _region(region, live)


def _region(region: Region, live: set[Value]) -> Region:
    live.update(region.yields)
    kept: list[Operation] = []
    for operation in reversed(region.operations):
        pruned = _operation(operation, live)
        if pruned is not None:
            kept.append(pruned)
    return Region(region.parameters, tuple(reversed(kept)), region.yields)


def _operation(operation: Operation, live: set[Value]) -> Operation | None:
    match operation:
        case typed.If():
            return _branch(operation, live)
        case typed.Call():
            return _call(operation, live)
        case typed.For() | typed.Parallel() | typed.Blocks() | typed.Threads():
            kept = replace(operation, body=_region(operation.body, live))
        case typed.While():
            kept = replace(operation, condition=_region(operation.condition, live), body=_region(operation.body, live))
        case _:
            if _pure(operation) and not any(result in live for result in operation.results):
                return None
            kept = operation
    live.update(kept.operands)
    return kept


def _branch(operation: typed.If, live: set[Value]) -> Operation | None:
    used = [k for k, result in enumerate(operation.results) if result in live]
    then, orelse = (Region((), r.operations, tuple(r.yields[k] for k in used)) for r in (operation.then, operation.orelse))
    then, orelse = _region(then, live), _region(orelse, live)
    if not used and not then.operations and not orelse.operations:
        return None
    live.add(operation.condition)
    return replace(operation, results=tuple(operation.results[k] for k in used), then=then, orelse=orelse)


def _call(operation: typed.Call, live: set[Value]) -> Operation | None:
    used = [k for k, result in enumerate(operation.results) if result in live]
    body = _region(
        Region(operation.body.parameters, operation.body.operations, tuple(operation.body.yields[k] for k in used)), live
    )
    lent = {loan.argument for loan in operation.loans}
    needed = [k for k, parameter in enumerate(body.parameters) if parameter in live or k in lent]
    if not used and not body.operations and not lent:
        return None
    loans = tuple(replace(loan, argument=needed.index(loan.argument)) for loan in operation.loans)
    arguments = tuple(operation.arguments[k] for k in needed)
    live.update(arguments)
    body = Region(tuple(body.parameters[k] for k in needed), body.operations, body.yields)
    return replace(operation, results=tuple(operation.results[k] for k in used), arguments=arguments, body=body, loans=loans)


def _pure(operation: Operation) -> bool:
    match operation:
        case typed.Constant() | typed.Unary() | typed.Math() | typed.Cast() | typed.Size() | typed.Local() | typed.Shared():
            return True
        case typed.Binary() | typed.Load() | typed.View():
            return operation.site is None
        case _:
            return False
