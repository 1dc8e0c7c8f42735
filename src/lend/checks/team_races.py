"""Races of team-level kernels: between the threads of a block, and between blocks.

Does: decide every pair of accesses that threads of one block could make between the same barriers, and every pair that two blocks
could make, which nothing orders.  Does not: word messages.

Invariants: threads of different sub-groups are ordered by the barriers of their block only; one of several visits to an
operation (an unrolled loop) that is not proved decides for all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from lend.checks.apart import apart_as_made
from lend.checks.check_races import SECOND, RaceFinding, different, distinct, meeting, pairs, places
from lend.checks.decide import Decision, decide, rests_on_sizes
from lend.ir import typed
from lend.ir.typed import Value
from lend.model.linear import Formula, Linear, both, equal, is_known, names_of, negate, rename
from lend.model.phases import Phases, Piece, phases_of
from lend.model.records import Access, Model, RegionModel, Team


def between_threads(model: Model, team: Team) -> Iterator[RaceFinding]:
    """The pairs of accesses that two threads of a block make between the same barriers."""
    phases = phases_of(model, team)
    within = phases_of(model, team, within=True) if team.part is not None else None
    accesses = [a for a in model.accesses if a.scope.team == team.number and not isinstance(a.operation, typed.View)]
    apart = _kept_apart(model, team, accesses)
    asked: Counter[Value] = Counter()
    failing: set[tuple[int, int]] = set()  # pairs of operations that other visits have refused
    found = [
        (first, second, (first.root is not second.root or first.root not in apart) and bool(_common(phases, first, second)))
        for first, second in pairs(model, accesses, threads=True)
    ]
    visits = Counter(places(first, second) for first, second, meets in found if meets)
    anywhere: dict[tuple[object, ...], Decision] = {}  # whether two threads meet there at any time, whatever guards them
    for first, second, meets in found:
        operations = id(first.operation), id(second.operation)
        if operations in failing:
            continue
        if not meets:
            yield RaceFinding(first, second, Decision("never"), "threads")
            continue
        asked[first.root] += 1
        key = places(first, second)
        if visits[key] >= SEVERAL and key not in anywhere:
            anywhere[key] = _anywhere(model, team, first, second)
        if asked[first.root] > MOST_QUESTIONS:
            decision = Decision("may", "there are more pairs of accesses than the proof budget allows")
        elif first.element is None or second.element is None or not model.aliases.comparable(first.root, second.root, True):
            decision = apart_as_made(model, first.root, second.root)
        elif (loops := _two_at_once(model, phases, first, second)) is not None:
            decision = _meet(model, team, phases, first, second, None, loops) if loops else Decision("never")
        elif key in anywhere and rests_on_sizes(model, anywhere[key]):
            decision = anywhere[key]
        elif within is None:
            decision = _meet(model, team, phases, first, second, None)
        else:
            decision = _meet(model, team, within, first, second, True)
            if decision.kind == "never":
                other = _meet(model, team, phases, first, second, False)
                both_rest = tuple(sorted({*decision.assumptions, *other.assumptions}))
                decision = Decision("never", assumptions=both_rest) if other.kind == "never" else other
        if decision.kind in ("may", "always"):
            failing.add(operations)
        yield RaceFinding(first, second, decision, "threads")


MOST_QUESTIONS = 2048
"""Pairs of accesses of one array in one run of threads, between the same barriers, that are decided."""

SEVERAL = 3
"""From so many pairs of the same elements on (visits of an unrolled loop), it is first asked if threads meet there at all."""

MANY = 8
"""From so many accesses of an array on, it is first asked whether one subscript, the same in all, keeps threads apart."""


def _two_at_once(model: Model, phases: Phases, first: Access, second: Access) -> tuple[str, ...] | None:
    """The loops of threads in each of whose iterations two array values are two arrays, the same ones for all threads."""
    births, overlap = model.births, model.aliases.overlap
    one, other = births.get(first.root), births.get(second.root)
    if one is None or other is None or one.merge != other.merge or overlap(first.root, second.root):
        return None
    return phases.counters(model.made_at[first.root])


def _kept_apart(model: Model, team: Team, accesses: list[Access]) -> set[Value]:
    """Arrays of which one subscript is the same function of the thread in all accesses, and differs for any two threads."""
    found: set[Value] = set()
    for root, count in Counter(a.root for a in accesses).items():
        own = [a for a in accesses if a.root is root]
        if count < MANY or any(a.element is None for a in own) or not model.aliases.comparable(root, root, True):
            continue
        for subscripts in zip(*(a.element or () for a in own), strict=True):
            if len(set(subscripts)) == 1 and _distinct(model, team, subscripts[0]):
                found.add(root)
                break
    return found


def _distinct(model: Model, team: Team, subscript: Linear) -> bool:
    """Whether a subscript differs for any two threads, whatever else is known."""
    space, count = model.space, len(model.regions[team.region].scope.threads)
    threads = team.scope.threads[count:]
    with space.holding(team.held):
        names = {*subscript.names(), *names_of(team.scope.facts), *threads}
        renaming = space.copy(space.closure(names), SECOND)
        others = [renaming[name] for name in threads]
        meet = both(team.scope.facts, both(equal(subscript, subscript.rename(renaming)), different(threads, others)))
        decision = decide(model, [meet], (*team.scope.threads, *others), False, (SECOND,))
    return rests_on_sizes(model, decision)


def _anywhere(model: Model, team: Team, first: Access, second: Access) -> Decision:
    """Whether two threads of a block meet in these elements, if nothing but the threads' own facts is known."""
    if first.element is None or second.element is None or not model.aliases.comparable(first.root, second.root, True):
        return Decision("may")
    with model.space.holding(team.held):
        one, other = (replace(a, scope=replace(a.scope, facts=team.scope.facts)) for a in (first, second))
        meet, names = _question(model, team, one, other, None)
        return decide(model, [meet], names, False, (SECOND,))


