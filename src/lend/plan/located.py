"""Reductions that look for a place: `best = min(best, (x[i], i))`.

Does: say which reductions of a loop take, in every iteration, a pair of some value and the loop's index.
Does not: write them (`lower/reductions.py`), where equal values need no comparison of places: later iterations have larger ones.
Invariants: a reduction that is found has one dimension, steps upwards, and each iteration gives its pair, whatever it is.
"""

from __future__ import annotations

from lend.ir.typed import Binary, Cast, If, Math, Operation, Parallel, Unary, Value
from lend.language.types import I64
from lend.plan.variation import Variations

_COMPARES = frozenset(("lt", "le", "gt", "ge", "eq", "ne", "and", "or"))


def located(parallel: Parallel, variations: Variations) -> tuple[bool, ...]:
    """For each reduction whether it is one."""
    step = variations.constant(parallel.box[0].step)
    if len(parallel.box) != 1 or step is None or step < 1:
        return (False,) * len(parallel.reductions)
    made: dict[Value, Operation] = {result: o for o in parallel.body.operations for result in o.results}
    found: list[bool] = []
    position = 0
    for reduction in parallel.reductions:
        count = len(reduction.inits)
        before = parallel.body.parameters[1 + position : 1 + position + count]
        after = parallel.body.yields[position : position + count]
        found.append(count == 2 and _takes_a_pair(parallel.body.parameters[0], before, after, made))
        position += count
    return tuple(found)


def _takes_a_pair(index: Value, before: tuple[Value, ...], after: tuple[Value, ...], made: dict[Value, Operation]) -> bool:
    """Whether `after` is the better of `before` and a pair of something and the index, and nothing else decides."""
    choice = made.get(after[0])
    if not isinstance(choice, If) or choice.results != after or choice.then.operations or choice.orelse.operations:
        return False
    what, where = choice.then.yields
    cast = made.get(where)
    same = isinstance(cast, Cast) and cast.operand is index and cast.result.scalar is I64
    if choice.orelse.yields != before or not (same or where is index):
        return False
    return _only_compares(choice.condition, {what, where, *before}, made)


def _only_compares(value: Value, of: set[Value], made: dict[Value, Operation]) -> bool:
    """Whether a condition is made of comparisons of these values: it is then the one of `min` or `max`."""
    if value in of:
        return True
    match operation := made.get(value):
        case Binary(operator=operator):
            compares = operator in _COMPARES
        case Unary(operator=operator):
            compares = operator == "not"
        case Math(function=function):
            compares = function == "isnan"
        case _:
            return False
    return compares and all(_only_compares(operand, of, made) for operand in operation.operands)
