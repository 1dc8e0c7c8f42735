"""Branches: two alternatives, one of which runs.

Does: check each in its own region and copy of the names, and merge what they leave behind.  Does not: know statements.
Invariants: after a branch a name means what it means on both paths; where only one path reaches the code after it, what it means
there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from lend.diagnostics.spans import Span
from lend.frontend.typecheck.emitter import region_of
from lend.frontend.typecheck.entities import Conflict, Entity, Missing, Number, Poison, Reducing
from lend.frontend.typecheck.merging import Form, Gone, Merging
from lend.ir import typed
from lend.ir.typed import Operation, Value

Flag = Literal["#return", "#continue", "#break"]


@dataclass(eq=False)
class Path:
    """One alternative, as it was checked: its operations, what the names mean at its end, how it has left, what it yields."""

    operations: list[Operation]
    names: dict[str, Entity]
    result: Entity
    left: Flag | None
    yields: list[Value] = field(default_factory=list[Value])


@dataclass(eq=False)
class Meeting:
    """Two paths that meet: the values that stand for theirs afterwards; `sizes` is what must be computed first there."""

    paths: tuple[Path, Path]
    span: Span
    values: list[Value] = field(default_factory=list[Value])
    sizes: list[Operation] = field(default_factory=list[Operation])

    @property
    def left(self) -> tuple[Flag | None, Flag | None]:
        """How each path has left."""
        return self.paths[0].left, self.paths[1].left


class Branches(Merging):
    """Merges of names over branches."""

    def branch(
        self,
        condition: Value,
        span: Span,
        then: Callable[[], Entity],
        orelse: Callable[[], Entity],
        otherwise_left: Flag | None = None,
    ) -> Entity:
        """Check two alternatives, each in its own region and copy of the names; merge names and results with an `If`.

        Names mean nothing where a path has left by `return`; `otherwise_left` says so of `orelse`."""
        before = dict(self.names)
        first, second = self.path(then, before), self.path(orelse, before, otherwise_left)
        self.frame.names = before
        meeting = Meeting((first, second), span)
        merged = {name: self.meet_name(meeting, name) for name in dict.fromkeys((*first.names, *second.names))}
        result = self.meet(meeting, first.result, second.result, None)
        self.names.clear()
        self.names.update(merged)
        if first.operations or second.operations or meeting.values:
            regions = region_of(first.operations, first.yields), region_of(second.operations, second.yields)
            self.emit(typed.If(span, tuple(meeting.values), condition, *regions))
        self.operations.extend(meeting.sizes)
        return result

    def path(self, alternative: Callable[[], Entity], before: dict[str, Entity], left: Flag | None = None) -> Path:
        """Check an alternative that begins with the names of `before`."""
        self.frame.names = dict(before)
        with self.region() as operations:
            result = alternative()
        return Path(operations, self.frame.names, result, flag_left(self.frame.names) or left)

    def meet_name(self, meeting: Meeting, name: str) -> Entity:
        """What a name means after both paths."""
        a, b = (path.names.get(name, Missing()) for path in meeting.paths)
        alone = isinstance(a, Missing) != isinstance(b, Missing) and not name.startswith("#")
        if alone and self.only_path(name, (a, b), meeting.left) is None:
            return self.partly_assigned(name, a, b)
        return self.meet(meeting, a, b, name)

    def meet(self, meeting: Meeting, a: Entity, b: Entity, name: str | None) -> Entity:
        """What stands for the values of both paths."""
        if a is b:
            return a
        forms: list[Form] = []
        for entity, path in zip((a, b), meeting.paths, strict=True):
            with self.into(path.operations):
                forms.append(self.form(entity, constant=True))
        if name == "#result" and (isinstance(a, Missing) or isinstance(b, Missing)):
            returned = self.loosen(forms[1] if isinstance(a, Missing) else forms[0])
            joined = self.returned_form(returned, or_nothing=True)
        else:
            joined = self.join_forms(*forms)
        only = self.only_path(name, (a, b), meeting.left) if isinstance(joined, Gone) else None
        if only is not None:
            joined = self.returned_form(self.loosen(forms[only]), or_nothing=True)
            a, b = (a, Missing()) if only == 0 else (Missing(), b)
        if isinstance(joined, Gone) and isinstance(joined.entity, Conflict) and not {a, b} & {joined.entity}:
            joined = Gone(self.told_apart(joined.entity, a, b))
        for entity, path in zip((a, b), meeting.paths, strict=True):
            with self.into(path.operations):
                self.conform(entity, joined, meeting.span, path.yields)
        return self.instantiate(joined, name, meeting.span, meeting.values, meeting.sizes)

    def only_path(
        self, name: str | None, entities: tuple[Entity, Entity], left: tuple[Flag | None, Flag | None]
    ) -> Literal[0, 1] | None:
        """The path whose value alone the code after a merge can read, because the other one has left."""
        if name is None or name.startswith("#"):
            return None
        both: tuple[tuple[Literal[0, 1], Literal[0, 1]], ...] = ((0, 1), (1, 0))
        for path, other in both:
            if isinstance(entities[path], Missing | Conflict | Poison | Reducing) or left[path] is not None:
                continue
            # after `continue` the next iteration reads names; those it must assign itself are missing before the loop too
            if left[other] == "#return" or (left[other] == "#continue" and isinstance(entities[other], Missing)):
                return path
        return None

    def told_apart(self, conflict: Conflict, a: Entity, b: Entity) -> Conflict:
        """A conflict with the places of the two values."""
        places = [(self.span_of(entity), f"this is {self.describe(entity)}") for entity in (a, b)]
        return replace(conflict, paths=tuple((span, text) for span, text in places if span is not None))

    def partly_assigned(self, name: str, a: Entity, b: Entity) -> Entity:
        """What a name is that only one branch assigns."""
        entity, other = (b, a) if isinstance(a, Missing) else (a, b)
        if isinstance(entity, Poison):
            return entity
        assert isinstance(other, Missing)
        span = self.span_of(entity)
        return Missing((*other.assigned, *((span,) if span is not None else ())), other.why)


def flag_left(names: dict[str, Entity]) -> Flag | None:
    """How a path has left its block for certain, if it has."""
    flags: tuple[Flag, ...] = ("#return", "#break", "#continue")
    for flag in flags:
        entity = names.get(flag)
        if isinstance(entity, Number) and entity.value:
            return flag
    return None
