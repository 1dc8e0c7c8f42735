"""Calls: casts, known functions, words of the language, device functions, other kernels.

Does: find out what is called and type the call; inline functions.  Does not: statements.
Invariants: functions are known by identity; recursion is refused; a function's body is checked anew for each call's types.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lend.diagnostics.diagnostic import Label
from lend.diagnostics.spans import Span
from lend.frontend.signature import annotation_of
from lend.frontend.typecheck.assigned import assigned_names
from lend.frontend.typecheck.conversions import object_text
from lend.frontend.typecheck.emitter import Refused, region_of
from lend.frontend.typecheck.entities import (
    Array,
    Conflict,
    Entity,
    Frame,
    Function,
    Method,
    Missing,
    Number,
    Poison,
    Python,
    Record,
    Scalar,
    TupleOf,
)
from lend.frontend.typecheck.expressions import Expressions, numpy_scalar_type
from lend.ir import syntax, typed
from lend.ir.typed import Operation, Value
from lend.language import functions, intrinsics, library
from lend.language.annotations import AnnotationRefused, parameter_kind
from lend.language.functions import Fold, Library, OperatorFunction, Primitive, Special
from lend.language.intrinsics import DeviceFunction
from lend.language.signature import ArrayKind, ComptimeKind, ScalarKind
from lend.language.structs import struct_type
from lend.language.types import (
    BOOL_,
    COMPLEX64,
    COMPLEX128,
    F32,
    F64,
    I64,
    PART,
    ScalarType,
    StructType,
)

MAX_DEPTH = 50

_BUILTIN_CASTS: dict[Any, ScalarType] = {bool: BOOL_, int: I64, float: F64}

_ONLY_AS_LOOP = {"grid": "for i in lend.grid(N):", "static_range": "for k in lend.static_range(4):"}

_LOOPS = ("range", "enumerate", "zip")

_ADVICE: dict[str, str] = {
    "print": "return the value, or set a breakpoint and call `{kernel}.py(...)`",
    "sum": "write a loop with `s += x[k]`",
    "any": "write a loop with `found |= condition`",
    "all": "write a loop with `holds &= condition`",
    "sorted": "sort before the call, with `np.sort`",
    "isinstance": "types are known when the kernel is compiled: use a `comptime` parameter",
    "range": "write `for k in range(...):`",
    "enumerate": "write `for k, v in enumerate(a_tuple):`",
    "zip": "write `for a, b in zip(a_tuple, another):`",
}


class Calls(Expressions):
    """Typing of calls."""

    def call(self, expression: syntax.Call) -> Entity:
        """A call expression."""
        span = expression.span
        callee = self.check(expression.function)
        arguments = [self.check(argument) for argument in expression.arguments]
        keywords = {name: self.check(value) for name, value in expression.keywords}
        return self.call_entity(callee, arguments, keywords, span)

    def call_entity(self, callee: Entity, arguments: list[Entity], keywords: dict[str, Entity], span: Span) -> Entity:
        """Call an entity."""
        if isinstance(callee, Function):
            return self.call_function(callee, arguments, keywords, span)
        if isinstance(callee, Method):
            self.no_keywords(keywords, callee.name, span)
            return self.call_method(callee, arguments, span)
        if isinstance(callee, Poison):
            raise Refused
        if not isinstance(callee, Python):
            self.refuse("L0222", f"{self.describe(callee)} cannot be called", span, "not a function")
        return self.call_python(callee.object, arguments, keywords, span)

    def call_python(self, target: Any, arguments: list[Entity], keywords: dict[str, Entity], span: Span) -> Entity:
        """Call what a captured Python object stands for."""
        scalar = target if isinstance(target, ScalarType) else numpy_scalar_type(target)
        if scalar is None and isinstance(target, type):
            scalar = _BUILTIN_CASTS.get(target)
        if scalar is not None:
            self.no_keywords(keywords, scalar.name, span)
            return self.call_cast(scalar, target, arguments, span)
        if target is complex:
            return self.make_complex(arguments, span)
        struct = struct_type(target)
        if struct is not None:
            return self.make_record(struct, arguments, keywords, span)
        entry = functions.lookup(target)
        if entry is not None:
            self.no_keywords(keywords, getattr(target, "__name__", "this function"), span)
            return self.call_known(entry, target, [self.settle(a) for a in arguments], span)
        word = self.call_word(target, arguments, keywords, span)
        if word is not None:
            return word
        kernel = getattr(target, "__lend_kernel__", None)
        if kernel is not None:
            return self.call_kernel(target, arguments, keywords, span)
        if isinstance(target, DeviceFunction) or (callable(target) and hasattr(target, "__code__")):
            return self.call_function(self.function_entity(target, span), arguments, keywords, span)
        return self.refuse_callee(target, span)

    def refuse_callee(self, target: Any, span: Span) -> Entity:
        """Refuse a callable that kernels do not know."""
        name = getattr(target, "__name__", repr(target))
        module = getattr(target, "__module__", None) or ""
        if not callable(target):
            self.refuse("L0222", f"{object_text(target)} cannot be called", span, "not a function")
        if isinstance(target, np.ufunc) or str(module).startswith("numpy"):
            self.refuse(
                "L0223",
                f"kernels do not have `np.{name}`",
                span,
                "not one of NumPy's functions of single numbers",
                fix="write a loop over the elements",
            )
        self.refuse(
            "L0223",
            f"kernels do not have the function `{name}`",
            span,
            "its source cannot be compiled",
            fix="write it in Python under `@lend.function`",
        )

    def no_keywords(self, keywords: dict[str, Entity], name: str, span: Span) -> None:
        """Refuse keyword arguments where there are none."""
        if keywords:
            self.refuse(
                "L0224", f"`{name}` takes no keyword arguments in kernels", span, f"`{next(iter(keywords))}=` is not known"
            )

    def count(self, arguments: list[Entity], allowed: tuple[int, ...], name: str, span: Span) -> None:
        """Refuse a wrong number of arguments."""
        if len(arguments) not in allowed:
            wanted = " or ".join(map(str, allowed))
            self.refuse(
                "L0224",
                f"`{name}` takes {wanted} argument{'s' if allowed != (1,) else ''}, not {len(arguments)}",
                span,
                f"{len(arguments)} given",
            )

    # -------------------------------------------------------------------------------------------------------------- casts

    def call_cast(self, type: ScalarType, target: Any, arguments: list[Entity], span: Span) -> Entity:
        """`f32(x)`, `int(x)`, `np.float32(x)`."""
        name = getattr(target, "__name__", None) or type.name
        self.count(arguments, (1,) if target not in (int, float, bool) else (0, 1), name, span)
        if not arguments:
            return Number(type(0), type)
        if type is BOOL_:
            return self.truth(self.settle(arguments[0]), span)
        return self.cast(self.number(arguments[0], span, f"the argument of `{name}`"), type, span)

    def make_complex(self, arguments: list[Entity], span: Span) -> Entity:
        """`complex(re, im)`, `complex(x)`."""
        self.count(arguments, (1, 2), "complex", span)
        parts = [self.number(a, span, "the argument of `complex`") for a in arguments]
        if len(parts) == 1:
            return self.cast(parts[0], COMPLEX128, span)
        if all(isinstance(p, Number) and p.type is None for p in parts):
            return Number(complex(parts[0].value, parts[1].value), None)  # type: ignore[arg-type]
        type = self.join_or_refuse(parts[0], parts[1], span, "`complex`")
        if type not in (F32, F64):
            type = F64
        values = tuple(self.convert(p, type, span, "a part of a complex number") for p in parts)
        return Scalar(self.math("complex", values, COMPLEX64 if type is F32 else COMPLEX128, span))

    def make_record(self, struct: StructType, arguments: list[Entity], keywords: dict[str, Entity], span: Span) -> Entity:
        """`P(x, y)`."""
        names = [name for name, _ in struct.fields]
        given: dict[str, Entity] = dict(zip(names, arguments, strict=False))
        if len(arguments) > len(names):
            self.refuse(
                "L0224", f"`{struct}` has {len(names)} fields, and {len(arguments)} values are given", span, "too many values"
            )
        for name, value in keywords.items():
            if name not in names or name in given:
                self.refuse(
                    "L0224",
                    f"`{struct}` has no field `{name}`" if name not in names else f"`{name}` is given twice",
                    span,
                    "in this call",
                )
            given[name] = value
        items: list[Entity] = []
        for name, member in struct.fields:
            if name not in given:
                self.refuse(
                    "L0224",
                    f"`{struct}(...)` lacks the field `{name}`",
                    span,
                    f"its fields are {', '.join(f'`{n}`' for n in names)}",
                )
            value = self.settle(given[name])
            if isinstance(member, StructType):
                if not isinstance(value, Record) or value.type is not member:
                    self.refuse("L0219", f"the field `{name}` is `{member}`, not {self.describe(value)}", span, "in this call")
                items.append(value)
            else:
                items.append(Scalar(self.convert(value, member, span, f"the field `{name}`")))
        return Record(struct, tuple(items))

    # ---------------------------------------------------------------------------------------------------- known functions

    def call_known(self, entry: functions.Entry, target: Any, arguments: list[Entity], span: Span) -> Entity:
        """A function of `math`, NumPy or Python's builtins."""
        name = getattr(target, "__name__", "this function")
        match entry:
            case Primitive():
                self.count(arguments, (entry.arity,), name, span)
                return self.primitive(entry, name, arguments, span)
            case OperatorFunction():
                self.count(arguments, (entry.arity,), name, span)
                if entry.op == "abs":
                    return self.absolute(arguments[0], span)
                if entry.op in ("and", "or"):
                    both = [self.truth(a, span) for a in arguments]
                    return self.operate("&" if entry.op == "and" else "|", both[0], both[1], span)
                if entry.arity == 1:
                    return self.negate(entry.op, arguments[0], span)
                return self.operate(entry.op, arguments[0], arguments[1], span)
            case Fold():
                if len(arguments) == 1 and isinstance(arguments[0], TupleOf):
                    arguments = list(arguments[0].items)
                if len(arguments) < 2:
                    self.refuse(
                        "L0224",
                        f"`{name}` needs at least two values",
                        span,
                        f"{len(arguments)} given",
                        fix=f"write `{entry.op}(a, b)`",
                    )
                return self.extremum(entry.op, arguments, span)
            case Library():
                return self.call_library(entry, name, arguments, span)
            case Special():
                return self.call_special(entry.name, arguments, span)

    def call_library(self, entry: Library, name: str, arguments: list[Entity], span: Span) -> Entity:
        """A function written in kernel code."""
        integral = entry.python in (library.gcd, library.lcm, library.isqrt)
        numbers = [self.number(a, span, f"an argument of `{name}`") for a in arguments]
        if integral:
            for number in numbers:
                type = self.scalar_type(number)
                if (type is not None and not type.is_integer) or (type is None and not isinstance(self.sample(number), int)):
                    self.refuse("L0207", f"`{name}` takes integers", span, f"this is {self.describe(number)}")
        elif entry.python is library.sign and (t := self.scalar_type(numbers[0])) is not None and t.kind == "uint":
            return self.extremum("min", [numbers[0], Number(1, None)], span)
        elif entry.python in (library.degrees, library.radians, library.reciprocal):
            numbers = [self.float_argument(n, name, span) for n in numbers]
        return self.call_function(self.function_entity(entry.python, span), list(numbers), {}, span)

    def float_argument(self, entity: Number | Scalar, name: str, span: Span) -> Number | Scalar:
        """An integer argument of a floating function becomes f64."""
        type = self.floating(entity, span, f"an argument of `{name}`")
        if isinstance(entity, Number) and entity.type is None:
            return entity if not isinstance(entity.value, int) else Number(float(entity.value), None)
        return Scalar(self.convert(entity, type, span, f"an argument of `{name}`"))

    def primitive(self, entry: Primitive, name: str, arguments: list[Entity], span: Span) -> Entity:
        """A primitive mathematical function: arguments joined and made floating."""
        numbers = [self.number(a, span, f"an argument of `{name}`") for a in arguments]
        if entry.result == "i64" and all(self.is_integral(n) for n in numbers):
            return numbers[0]
        if entry.name == "conj" and all(not self.is_complex(n) for n in numbers):
            return numbers[0]
        type = self.floating(numbers[0], span, f"an argument of `{name}`")
        if len(numbers) > 1:
            joined = numbers[0]
            for number in numbers[1:]:
                type = self.join_or_refuse(joined, number, span, f"`{name}`")
                joined = (
                    Number(type(0), type)
                    if not (self.scalar_type(joined) is None and self.scalar_type(number) is None)
                    else joined
                )
            if type.kind not in ("float", "complex"):
                type = F64
        if type.kind == "complex" and entry.domain == "real":
            self.refuse(
                "L0209",
                f"`{name}` of a complex number",
                span,
                "this function takes real numbers",
                fix="use `abs(...)`, `.real` or `.imag`",
            )
        values = tuple(self.convert(n, type, span, f"an argument of `{name}`") for n in numbers)
        if entry.name in ("isnan", "isinf", "isfinite") and type.kind == "complex":
            parts = [self.math(part, values, PART[type], span) for part in ("real", "imag")]
            tests = [self.math(entry.name, (p,), BOOL_, span) for p in parts]
            return Scalar(self.binary("and" if entry.name == "isfinite" else "or", tests[0], tests[1], span))
        if entry.result == "bool":
            return Scalar(self.math(entry.name, values, BOOL_, span))
        result = self.math(entry.name, values, type, span)
        return Scalar(self.cast_value(result, I64, span)) if entry.result == "i64" else Scalar(result)

    def is_integral(self, entity: Number | Scalar) -> bool:
        """Whether an entity is an integer or a bool."""
        type = self.scalar_type(entity)
        return isinstance(self.sample(entity), int) if type is None else (type.is_integer or type is BOOL_)

    def is_complex(self, entity: Number | Scalar) -> bool:
        """Whether an entity is complex."""
        type = self.scalar_type(entity)
        return isinstance(self.sample(entity), complex) if type is None else type.kind == "complex"

    def call_special(self, name: str, arguments: list[Entity], span: Span) -> Entity:
        """Functions with rules of their own."""
        match name:
            case "len":
                self.count(arguments, (1,), name, span)
                if isinstance(arguments[0], Array):
                    return self.as_size(arguments[0].shape[0], span)
                if isinstance(arguments[0], TupleOf):
                    return Number(len(arguments[0].items), None)
                self.refuse("L0208", f"{self.describe(arguments[0])} has no length", span, "only arrays and tuples have one")
            case "round":
                if len(arguments) == 2:
                    self.refuse(
                        "L0224",
                        "`round` to a number of digits",
                        span,
                        "kernels round to integers",
                        fix="write `round(x * 100) / 100`",
                    )
                self.count(arguments, (1,), name, span)
                number = self.number(arguments[0], span, "the argument of `round`")
                if self.is_integral(number):
                    return self.cast(number, I64, span)
                value = self.convert(
                    number, self.floating(number, span, "the argument of `round`"), span, "the argument of `round`"
                )
                if value.scalar.kind == "complex":
                    self.refuse("L0209", "`round` of a complex number", span, "Python refuses this too")
                return Scalar(self.cast_value(self.math("rint", (value,), value.scalar, span), I64, span))
            case "divmod":
                self.count(arguments, (2,), name, span)
                return TupleOf(
                    (self.operate("//", arguments[0], arguments[1], span), self.operate("%", arguments[0], arguments[1], span))
                )
            case "where":
                self.count(arguments, (3,), name, span)
                return self.select(arguments, span)
            case "real" | "imag":
                self.count(arguments, (1,), name, span)
                return self.part(self.number(arguments[0], span), name, span)
            case "bit_count":
                self.count(arguments, (1,), name, span)
                value = self.materialise(arguments[0], span)
                if not value.scalar.is_integer:
                    self.refuse("L0209", f"`bit_count` of `{value.scalar}`", span, "bit operations are of integers")
                return Scalar(self.math("popcount", (value,), value.scalar, span))
            case _:
                self.refuse(
                    "L0223",
                    f"kernels do not have `{name}`" if name not in _LOOPS else f"`{name}` stands only in a `for`",
                    span,
                    "this call",
                    fix=_ADVICE[name].format(kernel=self.frames[0].name) if name in _ADVICE else None,
                )

    def select(self, arguments: list[Entity], span: Span) -> Entity:
        """`np.where(c, a, b)` of scalars: both are evaluated."""
        test = self.truth(arguments[0], span)
        if isinstance(test, Number):
            return arguments[1] if test.value else arguments[2]
        result = self.branch(test.value, span, lambda: arguments[1], lambda: arguments[2])
        if isinstance(result, Conflict):
            self.refuse("L0203", f"the two values have no single type: {result.why}", span, "in this call", fix=result.fix)
        return result

    def call_method(self, method: Method, arguments: list[Entity], span: Span) -> Entity:
        """`x.reshape(n, m)`, `z.conjugate()`."""
        if isinstance(method.receiver, Array):
            return self.reshape(method.receiver, arguments, span)
        self.count(arguments, (0,), "conjugate", span)
        if not self.is_complex(method.receiver):
            return method.receiver
        value = self.materialise(method.receiver, span)
        return Scalar(self.math("conj", (value,), value.scalar, span))

    # ------------------------------------------------------------------------------------------------ words of the language

    def call_word(self, target: Any, arguments: list[Entity], keywords: dict[str, Entity], span: Span) -> Entity | None:
        """`lend.local`, `lend.empty`, `lend.cdiv` and their kin; None if `target` is not one."""
        if target is intrinsics.cdiv:
            self.count(arguments, (2,), "lend.cdiv", span)
            negated = self.negate("-", arguments[0], span)
            return self.negate("-", self.operate("//", negated, arguments[1], span), span)
        if target is intrinsics.local:
            self.no_keywords(keywords, "lend.local", span)
            return self.local(arguments, span)
        if target is intrinsics.empty or target is intrinsics.zeros:
            name: str = target.__name__
            self.no_keywords(keywords, f"lend.{name}", span)
            return self.allocate(name, arguments, span)
        if target is intrinsics.unchecked:
            self.refuse(
                "L0225",
                "`lend.unchecked` is a block",
                span,
                "not in a `with` here",
                fix='write `with lend.unchecked("reason"):`',
            )
        for name, usage in _ONLY_AS_LOOP.items():
            if target is getattr(intrinsics, name):
                self.refuse("L0225", f"`lend.{name}` is a loop", span, "not in a `for` here", fix=f"write `{usage}`")
        return None

    # ------------------------------------------------------------------------------------------------------ device functions

    def call_function(self, function: Any, arguments: list[Entity], keywords: dict[str, Entity], span: Span) -> Entity:
        """Inline a function: its body in a region whose parameters are the arguments' run-time parts."""
        if not isinstance(function, Function):
            function = self.function_entity(function, span)
        tree = function.function
        for frame in self.frames:
            if frame.identity is tree or (function.identity is not None and frame.identity is function.identity):
                self.refuse(
                    "L0226",
                    f"`{tree.name}` calls itself, and kernels have no recursion",
                    span,
                    f"`{tree.name}` is being called already",
                    fix="write a loop",
                )
        if len(self.frames) > MAX_DEPTH:
            self.refuse("L0226", f"calls are nested more than {MAX_DEPTH} deep", span, "too deep")
        bound = self.bind(function, arguments, keywords, span)
        names: dict[str, Entity] = {}
        parameters: list[Value] = []
        values: list[Value] = []
        sizes: list[Operation] = []
        for parameter in tree.parameters:
            entity = self.settle(bound[parameter.name])
            names[parameter.name] = self.pass_argument(entity, parameter, parameters, values, span)
        local_names = assigned_names(tree.body) | frozenset(names)
        frame = Frame(
            tree.name,
            function.captured,
            names,
            local_names,
            function.outer,
            calls=(*self.frame.calls, span),
            identity=function.identity or tree,
        )
        result, operations = self.check_body(frame, tree)
        out: list[Value] = []
        with self.into(operations):
            result = self.settle(result)
            form = self.form(result, constant=True)
            self.conform(result, form, span, out)
        results: list[Value] = []
        entity = self.instantiate(self.returned_form(form), None, span, results, sizes)
        body = region_of(operations, out, tuple(parameters))
        self.emit(typed.Call(span, tuple(results), tree.name, tree.span.source.filename, tuple(values), body))
        self.operations.extend(sizes)
        if isinstance(entity, Conflict):
            self.refuse("L0203", f"`{tree.name}` returns no single type: {entity.why}", span, "called here", fix=entity.fix)
        return entity

    def pass_argument(
        self, entity: Entity, parameter: syntax.Parameter, parameters: list[Value], values: list[Value], span: Span
    ) -> Entity:
        """An argument as the function sees it: run-time parts become region parameters with the parameter's name."""
        match entity:
            case Scalar():
                inner = self.new_value(entity.value.type, parameter.span, parameter.name)
                parameters.append(inner)
                values.append(entity.value)
                return Scalar(inner, entity.literals)
            case Array():
                inner = self.new_value(entity.value.type, parameter.span, parameter.name)
                parameters.append(inner)
                values.append(entity.value)
                return Array(inner, parameter.name, entity.shape, entity.base, entity.may)
            case TupleOf() | Record():
                items = tuple(self.pass_argument(item, parameter, parameters, values, span) for item in entity.items)
                return Record(entity.type, items) if isinstance(entity, Record) else TupleOf(items)
            case Missing() | Conflict() | Poison():
                raise Refused
            case _:
                return entity

    def bind(self, function: Function, arguments: list[Entity], keywords: dict[str, Entity], span: Span) -> dict[str, Entity]:
        """Parameter name to entity, by Python's rules."""
        tree = function.function
        positional = [p for p in tree.parameters if not p.keyword_only]
        declared = (Label(tree.span, f"`{tree.name}` is defined here"),)
        if len(arguments) > len(positional):
            self.refuse(
                "L0224",
                f"`{tree.name}` takes {len(positional)} argument{'s' if len(positional) != 1 else ''}, not {len(arguments)}",
                span,
                "too many arguments",
                labels=declared,
            )
        bound: dict[str, Entity] = {p.name: a for p, a in zip(positional, arguments, strict=False)}
        known = {p.name for p in tree.parameters}
        for name, value in keywords.items():
            if name not in known:
                self.refuse("L0224", f"`{tree.name}` has no parameter `{name}`", span, f"`{name}=` is not known", labels=declared)
            if name in bound:
                self.refuse("L0224", f"`{name}` is given twice", span, "by position and by name", labels=declared)
            bound[name] = value
        for parameter in tree.parameters:
            if parameter.name not in bound:
                bound[parameter.name] = self.default(function, parameter, span, declared)
            bound[parameter.name] = self.annotated(function, parameter, bound[parameter.name], span)
        return bound

    def default(self, function: Function, parameter: syntax.Parameter, span: Span, declared: tuple[Label, ...]) -> Entity:
        """A parameter's default value."""
        known = function.captured.defaults if function.outer is None else {}
        if parameter.default is None and parameter.name not in known:
            self.refuse(
                "L0224",
                f"the call of `{function.function.name}` lacks the argument `{parameter.name}`",
                span,
                f"`{parameter.name}` is missing",
                labels=declared,
            )
        if parameter.name not in known:
            assert parameter.default is not None
            return self.check(parameter.default)
        return self.entity_of(function.captured.defaults[parameter.name], parameter.name, parameter.span)

    def annotated(self, function: Function, parameter: syntax.Parameter, entity: Entity, span: Span) -> Entity:
        """An argument, converted to the type its parameter is annotated with, if that is a type kernels know."""
        annotation = annotation_of(function.captured, parameter.name) if function.outer is None else None
        if annotation is None:
            return entity
        try:
            kind = parameter_kind(annotation)
        except AnnotationRefused:
            return entity
        what = f"the argument `{parameter.name}` of `{function.function.name}`"
        if isinstance(kind, ScalarKind) and isinstance(kind.element, ScalarType):
            return Scalar(self.convert(entity, kind.element, span, what))
        if isinstance(kind, ComptimeKind) and isinstance(entity, Scalar | Array):
            self.refuse("L0212", f"{what} must be known when the kernel is compiled", span, "known at run time only")
        if isinstance(kind, ArrayKind):
            self.check_borrow(kind, entity, what, span)
        return entity

    def check_borrow(self, kind: ArrayKind, entity: Entity, what: str, span: Span) -> None:
        """Refuse an array argument that does not fit the annotation of a parameter."""
        if not isinstance(entity, Array):
            self.refuse("L0219", f"{what} is an array, not {self.describe(entity)}", span, f"this is {self.describe(entity)}")
        type = entity.value.array
        if isinstance(kind.element, ScalarType | StructType) and kind.element is not type.element:
            self.refuse(
                "L0219",
                f"{what} is an array of `{kind.element}`, not of `{type.element}`",
                span,
                f"`{entity.name}` holds `{type.element}`",
            )
        if len(kind.sizes) != type.dimensions:
            self.refuse(
                "L0219",
                f"{what} has {len(kind.sizes)} dimension{'s' if len(kind.sizes) > 1 else ''}, and `{entity.name}` has {type.dimensions}",
                span,
                "passed here",
            )
        if kind.borrow.writable and not type.borrow.writable:
            self.refuse(
                "L0218",
                f"{what} is borrowed as `{kind.borrow.value}`, but `{entity.name}` is a `Ref` here",
                span,
                f"`{entity.name}` is read only",
                fix=f"borrow it as `Mut` in the signature: `{entity.name}: Mut[...]`",
            )

    def check_body(self, frame: Frame, tree: syntax.Function) -> tuple[Entity, list[Operation]]:
        """Check a function's body in its own frame: what it returns, and its operations (defined in `statements.py`)."""
        raise NotImplementedError

    def call_kernel(self, kernel: Any, arguments: list[Entity], keywords: dict[str, Entity], span: Span) -> Entity:
        """Call another kernel at host level (defined in `kernels.py`)."""
        raise NotImplementedError
