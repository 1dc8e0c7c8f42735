"""What loops carry: how integers and arrays move from one iteration to the next, and what they are after the loop.

Does: visit a loop's body until a hypothesis about what it carries is confirmed.  Does not: know the loop's bounds (`loops.py`).

Invariants: what is said of a carried value holds at the start of every iteration; a closed form needs a counter that is exact.
What is said of an opaque value is true of the one with which the loop began, whatever holds there: an instance must never lack a
value.

What is tried of an integer, until an iteration that begins with it keeps it: that it moves by a constant; that it moves one way,
no faster than the counter (`k += 1` under a condition on data); and if it is a subscript, that it stays inside that dimension
(`k = parent[k]`, `low = middle`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace

from lend.diagnostics.records import dataclass
from lend.ir import typed
from lend.ir.typed import Region, Value
from lend.language.types import ArrayType
from lend.model.conditions import Conditions
from lend.model.linear import (
    TRUE,
    Formula,
    Linear,
    Unknown,
    at_least,
    either,
    equal,
)
from lend.model.records import Scope
from lend.model.subscripted import subscripted

MAX_ATTEMPTS = 7

MOST_ENDS = 2
"""So many ends are tried on each side of a value."""


@dataclass
class Moves:
    """How a loop's carried values move: integers `by` a constant or `to` one side, arrays stay the `same` or keep their size.

    `slow`: those that move one way by at most 1. `least` and `most`: what integers never pass, unless they begin beyond it.
    """

    by: dict[Value, int] = field(default_factory=dict[Value, int])
    to: dict[Value, int] = field(default_factory=dict[Value, int])
    slow: set[Value] = field(default_factory=set[Value])
    least: dict[Value, tuple[Linear, ...]] = field(default_factory=dict[Value, "tuple[Linear, ...]"])
    most: dict[Value, tuple[Linear, ...]] = field(default_factory=dict[Value, "tuple[Linear, ...]"])
    leans: dict[Value, tuple[str, ...]] = field(default_factory=dict[Value, tuple[str, ...]])  # what all this rests on
    same: set[Value] = field(default_factory=set[Value])
    sized: set[Value] = field(default_factory=set[Value])

    def sign(self, value: Value) -> int:
        """1 or -1 if the value only moves up or down, else 0."""
        amount = self.by.get(value, self.to.get(value, 0))
        return (amount > 0) - (amount < 0)

    def rest(self, value: Value, names: tuple[str, ...]) -> None:
        """What is said of a value rests on more names' assumptions."""
        if names:
            self.leans[value] = tuple(sorted({*self.leans.get(value, ()), *names}))


