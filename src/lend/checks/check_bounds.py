"""Bounds: every subscript lies inside its own dimension.

Does: decide each access of the model.  Does not: word messages (`explain.py`) or change the tree (`schedule/`).
Invariants: an access through a view made in a region is proved only if the view's own check is: where that fails the view is
empty.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from lend.checks.decide import Decision, decide, rests_on_sizes
from lend.checks.reach import Reach, Reacher
from lend.diagnostics.records import dataclass
from lend.ir import typed
from lend.model.linear import Formula, Linear, at_least, both, either, is_known
from lend.model.records import Access, Dimension, Model


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
    anywhere = _Anywhere(model)
    for access in model.accesses:
        views = [findings[view] for view in access.through if view in findings]
        finding = findings[access] = _access(model, access, views, anywhere)
        undecided = finding.decision.kind == "may" and finding.reach is None
        if undecided and _in_iterations(model, access) and all(map(settled, views)):
            assert access.region is not None
            reach = reachers.setdefault(access.region, _reacher(model, access.region)).reach(access)
            if reach is not None:
                findings[access] = replace(finding, decision=replace(finding.decision, assumptions=()), reach=reach)
    return list(findings.values())


MANY = 4
"""From so many accesses with one subscript on, it is first asked whether that is always inside, whatever guards them."""


class _Anywhere:
    """Subscripts that many accesses of a region have, and whether they are inside in all of its iterations, or threads."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.counts = Counter(self._key(a, dimension) for a in model.accesses for dimension in a.bounds)
        self.decisions: dict[tuple[object, ...], Decision] = {}

    def _key(self, access: Access, dimension: Dimension) -> tuple[object, ...]:
        return access.region, access.scope.team, access.scope.threads, dimension.index, dimension.size

    def inside(self, access: Access, dimension: Dimension) -> Decision | None:
        """The proof that stands for all of them, if there is one; it rests on nothing that theirs would not rest on."""
        key = self._key(access, dimension)
        if access.region is None or self.counts[key] < MANY:
            return None
        if key not in self.decisions:
            team = access.scope.team
            scope = self.model.regions[access.region].scope if team is None else self.model.teams[team].scope
            bad = both(scope.facts, outside(dimension))
            self.decisions[key] = decide(self.model, [bad], access.scope.threads, False)
        decision = self.decisions[key]
        return decision if rests_on_sizes(self.model, decision) else None


def _in_iterations(model: Model, access: Access) -> bool:
    """Whether an access stands in a parallel loop over iterations, whose indices alone bound what is in it."""
    return access.region is not None and isinstance(model.regions[access.region].operation, typed.Parallel)


def settled(finding: BoundsFinding) -> bool:
    """Whether an access needs no check where the conditions of its loop hold."""
    return finding.decision.kind in ("never", "when") or finding.reach is not None


def _reacher(model: Model, region: int) -> Reacher:
    numbers = ((value, expression.value) for value, expression in model.evaluator.numbers.items())
    constants = {value: number for value, number in numbers if number is not None}
    operation = model.regions[region].operation
    assert isinstance(operation, typed.Parallel)
    return Reacher(operation, constants, model.sizes)


def _access(model: Model, access: Access, views: list[BoundsFinding], anywhere: _Anywhere) -> BoundsFinding:
    if all(view.decision.kind == "never" for view in views):
        return _inside(model, access, {name for view in views for name in view.decision.assumptions}, anywhere)
    reason = "the sub-view that it goes through may not lie inside its array"
    if all(map(settled, views)):
        own = _inside(model, access, set(), anywhere)
        if own.decision.kind == "never":  # the views' own conditions are those of the loop
            return BoundsFinding(access, replace(own.decision, kind="may", reason=reason), reach=Reach(()))
    return BoundsFinding(access, Decision("may", reason))


def _inside(model: Model, access: Access, assumptions: set[str], anywhere: _Anywhere) -> BoundsFinding:
    """The decision about an access whose views lie inside their arrays."""
    worst: BoundsFinding | None = None
    exact = access.scope.exact and is_known(access.scope.facts)
    for dimension in access.bounds:
        decision = anywhere.inside(access, dimension)
        if decision is None:
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
                known=first.known.intersect(decision.known),
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
