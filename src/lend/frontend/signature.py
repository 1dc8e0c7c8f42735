"""From a kernel's annotations to its signature.

Does: evaluate annotations where they were written, judge them, collect every error with its span.
Does not: judge one annotation's meaning (`language/annotations.py`) or bind arguments.
Invariants: the signature is complete or the diagnostics are not empty.
"""

from __future__ import annotations

from inspect import CO_VARARGS, CO_VARKEYWORDS
from numbers import Integral, Number, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from lend.diagnostics.diagnostic import Diagnostic, Label
from lend.diagnostics.records import dataclass
from lend.frontend.capture import Captured
from lend.language.annotations import AnnotationRefused, kind_text, parameter_kind
from lend.language.dims import DimType, symbols
from lend.language.python_annotations import raw_annotations
from lend.language.signature import (
    NO_DEFAULT,
    ArrayKind,
    ComptimeKind,
    ParameterKind,
    ParameterSpec,
    ScalarKind,
    Signature,
    TupleKind,
)
from lend.language.types import ScalarType

if TYPE_CHECKING:
    from lend.ir import syntax


def annotation_of(captured: Captured, name: str) -> Any:
    """The annotation of one parameter, evaluated; None if there is none or it cannot be evaluated."""
    raw = raw_annotations(captured.function).get(name)
    if not isinstance(raw, str):
        return raw
    try:
        return evaluate(captured, raw)
    except Exception:  # whatever the user's expression raises: the annotation says nothing then
        return None


def evaluate(captured: Captured, text: str) -> Any:
    """Evaluate an annotation's text where the function was defined. Raises what the expression raises."""
    closure: dict[str, Any] = {}
    for name in captured.closure:
        found, value = captured.resolve(name)
        if found:
            closure[name] = value
    found = eval(text, captured.globals, closure)
    return (
        eval(found, captured.globals, closure) if isinstance(found, str) else found
    )  # quoted where annotations are deferred too


def plain_signature(captured: Captured) -> Signature | None:
    """The signature of a kernel without a look at its tree; None if something may be wrong with it."""
    code, raw = captured.code, raw_annotations(captured.function)
    if code.co_flags & (CO_VARARGS | CO_VARKEYWORDS) or code.co_posonlyargcount:
        return None
    specs: list[ParameterSpec] = []
    for position, name in enumerate(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]):
        try:
            annotation = raw[name]
            kind = parameter_kind(evaluate(captured, annotation) if isinstance(annotation, str) else annotation)
        except Exception:  # whatever the user's expression raises
            return None
        default = captured.defaults.get(name, NO_DEFAULT)
        if default is not NO_DEFAULT and not takes(kind, default):
            return None
        specs.append(ParameterSpec(name, kind, default, position >= code.co_argcount))
    dims, wrong = _dims(specs)
    return None if wrong else Signature(code.co_name, tuple(specs), dims)


def signature_of(captured: Captured, tree: syntax.Function) -> tuple[Signature, list[Diagnostic]]:
    """The signature of a kernel and what is wrong with it."""
    diagnostics: list[Diagnostic] = []
    raw = raw_annotations(captured.function)
    specs: list[ParameterSpec] = []
    for parameter in tree.parameters:
        kind = _kind(captured, parameter, raw, diagnostics)
        default = captured.defaults.get(parameter.name, NO_DEFAULT)
        if kind is not None and default is not NO_DEFAULT and not takes(kind, default):
            span = parameter.default.span if parameter.default is not None else parameter.span
            message = f"the default of `{parameter.name}` is not a value of `{kind_text(kind)}`"
            diagnostics.append(Diagnostic("L0507", message, Label(span, "this default")))
        if kind is not None:
            specs.append(ParameterSpec(parameter.name, kind, default, parameter.keyword_only))
    dims, wrong = _dims(specs)
    for problem in wrong:
        span = next((p.annotation_span or p.span for p in tree.parameters if p.name in problem.parameters), tree.span)
        diagnostics.append(Diagnostic(problem.code, problem.message, Label(span, problem.label), fix=problem.fix))
    return Signature(tree.name, tuple(specs), dims), diagnostics


