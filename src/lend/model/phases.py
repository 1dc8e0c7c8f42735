"""Phases: between which barriers of its block a thread does something.

Does: give each place of a thread the last barrier before it, as a formula over the counters around it.  Does not: decide whether
all threads meet these barriers (`check_barriers.py`), on which everything here rests.

The phase of an instance is the lexicographically greatest barrier instance before it, among those whose innermost opaque branch
or loop contains it (what happens in an opaque one is known only inside), or the start of the threads. Opaque ones that hold
barriers are followed by a barrier. With that, two instances of one block are unordered if and only if their phases are equal.

Invariants: phases are exact; where they would be too large to find, all places of these threads are taken to lie after the start,
as if no barrier were there, which only makes more pairs unordered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lend.diagnostics.records import dataclass
from lend.model.linear import TRUE, All, Formula, Linear, at_least, both, disjunction, equal, names_of, rename
from lend.model.records import Model, Order, Scope, Team
from lend.model.sets import OverBudget

BARRIER = "_s"
"""The suffix of the names of a barrier's instance."""

START = -1
"""The number of the phase before any barrier."""


@dataclass(frozen=True)
class Before:
    """How an instance of one place comes before one of another: in the same iteration of the `common` loops, and in an earlier
    one of `earlier`, if that is not None. `depth`: how much of their orders they share."""

    depth: int
    common: tuple[str, ...]
    earlier: str | None


def before(a: Order, b: Order) -> Iterator[Before]:
    """The ways in which place a comes before place b, orders of one thread, those that share least first."""
    common: list[str] = []
    for depth, (x, y) in enumerate(zip(a, b, strict=False)):
        if x == y:
            if isinstance(x, str):
                yield Before(depth, tuple(common), x)
                common.append(x)
        else:
            if isinstance(x, int) and isinstance(y, int) and x < y:
                yield Before(depth, tuple(common), None)
            return


@dataclass(frozen=True)
class Piece:
    """The phase is that of barrier `number` of the team (or START) where `formula` holds, which says its counters too."""

    number: int
    formula: Formula


@dataclass(frozen=True)
class _Candidate:
    """A barrier, how it comes before the place, and when it does."""

    number: int
    way: Before
    facts: Formula


