"""The reduction tree: how the contributions of a parallel loop become one value, with the same bits everywhere.

Does: define identities, how two values combine, and the tree over the row-major position of the iteration.  Does not: run loops.
Invariants (fixed for ever; compiled code does the same): block b holds positions 2048b to 2048b + 2047. In a block, 64 lanes
start at the operator's identity; in order of position L, lane L % 64 takes in contribution L; then the upper half of the lanes is
combined into the lower half until one is left. The blocks' values are combined in neighbouring pairs, an odd last one carried
over, until one is left: the result is `init operator` that, or `init` if there was no iteration.

Example: `tree("add", (F64,), (0.5,), [(1.0,), (2.0,)]) == (3.5,)`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from lend.language.arithmetic import binary_function
from lend.language.types import ScalarType

BLOCK = 2048
LANES = 64


def identity(operator: str, type: ScalarType) -> Any:
    """The value that changes nothing: -0.0 for a sum of floats, +inf for a minimum, … Raises KeyError for other operators."""
    floating = type.kind == "float"
    match operator:
        case "add":
            return complex(-0.0, -0.0) if type.kind == "complex" else -0.0 if floating else 0
        case "mul":
            return complex(1.0, 0.0) if type.kind == "complex" else 1.0 if floating else 1
        case "min":
            return math.inf if floating else True if type.kind == "bool" else type.maximum
        case "max":
            return -math.inf if floating else False if type.kind == "bool" else type.minimum
        case "and":
            return True if type.kind == "bool" else -1 if type.kind == "int" else type.maximum
        case "or" | "xor":
            return False if type.kind == "bool" else 0
        case _:
            raise KeyError(operator)


def identities(operator: str, types: Sequence[ScalarType]) -> tuple[Any, ...]:
    """The identity in each place of a reduction."""
    return tuple(identity(operator, type) for type in types)


def combine(operator: str, types: Sequence[ScalarType], left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
    """`left operator right`. Of several values (min or max): the lexicographically smaller or greater, NaN winning its place."""
    if len(types) == 1:
        return (binary_function(operator, types[0])(left[0], right[0]),)
    for a, b in zip(left, right, strict=True):
        if a != a or b != b:
            if a != a and b != b:
                continue
            return left if a != a else right
        if a != b:
            return left if (a < b) == (operator == "min") else right
    return left


class Accumulator:
    """The tree, built while contributions come in, in the order of their positions.

    `operator` and `types` are those of the reduction, `inits` its values before the loop.
    """

    def __init__(self, operator: str, types: Sequence[ScalarType], inits: Sequence[Any]) -> None:
        self.operator = operator
        self.types = tuple(types)
        self.inits = tuple(inits)
        self.identity = identities(operator, types)
        self._lanes = [self.identity] * LANES
        self._position = 0
        self._partials: list[tuple[Any, ...]] = []

    def add(self, *values: Any) -> None:
        """Take in the values that the next iteration contributes."""
        lane = self._position % LANES
        self._lanes[lane] = combine(self.operator, self.types, self._lanes[lane], values)
        self._position += 1
        if self._position % BLOCK == 0:
            self._close_block()

    def result(self) -> tuple[Any, ...]:
        """The values after the loop."""
        if self._position % BLOCK:
            self._close_block()
            self._position = 0
        partials = self._partials
        if not partials:
            return self.inits
        while len(partials) > 1:
            pairs = [combine(self.operator, self.types, *partials[i : i + 2]) for i in range(0, len(partials) - 1, 2)]
            partials = pairs + partials[len(pairs) * 2 :]
        return combine(self.operator, self.types, self.inits, partials[0])

    def _close_block(self) -> None:
        width = LANES // 2
        while width:
            for lane in range(width):
                self._lanes[lane] = combine(self.operator, self.types, self._lanes[lane], self._lanes[lane + width])
            width //= 2
        self._partials.append(self._lanes[0])
        self._lanes = [self.identity] * LANES


def tree(
    operator: str, types: Sequence[ScalarType], inits: Sequence[Any], contributions: Iterable[tuple[Any, ...]]
) -> tuple[Any, ...]:
    """The reduction of all `contributions`, one tuple of values per iteration in order of position."""
    accumulator = Accumulator(operator, types, inits)
    for values in contributions:
        accumulator.add(*values)
    return accumulator.result()
