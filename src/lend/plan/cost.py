"""How much work one iteration of a parallel loop is, roughly, in simple operations.

Does: count operations, loops weighted by their trip count.  Does not: look at run-time values or at the machine, so that chunks,
and with them everything a program can observe, are the same everywhere.
Invariants: a cost is at least 1.

Example: `y[i] += a * x[i]` costs 4 (two loads, a multiplication, an addition) plus 1 (a store).
"""

from __future__ import annotations

from lend.ir.typed import (
    Binary,
    Cast,
    Constant,
    Extent,
    For,
    If,
    Load,
    Local,
    Math,
    Operation,
    Region,
    Size,
    Store,
    Unary,
    Value,
    While,
)  # fmt: skip

UNKNOWN_TRIPS = 16
"""What a loop of unknown length counts as."""
MATH_COST = 20
DIVISION_COST = 8
LARGEST = 1 << 40


def cost_of(region: Region, constants: dict[Value, int]) -> int:
    """The cost of one run of `region`. `constants` are the known integers; those defined inside are added."""
    return max(1, min(_region(region, constants), LARGEST))


def _region(region: Region, constants: dict[Value, int]) -> int:
    return sum(_operation(operation, constants) for operation in region.operations)


def _operation(operation: Operation, constants: dict[Value, int]) -> int:
    match operation:
        case Constant(result=result, value=value):
            if isinstance(value, int):
                constants[result] = int(value)
            return 0
        case Cast(result=result, operand=operand):
            if operand in constants and result.scalar.is_integer:
                constants[result] = constants[operand]  # only used to weigh: a wrapped value would weigh a little wrong
            return 1
        case Size():
            return 0
        case Load() | Store() | Unary():
            return 1
        case Binary(operator=operator):
            return {"floordiv": DIVISION_COST, "mod": DIVISION_COST, "div": DIVISION_COST, "pow": MATH_COST}.get(operator, 1)
        case Math():
            return MATH_COST
        case Local(sizes=sizes):
            elements = 1
            for size in sizes:
                elements *= size
            return 1 + elements // 8
        case If(then=then, orelse=orelse):
            return 1 + max(_region(then, constants), _region(orelse, constants))
        case For(extent=extent, body=body):
            return 1 + _trips(extent, constants) * (1 + _region(body, constants))
        case While(condition=condition, body=body):
            return 1 + UNKNOWN_TRIPS * (_region(condition, constants) + _region(body, constants))
        case _:
            return 1 + sum(_region(inner, constants) for inner in operation.regions)


def _trips(extent: Extent, constants: dict[Value, int]) -> int:
    """The constant trip count of a loop, or the guess."""
    bounds = [constants.get(value) for value in (extent.lower, extent.upper, extent.step)]
    lower, upper, step = bounds
    if lower is None or upper is None or step is None or step == 0:
        return UNKNOWN_TRIPS
    return len(range(lower, upper, step)) if abs(upper - lower) < LARGEST else LARGEST