class Phases:
    """The phases of one team: of the barriers of the block, or `within` a sub-group, whose own count then."""

    def __init__(self, model: Model, team: Team, within: bool = False) -> None:
        self.model = model
        self.team = team
        self.part = team.part if within else None
        self.start = len(team.scope.order)
        own = (b for b in model.barriers if b.scope.team == team.number and b.orders)
        waits = [b for b in own if b.of_block or within]
        self.barriers = [b for b in waits if b.of_block or not any(c.opaque for c in b.scope.controls)]
        self.exact = len(waits) == len(self.barriers)  # a barrier of sub-groups that data decide orders nothing for sure
        self.lost = False
        self._pieces: dict[tuple[object, ...], tuple[Piece, ...]] = {}  # by candidates and counters
        self._places: dict[Order, tuple[Piece, ...]] = {}
        deepest = max((len(self.counters(b.scope.order)) for b in self.barriers), default=0)
        self.slots = model.space.plain_names("phase", deepest + 1)
        self._order = model.space.plain_names("order", 2 * deepest + 1)
        self._keys = {k: self.key(b.scope.order) for k, b in enumerate(self.barriers)}

    def counters(self, order: Order) -> tuple[str, ...]:
        """The loops of the threads around a place."""
        return tuple(step for step in order[self.start :] if isinstance(step, str))

    def key(self, order: Order) -> tuple[object, ...]:
        """An order as static positions and counters that alternate."""
        found: list[object] = []
        run: list[int] = []
        for step in order[self.start :]:
            if isinstance(step, int):
                run.append(step)
            else:
                found += [tuple(run), step]
                run = []
        return (*found, tuple(run))

    # ------------------------------------------------------------------------------------------------------------------ answers

    def of(self, *scopes: Scope) -> list[tuple[Piece, ...]]:
        """The phases of places of these threads, found in one way for all of them."""
        if not self.lost:
            try:
                return [self._of(scope) for scope in scopes]
            except OverBudget:
                self.lost = True
        return [(Piece(START, self.at(START, ())),) for _ in scopes]

    def formula(self, pieces: Sequence[Piece]) -> Formula:
        """Of the `slots`: the number of the barrier and its counters."""
        return disjunction(piece.formula for piece in pieces)

    def at(self, number: int, counters: Sequence[Linear]) -> Formula:
        """That the phase is a certain one."""
        values = [Linear.constant(number), *counters]
        values += [Linear.constant(0)] * (len(self.slots) - len(values))
        return All(tuple(equal(Linear.of(slot), value) for slot, value in zip(self.slots, values, strict=True)))

    # ---------------------------------------------------------------------------------------------------------------- candidates

    def _of(self, scope: Scope) -> tuple[Piece, ...]:
        known = self._places.get(scope.order)
        if known is not None:
            return known
        candidates = self.candidates(scope.order)
        key = (*candidates, *self.counters(scope.order))
        found = self._pieces.get(key)
        if found is None:
            found = self._pieces[key] = self._found(scope, candidates)
        self._places[scope.order] = found
        return found

    def candidates(self, order: Order) -> list[_Candidate]:
        """The barriers that may be the last one before a place, latest first; the last of them is sure if that is known."""
        place = order[self.start :]
        ways = [(way, k) for k, b in enumerate(self.barriers) for way in before(b.scope.order[self.start :], place)]

        def position(item: tuple[Before, int]) -> tuple[int, int]:
            way, k = item
            step = self.barriers[k].scope.order[self.start + way.depth]
            return way.depth, step if isinstance(step, int) else 0

        found: list[_Candidate] = []
        for way, k in sorted(ways, key=position, reverse=True):
            barrier = self.barriers[k]
            opaque = max((len(c.place) for c in barrier.scope.controls if c.opaque), default=0)
            if opaque - self.start > way.depth:
                continue
            facts: Formula = TRUE
            inner = [c for c in barrier.scope.controls if len(c.place) - self.start > way.depth]
            for control in inner:
                facts = both(facts, control.fact)
            found.append(_Candidate(k, way, facts))
            if self.sure(found[-1]):
                break
        return found

    def sure(self, candidate: _Candidate) -> bool:
        """Whether this barrier is met whenever the place is reached, once in the iteration."""
        steps = self.barriers[candidate.number].scope.order[self.start :]
        return candidate.way.earlier is None and candidate.facts == TRUE and len(steps) == candidate.way.depth + 1

    def _found(self, scope: Scope, candidates: list[_Candidate]) -> tuple[Piece, ...]:
        if not candidates:
            return (Piece(START, self.at(START, ())),)
        if self.sure(candidates[0]):
            return (Piece(candidates[0].number, self.at(candidates[0].number, [*map(Linear.of, candidates[0].way.common)])),)
        with self.model.space.holding(self.team.held):
            return tuple(self._latest(scope, candidates))

    # ------------------------------------------------------------------------------------------------------------------- latest

    def _latest(self, scope: Scope, candidates: list[_Candidate]) -> Iterator[Piece]:
        """The lexicographically greatest of several."""
        space = self.model.space
        ranks = self._ranks(candidates)
        alternatives: list[list[Formula]] = []
        for candidate in candidates:
            alternatives.append(self._instance(candidate, ranks[candidate.number]))
        if not self.sure(candidates[-1]):
            first = [equal(Linear.of(self._order[0]), Linear.constant(-1))]
            alternatives.append(first + [equal(Linear.of(name), Linear.constant(0)) for name in self._order[1:]])
        mentioned = {n.removesuffix(BARRIER) for formulas in alternatives for f in formulas for n in names_of(f)}
        visible = self._visible()
        held = sorted(n for n in space.closure(mentioned.difference(self._order)) if n in visible)
        given = list(dict.fromkeys([*self.counters(scope.order), *held]))
        latest = space.latest(given, self._order, alternatives, (BARRIER,))
        for number in dict.fromkeys(c.number for c in candidates):
            fixed = {self._order[2 * k]: rank for k, rank in enumerate(ranks[number])}
            counters = self.counters(self.barriers[number].scope.order)
            naming = {self._order[2 * k + 1]: self.slots[k + 1] for k in range(len(counters))}
            rest = [equal(Linear.of(slot), Linear.constant(0)) for slot in self.slots[len(counters) + 1 :]]
            here = space.pieces(latest, given, self._order, fixed, naming)
            if here is not None:
                yield Piece(number, All((equal(Linear.of(self.slots[0]), Linear.constant(number)), *rest, here)))
        here = space.pieces(latest, given, self._order, {self._order[0]: -1}, {})
        if here is not None:
            yield Piece(START, both(self.at(START, ()), here))

    def _visible(self) -> set[str]:
        """Names that are the same for the barrier and the place: held ones, and the number of the sub-group."""
        part = set(self.part.names()) if self.part is not None else set[str]()
        return (self.team.held | part) - self.model.space.names.launch.keys()

    def _ranks(self, candidates: list[_Candidate]) -> dict[int, list[int]]:
        """For each barrier the ranks of its static positions among those that share what stands before them."""
        ranks: dict[int, list[int]] = {}
        keys = {c.number: self._keys[c.number] for c in candidates}
        for number, key in keys.items():
            ranks[number] = []
            for k in range(0, len(key), 2):
                beside = {other[k] for other in keys.values() if other[:k] == key[:k] and len(other) > k}
                ranks[number].append(sorted(beside).index(key[k]))  # type: ignore[type-var]
        return ranks

    def _instance(self, candidate: _Candidate, ranks: list[int]) -> list[Formula]:
        """An instance of a barrier before the place, with its names suffixed, and its position in the order of all."""
        space, barrier = self.model.space, self.barriers[candidate.number]
        counters = self.counters(barrier.scope.order)
        renaming = space.copy({*space.closure({*names_of(candidate.facts)}), *counters}, BARRIER)
        formulas = [rename(candidate.facts, renaming)]
        formulas += [equal(Linear.of(renaming[name]), Linear.of(name)) for name in candidate.way.common]
        if candidate.way.earlier is not None:
            earlier = candidate.way.earlier
            formulas.append(at_least(Linear.of(earlier), Linear.of(renaming[earlier]).plus(1)))
        if not barrier.of_block and self.part is not None and candidate.facts != TRUE:
            own = space.copy(space.closure(self.part.names()), BARRIER)
            formulas.append(equal(self.part, self.part.rename(own)))
        for k, rank in enumerate(ranks):
            formulas.append(equal(Linear.of(self._order[2 * k]), Linear.constant(rank)))
            if k < len(counters):
                formulas.append(equal(Linear.of(self._order[2 * k + 1]), Linear.of(renaming[counters[k]])))
        used = 2 * len(counters) + 1
        return formulas + [equal(Linear.of(name), Linear.constant(0)) for name in self._order[used:]]


def phases_of(model: Model, team: Team, within: bool = False) -> Phases:
    """The phases of a team, found once for all checks."""
    found = model.phases.get((team.number, within))
    if not isinstance(found, Phases):
        found = model.phases[team.number, within] = Phases(model, team, within)
    return found
