"""How far subscripts reach that are not linear: `i * n + j` with n known at run time only.

Does: bound a subscript from below and above by integer expressions of what is known before the parallel loop, and say under which
conditions it lies inside its array.  Does not: evaluate these (`schedule/reaches.py` writes them), or follow guards.

Invariants:
- If all conditions of a `Reach` hold, every instance of the access lies inside its array, and no operation that its subscripts
  are made from has wrapped. An interval of a loop without iterations may be anything: nothing happens there.
- No expression leaves 64 bits where the conditions before it hold: each is kept below `LIMIT` in size.

Example: in `for i, j in lend.grid(m, n): y[i * n + j]` the subscript lies between `0 * n + 0` and `(m - 1) * n + (n - 1)`, if n
is not negative; otherwise the products of the ends are compared.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from lend.diagnostics.records import dataclass
from lend.ir import typed
from lend.ir.typed import Extent, Operation, Region, Value
from lend.language.abi import MAX_SIZE
from lend.language.types import ScalarType
from lend.model.records import Access

LIMIT = 1 << 61
"""No number of a condition is larger, so that two of them add up to an i64."""


class Unreachable(Exception):
    """A subscript depends on what no loop bounds."""


@dataclass(frozen=True, eq=False)
class Node:
    """An integer expression: a number, a value, the size of an array, or an operation; `low` and `high` bound what it can be."""

    operator: str  # "number", "value", "size", or an operator of typed.Binary
    low: int
    high: int
    operands: tuple[Node, ...] = ()
    value: Value | None = None
    dimension: int = 0


@dataclass(frozen=True)
class Between:
    """What lies between two ends, both included."""

    low: Node
    high: Node


@dataclass(frozen=True)
class Reach:
    """Conditions under which an access stays inside: each left side is at least its right side, the first ones first."""

    conditions: tuple[tuple[Node, Node], ...]


def number(value: int) -> Node:
    """A literal."""
    if abs(value) > LIMIT:
        raise Unreachable
    return Node("number", value, value)


class Reacher:
    """Bounds the integers of one parallel loop. `constants`: integers known when compiling; `sizes`: sizes of arguments."""

    def __init__(self, loop: typed.Parallel, constants: Mapping[Value, int], sizes: Container[Value]) -> None:
        self.loop = loop
        self.constants = constants
        self.sizes = sizes
        self.made: dict[Value, Operation] = {}
        self.extents: dict[Value, Extent] = {}
        self.arguments: dict[Value, Value] = {}
        self.inside: set[Value] = set(loop.body.parameters)
        for parameter, extent in zip(loop.body.parameters, loop.box, strict=False):
            self.extents[parameter] = extent
        self._collect(loop.body)
        self._known: dict[Value, tuple[Between, tuple[tuple[Node, Node], ...]]] = {}
        self._sizes: dict[tuple[Value, int], Node] = {}
        self._conditions: list[tuple[Node, Node]] = []

    def _collect(self, region: Region) -> None:
        for operation in region.operations:
            for result in operation.results:
                self.made[result] = operation
            self.inside.update(operation.results)
            for inner in operation.regions:
                self.inside.update(inner.parameters)
                self._collect(inner)
            match operation:
                case typed.For():
                    self.extents[operation.body.parameters[0]] = operation.extent
                case typed.Call():
                    self.arguments |= dict(zip(operation.body.parameters, operation.arguments, strict=True))
                case _:
                    pass

    # ---------------------------------------------------------------------------------------------------------- accesses

    def reach(self, access: Access) -> Reach | None:
        """Where an access stays inside its array; None if that cannot be said before the loop."""
        self._conditions = []
        try:
            for index, size, exclusive in self._subscripts(access.operation):
                self._at_least(index.low, number(0))
                self._at_least(size, self._plus(index.high, 1) if exclusive else index.high)
        except Unreachable:
            return None
        return Reach(tuple(dict.fromkeys(self._conditions)))

    def _subscripts(
        self, operation: typed.Load | typed.Store | typed.View | typed.Atomic
    ) -> Iterator[tuple[Between, Node, bool]]:
        """What has to lie inside a dimension, the least size of that, and whether the size itself is outside."""
        if not isinstance(operation, typed.View):
            for dimension, index in enumerate(operation.indices):
                yield self.between(index), self._size(operation.array, dimension), True
            return
        for dimension, part in enumerate(operation.parts):
            size = self._size(operation.array, dimension)
            if isinstance(part, Value):
                yield self.between(part), size, True
            else:
                lower, upper = self.between(part.lower), self.between(part.upper)
                yield Between(lower.low, upper.high), size, False

    def _size(self, array: Value, dimension: int) -> Node:
        """The least size of a dimension."""
        while array in self.arguments:
            array = self.arguments[array]
        if array not in self.inside:
            found = self._sizes.get((array, dimension))
            if found is None:
                found = self._sizes[array, dimension] = Node("size", 0, MAX_SIZE, (), array, dimension)
            return found
        operation = self.made.get(array)
        if isinstance(operation, typed.Local):
            return number(operation.sizes[dimension])
        if isinstance(operation, typed.View):
            extent = [part for part in operation.parts if isinstance(part, Extent)][dimension]
            if self._constant(extent.step) == 1:
                return self._combined("sub", self.between(extent.upper).low, self.between(extent.lower).high)
        raise Unreachable

    # ---------------------------------------------------------------------------------------------------------- integers

    def between(self, value: Value) -> Between:
        """The ends of an integer over all iterations; what that takes becomes a condition."""
        while value in self.arguments:
            value = self.arguments[value]
        found = self._known.get(value)
        if found is None:
            before, self._conditions = self._conditions, []
            ends = self._between(value)
            found = self._known[value] = ends, tuple(self._conditions)
            self._conditions = before
        self._conditions += [condition for condition in found[1] if condition not in self._conditions]
        return found[0]

    def _between(self, value: Value) -> Between:
        if not isinstance(value.type, ScalarType) or not value.scalar.is_integer:
            raise Unreachable
        if value not in self.inside:
            return self._outer(value)
        if value in self.extents:
            return self._index(self.extents[value])
        operation = self.made.get(value)
        match operation:
            case typed.Constant():
                assert isinstance(operation.value, int)
                return Between(number(operation.value), number(operation.value))
            case typed.Size():
                size = self._size(operation.array, operation.dimension)
                if operation.array in self.inside and not isinstance(self.made.get(operation.array), typed.Local):
                    raise Unreachable  # only the least size of a view is known
                return Between(size, size)
            case typed.Cast():
                ends = self.between(operation.operand)
                return self._fits(ends.low, ends.high, value.scalar)
            case typed.Unary(operator="neg"):
                a = self.between(operation.operand)
                zero = number(0)
                low, high = self._combined("sub", zero, a.high), self._combined("sub", zero, a.low)
                return self._fits(low, high, value.scalar)
            case typed.Binary():
                return self._binary(operation, value.scalar)
            case typed.If():
                position = operation.results.index(value)
                a, b = (self.between(region.yields[position]) for region in operation.regions)
                return Between(self._combined("min", a.low, b.low), self._combined("max", a.high, b.high))
            case typed.Call():
                return self.between(operation.body.yields[operation.results.index(value)])
            case _:
                raise Unreachable

    def _outer(self, value: Value) -> Between:
        """What is known before the loop. It is looked at as an i64, in which the greatest u64 values are negative."""
        if value in self.constants:
            return Between(number(self.constants[value]), number(self.constants[value]))
        if value in self.sizes:
            low, high = 0, MAX_SIZE
        else:
            low, high = (value.scalar.minimum, value.scalar.maximum) if value.scalar.bits < 64 else (-(1 << 63), (1 << 63) - 1)
        node = Node("value", low, high, (), value)
        return self._fits(node, node, value.scalar)

    def _index(self, extent: Extent) -> Between:
        """The index of a loop whose step is a number."""
        step, lower, upper = self._constant(extent.step), self.between(extent.lower), self.between(extent.upper)
        if not step:
            raise Unreachable
        if step > 0:
            return Between(lower.low, self._plus(upper.high, -1))
        return Between(self._plus(upper.low, 1), lower.high)

    def _constant(self, value: Value) -> int | None:
        while value in self.arguments:
            value = self.arguments[value]
        return self.constants.get(value)

    def _binary(self, operation: typed.Binary, type: ScalarType) -> Between:
        if not operation.left.scalar.is_integer:
            raise Unreachable
        a, b = self.between(operation.left), self.between(operation.right)
        match operation.operator:
            case "add":
                return self._fits(self._combined("add", a.low, b.low), self._combined("add", a.high, b.high), type)
            case "sub":
                return self._fits(self._combined("sub", a.low, b.high), self._combined("sub", a.high, b.low), type)
            case "mul":
                return self._fits(*self._product(a, b), type)
            case "min" | "max":
                return Between(
                    self._combined(operation.operator, a.low, b.low), self._combined(operation.operator, a.high, b.high)
                )
            case "floordiv" | "mod":
                self._at_least(b.low, number(1))
                one = number(1)
                least, most = self._combined("max", b.low, one), self._combined("max", b.high, one)
                if operation.operator == "mod":
                    return Between(number(0), self._plus(most, -1))
                low = self._combined("min", self._combined("floordiv", a.low, least), self._combined("floordiv", a.low, most))
                high = self._combined("max", self._combined("floordiv", a.high, least), self._combined("floordiv", a.high, most))
                return Between(low, high)
            case _:
                raise Unreachable

    def _product(self, a: Between, b: Between) -> tuple[Node, Node]:
        """The least and the greatest product; its size becomes a condition."""
        if max(abs(a.low.low), abs(a.high.high)) * max(abs(b.low.low), abs(b.high.high)) > LIMIT:
            largest = [self._combined("max", self._combined("sub", number(0), x.low), x.high) for x in (a, b)]
            divisor = self._combined("max", largest[1], number(1))
            self._at_least(self._combined("floordiv", number(LIMIT), divisor), largest[0])
        if a.low.low >= 0 and b.low.low >= 0:
            return self._times(a.low, b.low), self._times(a.high, b.high)
        ends = [self._times(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
        low = high = ends[0]
        for end in ends[1:]:
            low, high = self._combined("min", low, end), self._combined("max", high, end)
        return low, high

    # ------------------------------------------------------------------------------------------------------- expressions

    def _fits(self, low: Node, high: Node, type: ScalarType) -> Between:
        """The ends, if values of a type, and no larger than `LIMIT`."""
        least, most = max(type.minimum, -LIMIT), min(type.maximum, LIMIT)
        if low.low < least:
            self._at_least(low, Node("number", least, least))
        if high.high > most:
            self._at_least(Node("number", most, most), high)
        return Between(_within(low, least, most), _within(high, least, most))

    def _at_least(self, a: Node, b: Node) -> None:
        if a.low < b.high:
            self._conditions.append((a, b))

    def _plus(self, a: Node, shift: int) -> Node:
        return self._combined("add", a, number(shift))

    def _times(self, a: Node, b: Node) -> Node:
        """A product that `_product` has limited."""
        if a.operator == b.operator == "number":
            return number(a.low * b.low)
        corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        return Node("mul", max(min(corners), -LIMIT), min(max(corners), LIMIT), (a, b))

    def _combined(self, operator: str, a: Node, b: Node) -> Node:
        match operator:
            case "add":
                low, high = a.low + b.low, a.high + b.high
            case "sub":
                low, high = a.low - b.high, a.high - b.low
            case "min":
                low, high = min(a.low, b.low), min(a.high, b.high)
            case "max":
                low, high = max(a.low, b.low), max(a.high, b.high)
            case _:  # a division by what is at least 1
                corners = [x // max(y, 1) for x in (a.low, a.high) for y in (b.low, b.high)]
                low, high = min(corners), max(corners)
        if a.operator == b.operator == "number":
            return number(low)
        return Node(operator, low, high, (a, b))


def _within(node: Node, least: int, most: int) -> Node:
    """The same expression where it is known to lie in a range."""
    low, high = max(node.low, least), min(node.high, most)
    return (
        node
        if (low, high) == (node.low, node.high)
        else Node(node.operator, low, high, node.operands, node.value, node.dimension)
    )
