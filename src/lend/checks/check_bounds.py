"""Bounds: every subscript lies inside its own dimension.

Does: decide each access of the model.  Does not: word messages (`explain.py`) or change the tree (`schedule/`).
Invariants: an access through a view made in a region is proved only if the view's own check is: where that fails the view is
empty.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from lend.checks.decide import Decision, decide
from lend.model.build import Access, Dimension, Model
from lend.model.linear import Formula, Linear, at_least, both, either, is_known


@dataclass(frozen=True, eq=False)
class BoundsFinding:
    """The decision about one access, and about the dimension that decided it."""

    access: Access
    decision: Decision
    dimension: Dimension | None = None


def check_bounds(model: Model) -> list[BoundsFinding]:
    """A finding for each access, in the order of the model."""
    findings: dict[Access, BoundsFinding] = {}
    for access in model.accesses:
        findings[access] = _access(model, access, findings)
    return list(findings.values())


def _access(model: Model, access: Access, known: dict[Access, BoundsFinding]) -> BoundsFinding:
    for view in access.through:
        if view in known and known[view].decision.kind != "never":
            return BoundsFinding(access, Decision("may", "the sub-view that it goes through may not lie inside its array"))
    worst: BoundsFinding | None = None
    assumptions = {name for view in access.through if view in known for name in known[view].decision.assumptions}
    exact = access.scope.exact and is_known(access.scope.facts)
    for dimension in access.bounds:
        bad = both(access.scope.facts, outside(dimension))
        decision = decide(model, [bad], access.scope.threads, exact)
        assumptions.update(decision.assumptions)
        if worst is None or _RANK[decision.kind] > _RANK[worst.decision.kind]:
            worst = BoundsFinding(access, decision, dimension)
        elif decision.kind == "when" and worst.decision.kind == "when":
            first = worst.decision
            joined = replace(
                first,
                good=first.good.intersect(decision.good),
                bad=first.bad.union(decision.bad),
                context=first.context.intersect(decision.context),
            )
            worst = BoundsFinding(access, joined, worst.dimension)
    if worst is None:
        return BoundsFinding(access, Decision("never", assumptions=tuple(sorted(assumptions))))
    return BoundsFinding(access, replace(worst.decision, assumptions=tuple(sorted(assumptions))), worst.dimension)


_RANK = {"never": 0, "when": 1, "may": 2, "always": 3}


def outside(dimension: Dimension) -> Formula:
    """`index < 0 or index >= size`."""
    below = at_least(Linear.constant(-1), dimension.index)
    return either(below, at_least(dimension.index, dimension.size))
