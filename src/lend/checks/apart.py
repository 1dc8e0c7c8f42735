"""Whether two views of arrays share no element.

Does: decide it for views of one root by their subscripts, and for what branches and loops make by what that is made from.
Does not: say where it matters (`check_aliases.py`, `check_races.py`, `team_races.py`).
Invariants: arrays of different roots are apart only if they can never be the same memory. What two names stand for in a loop is
apart if it is before the loop, and at the end of each iteration that begins so: while that is looked at, they are `supposed` to
be.
"""

from __future__ import annotations

from lend.checks.decide import Decision, decide
from lend.ir.typed import Value
from lend.model.linear import TRUE, Formula, Linear, at_least, both, equal, is_known
from lend.model.records import Model, Scope
from lend.model.views import View, locate

MAY_MEET = "the same elements may be reached by another name, slice or reshape"


def apart_as_made(model: Model, a: Value, b: Value) -> Decision:
    """Of two arrays of a region that may be the same memory: whether what they are made from at host level keeps them apart.

    What a region itself makes of several arrays may be another one in each of its iterations, and is not looked at.
    """
    if a is b or any(root not in model.births or model.births[root].in_block for root in (a, b)):
        return Decision("may", MAY_MEET)
    return _Apart(model).roots(a, b)


def apart(model: Model, a: View, b: View, scope: Scope) -> Decision:
    """Of two views, of whatever arrays, at one place."""
    return _Apart(model).views(a, b, scope)


class _Apart:
    """One question."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.supposed: set[frozenset[Value]] = set()

    def views(self, a: View, b: View, scope: Scope) -> Decision:
        """Two views at one place."""
        return self.places(a, b, scope) if a.root is b.root else self.roots(a.root, b.root)

    def roots(self, a: Value, b: Value) -> Decision:
        """Two roots."""
        pair = frozenset((a, b))
        if pair in self.supposed or not self.model.aliases.overlap(a, b):
            return Decision("never")
        one, other = self.model.births.get(a), self.model.births.get(b)
        if one is None or other is None or one.merge != other.merge:
            return Decision("may", MAY_MEET)
        self.supposed.add(pair)
        assumptions: set[str] = set()
        for (x, place), (y, _) in zip(one.sources, other.sources, strict=True):
            decision = self.views(x, y, place)
            if decision.kind != "never":
                return Decision("may", MAY_MEET)
            assumptions.update(decision.assumptions)
        return Decision("never", assumptions=tuple(sorted(assumptions)))

    def places(self, a: View, b: View, scope: Scope) -> Decision:
        """Two views of one root."""
        if a.origin is None or b.origin is None:
            return Decision("may", MAY_MEET)
        space = self.model.space
        places = space.element_names(len(a.origin))
        shared, names = scope.facts, list(places)
        for view, hint in ((a, "p"), (b, "q")):
            own = space.plain_names(hint, len(view.shape))
            names += own
            shared = both(shared, _holds(view, own, places))
        return decide(self.model, [shared], names, scope.exact and is_known(scope.facts))


def _holds(view: View, own: list[str], places: list[str]) -> Formula:
    """That the element `places` of the root is the element `own` of the view."""
    held: Formula = TRUE
    for name, size in zip(own, view.shape, strict=True):
        held = both(held, both(at_least(Linear.of(name), Linear.constant(0)), at_least(size, Linear.of(name).plus(1))))
    element = locate(view, tuple(map(Linear.of, own)))
    assert element is not None
    for name, subscript in zip(places, element, strict=True):
        held = both(held, equal(Linear.of(name), subscript))
    return held
