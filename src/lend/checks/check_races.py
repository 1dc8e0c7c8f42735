"""Races: two different iterations of a parallel loop never touch one element, one of them writing.

Does: decide every pair of accesses of a region.  Does not: word messages (`explain.py`).
Invariants: values of two iterations are different symbols, even if they have one name; writing the same value counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lend.checks.decide import Decision, decide
from lend.diagnostics.records import dataclass
from lend.ir import typed
from lend.model.build import Access, Model
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
        for first, second in pairs(model, accesses):
            findings.append(RaceFinding(first, second, _pair(model, first, second)))
    return findings


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
