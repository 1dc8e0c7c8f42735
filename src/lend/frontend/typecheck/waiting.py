"""Loops that wait for another thread: nothing promises that threads run at the same time, so such a loop may never end.

Does: find, in the typed tree, each `while` of a parallel loop that looks at atomic operations until others have changed
something.  Does not: word the refusal (`kernels.py`).
Invariants: on the safe side. A `while` whose end depends on no atomic operation inside it is no wait. Of the others these end by
themselves, and all else is a wait:
- it ends when a counter to which it adds a constant in each round has passed a limit (`while (t := c.add(0, 1)) < n`);
- it ends when its own `compare_exchange` succeeds, which expects what an atomic operation has just read there: when that fails,
  another thread has got on. With a constant expected it would be a lock, and waits.

How: each value is a `Kind` of its dependence on the loop's atomic operations. A condition that `FALLS` is false from some round
on (or in the round in which the exchange succeeds), one that `RISES` is true.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from enum import Enum, auto
from typing import cast

from lend.ir import typed
from lend.ir.typed import Operation, Region, Value
from lend.language.types import BOOL_, Borrow

Place = tuple[Hashable, ...]


class Kind(Enum):
    """How a value depends on the atomic operations of a loop."""

    NONE = auto()  # not at all
    UP = auto()  # a counter that the loop increases in each round
    DOWN = auto()
    READ = auto()  # what an atomic operation gave
    RISES = auto()
    FALLS = auto()
    TRUE = auto()  # a constant
    FALSE = auto()
    OTHER = auto()


OTHER = Kind.OTHER
_TURNED = {
    Kind.RISES: Kind.FALLS,
    Kind.FALLS: Kind.RISES,
    Kind.UP: Kind.DOWN,
    Kind.DOWN: Kind.UP,
    Kind.TRUE: Kind.FALSE,
    Kind.FALSE: Kind.TRUE,
    Kind.READ: Kind.OTHER,
}


def waiting_loops(region: Region, inside: bool = False) -> Iterator[tuple[typed.While, typed.Atomic]]:
    """The loops of parallel loops that wait, each with an atomic operation that it looks at."""
    for operation in region.operations:
        if inside and isinstance(operation, typed.While):
            found = next(atomics(operation), None)
            if found is not None and Loop(operation).waits():
                yield operation, found
        for inner in operation.regions:
            yield from waiting_loops(inner, inside or isinstance(operation, typed.Parallel | typed.Threads))


def atomics(operation: Operation) -> Iterator[typed.Atomic]:
    """The atomic operations inside an operation."""
    if isinstance(operation, typed.Atomic):
        yield operation
    for region in operation.regions:
        for inner in region.operations:
            yield from atomics(inner)


class Loop:
    """One `while`, and the kinds of the values in it."""

    def __init__(self, loop: typed.While) -> None:
        self.loop = loop
        self.kinds: dict[Value, Kind] = {}
        self.constants: dict[Value, int | float | complex | bool] = {}
        self.exchanges: dict[Value, Value] = {}  # of a `compare_exchange`: its result, and what it expects
        self.origins: dict[Value, Place] = {}  # of what was read: where
        self.keys: dict[Value, Hashable] = {}  # how a value is computed: equal ones are equal
        self.carried = {parameter for region in loop.regions for parameter in region.parameters}
        self.leaves: dict[typed.If, int] = {}  # the arm that ends the loop
        self.stops: set[Value] = set()  # whether the loop ends, on the way to its stop
        if loop.stops:
            self.find_leaving(loop.body, {loop.body.yields[0]})
        self.stored = False  # something that depends on them was stored

    def waits(self) -> bool:
        """Whether the loop may not end unless another thread acts."""
        loop = self.loop
        yields = loop.body.yields[loop.stops :]
        carried = [Kind.NONE] * len(loop.results)
        for _ in range(2 * len(carried) + 4):  # each kind changes twice at most, and something is stored once
            stored = self.stored
            for region in loop.regions:
                self.enter(region.parameters, carried)
                self.carry(yields, region.parameters)
                self.region(region)
            after = [self.joined(old, self.kind(value)) for old, value in zip(carried, yields, strict=True)]
            if after == carried and stored == self.stored:
                return not self.ends()
            carried = after
        return True

    def ends(self) -> bool:
        """Whether the loop ends whatever other threads do."""
        goes_on = self.kind(self.loop.condition.yields[0])
        stop = self.kind(self.loop.body.yields[0]) if self.loop.stops else Kind.FALSE
        if goes_on in (Kind.FALLS, Kind.FALSE) or stop in (Kind.RISES, Kind.TRUE):
            return True
        return goes_on in (Kind.NONE, Kind.TRUE) and stop in (Kind.NONE, Kind.FALSE)

    def joined(self, old: Kind, new: Kind) -> Kind:
        """The kind of a carried value, by what earlier rounds and this one give to the next; what it begins with is no matter."""
        if new in (Kind.TRUE, Kind.FALSE):
            new = Kind.NONE
        return new if old in (Kind.NONE, new) else OTHER

    def carry(self, yields: Sequence[Value], parameters: Sequence[Value]) -> None:
        """What was read in the last round, and what an exchange in it expected, under the names of this one."""
        places = dict(zip(yields, parameters, strict=True))
        for value, parameter in zip(yields, parameters, strict=True):
            if value in self.origins and not mentions(self.origins[value], self.carried):  # the same place in each round
                self.origins[parameter] = self.origins[value]
            expected = self.exchanges.get(value)
            if expected is not None and expected in places:
                self.exchanges[parameter] = places[expected]

    def find_leaving(self, region: Region, stops: set[Value]) -> None:
        """The branches of which an arm gives True to one of `stops`."""
        for operation in reversed(region.operations):
            if isinstance(operation, typed.Binary) and operation.operator == "or" and operation.result in stops:
                stops |= {operation.left, operation.right}
            elif isinstance(operation, typed.If):
                for position in [k for k, result in enumerate(operation.results) if result in stops]:
                    for number, arm in enumerate(operation.regions):
                        if constant_true(arm, arm.yields[position]):
                            self.leaves[operation] = number
                        else:
                            self.find_leaving(arm, {arm.yields[position]})
        self.stops |= stops

    def enter(self, parameters: Sequence[Value], kinds: Sequence[Kind]) -> None:
        """The parameters of a region."""
        self.kinds.update(zip(parameters, kinds, strict=True))

    def kind(self, value: Value) -> Kind:
        """How a value depends on the loop's atomic operations; what was computed before the loop does not."""
        return self.kinds.get(value, Kind.NONE)

    def region(self, region: Region, *, depends: bool = False) -> None:
        """The operations of a region; `depends`: whether they run depends on the atomic operations."""
        for operation in region.operations:
            self.operation(operation, depends)

    def operation(self, operation: Operation, depends: bool) -> None:
        """The kinds of an operation's results."""
        match operation:
            case typed.Constant():
                self.constants[operation.result] = self.keys[operation.result] = operation.value
                if operation.result.type is BOOL_:
                    self.kinds[operation.result] = Kind.TRUE if operation.value else Kind.FALSE
            case typed.Atomic():
                self.kinds[operation.result] = self.atomic(operation)
            case typed.Cast():
                self.kinds[operation.result] = self.cast(operation)
            case typed.Unary():
                self.kinds[operation.result] = self.unary(operation)
            case typed.Binary():
                self.keys[operation.result] = (operation.operator, self.key(operation.left), self.key(operation.right))
                self.kinds[operation.result] = self.binary(operation)
            case typed.Store():
                self.stored = self.stored or depends or self.together(operation.operands) is OTHER
            case typed.Load():
                known = operation.array.array.borrow is Borrow.REF or not self.stored
                self.kinds[operation.result] = self.together(operation.operands) if known else OTHER
            case typed.If():
                self.branch(operation, depends)
            case typed.Call():
                self.enter(operation.body.parameters, [self.kind(argument) for argument in operation.arguments])
                self.follow(operation.arguments, operation.body.parameters)
                self.region(operation.body, depends=depends)
                self.enter(operation.results, [self.kind(value) for value in operation.body.yields])
                self.follow(operation.body.yields, operation.results)
            case _:
                self.others(operation, depends)

    def key(self, value: Value) -> Hashable:
        """What tells a value from others that differ."""
        return self.keys.get(value, value)

    def follow(self, sources: Sequence[Value], targets: Sequence[Value]) -> None:
        """Values that are others under another name."""
        for source, target in zip(sources, targets, strict=True):
            if source in self.origins:
                self.origins[target] = self.origins[source]
            if source in self.exchanges:
                self.exchanges[target] = self.exchanges[source]
            self.keys[target] = self.key(source)
            if source in self.constants:
                self.constants[target] = self.constants[source]

    def together(self, values: Sequence[Value]) -> Kind:
        """What is computed from values in a way that says nothing."""
        return Kind.NONE if all(self.kind(value) in (Kind.NONE, Kind.TRUE, Kind.FALSE) for value in values) else OTHER

    def others(self, operation: Operation, depends: bool) -> None:
        """Other operations; the values that inner loops carry say nothing once they depend."""
        kind = self.together(operation.operands)
        if operation.regions:
            kind = OTHER if next(atomics(operation), None) is not None or self.stored else kind
            for region in operation.regions:
                self.enter(region.parameters, [kind] * len(region.parameters))
                self.region(region, depends=depends or kind is not Kind.NONE)
        self.enter(operation.results, [kind] * len(operation.results))

    def atomic(self, operation: typed.Atomic) -> Kind:
        """An atomic operation: a counter, if it adds a constant that is not 0 to an integer."""
        result = operation.result
        self.origins[result] = tuple(map(self.key, (operation.array, *operation.indices)))
        if operation.expected is not None:
            self.exchanges[result] = operation.expected
        step = self.constants.get(operation.value) if operation.value is not None else None
        if operation.operator == "add" and result.scalar.is_integer and isinstance(step, int) and step != 0:
            return Kind.UP if step > 0 else Kind.DOWN
        return Kind.READ

    def cast(self, operation: typed.Cast) -> Kind:
        """A conversion of a number keeps what it says, one to `bool_` does not."""
        kind = self.kind(operation.operand)
        self.follow((operation.operand,), (operation.result,))
        self.keys[operation.result] = (operation.result.type, self.key(operation.operand))
        if kind in (Kind.RISES, Kind.FALLS) or operation.result.type is not BOOL_:
            return kind
        return kind if kind is Kind.NONE else OTHER

    def unary(self, operation: typed.Unary) -> Kind:
        """`not` and `-` turn what a value says."""
        if operation.operator not in ("not", "neg"):
            return self.together((operation.operand,))
        constant = self.constants.get(operation.operand)
        if operation.operator == "neg" and isinstance(constant, int):
            self.constants[operation.result] = -constant
        return turned(self.kind(operation.operand))

    def binary(self, operation: typed.Binary) -> Kind:
        """Sums of a counter and something else count; a comparison of a counter with something else falls or rises."""
        left, right = self.kind(operation.left), self.kind(operation.right)
        operator = operation.operator
        if operator in ("eq", "ne"):
            for result, expected in ((operation.left, operation.right), (operation.right, operation.left)):
                if self.succeeds(result, expected):
                    return Kind.RISES if operator == "eq" else Kind.FALLS
        if operator in ("and", "or") and operation.result.type is BOOL_:
            return both(left, right) if operator == "and" else either(left, right)
        if self.together((operation.left, operation.right)) is Kind.NONE:
            return Kind.NONE
        if left is Kind.NONE and right in (Kind.UP, Kind.DOWN):  # seen from the right
            return self.counts(operator, right, self.constants.get(operation.left), mirrored=True)
        if right is Kind.NONE and left in (Kind.UP, Kind.DOWN):
            return self.counts(operator, left, self.constants.get(operation.right), mirrored=False)
        return OTHER

    def counts(self, operator: str, counter: Kind, constant: object, *, mirrored: bool) -> Kind:
        """An operation of a counter and something else, which is the left operand if `mirrored`."""
        if operator == "add" or (operator == "sub" and not mirrored):
            return counter
        if operator == "sub":
            return turned(counter)
        if operator == "mul" or (operator == "floordiv" and not mirrored):
            return OTHER if not isinstance(constant, int) or constant == 0 else counter if constant > 0 else turned(counter)
        if operator in ("lt", "le", "gt", "ge"):
            grows = (counter is Kind.UP) != mirrored  # the left side of the comparison, relative to the right one
            return Kind.FALLS if grows == (operator in ("lt", "le")) else Kind.RISES
        return OTHER

    def succeeds(self, result: Value, expected: Value) -> bool:
        """Whether `result == expected` says that a `compare_exchange` has succeeded that expects what was read there."""
        asked = self.exchanges.get(result)
        if asked is None or asked is not expected:
            return False
        return self.kind(asked) is Kind.READ and asked in self.origins and self.origins[asked] == self.origins.get(result)

    def branch(self, operation: typed.If, depends: bool) -> None:
        """A branch that gives truth values is `and` and `or` of its condition and arms."""
        condition = self.kind(operation.condition)
        for arm in operation.regions:
            self.region(arm, depends=depends or condition is not Kind.NONE)
        left = self.leaves.get(operation)
        for result, then, orelse in zip(operation.results, operation.then.yields, operation.orelse.yields, strict=True):
            if left is not None and result not in self.stops:  # the next round sees what the other arm gives
                stays = then if left else orelse
                self.kinds[result] = self.kind(stays)
                self.follow((stays,), (result,))
            elif result.type is BOOL_:
                self.kinds[result] = self.choice(condition, self.kind(then), self.kind(orelse))
            else:
                a, b = self.kind(then), self.kind(orelse)
                self.kinds[result] = a if a is b and (condition is Kind.NONE or a is Kind.READ) else OTHER
                if a is b is Kind.NONE:
                    self.kinds[result] = self.together((operation.condition,))
                if then in self.origins and self.origins[then] == self.origins.get(orelse):
                    self.origins[result] = self.origins[then]

    def choice(self, condition: Kind, then: Kind, orelse: Kind) -> Kind:
        """`then if condition else orelse`, of truth values."""
        if then is Kind.TRUE:
            return either(condition, orelse)
        if then is Kind.FALSE:
            return both(turned(condition), orelse)
        if orelse is Kind.TRUE:
            return either(turned(condition), then)
        if orelse is Kind.FALSE:
            return both(condition, then)
        if then is orelse and (then in (Kind.RISES, Kind.FALLS) or condition is Kind.NONE):
            return then
        return Kind.OTHER


def constant_true(region: Region, value: Value) -> bool:
    """Whether a value is True, as a constant of this region."""
    return any(isinstance(o, typed.Constant) and o.result is value and o.value is True for o in region.operations)


def mentions(place: Place, values: set[Value]) -> bool:
    """Whether one of `values` is part of a place."""
    parts: list[Hashable] = list(place)
    while parts:
        part = parts.pop()
        if isinstance(part, tuple):
            parts += cast("Place", part)
        elif part in values:
            return True
    return False


def turned(kind: Kind) -> Kind:
    """The kind of `not value`, or of `-value`."""
    return _TURNED.get(kind, kind)


def both(a: Kind, b: Kind) -> Kind:
    """The kind of `a and b`, where the right side runs only if it is needed: a loop goes on only if both have been true."""
    if Kind.FALSE in (a, b):
        return Kind.FALSE
    if Kind.TRUE in (a, b):
        return b if a is Kind.TRUE else a
    if Kind.FALLS in (a, b):
        return Kind.FALLS
    return Kind.NONE if a is b is Kind.NONE else Kind.OTHER


def either(a: Kind, b: Kind) -> Kind:
    """The kind of `a or b`."""
    return turned(both(turned(a), turned(b)))
