"""Which values are subscripts, or differ from one by a number only.

Does: find them in the tree.  Does not: say how large they are (`carried.py` tries whether what a loop carries stays inside).
Invariants: a hint about what is worth trying; nothing rests on it.

Example: in `x[i, k + 1]` k is one less than the subscript of dimension 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lend.diagnostics.records import dataclass
from lend.ir import typed
from lend.ir.typed import Operation, Region, Value

LONGEST = 4
"""Steps from a subscript back to what it is made from."""


@dataclass(frozen=True)
class Use:
    """A value plus `offset` is a subscript of a dimension of an array; `inside`: it may not be the size itself."""

    array: Value
    dimension: int
    offset: int
    inside: bool


def subscripted(kernel: typed.Kernel) -> Mapping[Value, list[Use]]:
    """The uses of values as subscripts."""
    made: dict[Value, Operation] = {}
    arguments: dict[Value, Value] = {}
    accesses: list[Operation] = []
    for operation in _all(kernel.body):
        made.update(dict.fromkeys(operation.results, operation))
        if isinstance(operation, typed.Call):
            arguments |= dict(zip(operation.body.parameters, operation.arguments, strict=True))
        elif isinstance(operation, typed.Load | typed.Store | typed.Atomic | typed.View):
            accesses.append(operation)
    found: dict[Value, list[Use]] = {}
    for access in accesses:
        for array, dimension, subscript, inside in _subscripts(access):
            while array in arguments:
                array = arguments[array]
            for value, offset in _back(subscript, made, arguments):
                uses, use = found.setdefault(value, []), Use(array, dimension, offset, inside)
                if use not in uses:
                    uses.append(use)
    return found


def _all(region: Region) -> Iterator[Operation]:
    for operation in region.operations:
        yield operation
        for inner in operation.regions:
            yield from _all(inner)


def _subscripts(operation: Operation) -> Iterator[tuple[Value, int, Value, bool]]:
    match operation:
        case typed.Load() | typed.Store() | typed.Atomic():
            for dimension, index in enumerate(operation.indices):
                yield operation.array, dimension, index, True
        case typed.View():
            for dimension, part in enumerate(operation.parts):
                if isinstance(part, Value):
                    yield operation.array, dimension, part, True
                else:
                    yield operation.array, dimension, part.lower, False
                    yield operation.array, dimension, part.upper, False
        case _:
            return


def _back(value: Value, made: Mapping[Value, Operation], arguments: Mapping[Value, Value]) -> Iterator[tuple[Value, int]]:
    """A subscript, and what it is made from by adding numbers to it, with the sum of these."""
    offset = 0
    for _ in range(LONGEST):
        yield value, offset
        operation = made.get(value)
        if value in arguments:
            value = arguments[value]
        elif isinstance(operation, typed.Cast):
            value = operation.operand
        elif isinstance(operation, typed.Binary) and operation.operator in ("add", "sub"):
            number = _number(made.get(operation.right))
            if number is not None:
                value, offset = operation.left, offset + (number if operation.operator == "add" else -number)
            elif operation.operator == "add" and (number := _number(made.get(operation.left))) is not None:
                value, offset = operation.right, offset + number
            else:
                return
        else:
            return


def _number(operation: Operation | None) -> int | None:
    if isinstance(operation, typed.Constant) and isinstance(operation.value, int):
        return operation.value
    return None
