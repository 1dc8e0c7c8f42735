"""Parallel loops that follow each other over the same box become one.

Does: merge neighbours that share arrays, where an iteration of the later loop needs of the earlier one its own iteration at
most; hand what the earlier part stores to loads of the later one.  Does not: reorder loops, or merge those with loops inside.
Invariants: loops that are merged have no tests and independent iterations, and no iteration of one touches what another
iteration of the other writes, or the other way round: each element has the same history as before. Reductions keep their tree,
which depends on positions in the box alone. What stands between two loops is moved before both only if it computes scalars from
others.

Why it matters: arrays that both loops use come from memory once.

Example: `r[i] -= a * q[i]` followed by `s += r[i] * r[i]` reads q and r once, and the sum does not load r at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from lend.checks.check_races import SECOND, different, distinct
from lend.ir import typed
from lend.ir.clone import clone
from lend.ir.typed import Kernel, Operation, Parallel, Region, Value
from lend.language.types import Layout
from lend.model.build import build
from lend.model.linear import Formula, Linear, both, equal, names_of, rename
from lend.model.records import Access, Model, RegionModel

MOST_ARRAYS = 8
"""Arrays that one loop walks along at most: with more, the caches' own predictions fail."""
MOST_OPERATIONS = 400

_SCALAR = (typed.Constant, typed.Unary, typed.Binary, typed.Math, typed.Cast, typed.Size)


def fuse(kernel: Kernel) -> Kernel:
    """The kernel with neighbours merged."""
    if not any(_neighbours(kernel.body)):
        return kernel
    fuser = _Fuser(build(kernel))
    return replace(kernel, body=fuser.region(kernel.body))


def _neighbours(region: Region) -> Iterator[bool]:
    """True once for each pair of parallel loops that nothing but scalars stands between."""
    before: Parallel | None = None
    for operation in region.operations:
        if isinstance(operation, Parallel):
            if before is not None and len(before.box) == len(operation.box) and _plain(before) and _plain(operation):
                yield True
            before = operation
        elif not _is_scalar(operation):
            before = None
            for inner in operation.regions:
                yield from _neighbours(inner)


def _is_scalar(operation: Operation) -> bool:
    return isinstance(operation, _SCALAR) and getattr(operation, "site", None) is None


def _plain(parallel: Parallel) -> bool:
    """Whether a loop can be merged at all: independent iterations without tests, loops, atomics and arrays of their own."""
    if not parallel.independent or parallel.fallback or parallel.site is not None:
        return False
    operations = list(_operations(parallel.body))
    loops = (typed.For, typed.While, typed.Local, typed.View, typed.Atomic)
    return len(operations) <= MOST_OPERATIONS and not any(
        isinstance(operation, loops) or getattr(operation, "site", None) is not None for operation in operations
    )


def _operations(region: Region) -> Iterator[Operation]:
    for operation in region.operations:
        yield operation
        for inner in operation.regions:
            yield from _operations(inner)


@dataclass
class _Group:
    """Neighbours that become one loop: the loops, what stands between them, and what that and they compute."""

    loops: list[Parallel]
    between: list[Operation] = field(default_factory=list[Operation])
    results: set[Value] = field(default_factory=set[Value])
    arrays: set[Value] = field(default_factory=set[Value])
    accesses: dict[tuple[object, ...], Access] = field(default_factory=dict["tuple[object, ...]", Access])
    """One access of each kind: loops over one box that do the same to an array meet others alike."""


