"""Expressions: names, captured Python values, operators with control flow, conditional expressions.

Does: the entity of each kind of expression but calls.  Does not: statements.
Invariants: an operand is evaluated once, left to right; the right side of `and`/`or` and the arms of a conditional expression
only when Python would evaluate them.
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import numpy as np

from lend.diagnostics.diagnostic import Label
from lend.diagnostics.errors import CompileError
from lend.diagnostics.spans import Span
from lend.diagnostics.words import similar
from lend.frontend.capture import Captured, Dependency, capture
from lend.frontend.parse import parse_function
from lend.frontend.typecheck.emitter import Refused, region_of
from lend.frontend.typecheck.entities import (
    Array,
    Conflict,
    Element,
    Entity,
    Function,
    Method,
    Missing,
    Number,
    Poison,
    Python,
    Record,
    Reducing,
    Scalar,
    Subgroups,
    TupleOf,
)
from lend.frontend.typecheck.vector_items import VectorItems
from lend.frontend.typecheck.wording import object_text
from lend.ir import syntax, typed
from lend.language.dims import Dim, DimType, SizeExpression
from lend.language.dtypes import scalar_of_class
from lend.language.intrinsics import DeviceFunction
from lend.language.structs import field_value, struct_type
from lend.language.types import BOOL_, PART, ScalarType, StructType

_LOCAL = "assign it first: a name that is assigned anywhere in a function is the function's own"


_PLAIN: tuple[Any, ...] = (int, float, complex)


def class_of(value: object) -> Any:
    """A value's class."""
    return type(value)


