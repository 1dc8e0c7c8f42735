"""Conditions on data that a block asks more than once: each gets a name, so that what happens under it is known to go together.

A comparison of floats, or a bool out of memory, is no formula over integers. Where it is asked once nothing can be gained from
it, and it stays unknown. What is asked twice becomes a number that is 0 or 1 and that data decide, like a loaded integer.

Does: find what may be asked more than once, and say when two comparisons are one.  Does not: evaluate them.

Invariants: a name stands for a comparison of two values by what defines these, at one visit of the walk: what a loop carries, and
what the next iteration of an unrolled loop makes, is another value. A name belongs to the loops that its values were made in.

Example: `if x[b] > 0.5: s[t] = v`, a barrier, and `if x[b] > 0.5` once more, with `x[b]` loaded before both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from lend.ir import typed
from lend.ir.typed import Operation, Region, Value
from lend.language.types import ScalarType
from lend.model.arrays import Arrays
from lend.model.linear import Linear, Unknown, equal

Key = tuple[object, ...]
"""What a comparison compares; of other values of type bool: which one it is."""


def recurring(kernel: typed.Kernel) -> frozenset[Value]:
    """The values of type bool that the branches of blocks ask of more than once, under whichever name."""
    made: dict[Value, Operation] = {}
    meant: dict[Value, Value] = {}
    asked: Counter[Key] = Counter()
    values: dict[Key, set[Value]] = {}
    for operation in _all(kernel.body, False, made, meant):
        if isinstance(operation, typed.If):
            for value in _sources(operation.condition, made, set()):
                key = _text(value, made, meant)
                asked[key] += 1
                values.setdefault(key, set()).add(value)
    return frozenset(value for key, count in asked.items() if count > 1 for value in values[key])


def _all(region: Region, inside: bool, made: dict[Value, Operation], meant: dict[Value, Value]) -> Iterator[Operation]:
    """The operations of blocks. `made` says of every value which operation it is a result of, `meant` of a called function's
    parameters what they are.
    """
    for operation in region.operations:
        made.update(dict.fromkeys(operation.results, operation))
        if isinstance(operation, typed.Call):
            for parameter, argument in zip(operation.body.parameters, operation.arguments, strict=True):
                meant[parameter] = meant.get(argument, argument)
        if inside:
            yield operation
        for inner in operation.regions:
            yield from _all(inner, inside or isinstance(operation, typed.Blocks), made, meant)


def _sources(value: Value, made: Mapping[Value, Operation], seen: set[Value]) -> Iterator[Value]:
    """The comparisons and other values that a condition is made from by logic."""
    if value in seen:
        return
    seen.add(value)
    operation = made.get(value)
    match operation:
        case typed.Unary():
            yield from _sources(operation.operand, made, seen)
        case typed.Binary() if operation.operator not in typed.COMPARISONS:
            yield from _sources(operation.left, made, seen)
            yield from _sources(operation.right, made, seen)
        case typed.If():
            position = operation.results.index(value)
            yield from _sources(operation.condition, made, seen)
            for region in operation.regions:
                yield from _sources(region.yields[position], made, seen)
        case typed.Constant():
            return
        case _:
            yield value


def _text(value: Value, made: Mapping[Value, Operation], meant: Mapping[Value, Value]) -> Key:
    operation = made.get(value)
    if not isinstance(operation, typed.Binary):
        return (meant.get(value, value),)
    sides = (meant.get(side, side) for side in (operation.left, operation.right))
    return (operation.operator, *(_literal(made.get(side)) or side for side in sides))


def _literal(operation: Operation | None) -> tuple[str, str] | None:
    return (repr(operation.result.type), repr(operation.value)) if isinstance(operation, typed.Constant) else None


class Conditions(Arrays):
    """The walk remembers where values were made, and what has been compared."""

    def __init__(self, kernel: typed.Kernel, fixed: Mapping[Value, int] | None) -> None:
        super().__init__(kernel, fixed)
        self.recurring = recurring(kernel)
        self._made: dict[Value, tuple[object, frozenset[str]]] = {}  # which visit has made it, and inside which loops
        self._compared: dict[Key, str] = {}
        for parameter in kernel.parameters:
            self._made[parameter.value] = (parameter.value, frozenset())

    def note_made(self, operation: Operation) -> None:
        """What an operation gives is new at each visit."""
        if not self.recurring:
            return
        visit: object = _literal(operation) or object()
        home = frozenset[str]() if isinstance(operation, typed.Constant) else frozenset(self.loops())
        for result in operation.results:
            self._made[result] = (visit, home)

    def alias(self, name: Value, value: Value) -> None:
        """One value under another name."""
        super().alias(name, value)
        if value in self._made:
            self._made[name] = self._made[value]
        else:
            self._made.pop(name, None)

    def name_condition(self, operation: Operation) -> None:
        """Give what has just been evaluated a name, if it is a condition on data that is asked more than once."""
        for value in operation.results:
            if value not in self.recurring or not self.in_region or not isinstance(self.conditions.get(value), Unknown):
                continue
            key, home = self._identity(operation)
            name = self._compared.get(key) if key is not None else None
            if name is None:
                name = self.fresh(value.name or "flag", 0, 1, free=True)
                if key is not None:
                    self.names.made_in[name] = tuple(n for n in self.loops() if n in home)
                    self._compared[key] = name
            if self.scope.team is not None:
                team = self.model.teams[self.scope.team]
                outside = {*team.scope.counters, *team.scope.threads[: len(self.model.regions[team.region].scope.threads)]}
                if set(self.names.made_in[name]) <= outside:
                    team.held.add(name)
            self.conditions[value] = equal(Linear.of(name), Linear.constant(1))

    def _identity(self, operation: Operation) -> tuple[Key | None, frozenset[str]]:
        """What makes a comparison the same as another, and the loops that its values were made in."""
        if not isinstance(operation, typed.Binary) or operation.operator not in typed.COMPARISONS:
            return None, frozenset()
        sides = [self._made.get(side) for side in (operation.left, operation.right)]
        if not isinstance(operation.left.type, ScalarType) or None in sides:
            return None, frozenset()
        (left, home), (right, other) = (side for side in sides if side is not None)
        return (operation.operator, repr(operation.left.type), left, right), home | other
