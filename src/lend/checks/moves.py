"""Which elements of a `Mut` argument a kernel may write, and whether it needs what they held before.

Does: bound the elements that are written by a box, in terms of sizes and integer scalars of the call; prove that all of it is
written, and whatever is read before.
Does not: copy (`runtime/device_launch.py`), or evaluate boxes (`runtime/moves.py`).
Invariants: a box holds every element that a run without a fault can write, for all arguments of which `moderate` scalars are; an
array is `needed` unless it is proved that nothing of it is read, and nothing of its box stays, that the kernel has not written.
Where a name stands for one of several parts of arrays, all that it may stand for counts as written.
Where anything is not known exactly enough to say so, the array gets no `Move`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from lend.checks.check_init import coverage, covered, elements, sure_writes
from lend.checks.decide import Decision
from lend.checks.judge import Judgement
from lend.ir import typed
from lend.ir.typed import Region, Value
from lend.language.moves import Bound, Move, Sum
from lend.language.types import ArrayType, Borrow, ScalarType
from lend.model.linear import All, Any_, Formula, Linear, at_least, both, equal, names_of
from lend.model.records import Access, Model, Scope
from lend.model.sets import OverBudget
from lend.model.views import View

MOST_CASES = 8
"""A bound with more cases is not kept."""

Cases = list[tuple[Formula, Linear]]
"""A bound: its value under each of some conditions, of which none holds where nothing is written."""


def moves_of(judgement: Judgement) -> tuple[Move | None, ...]:
    """For each array among a kernel's arguments what is known of it; None: it has to be copied whole, both ways."""
    kernel = judgement.kernel
    arrays = [parameter for parameter in kernel.parameters if isinstance(parameter.value.type, ArrayType)]
    candidates = [parameter.value for parameter in arrays if _may_be_narrowed(parameter)]
    if not candidates:
        return (None,) * len(arrays)
    mover = _Mover(judgement)
    return tuple([mover.move(parameter.value) if parameter.value in candidates else None for parameter in arrays])


def _may_be_narrowed(parameter: typed.Parameter) -> bool:
    """Records may have gaps, and indices are trusted."""
    type = parameter.value.array
    return type.borrow is Borrow.MUT and isinstance(type.element, ScalarType) and parameter.index is None


