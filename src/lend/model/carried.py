"""What loops carry: how integers and arrays move from one iteration to the next, and what they are after the loop.

Does: visit a loop's body until a hypothesis about what it carries is confirmed.  Does not: know the loop's bounds (`loops.py`).

Invariants: what is said of a carried value holds at the start of every iteration; a closed form needs a counter that is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace

from lend.diagnostics.records import dataclass
from lend.ir.typed import Region, Value
from lend.language.types import ArrayType
from lend.model.arrays import Arrays
from lend.model.linear import (
    Formula,
    Linear,
    Unknown,
    at_least,
)
from lend.model.records import Scope
from lend.model.views import whole

MAX_ATTEMPTS = 6


@dataclass
class Moves:
    """How a loop's carried values move: integers `by` a constant or `to` one side, arrays stay the `same` or keep their size."""

    by: dict[Value, int] = field(default_factory=dict[Value, int])
    to: dict[Value, int] = field(default_factory=dict[Value, int])
    leans: dict[Value, tuple[str, ...]] = field(default_factory=dict[Value, tuple[str, ...]])  # what `to` rests on
    same: set[Value] = field(default_factory=set[Value])
    sized: set[Value] = field(default_factory=set[Value])

    def sign(self, value: Value) -> int:
        """1 or -1 if the value only moves up or down, else 0."""
        amount = self.by.get(value, self.to.get(value, 0))
        return (amount > 0) - (amount < 0)


