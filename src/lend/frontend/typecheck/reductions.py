"""Reductions: scalars of the host level that a parallel loop updates by one operator.

Does: find a loop's reduction variables, apply their operator inside it, refuse every other use.  Does not: emit the loop
(`parallel.py`).
Invariants: inside its loop a reduction variable is a `Reducing`, whose `current` is this iteration's part.
"""

from __future__ import annotations

from typing import NoReturn

from lend.diagnostics.diagnostic import Label
from lend.diagnostics.spans import Span
from lend.frontend.typecheck.assigned import changed_names, targets, walk
from lend.frontend.typecheck.calls import Calls
from lend.frontend.typecheck.conversions import literal_default
from lend.frontend.typecheck.emitter import Refused
from lend.frontend.typecheck.entities import Entity, Missing, Number, Poison, Python, Record, Reducing, Scalar, TupleOf
from lend.frontend.typecheck.vectors import is_vector
from lend.frontend.typecheck.wording import type_name
from lend.ir import syntax
from lend.ir.typed import BinaryOperator, Value
from lend.language.types import BOOL_, ScalarType

_REDUCING: dict[str, BinaryOperator] = {"+": "add", "*": "mul", "&": "and", "|": "or", "^": "xor"}
_EXTREMA: dict[str, BinaryOperator] = {"min": "min", "minimum": "min", "max": "max", "maximum": "max"}


class Reductions(Calls):
    """Typing of reductions."""

    # ------------------------------------------------------------------------------------------------- inside the loop

    def reduce_augmented(self, variable: Reducing, statement: syntax.AugAssign) -> None:
        """`s += e` inside the parallel loop that reduces s."""
        value = self.settle(self.check(statement.value))
        assert isinstance(variable.current, Scalar | Record)
        self.require_join(variable, variable.current, value, statement.span)
        new = self.operate(statement.op, variable.current, value, statement.span)
        assert isinstance(new, Scalar | Record)
        self.names[variable.name] = Reducing(variable.name, variable.operator, new, variable.declared)

    def reduce_assign(self, variable: Reducing, statement: syntax.Assign) -> None:
        """`s = min(s, e)` inside the parallel loop that reduces s."""
        others = self.reduction_operands(variable.name, statement.value)
        if others is None:
            self.refuse_reduction_write(variable.name, variable.operator, variable.declared, statement.span)
        items = [self.settle(self.check(item)) for item in others]
        for item in items:
            self.require_join(variable, variable.current, item, statement.span)
        new = self.extremum(variable.operator, [variable.current, *items], statement.span)
        assert isinstance(new, Scalar | TupleOf | Record)
        self.names[variable.name] = Reducing(variable.name, variable.operator, new, variable.declared)

    def require_join(self, variable: Reducing, current: Entity, value: Entity, span: Span) -> None:
        """Refuse a contribution whose type does not join with the variable's."""
        if not isinstance(current, Number | Scalar) or not isinstance(value, Number | Scalar) or self.join(current, value):
            return
        start, type = self.describe(current), self.scalar_type(value) or literal_default(self.sample(value))
        self.refuse(
            "L0404",
            f"the reduction of `{variable.name}` has no single type: it starts as {start} and takes {self.describe(value)}",
            self.where(value, span),
            f"this is {self.describe(value)}",
            fix=f"give it a value of type `{type_name(type)}` before the loop: `{variable.name} = {type_name(type)}(...)`",
        )

    def reduction_operands(self, name: str, value: syntax.Expr) -> list[syntax.Expr] | None:
        """The other arguments of `min(name, …)`; None if the expression is not of that form."""
        if not isinstance(value, syntax.Call) or value.keywords:
            return None
        others = [a for a in value.arguments if not (isinstance(a, syntax.Name) and a.id == name)]
        return others if len(others) == len(value.arguments) - 1 else None

    def refuse_reduction_write(self, name: str, operator: BinaryOperator, declared: Span, span: Span) -> NoReturn:
        """A reduction variable is changed in another way than by its operator."""
        form = f"{name} = {operator}({name}, ...)" if operator in ("min", "max") else f"{name} {as_written(operator)} ..."
        self.refuse(
            "L0404",
            f"`{name}` is reduced in this parallel loop and changed in another way too",
            span,
            "changed here",
            labels=(Label(declared, "reduced here"),),
            fix=f"only `{form}` may change it inside the loop",
        )

    def refuse_reduction_read(self, entity: Reducing, span: Span) -> NoReturn:
        """A reduction variable may be touched by its operator only."""
        op = as_written(entity.operator)
        self.refuse(
            "L0404",
            f"`{entity.name}` is reduced by `{op}` in this parallel loop, and its iterations cannot see the value",
            span,
            f"`{entity.name}` is read here",
            labels=(Label(entity.declared, f"reduced by `{op}` here"),),
            fix="read it after the loop, or compute what you need from this iteration's own values",
        )

    # ---------------------------------------------------------------------------------------------------- finding them

    def reduction_variables(
        self, body: tuple[syntax.Stmt, ...], names: list[syntax.Name], before: dict[str, Entity]
    ) -> dict[str, tuple[BinaryOperator, Span]]:
        """Host-level names that the body assigns: their operator and where it stands. Other assignments to them are refused."""
        loop_targets = {n for s in walk(body) if isinstance(s, syntax.For) for n in targets(s.target)}
        own = {name.id for name in names} | loop_targets
        found: dict[str, tuple[BinaryOperator, Span]] = {}
        for statement in walk(body):
            for name in changed_names((statement,)) - own:
                if isinstance(before.get(name), Record) and not isinstance(statement, syntax.For | syntax.If | syntax.While):
                    self.refuse_host_write(name, statement, before[name], found.get(name), None)
            operator, name, span = self.reduction_form(statement)
            if name is None or name in own or isinstance(before.get(name, Missing()), Missing):
                continue
            outer = before[name]
            if isinstance(outer, Reducing) and outer.operator != operator:  # a block's part of it, changed by its threads
                self.refuse_reduction_write(name, outer.operator, outer.declared, statement.span)
            reducible = isinstance(outer, Number | Scalar | TupleOf | Reducing) or is_vector(outer)
            if operator is not None and name not in found and reducible:
                found[name] = (operator, span)
            elif operator is None or found.get(name, (operator,))[0] != operator or name not in found:
                self.refuse_host_write(name, statement, before[name], found.get(name), extremum_by_branch(body, statement, name))
        return found

    def reduction_form(self, statement: syntax.Stmt) -> tuple[BinaryOperator | None, str | None, Span]:
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
                    known = getattr(callee.object, "__name__", "") if isinstance(callee, Python) else ""
                    if known in _EXTREMA:
                        return _EXTREMA[known], name, statement.span
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

    def refuse_host_write(
        self, name: str, statement: syntax.Stmt, before: Entity, reduced: tuple[BinaryOperator, Span] | None, extremum: str | None
    ) -> NoReturn:
        """A parallel loop assigns a host-level name other than by one reduction. `extremum`: what its branch computes."""
        if reduced is not None:
            self.refuse_reduction_write(name, *reduced, statement.span)
        fix = f"use another name inside the loop, or reduce: `{name} += ...`, `{name} = max({name}, ...)`"
        if isinstance(before, Record):
            fix = "reduce into a number of its own, and build the record after the loop"
            if is_vector(before):
                fix = f"reduce the whole vector: `{name} += ...`, `{name} = max({name}, ...)`"
        elif not isinstance(before, Number | Scalar | TupleOf):
            fix = "use another name inside the loop"
        elif isinstance(statement, syntax.AugAssign) and statement.op == "-":
            fix = f"add the negative: `{name} += {negated(statement.value)}`"
        elif extremum is not None:
            fix = f"write `{extremum}` instead of the `if`"
        elif isinstance(statement, syntax.Assign) and isinstance(statement.value, syntax.Binary):
            left, op, right = statement.value.left, statement.value.op, statement.value.right
            if op == "-" and self.is_name(left, name):
                fix = f"add the negative: `{name} += {negated(right)}`"
            elif op in _REDUCING and self.is_name(left, name):
                fix = f"write `{name} {op}= {right.span.text}`"
            elif op in _REDUCING and self.is_name(right, name):
                fix = f"write `{name} {op}= {left.span.text}`"
        block = self.level == "block"  # the loop is that of its threads
        self.refuse(
            "L0404",
            f"`{name}` belongs to the block, and its threads cannot assign it"
            if block
            else f"`{name}` belongs to the host level, and the iterations of a parallel loop cannot assign it",
            statement.span,
            f"every {'thread' if block else 'iteration'} would write this one variable",
            fix=fix,
        )

    def is_name(self, expression: syntax.Expr, name: str) -> bool:
        """Whether an expression is this name."""
        return isinstance(expression, syntax.Name) and expression.id == name

    def check_reduction(self, name: str, operator: BinaryOperator, inits: tuple[Value, ...], span: Span) -> None:
        """Refuse operators that the type does not have."""
        types: list[ScalarType] = [value.scalar for value in inits]
        if len(types) > 1 and operator not in ("min", "max"):
            self.refuse(
                "L0404",
                f"the tuple `{name}` cannot be reduced by this operator",
                span,
                "tuples are reduced by `min` and `max`",
                fix=f"write `{name} = min({name}, ...)`",
            )
        if operator in ("and", "or", "xor") and any(not (t.is_integer or t is BOOL_) for t in types):
            self.refuse("L0404", f"`{name}` is `{types[0]}`, and bit operations are of integers and bools", span, "reduced here")
        if operator in ("min", "max") and any(t.kind == "complex" for t in types):
            self.refuse(
                "L0404", f"`{name}` is complex, and complex numbers have no order", span, "reduced here", fix="reduce `abs(...)`"
            )


