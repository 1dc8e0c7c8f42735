"""Initialisation: nothing is read before it is written, and `Out` arrays are written whole.

Does: decide each read of an `Out` argument, a temporary or a local array, and whether each `Out` argument and each temporary that
is returned is written whole.
Does not: word messages (`explain.py`).

Invariants:
- The scalars of records are decided one by one, those that no access touches too.
- Writes are counted downward: only those that happen for sure, at exactly known elements, whose bounds are proved or a launch
  condition.
- A write covers a read if it comes before it: in an earlier step of the host level (any iteration of that region), or earlier in
  the same iteration of the same region; of a block's threads, any thread's if a barrier lies between, else the same thread's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from lend.checks.check_bounds import BoundsFinding, outside
from lend.checks.content import Content
from lend.checks.decide import Decision
from lend.diagnostics.records import dataclass
from lend.ir import typed
from lend.ir.typed import Value
from lend.language.types import Borrow, scalars_of
from lend.model.linear import All, Formula, Linear, at_least, both, equal, is_known, names_of, negate, rename
from lend.model.phases import START, Before, Phases, Piece, before, phases_of
from lend.model.records import TEAM, THREADS, Access, Model, Order, Team
from lend.model.sets import OverBudget, sample_of

OTHER = "_w"
"""The suffix of the names of the write that covers."""


@dataclass(frozen=True, eq=False)
class InitFinding:
    """The decision about one read; if `read` is None, about whether `root` is written whole, since it is Out or `returned`.

    `field`: of an `Out` array of records, the scalar that this is about, as a path.
    """

    root: Value
    read: Access | None
    decision: Decision
    returned: bool = False
    field: tuple[int, ...] = ()


def check_init(model: Model, bounds: Sequence[BoundsFinding]) -> list[InitFinding]:
    """A finding for each read of an array that begins without content, and for each `Out` argument."""
    tracked = _uninitialised(model)
    kinds = {finding.access: finding.decision.kind for finding in bounds}
    writes = list(sure_writes(model, kinds))
    content = Content(model, tracked, writes, lambda read, before: covered(model, read, before))
    findings: list[InitFinding] = []
    for access in model.accesses:
        if access.writes or not isinstance(access.operation, typed.Load) or not content.empty(access.root):
            continue
        decision = Decision("may", "it is reached under another name or in another shape than it is written in")
        if content.known(access.root):
            decision = covered(model, access, [w for w in writes if _same(w, access)])
        if access.root not in tracked and decision.kind != "never":
            whole = content.whole(access.root, access.within, access.scope)
            decision = whole if whole.kind == "never" else replace(decision, kind="may")  # it may have come with content
        findings.append(InitFinding(access.root, access, decision))
    for parameter in model.kernel.parameters:
        root = parameter.value
        if root in tracked:
            for path in scalars_of(root.array.element):
                covering = [w for w in writes if w.root is root and w.within == path]
                decision = coverage(model, root, covering, elements(model, root))
                findings.append(InitFinding(root, None, decision, field=path))
    arguments = {parameter.value for parameter in model.kernel.parameters}
    for root in dict.fromkeys(model.returned):
        if root not in arguments and content.empty(root):
            for path in scalars_of(root.array.element):
                decision = content.whole(root, path, model.end)
                findings.append(InitFinding(root, None, decision, returned=True, field=path))
    return findings


def _uninitialised(model: Model) -> set[Value]:
    roots = {p.value for p in model.kernel.parameters if not hasattr(p.value.type, "kind") and p.value.array.borrow is Borrow.OUT}
    return roots | model.unwritten


def _same(write: Access, read: Access) -> bool:
    return write.root is read.root and write.within == read.within


def sure_writes(model: Model, kinds: dict[Access, str]) -> Iterator[Access]:
    """The writes that happen for sure, at exactly known elements. `kinds`: what was decided about each access's bounds."""

    def inside(access: Access) -> bool:
        return kinds.get(access) in ("never", "when")

    for access in model.accesses:
        if access.writes and inside(access) and access.element is not None:
            yield access
    for joint, writes in model.joint_writes.items():
        if all(map(inside, writes)):
            yield joint


