"""Loops: sequential and unrolled.

Does: find what a loop carries and the types it needs, by trying until they hold.  Does not: parallel loops (`parallel.py`).
Invariants: carried values have one type on entry, at the end of each iteration and after the loop.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable

from lend.diagnostics.spans import Span
from lend.frontend.typecheck.assigned import assigned_names, changed_names, may_leave
from lend.frontend.typecheck.emitter import region_of
from lend.frontend.typecheck.entities import (
    Array,
    Entity,
    Missing,
    Number,
    Poison,
    Python,
    Record,
    Scalar,
    TupleOf,
)
from lend.frontend.typecheck.merging import Fixed, Form, Gone, Parts, Reduced, Strong, Weak
from lend.frontend.typecheck.statements import Statements
from lend.frontend.typecheck.vectors import is_vector
from lend.ir import syntax, typed
from lend.ir.typed import Extent, Operation, Region, Value
from lend.language import intrinsics
from lend.language.types import BOOL_, INDEX

MAX_ATTEMPTS = 12
MAX_UNROLLED = 4096
MAX_NESTED = 16


_AFTER = "keep it in another variable, assigned before the loop and inside it"


class Loops(Statements):
    """Typing of sequential and unrolled loops."""

    # --------------------------------------------------------------------------------------------------------- what is carried

    def carried(self, body: tuple[syntax.Stmt, ...]) -> dict[str, Entity]:
        """The names that a loop's body assigns and that have a value before it, flags included."""
        assigned, changed = assigned_names(body), changed_names(body)
        records = {name for name in self.names if name in changed and isinstance(self.names[name], Record)}
        found = [name for name in self.names if name in assigned or name in records]
        if "#return" in self.names and may_leave(body, syntax.Return):
            found += ["#return", "#result"]
        return {name: self.names[name] for name in found if not isinstance(self.names[name], Missing) or name == "#result"}

    def settle_loop(
        self, body: tuple[syntax.Stmt, ...], span: Span, attempt: Callable[[dict[str, Form]], tuple[dict[str, Entity], bool]]
    ) -> dict[str, Form]:
        """Try a loop until the forms of its carried values hold: `attempt` checks it once and gives the names at its end.

        After this the operations of the last attempt stand; `attempt` has emitted the loop.
        """
        entities = self.carried(body)
        forms: dict[str, Form] = {}
        for name, entity in entities.items():
            forms[name] = self.form(entity, constant=name.startswith("#"))
        initial, again = dict(forms), set[str]()
        for number in range(MAX_ATTEMPTS):
            mark, length = self.mark(), len(self.operations)
            ends, refused = attempt(forms)
            if refused:
                return forms
            after: dict[str, Form] = {}
            for name, form in forms.items():
                end = ends[name]
                if name == "#result" and isinstance(form, Gone):
                    after[name] = self.returned_form(self.loosen(self.form(end)), or_nothing=True)
                else:
                    last = self.form(end, constant=True)
                    joined = self.join_forms(form, last)
                    if isinstance(joined, Gone) and not isinstance(form, Gone) and name not in again:
                        again.add(name)  # an earlier attempt may have held another variable for narrower than it is
                        joined = self.join_forms(initial[name], last)
                    after[name] = self.widen(form, joined, number)
            if after == forms:
                return forms
            forms = after
            self.rewind(mark)
            del self.operations[length:]
        self.refuse(
            "L0203",
            "the types of this loop's variables do not settle",
            span,
            "in this loop",
            fix="give them explicit types before it",
        )

    def widen(self, old: Form, new: Form, attempt: int) -> Form:
        """Literals that keep growing take their default type."""
        if isinstance(new, Weak) and new != old and attempt > 0:
            return Strong(new.type)
        if isinstance(new, Parts) and isinstance(old, Parts) and len(new.items) == len(old.items):
            return Parts(tuple(self.widen(a, b, attempt) for a, b in zip(old.items, new.items, strict=True)), new.type)
        if isinstance(new, Reduced) and isinstance(old, Reduced):
            return Reduced(new.entity, self.widen(old.current, new.current, attempt))
        return new

    def enter(self, forms: dict[str, Form], span: Span) -> tuple[dict[str, Entity], list[Value], list[Operation]]:
        """The carried names as a region's parameters."""
        values: list[Value] = []
        sizes: list[Operation] = []
        entities = {name: self.instantiate(form, name, span, values, sizes) for name, form in forms.items()}
        return entities, values, sizes

    def outgoing(self, forms: dict[str, Form], entities: dict[str, Entity], span: Span) -> list[Value]:
        """The carried names' values, converted to their forms, emitted here."""
        out: list[Value] = []
        for name, form in forms.items():
            self.conform(entities[name], form, span, out)
        return out

    def after_loop(
        self,
        forms: dict[str, Form],
        body: tuple[syntax.Stmt, ...],
        results: dict[str, Entity],
        inner: dict[str, Entity],
        span: Span,
    ) -> None:
        """The names after a loop: carried ones have its results, others it assigns are not sure to be assigned."""
        for name in assigned_names(body):
            if name not in forms:
                was = self.names.get(name)
                where = self.span_of(inner[name]) if name in inner else None
                old = was.assigned if isinstance(was, Missing) else ()
                self.names[name] = Missing((*old, *((where,) if where else ())), "assigned inside a loop only, which may not run")
        self.names.update(results)

    def run_body(self, body: tuple[syntax.Stmt, ...], flags: dict[str, Entity]) -> tuple[Entity, bool]:
        """Check a loop's body: its stop flag (break or return), and whether something was refused."""
        before = len(self.unit.diagnostics)
        self.names.update(flags)
        self.check_block(body)
        stop: Entity = self.names.get("#break", Number(False, BOOL_))
        returned = self.names.get("#return")
        if returned is not None and may_leave(body, syntax.Return) and isinstance(returned, Number | Scalar):
            stop = self.operate("|", stop, returned, body[0].span) if not isinstance(stop, Poison) else stop
        return stop, len(self.unit.diagnostics) > before

    # ------------------------------------------------------------------------------------------------------- sequential loops

    def for_statement(self, statement: syntax.For) -> None:
        """`for` over a range, a grid, a static range or a tuple."""
        iterable = statement.iterable
        callee = self.check(iterable.function) if isinstance(iterable, syntax.Call) else None
        target = callee.object if isinstance(callee, Python) else None
        if isinstance(iterable, syntax.Call) and isinstance(callee, Python):
            if target is intrinsics.grid:
                return self.parallel(statement, iterable)
            if target is intrinsics.blocks:
                return self.blocks(statement, iterable)
            if target is intrinsics.threads:
                return self.team_threads(statement, iterable)
            if target is builtins.range:
                return self.range_loop(statement, iterable)
            if target is intrinsics.static_range:
                return self.unroll(statement, self.static_items(iterable))
            if target in (builtins.enumerate, builtins.zip):
                return self.unroll(statement, self.zipped(target, iterable))
        entity = self.check(iterable)
        if isinstance(entity, TupleOf) or is_vector(entity):
            return self.unroll(statement, list(self.items_of(entity)))
        fix = "write `for k in range(n):` or `for i in lend.grid(n):`"
        if isinstance(entity, Array):
            fix = f"write `for k in range(len({entity.name})):` and use `{entity.name}[k]`"
        self.refuse(
            "L0403",
            f"a loop over {self.describe(entity)}",
            iterable.span,
            "kernels loop over ranges, grids, tuples and vectors",
            fix=fix,
        )

    def parallel(self, statement: syntax.For, call: syntax.Call) -> None:
        """A parallel loop (defined in `parallel.py`)."""
        raise NotImplementedError

    def blocks(self, statement: syntax.For, call: syntax.Call) -> None:
        """A loop over blocks (defined in `teams.py`)."""
        raise NotImplementedError

    def team_threads(self, statement: syntax.For, call: syntax.Call) -> None:
        """The threads of a block (defined in `teams.py`)."""
        raise NotImplementedError

    def static_items(self, call: syntax.Call) -> list[Entity]:
        """The indices of `lend.static_range(…)`."""
        bounds: list[int] = []
        for argument in call.arguments:
            entity = self.check(argument)
            if not (isinstance(entity, Number) and isinstance(entity.value, int)):
                self.refuse(
                    "L0212",
                    "the bounds of `lend.static_range` must be known when the kernel is compiled",
                    argument.span,
                    "not a compile-time integer",
                    fix="make it a `comptime[int]` parameter, or write `range(...)`",
                )
            bounds.append(entity.value)
        if call.keywords or not 1 <= len(bounds) <= 3 or (len(bounds) == 3 and bounds[2] == 0):
            self.refuse("L0224", "`lend.static_range` takes one to three integers, the step not 0", call.span, "in this call")
        values = range(*bounds)
        if len(values) > MAX_UNROLLED:
            self.refuse(
                "L0403",
                f"{len(values)} iterations would be unrolled",
                call.span,
                f"at most {MAX_UNROLLED} are unrolled",
                fix="write `range(...)`",
            )
        return [Number(value, None) for value in values]

    def zipped(self, target: object, call: syntax.Call) -> list[Entity]:
        """The items of `enumerate(t)` and `zip(t, u)` over tuples."""
        if target is builtins.enumerate and (len(call.arguments) != 1 or call.keywords):
            self.refuse("L0224", "`enumerate` takes one tuple in kernels", call.span, f"{len(call.arguments)} arguments")
        entities = [self.check(argument) for argument in call.arguments]
        columns: list[tuple[Entity, ...]] = []
        for entity, argument in zip(entities, call.arguments, strict=True):
            if not (isinstance(entity, TupleOf) or is_vector(entity)):
                self.refuse(
                    "L0403",
                    f"a loop over {self.describe(entity)}",
                    argument.span,
                    "`enumerate` and `zip` take tuples in kernels",
                    fix="write `for k in range(n):`",
                )
            columns.append(self.items_of(entity))
        if target is builtins.enumerate:
            columns.insert(0, tuple(Number(k, None) for k in range(len(columns[0]))))
        return [TupleOf(items) for items in zip(*columns, strict=False)]

    def unroll(self, statement: syntax.For, items: list[Entity]) -> None:
        """Repeat the body for each compile-time item."""
        outer = {flag: self.names.get(flag) for flag in ("#break", "#continue")}
        self.names["#break"] = Number(False, BOOL_)

        leaves = may_leave(statement.body, syntax.Break) or may_leave(statement.body, syntax.Return)

        def one(item: Entity) -> Entity:
            self.names["#continue"] = Number(False, BOOL_)
            self.assign(statement.target, item, statement.span)
            self.check_block(statement.body)
            return Python(None)

        def going() -> Number | Scalar:
            stay: Entity = self.negate("not", self.names["#break"], statement.span)
            returned = self.names.get("#return")
            if isinstance(returned, Number | Scalar) and may_leave(statement.body, syntax.Return):
                stay = self.operate("&", stay, self.negate("not", returned, statement.span), statement.span)
            assert isinstance(stay, Number | Scalar)
            return stay

        def from_item(position: int) -> Entity:
            if position == len(items):
                return Python(None)
            one(items[position])
            stay = going()
            if isinstance(stay, Number):
                return from_item(position + 1) if stay.value else Python(None)
            return self.branch(stay.value, statement.span, lambda: from_item(position + 1), lambda: Python(None))

        if leaves and len(items) <= MAX_NESTED:  # what one iteration assigns, the next may read
            from_item(0)
        else:
            for item in items:
                stay = going()
                if isinstance(stay, Scalar):
                    self.branch(stay.value, statement.span, lambda item=item: one(item), lambda: Python(None))
                elif stay.value:
                    one(item)
        self.restore_flags(outer)

    def restore_flags(self, flags: dict[str, Entity | None]) -> None:
        """Give an inner loop's flags back to the outer one."""
        for flag, entity in flags.items():
            if entity is None:
                self.names.pop(flag, None)
            else:
                self.names[flag] = entity

    def range_loop(self, statement: syntax.For, call: syntax.Call) -> None:
        """`for k in range(…)`."""
        span = statement.span
        if not isinstance(statement.target, syntax.Name):
            self.refuse("L0403", "`range` gives one index", statement.target.span, "one name is needed here")
        if call.keywords or not 1 <= len(call.arguments) <= 3:
            given = f"{len(call.arguments) + len(call.keywords)} given" if not call.keywords else "given by name"
            self.refuse("L0224", "`range` takes one to three integers by position", call.span, given)
        extent, site = self.extent([self.check(a) for a in call.arguments], call.span, "a bound of `range`")
        name = statement.target.id
        before_loop = dict(self.names)
        self.names.pop(name, None)

        def attempt(forms: dict[str, Form]) -> tuple[dict[str, Entity], bool]:
            index = self.new_value(INDEX, statement.target.span, name)
            return self.try_sequential(
                statement.body,
                forms,
                span,
                {name: Scalar(index)},
                before_loop,
                lambda results, inits, body, stops: typed.For(span, results, extent, inits, body, stops, site),
                (index,),
            )

        self.settle_loop(statement.body, span, attempt)
        if name not in assigned_names(statement.body) or isinstance(self.names.get(name), Missing):
            self.names[name] = Missing((statement.target.span,), "the index of a loop, and has no value after it", _AFTER)

    def try_sequential(
        self,
        body: tuple[syntax.Stmt, ...],
        forms: dict[str, Form],
        span: Span,
        bound: dict[str, Entity],
        before_loop: dict[str, Entity],
        build: Callable[[tuple[Value, ...], tuple[Value, ...], Region, bool], typed.For | typed.While],
        first: tuple[Value, ...],
        condition: Callable[[dict[str, Entity]], None] | None = None,
    ) -> tuple[dict[str, Entity], bool]:
        """Check a sequential loop once with the given forms and emit it."""
        saved = dict(self.names)
        init_entities = {name: before_loop[name] for name in forms}
        inits = self.outgoing(forms, init_entities, span)
        entities, parameters, sizes = self.enter(forms, span)
        if condition is not None:
            condition(entities)
        with self.region() as operations:
            self.operations.extend(sizes)
            self.names.update(entities)
            self.names.update(bound)
            flags: dict[str, Entity] = {"#break": Number(False, BOOL_), "#continue": Number(False, BOOL_)}
            stop, refused = self.run_body(body, flags)
            inner = self.names
            ends = {name: inner[name] for name in forms}
            holds = not refused and all(self.holds(forms[name], ends[name]) for name in forms)
            yields = self.outgoing(forms, ends, span) if holds else list(parameters)
            stops = not (isinstance(stop, Number) and not stop.value)
            if stops:
                yields.insert(0, self.materialise(self.truth(stop, span), span))
        self.frame.names = saved
        results, values, after = self.enter(forms, span)
        self.emit(build(tuple(values), tuple(inits), region_of(operations, yields, (*first, *parameters)), stops))
        self.operations.extend(after)
        self.after_loop(forms, body, results, inner, span)
        if refused:
            for name in forms:
                if not isinstance(forms[name], Fixed):
                    self.names[name] = ends[name] if isinstance(ends[name], Poison) else results[name]
        return ends, refused

    def holds(self, form: Form, end: Entity) -> bool:
        """Whether an entity already has a form."""
        if isinstance(form, Gone):
            return True
        return self.join_forms(form, self.form(end, constant=True)) == form

    def extent(self, arguments: list[Entity], span: Span, what: str) -> tuple[Extent, int | None]:
        """Bounds and step of a range; a site where the step may be zero."""
        if len(arguments) == 1:
            arguments = [Number(0, None), arguments[0]]
        for argument in arguments:
            if isinstance(argument, Array):
                at, size = self.where(argument, span), f"len({argument.name})"
                self.refuse("L0207", f"{what} must be an integer, not an array", at, "this is an array", fix=f"write `{size}`")
        values = [self.to_index(argument, span, what) for argument in arguments]
        site = None
        if len(values) == 3:
            step = arguments[2]
            if isinstance(step, Number):
                if step.value == 0:
                    self.refuse("L0210", "the step is zero", self.where(step, span), "a step other than 0 is needed")
            else:
                site = self.site("step", span)
        else:
            values.append(self.constant(1, INDEX, span))
        return Extent(*values), site

    def while_statement(self, statement: syntax.While) -> None:
        """`while`."""
        span = statement.span
        before_loop = dict(self.names)
        regions: list[Region] = []

        def attempt(forms: dict[str, Form]) -> tuple[dict[str, Entity], bool]:
            def condition(entities: dict[str, Entity]) -> None:
                fresh, parameters, sizes = self.enter(forms, span)
                saved = dict(self.names)
                self.names.update(fresh)
                try:
                    with self.region() as operations:
                        self.operations.extend(sizes)
                        test = self.materialise(self.test(statement.test), span)
                finally:
                    self.frame.names = saved
                regions[:] = [region_of(operations, [test], tuple(parameters))]

            return self.try_sequential(
                statement.body,
                forms,
                span,
                {},
                before_loop,
                lambda results, inits, body, stops: typed.While(span, results, inits, regions[0], body, stops),
                (),
                condition,
            )

        self.settle_loop(statement.body, span, attempt)