class Carried(Conditions):
    """Loop-carried values."""

    def __init__(self, kernel: typed.Kernel, fixed: Mapping[Value, int] | None) -> None:
        super().__init__(kernel, fixed)
        self.subscripts = subscripted(kernel)

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
        again: Formula = TRUE,
    ) -> None:
        """Visit a loop's body once to see how carried values move, and once more knowing it. `again`: holds at the end of each
        iteration that another follows.
        """
        yields = body.yields[1:] if stops else body.yields
        saved, ideal = self.scope, self.ideal
        mark, before = self.mark(), len(self.names.made)
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
                moves = self.movement(carried, inits, yields, counter is not None)
                self.stays_inside(moves, carried, results, set(self.names.made[before:]))
                continue
            confirmed = self.confirmed(moves, carried, inits, yields)
            if confirmed == moves:
                break
            moves = confirmed if attempt < MAX_ATTEMPTS - 2 else Moves()
            if attempt == MAX_ATTEMPTS - 4:  # what is seldom true must not take the attempts from what most often is
                moves = replace(confirmed, slow=set(), least={}, most={})
        self.scope, self.ideal = saved, ideal
        self.leave(results, carried, inits, moves, trips)
        start = replace(saved, order=scope.order[:-1])
        for result, parameter, init, following in zip(results, carried, inits, yields, strict=True):
            self.born(parameter, [(init, start), (following, end.given(again))], scope.order, (id(body), "start"))
            self.born(result, [(init, start), (following, end)], saved.order, (id(body), "end"))

    def carry(self, carried: tuple[Value, ...], inits: tuple[Value, ...], counter: Linear | None, moves: Moves) -> None:
        """What carried values are at the start of an iteration."""
        for parameter, init in zip(carried, inits, strict=True):
            if isinstance(parameter.type, ArrayType):
                view = self.view_of(init)
                if parameter in moves.same:
                    self.views[parameter] = view
                elif parameter in moves.sized:
                    self.views[parameter] = self.merged(parameter, view.shape)
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
        return self.beyond(parameter, parameter, start, moves, counter)

    def beyond(self, value: Value, parameter: Value, start: Linear, moves: Moves, count: Linear | None) -> Linear:
        """An opaque integer, `parameter` after `count` iterations: on the side of where it started to which it moves."""
        sign = moves.sign(parameter)
        furthest = start.add(count, sign) if count is not None and parameter in moves.slow else None
        least = (*moves.least.get(parameter, ()), *((furthest,) if furthest is not None and sign < 0 else ()))
        most = (*moves.most.get(parameter, ()), *((furthest,) if furthest is not None and sign > 0 else ()))
        # The range holds `start` even where that is not a value of the type.
        low, high = self.type_range(value.scalar)
        begin = self.interval(start)
        if least or most:
            for bound in (*(self.interval(end)[0] for end in least), *(begin[:1] if sign > 0 else ())):
                low = max(low, bound)
            for bound in (*(self.interval(end)[1] for end in most), *(begin[1:] if sign < 0 else ())):
                high = min(high, bound)
        name = self.fresh(value.name or "v", *between((min(low, high), high), begin), free=True, value=value)
        x = Linear.of(name)
        if sign:
            self.define(name, at_least(x, start) if sign > 0 else at_least(start, x))
        for ends, side in ((least, 1), (most, -1)):
            for end in ends:
                stays, room = at_least(x.sub(end).scale(side), Linear.constant(0)), start.sub(end).scale(side)
                begins_there = not room.names() and room.offset >= 0
                self.define(name, stays if begins_there else either(stays, equal(x, start)))
        if least or most:
            x = self.bounded_by(name, start, *least, *most)
        return x.assuming(moves.leans.get(parameter, ()))

    def movement(self, carried: tuple[Value, ...], inits: tuple[Value, ...], yields: tuple[Value, ...], counted: bool) -> Moves:
        """How carried values change in one iteration: integers by a constant or one way, arrays in size or not at all."""
        moves = Moves()
        for parameter, init, following in zip(carried, inits, yields, strict=True):
            if isinstance(parameter.type, ArrayType):
                if following is parameter:
                    moves.same.add(parameter)
                elif self.region is None or not (self.view_of(init).through or self.view_of(following).through):
                    moves.sized.add(parameter)  # in a region, a view whose check fails is empty
            elif parameter in self.relevant and parameter.type.is_integer:
                difference = self.number(following).sub(self.number(parameter))
                low, high = self.interval(difference)
                if not difference.terms:
                    moves.by[parameter] = difference.offset
                elif low >= 0 or self.known(at_least(difference, Linear.constant(0))):
                    moves.to[parameter] = 1
                elif high <= 0 or self.known(at_least(Linear.constant(0), difference)):
                    moves.to[parameter] = -1
                if counted and parameter in moves.to and self.known(_at_most_one(difference, moves.to[parameter])):
                    moves.slow.add(parameter)
        return moves

    def stays_inside(self, moves: Moves, carried: tuple[Value, ...], results: tuple[Value, ...], inner: set[str]) -> None:
        """Suppose of integers that are subscripts that they stay inside. `inner`: names made in the loop, which differ there."""
        for parameter, result in zip(carried, results, strict=False):
            known = isinstance(parameter.type, ArrayType) or not parameter.type.is_integer or parameter in moves.slow
            if known or parameter not in self.relevant or moves.by.get(parameter) == 0:
                continue
            ends: dict[int, dict[Linear, None]] = {-1: {}, 1: {}}
            for use in (*self.subscripts.get(parameter, ()), *self.subscripts.get(result, ())):
                view = self.views.get(use.array)
                if view is None or not inner.isdisjoint(view.shape[use.dimension].names()):
                    continue
                ends[-1][Linear.constant(-use.offset)] = None
                ends[1][view.shape[use.dimension].plus(-use.offset - use.inside)] = None
            sign = moves.sign(parameter)
            if sign <= 0 and ends[-1]:
                moves.least[parameter] = tuple(ends[-1])[:MOST_ENDS]
            if sign >= 0 and ends[1]:
                moves.most[parameter] = tuple(ends[1])[:MOST_ENDS]

    def confirmed(self, moves: Moves, carried: tuple[Value, ...], inits: tuple[Value, ...], yields: tuple[Value, ...]) -> Moves:
        """The part of a hypothesis that an iteration which begins with it keeps."""
        kept = Moves()
        for parameter, init, following in zip(carried, inits, yields, strict=True):
            if isinstance(parameter.type, ArrayType):
                if parameter in moves.same:
                    kept.same.add(parameter)
                elif parameter in moves.sized and self.keeps_size(init, following):
                    kept.sized.add(parameter)
            elif parameter in self.relevant and parameter.type.is_integer:
                difference = self.number(following).sub(self.number(parameter))
                constant = not difference.terms and set(difference.assumed) <= set(self.number(parameter).assumed)
                if parameter in moves.by and constant and difference.offset == moves.by[parameter]:
                    kept.by[parameter] = moves.by[parameter]
                sign = moves.sign(parameter)
                if parameter in kept.by:
                    pass
                elif sign and self.known(at_least(difference.scale(sign), Linear.constant(0))):
                    kept.to[parameter] = sign
                    kept.rest(parameter, self.relied)
                    if parameter in moves.slow and self.known(_at_most_one(difference, sign)):
                        kept.slow.add(parameter)
                        kept.rest(parameter, self.relied)
                value = self.number(following)
                for ends, kept_ends, side in ((moves.least, kept.least, 1), (moves.most, kept.most, -1)):
                    for end in ends.get(parameter, ()):
                        if self.known(at_least(value.sub(end).scale(side), Linear.constant(0))):
                            kept_ends[parameter] = (*kept_ends.get(parameter, ()), end)
                            kept.rest(parameter, self.relied)
        return kept

    def keeps_size(self, init: Value, following: Value) -> bool:
        """Whether an array has the size that it had before the loop; in a region, a view whose check fails is empty."""
        view = self.view_of(following)
        return view.shape == self.view_of(init).shape and (self.region is None or not view.through)

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
                    self.views[result] = self.merged(result, view.shape)
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
        return self.beyond(result, parameter, start, moves, trips)


def _at_most_one(difference: Linear, sign: int) -> Formula:
    return at_least(Linear.constant(1), difference.scale(sign))


def between(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    """A range that holds two ranges."""
    return min(a[0], b[0]), max(a[1], b[1])
