"""Loops: sequential, unrolled, parallel.

Does: find what a loop carries and the types it needs, by trying until they hold.  Does not: know what is inside.
Invariants: carried values have one type on entry, at the end of each iteration and after the loop.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable

from lend.diagnostics.diagnostic import Label
from lend.diagnostics.spans import Span
from lend.frontend.typecheck.assigned import assigned_names, may_leave, targets, walk
from lend.frontend.typecheck.emitter import Refused, region_of
from lend.frontend.typecheck.entities import (
    Array,
    Conflict,
    Entity,
    Missing,
    Number,
    Poison,
    Python,
    Record,
    Reducing,
    Scalar,
    TupleOf,
)
from lend.frontend.typecheck.merging import Fixed, Form, Gone, Lent, Parts, Reduced, Strong, Weak
from lend.frontend.typecheck.statements import Statements
from lend.ir import syntax, typed
from lend.ir.typed import Extent, Operation, Reduction, Region, Value
from lend.language import intrinsics
from lend.language.types import BOOL_, INDEX, ScalarType

MAX_ATTEMPTS = 12
MAX_UNROLLED = 4096
_REDUCING = {"+": "add", "*": "mul", "&": "and", "|": "or", "^": "xor"}


class Loops(Statements):
    """Typing of loops."""

    # --------------------------------------------------------------------------------------------------------- what is carried

    def carried(self, body: tuple[syntax.Stmt, ...]) -> dict[str, Entity]:
        """The names that a loop's body assigns and that have a value before it, flags included."""
        found = [name for name in self.names if name in assigned_names(body)]
        if "#return" in self.names and may_leave(body, syntax.Return):
            found += ["#return", "#result"]
        for flag, kind in (("#break", syntax.Break), ("#continue", syntax.Continue)):
            _ = flag, kind
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
        for number in range(MAX_ATTEMPTS):
            mark, length, disjoint = self.mark(), len(self.operations), set(self.disjoint)
            ends, refused = attempt(forms)
            if refused:
                return forms
            after: dict[str, Form] = {}
            for name, form in forms.items():
                end = ends[name]
                if name == "#result" and isinstance(form, Gone):
                    after[name] = self.loosen(self.form(end))
                else:
                    after[name] = self.widen(form, self.join_forms(form, self.form(end, constant=True)), number)
            if after == forms:
                return forms
            forms = after
            self.rewind(mark)
            del self.operations[length:]
            self.disjoint = disjoint
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

    def assume_disjoint(self, before: dict[str, Entity], inside: dict[str, Entity]) -> set[tuple[str, str]]:
        """Carried arrays that are disjoint before the loop are taken to be disjoint inside; the pairs are given to be verified."""
        pairs: set[tuple[str, str]] = set()
        arrays = [name for name, e in inside.items() if isinstance(e, Array) and isinstance(before.get(name), Array)]
        for a in arrays:
            for b in arrays:
                x, y = before[a], before[b]
                if a < b and isinstance(x, Array) and isinstance(y, Array) and not self.overlap(x, y):
                    pairs.add((a, b))
                    u, v = inside[a], inside[b]
                    assert isinstance(u, Array) and isinstance(v, Array)
                    self.disjoint.add(frozenset((u.base, v.base)))
        return pairs

    def still_disjoint(self, pairs: set[tuple[str, str]], ends: dict[str, Entity]) -> bool:
        """Whether the assumed pairs are disjoint at the end of an iteration too."""
        for a, b in pairs:
            x, y = ends.get(a), ends.get(b)
            if not (isinstance(x, Array) and isinstance(y, Array)) or self.overlap(x, y):
                return False
        return True

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
            if target is builtins.range:
                return self.range_loop(statement, iterable)
            if target is intrinsics.static_range:
                return self.unroll(statement, self.static_items(iterable))
            if target in (builtins.enumerate, builtins.zip):
                return self.unroll(statement, self.zipped(target, iterable))
        entity = self.check(iterable)
        if isinstance(entity, TupleOf):
            return self.unroll(statement, list(entity.items))
        fix = "write `for k in range(n):` or `for i in lend.grid(n):`"
        if isinstance(entity, Array):
            fix = f"write `for k in range(len({entity.name})):` and use `{entity.name}[k]`"
        self.refuse(
            "L0403", f"a loop over {self.describe(entity)}", iterable.span, "kernels loop over ranges, grids and tuples", fix=fix
        )

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
                f"at most {MAX_UNROLLED} are",
                fix="write `range(...)`",
            )
        return [Number(value, None) for value in values]

    def zipped(self, target: object, call: syntax.Call) -> list[Entity]:
        """The items of `enumerate(t)` and `zip(t, u)` over tuples."""
        entities = [self.check(argument) for argument in call.arguments]
        columns: list[tuple[Entity, ...]] = []
        for entity, argument in zip(entities, call.arguments, strict=True):
            if not isinstance(entity, TupleOf):
                self.refuse(
                    "L0403",
                    f"a loop over {self.describe(entity)}",
                    argument.span,
                    "`enumerate` and `zip` take tuples in kernels",
                    fix="write `for k in range(n):`",
                )
            columns.append(entity.items)
        if target is builtins.enumerate:
            if len(columns) != 1 or call.keywords:
                self.refuse("L0224", "`enumerate` takes one tuple", call.span, "in this call")
            columns.insert(0, tuple(Number(k, None) for k in range(len(columns[0]))))
        return [TupleOf(items) for items in zip(*columns, strict=False)]

    def unroll(self, statement: syntax.For, items: list[Entity]) -> None:
        """Repeat the body for each compile-time item."""
        outer = {flag: self.names.get(flag) for flag in ("#break", "#continue")}
        self.names["#break"] = Number(False, BOOL_)

        def from_item(position: int) -> Entity:
            if position == len(items):
                return Python(None)
            self.names["#continue"] = Number(False, BOOL_)
            self.assign(statement.target, items[position], statement.span)
            self.check_block(statement.body)
            going: Entity = self.negate("not", self.names["#break"], statement.span)
            returned = self.names.get("#return")
            if isinstance(returned, Number | Scalar) and may_leave(statement.body, syntax.Return):
                going = self.operate("&", going, self.negate("not", returned, statement.span), statement.span)
            if isinstance(going, Number):
                return from_item(position + 1) if going.value else Python(None)
            assert isinstance(going, Scalar)
            return self.branch(going.value, statement.span, lambda: from_item(position + 1), lambda: Python(None))

        if items and not may_leave(statement.body, syntax.Break) and not may_leave(statement.body, syntax.Return):
            for item in items:  # without exits there is nothing to nest
                self.names["#continue"] = Number(False, BOOL_)
                self.assign(statement.target, item, statement.span)
                self.check_block(statement.body)
        else:
            from_item(0)
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
            self.refuse("L0224", f"`range` takes one to three integers, not {len(call.arguments)}", call.span, "in this call")
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
            self.names[name] = Missing((statement.target.span,), "assigned inside a loop only, which may not run")

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
        pairs = self.assume_disjoint(init_entities, entities)
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
            if not self.still_disjoint(pairs, ends):
                self.disjoint.difference_update(frozenset((entities[a].base, entities[b].base)) for a, b in pairs)  # type: ignore[union-attr]
            holds = not refused and all(self.holds(forms[name], ends[name]) for name in forms)
            yields = self.outgoing(forms, ends, span) if holds else list(parameters)
            stops = not (isinstance(stop, Number) and not stop.value)
            if stops:
                yields.insert(0, self.materialise(self.truth(stop, span), span))
        self.frame.names = saved
        results, values, after = self.enter(forms, span)
        self.emit(build(tuple(values), tuple(inits), region_of(operations, yields, (*first, *parameters)), stops))
        self.operations.extend(after)
        self.keep_disjoint([init_entities, ends], results)
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
        values = [self.to_index(argument, span, what) for argument in arguments]
        site = None
        if len(values) == 3:
            step = arguments[2]
            if isinstance(step, Number):
                if step.value == 0:
                    self.refuse("L0210", "the step is zero", span, "a range needs a step other than 0")
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
                self.assume_disjoint({n: before_loop[n] for n in forms}, fresh)
                try:
                    with self.region() as operations:
                        self.operations.extend(sizes)
                        test = self.materialise(self.truth(self.check(statement.test), statement.test.span), span)
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

    # --------------------------------------------------------------------------------------------------------- parallel loops

    def parallel(self, statement: syntax.For, call: syntax.Call) -> None:
        """`for … in lend.grid(…)`."""
        span = statement.span
        if self.in_grid:
            self.refuse(
                "L0401",
                "a parallel loop inside a parallel loop",
                span,
                "inside another one here",
                fix="give one `lend.grid` all the extents, or write `for ... in range(...)` inside",
            )
        names = self.grid_names(statement, call)
        extents = self.grid_extents(call)
        before_loop = dict(self.names)
        variables = self.reduction_variables(statement.body, names, before_loop)
        forms: dict[str, Form] = {name: self.form(before_loop[name]) for name in variables}
        for number in range(MAX_ATTEMPTS):
            mark, length = self.mark(), len(self.operations)
            ends, refused = self.try_parallel(statement, names, extents, variables, forms, before_loop)
            after = {
                name: self.widen(form, self.join_forms(form, self.form(ends[name].current)), number)
                for name, form in forms.items()
                if isinstance(ends[name], Reducing)
            }
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

    def grid_names(self, statement: syntax.For, call: syntax.Call) -> list[syntax.Name]:
        """The index names, one per extent."""
        target = statement.target
        items = target.items if isinstance(target, syntax.Tuple) else (target,)
        names = [item for item in items if isinstance(item, syntax.Name)]
        count = len(call.arguments)
        if len(names) != len(items):
            self.refuse(
                "L0403",
                "the indices of a grid are plain names",
                target.span,
                "not plain names",
                fix="write `for i, j in lend.grid(N, M):`",
            )
        if call.keywords or not 1 <= count <= 6:
            self.refuse("L0224", f"`lend.grid` takes one to six extents, not {count}", call.span, "in this call")
        if count != len(names) or (isinstance(target, syntax.Tuple) and count == 1):
            fix = None
            if len(names) == 1 and count in (2, 3):
                fix = "write `lend.grid((lower, upper))` for one index with bounds: each argument of `lend.grid` is a dimension of its own"
            self.refuse(
                "L0403",
                f"`lend.grid` has {count} extent{'s' if count > 1 else ''}, but there {'are' if len(names) > 1 else 'is'} {len(names)} "
                f"{'indices' if len(names) > 1 else 'index'}",
                target.span,
                f"{len(names)} {'indices' if len(names) > 1 else 'index'}",
                labels=(Label(call.span, f"{count} extent{'s' if count > 1 else ''}"),),
                fix=fix,
            )
        if len({name.id for name in names}) != len(names):
            self.refuse(
                "L0403",
                "two indices of a grid have the same name",
                target.span,
                "one name stands twice here",
                fix="give each dimension its own name",
            )
        return names

    def grid_extents(self, call: syntax.Call) -> tuple[list[Extent], int | None]:
        """The box, and a site if a step may be zero."""
        extents: list[Extent] = []
        site = None
        for argument in call.arguments:
            entity = self.check(argument)
            parts = list(entity.items) if isinstance(entity, TupleOf) else [entity]
            if not 1 <= len(parts) <= 3:
                self.refuse(
                    "L0224",
                    f"an extent is `n`, `(lower, upper)` or `(lower, upper, step)`, not {len(parts)} values",
                    argument.span,
                    f"{len(parts)} values",
                )
            extent, where = self.extent(parts, argument.span, "a bound of `lend.grid`")
            extents.append(extent)
            site = where if where is not None else site
        return extents, site

    def reduction_variables(
        self, body: tuple[syntax.Stmt, ...], names: list[syntax.Name], before: dict[str, Entity]
    ) -> dict[str, tuple[str, Span]]:
        """Host-level names that the body assigns: their operator and where it stands. Other assignments to them are refused."""
        loop_targets = {n for s in walk(body) if isinstance(s, syntax.For) for n in targets(s.target)}
        own = {name.id for name in names} | loop_targets
        found: dict[str, tuple[str, Span]] = {}
        for statement in walk(body):
            operator, name, span = self.reduction_form(statement)
            if name is None or name in own or isinstance(before.get(name, Missing()), Missing):
                continue
            if operator is not None and name not in found and isinstance(before[name], Number | Scalar | TupleOf):
                found[name] = (operator, span)
            elif operator is None or found.get(name, (operator,))[0] != operator or name not in found:
                self.refuse_host_write(name, statement, before[name], found.get(name))
        return found

    def reduction_form(self, statement: syntax.Stmt) -> tuple[str | None, str | None, Span]:
        """The operator (None if it is no reduction) and the name of an assignment to one name."""
        if isinstance(statement, syntax.AugAssign) and isinstance(statement.target, syntax.Name):
            return _REDUCING.get(statement.op), statement.target.id, statement.span
        if isinstance(statement, syntax.AnnAssign):
            return None, statement.target.id, statement.span
        if isinstance(statement, syntax.Assign):
            if len(statement.targets) == 1 and isinstance(statement.targets[0], syntax.Name):
                name = statement.targets[0].id
                operands = self.reduction_operands(name, statement.value)
                if operands is not None and isinstance(statement.value, syntax.Call):
                    callee = self.quiet_check(statement.value.function)
                    for operator, functions in (("min", ("min", "minimum")), ("max", ("max", "maximum"))):
                        if isinstance(callee, Python) and getattr(callee.object, "__name__", "") in functions:
                            return operator, name, statement.span
                return None, name, statement.span
            for target in statement.targets:
                for name in targets(target):
                    return None, name, statement.span
        return None, None, statement.span

    def quiet_check(self, expression: syntax.Expr) -> Entity:
        """An expression's entity, without reporting what is wrong with it (the statement's own check will)."""
        try:
            return self.check(expression)
        except Refused:
            return Poison()

    def refuse_host_write(self, name: str, statement: syntax.Stmt, before: Entity, reduced: tuple[str, Span] | None) -> None:
        """A parallel loop assigns a host-level name other than by one reduction."""
        if isinstance(statement, syntax.AugAssign) and statement.op == "-":
            fix = f"add the negative: `{name} += -(...)`"
        elif isinstance(statement, syntax.Assign) and isinstance(statement.value, syntax.Name):
            fix = f"to keep the largest value write `{name} = max({name}, {statement.value.id})`, the smallest with `min`; for a value of one iteration use another name"
        elif (
            isinstance(statement, syntax.Assign)
            and isinstance(statement.value, syntax.Binary)
            and self.is_name(statement.value.left, name)
        ):
            op = statement.value.op
            fix = f"write `{name} {op}= ...`" if op in _REDUCING else "reduce with one of `+= *= &= |= ^=`, `min` and `max`"
        else:
            fix = f"use another name inside the loop, or reduce: `{name} += ...`, `{name} = max({name}, ...)`"
        labels = (Label(reduced[1], f"`{name}` is reduced here"),) if reduced is not None else ()
        self.refuse(
            "L0404",
            f"`{name}` belongs to the host level, and the iterations of a parallel loop cannot assign it",
            statement.span,
            "every iteration would write this one variable",
            labels=labels,
            fix=fix,
        )

    def is_name(self, expression: syntax.Expr, name: str) -> bool:
        """Whether an expression is this name."""
        return isinstance(expression, syntax.Name) and expression.id == name

    def try_parallel(
        self,
        statement: syntax.For,
        names: list[syntax.Name],
        extents: tuple[list[Extent], int | None],
        variables: dict[str, tuple[str, Span]],
        forms: dict[str, Form],
        before: dict[str, Entity],
    ) -> tuple[dict[str, Entity], bool]:
        """Check a parallel loop once and emit it."""
        span = statement.span
        box, site = extents
        indices = tuple(self.new_value(INDEX, name.span, name.id) for name in names)
        parameters: list[Value] = []
        groups: list[Reduction] = []
        inside: dict[str, Entity] = {}
        for name, (operator, declared) in variables.items():
            inits: list[Value] = []
            self.conform(before[name], forms[name], span, inits)
            current = self.instantiate(forms[name], name, span, parameters, [])
            groups.append(Reduction(operator, tuple(inits)))  # type: ignore[arg-type]
            if not isinstance(current, Scalar | TupleOf):
                self.refuse("L0404", f"`{name}` cannot be reduced", declared, "not a number or a tuple of numbers")
            self.check_reduction(name, operator, tuple(inits), declared)
            inside[name] = Reducing(name, operator, current, declared)
        saved = dict(before)
        self.frame.names = {name: e for name, e in before.items() if name not in ("#return", "#result", "#break")}
        self.names.update(inside)
        self.names.update({name.id: Scalar(value) for name, value in zip(names, indices, strict=True)})
        self.in_grid, self.threads = True, tuple(name.id for name in names)
        before_count = len(self.unit.diagnostics)
        try:
            with self.region() as operations:
                self.names["#continue"] = Number(False, BOOL_)
                self.check_block(statement.body)
                inner = self.names
                ends = {name: inner[name] for name in variables}
                refused = len(self.unit.diagnostics) > before_count
                yields: list[Value] = []
                for name in variables:
                    end = ends[name]
                    fits = isinstance(end, Reducing) and self.join_forms(forms[name], self.form(end.current)) == forms[name]
                    if fits and isinstance(end, Reducing):
                        self.conform(end.current, forms[name], span, yields)
                    else:
                        self.conform(inside[name].current, forms[name], span, yields)  # type: ignore[union-attr]
        finally:
            self.in_grid, self.threads = False, ()
            self.frame.names = saved
        results: list[Value] = []
        reduced = {name: self.instantiate(forms[name], name, span, results, []) for name in variables}
        self.emit(
            typed.Parallel(
                span, tuple(results), tuple(box), tuple(groups), region_of(operations, yields, (*indices, *parameters)), site
            )
        )
        for name in (assigned_names(statement.body) | {n.id for n in names}) - set(variables):
            where = self.span_of(inner[name]) if name in inner else None
            self.names[name] = Missing((where,) if where else (), "private to each iteration of a parallel loop")
        self.names.update(reduced)
        return ends, refused

    def check_reduction(self, name: str, operator: str, inits: tuple[Value, ...], span: Span) -> None:
        """Refuse operators that the type does not have."""
        types: list[ScalarType] = [value.scalar for value in inits]
        if len(types) > 1 and operator not in ("min", "max"):
            self.refuse(
                "L0404", f"the tuple `{name}` cannot be reduced by this operator", span, "tuples are reduced by `min` and `max`"
            )
        if operator in ("and", "or", "xor") and any(not (t.is_integer or t is BOOL_) for t in types):
            self.refuse("L0404", f"`{name}` is `{types[0]}`, and bit operations are of integers and bools", span, "reduced here")
        if operator in ("min", "max") and any(t.kind == "complex" for t in types):
            self.refuse(
                "L0404", f"`{name}` is complex, and complex numbers have no order", span, "reduced here", fix="reduce `abs(...)`"
            )


__all__ = ["Lent", "Loops", "Record"]
