"""Initialisation: nothing is read before it is written, and `Out` arrays are written whole.

Does: decide each read of an `Out` argument, a temporary or a local array, and whether each `Out` argument and each temporary that
is returned is written whole.
Does not: word messages (`explain.py`).

Invariants:
- Writes are counted downward: only those that happen for sure, at exactly known elements, whose bounds are proved or a launch
  condition.
- A write covers a read if it comes before it: in an earlier step of the host level (any iteration of that region), or earlier in
  the same iteration of the same region.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lend.checks.check_bounds import BoundsFinding, outside
from lend.checks.decide import Decision
from lend.diagnostics.records import dataclass
from lend.ir import typed
from lend.ir.typed import Value
from lend.language.types import Borrow
from lend.model.build import THREADS, Access, Model
from lend.model.linear import All, Formula, Linear, at_least, both, equal, is_known, names_of, negate, rename
from lend.model.sets import OverBudget, sample_of

OTHER = "_w"
"""The suffix of the names of the write that covers."""


@dataclass(frozen=True, eq=False)
class InitFinding:
    """The decision about one read; if `read` is None, about whether `root` is written whole, since it is Out or `returned`."""

    root: Value
    read: Access | None
    decision: Decision
    returned: bool = False


def check_init(model: Model, bounds: Sequence[BoundsFinding]) -> list[InitFinding]:
    """A finding for each read of an array that begins without content, and for each `Out` argument."""
    tracked = _uninitialised(model)
    kinds = {finding.access: finding.decision.kind for finding in bounds}
    writes = list(_sure_writes(model, kinds))
    findings: list[InitFinding] = []
    for access in model.accesses:
        if access.writes or not isinstance(access.operation, typed.Load):
            continue
        if access.root in tracked:
            findings.append(InitFinding(access.root, access, _read(model, access, [w for w in writes if _same(w, access)])))
        elif model.aliases.roots[model.aliases.base[access.root]] & tracked:
            reason = "it is reached under another name or in another shape than it is written in"
            findings.append(InitFinding(access.root, access, Decision("may", reason)))
    for parameter in model.kernel.parameters:
        root = parameter.value
        if root in tracked:
            for path in sorted({w.within for w in model.accesses if w.root is root}) or [()]:
                covering = [w for w in writes if w.root is root and w.within == path]
                findings.append(InitFinding(root, None, _coverage(model, root, covering)))
    findings += _returned(model, tracked, writes)
    return findings


def _returned(model: Model, tracked: set[Value], writes: Sequence[Access]) -> Iterator[InitFinding]:
    """Temporaries that are returned are written whole."""
    arguments = {parameter.value for parameter in model.kernel.parameters}
    for root in dict.fromkeys(model.returned):
        if root in arguments or not model.aliases.roots[root] & tracked:
            continue
        decision = Decision("may", "it is returned under another name, or from inside a branch or a loop, than it is written in")
        if root in tracked and not model.made_at.get(root):
            paths = sorted({w.within for w in model.accesses if w.writes and w.root is root}) or [()]
            decisions = [_coverage(model, root, [w for w in writes if w.root is root and w.within == path]) for path in paths]
            decision = next((d for d in decisions if d.kind != "never"), decisions[0])
        yield InitFinding(root, None, decision, returned=True)


def _uninitialised(model: Model) -> set[Value]:
    roots = {p.value for p in model.kernel.parameters if not hasattr(p.value.type, "kind") and p.value.array.borrow is Borrow.OUT}
    return roots | model.unwritten


def _same(write: Access, read: Access) -> bool:
    return write.root is read.root and write.within == read.within


def _sure_writes(model: Model, kinds: dict[Access, str]) -> Iterator[Access]:
    def inside(access: Access) -> bool:
        return kinds.get(access) in ("never", "when")

    for access in model.accesses:
        if access.writes and inside(access) and access.element is not None:
            yield access
    for joint, writes in model.joint_writes.items():
        if all(map(inside, writes)):
            yield joint


def _determined(model: Model, names: set[str]) -> bool:
    """Whether no value behind these names is known at run time only: "there is such a value" says nothing of the value itself."""
    return not set(model.space.closure(names)) & model.space.names.opaque


def _parts(formula: Formula) -> tuple[Formula, ...]:
    """The conjuncts that are known; the others hold where the write is sure."""
    return tuple(part for part in (formula.parts if isinstance(formula, All) else (formula,)) if is_known(part))


def _mentioned(access: Access) -> set[str]:
    names = {*names_of(access.scope.facts), *access.scope.threads, *access.scope.counters}
    return names | {n for e in access.element or () for n in e.names()}


def _read(model: Model, read: Access, writes: list[Access]) -> Decision:
    """Whether every instance of a read is covered."""
    if read.element is None:
        return Decision("may", "it is read through a view of another shape")
    space = model.space
    inner = tuple(dict.fromkeys((*read.scope.threads, *(c for c in read.scope.counters))))
    names = [*inner, *space.element_names(len(read.element))]
    element = [Linear.of(n) for n in names[len(inner) :]]
    here: Formula = read.scope.facts
    for dimension in read.bounds:  # a read outside its array is another obligation's, and gives 0
        here = both(here, negate(outside(dimension)))
    for place, subscript in zip(element, read.element, strict=True):
        here = both(here, equal(place, subscript))
    try:
        missing = space.set(names, [here], "may")
        for write in writes:
            for cover in _before(model, write, read, element):
                if space.guarded(missing.is_empty):
                    break
                covered = space.set(names, cover, "must", (OTHER,))
                missing = space.guarded(lambda m=missing, c=covered: m.subtract(c))
        constants = _constants(model, writes)
        if constants and not space.guarded(missing.is_empty):
            here = All((here, *constants))
            real = space.set(names, [here], "may")
            missing = space.guarded(lambda m=missing, r=real: m.intersect(r))
        if space.guarded(missing.is_empty):
            mentioned = space.closure({*names_of(here), *names})
            return _settled(model, model.evaluator.rests_on(mentioned, [here]))
        exact = read.scope.exact and is_known(read.scope.facts) and not set(space.closure(_mentioned(read))) & space.names.opaque
        return Decision(
            "always" if exact and not writes else "may",
            "no write before it is sure to cover it",
            sample=space.guarded(lambda: sample_of(missing)),
        )
    except OverBudget:
        return Decision("may", "the question is too large for the proof budget")


def _settled(model: Model, assumptions: tuple[str, ...]) -> Decision:
    """Covered, if scalars are of moderate size, which the kernel can require of its arguments but not of what it computes."""
    entry = {*model.sizes, *(p.value for p in model.kernel.parameters)}
    if all(model.space.names.launch.get(name) in entry for name in assumptions):
        return Decision("never", assumptions=assumptions)
    return Decision("may", "it rests on a number that the kernel computes, which may be very large", assumptions=assumptions)


def _before(model: Model, write: Access, read: Access, element: list[Linear]) -> Iterator[list[Formula]]:
    """The ways in which a write comes before a read, each as constraints on both: the write's own names end in OTHER."""
    assert write.element is not None
    common: list[str] = []
    own = len(model.made_at.get(write.root, ()))  # the loops around the array's making give a new one in each iteration
    for depth, (step_w, step_r) in enumerate(zip(write.scope.order, read.scope.order, strict=False)):
        shared = write.scope.order[:depth]
        if step_w == step_r:
            if isinstance(step_w, str):
                if step_w != THREADS and depth >= own:
                    yield from _cover(model, write, read, element, common, shared, earlier=step_w)
                common.append(step_w)
            continue
        if isinstance(step_w, int) and isinstance(step_r, int) and step_w < step_r:
            yield from _cover(model, write, read, element, common, shared, earlier=None)
        return


