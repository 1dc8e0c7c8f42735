"""How far apart iterations of two parallel loops lie that touch one element.

Does: bound the difference of a coordinate between an iteration of one loop and one of another, both inside a loop of the host
level, in the same run of its body or in different ones.  Does not: choose coordinates (`waves.py`).
Invariants: a bound holds for all sizes and for any two runs of the body: what changes from run to run counts as unknown, and so
does a scalar of which no more than its type is known. Arrays that may be the same memory are compared element by element only
where each is known to be a whole array, so that two of them are one array or do not meet.

Example: between `v[i] = u[i - 1] + u[i + 1]` and `u[i] = v[i]` the difference of i is in -1 .. 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from lend.checks.check_races import SECOND, distinct
from lend.diagnostics.records import dataclass
from lend.ir import typed
from lend.ir.typed import Value
from lend.language.types import ArrayType
from lend.model.linear import TRUE, All, Formula, Linear, both, equal, names_of, rename
from lend.model.records import Access, Model, RegionModel
from lend.model.sets import OverBudget, interval_of

APART = "apart"
"""The name of the difference."""


@dataclass(frozen=True)
class Distance:
    """`later - earlier` of a coordinate lies in low .. high; None for no bound."""

    low: int | None
    high: int | None

    def joined(self, other: Distance | None) -> Distance:
        """The hull of both."""
        if other is None:
            return self
        low = None if self.low is None or other.low is None else min(self.low, other.low)
        return Distance(low, None if self.high is None or other.high is None else max(self.high, other.high))


UNBOUNDED = Distance(None, None)


class Distances:
    """Distances between the loops of one model that stand inside one loop of the host level."""

    def __init__(self, model: Model, loop: typed.For | typed.While, regions: Sequence[RegionModel], depth: int) -> None:
        """`depth`: how many loops of the host level stand around `loop`, whose body is run again and again."""
        self.model = model
        self._outer = {counter for region in regions for counter in region.scope.counters[:depth]}
        self._inner = {counter for region in regions for counter in region.scope.counters[depth:]}
        self._accesses = {
            region.number: distinct(
                a for a in model.accesses if a.region == region.number and not isinstance(a.operation, typed.View)
            )
            for region in regions
        }
        self._whole = whole_arrays(model.kernel)
        self._made = _arrays_made(loop)
        self._asked: dict[tuple[Access, Access, Linear, Linear], Distance | None] = {}
        model.space.names.definitions.setdefault(APART, TRUE)
        model.space.names.made_in.setdefault(APART, ())

    def writes(self, region: RegionModel) -> list[Access]:
        """The writes of a loop."""
        return [a for a in self._accesses[region.number] if a.writes]

    def fixed(self, expression: Linear) -> bool:
        """Whether an expression has one value in all runs of the body, and rests on nothing."""
        closure = self.model.space.closure(expression.names())
        fixed = all(n in self.model.space.names.launch and not self._varies(n) for n in closure)
        return fixed and not expression.assumed and not self.model.evaluator.rests_on(closure, ())

    def between(self, first: RegionModel, second: RegionModel, earlier: Linear, later: Linear) -> Distance | None:
        """The distance from `first` to `second`, where these coordinates count their iterations; None: they never meet."""
        found: Distance | None = None
        for a in self._accesses[first.number]:
            for b in self._accesses[second.number]:
                if (a.writes or b.writes) and a.within == b.within and self._may_meet(a, b):
                    distance = self._pair(a, b, earlier, later)
                    if distance is not None:
                        found = distance.joined(found)
                        if found == UNBOUNDED:
                            return found
        return found

    def _may_meet(self, a: Access, b: Access) -> bool:
        """Whether the arrays may be the same memory, not only in one run of the body."""
        aliases = self.model.aliases
        x, y = (aliases.roots[aliases.base[access.root]] for access in (a, b))
        return not (x <= self.model.private or y <= self.model.private or x.isdisjoint(y))

    def _pair(self, a: Access, b: Access, earlier: Linear, later: Linear) -> Distance | None:
        if a.element is None or b.element is None or len(a.element) != len(b.element) or not self._comparable(a.root, b.root):
            return UNBOUNDED
        for x, y in zip(a.element, b.element, strict=True):
            shift, other = x.sub(earlier).value, y.sub(later).value
            if shift is not None and other is not None:  # earlier + shift = later + other
                return Distance(shift - other, shift - other)
        key = (a, b, earlier, later)
        if key not in self._asked:
            self._asked[key] = self._ask(a, a.element, b, b.element, earlier, later)
        return self._asked[key]

    def _comparable(self, a: Value, b: Value) -> bool:
        """Whether elements of these arrays with other subscripts are other elements."""
        return (a in self._whole and b in self._whole) or (a is b and a not in self._made)

    def _ask(
        self, a: Access, at: tuple[Linear, ...], b: Access, other: tuple[Linear, ...], earlier: Linear, later: Linear
    ) -> Distance | None:
        space = self.model.space
        first, second = self._facts(a), self._facts(b)
        mine = {n for e in (*at, earlier) for n in e.names()}
        yours = {n for e in (*other, later) for n in e.names()}
        if any(self._varies(n) for n in space.closure({*mine, *yours})):
            return UNBOUNDED
        renaming = space.copy(space.closure({*names_of(second), *b.scope.threads, *yours}), SECOND)
        meet: Formula = both(first, rename(second, renaming))
        for x, y in zip(at, other, strict=True):
            meet = both(meet, equal(x, y.rename(renaming)))
        meet = both(meet, equal(Linear.of(APART), later.rename(renaming).sub(earlier)))
        plain = {n.removesuffix(SECOND) for n in (*names_of(meet), *a.scope.threads)}
        if self.model.evaluator.rests_on(space.closure(plain), [meet]):
            return UNBOUNDED  # it would be shown only for scalars of moderate size
        try:
            found = space.set((APART,), [meet], "may", (SECOND,))
            bounds = space.guarded(lambda: interval_of(found))
        except OverBudget:
            return UNBOUNDED
        return None if bounds is None else Distance(*bounds)

    def _facts(self, access: Access) -> Formula:
        """The facts of an access that hold in every run of the body alike."""
        facts = access.scope.facts
        kept: Formula = TRUE
        for part in facts.parts if isinstance(facts, All) else (facts,):
            if not any(self._varies(n) for n in self.model.space.closure(names_of(part))):
                kept = both(kept, part)
        return kept

    def _varies(self, name: str) -> bool:
        """Whether a name of the host level may change from run to run."""
        names = self.model.space.names
        return name in names.launch and (name in self._inner or not self._outer.issuperset(names.made_in.get(name, ())))


def _arrays_made(loop: typed.For | typed.While) -> set[Value]:
    """The array values of the host level that a loop's own regions define."""
    found: set[Value] = set()

    def visit(operation: typed.Operation) -> None:
        for inner in operation.regions if not isinstance(operation, typed.Parallel) else ():
            found.update(value for value in inner.parameters if isinstance(value.type, ArrayType))
            for nested in inner.operations:
                found.update(value for value in nested.results if isinstance(value.type, ArrayType))
                visit(nested)

    visit(loop)
    return found


