"""Revisits: an iteration of a parallel loop touches an element again that it has written.

Does: say for a region that no iteration of it does.  Does not: refuse anything: iterations may, they are sequential inside.
Invariants: the answer is true only if it is proved; reading an element and then writing it is no revisit.

Why it matters: LLVM takes a loop whose accesses are said to be parallel for one in which no two accesses depend on each other in
any way, and moves the loads of an iteration over its stores.

Example: `y[2 * i + k] = a` followed by a read of `y[2 * i + 1]` is a revisit for k = 1, though all iterations are independent.
"""

from __future__ import annotations

from lend.checks.check_races import SECOND, different, pairs
from lend.ir import typed
from lend.model.linear import Formula, Linear, both, equal, names_of, rename
from lend.model.records import THREADS, Access, Model


def writes_are_final(model: Model, region: int) -> bool:
    """Whether no iteration of a region touches an element again that it has written."""
    accesses = [a for a in model.accesses if a.region == region and not isinstance(a.operation, typed.View)]
    for first, second in pairs(model, accesses):
        if first.writes and _revisits(model, first, second):
            return False
        if second.writes and first is not second and _revisits(model, second, first):
            return False
    return True


def _revisits(model: Model, write: Access, other: Access) -> bool:
    """Whether `other` may touch what `write` has written in the same iteration."""
    loops, later = _relation(write, other)
    if not loops and not later:
        return False
    if write.element is None or other.element is None or write.root is not other.root:
        return True
    renaming: dict[str, str] = {}
    if loops:  # values that other iterations of these loops compute are others
        names = {*names_of(other.scope.facts), *other.scope.threads, *loops, *(n for e in other.element for n in e.names())}
        renaming = model.space.copy(model.space.closure(names), SECOND)
    meet: Formula = both(write.scope.facts, rename(other.scope.facts, renaming))
    for a, b in zip(write.element, other.element, strict=True):
        meet = both(meet, equal(a, b.rename(renaming)))
    if loops:
        for name in write.scope.threads:
            meet = both(meet, equal(Linear.of(name), Linear.of(renaming[name])))
        if not later:
            meet = both(meet, different(loops, [renaming[name] for name in loops]))
    plain = {n.removesuffix(SECOND) for n in (*names_of(meet), *write.scope.threads)}
    if model.evaluator.rests_on(model.space.closure(plain), [meet]):
        return True  # it would be shown only for scalars of moderate size
    return not model.space.empty([meet], write.scope.threads, (SECOND,) if loops else ())


def _relation(write: Access, other: Access) -> tuple[tuple[str, ...], bool]:
    """The loops inside the region that both stand in, and whether in one run of those `other` comes after `write`."""
    loops: list[str] = []
    inside = False
    for a, b in zip(write.scope.order, other.scope.order, strict=False):
        if a != b:
            return tuple(loops), isinstance(a, int) and isinstance(b, int) and a < b
        if a == THREADS:
            inside = True
        elif inside and isinstance(a, str):
            loops.append(a)
    return tuple(loops), False
