"""Statements: assignments, branches, early exits.

Does: each statement but loops.  Does not: loops (`loops.py`).
Invariants: after a refused statement checking goes on, and the names it would have assigned are silent.

Early exits become values: `continue`, `break` and `return` set flags (`#continue`, `#break`, `#return`, with `#result`), and what
follows a statement that may set one runs under its negation. Where a branch always leaves, the rest of the block simply moves
into the other branch.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NoReturn

from lend.diagnostics.diagnostic import Label
from lend.diagnostics.spans import Span
from lend.frontend.typecheck.assigned import always_leaves, assigned_names, may_leave
from lend.frontend.typecheck.branches import Flag
from lend.frontend.typecheck.emitter import Refused
from lend.frontend.typecheck.entities import (
    Array,
    Conflict,
    Element,
    Entity,
    Frame,
    Function,
    Method,
    Missing,
    Number,
    Poison,
    Python,
    Record,
    Reducing,
    Scalar,
    TupleOf,
)
from lend.frontend.typecheck.reductions import Reductions
from lend.frontend.typecheck.vectors import is_vector
from lend.ir import syntax, typed
from lend.ir.typed import Operation
from lend.language import intrinsics
from lend.language.dtypes import scalar_of_class
from lend.language.structs import struct_type
from lend.language.types import BOOL_, Borrow, ScalarType, StructType, VectorType

FLAGS = ("#continue", "#break", "#return")
_FLAG_OF: dict[Flag, type[syntax.Stmt]] = {"#continue": syntax.Continue, "#break": syntax.Break, "#return": syntax.Return}


class Statements(Reductions):
    """Typing of statements."""

    # -------------------------------------------------------------------------------------------------------------- blocks

    def check_block(self, statements: tuple[syntax.Stmt, ...]) -> None:
        """Check statements in order; what follows a possible exit runs only where there was none."""
        for position, statement in enumerate(statements):
            rest = statements[position + 1 :]
            if isinstance(statement, syntax.If) and rest and (always_leaves(statement.then) or always_leaves(statement.orelse)):
                if always_leaves(statement.then):
                    statement = syntax.If(statement.span, statement.test, statement.then, (*statement.orelse, *rest))
                else:
                    statement = syntax.If(statement.span, statement.test, (*statement.then, *rest), statement.orelse)
                self.check_statement(statement)
                return
            self.check_statement(statement)
            if isinstance(statement, syntax.Return | syntax.Break | syntax.Continue):
                return
            if rest and self.left(statement):
                return self.check_rest(statement, rest)

    def left(self, statement: syntax.Stmt) -> bool:
        """Whether a statement may have left this block."""
        return any(may_leave((statement,), kind) for kind in _FLAG_OF.values())

    def check_rest(self, statement: syntax.Stmt, rest: tuple[syntax.Stmt, ...]) -> None:
        """Check what follows a statement that may have left."""
        stay: Entity = Number(True, BOOL_)
        for flag, kind in _FLAG_OF.items():
            if flag in self.names and may_leave((statement,), kind):
                is_set = self.names[flag]
                if isinstance(is_set, Number | Scalar):
                    stay = self.operate("&", stay, self.negate("not", is_set, statement.span), statement.span)
        if isinstance(stay, Number):
            if stay.value:
                self.check_block(rest)
            return
        assert isinstance(stay, Scalar)
        left: Flag = "#return"  # what may have happened where the rest does not run; of several the one that tells least
        later: tuple[Flag, ...] = ("#continue", "#break")
        for flag in later:
            if may_leave((statement,), _FLAG_OF[flag]):
                left = flag
        self.branch(stay.value, statement.span, lambda: self.block_value(rest), lambda: Python(None), left)

    def block_value(self, statements: tuple[syntax.Stmt, ...]) -> Entity:
        """Check a block as an alternative of a branch."""
        self.check_block(statements)
        return Python(None)

    def check_statement(self, statement: syntax.Stmt) -> None:
        """Check one statement; a refusal is kept and its names are poisoned."""
        try:
            self.statement(statement)
        except Refused as refused:
            self.report(refused)
            for name in assigned_names((statement,)):
                if not isinstance(self.names.get(name), Reducing):
                    self.names[name] = Poison()

    def statement(self, statement: syntax.Stmt) -> None:
        """One statement."""
        match statement:
            case syntax.Assign():
                self.assign_statement(statement)
            case syntax.AugAssign():
                self.augmented(statement)
            case syntax.AnnAssign():
                self.annotated_assignment(statement)
            case syntax.If():
                self.if_statement(statement)
            case syntax.For():
                self.for_statement(statement)
            case syntax.While():
                self.while_statement(statement)
            case syntax.Return():
                self.return_statement(statement)
            case syntax.Break() | syntax.Continue():
                self.leave_loop(statement)
            case syntax.Pass():
                pass
            case syntax.ExprStmt():
                self.check(statement.value)
            case syntax.Assert():
                self.refuse(
                    "L0405",
                    "an `assert` that is not a contract",
                    statement.span,
                    "contracts stand at the top of a kernel, before the first loop",
                    fix="move it to the top if it speaks of sizes and scalar parameters; else test it before the call",
                )
            case syntax.With():
                self.with_statement(statement)
            case syntax.FunctionDef():
                self.names[statement.function.name] = self.nested(statement.function)

    def for_statement(self, statement: syntax.For) -> None:
        """A `for` (defined in `loops.py`)."""
        raise NotImplementedError

    def while_statement(self, statement: syntax.While) -> None:
        """A `while` (defined in `loops.py`)."""
        raise NotImplementedError

    # --------------------------------------------------------------------------------------------------------- assignments

    def assign_statement(self, statement: syntax.Assign) -> None:
        """`a = b = value`."""
        if len(statement.targets) == 1 and isinstance(statement.targets[0], syntax.Name):
            reducing = self.names.get(statement.targets[0].id)
            if isinstance(reducing, Reducing):
                return self.reduce_assign(reducing, statement)
        self.advise_atomic(statement)
        value = self.settle(self.check(statement.value))
        for target in statement.targets:
            self.assign(target, value, statement.span)

    def assign(self, target: syntax.Expr, value: Entity, span: Span) -> None:
        """Bind one target."""
        match target:
            case syntax.Name():
                self.bind_name(target, value)
            case syntax.Tuple():
                items = self.unpack(value, len(target.items), target.span)
                for item, part in zip(target.items, items, strict=True):
                    self.assign(item, part, span)
            case syntax.Subscript():
                self.assign_element(target, value, span)
            case syntax.Attribute():
                self.assign_field(target, value, span)
            case _:
                self.refuse("L0219", "this cannot be assigned to", target.span, "not a name, an element or a field")

    def unpack(self, value: Entity, count: int, span: Span) -> tuple[Entity, ...]:
        """The parts of a tuple for so many targets."""
        if is_vector(value) and len(self.items_of(value)) == count:
            return self.items_of(value)
        if not isinstance(value, TupleOf):
            self.refuse("L0219", f"{self.describe(value)} cannot be unpacked into {count} names", span, f"{count} names here")
        if len(value.items) != count:
            self.refuse(
                "L0219", f"a tuple of {len(value.items)} values is unpacked into {count} names", span, f"{count} names here"
            )
        return value.items

    def bind_name(self, target: syntax.Name, value: Entity) -> None:
        """`name = value`: the name now means that value."""
        old = self.names.get(target.id)
        if isinstance(old, Reducing):
            self.refuse_reduction_write(old.name, old.operator, old.declared, target.span)
        if isinstance(value, Scalar) and value.value.name is None:
            value.value.name = target.id
        if isinstance(value, Array) and value.value.name is None:
            value.value.name = target.id
        if isinstance(value, Array) and not value.name.isidentifier():  # it had no name yet
            value = replace(value, name=target.id)
        self.names[target.id] = value

    def assign_element(self, target: syntax.Subscript, value: Entity, span: Span) -> None:
        """`x[i] = value`."""
        base = self.check(target.value)
        if is_vector(base):
            self.replace_item(base, self.item_index(base, target), value, target)
            return
        if isinstance(base, Element):
            self.refuse(
                "L0211", f"a `{base.type}` has no elements", target.span, "not an array", fix="assign to one of its fields"
            )
        if not isinstance(base, Array):
            if isinstance(base, TupleOf):
                self.refuse(
                    "L0219",
                    "the items of a tuple cannot be replaced",
                    target.span,
                    "tuples do not change",
                    fix="build a new tuple, or store into an array made by `lend.local`",
                )
            self.refuse("L0219", f"{self.describe(base)} has no elements to assign", target.span, "not an array")
        self.require_writable(base, target.span)
        place = self.place(base, target)
        if base.value.array.borrow is Borrow.ATOMIC and not isinstance(place, Array):
            self.refuse_plain_write(base, target)
        if isinstance(place, Array):
            self.refuse(
                "L0227",
                f"a whole row or slice of `{base.name}` is assigned at once",
                target.span,
                "kernels assign single elements",
                fix="write a loop over the elements",
            )
        if isinstance(place, Element):
            self.store(base, place.indices, place.path, place.type, value, span)
        else:
            self.store(base, place, (), base.value.array.element, value, span)

    def assign_field(self, target: syntax.Attribute, value: Entity, span: Span) -> None:
        """`b[i].x = value` and, for a record by value, `p.x = value`."""
        base = self.check(target.value)
        if isinstance(base, Element):
            self.require_writable(base.array, target.span)
            position = base.type.index_of(target.name)
            if position is None:
                self.field(base, target)
                return
            self.store(base.array, base.indices, (*base.path, position), base.type.fields[position][1], value, span)
            return
        if isinstance(base, Record) and isinstance(target.value, syntax.Name | syntax.Attribute):
            position = base.type.index_of(target.name)
            if position is None or isinstance(base.type, VectorType):
                self.field(base, target)
                return
            self.require_own(target)
            member = base.type.fields[position][1]
            new = self.part_of_record(value, member, f"the field `{target.name}`", span, "assigned here")
            items = (*base.items[:position], new, *base.items[position + 1 :])
            self.assign(target.value, Record(base.type, items), span)
            return
        advice = {"real": "write `complex(re, im)`", "imag": "write `complex(re, im)`"}
        fix = "build a new record" if isinstance(base, Record) else advice.get(target.name)
        self.refuse(
            "L0219", f"fields of {self.describe(base)} cannot be assigned", target.span, "not a field of an element", fix=fix
        )

    def require_own(self, target: syntax.Expr) -> None:
        """Refuse to change a record of another function: it is a value, and only this function's name would change."""
        while isinstance(target, syntax.Attribute | syntax.Subscript):
            target = target.value
        if isinstance(target, syntax.Name) and target.id not in self.names:
            self.refuse(
                "L0219",
                f"`{target.id}` is not this function's own, and cannot be changed here",
                target.span,
                "comes from outside",
                fix=f"change a copy: give `{target.id}` to this function as a parameter, and return it",
            )

    def augmented(self, statement: syntax.AugAssign) -> None:
        """`target op= value`: the target's place is computed once."""
        target, span = statement.target, statement.span
        if isinstance(target, syntax.Name):
            current = self.names.get(target.id)
            if isinstance(current, Reducing):
                return self.reduce_augmented(current, statement)
            left = self.check(target)
            self.bind_name(target, self.operate(statement.op, left, self.settle(self.check(statement.value)), span))
            return
        if isinstance(target, syntax.Subscript):
            base = self.check(target.value)
            if is_vector(base):
                return self.augmented_item(base, statement, target)
            if isinstance(base, Array):
                self.require_writable(base, target.span)
                place = self.place(base, target)
                if isinstance(place, Element) and isinstance(place.type, VectorType):
                    new = self.operate(statement.op, self.settle(place), self.settle(self.check(statement.value)), span)
                    self.store(base, place.indices, place.path, place.type, new, span)
                    return
                if isinstance(place, tuple) and base.value.array.borrow is Borrow.ATOMIC:
                    return self.atomic_augmented(base, place, statement)
                if isinstance(place, tuple):
                    element = base.value.array.element
                    assert isinstance(element, ScalarType)
                    old = Scalar(self.load(base, place, (), target.span))
                    new = self.operate(statement.op, old, self.settle(self.check(statement.value)), span)
                    self.store(base, place, (), element, new, span)
                    return
        if isinstance(target, syntax.Attribute):
            base = self.check(target.value)
            if isinstance(base, Element):
                self.require_writable(base.array, target.span)
                field = self.field(base, target)
                if isinstance(field, Scalar) or is_vector(field):
                    field = self.settle(field)
                    position = base.type.index_of(target.name)
                    assert position is not None
                    new = self.operate(statement.op, field, self.settle(self.check(statement.value)), span)
                    self.store(base.array, base.indices, (*base.path, position), base.type.fields[position][1], new, span)
                    return
            elif isinstance(base, Record):
                new = self.operate(statement.op, self.field(base, target), self.settle(self.check(statement.value)), span)
                self.assign_field(target, new, span)
                return
        self.refuse(
            "L0227",
            f"`{statement.op}=` changes something that is not one element",
            span,
            "kernels change single elements",
            fix="write a loop over the elements",
        )

    def annotation_type(self, annotation: syntax.Expr) -> ScalarType | StructType:
        """The type that annotates a variable."""
        try:
            entity = self.check(annotation)
        except Refused:
            entity = Python(None)
        object: Any = entity.object if isinstance(entity, Python) else None
        type = object if isinstance(object, ScalarType) else struct_type(object)
        if type is None:
            known = scalar_of_class(object)
            fix = f"write `{known}`" if known is not None else "leave it out: a variable has the type of its values"
            self.refuse(
                "L0219", "this annotation is not a scalar type or a struct", annotation.span, "not a type of kernels", fix=fix
            )
        return type

    def annotated_assignment(self, statement: syntax.AnnAssign) -> None:
        """`name: type = value`: the value becomes that type, if nothing is lost."""
        type = self.annotation_type(statement.annotation)
        scalar = type if isinstance(type, ScalarType) else None
        if statement.value is None:
            self.names.setdefault(
                statement.target.id,
                Missing(
                    (), "declared but not assigned", f"write `{statement.target.id}: {statement.annotation.span.text} = ...`"
                ),
            )
            return
        value = self.settle(self.check(statement.value))
        if scalar is not None:
            self.bind_name(
                statement.target, Scalar(self.convert(value, scalar, statement.span, f"the variable `{statement.target.id}`"))
            )
        elif (record := self.fitted(value, type, statement.span, f"the variable `{statement.target.id}`")) is not None:
            self.bind_name(statement.target, record)
        else:
            self.refuse(
                "L0219",
                f"`{statement.target.id}` is declared as `{type}`, not {self.describe(value)}",
                statement.span,
                "assigned here",
            )

    # ------------------------------------------------------------------------------------------------------ branches, exits

    def if_statement(self, statement: syntax.If) -> None:
        """`if`; a compile-time condition selects one branch, and the other is not looked at."""
        test = self.test(statement.test)
        if isinstance(test, Number):
            self.check_block(statement.then if test.value else statement.orelse)
            return
        self.branch(
            test.value, statement.span, lambda: self.block_value(statement.then), lambda: self.block_value(statement.orelse)
        )

    def leave_loop(self, statement: syntax.Break | syntax.Continue) -> None:
        """`break` and `continue` set their flag."""
        word = "break" if isinstance(statement, syntax.Break) else "continue"
        if f"#{word}" not in self.names:
            if word == "break" and self.in_grid and "#continue" in self.names:
                self.refuse(
                    "L0402",
                    "`break` inside a parallel loop",
                    statement.span,
                    "its iterations have no order, so no others can be left out",
                    fix="write `continue` to end this iteration, or use a sequential `for ... in range(...)`",
                )
            self.refuse("L0402", f"`{word}` outside a loop", statement.span, "no loop encloses this")
        self.names[f"#{word}"] = Number(True, BOOL_)

    def return_statement(self, statement: syntax.Return) -> None:
        """`return value` sets the result and its flag."""
        if "#return" not in self.names:
            self.refuse(
                "L0402",
                "`return` inside a parallel loop",
                statement.span,
                "its iterations have no order, so none of them can return",
                fix="write `continue` to end this iteration, or reduce into a scalar and return that after the loop",
            )
        value = self.settle(self.check(statement.value)) if statement.value is not None else Python(None)
        function = isinstance(value, Function | Method) or (isinstance(value, Python) and value.object is not None)
        if function and len(self.frames) == 1 and statement.value is not None:
            self.refuse_result(value, statement.value.span)
        self.names["#result"] = value
        self.names["#return"] = Number(True, BOOL_)

    def refuse_result(self, value: Entity, span: Span) -> NoReturn:
        """A kernel returns something that does not leave a kernel."""
        self.refuse(
            "L0229",
            f"a kernel cannot return {self.describe(value)}",
            span,
            "returned here",
            fix="return numbers, arrays, records and tuples of them",
        )

    def check_body(self, frame: Frame, tree: syntax.Function) -> tuple[Entity, list[Operation]]:
        """Check a function's body in a frame of its own: its result and its operations."""
        frame.names["#return"] = Number(False, BOOL_)
        frame.names["#result"] = Missing((), "not returned on every path")
        self.frames.append(frame)
        try:
            with self.region() as operations:
                before = len(self.unit.diagnostics)
                self.check_block(tree.body)
                if len(self.unit.diagnostics) > before:
                    raise Refused
                return self.declared_result(self.function_result(tree), tree), operations
        finally:
            self.frames.pop()

    def function_result(self, tree: syntax.Function) -> Entity:
        """What a function returns; falling off the end after a `return` elsewhere is refused."""
        result, returned = self.names["#result"], self.names["#return"]
        if isinstance(result, Poison):
            raise Refused
        if isinstance(returned, Number) and not returned.value:
            return Python(None)
        if isinstance(result, Conflict):
            self.refuse(
                "L0203",
                f"`{tree.name}` returns no single type: {result.why}",
                tree.span,
                "returned by this function",
                labels=tuple(Label(s, text) for s, text in result.paths),
                fix=result.fix,
            )
        valued = not (isinstance(result, Python) and result.object is None)
        if valued and not isinstance(returned, Number) and not always_leaves(tree.body):
            self.refuse(
                "L0228",
                f"`{tree.name}` returns a value on some paths only",
                tree.span,
                "a path reaches the end without `return`",
                fix="return a value on every path",
            )
        return result

    def with_statement(self, statement: syntax.With) -> None:
        """`with lend.unchecked("reason"):`."""
        context = statement.context
        callee = self.check(context.function) if isinstance(context, syntax.Call) else None
        if not isinstance(context, syntax.Call) or not (isinstance(callee, Python) and callee.object is intrinsics.unchecked):
            self.refuse(
                "L0225",
                "kernels have no `with` but `with lend.unchecked`",
                context.span,
                "not `lend.unchecked(...)`",
                fix="put it around the call of the kernel",
            )
        given = [*context.arguments, *(value for name, value in context.keywords if name == "reason")]
        reason = given[0] if len(given) == len(context.arguments) + len(context.keywords) == 1 else None
        if reason is not None and reason.span in self.unit.holes:
            raise Refused
        if not isinstance(reason, syntax.Literal) or not isinstance(reason.value, str) or not reason.value.strip():
            self.refuse(
                "L0225",
                "`lend.unchecked` needs a reason, one string literal",
                context.span,
                "no reason given",
                fix='say why the accesses inside are right: `lend.unchecked("the indices come from argsort")`',
            )
        self.unit.unchecked.append(typed.Unchecked(statement.span, reason.value))
        self.unchecked_depth += 1
        try:
            self.check_block(statement.body)
        finally:
            self.unchecked_depth -= 1