def _determined(model: Model, names: set[str], given: Iterable[str] = ()) -> bool:
    """Whether no value behind these names, but the `given` ones, is known at run time only.

    "There is such a value" says nothing of the value itself.
    """
    return not (set(model.space.closure(names)) & model.space.names.opaque).difference(given)


def _parts(formula: Formula) -> tuple[Formula, ...]:
    """The conjuncts that are known; the others hold where the write is sure."""
    return tuple(part for part in (formula.parts if isinstance(formula, All) else (formula,)) if is_known(part))


def _mentioned(access: Access) -> set[str]:
    names = {*names_of(access.scope.facts), *access.scope.threads, *access.scope.counters}
    return names | {n for e in access.element or () for n in e.names()}


def covered(model: Model, read: Access, writes: list[Access]) -> Decision:
    """Whether every instance of a read is covered."""
    if read.element is None:
        return Decision("may", "it is read through a view of another shape")
    space = model.space
    inner = tuple(dict.fromkeys((*read.scope.threads, *read.scope.counters, *_held(model, read))))
    names = [*inner, *space.element_names(len(read.element))]
    element = [Linear.of(n) for n in names[len(inner) :]]
    here: Formula = read.scope.facts
    for dimension in read.bounds:  # a read outside its array is another obligation's, and gives 0
        here = both(here, negate(outside(dimension)))
    for place, subscript in zip(element, read.element, strict=True):
        here = both(here, equal(place, subscript))
    try:
        ways = (way for write in writes for way in _before(model, write, read, element))
        covers = _Covers(ways, lambda way: space.set(names, way.formulas, "must", (OTHER,)))
        left = _Left(model, names, here, covers, lambda: [*_constants(model, writes), *_constants_of(model, covers.ways)])
        if left.nothing:
            return _settled(model, left.assumptions)
        exact = read.scope.exact and is_known(read.scope.facts) and not set(space.closure(_mentioned(read))) & space.names.opaque
        return Decision(
            "always" if exact and not writes else "may",
            "no write before it is sure to cover it",
            sample=space.guarded(lambda: sample_of(left.missing)),
        )
    except OverBudget:
        return Decision("may", "the question is too large for the proof budget")


@dataclass(frozen=True)
class _Way:
    """How a write covers elements, and on whose moderate size it rests that it does."""

    formulas: list[Formula]
    assumptions: tuple[str, ...]
    moving: frozenset[str] = frozenset()  # counters of host-level loops all of whose iterations it covers


class _Covers:
    """The sets that ways cover. What rests on nothing comes first, and each is found and made when it is asked for: the first
    often do. `ways`: those that were asked for.
    """

    def __init__(self, ways: Iterable[_Way], make: Callable[[_Way], Any]) -> None:
        self.ways: list[_Way] = []
        self._made: list[Any] = []
        self._coming = _least_assuming(ways)
        self._make = make

    def __iter__(self) -> Iterator[tuple[Any, tuple[str, ...]]]:
        """Each set, and what it rests on."""
        for position in count():
            if position == len(self._made):
                way = next(self._coming, None)
                if way is None:
                    return
                made = self._make(way)
                self.ways.append(way)
                self._made.append(made)
            yield self._made[position], self.ways[position].assumptions


def _least_assuming(ways: Iterable[_Way]) -> Iterator[_Way]:
    """What rests on nothing first: then the rest may not be needed."""
    assuming: list[_Way] = []
    for way in ways:
        if way.assumptions:
            assuming.append(way)
        else:
            yield way
    yield from assuming


