"""Races: two different iterations of a parallel loop never touch one element, one of them writing.

Does: decide every pair of accesses of a region.  Does not: know blocks and barriers (`team_races.py`), or word messages.
Invariants: values of two iterations are different symbols, even if they have one name; writing the same value counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Literal

from lend.checks.apart import apart_as_made
from lend.checks.decide import Decision, decide, rests_on_sizes
from lend.diagnostics.records import dataclass
from lend.ir import typed
from lend.model.linear import FALSE, Formula, Linear, at_least, both, either, equal, is_known, names_of, rename
from lend.model.records import Access, Model, RegionModel

SECOND = "_b"
"""The suffix of the second iteration's names."""


@dataclass(frozen=True, eq=False)
class RaceFinding:
    """The decision about a pair of accesses, of two iterations, two threads of a block or two blocks."""

    first: Access
    second: Access
    decision: Decision
    among: Literal["iterations", "threads", "blocks"] = "iterations"


def check_races(model: Model) -> list[RaceFinding]:
    """A finding for each pair of accesses that could meet, region by region.

    Accesses that differ in nothing but their place in the source are judged once, for the first of them.
    """
    findings: list[RaceFinding] = []
    for region in model.regions:
        if isinstance(region.operation, typed.Blocks):
            continue
        accesses = distinct(a for a in model.accesses if a.region == region.number and not isinstance(a.operation, typed.View))
        found = list(pairs(model, accesses))
        guards = Counter(places(*pair) for pair in found)
        unguarded: dict[tuple[object, ...], Decision] = {}
        for first, second in found:
            key = places(first, second)
            if guards[key] >= MANY and key not in unguarded:
                unguarded[key] = _pair(model, *(_anywhere(region, a) for a in (first, second)))
            decision = unguarded.get(key)
            if decision is None or not rests_on_sizes(model, decision):
                decision = _pair(model, first, second)
            findings.append(RaceFinding(first, second, decision))
    return findings


MANY = 4
"""From so many pairs of the same elements on, under guards that differ, it is first asked whether they meet without those."""


def places(first: Access, second: Access) -> tuple[object, ...]:
    """What a pair's question is about, but for what is known where."""
    return first.root, second.root, first.element, second.element


def _anywhere(region: RegionModel, access: Access) -> Access:
    """The access in all iterations of its region, whatever guards it."""
    return replace(access, scope=replace(access.scope, facts=region.scope.facts))


def distinct(accesses: Iterable[Access]) -> list[Access]:
    """The first of all accesses that are the same question: kind, array, field, element, facts, and whether they are assumed."""
    seen: dict[tuple[object, ...], Access] = {}
    for a in accesses:
        assumed = a.operation.site is None
        key = (a.writes, a.root, a.within, a.element, a.scope.facts, a.scope.threads, a.scope.exact, assumed)
        seen.setdefault(key, a)
    return list(seen.values())


def pairs(model: Model, accesses: list[Access], threads: bool = False) -> Iterator[tuple[Access, Access]]:
    """Pairs with a write whose arrays and fields may be the same in two iterations (or `threads` of a block); private arrays
    never meet."""
    writes = [(position, access) for position, access in enumerate(accesses) if access.writes]
    for position, first in enumerate(accesses):
        later = accesses[position:] if first.writes else [second for at, second in writes if at > position]
        for second in later:
            if first.within != second.within:
                continue
            if any(model.aliases.roots[model.aliases.base[a.root]] <= model.private for a in (first, second)):
                continue
            if not model.aliases.apart(first.root, second.root, threads):
                yield first, second


def _pair(model: Model, first: Access, second: Access) -> Decision:
    if first.element is None or second.element is None or not model.aliases.comparable(first.root, second.root, False):
        return apart_as_made(model, first.root, second.root)
    meet, names = meeting(model, first, second)
    exact = all(a.scope.exact and is_known(a.scope.facts) for a in (first, second))
    exact = exact and model.aliases.one(first.root, second.root, False)
    return decide(model, [meet], names, exact, (SECOND,))


def meeting(model: Model, first: Access, second: Access, apart: tuple[str, ...] | None = None) -> tuple[Formula, tuple[str, ...]]:
    """That two iterations meet in one element of one array, and the names of both iterations and of the element.

    `apart`: the indices in which they differ, if not all.
    """
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
    differing = first.scope.threads if apart is None else apart
    threads = [renaming[name] for name in second.scope.threads]
    meet = both(meet, different(differing, [renaming[name] for name in differing]))
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
