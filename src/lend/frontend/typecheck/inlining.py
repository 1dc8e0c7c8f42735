"""Device functions: their bodies stand in place, in a region of their own.

Does: bind a call's arguments as Python does, judge them by the parameters' annotations, inline the body.
Does not: find out what is called (`calls.py`).
Invariants: recursion is refused; a function's body is checked anew for each call's types.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NoReturn, get_args, get_origin

from lend.diagnostics.diagnostic import Label
from lend.diagnostics.spans import Span
from lend.diagnostics.words import counted
from lend.frontend.signature import annotation_of
from lend.frontend.typecheck.assigned import assigned_names
from lend.frontend.typecheck.emitter import Refused, is_library, region_of
from lend.frontend.typecheck.entities import (
    Array,
    Conflict,
    Entity,
    Frame,
    Function,
    Missing,
    Poison,
    Python,
    Record,
    Scalar,
    TupleOf,
)
from lend.frontend.typecheck.known_functions import KnownFunctions
from lend.ir import syntax, typed
from lend.ir.typed import Operation, Value
from lend.language.annotations import INDEX_NAMES, AnnotationRefused, element_text, facts_text, kind_text, parameter_kind
from lend.language.borrows import IndexKind
from lend.language.python_annotations import raw_annotations
from lend.language.signature import ArrayKind, ComptimeKind, ScalarKind
from lend.language.types import (
    Borrow,
    ScalarType,
    StructType,
    VectorType,
)

MAX_DEPTH = 50
STRONGER: dict[IndexKind, tuple[IndexKind, ...]] = {
    "index": ("index", "unique"),
    "unique": ("unique",),
    "offsets": ("offsets",),
}
"""For what an index type says, the index types that say it too."""


class Inlining(KnownFunctions):
    """Typing of calls of functions in Python."""

    def call_function(self, function: Function, arguments: list[Entity], keywords: dict[str, Entity], span: Span) -> Entity:
        """Inline a function: its body in a region whose parameters are the arguments' run-time parts."""
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
        loans = self.loans(values)
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
        depth, self.unchecked_depth = self.unchecked_depth, int(function.unchecked)  # it speaks of what is written inside
        try:
            result, operations = self.check_body(frame, tree)
        finally:
            self.unchecked_depth = depth
        out: list[Value] = []
        with self.into(operations):
            result = self.settle(result)
            form = self.form(result, constant=True)
            self.conform(result, form, span, out)
        results: list[Value] = []
        entity = self.instantiate(self.returned_form(form), None, span, results, sizes)
        body = region_of(operations, out, tuple(parameters))
        self.emit(typed.Call(span, tuple(results), tree.name, tree.span.source.filename, tuple(values), body, loans))
        self.operations.extend(sizes)
        if isinstance(entity, Conflict):
            self.refuse("L0203", f"`{tree.name}` returns no single type: {entity.why}", span, "called here", fix=entity.fix)
        return entity

    def loans(self, arguments: list[Value]) -> tuple[typed.Loan, ...]:
        """What the callee borrows, if it is a kernel (see `kernel_calls.py`)."""
        return ()

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
                return replace(entity, value=inner, name=parameter.name)
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
        declared = (Label(tree.span, f"`{tree.name}` is defined here"),) if not is_library(tree.span) else ()
        if len(arguments) > len(positional):
            self.refuse(
                "L0224",
                f"`{tree.name}` takes {counted(len(positional), 'argument')}, not {len(arguments)}",
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
        if function.defaults is not None and parameter.name in function.defaults:
            return function.defaults[parameter.name]
        known: Mapping[str, Any] = function.captured.defaults if function.outer is None else {}
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
        if function.outer is not None and parameter.annotation is not None:
            written = self.check(parameter.annotation)
            annotation = written.object if isinstance(written, Python) else None
        if annotation is None:
            return entity
        try:
            kind = parameter_kind(annotation)
        except AnnotationRefused:
            return entity
        what = f"the argument `{parameter.name}` of `{function.function.name}`"
        if isinstance(kind, ScalarKind) and isinstance(kind.element, ScalarType):
            return Scalar(self.convert(entity, kind.element, span, what))
        if isinstance(kind, ScalarKind) and isinstance(kind.element, VectorType):
            return self.part_of_record(entity, kind.element, what, span, "passed here")
        if isinstance(kind, ComptimeKind) and isinstance(entity, Scalar | Array):
            self.refuse(
                "L0212", f"{what} must be known when the kernel is compiled", self.where(entity, span), "known at run time only"
            )
        if isinstance(kind, ArrayKind):
            self.check_borrow(kind, entity, what, span)
        return entity

    def declared_result(self, result: Entity, tree: syntax.Function) -> Entity:
        """What a function returns, as its `-> …` says, where that is a type kernels know."""
        if tree.returns is None or self.frame.outer is not None:
            return result
        if "return" in (raw := raw_annotations(self.frame.captured.function)) and raw["return"] in (None, "None"):
            if not (isinstance(result, Python) and result.object is None):
                self.refuse(
                    "L0219",
                    f"`{tree.name}` is declared to return nothing",
                    self.where(result, tree.span),
                    "this is returned",
                    labels=(Label(tree.returns, "declared here"),),
                )
            return result
        return self.returned_as(result, annotation_of(self.frame.captured, "return"), tree, tree.returns)

    def returned_as(self, result: Entity, annotation: Any, tree: syntax.Function, declared: Span) -> Entity:
        """A result or a part of one, converted to the type that is declared."""
        what, labels = f"the result of `{tree.name}`", (Label(declared, "declared here"),)
        at = self.where(result, tree.span)
        if get_origin(annotation) is tuple:
            parts = get_args(annotation)
            if Ellipsis in parts:
                return result
            if not isinstance(result, TupleOf) or len(result.items) != len(parts):
                self.refuse(
                    "L0219",
                    f"{what} is declared a tuple of {len(parts)}, and it is {self.describe(result)}",
                    at,
                    "returned",
                    labels=labels,
                )
            items = zip(result.items, parts, strict=True)
            return TupleOf(tuple(self.returned_as(item, part, tree, declared) for item, part in items))
        try:
            kind = parameter_kind(annotation)
        except AnnotationRefused:
            return result
        if isinstance(kind, ScalarKind) and isinstance(kind.element, ScalarType):
            return Scalar(self.convert(result, kind.element, at, what))
        fits = True
        if isinstance(kind, ScalarKind) and isinstance(kind.element, StructType):
            record = self.fitted(result, kind.element, at, what)
            if record is not None:
                return record
            fits = False
        elif isinstance(kind, ArrayKind):
            type = result.value.array if isinstance(result, Array) else None
            fits = type is not None and type.dimensions == len(kind.sizes)
            if type is not None and isinstance(kind.element, ScalarType | StructType):
                fits = fits and type.element is kind.element
            fits = fits and isinstance(result, Array) and result.vector is kind.vector
        if not fits:
            self.refuse(
                "L0219", f"{what} is declared another type, and it is {self.describe(result)}", at, "returned", labels=labels
            )
        return result

    def check_borrow(self, kind: ArrayKind, entity: Entity, what: str, span: Span) -> None:
        """Refuse an array argument that does not fit the annotation of a parameter."""
        at = self.where(entity, span)
        if not isinstance(entity, Array):
            self.refuse("L0219", f"{what} is an array, not {self.describe(entity)}", at, f"this is {self.describe(entity)}")
        type = entity.value.array
        wanted, held = kind.vector or kind.element, entity.vector or type.element
        if wanted is not held and (kind.vector or entity.vector or isinstance(wanted, ScalarType | StructType)):
            self.refuse(
                "L0219",
                f"{what} is an array of `{element_text(wanted)}`, not of `{held}`",
                at,
                f"`{entity.name}` holds `{held}`",
            )
        if len(kind.sizes) != type.dimensions:
            dimensions = len(kind.sizes) - (kind.vector is not None)
            self.refuse(
                "L0219",
                f"{what} has {counted(dimensions, 'dimension')}, and `{entity.name}` has {len(entity.sizes)}",
                at,
                "passed here",
            )
        if kind.facts is not None and (entity.index is None or entity.index[0] not in STRONGER[kind.facts.kind]):
            said = facts_text(kind.facts, kind.element)
            self.refuse(
                "L0219",
                f"{what} holds `{said}`, and nothing has tested that `{entity.name}` does",
                at,
                f"holds any `{type.element}`" if entity.index is None else f"holds `{INDEX_NAMES[entity.index[0]]}` only",
                fix=f"lend `{entity.name}` to this kernel as `{kind_text(kind)}`, so that the call tests it",
            )
        lends = kind.borrow is Borrow.ATOMIC and self.level == "host" and type.borrow in (Borrow.MUT, Borrow.OWNED)
        if (kind.borrow is Borrow.ATOMIC) != (type.borrow is Borrow.ATOMIC) and not lends:
            self.refuse_atomic_argument(kind, entity, what, at)
        if kind.borrow.writable and not type.borrow.writable:
            self.refuse(
                "L0218",
                f"{what} is borrowed as `{kind.borrow.value}`, but `{entity.name}` is a `Ref` here",
                at,
                f"`{entity.name}` is read only",
                fix=self.borrow_advice(entity),
            )

    def refuse_atomic_argument(self, kind: ArrayKind, entity: Array, what: str, at: Span) -> NoReturn:
        """An `Atomic` array is passed as another borrow, or another borrow as `Atomic`."""
        borrow = entity.value.array.borrow
        if borrow is Borrow.ATOMIC:
            self.refuse(
                "L0420",
                f"{what} is borrowed as `{kind.borrow.value}`, and `{entity.name}` is `Atomic` here",
                at,
                "it can be changed by others at any time",
                fix=f"declare the parameter as `{kind_text(replace(kind, borrow=Borrow.ATOMIC))}`",
            )
        self.refuse(
            "L0420",
            f"{what} is borrowed as `Atomic`, and `{entity.name}` is not",
            at,
            f"a `{borrow.value}`" if borrow is not Borrow.OWNED else "an array of the kernel's own",
            fix=self.atomic_advice(entity),
        )

    def check_body(self, frame: Frame, tree: syntax.Function) -> tuple[Entity, list[Operation]]:
        """Check a function's body in its own frame: what it returns, and its operations (defined in `statements.py`)."""
        raise NotImplementedError