def as_written(operator: BinaryOperator) -> str:
    """The operator of a reduction as the user writes it: `+=`, `min`."""
    return next((f"{sign}=" for sign, name in _REDUCING.items() if name == operator), operator)


def negated(expression: syntax.Expr) -> str:
    """The negative of an expression as the user would write it."""
    text = expression.span.text
    simple = isinstance(expression, syntax.Name | syntax.Literal | syntax.Call | syntax.Attribute | syntax.Subscript)
    return f"-{text}" if simple else f"-({text})"


def extremum_by_branch(body: tuple[syntax.Stmt, ...], statement: syntax.Stmt, name: str) -> str | None:
    """`best = max(best, v)` where `statement` is the `best = v` of an `if v > best: best = v`; None if it is not."""
    guard = next((s for s in walk(body) if isinstance(s, syntax.If) and s.then == (statement,) and not s.orelse), None)
    if guard is None or not isinstance(guard.test, syntax.Compare) or not isinstance(statement, syntax.Assign):
        return None
    first, ops, rest, value = guard.test.first, guard.test.ops, guard.test.rest, statement.value.span.text
    if len(rest) != 1 or ops[0] not in ("<", "<=", ">", ">="):
        return None
    if [first.span.text, rest[0].span.text] == [value, name]:
        return f"{name} = {'max' if ops[0][0] == '>' else 'min'}({name}, {value})"
    if [first.span.text, rest[0].span.text] == [name, value]:
        return f"{name} = {'max' if ops[0][0] == '<' else 'min'}({name}, {value})"
    return None
