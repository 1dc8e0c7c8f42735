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

from collections.abc import Iterable, Mapping

from lend.ir import typed
from lend.ir.typed import Extent, Operation, Parallel, Region, Value
from lend.language.abi import MAX_SIZE
from lend.language.types import ScalarType

SIZE_BITS = MAX_SIZE.bit_length()
WRAPS = 63
"""Sums of integers with fewer bits do not wrap."""

Variation = tuple[int | None, ...]
"""Per dimension of the box."""


class Variations:
    """The variations of all values in the body of one parallel loop; values from outside vary along nothing."""

    def __init__(self, parallel: Parallel, constants: dict[Value, int], bits: Mapping[Value, int] | None = None) -> None:
        self._dimensions = len(parallel.box)
        self._constants = dict(constants)
        self._bits = dict(bits or {})  # 64-bit integers: their magnitude is below 2 ** bits
        self._known: dict[Value, Variation] = {}
        self._zero: Variation = (0,) * self._dimensions
        for position, (extent, index) in enumerate(zip(parallel.box, parallel.body.parameters, strict=False)):
            step = self._constants.get(extent.step)
            self._known[index] = tuple(step if d == position else 0 for d in range(self._dimensions))
            self._bits[index] = max(self._magnitude(extent.lower), self._magnitude(extent.upper))
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

    def length(self, extent: Extent) -> Variation:
        """The variation of a range's trip count: 0 also where both ends move alike, so little that neither can wrap."""
        lower, upper = self.of(extent.lower), self.of(extent.upper)
        if max(self._magnitude(extent.lower), self._magnitude(extent.upper)) < WRAPS:
            found = tuple(0 if a == b and a is not None else None for a, b in zip(lower, upper, strict=True))
            return _spread(found, self.of(extent.step))
        return self.along((extent.lower, extent.upper, extent.step))

    def ends(self, loop: typed.For) -> Variation:
        """Along what iterations may leave a loop at different times."""
        stops = loop.body.yields[:1] if loop.stops else ()
        return _spread(self.length(loop.extent), self.along(stops)) if stops else self.length(loop.extent)

    def _magnitude(self, value: Value) -> int:
        """Bits that hold the magnitude of an integer."""
        number = self._constants.get(value)
        if number is not None:
            return number.bit_length()
        return self._bits.get(value, value.scalar.bits)

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
                if _wide(operation.result):
                    self._bits[operation.result] = self._bits_of(operation)
            case typed.Size(result=result):
                self._known[result] = self.along(operation.operands)
                self._bits[result] = SIZE_BITS
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
                    if argument in self._bits:
                        self._bits[parameter] = self._bits[argument]
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

    def _bits_of(self, operation: typed.Unary | typed.Binary | typed.Cast) -> int:
        """The bits of a result, 64 where it may have wrapped."""
        operands = operation.operands
        if not all(isinstance(o.type, ScalarType) and o.type.is_integer for o in operands):
            return 64
        bits = [self._magnitude(operand) for operand in operands]
        match operation:
            case typed.Cast() | typed.Unary(operator="neg"):
                return bits[0]
            case typed.Binary(operator="add" | "sub"):
                return min(max(bits) + 1, 64)
            case typed.Binary(operator="mul"):
                return min(sum(bits), 64)
            case typed.Binary(operator="min" | "max"):
                return max(bits)
            case _:
                return 64

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
        self._bits[body.parameters[0]] = max(self._magnitude(extent.lower), self._magnitude(extent.upper))
        length = self.length(extent)
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
