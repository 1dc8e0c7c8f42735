"""Which parallel loops can end up without a loop inside, so that they are vectorised.

Does: look for sequential loops that will be unrolled whole, and for what stands in the way.  Does not: prove anything.
Invariants: a guess, for whether a question is worth asking: no code may rest on the answer.
"""

from __future__ import annotations

from lend.ir import typed
from lend.ir.typed import Region, Value

UNROLLED = 32
"""Iterations of a sequential loop that is unrolled whole."""


def innermost(operation: typed.Parallel, constants: dict[Value, int]) -> bool:
    """Whether the loop has, once short loops inside are unrolled, no loop inside and no private memory."""
    return not operation.reductions and _straight(operation.body, constants)


def integer_constants(region: Region) -> dict[Value, int]:
    """The integers that stand in a region and those inside."""
    found: dict[Value, int] = {}
    for operation in region.operations:
        match operation:
            case typed.Constant(result=result, value=value) if isinstance(value, int):
                found[result] = int(value)
            case typed.Cast(result=result, operand=operand) if operand in found:
                found[result] = found[operand]
            case _:
                for inner in operation.regions:
                    found |= integer_constants(inner)
    return found


def _straight(region: Region, constants: dict[Value, int]) -> bool:
    for operation in region.operations:
        if isinstance(operation, typed.While | typed.Local):
            return False
        if isinstance(operation, typed.For) and not _short(operation.extent, constants):
            return False
        if not all(_straight(inner, constants) for inner in operation.regions):
            return False
    return True


def _short(extent: typed.Extent, constants: dict[Value, int]) -> bool:
    lower, upper, step = (constants.get(value) for value in (extent.lower, extent.upper, extent.step))
    if lower is None or upper is None or not step:
        return False
    return len(range(max(lower, -(1 << 40)), min(upper, 1 << 40), step)) <= UNROLLED