class _Left:
    """What covers leave of the elements that `here` describes, and what it rests on that this is nothing."""

    def __init__(
        self,
        model: Model,
        names: Sequence[str],
        here: Formula,
        covers: _Covers,
        constants: Callable[[], list[Formula]],  # what else is true, and seldom needed; asked for when all covers are made
    ) -> None:
        self.model = model
        self.names = names
        self.covers = covers
        self.missing, used = self.rest(here)
        if not self.empty(self.missing):
            more = constants()
            here = All((*_conjuncts(here), *more))
            self.missing, used = self.rest(here) if more else (self.missing, used)
        self.nothing = self.empty(self.missing)
        self.assumptions = tuple(sorted(used.union(self.needed(here)))) if self.nothing else ()

    def empty(self, found: Any) -> bool:
        """Whether a set is."""
        return bool(self.model.space.guarded(found.is_empty))

    def rest(self, here: Formula) -> tuple[Any, set[str]]:
        """What no cover reaches, and the assumptions of the covers that were needed."""
        missing = self.model.space.set(self.names, [here], "may")
        used: set[str] = set()
        if self.empty(missing):
            return missing, used
        for cover, assumptions in self.covers:
            used.update(assumptions)
            missing = self.model.space.guarded(lambda m=missing, c=cover: m.subtract(c))
            if self.empty(missing):
                break
        return missing, used

    def needed(self, here: Formula) -> tuple[str, ...]:
        """What the elements' description rests on; without the facts about scalars, if these are not needed."""
        assumptions = self.rests(here)
        scalars = {n for n in assumptions if self.model.space.names.launch.get(n) not in self.model.sizes}
        if not scalars:
            return assumptions
        parts = [p for p in _conjuncts(here) if not scalars & set(self.model.space.closure(names_of(p)))]
        missing, used = self.rest(All(tuple(parts)))
        return (*used, *self.rests(All(tuple(parts)))) if self.empty(missing) else assumptions

    def rests(self, here: Formula) -> tuple[str, ...]:
        """The assumptions of a description."""
        return self.model.evaluator.rests_on(self.model.space.closure({*names_of(here), *self.names}), [here])


def _conjuncts(formula: Formula) -> tuple[Formula, ...]:
    return formula.parts if isinstance(formula, All) else (formula,)


def _settled(model: Model, assumptions: tuple[str, ...]) -> Decision:
    """Covered, if scalars are of moderate size, which the kernel can require of its arguments but not of what it computes."""
    entry = {*model.sizes, *(p.value for p in model.kernel.parameters)}
    if all(model.space.names.launch.get(name) in entry for name in assumptions):
        return Decision("never", assumptions=assumptions)
    return Decision("may", "it rests on a number that the kernel computes, which may be very large", assumptions=assumptions)


def _held(model: Model, access: Access) -> list[str]:
    """What is known at run time only, and the same for all threads of the block: one value for the read and what comes before."""
    if access.scope.team is None:
        return []
    team = model.teams[access.scope.team]
    names = _mentioned(access)
    for within in (False, True) if team.parts else (False,):
        phases = phases_of(model, team, within)
        names.update(n for piece in phases.of(access.scope)[0] for n in names_of(piece.formula) if n not in phases.slots)
    return [n for n in model.space.closure(names) if n in team.held and n in model.space.names.opaque]


def _before(model: Model, write: Access, read: Access, element: list[Linear]) -> Iterator[_Way]:
    """The ways in which a write comes before a read, each as constraints on both: the write's own names end in OTHER."""
    assert write.element is not None
    at = _Meeting(write, read, element)
    own = len(model.made_at.get(write.root, ()))  # the loops around the array's making give a new one in each iteration
    for depth, (step_w, step_r) in enumerate(zip(write.scope.order, read.scope.order, strict=False)):
        at.shared = write.scope.order[:depth]
        if step_w == step_r:
            if step_w == THREADS:
                assert write.region is not None
                at.fixed += model.regions[write.region].scope.threads
            elif step_w == TEAM:
                if not model.aliases.roots[model.aliases.base[write.root]] & model.private:  # each thread has its own of those
                    yield from _by_other_threads(model, at)
                at.fixed = write.scope.threads
            elif isinstance(step_w, str):
                if depth >= own:
                    yield from _cover(model, at, lambda renaming, n=step_w: [_earlier(renaming[n], Linear.of(n))])
                at.common += (step_w,)
            continue
        if isinstance(step_w, int) and isinstance(step_r, int) and step_w < step_r:
            yield from _cover(model, at, lambda _: [])
        return


def _earlier(counter: str, than: Linear) -> Formula:
    return at_least(than, Linear.of(counter).plus(1))


@dataclass
class _Meeting:
    """A write and a read of one array, and how much of their places they share: `common` counters, `fixed` indices, an order.

    What both share of the order is about the same branches and loops: the read's facts about these need not be shown again.
    """

    write: Access
    read: Access
    element: list[Linear]
    common: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    shared: Order = ()


