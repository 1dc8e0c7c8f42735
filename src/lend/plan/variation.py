"""How the values of a parallel loop's body vary from iteration to iteration.

Does: give each value of a body, per dimension of the box, the difference between one iteration and the next one along it.
Does not: choose anything (`tiling.py`).
Invariants: an entry 0 means that, of the iterations that run an operation together, those that differ only along that dimension
have the same value; an entry k that the value of a 64-bit integer grows by exactly k (wrapping), counted in iterations; None says
nothing. What a loop carries counts as varying along everything that decides how long the loop runs.

Example: in `for i, j in grid(N, M): y[i, j] = x[i, 2 * j]` the subscript `2 * j` has the variation (0, 2), the value that is
read (None, None).
"""

from __future__ import annotations

from collections.abc import Iterable

from lend.ir import typed
from lend.ir.typed import Operation, Parallel, Region, Value
from lend.language.types import ScalarType

Variation = tuple[int | None, ...]
"""Per dimension of the box."""


class Variations:
    """The variations of all values in the body of one parallel loop; values from outside vary along nothing."""

    def __init__(self, parallel: Parallel, constants: dict[Value, int]) -> None:
        self._dimensions = len(parallel.box)
        self._constants = dict(constants)
        self._known: dict[Value, Variation] = {}
        self._zero: Variation = (0,) * self._dimensions
        for position, (extent, index) in enumerate(zip(parallel.box, parallel.body.parameters, strict=False)):
            step = self._constants.get(extent.step)
            self._known[index] = tuple(step if d == position else 0 for d in range(self._dimensions))
        self._region(parallel.body)

    def of(self, value: Value) -> Variation:
        """The variation of a value."""
        return self._known.get(value, self._zero)

    def constant(self, value: Value) -> int | None:
        """The number that an integer value is known to be."""
        return self._constants.get(value)

    def along(self, values: Iterable[Value]) -> Variation:
        """Along what any of the values varies: entries 0 and None."""
        found = self._zero
        for value in values:
            found = _spread(found, self.of(value))
        return found

    # ------------------------------------------------------------------------------------------- operations

    def _region(self, region: Region) -> None:
        for operation in region.operations:
            self._operation(operation)

    def _operation(self, operation: Operation) -> None:
        match operation:
            case typed.Constant(result=result, value=value):
                if isinstance(value, int):
                    self._constants[result] = int(value)
                self._known[result] = self._zero
            case typed.Unary() | typed.Binary() | typed.Cast():
                self._known[operation.result] = self._arithmetic(operation)
            case typed.If(results=results, condition=condition, then=then, orelse=orelse):
                self._region(then)
                self._region(orelse)
                for result, a, b in zip(results, then.yields, orelse.yields, strict=True):
                    self._known[result] = _spread(_join(self.of(a), self.of(b)), self.of(condition))
            case typed.For():
                self._for(operation)
            case typed.While():
                self._while(operation)
            case typed.Call(arguments=arguments, body=body, results=results):
                for parameter, argument in zip(body.parameters, arguments, strict=True):
                    self._known[parameter] = self.of(argument)
                    if argument in self._constants:
                        self._constants[parameter] = self._constants[argument]
                self._region(body)
                for result, value in zip(results, body.yields, strict=True):
                    self._known[result] = self.of(value)
            case typed.Local(result=result):
                self._known[result] = (None,) * self._dimensions  # one per iteration
            case _:
                varied = self.along(operation.operands)
                for result in operation.results:
                    self._known[result] = varied

    def _arithmetic(self, operation: typed.Unary | typed.Binary | typed.Cast) -> Variation:
        spread = self.along(operation.operands)
        if not _wide(operation.result) or not all(_wide(value) for value in operation.operands):
            return spread
        match operation:
            case typed.Cast(operand=operand):
                if operand in self._constants:
                    self._constants[operation.result] = self._constants[operand]
                return self.of(operand)
            case typed.Unary(operator="neg", operand=operand):
                return tuple(None if k is None else -k for k in self.of(operand))
            case typed.Binary(operator="add" | "sub" as operator, left=left, right=right):
                sign = 1 if operator == "add" else -1
                pairs = zip(self.of(left), self.of(right), strict=True)
                return tuple(None if a is None or b is None else a + sign * b for a, b in pairs)
            case typed.Binary(operator="mul", left=left, right=right):
                for factor, other in ((left, right), (right, left)):
                    number = self._constants.get(factor)
                    if number is not None:
                        return tuple(None if k is None else k * number for k in self.of(other))
                return spread
            case _:
                return spread

    def _for(self, operation: typed.For) -> None:
        extent, body = operation.extent, operation.body
        self._known[body.parameters[0]] = _spread(self.of(extent.lower), self.of(extent.step))
        length = self.along((extent.lower, extent.upper, extent.step))
        carried, yields = body.parameters[1:], body.yields[1:] if operation.stops else body.yields
        self._loop(operation.inits, carried, yields, length, body.yields[:1] if operation.stops else (), body)
        for result, value in zip(operation.results, carried, strict=True):
            self._known[result] = self.of(value)

    def _while(self, operation: typed.While) -> None:
        condition, body = operation.condition, operation.body
        yields = body.yields[1:] if operation.stops else body.yields
        stops = (*condition.yields, *(body.yields[:1] if operation.stops else ()))
        for parameter in body.parameters:
            self._known[parameter] = self._zero
        for parameter, init in zip(condition.parameters, operation.inits, strict=True):
            self._known[parameter] = self.of(init)
        while True:
            before = [self.of(value) for value in condition.parameters]
            self._region(condition)
            for inner, outer in zip(body.parameters, condition.parameters, strict=True):
                self._known[inner] = self.of(outer)
            self._region(body)
            ends = self.along(stops)
            for parameter, following in zip(condition.parameters, yields, strict=True):
                self._known[parameter] = _spread(_join(self.of(parameter), self.of(following)), ends)
            if before == [self.of(value) for value in condition.parameters]:
                break
        for result, value in zip(operation.results, condition.parameters, strict=True):
            self._known[result] = self.of(value)

    def _loop(
        self,
        inits: tuple[Value, ...],
        carried: tuple[Value, ...],
        yields: tuple[Value, ...],
        length: Variation,
        stops: tuple[Value, ...],
        body: Region,
    ) -> None:
        """To a fixed point: what is carried joins what comes in and what goes round."""
        for parameter, init in zip(carried, inits, strict=True):
            self._known[parameter] = _spread(self.of(init), length)
        while True:
            before = [self.of(value) for value in carried]
            self._region(body)
            ends = self.along(stops)
            for parameter, following in zip(carried, yields, strict=True):
                self._known[parameter] = _spread(_join(self.of(parameter), self.of(following)), ends)
            if before == [self.of(value) for value in carried]:
                return


def _wide(value: Value) -> bool:
    """Whether a value is a 64-bit integer, whose sums wrap as subscripts do."""
    return isinstance(value.type, ScalarType) and value.type.is_integer and value.type.bits == 64


def _join(a: Variation, b: Variation) -> Variation:
    """Of a value that is one or the other, the same one in all iterations that run together."""
    return tuple(x if x == y else None for x, y in zip(a, b, strict=True))


def _spread(a: Variation, b: Variation) -> Variation:
    """`a`, but nothing is known where `b` varies."""
    return tuple(x if y == 0 else None for x, y in zip(a, b, strict=True))