class _Fuser:
    """Merges the neighbours of one kernel."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._regions = {r.operation: r for r in model.regions if isinstance(r.operation, Parallel)}
        self._accesses: dict[int | None, list[Access]] = {}
        for access in model.accesses:
            self._accesses.setdefault(access.region, []).append(access)

    def region(self, region: Region) -> Region:
        """A region of the host level."""
        operations: list[Operation] = []
        group: _Group | None = None
        for operation in region.operations:
            if isinstance(operation, Parallel):
                if group is not None and self._joins(group, operation):
                    self._add(group, operation)
                    continue
                operations += self._merged(group)
                group = _Group([]) if _plain(operation) else None
                if group is None:
                    operations.append(operation)
                else:
                    self._add(group, operation)
            elif group is not None and _is_scalar(operation) and group.results.isdisjoint(operation.operands):
                group.between.append(operation)
            else:
                operations += [*self._merged(group), self._inside(operation)]
                group = None
        operations += self._merged(group)
        return Region(region.parameters, tuple(operations), region.yields)

    def _inside(self, operation: Operation) -> Operation:
        match operation:
            case typed.If(then=then, orelse=orelse):
                return replace(operation, then=self.region(then), orelse=self.region(orelse))
            case typed.For(body=body) | typed.Call(body=body):
                return replace(operation, body=self.region(body))
            case typed.While(condition=condition, body=body):
                return replace(operation, condition=self.region(condition), body=self.region(body))
            case _:
                return operation

    # -------------------------------------------------------------------------------------------------------------- whether

    def _add(self, group: _Group, parallel: Parallel) -> None:
        group.loops.append(parallel)
        group.results.update(parallel.results)
        group.arrays |= self._arrays(parallel)
        names = dict(zip(self._regions[parallel].scope.threads, self._regions[group.loops[0]].scope.threads, strict=True))
        for a in distinct(self._accesses.get(self._regions[parallel].number, [])):
            element = None if a.element is None else tuple(e.rename(names) for e in a.element)
            group.accesses.setdefault((a.writes, a.root, a.within, element, rename(a.scope.facts, names)), a)

    def _joins(self, group: _Group, parallel: Parallel) -> bool:
        """Whether a loop can become a part of a group."""
        first = self._regions[group.loops[0]]
        second = self._regions[parallel]
        used = {operand for operation in _operations(parallel.body) for operand in operation.operands}
        if not _plain(parallel) or not group.results.isdisjoint({*parallel.operands, *used, *parallel.body.yields}):
            return False
        if not self._same_box(first, second):
            return False
        unknown = group.loops[:1] if len(group.loops) == 1 else []  # the others have joined
        if not all(self._walks_along_rows(self._regions[loop]) for loop in (*unknown, parallel)):
            return False
        theirs = self._arrays(parallel)
        if group.arrays.isdisjoint(theirs) or len(group.arrays | theirs) > MOST_ARRAYS:
            return False
        return self._apart(group, second)

    def _arrays(self, loop: Parallel) -> set[Value]:
        """The arrays that a loop touches."""
        return {access.root for access in self._accesses.get(self._regions[loop].number, [])}

    def _walks_along_rows(self, region: RegionModel) -> bool:
        """Whether all accesses of a loop follow its last index along their rows, or stay where they are: loops of one kind."""
        last = region.scope.threads[-1]
        for access in self._accesses.get(region.number, []):
            if access.element is None or (access.root.array.layout is Layout.F and len(access.element) > 1):
                return False
            moves = [dict(subscript.terms).get(last, 0) for subscript in access.element]
            opaque = any(n in self._model.space.names.opaque for e in access.element for n in e.names())
            if opaque or any(moves[:-1]) or (moves and moves[-1] not in (0, 1)):
                return False
        return True

    def _same_box(self, first: RegionModel, second: RegionModel) -> bool:
        """Whether two loops have the same iterations, each at the same position."""
        numbers = self._model.evaluator.numbers
        if len(first.operation.box) != len(second.operation.box):
            return False
        for a, b in zip(first.operation.box, second.operation.box, strict=True):
            for x, y in ((a.lower, b.lower), (a.upper, b.upper), (a.step, b.step)):
                if x is y:
                    continue
                left, right = numbers.get(x), numbers.get(y)
                if left is None or right is None or left.sub(right).value != 0:
                    return False
        return True

    def _apart(self, group: _Group, second: RegionModel) -> bool:
        """Whether iterations at different positions of the loops and of one more never touch one element, one of them writing."""
        for a in group.accesses.values():
            for b in distinct(self._accesses.get(second.number, [])):
                if (a.writes or b.writes) and a.within == b.within and self._may_meet(a, b) and not self._never(a, b):
                    return False
        return True

    def _may_meet(self, a: Access, b: Access) -> bool:
        return a.root is b.root or self._model.aliases.overlap(a.root, b.root)

    def _never(self, a: Access, b: Access) -> bool:
        if a.element is None or b.element is None or a.root is not b.root:
            return False
        space = self._model.space
        theirs = {n for e in b.element for n in e.names()}
        renaming = space.copy(space.closure({*names_of(b.scope.facts), *b.scope.threads, *theirs}), SECOND)
        others = [renaming[name] for name in b.scope.threads]
        meet: Formula = both(a.scope.facts, rename(b.scope.facts, renaming))
        for x, y in zip(a.element, b.element, strict=True):
            meet = both(meet, equal(x, y.rename(renaming)))
        meet = both(meet, different(a.scope.threads, others))
        names = (*a.scope.threads, *others)
        plain = {n.removesuffix(SECOND) for n in (*names_of(meet), *names)}
        if self._model.evaluator.rests_on(space.closure(n for n in plain if n in space.names.definitions), [meet]):
            return False
        return space.empty([meet], names, (SECOND,))

    # -------------------------------------------------------------------------------------------------------------- merging

    def _merged(self, group: _Group | None) -> list[Operation]:
        """The operations of a group that has ended."""
        if group is None:
            return []
        if len(group.loops) == 1:
            return [*group.loops, *group.between]
        return [*group.between, _Merger(self._model, self._regions, self._accesses).merge(group.loops)]


class _Merger:
    """Makes one loop of several."""

    def __init__(self, model: Model, regions: dict[Parallel, RegionModel], accesses: dict[int | None, list[Access]]) -> None:
        self._model = model
        self._regions = regions
        self._accesses = accesses
        self._written: list[tuple[Access, tuple[Linear, ...] | None, Value | None]] = []  # elements by the first loop's names

    def merge(self, loops: Sequence[Parallel]) -> Parallel:
        """The loops as one, in the place of the first."""
        first = loops[0]
        count = len(first.box)
        parameters = list(first.body.parameters[:count])
        operations: list[Operation] = []
        yields: list[Value] = []
        final = True
        for loop in loops:
            mapping = dict(zip(loop.body.parameters, first.body.parameters[:count], strict=False))
            parameters += loop.body.parameters[count:]
            final = self._append(loop, first, mapping, operations) and final and loop.final_writes
            yields += [mapping.get(value, value) for value in loop.body.yields]
        return replace(
            first,
            results=tuple(result for loop in loops for result in loop.results),
            reductions=tuple(reduction for loop in loops for reduction in loop.reductions),
            body=Region(tuple(parameters), tuple(operations), tuple(yields)),
            final_writes=final,
        )

    def _append(self, loop: Parallel, first: Parallel, mapping: dict[Value, Value], operations: list[Operation]) -> bool:
        """Add a loop's operations; gives whether none of them touches what loops before it have written."""
        region = self._regions[loop]
        names = dict(zip(region.scope.threads, self._regions[first].scope.threads, strict=True))
        accesses: dict[Operation, Access] = {a.operation: a for a in self._accesses.get(region.number, [])}
        before = list(self._written)
        final = True
        for operation in loop.body.operations:
            given = self._given(operation, accesses, names)
            if given is not None and isinstance(operation, typed.Load):
                mapping[operation.result] = given
                continue
            for inner in (operation, *(o for nested in operation.regions for o in _operations(nested))):
                access = accesses.get(inner) if isinstance(inner, typed.Load | typed.Store) else None
                if access is None:
                    continue
                final = final and not any(self._meet(access, other) for other, _, _ in before)
                if access.writes:
                    element = None if access.element is None else tuple(e.rename(names) for e in access.element)
                    value = (
                        mapping.get(inner.value, inner.value) if isinstance(inner, typed.Store) and inner is operation else None
                    )
                    self._written.append((access, element, value))
            operations.append(clone(operation, mapping) if mapping else operation)
        return final

    def _given(self, operation: Operation, accesses: dict[Operation, Access], names: dict[str, str]) -> Value | None:
        """The value that a load finds, where the only write before that can have touched the element is known to have done so."""
        access = accesses.get(operation)
        if not isinstance(operation, typed.Load) or access is None or access.element is None:
            return None
        writes = [written for written in self._written if self._meet(access, written[0])]
        if len(writes) != 1:
            return None
        write, element, value = writes[0]
        if element is None or value is None or write.root is not access.root or write.within != access.within:
            return None
        same = all(x.sub(y.rename(names)).value == 0 for x, y in zip(element, access.element, strict=True))
        return value if same and value.type is operation.result.type else None

    def _meet(self, a: Access, b: Access) -> bool:
        return a.root is b.root or self._model.aliases.overlap(a.root, b.root)