def _by_other_threads(model: Model, at: _Meeting) -> Iterator[_Way]:
    """The ways in which any thread of a block has written before the last barrier that the reading thread has met.

    Of its sub-group, before the last barrier of that, too.
    """
    assert at.read.scope.team is not None
    team = model.teams[at.read.scope.team]
    yield from _before_barriers(model, at, team, phases_of(model, team))
    if team.part is not None:
        yield from _before_barriers(model, at, team, phases_of(model, team, within=True))


def _before_barriers(model: Model, at: _Meeting, team: Team, phases: Phases) -> Iterator[_Way]:
    start = len(team.scope.order)
    place, (pieces,) = at.write.scope.order[start:], phases.of(at.read.scope)
    ties: set[str] = set()  # the write is in the same iteration of these loops: what happens in them is known only there
    for unsure in at.write.scope.unsure:
        if at.read.scope.order[: len(unsure)] != unsure:
            return
        ties.update(phases.counters(unsure))
    made = model.made_at.get(at.write.root, ())  # an array that the threads' loops make is another in each iteration
    ties.update(phases.counters(made) if len(made) > start else ())
    steady = _steady(model, at, team)
    for piece in pieces:
        if piece.number == START:
            continue
        order = phases.barriers[piece.number].scope.order
        slots = dict(zip(phases.counters(order), map(Linear.of, phases.slots[1:]), strict=False))
        for way in before(place, order[start:]):

            def relate(
                renaming: dict[str, str], piece: Piece = piece, way: Before = way, slots: dict[str, Linear] = slots
            ) -> list[Formula]:
                found = [piece.formula]
                found += [equal(Linear.of(renaming[n]), Linear.of(n)) for n in sorted(ties)]
                found += [equal(Linear.of(renaming[n]), slots[n]) for n in way.common]
                found += [equal(phases.part, phases.part.rename(renaming))] if phases.part is not None else []
                return found + ([_earlier(renaming[way.earlier], slots[way.earlier])] if way.earlier is not None else [])

            part = phases.part.names() if phases.part is not None else ()
            phase = [n for n in names_of(piece.formula) if n not in phases.slots]
            yield from _cover(model, at, relate, within=True, names_too=(*part, *phase))
            if steady:
                same = {c for n in steady for c in model.space.names.made_in[n]} & set(phases.counters(at.write.scope.order))

                def too(renaming: dict[str, str], relate: Any = relate, same: set[str] = same) -> list[Formula]:
                    return [*relate(renaming), *(equal(Linear.of(renaming[n]), Linear.of(n)) for n in sorted(same - ties))]

                yield from _cover(model, at, too, within=True, names_too=(*part, *phase), steady=steady)


def _steady(model: Model, at: _Meeting, team: Team) -> frozenset[str]:
    """What data decide that both depend on, and that is the same for all threads in the same iteration of loops around both."""
    counters = set(at.read.scope.counters) & set(at.write.scope.counters)
    both_depend = set(model.space.closure(_mentioned(at.write))) & set(model.space.closure(_mentioned(at.read)))
    names = model.space.names
    own = {*team.scope.threads, *team.scope.counters}
    return frozenset(n for n in both_depend & team.together & names.opaque if set(names.made_in[n]) - own <= counters)