def whole_arrays(kernel: typed.Kernel) -> set[Value]:
    """The array values that always are a whole argument or a whole temporary, though not always the same one."""
    whole = {p.value for p in kernel.parameters if isinstance(p.value.type, ArrayType)}
    sources: dict[Value, list[Value]] = {}

    def flow(values: Sequence[Value], *origins: Sequence[Value]) -> None:
        for position, value in enumerate(values):
            if isinstance(value.type, ArrayType):
                sources.setdefault(value, []).extend(origin[position] for origin in origins)

    def visit(region: typed.Region) -> None:
        for operation in region.operations:
            match operation:
                case typed.Allocate(result=result):
                    whole.add(result)
                case typed.If(results=results, then=then, orelse=orelse):
                    flow(results, then.yields, orelse.yields)
                case typed.Call(results=results, arguments=arguments, body=body):
                    flow(body.parameters, arguments)
                    flow(results, body.yields)
                case typed.For(results=results, inits=inits, body=body, stops=stops):
                    yields = body.yields[1:] if stops else body.yields
                    flow(body.parameters[1:], inits, yields)
                    flow(results, inits, yields)
                case typed.While(results=results, inits=inits, condition=condition, body=body, stops=stops):
                    yields = body.yields[1:] if stops else body.yields
                    flow(condition.parameters, inits, yields)
                    flow(body.parameters, inits, yields)
                    flow(results, inits, yields)
                case _:
                    pass
            if not isinstance(operation, typed.Parallel):
                for inner in operation.regions:
                    visit(inner)

    visit(kernel.body)
    whole.update(sources)  # and now without those that come from something else
    refuted = [value for value in sources if any(s not in whole for s in sources[value])]
    while refuted:
        whole.difference_update(refuted)
        refuted = [value for value in sources if value in whole and any(s not in whole for s in sources[value])]
    return whole
