"""Bounds: every subscript lies inside its own dimension.

Does: decide each access of the model.  Does not: word messages (`explain.py`) or change the tree (`schedule/`).
Invariants: an access through a view made in a region is proved only if the view's own check is: where that fails the view is
empty.
"""

from __future__ import annotations

from dataclasses import replace

from lend.checks.decide import Decision, decide
from lend.checks.reach import Reach, Reacher
from lend.diagnostics.records import dataclass
from lend.model.build import Access, Dimension, Model
from lend.model.linear import Formula, Linear, at_least, both, either, is_known


@dataclass(frozen=True, eq=False)
class BoundsFinding:
    """The decision about one access, and about the dimension that decided it."""

    access: Access
    decision: Decision
    dimension: Dimension | None = None
    reach: Reach | None = None  # of what is not decided: when it stays inside, as can be seen before its loop


def check_bounds(model: Model) -> list[BoundsFinding]:
    """A finding for each access, in the order of the model."""
    findings: dict[Access, BoundsFinding] = {}
    reachers: dict[int, Reacher] = {}
    for access in model.accesses:
        views = [findings[view] for view in access.through if view in findings]
        finding = findings[access] = _access(model, access, views)
        if finding.decision.kind == "may" and finding.reach is None and access.region is not None and all(map(settled, views)):
            reach = reachers.setdefault(access.region, _reacher(model, access.region)).reach(access)
            if reach is not None:
                findings[access] = replace(finding, decision=replace(finding.decision, assumptions=()), reach=reach)
    return list(findings.values())


def settled(finding: BoundsFinding) -> bool:
    """Whether an access needs no check where the conditions of its loop hold."""
    return finding.decision.kind in ("never", "when") or finding.reach is not None


def _reacher(model: Model, region: int) -> Reacher:
    numbers = ((value, expression.value) for value, expression in model.evaluator.numbers.items())
    constants = {value: number for value, number in numbers if number is not None}
    return Reacher(model.regions[region].operation, constants, model.sizes)


def _access(model: Model, access: Access, views: list[BoundsFinding]) -> BoundsFinding:
    if all(view.decision.kind == "never" for view in views):
        return _inside(model, access, {name for view in views for name in view.decision.assumptions})
    reason = "the sub-view that it goes through may not lie inside its array"
    if all(map(settled, views)):
        own = _inside(model, access, set())
        if own.decision.kind == "never":  # the views' own conditions are those of the loop
            return BoundsFinding(access, replace(own.decision, kind="may", reason=reason), reach=Reach(()))
    return BoundsFinding(access, Decision("may", reason))


def _inside(model: Model, access: Access, assumptions: set[str]) -> BoundsFinding:
    """The decision about an access whose views lie inside their arrays."""
    worst: BoundsFinding | None = None
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
