"""Whether linear expressions describe what a loop computes, or only its single iterations do.

Does: look for products, shifts, divisions and bits of the index and of what the loop carries, where proofs could need them.
Does not: unroll (`teams.py`).
Invariants: a wrong answer costs time or a proof, never soundness.

Example: `for d in range(5): ... t % (2 << d) ...` and `s *= 2` are not linear; `x[i * n + t]` is.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from lend.ir import typed
from lend.ir.typed import Operation, Region, Value
from lend.language.types import ScalarType

_BITS = ("and", "or", "xor", "pow")
_BY_THE_RIGHT = ("shl", "shr", "floordiv", "mod", "pow")


def is_linear(operation: typed.For, relevant: Container[Value]) -> bool:
    """Whether a visit of the body with unknown index and carried values says all that proofs could use."""
    index, *carried = operation.body.parameters
    moving = {index, *(v for v in carried if isinstance(v.type, ScalarType) and v.scalar.is_integer and v in relevant)}
    constants: set[Value] = set()
    steps: dict[Value, tuple[Value, Value]] = {}
    for inner in _all(operation.body):
        if isinstance(inner, typed.Constant):
            constants.add(inner.result)
        if isinstance(inner, typed.Call):
            moving.update(p for p, a in zip(inner.body.parameters, inner.arguments, strict=True) if a in moving)
            constants.update(p for p, a in zip(inner.body.parameters, inner.arguments, strict=True) if a in constants)
        if isinstance(inner, typed.For) and any(v in moving for v in (inner.extent.lower, inner.extent.step, *inner.inits)):
            moving.update(p for p in inner.body.parameters if isinstance(p.type, ScalarType) and p.scalar.is_integer)
        if isinstance(inner, typed.Cast) and inner.operand in constants:
            constants.add(inner.result)
        if isinstance(inner, typed.Binary):
            if _is_nonlinear(inner, moving, constants) and inner.result in relevant:
                return False
            if inner.operator in ("add", "sub"):
                steps[inner.result] = inner.left, inner.right
        if not isinstance(inner, typed.Load | typed.Atomic) and any(v in moving for v in inner.operands):
            moving.update(inner.results)
    yields = operation.body.yields[1:] if operation.stops else operation.body.yields
    for parameter, value in zip(carried, yields, strict=True):
        if not isinstance(parameter.type, ScalarType):
            if parameter is not value:
                return False
        elif parameter in moving and value is not parameter:
            left, right = steps.get(value, (value, value))
            if left is not parameter or right in moving:
                return False
    return True


def _is_nonlinear(operation: typed.Binary, moving: set[Value], constants: set[Value]) -> bool:
    """Whether it does with a moving value what linear expressions do not say."""
    left, right = operation.left, operation.right
    if not (isinstance(operation.result.type, ScalarType) and operation.result.scalar.is_integer):
        return False
    if operation.operator == "mul":
        return any(a in moving and b not in constants for a, b in ((left, right), (right, left)))
    if operation.operator in _BITS and (left in moving or right in moving):
        return True
    return operation.operator in _BY_THE_RIGHT and right in moving


def _all(region: Region) -> Iterator[Operation]:
    for operation in region.operations:
        yield operation
        for inner in operation.regions:
            yield from _all(inner)