class Expressions(VectorItems):
    """Typing of expressions."""

    def check(self, expression: syntax.Expr) -> Entity:
        """The entity of an expression."""
        if expression.span in self.unit.holes:
            self.unit.incomplete = True
            raise Refused
        entity = self.entity(expression)
        self.uses[entity] = expression.span
        return entity

    def entity(self, expression: syntax.Expr) -> Entity:
        """The entity of each kind of expression."""
        match expression:
            case syntax.Name():
                return self.name(expression)
            case syntax.Literal():
                return self.literal(expression.value)
            case syntax.Unary(op="not"):
                return self.test(expression)
            case syntax.Unary():
                return self.negate(expression.op, self.check(expression.operand), expression.span)
            case syntax.Binary():
                return self.chain_of_operators(expression)
            case syntax.Compare():
                return self.chain(expression)
            case syntax.BoolOp():
                return self.bool_op(expression.op, list(expression.values), expression.span)
            case syntax.Conditional():
                return self.conditional(expression)
            case syntax.Call():
                return self.call(expression)
            case syntax.Attribute():
                return self.attribute(expression)
            case syntax.Subscript():
                return self.subscript(expression)
            case syntax.Tuple():
                return TupleOf(tuple(self.settle(self.check(item)) for item in expression.items))
            case syntax.Lambda():
                return self.nested(expression.function)

    def chain_of_operators(self, expression: syntax.Binary) -> Entity:
        """`a + b + c …`, from the left, however long."""
        chain = [expression]
        while isinstance(left := chain[-1].left, syntax.Binary) and left.span not in self.unit.holes:
            chain.append(left)
        found = self.check(chain[-1].left)
        for inner in reversed(chain):
            found = self.operate(inner.op, self.settle(found), self.settle(self.check(inner.right)), inner.span)
            self.uses[found] = inner.span
        return found

    def call(self, expression: syntax.Call) -> Entity:
        """A call (defined in `calls.py`)."""
        raise NotImplementedError

    def nested(self, function: syntax.Function) -> Function:
        """A function written here: it sees the names of this one, and its defaults are evaluated now."""
        defaults = {p.name: self.settle(self.check(p.default)) for p in function.parameters if p.default is not None}
        return Function(function, self.frame.captured, self.frame, None, defaults, self.unchecked_depth > 0)

    def literal(self, value: Any) -> Entity:
        """A literal."""
        if isinstance(value, bool):
            return Number(value, BOOL_)
        if isinstance(value, int | float | complex):
            return Number(value, None)
        return Python(value)

    # ------------------------------------------------------------------------------------------------------------- names

    def name(self, expression: syntax.Name) -> Entity:
        """A name: local, of the enclosing function, captured, or built in."""
        name, span = expression.id, expression.span
        frame = self.frame
        entity = frame.names.get(name)
        if entity is None and name in frame.local_names:
            entity = Missing((), "read before it is assigned", _LOCAL)
        outer = frame.outer
        while entity is None and outer is not None:
            entity = outer.names.get(name, Missing((), "read before it is assigned") if name in outer.local_names else None)
            if entity is not None and not any(outer is f for f in self.frames) and self.at_run_time(entity):
                self.refuse(
                    "L0202",
                    f"`{name}` is gone: the function that it belongs to has returned",
                    span,
                    f"read after `{outer.name}` returned",
                    fix="pass it as an argument",
                )
            outer = outer.outer
        if entity is not None:
            return self.readable(entity, name, span)
        found, value = frame.captured.resolve(name)
        if not found:
            self.unit.deferred = True
            self.refuse(
                "L0201",
                f"the name `{name}` is not defined",
                span,
                "not found in this function, its module or Python's builtins",
                fix=self.spelling(name),
            )
        self.depend(frame.captured, name, value)
        return self.entity_of(value, name, span)

    def at_run_time(self, entity: Entity) -> bool:
        """Whether an entity has run-time parts."""
        if isinstance(entity, TupleOf | Record):
            return any(map(self.at_run_time, entity.items))
        return isinstance(entity, Scalar | Array | Element | Reducing)

    def spelling(self, name: str) -> str | None:
        """A name that is meant, perhaps."""
        frame = self.frame
        known = [*frame.names, *frame.captured.closure, *frame.captured.globals]
        outer = frame.outer
        while outer is not None:
            known += outer.names
            outer = outer.outer
        near = similar(name, [n for n in known if not n.startswith(("#", "_"))])
        return f"did you mean `{near}`?" if near else None

    def depend(self, captured: Captured, name: str, value: Any) -> None:
        """Remember that the specialisation holds only while this name has this value."""
        self.unit.reads.append(Dependency(captured, name, value))
        if not isinstance(value, types.ModuleType) and getattr(builtins, name, self) is not value:
            self.unit.dependencies.append(Dependency(captured, name, value))

    def readable(self, entity: Entity, name: str, span: Span) -> Entity:
        """A local entity, if it may be read here."""
        match entity:
            case Poison():
                raise Refused
            case Missing():
                labels = tuple(Label(s, "assigned here") for s in dict.fromkeys(entity.assigned))
                fix = entity.fix or f"give `{name}` a value before the branch or loop"
                self.refuse("L0202", f"`{name}` is {entity.why}", span, f"`{name}` is read here", labels=labels, fix=fix)
            case Conflict():
                labels = tuple(Label(s, text) for s, text in entity.paths)
                message = f"`{name}` has no single type: {entity.why}"
                self.refuse("L0203", message, span, f"`{name}` is read here", labels=labels, fix=entity.fix)
            case Reducing():
                self.refuse_reduction_read(entity, span)
            case _:
                return entity

    def refuse_reduction_read(self, entity: Reducing, span: Span) -> NoReturn:
        """A reduction variable is read inside its loop (defined in `reductions.py`)."""
        raise NotImplementedError

    def entity_of(self, value: Any, name: str, span: Span) -> Entity:
        """The entity of a captured Python value."""
        python_class = class_of(value)
        type = scalar_of_class(python_class)
        if type is BOOL_:
            return Number(bool(value), BOOL_)
        from_numpy = issubclass(python_class, np.generic)
        if from_numpy and type is not None:
            return Number(value.item(), type)
        if not from_numpy:
            plain = next((base for base in _PLAIN if issubclass(python_class, base)), None)
            if plain is not None:  # a subclass such as IntEnum counts as its plain value
                return Number(plain(value), None)
        if isinstance(value, DimType | SizeExpression):
            return self.size_entity(value, span)
        if isinstance(value, TypeVar) and value in self.typevars:
            return Python(self.typevars[value])
        if isinstance(value, tuple):
            return TupleOf(tuple(self.entity_of(item, name, span) for item in value))  # pyright: ignore[reportUnknownVariableType]
        struct = struct_type(python_class)
        if struct is not None:
            return self.captured_record(value, struct, name, span)
        if any(hasattr(class_of(value), word) for word in ("__array_interface__", "__dlpack__", "__cuda_array_interface__")):
            self.refuse(
                "L0220",
                f"`{name}` is an array captured from outside the kernel",
                span,
                "kernels borrow arrays through parameters only",
                fix=f"add a parameter `{name}: Ref[f64, N]`",
            )
        if isinstance(value, list | dict | set):
            kind = python_class.__name__
            self.refuse(
                "L0220",
                f"`{name}` is a Python {kind}",
                span,
                f"kernels have no {kind}s",
                fix="capture a tuple, or pass an array as a parameter",
            )
        return Python(value)

    def captured_record(self, value: Any, struct: StructType, name: str, span: Span) -> Record:
        items: list[Entity] = []
        for position, (_, member) in enumerate(struct.fields):
            inner = field_value(value, struct, position)
            items.append(
                self.captured_record(inner, member, name, span)
                if isinstance(member, StructType)
                else Number(member(inner), member)
            )
        return Record(struct, tuple(items))

    def size_entity(self, size: Any, span: Span) -> Entity:
        """A size name or expression as a number."""
        if isinstance(size, SizeExpression):
            return self.operate(size.operator, self.size_entity(size.left, span), self.size_entity(size.right, span), span)
        if not isinstance(size, DimType):
            return Number(int(size), None)
        for frame in reversed(self.frames):
            if size in frame.sizes:
                return frame.sizes[size]
        if size.equals is not None:
            return self.size_entity(size.equals, span)
        if size is Dim:
            self.refuse("L0221", "`lend.Dim` is the base of size names, not a size", span, "not a size")
        self.refuse(
            "L0221",
            f"`{size.__name__}` is not a size of any parameter of `{self.frames[0].name}`",
            span,
            "no argument says how large it is",
            fix=f"use it in a borrow: `x: Ref[f64, {size.__name__}]`",
        )

    # -------------------------------------------------------------------------------------------------------- attributes

    def attribute(self, expression: syntax.Attribute) -> Entity:
        """`value.name`."""
        base = self.check(expression.value)
        name, span = expression.name, expression.span
        match base:
            case Element() | Record():
                return self.field(base, expression)
            case Array():
                return self.array_method(base, name, span) or self.array_attribute(base, name, span)
            case Subgroups():
                return self.subgroup_attribute(base, name, span) or Method(base, name)
            case Number() | Scalar():
                return self.number_attribute(base, name, span)
            case Python():
                return self.python_attribute(base, name, span)
            case _:
                self.refuse("L0215", f"{self.describe(base)} has no attribute `{name}`", span, "no such attribute")

    def array_method(self, base: Array, name: str, span: Span) -> Method | None:
        """`x.reshape`, `h.add`; None for an attribute (defined in `atomics.py`)."""
        raise NotImplementedError

    def subgroup_attribute(self, group: Subgroups, name: str, span: Span) -> Entity | None:
        """An attribute of a sub-group (defined in `team_words.py`)."""
        raise NotImplementedError

    def number_attribute(self, base: Number | Scalar, name: str, span: Span) -> Entity:
        """`.real`, `.imag`, `.conjugate()`."""
        if name in ("conjugate", "conj"):
            return Method(base, "conjugate")
        if name in ("real", "imag"):
            return self.part(base, name, span)
        self.refuse(
            "L0215",
            f"numbers in kernels have no attribute `{name}`",
            span,
            "they have `real`, `imag` and `conjugate()`",
            fix="write the type as a function: `f32(...)`" if name == "astype" else None,
        )

    def part(self, base: Number | Scalar, name: str, span: Span) -> Entity:
        """The real or imaginary part."""
        if isinstance(base, Number):
            part: Any = getattr(base.value, name)
            return Number(part, PART.get(base.type, base.type) if base.type is not None else None)
        type = base.value.scalar
        if type.kind != "complex":
            return base if name == "real" else Number(type(0), type)
        return Scalar(self.math(name, (base.value,), PART[type], span))

    def python_attribute(self, base: Python, name: str, span: Span) -> Entity:
        """An attribute of a module or of another compile-time object."""
        object: Any = base.object
        if isinstance(object, ScalarType | StructType | DimType):
            self.refuse("L0215", f"{object_text(object)} has no attribute `{name}` in kernels", span, "no such attribute")
        missing = _MISSING
        value = getattr(object, name, missing)
        if value is missing:
            near = similar(name, [n for n in dir(object) if not n.startswith("_")])
            fix = f"did you mean `{near}`?" if near else None
            self.refuse("L0215", f"{object_text(object)} has no attribute `{name}`", span, "no such attribute", fix=fix)
        self.unit.reads.append(Dependency(object, name, value))
        if not isinstance(value, types.ModuleType):
            self.unit.dependencies.append(Dependency(object, name, value))
        return self.entity_of(value, name, span)

    # ------------------------------------------------------------------------------------------------ operators with control

    def chain(self, expression: syntax.Compare) -> Entity:
        """`a < b <= c`: each operand once, the rest only while it holds."""
        return self.chain_from(
            self.settle(self.check(expression.first)), list(zip(expression.ops, expression.rest, strict=True)), expression.span
        )

    def chain_from(self, left: Entity, rest: list[tuple[str, syntax.Expr]], span: Span) -> Entity:
        (op, operand), *more = rest
        right = self.settle(self.check(operand))
        identity = op in ("is", "is not")
        first = self.compare_identity(op, left, right, span) if identity else self.operate(op, left, right, span)
        if not more:
            return first
        return self.both(self.truth(first, span), lambda: self.truth(self.chain_from(right, more, span), span), span)

    def compare_identity(self, op: str, left: Entity, right: Entity, span: Span) -> Entity:
        """`is` works for what is known at compile time only."""
        if isinstance(left, Python) and isinstance(right, Python):
            return Number((left.object is right.object) == (op == "is"), BOOL_)
        if isinstance(left, Python) != isinstance(right, Python):
            return Number(op == "is not", BOOL_)
        self.refuse(
            "L0209", f"`{op}` compares objects, not values", span, "kernels have no object identity", fix="write `==` or `!=`"
        )

    def test(self, expression: syntax.Expr) -> Number | Scalar:
        """A condition, of which only the truth matters."""
        match expression:
            case syntax.BoolOp():
                return self.truth_of(expression.op, list(expression.values), expression.span)
            case syntax.Unary(op="not"):
                return self.truth(self.negate("not", self.test(expression.operand), expression.span), expression.span)
            case _:
                return self.truth(self.check(expression), expression.span)

    def truth_of(self, op: str, values: list[syntax.Expr], span: Span) -> Number | Scalar:
        """Whether `and` or `or` gives something true."""
        first, *rest = values
        left = self.test(first)
        return self.logical(op, left, lambda: self.truth_of(op, rest, span), span) if rest else left

    def bool_op(self, op: str, values: list[syntax.Expr], span: Span) -> Entity:
        """`and`, `or`: one of the operands, as in Python; the rest is evaluated only when needed."""
        first, *rest = values
        left = self.settle(self.check(first))
        if not rest:
            return left
        test = self.truth(left, first.span)
        if isinstance(test, Number):
            return self.bool_op(op, rest, span) if bool(test.value) == (op == "and") else left
        with self.region() as operations:
            right = self.bool_op(op, rest, span)

        def late() -> Entity:
            self.operations.extend(operations)
            return right

        if all(isinstance(side, Number | Scalar) and self.scalar_type(side) is BOOL_ for side in (left, right)):
            return self.logical(op, test, lambda: self.truth(late(), span), span)
        arms = (late, lambda: left) if op == "and" else (lambda: left, late)
        result = self.branch(test.value, span, *arms)
        if isinstance(result, Conflict):
            self.refuse(
                "L0203",
                f"`{op}` gives one of its operands, and these have no single type: {result.why}",
                span,
                "this expression",
                fix=f"write comparisons: `a != 0 {op} b != 0`",
            )
        if isinstance(result, Poison | Missing):
            raise Refused
        return result

    def logical(self, op: str, left: Number | Scalar, right: Callable[[], Number | Scalar], span: Span) -> Number | Scalar:
        """`left and right()` or `left or right()`, of bools."""
        if op == "and":
            return self.both(left, right, span)
        negated = self.truth(self.negate("not", left, span), span)
        neither = self.both(negated, lambda: self.truth(self.negate("not", right(), span), span), span)
        return self.truth(self.negate("not", neither, span), span)

    def both(self, left: Number | Scalar, right: Callable[[], Number | Scalar], span: Span) -> Number | Scalar:
        """`left and right()`; without a branch where the right side cannot fail or touch memory."""
        if isinstance(left, Number):
            return right() if left.value else Number(False, BOOL_)
        with self.region() as operations:
            result = right()
            if isinstance(result, Number) and not operations:
                return left if result.value else Number(False, BOOL_)
            value = self.materialise(result, span)
        if all(harmless(operation) for operation in operations):
            self.operations.extend(operations)
            return Scalar(self.binary("and", left.value, value, span))
        with self.region() as otherwise:
            false = self.constant(False, BOOL_, span)
        merged = self.new_value(BOOL_, span)
        arms = region_of(operations, [value]), region_of(otherwise, [false])
        self.emit(typed.If(span, (merged,), left.value, *arms))
        return Scalar(merged)

    def conditional(self, expression: syntax.Conditional) -> Entity:
        """`a if test else b`: one arm is evaluated."""
        test = self.test(expression.test)
        if isinstance(test, Number):
            return self.check(expression.then if test.value else expression.orelse)
        result = self.branch(
            test.value,
            expression.span,
            lambda: self.settle(self.check(expression.then)),
            lambda: self.settle(self.check(expression.orelse)),
        )
        if isinstance(result, Conflict):
            (at, text), *others = result.paths or ((expression.span, "this expression"),)
            labels = tuple(Label(s, said) for s, said in others)
            self.refuse("L0203", f"the two arms have no single type: {result.why}", at, text, labels=labels, fix=result.fix)
        if isinstance(result, Poison | Missing):
            raise Refused
        return result

    # --------------------------------------------------------------------------------------------------------- functions

    def function_entity(self, python: Any, span: Span) -> Function:
        """A Python function, ready to be inlined. Its own errors are reported with its own lines."""
        python = getattr(python, "__lend_function__", python)  # a function of Python with another form in kernels
        target = python.python if isinstance(python, DeviceFunction) else python
        try:
            captured = capture(target)
        except CompileError as error:
            for diagnostic in error.diagnostics:
                self.report(Refused(diagnostic))
            raise Refused from None
        function, diagnostics = parse_function(captured)
        if diagnostics:
            for diagnostic in diagnostics:
                self.report(Refused(diagnostic))
            raise Refused
        return Function(function, captured, identity=target)


def harmless(operation: typed.Operation) -> bool:
    """Whether an operation can run when Python would not run it: no memory, no fault, no loop."""
    match operation:
        case typed.Constant() | typed.Unary() | typed.Math() | typed.Cast() | typed.Size():
            return True
        case typed.Binary():
            return operation.site is None
        case _:
            return False


_MISSING = object()