class Carried(Arrays):
    """Loop-carried values."""

    def loop_body(
        self,
        results: tuple[Value, ...],
        inits: tuple[Value, ...],
        body: Region,
        carried: tuple[Value, ...],
        scope: Scope,
        counter: Linear | None,
        trips: Linear | None,
        stops: bool,
        enter: Callable[[tuple[Value, ...]], Formula] | None = None,
    ) -> None:
        """Visit a loop's body once to see how carried values move, and once more knowing it."""
        yields = body.yields[1:] if stops else body.yields
        saved, ideal = self.scope, self.ideal
        mark = self.mark()
        moves, end = Moves(), scope
        # Once without wrap-around to see how carried values move; then with that as hypothesis, until it is confirmed.
        for attempt in range(MAX_ATTEMPTS):
            self.roll_back(mark)
            self.ideal = ideal or attempt == 0
            self.scope = scope
            self.carry(carried, inits, counter, moves)
            if enter is not None:
                self.scope = self.scope.given(enter(carried))
            for operation in body.operations:
                self.visit(operation)
            end = self.here()
            if attempt == 0:
                moves = self.movement(carried, inits, yields)
                continue
            confirmed = self.confirmed(moves, carried, inits, yields)
            if confirmed == moves:
                break
            moves = confirmed if attempt < MAX_ATTEMPTS - 2 else Moves()
        self.scope, self.ideal = saved, ideal
        self.leave(results, carried, inits, moves, trips)
        start = replace(saved, order=scope.order[:-1])
        for result, parameter, init, following in zip(results, carried, inits, yields, strict=True):
            sources = [(init, start), (following, end)]
            self.born(parameter, sources, scope.order, (id(body), "start"))
            self.born(result, sources, saved.order, (id(body), "end"))

    def carry(self, carried: tuple[Value, ...], inits: tuple[Value, ...], counter: Linear | None, moves: Moves) -> None:
        """What carried values are at the start of an iteration."""
        for parameter, init in zip(carried, inits, strict=True):
            if isinstance(parameter.type, ArrayType):
                view = self.view_of(init)
                if parameter in moves.same:
                    self.views[parameter] = view
                elif parameter in moves.sized:
                    self.views[parameter] = whole(parameter, view.shape)
                else:
                    self.views.pop(parameter, None)
                    self.view_of(parameter)
            elif parameter in self.relevant and parameter.type.is_integer:
                self.numbers[parameter] = self.carried_number(parameter, init, counter, moves)
            elif parameter.type.kind == "bool":
                self.conditions[parameter] = Unknown()

    def carried_number(self, parameter: Value, init: Value, counter: Linear | None, moves: Moves) -> Linear:
        """A closed form for constant steps and no early exit; a bound for steps of one sign; else opaque."""
        start = self.number(init)
        if moves.by.get(parameter) == 0:
            return start
        if parameter in moves.by and counter is not None:
            closed = self.fit(start.add(counter, moves.by[parameter]), parameter.scalar)
            if closed is not None:
                return closed
        return self.beyond(parameter, start, moves.sign(parameter)).assuming(moves.leans.get(parameter, ()))

    def beyond(self, value: Value, start: Linear, sign: int) -> Linear:
        """An opaque integer on one side of where it started (any side if sign is 0)."""
        # The range holds `start` even where that is not a value of the type: an instance must never lack a value.
        name = self.fresh(
            value.name or "v", *between(self.type_range(value.scalar), self.interval(start)), free=True, value=value
        )
        if sign:
            self.define(name, at_least(Linear.of(name), start) if sign > 0 else at_least(start, Linear.of(name)))
        return Linear.of(name)

    def movement(self, carried: tuple[Value, ...], inits: tuple[Value, ...], yields: tuple[Value, ...]) -> Moves:
        """How carried values change in one iteration: integers by a constant or one way, arrays in size or not at all."""
        moves = Moves()
        for parameter, _, following in zip(carried, inits, yields, strict=True):
            if isinstance(parameter.type, ArrayType):
                if following is parameter:
                    moves.same.add(parameter)
                elif self.region is None:  # in a region, a view whose check fails is empty
                    moves.sized.add(parameter)
            elif parameter in self.relevant and parameter.type.is_integer:
                difference = self.number(following).sub(self.number(parameter))
                low, high = self.interval(difference)
                if not difference.terms:
                    moves.by[parameter] = difference.offset
                elif low >= 0 or self.known(at_least(difference, Linear.constant(0))):
                    moves.to[parameter] = 1
                elif high <= 0 or self.known(at_least(Linear.constant(0), difference)):
                    moves.to[parameter] = -1
        return moves

    def confirmed(self, moves: Moves, carried: tuple[Value, ...], inits: tuple[Value, ...], yields: tuple[Value, ...]) -> Moves:
        """The part of a hypothesis that an iteration which begins with it keeps."""
        kept = Moves()
        for parameter, init, following in zip(carried, inits, yields, strict=True):
            if isinstance(parameter.type, ArrayType):
                if parameter in moves.same:
                    kept.same.add(parameter)
                elif parameter in moves.sized and self.view_of(following).shape == self.view_of(init).shape:
                    kept.sized.add(parameter)
            elif parameter in self.relevant and parameter.type.is_integer:
                difference = self.number(following).sub(self.number(parameter))
                constant = not difference.terms and set(difference.assumed) <= set(self.number(parameter).assumed)
                if parameter in moves.by and constant and difference.offset == moves.by[parameter]:
                    kept.by[parameter] = moves.by[parameter]
                    continue
                sign = moves.sign(parameter)
                if sign and self.known(at_least(difference.scale(sign), Linear.constant(0))):
                    kept.to[parameter] = sign
                    if self.relied:
                        kept.leans[parameter] = self.relied
        return kept

    def leave(
        self, results: tuple[Value, ...], carried: tuple[Value, ...], inits: tuple[Value, ...], moves: Moves, trips: Linear | None
    ) -> None:
        """What carried values are after a loop."""
        for result, parameter, init in zip(results, carried, inits, strict=True):
            if isinstance(result.type, ArrayType):
                view = self.view_of(init)
                if parameter in moves.same:
                    self.views[result] = view
                elif parameter in moves.sized:
                    self.views[result] = whole(result, view.shape)
                else:
                    self.views.pop(result, None)  # of an earlier visit
            elif result in self.relevant and result.type.is_integer:
                self.numbers[result] = self.after(result, parameter, self.number(init), moves, trips)
            elif result.type.kind == "bool":
                self.conditions[result] = Unknown()

    def after(self, result: Value, parameter: Value, start: Linear, moves: Moves, trips: Linear | None) -> Linear:
        """A carried integer after its loop."""
        if moves.by.get(parameter) == 0:
            return start
        if parameter in moves.by and trips is not None:
            closed = self.fit(start.add(trips, moves.by[parameter]), result.scalar)
            if closed is not None:
                return closed
        return self.beyond(result, start, moves.sign(parameter)).assuming(moves.leans.get(parameter, ()))


def between(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    """A range that holds two ranges."""
    return min(a[0], b[0]), max(a[1], b[1])
