"""Parallel loops: `for … in lend.grid(…)`.

Does: the box, its indices, the values that leave the loop through reductions.  Does not: know the operators of reductions
(`reductions.py`).
Invariants: nothing but reductions leaves an iteration; what is not host-level and not an index is private to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NoReturn

from lend.diagnostics.diagnostic import Label
from lend.diagnostics.spans import Span
from lend.diagnostics.words import counted
from lend.frontend.typecheck.assigned import assigned_names
from lend.frontend.typecheck.emitter import Level, Team, region_of
from lend.frontend.typecheck.entities import Conflict, Entity, Missing, Number, Record, Reducing, Scalar, TupleOf
from lend.frontend.typecheck.loops import MAX_ATTEMPTS, Loops
from lend.frontend.typecheck.merging import Form, Gone, Parts, Strong, Weak
from lend.ir import syntax, typed
from lend.ir.typed import BinaryOperator, Extent, Reduction, Region, Value
from lend.language.types import BOOL_, INDEX, VectorType

NUMBERS = {3: "three", 6: "six"}
WHAT = {"lend.grid": "extents", "lend.blocks": "extents", "lend.threads": "sizes"}
_PRIVATE = "store it into an array, or reduce into a variable that has a value before the loop: `s += ...`"


@dataclass(frozen=True, eq=False)
class ParallelLoop:
    """What distinguishes the kinds of parallel loops: `build` makes the operation of (results, reductions, body)."""

    statement: syntax.For
    names: list[syntax.Name]
    level: Level  # inside
    build: Callable[[tuple[Value, ...], tuple[Reduction, ...], Region], typed.Operation]
    private: str = "private to each iteration of a parallel loop"
    sizes: tuple[int, ...] = ()  # of a team's threads


class ParallelLoops(Loops):
    """Typing of parallel loops."""

    def parallel(self, statement: syntax.For, call: syntax.Call) -> None:
        """`for … in lend.grid(…)`."""
        span = statement.span
        if self.level in ("block", "thread"):
            self.refuse(
                "L0401",
                "`lend.grid` inside `lend.blocks`",
                span,
                "inside a block here",
                fix="write `lend.threads(...)` for the threads of a block, or `range(...)` for a loop of one",
            )
        if self.in_grid:
            self.refuse(
                "L0401",
                "a parallel loop inside a parallel loop",
                span,
                "inside another one here",
                fix="give one `lend.grid` all the extents, or write `for ... in range(...)` inside",
            )
        names = self.grid_names(statement, call, "lend.grid", 6)
        box, site = self.grid_extents(call)
        self.parallel_loop(
            ParallelLoop(
                statement,
                names,
                "grid",
                lambda results, reductions, body: typed.Parallel(span, results, tuple(box), reductions, body, site),
            )
        )

    def parallel_loop(self, loop: ParallelLoop) -> None:
        """Check a parallel loop until the types of its reductions hold, and emit it."""
        span, before_loop = loop.statement.span, dict(self.names)
        variables = self.reduction_variables(loop.statement.body, loop.names, before_loop)
        forms: dict[str, Form] = {name: self.form(so_far(before_loop[name])) for name in variables}
        for number in range(MAX_ATTEMPTS):
            mark, length = self.mark(), len(self.operations)
            ends, refused = self.try_parallel(loop, variables, forms, before_loop)
            after: dict[str, Form] = {}
            for name, form in forms.items():
                end = ends[name]
                if isinstance(end, Reducing):
                    after[name] = self.widen(form, self.join_forms(form, self.form(end.current)), number)
            if refused or after == forms:
                return
            bad = next((name for name, form in after.items() if isinstance(form, Gone)), None)
            if bad is not None:
                self.refuse_reduction_types(bad, variables[bad], after[bad])
            forms = after
            self.rewind(mark)
            del self.operations[length:]
            self.frame.names = dict(before_loop)
        self.refuse(
            "L0203",
            "the types of this loop's reductions do not settle",
            span,
            "in this loop",
            fix="give them explicit types before it",
        )

    def refuse_reduction_types(self, name: str, declared: tuple[str, Span], form: Form) -> None:
        """A reduction whose contributions do not fit its variable."""
        why = form.entity.why if isinstance(form, Gone) and isinstance(form.entity, Conflict) else "its types do not fit together"
        fix = form.entity.fix if isinstance(form, Gone) and isinstance(form.entity, Conflict) else None
        self.refuse("L0404", f"the reduction of `{name}` has no single type", declared[1], why, fix=fix)

    def grid_names(self, statement: syntax.For, call: syntax.Call, word: str, most: int) -> list[syntax.Name]:
        """The index names, one per extent."""
        target = statement.target
        items = target.items if isinstance(target, syntax.Tuple) else (target,)
        names = [item for item in items if isinstance(item, syntax.Name)]
        count = len(call.arguments)
        if len(names) != len(items):
            self.refuse(
                "L0403",
                f"the indices of {'a grid' if word == 'lend.grid' else f'`{word}`'} are plain names",
                target.span,
                "not plain names",
                fix=f"write `for i, j in {word}(N, M):`",
            )
        if call.keywords or not 1 <= count <= most:
            self.refuse(
                "L0224",
                f"`{word}` takes one to {NUMBERS[most]} {WHAT[word]}, not {count}",
                call.span,
                counted(count, WHAT[word][:-1]),
                fix="write the others as `for ... in range(...)` inside" if count > most else f"write `{word}(n)`",
            )
        if count != len(names) or (isinstance(target, syntax.Tuple) and count == 1):
            self.refuse_grid_names(call, target, word, len(names))
        if len({name.id for name in names}) != len(names):
            self.refuse(
                "L0403",
                f"two indices of {'a grid' if word == 'lend.grid' else f'`{word}`'} have the same name",
                target.span,
                "one name stands twice here",
                fix="give each dimension its own name",
            )
        return names

    def refuse_grid_names(self, call: syntax.Call, target: syntax.Expr, word: str, names: int) -> NoReturn:
        """Not one name for each extent."""
        extents, one = len(call.arguments), WHAT[word][:-1]
        fix = f"write one name for each {one}"
        if names == extents == 1:
            fix = f"write the name alone: `for {target.span.text.strip('(), ')} in`"
        elif (
            word != "lend.threads"
            and names == 1
            and extents in (2, 3)
            and not any(isinstance(a, syntax.Tuple) for a in call.arguments)
        ):
            bounds = ", ".join(argument.span.text for argument in call.arguments)
            fix = f"write `{word}(({bounds}))` for one index with bounds; each argument of `{word}` is a dimension of its own"
        indices = counted(names, "index", "indices")
        self.refuse(
            "L0403",
            f"`{word}` has {counted(extents, one)}, but there {'are' if names > 1 else 'is'} {indices}",
            target.span,
            indices,
            labels=(Label(call.span, counted(extents, one)),),
            fix=fix,
        )

    def grid_extents(self, call: syntax.Call) -> tuple[list[Extent], int | None]:
        """The box, and a site if a step may be zero."""
        extents: list[Extent] = []
        site = None
        for argument in call.arguments:
            entity = self.check(argument)
            parts: list[Entity] = list(entity.items) if isinstance(entity, TupleOf) else [entity]
            if not 1 <= len(parts) <= 3:
                self.refuse(
                    "L0224",
                    f"an extent is `n`, `(lower, upper)` or `(lower, upper, step)`, not {len(parts)} values",
                    argument.span,
                    f"{len(parts)} values",
                )
            extent, where = self.extent(parts, argument.span, f"a bound of `{call.function.span.text}`")
            extents.append(extent)
            site = where if where is not None else site
        return extents, site

    def try_parallel(
        self,
        loop: ParallelLoop,
        variables: dict[str, tuple[BinaryOperator, Span]],
        forms: dict[str, Form],
        before: dict[str, Entity],
    ) -> tuple[dict[str, Entity], bool]:
        """Check a parallel loop once and emit it."""
        span, body = loop.statement.span, loop.statement.body
        indices = tuple(self.new_value(INDEX, name.span, name.id) for name in loop.names)
        parameters: list[Value] = []
        groups, inside = self.begin_reductions(variables, forms, before, parameters, span)
        saved = dict(before)
        self.frame.names = {name: e for name, e in before.items() if name not in ("#return", "#result", "#break")}
        self.names.update(inside)
        self.names.update({name.id: Scalar(value) for name, value in zip(loop.names, indices, strict=True)})
        outer = self.level, self.threads, self.team
        self.level, self.threads = loop.level, (*self.threads, *(name.id for name in loop.names))
        self.team = Team(loop.sizes, indices)
        before_count = len(self.unit.diagnostics)
        try:
            with self.region() as operations:
                self.names["#continue"] = Number(False, BOOL_)
                self.check_block(body)
                inner = self.names
                ends = {name: inner[name] for name in variables}
                refused = len(self.unit.diagnostics) > before_count
                yields = self.contributions(forms, inside, ends, span)
        finally:
            self.level, self.threads, self.team = outer
            self.frame.names = saved
        results: list[Value] = []
        reduced = {name: self.instantiate(forms[name], name, span, results, []) for name in variables}
        self.emit(loop.build(tuple(results), tuple(groups), region_of(operations, yields, (*indices, *parameters))))
        for name in (assigned_names(body) | {n.id for n in loop.names}) - set(variables):
            where = self.span_of(inner[name]) if name in inner else None
            self.names[name] = Missing((where,) if where else (), loop.private, _PRIVATE)
        for name, entity in reduced.items():
            outside = before[name]
            if isinstance(outside, Reducing) and isinstance(entity, Scalar | TupleOf | Record):
                entity = replace(outside, current=entity)
            self.names[name] = entity
        return ends, refused

    def begin_reductions(
        self,
        variables: dict[str, tuple[BinaryOperator, Span]],
        forms: dict[str, Form],
        before: dict[str, Entity],
        parameters: list[Value],
        span: Span,
    ) -> tuple[list[Reduction], dict[str, Reducing]]:
        """The reductions of a loop and what their variables are inside it; their values there are added to `parameters`."""
        groups: list[Reduction] = []
        inside: dict[str, Reducing] = {}
        for name, (operator, declared) in variables.items():
            inits: list[Value] = []
            if not reducible(forms[name]):
                self.refuse("L0404", f"`{name}` cannot be reduced", declared, "not a number or a tuple of numbers")
            self.conform(so_far(before[name]), forms[name], span, inits)
            current = self.instantiate(forms[name], name, span, parameters, [])
            if not isinstance(current, Scalar | TupleOf | Record):
                self.refuse("L0404", f"`{name}` cannot be reduced", declared, "not a number or a tuple of numbers")
            apart = isinstance(current, Record)  # the items of a vector are
            for carried in [(value,) for value in inits] if apart else [tuple(inits)]:
                groups.append(Reduction(operator, carried))
                self.check_reduction(name, operator, carried, declared)
            inside[name] = Reducing(name, operator, current, declared)
        return groups, inside

    def contributions(
        self, forms: dict[str, Form], inside: dict[str, Reducing], ends: dict[str, Entity], span: Span
    ) -> list[Value]:
        """What an iteration yields to each reduction; where its type does not fit yet, what it began with."""
        yields: list[Value] = []
        for name, form in forms.items():
            end = ends[name]
            fits = isinstance(end, Reducing) and self.join_forms(form, self.form(end.current)) == form
            self.conform(end.current if fits and isinstance(end, Reducing) else inside[name].current, form, span, yields)
        return yields


def so_far(entity: Entity) -> Entity:
    """A reduction's value before a loop: inside a block, its threads add to the block's part."""
    return entity.current if isinstance(entity, Reducing) else entity


def reducible(form: Form) -> bool:
    """Whether a reduction can carry values of a form: a number, a vector, or a tuple of numbers."""
    if isinstance(form, Parts):
        return (form.type is None or isinstance(form.type, VectorType)) and all(
            isinstance(item, Strong | Weak) for item in form.items
        )
    return isinstance(form, Strong | Weak)