def _common(phases: Phases, first: Access, second: Access) -> set[int]:
    """The barriers after which both may happen."""
    one, other = phases.of(first.scope, second.scope)
    return {p.number for p in one} & {p.number for p in other}


def _meet(
    model: Model,
    team: Team,
    phases: Phases,
    first: Access,
    second: Access,
    beside: bool | None,
    loops: tuple[str, ...] = (),
) -> Decision:
    """Whether two threads of a block meet; `beside`: only those of one sub-group, or only those of two. `loops`: only in two
    iterations of these.
    """
    pieces = phases.of(first.scope, second.scope)
    numbers = _common(phases, first, second)
    if not numbers:
        return Decision("never")
    exact = all(a.scope.exact and is_known(a.scope.facts) for a in (first, second)) and phases.exact and not phases.lost
    exact = exact and model.aliases.one(first.root, second.root, True)
    with model.space.holding(team.held):
        meet, names = _question(model, team, first, second, beside, loops)
        if max(map(len, pieces)) > 1:  # most accesses do not meet whatever is between them
            decision = decide(model, [meet], names, False, (SECOND,))
            if decision.kind == "never":
                return decision
        meet = both(meet, _same_phase(model, phases, pieces, numbers, second))
        return decide(model, [meet], (*names, phases.slots[0]), exact, (SECOND,))


def _same_phase(model: Model, phases: Phases, pieces: list[tuple[Piece, ...]], numbers: set[int], second: Access) -> Formula:
    """That both are in one phase, which the slots name."""
    one, other = (phases.formula([p for p in found if p.number in numbers]) for found in pieces)
    own = set(names_of(other)).difference(phases.slots)
    renaming = model.space.copy({*model.space.closure(own), *phases.counters(second.scope.order)}, SECOND)
    return both(one, rename(other, renaming))


def _question(
    model: Model, team: Team, first: Access, second: Access, beside: bool | None, loops: tuple[str, ...] = ()
) -> tuple[Formula, tuple[str, ...]]:
    """That two threads meet in one element, at any time, and the names of both and of the element."""
    assert first.element is not None and second.element is not None
    space, count = model.space, len(model.regions[team.region].scope.threads)
    blocks, threads = team.scope.threads[:count], team.scope.threads[count:]
    names = {*names_of(second.scope.facts), *threads, *loops, *(n for e in second.element for n in e.names())}
    part = team.part if beside is not None else None
    if part is not None:
        names.update(part.names())
    renaming = space.copy(space.closure(names), SECOND)
    meet: Formula = both(first.scope.facts, rename(second.scope.facts, renaming))
    for a, b in zip(first.element, second.element, strict=True):
        meet = both(meet, equal(a, b.rename(renaming)))
    others = [renaming[name] for name in threads]
    meet = both(meet, different(threads, others))
    if loops:
        meet = both(meet, different(loops, [renaming[name] for name in loops]))
    if part is not None:
        same = equal(part, part.rename(renaming))
        meet = both(meet, same if beside else negate(same))
    places = space.element_names(len(first.element))
    for name, subscript in zip(places, first.element, strict=True):
        meet = both(meet, equal(Linear.of(name), subscript))
    return meet, (*blocks, *threads, *others, *places)


def between_blocks(model: Model, region: RegionModel) -> Iterator[RaceFinding]:
    """The pairs of accesses that two blocks make, whatever barriers their threads meet."""
    own = [
        a
        for a in model.accesses
        if a.region == region.number
        and not model.aliases.only_of(a.root, model.shared)
        and not isinstance(a.operation, typed.View)
    ]
    for first, second in pairs(model, distinct(own)):
        if first.element is None or second.element is None or not model.aliases.comparable(first.root, second.root, False):
            decision = apart_as_made(model, first.root, second.root)
        else:
            meet, names = meeting(model, first, second, region.scope.threads)
            exact = all(a.scope.exact and is_known(a.scope.facts) for a in (first, second))
            exact = exact and model.aliases.one(first.root, second.root, False)
            decision = decide(model, [meet], names, exact, (SECOND,))
        yield RaceFinding(first, second, decision, "blocks")


def of_each_pair(findings: Iterable[RaceFinding]) -> list[RaceFinding]:
    """One finding for each pair of operations, or one for each condition that it rests on."""
    found: dict[tuple[int, int], dict[object, RaceFinding]] = {}
    for finding in findings:
        decision = finding.decision
        of_pair = found.setdefault((id(finding.first.operation), id(finding.second.operation)), {})
        of_pair.setdefault(id(decision) if decision.kind == "when" else (decision.kind, decision.assumptions), finding)
    result: list[RaceFinding] = []
    for of_pair in found.values():
        failing = [f for f in of_pair.values() if f.decision.kind in ("always", "may")]
        certain = [f for f in failing if f.decision.kind == "always"]
        resting = [f for f in of_pair.values() if f.decision.kind == "when" or f.decision.assumptions]
        result += (certain or failing)[:1] or resting or list(of_pair.values())
    return result
