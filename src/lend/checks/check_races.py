"""Races: two different iterations of a parallel loop never touch one element, one of them writing.

Does: decide every pair of accesses of a region.  Does not: word messages (`explain.py`).
Invariants: values of two iterations are different symbols, even if they have one name; writing the same value counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from lend.checks.decide import Decision, decide
from lend.diagnostics.records import dataclass
from lend.ir import typed
from lend.model.build import Access, Model, RegionModel
from lend.model.linear import FALSE, Formula, Linear, at_least, both, either, equal, is_known, names_of, rename

SECOND = "_b"
"""The suffix of the second iteration's names."""


@dataclass(frozen=True, eq=False)
class RaceFinding:
    """The decision about a pair of accesses."""

    first: Access
    second: Access
    decision: Decision


def check_races(model: Model) -> list[RaceFinding]:
    """A finding for each pair of accesses that could meet, region by region.

    Accesses that differ in nothing but their place in the source are judged once, for the first of them.
    """
    findings: list[RaceFinding] = []
    for region in model.regions:
        accesses = distinct(a for a in model.accesses if a.region == region.number and not isinstance(a.operation, typed.View))
        found = list(pairs(model, accesses))
        guards = Counter(_places(*pair) for pair in found)
        unguarded: dict[tuple[object, ...], Decision] = {}
        for first, second in found:
            key = _places(first, second)
            if guards[key] >= MANY and key not in unguarded:
                unguarded[key] = _pair(model, *(_anywhere(region, a) for a in (first, second)))
            decision = unguarded.get(key)
            if decision is None or not _rests_on_sizes(model, decision):
                decision = _pair(model, first, second)
            findings.append(RaceFinding(first, second, decision))
    return findings


MANY = 4
"""From so many pairs of the same elements on, under guards that differ, it is first asked whether they meet without those."""


def _places(first: Access, second: Access) -> tuple[object, ...]:
    """What a pair's question is about, but for what is known where."""
    return first.root, second.root, first.element, second.element


def _anywhere(region: RegionModel, access: Access) -> Access:
    """The access in all iterations of its region, whatever guards it."""
    return replace(access, scope=replace(access.scope, facts=region.scope.facts))


def _rests_on_sizes(model: Model, decision: Decision) -> bool:
    """Proved, on nothing that a question with more facts would not rest on too."""
    launch = model.space.names.launch
    return decision.kind == "never" and all(launch.get(name) in model.sizes for name in decision.assumptions)


def distinct(accesses: Iterable[Access]) -> list[Access]:
    """The first of all accesses that are the same question: kind, array, field, element, facts, and whether they are assumed."""
    seen: dict[tuple[object, ...], Access] = {}
    for a in accesses:
        assumed = a.operation.site is None
        key = (a.writes, a.root, a.within, a.element, a.scope.facts, a.scope.threads, a.scope.exact, assumed)
        seen.setdefault(key, a)
    return list(seen.values())


def pairs(model: Model, accesses: list[Access]) -> Iterator[tuple[Access, Access]]:
    """Pairs with a write whose arrays and fields may be the same; private arrays never meet."""
    for position, first in enumerate(accesses):
        for second in accesses[position:]:
            if not (first.writes or second.writes) or first.within != second.within:
                continue
            if any(model.aliases.roots[model.aliases.base[a.root]] <= model.private for a in (first, second)):
                continue
            if first.root is second.root or model.aliases.overlap(first.root, second.root):
                yield first, second


def _pair(model: Model, first: Access, second: Access) -> Decision:
    if first.element is None or second.element is None or first.root is not second.root:
        return Decision("may", "the two arrays may be the same memory seen in different shapes")
    meet, names = meeting(model, first, second)
    exact = all(a.scope.exact and is_known(a.scope.facts) for a in (first, second))
    return decide(model, [meet], names, exact, (SECOND,))


def meeting(model: Model, first: Access, second: Access) -> tuple[Formula, tuple[str, ...]]:
    """That two iterations meet in one element of one array, and the names of both iterations and of the element."""
    assert first.element is not None and second.element is not None
    renaming = model.space.copy(
        model.space.closure(
            {*names_of(second.scope.facts), *second.scope.threads, *(n for e in second.element for n in e.names())}
        ),
        SECOND,
    )
    meet: Formula = both(first.scope.facts, rename(second.scope.facts, renaming))
    for a, b in zip(first.element, second.element, strict=True):
        meet = both(meet, equal(a, b.rename(renaming)))
    threads = [renaming[name] for name in first.scope.threads]
    meet = both(meet, different(first.scope.threads, threads))
    places = model.space.element_names(len(first.element))  # so that a witness names the element
    for name, subscript in zip(places, first.element, strict=True):
        meet = both(meet, equal(Linear.of(name), subscript))
    return meet, (*first.scope.threads, *threads, *places)


def different(a: tuple[str, ...], b: list[str]) -> Formula:
    """Two iterations are not the same."""
    result: Formula = FALSE
    for x, y in zip(a, b, strict=True):
        p, q = Linear.of(x), Linear.of(y)
        result = either(result, either(at_least(p, q.plus(1)), at_least(q, p.plus(1))))
    return result