def _kind(
    captured: Captured, parameter: syntax.Parameter, raw: dict[str, Any], diagnostics: list[Diagnostic]
) -> ParameterKind | None:
    span = parameter.annotation_span or parameter.span
    if parameter.name not in raw:
        diagnostics.append(
            Diagnostic(
                "L0501",
                f"the parameter `{parameter.name}` has no type",
                Label(parameter.span, "every parameter of a kernel is annotated"),
                fix=f"write `{parameter.name}: f64` for a number, `{parameter.name}: Ref[f64, N]` for an array that is read",
            )
        )
        return None
    annotation = raw[parameter.name]
    if isinstance(annotation, str):
        try:
            annotation = evaluate(captured, annotation)
        except Exception as error:
            what = (
                f"the name `{error.name}` is not defined"
                if isinstance(error, NameError)
                else f"it raises `{type(error).__name__}`"
            )
            diagnostics.append(
                Diagnostic(
                    "L0502",
                    f"the annotation of `{parameter.name}` cannot be evaluated: {what}",
                    Label(span, "this annotation"),
                    fix="import or define the name in the module that defines the kernel"
                    if isinstance(error, NameError)
                    else "write one type: `f64`, `Ref[f64, N]` or `comptime[int]`",
                )
            )
            return None
    try:
        return parameter_kind(annotation)
    except AnnotationRefused as refused:
        diagnostics.append(
            Diagnostic(refused.code, f"`{parameter.name}`: {refused.message}", Label(span, "in this annotation"), fix=refused.fix)
        )
        return None


def takes(kind: ParameterKind, default: Any) -> bool:
    """Whether a default can be an argument of this kind, as far as its Python type tells."""
    match kind:
        case ArrayKind():
            return isinstance(default, np.ndarray)
        case TupleKind():
            return isinstance(default, tuple | list)
        case ComptimeKind():
            number = isinstance(default, int) and not isinstance(default, bool)
            known = {int: number, float: number or isinstance(default, float), bool: isinstance(default, bool)}
            return known.get(kind.type, isinstance(default, str) if kind.type is str else True)
        case ScalarKind(ScalarType() as element):
            if element.is_integer:
                return isinstance(default, Integral) and element.minimum <= int(default) <= element.maximum
            wanted: dict[str, Any] = {"bool": (bool, np.bool_), "float": Real, "complex": Number}
            return isinstance(default, wanted[element.kind])
        case _:
            return True


@dataclass(frozen=True)
class _Wrong:
    """What is wrong with a size name. `parameters`: of which one is shown, if there are any."""

    code: str
    message: str
    label: str
    fix: str
    parameters: frozenset[str] = frozenset()


def _dims(specs: list[ParameterSpec]) -> tuple[tuple[DimType, ...], list[_Wrong]]:
    """All size names, in order, and what is wrong: a name that no dimension gives directly, two of the same name."""
    found: dict[DimType, None] = {}
    direct: set[DimType] = set()
    bounds: set[DimType] = set()  # names in the bounds of index types
    mentions: dict[DimType, set[str]] = {}
    for spec in specs:
        arrays = (spec.kind,) if isinstance(spec.kind, ArrayKind) else spec.kind.items if isinstance(spec.kind, TupleKind) else ()
        for array in arrays:
            for size in array.sizes:
                for name in symbols(size):
                    found[name] = None
                    mentions.setdefault(name, set()).add(spec.name)
                if isinstance(size, DimType) and size.equals is None:
                    direct.add(size)
            for name in symbols(array.facts.bound) if array.facts is not None else ():
                found[name] = None
                bounds.add(name)
                mentions.setdefault(name, set()).add(spec.name)
    wrong: list[_Wrong] = []
    for name in found:
        if name not in direct:
            where = "in the bound of an index type" if name in bounds else "inside expressions"
            wrong.append(
                _Wrong(
                    "L0504",
                    f"no argument says how large `{name.__name__}` is",
                    f"`{name.__name__}` stands only {where}",
                    f"some parameter must have `{name.__name__}` itself as a dimension: `x: Ref[f64, {name.__name__}]`",
                    frozenset(mentions[name]),
                )
            )
    names: dict[str, DimType] = {}
    for name in found:
        other = names.setdefault(name.__name__, name)
        if other is not name:
            wrong.append(
                _Wrong("L0505", f"two different sizes are both called `{name.__name__}`", "in this signature", "rename one")
            )
    return tuple(found), wrong