class _Mover:
    def __init__(self, judgement: Judgement) -> None:
        self.model: Model = judgement.model
        kernel = judgement.kernel
        leaves = [parameter.value for parameter in kernel.parameters]
        self.places = {value: (True, number) for number, value in enumerate(kernel.dims)}
        self.places |= {v: (False, n) for n, v in enumerate(leaves) if isinstance(v.type, ScalarType)}
        kinds = {finding.access: finding.decision.kind for finding in judgement.bounds}
        self.sure = list(sure_writes(self.model, kinds))
        self.entry = {name: value for name, value in self.model.space.names.launch.items() if value in self.places}
        self.others = set(self.model.space.names.launch) - set(self.entry)
        self.known = {id(access.operation) for access in self.model.accesses}
        base = self.model.aliases.base
        self.hidden = {base.get(array, array) for array in _hidden(kernel.body, self.known)}
        """Arrays that operations touch of which the model says too little."""
        self.returned = {base.get(value, value) for value in kernel.body.yields if isinstance(value.type, ArrayType)}

    def move(self, root: Value) -> Move | None:
        """What is known of one argument."""
        model = self.model
        aliases = model.aliases
        if aliases.base.get(root) is not root:
            return None
        # Other names may stand for it, or for another array: what is written by one of them may be this.
        names = {base for base in aliases.base.values() if base is root or root in aliases.roots[base]}
        if names & self.hidden:
            return None
        if any(name.array.dimensions != root.array.dimensions for name in names - aliases.partial):
            return None
        touching = [a for a in model.accesses if a.root in names or aliases.base.get(a.root) in names]
        if any(access.root not in names for access in touching):
            return None
        written = [a for a in touching if a.writes or isinstance(a.operation, typed.Atomic)]
        if any(access.element is None or access.within for access in written):
            return None
        try:
            cases, rests = self.box(root, written)
        except (OverBudget, _NoBox):
            return None
        reads = [a for a in touching if isinstance(a.operation, typed.Load)]
        decisions = None
        if names == {root} and root not in self.returned and not any(isinstance(a.operation, typed.Atomic) for a in touching):
            decisions = self.overwritten(root, cases, reads)
        needed = decisions is None
        rests.update(*(decision.assumptions for decision in decisions or ()))
        moderate = {name for name in rests if model.space.names.launch.get(name) not in model.sizes}
        if not moderate <= self.entry.keys():
            return None
        try:
            bounds = tuple([(self.bound(low), self.bound(high)) for low, high in cases])
        except _NoBox:
            return None
        return Move(needed, bounds, tuple(sorted(self.places[self.entry[name]] for name in moderate)))

    # ---------------------------------------------------------------------------------------------------------- the box

    def box(self, root: Value, written: list[Access]) -> tuple[list[tuple[Cases, Cases]], set[str]]:
        """The first and last element that is written in each dimension, and the names whose moderate size this rests on."""
        model, space = self.model, self.model.space
        names = space.element_names(len(model.shapes[root]))
        whole: Any = None
        rests: set[str] = set()
        for formulas in self.where(root, names, written):
            for name, size in zip(names, model.shapes[root], strict=True):
                formulas += [at_least(Linear.of(name), Linear.constant(0)), at_least(size, Linear.of(name).plus(1))]
            closure = space.closure({n for formula in formulas for n in names_of(formula)})
            rests.update(model.evaluator.rests_on(closure, formulas))
            found = space.set(names, formulas, "may", existential=self.others)
            whole = found if whole is None else space.guarded(lambda w=whole, f=found: w.union(f))
        if whole is None:
            return [([], []) for _ in names], rests
        whole = space.guarded(lambda: whole.coalesce().remove_divs())
        cases: list[tuple[Cases, Cases]] = []
        for number in range(len(names)):
            low, high = space.extreme(whole, number, "least"), space.extreme(whole, number, "most")
            if low is None or high is None or len(low) > MOST_CASES or len(high) > MOST_CASES:
                raise _NoBox
            cases.append((low, high))
        return cases, rests

    def where(self, root: Value, names: Sequence[str], written: list[Access]) -> Iterator[list[Formula]]:
        """Where the elements of the root lie that are written: for each write, or each part that one's name may stand for."""
        parts: dict[Value, None] = {}
        for access in written:
            if access.root in self.model.aliases.partial:
                parts[access.root] = None
                continue
            assert access.element is not None
            yield [access.scope.facts, *(equal(Linear.of(n), at) for n, at in zip(names, access.element, strict=True))]
        for view, scope in self.parts(root, list(parts)):
            if view.origin is None:
                raise _NoBox
            formulas: list[Formula] = [scope.facts]
            for name, first, move in zip(names, view.origin, view.strides, strict=True):
                at = Linear.of(name)
                last = first if move is None else first.add(view.shape[move[0]].plus(-1), move[1])
                formulas += [at_least(at, first), at_least(last, at)]
            yield formulas

    def parts(self, root: Value, names: list[Value]) -> Iterator[tuple[View, Scope]]:
        """The parts of the root that these names may stand for, if all are known: each is made where no threads are."""
        aliases, births, seen = self.model.aliases, self.model.births, set(names)
        while names:
            born = births.get(names.pop())
            if born is None:
                raise _NoBox
            for view, scope in born.sources:
                if view.root is root:
                    yield view, scope
                elif view.root not in seen and root in aliases.roots[aliases.base.get(view.root, view.root)]:
                    seen.add(view.root)
                    names.append(view.root)

    def bound(self, cases: Cases) -> Bound:
        """The same in terms of where the call's values stand."""
        return tuple([(tuple(self.conditions(condition)), self.sum(value)) for condition, value in cases])

    def conditions(self, formula: Formula) -> Iterator[tuple[bool, Sum]]:
        """Conjuncts: whether it is an equality, and what is zero or at least zero."""
        for part in formula.parts if isinstance(formula, All) else (formula,):
            expression = getattr(part, "expression", None)
            if expression is None:
                raise _NoBox
            yield type(part).__name__ == "Zero", self.sum(expression)

    def sum(self, expression: Linear) -> Sum:
        """An expression of the call's values."""
        terms: list[tuple[bool, int, int]] = []
        for name, factor in expression.terms:
            if name not in self.entry:
                raise _NoBox
            terms.append((*self.places[self.entry[name]], factor))
        return expression.offset, tuple(terms)

    # --------------------------------------------------------------------------------------------------- what is needed

    def overwritten(self, root: Value, cases: list[tuple[Cases, Cases]], reads: list[Access]) -> list[Decision] | None:
        """The decisions that show that what the array held before is not needed; None if it may be."""
        model = self.model
        writes = [access for access in self.sure if access.root is root]
        names = model.space.element_names(len(model.shapes[root]))
        inside = elements(model, root)
        for name, (low, high) in zip(names, cases, strict=True):
            at = Linear.of(name)
            inside = both(inside, _any(both(given, at_least(at, value)) for given, value in low))
            inside = both(inside, _any(both(given, at_least(value, at)) for given, value in high))
        decisions = [coverage(model, root, writes, inside)]
        for read in reads:
            if decisions[-1].kind != "never":
                return None
            if read.element is None or read.within:
                return None
            decisions.append(covered(model, read, [write for write in writes if write.within == read.within]))
        return decisions if decisions[-1].kind == "never" else None


class _NoBox(Exception):
    """There is none that can be kept."""


def _any(formulas: Iterator[Formula]) -> Formula:
    found = tuple(formulas)
    return found[0] if len(found) == 1 else Any_(found)


def _hidden(region: Region, known: set[int]) -> set[Value]:
    """The arrays that operations touch of which the model has no access."""
    found: set[Value] = set()
    for operation in region.operations:
        match operation:
            case typed.Store() | typed.Load() | typed.Atomic() if id(operation) not in known:
                found.add(operation.array)
            case typed.Distinct() | typed.Reshape():
                found.add(operation.array)
            case _:
                pass
        for inner in operation.regions:
            found |= _hidden(inner, known)
    return found