def _cover(
    model: Model,
    at: _Meeting,
    relate: Callable[[dict[str, str]], list[Formula]],
    within: bool = False,
    names_too: tuple[str, ...] = (),
    steady: frozenset[str] = frozenset(),
) -> Iterator[_Way]:
    """The write at another instance than the read, related to it by formulas over the renaming of its names, `names_too` among
    them. `within`: the branches and loops that it is not sure to be in are seen to. `steady`: names that are the same at both.
    """
    write, read = at.write, at.read
    assert write.element is not None
    if not within and not all(at.shared[: len(place)] == place for place in write.scope.unsure):
        return
    names = model.space.names
    moving = [c for c in write.scope.counters if c not in at.common]
    moving += [t for t in write.scope.threads if t not in at.fixed]
    closure = model.space.closure({*_mentioned(write), *names_too})
    apart = not at.fixed  # in another region, or at host level
    renaming = {
        n: n + OTHER
        for n in closure
        if n in moving or (set(names.made_in[n]) & set(moving)) or (apart and n not in names.launch and n not in at.common)
    }
    if within and write.scope.team is not None:  # of the same run of threads as the read
        renaming = {n: r for n, r in renaming.items() if n not in model.teams[write.scope.team].held | steady}
    held = set(_parts(read.scope.facts))
    facts = [f for f in _parts(write.scope.facts) if f not in held or set(model.space.closure(names_of(f))) & renaming.keys()]
    used = {n for f in facts for n in names_of(f)} | {n for e in write.element for n in e.names()} | {*names_too}
    shared = () if apart else [n for n in _held(model, read) if n not in renaming]
    if not _determined(model, used, shared) or any(n in names.free for n in model.space.closure(used) if n in renaming):
        return
    cover: list[Formula] = [rename(fact, renaming) for fact in facts]
    cover += [equal(place, e.rename(renaming)) for place, e in zip(at.element, write.element, strict=True)]
    cover += [rename(names.definitions[n], renaming) for n in renaming if n not in names.free]
    cover += relate(renaming)
    yield _Way(cover, model.evaluator.rests_on(model.space.closure(used), cover))


def _by_position(model: Model, write: Access, shape: tuple[Linear, ...]) -> Access:
    """A write through a permutation as a write at the permutation's own positions: both reach the same elements."""
    assert write.element is not None
    if len(write.element) == 1 and len(write.element[0].terms) == 1:
        load = model.loads.get(write.element[0].terms[0][0])
        whole = (
            load is not None and load.kind == "unique" and model.shapes.get(load.root) == shape and write.element[0].offset == 0
        )
        if load is not None and whole and write.element[0].terms[0][1] == 1:
            return replace(write, element=load.element)
    return write


def _constants(model: Model, writes: Sequence[Access]) -> list[Formula]:
    """What is true of the launch constants that writes mention: a set without it has all their values."""
    space = model.space
    return [
        space.names.definitions[name]
        for write in writes
        for name in space.closure(_mentioned(write))
        if name in space.names.launch and not space.varies(name, set(write.scope.counters))
    ]


def _constants_of(model: Model, ways: Iterable[_Way]) -> list[Formula]:
    """The same of launch constants that decide which barriers lie between."""
    names = model.space.names
    mentioned = dict.fromkeys(n for way in ways for formula in way.formulas for n in names_of(formula) if n in names.launch)
    return [names.definitions[n] for n in mentioned if not names.made_in[n]]


def elements(model: Model, root: Value) -> Formula:
    """That the names of an element's subscripts stand for one of an array's, when a kernel ends."""
    inside: Formula = model.ending
    for name, size in zip(model.space.element_names(len(model.shapes[root])), model.shapes[root], strict=True):
        inside = both(inside, both(at_least(Linear.of(name), Linear.constant(0)), at_least(size, Linear.of(name).plus(1))))
    return inside


def coverage(model: Model, root: Value, writes: list[Access], inside: Formula) -> Decision:
    """Whether all elements of an argument that `inside` describes are written."""
    shape = model.shapes[root]
    space = model.space
    names = space.element_names(len(shape))
    try:
        ways = (way for write in writes for way in _sure(model, _by_position(model, write, shape), names))
        covers = _Covers(ways, lambda way: space.set(names, way.formulas, "must", (), existential=way.moving))
        left = _Left(model, names, inside, covers, lambda: _constants(model, writes))
        if left.nothing:
            return _settled(model, left.assumptions)
        return Decision("may", "some element may stay unwritten", sample=space.guarded(lambda: sample_of(left.missing)))
    except OverBudget:
        return Decision("may", "the question is too large for the proof budget")


def _sure(model: Model, write: Access, names: Sequence[str]) -> Iterator[_Way]:
    """What a write covers whatever happens."""
    assert write.element is not None
    space = model.space
    moving = frozenset(write.scope.counters)
    mentioned = _mentioned(write)
    closure = space.closure(mentioned)
    if write.scope.unsure or not _determined(model, mentioned):
        return
    if any(n in space.names.free and set(space.names.made_in[n]) & moving for n in closure):
        return
    formulas = [write.scope.facts, *(equal(Linear.of(n), e) for n, e in zip(names, write.element, strict=True))]
    yield _Way(formulas, model.evaluator.rests_on(closure, formulas), moving)
