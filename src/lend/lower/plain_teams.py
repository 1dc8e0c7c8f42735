"""The team level in plain Python: a `lend.threads` loop's body is a function, a coroutine if its threads wait for each other.

Does: make these functions, and the places where they yield.  Does not: run them (`plain_schedule.py`).
Invariants: a body and each device function that holds a barrier yields there, and who calls it yields from it.

Example: `lend.sync()` is `yield (3,)` where that barrier is number 3 of the kernel.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from lend.ir import typed
from lend.ir.typed import Region
from lend.lower.plain_expressions import call, literal, tuple_of
from lend.lower.plain_statements import Evaluate, Function

if TYPE_CHECKING:
    from lend.lower.plain_body import Body, Module


def has_barrier(region: Region) -> bool:
    """Whether threads of a block may wait for each other in a region."""
    return any(
        isinstance(operation, typed.Sync | typed.Subgroup)
        or (not isinstance(operation, typed.Threads) and any(map(has_barrier, operation.regions)))
        for operation in region.operations
    )


def meet(module: Module, operation: typed.Sync | typed.Subgroup, values: list[ast.expr]) -> ast.expr:
    """Where a thread waits: it yields the number of the place and what it gives."""
    meetings = module.expressions.meetings
    meetings.append(operation)
    return ast.Yield(tuple_of([literal(len(meetings) - 1), *values]))


def subgroup(body: Body, operation: typed.Subgroup) -> None:
    """An operation of a sub-group: what the schedule sends back is its result."""
    operands, _, depth = body.take(operation.operands, statement=not operation.results)
    expression = meet(body.module, operation, operands)
    if operation.results:
        body.produce(operation.results[0], expression, operation.span, True, depth)
    else:
        body.emit(Evaluate(operation.span, expression))


def threads(body: Body, operation: typed.Threads) -> None:
    """A loop over threads: a call of what runs its function for each of them."""
    module, span = body.module, operation.span
    operands, _, _ = body.take(operation.operands, statement=True)
    accumulators = body.accumulators(operation.reductions, operands, span)
    captured = module.captured(operation.body)
    function = thread_function(body, operation, captured)
    arguments = [
        ast.Name(function.internal, ast.Load()),
        literal(has_barrier(operation.body)),
        literal(operation.sizes),
        tuple_of(list(map(module.read, accumulators))),
        *map(module.read, captured),
    ]
    body.emit(Evaluate(span, call("threads", arguments)))
    body.end_reductions(operation, accumulators)


def thread_function(body: Body, operation: typed.Threads, captured: list[typed.Value]) -> Function:
    """The Python function of one thread: it has the name of the function that the loop stands in."""
    module, region = body.module, operation.body
    owner = module.owners[-1]
    function = module.function(owner.name, owner.filename, operation.span, (*region.parameters, *captured))
    function.loop = operation.span
    module.owners.append(function)
    function.statements = body.inner(region).give(region.yields, whole=bool(operation.reductions))
    module.owners.pop()
    return function
