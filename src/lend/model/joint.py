"""Writes of both arms of a branch as one: what either arm writes is written whatever the condition says.

Does: find pairs of writes, in the same loops of both arms, that write the same elements.  Does not: look at their bounds.
Invariants: a joint write happens at all elements that it names, in every instance of its branch; loops are the same if they
differ in nothing but the names of their counters.

Example: `for k in range(M): y[i, k] = 1.0` in one arm and `for k in range(M): y[i, k] = 2.0` in the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from lend.model.linear import All, Formula, both, rename

if TYPE_CHECKING:
    from lend.model.records import Access, Scope


def joint_writes(
    writes: Iterable[Access], arms: tuple[Scope, Scope], conditions: tuple[Formula, Formula], here: Scope
) -> Iterator[tuple[Access, Access, Access]]:
    """Pairs of writes, one in each arm, and what they are together after the branch, at `here`."""
    inside: tuple[list[tuple[Access, list[Formula]]], ...] = ([], [])
    for write in writes:
        for number, arm in enumerate(arms):
            if write.writes and write.element is not None and write.scope.order[: len(arm.order)] == arm.order:
                extra = _extra(write, arm, here, conditions[number])
                if extra is not None:
                    inside[number].append((write, extra))
    for a, extra in inside[0]:
        for b, other in inside[1]:
            if a.root is not b.root or a.within != b.within:
                continue
            renaming = _same_loops(a.scope, b.scope, len(arms[0].order))
            if renaming is None or a.element != tuple(e.rename(renaming) for e in b.element or ()):
                continue
            if set(extra) == {rename(fact, renaming) for fact in other}:
                facts = here.facts
                for fact in extra:
                    facts = both(facts, fact)
                order = (*here.order, *a.scope.order[len(arms[0].order) + 1 :])  # as if the loop stood after the branch
                scope = replace(a.scope, facts=facts, order=order, unsure=here.unsure)
                yield a, b, replace(a, scope=scope)


def _extra(write: Access, arm: Scope, here: Scope, condition: Formula) -> list[Formula] | None:
    """What holds at a write beside what holds in its whole arm; None if it is not sure to happen there."""
    if any(len(place) > len(arm.order) or place not in arm.unsure for place in write.scope.unsure):
        return None
    given = {*_parts(here.facts), *_parts(condition)}
    return [part for part in _parts(write.scope.facts) if part not in given]


def _same_loops(a: Scope, b: Scope, depth: int) -> dict[str, str] | None:
    """The names of b's loops inside its arm as those of a's, if the loops pair up."""
    steps = a.order[depth:], b.order[depth:]
    if len(steps[0]) != len(steps[1]) or len(a.threads) != len(b.threads):
        return None
    renaming = dict(zip(b.threads, a.threads, strict=True))
    for x, y in zip(*steps, strict=True):
        if isinstance(x, str) != isinstance(y, str):
            return None
        if isinstance(x, str) and isinstance(y, str):
            renaming[y] = x
    return renaming


def _parts(formula: Formula) -> tuple[Formula, ...]:
    return formula.parts if isinstance(formula, All) else (formula,)