def _cover(
    model: Model,
    write: Access,
    read: Access,
    element: list[Linear],
    common: list[str],
    shared: tuple[int | str, ...],
    earlier: str | None,
) -> Iterator[list[Formula]]:
    """The write in the same iteration of the `common` loops, in an earlier one of the loop `earlier`.

    `shared` is how far both are in the same branches and loops: facts of the read about what both share need not be shown again.
    """
    assert write.element is not None
    if not all(shared[: len(place)] == place for place in write.scope.unsure):
        return
    names = model.space.names
    same_thread = THREADS in common
    moving = [c for c in write.scope.counters if c not in common]
    if not same_thread:
        moving += write.scope.threads
    closure = model.space.closure(_mentioned(write))
    renaming = {
        n: n + OTHER
        for n in closure
        if n in moving or (set(names.made_in[n]) & set(moving)) or (n not in names.launch and n not in common and not same_thread)
    }
    if same_thread:
        renaming = {n: r for n, r in renaming.items() if n not in write.scope.threads}
    held = set(_parts(read.scope.facts))
    facts = [f for f in _parts(write.scope.facts) if f not in held or set(model.space.closure(names_of(f))) & renaming.keys()]
    used = {n for f in facts for n in names_of(f)} | {n for e in write.element for n in e.names()}
    if not _determined(model, used) or any(n in names.free for n in model.space.closure(used) if n in renaming):
        return
    cover: list[Formula] = [rename(fact, renaming) for fact in facts]
    cover += [equal(place, e.rename(renaming)) for place, e in zip(element, write.element, strict=True)]
    cover += [rename(names.definitions[n], renaming) for n in renaming if n not in names.free]
    if earlier is not None:
        cover.append(at_least(Linear.of(earlier), Linear.of(renaming[earlier]).plus(1)))
    yield cover


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


def _coverage(model: Model, root: Value, writes: list[Access]) -> Decision:
    """Whether all elements of an `Out` argument are written."""
    shape = model.shapes[root]
    space = model.space
    names = space.element_names(len(shape))
    inside: Formula = model.ending
    for name, size in zip(names, shape, strict=True):
        inside = both(inside, both(at_least(Linear.of(name), Linear.constant(0)), at_least(size, Linear.of(name).plus(1))))
    try:
        missing = space.set(names, [inside], "may")
        for write in writes:
            if write.scope.unsure:
                continue
            write = _by_position(model, write, shape)
            assert write.element is not None
            moving = set(write.scope.counters)
            closure = space.closure(_mentioned(write))
            if not _determined(model, _mentioned(write)):
                continue
            if any(n in space.names.free and set(space.names.made_in[n]) & moving for n in closure):
                continue
            constraints = [write.scope.facts, *(equal(Linear.of(n), e) for n, e in zip(names, write.element, strict=True))]
            covered = space.set(names, constraints, "must", (), existential=moving)
            missing = space.guarded(lambda m=missing, c=covered: m.subtract(c))
        constants = _constants(model, writes)
        if constants and not space.guarded(missing.is_empty):
            inside = All((inside, *constants))
            real = space.set(names, [inside], "may")
            missing = space.guarded(lambda m=missing, r=real: m.intersect(r))
        if space.guarded(missing.is_empty):
            mentioned = space.closure({n for w in writes for n in _mentioned(w)} | {*names_of(inside), *names})
            return _settled(model, model.evaluator.rests_on(mentioned, [inside, *(w.scope.facts for w in writes)]))
        return Decision("may", "some element may stay unwritten", sample=space.guarded(lambda: sample_of(missing)))
    except OverBudget:
        return Decision("may", "the question is too large for the proof budget")
