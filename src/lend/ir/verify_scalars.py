"""What the verifier of the typed tree does for all operations, and the rules for scalar ones.

Does: keep what is defined and visible; verify constants, arithmetic and casts.  Does not: know memory, control or levels
(`verify.py`, which lists the invariants).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NoReturn

from lend.diagnostics.errors import InternalError
from lend.diagnostics.sites import SiteKind
from lend.diagnostics.spans import Span
from lend.ir import typed
from lend.ir.typed import Value
from lend.language.abi import NO_SITE
from lend.language.arithmetic import cast
from lend.language.libm import BINARY, COMPLEX, PREDICATES, TERNARY, UNARY
from lend.language.types import BOOL_, I64, INDEX, PART, ArrayType, Borrow, Layout, ScalarType, Type

INTEGER = frozenset("add sub mul floordiv mod pow shl shr and or xor min max eq ne lt le gt ge".split())  # noqa: SIM905
OPERATORS: dict[str, frozenset[str]] = {
    "bool": frozenset(("and", "or", "xor", "min", "max", *typed.COMPARISONS)),
    "int": INTEGER,
    "uint": INTEGER,
    "float": frozenset(("add", "sub", "mul", "div", "floordiv", "mod", "pow", "min", "max", *typed.COMPARISONS)),
    "complex": frozenset(("add", "sub", "mul", "div", "pow", "eq", "ne")),
}
REDUCTIONS = frozenset(("add", "mul", "and", "or", "xor", "min", "max"))
INTEGER_SITES: dict[str, SiteKind] = {
    "floordiv": "division",
    "mod": "division",
    "shl": "shift",
    "shr": "shift",
    "pow": "exponent",
}
PYTHON_TYPES: dict[str, type] = {"bool": bool, "int": int, "uint": int, "float": float, "complex": complex}


def flows(source: Type, target: Type) -> bool:
    """Whether a value of type `source` may become a parameter or result of type `target`."""
    if not (isinstance(source, ArrayType) and isinstance(target, ArrayType)):
        return source is target
    if source.element is not target.element or source.dimensions != target.dimensions:
        return False
    if target.borrow.writable and not source.borrow.writable:
        return False
    if source.borrow is Borrow.ATOMIC and target.borrow is not Borrow.ATOMIC:
        return False
    strided = target.layout is Layout.STRIDED and source.layout is not Layout.UNALIGNED
    return target.layout is source.layout or strided or target.layout is Layout.UNALIGNED


class Scalars:
    """The state of the verifier and the rules for scalar operations."""

    def __init__(self, kernel: typed.Kernel, planned: bool = False) -> None:
        self.kernel = kernel
        self.planned = planned
        self.span: Span = kernel.span
        self.defined: set[Value] = set()  # everywhere
        self.visible: set[Value] = set()  # here
        self.constants: dict[Value, Any] = {}
        self.threads: int = 0  # indices of the enclosing parallel loops
        self.level: Literal["host", "grid", "block", "thread", "team"] = "host"
        self.team = 1  # threads of the enclosing block

    # ------------------------------------------------------------------------------------------------- basics

    def fail(self, what: str) -> NoReturn:
        raise InternalError(what, self.span)

    def require(self, holds: bool, what: str) -> None:
        if not holds:
            self.fail(what)

    def define(self, values: Iterable[Value]) -> None:
        for value in values:
            self.require(value not in self.defined, f"{value} is defined twice")
            self.defined.add(value)
            self.visible.add(value)

    def use(self, values: Iterable[Value]) -> None:
        for value in values:
            self.require(value in self.visible, f"{value} is used where it is not defined")

    def flow(self, sources: Sequence[Value], targets: Sequence[Type], what: str) -> None:
        self.require(len(sources) == len(targets), f"{what}: {len(sources)} values for {len(targets)}")
        for source, target in zip(sources, targets, strict=True):
            self.require(flows(source.type, target), f"{what}: {source.type} becomes {target}")

    def site(self, number: int | None, kind: SiteKind | None) -> None:
        if number is None or (self.planned and number == NO_SITE):
            return
        self.require(0 <= number < len(self.kernel.sites), f"there is no site {number}")
        site = self.kernel.sites[number]
        self.require(kind is None or site.kind == kind, f"site {number} is of kind {site.kind}, not {kind}")
        named = len(site.threads) == self.threads or (self.level == "team" and len(site.threads) > self.threads)
        self.require(named, f"site {number} names {len(site.threads)} threads of {self.threads}")

    def index(self, *values: Value) -> None:
        for value in values:
            self.require(value.type in (INDEX, I64), f"{value} is no index")

    def condition(self, value: Value) -> None:
        self.require(value.type is BOOL_, f"the condition {value} is not bool_")

    def scalar(self, value: Value) -> ScalarType:
        if not isinstance(value.type, ScalarType):
            self.fail(f"{value} is not a scalar")
        return value.type

    def array(self, value: Value) -> ArrayType:
        if not isinstance(value.type, ArrayType):
            self.fail(f"{value} is not an array")
        return value.type

    def result(self, value: Value, type: Type) -> None:
        self.require(value.type is type, f"the result {value} should be {type}")

    def host_level(self) -> None:
        self.require(self.level == "host", "an operation of the host level inside a parallel loop")

    def at(self, *levels: str) -> None:
        self.require(self.level in levels, f"an operation of the levels {levels} at {self.level} level")

    def nonzero_step(self, extents: Iterable[typed.Extent], site: int | None) -> None:
        if site is None and not self.planned:
            for extent in extents:
                self.require(bool(self.constants.get(extent.step)), "a step that may be zero has no site")
        self.site(site, "step")

    def bounds(self, site: int | None) -> None:
        unasked = self.planned or bool(self.kernel.unchecked)
        self.require(site is not None or unasked, "an access without a site outside lend.unchecked")
        self.site(site, "bounds")

    # ------------------------------------------------------------------------------------------- scalar operations

    def scalar_operation(self, operation: typed.Constant | typed.Unary | typed.Binary | typed.Math | typed.Cast) -> None:
        match operation:
            case typed.Constant():
                self.constant(self.scalar(operation.result), operation.value)
                self.constants[operation.result] = operation.value
            case typed.Unary():
                self.unary(operation)
            case typed.Binary():
                self.binary(operation)
            case typed.Math():
                self.math(operation)
            case typed.Cast():
                source, target = self.scalar(operation.operand), self.scalar(operation.result)
                allowed = source.kind != "complex" or target.kind in ("complex", "bool")
                self.require(allowed, f"a cast from {source} to {target}")

    def constant(self, type: ScalarType, value: Any) -> None:
        exact = value.__class__ is PYTHON_TYPES[type.kind]
        if exact and type.is_integer:
            exact = type.minimum <= value <= type.maximum
        elif exact and type.kind in ("float", "complex"):
            parts = [(value.real, cast(type, value).real), (value.imag, cast(type, value).imag)]
            exact = all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in parts)
        self.require(exact, f"{value!r} is no constant of type {type}")

    def unary(self, operation: typed.Unary) -> None:
        operator, type = operation.operator, self.scalar(operation.operand)
        allowed = {
            "not": type is BOOL_,
            "invert": type is BOOL_ or type.is_integer,
            "neg": type is not BOOL_,
            "abs": type is not BOOL_,
        }
        self.require(allowed.get(operator, False), f"{operator} of {type}")
        self.result(operation.result, PART.get(type, type) if operator == "abs" else type)

    def binary(self, operation: typed.Binary) -> None:
        operator, type = operation.operator, self.scalar(operation.left)
        self.require(operation.right.type is type, f"{operator} of {type} and {operation.right.type}")
        self.require(operator in OPERATORS[type.kind], f"{operator} of {type}")
        self.result(operation.result, BOOL_ if operator in typed.COMPARISONS else type)
        kind = INTEGER_SITES.get(operator) if type.is_integer else None
        if kind is None:
            self.require(operation.site is None, f"{operator} of {type} has a site")
        elif operation.site is None and not self.planned:
            right = self.constants.get(operation.right)
            harmless = bool(right) if kind == "division" else type.kind == "uint" or (right is not None and right >= 0)
            self.require(harmless, f"{operator} of {type} has no site")
        self.site(operation.site, kind)

    def math(self, operation: typed.Math) -> None:
        function, arguments = operation.function, operation.arguments
        arity = 2 if function in BINARY or function == "complex" else 3 if function in TERNARY else 1
        self.require(len(arguments) == arity and function != "pow", f"{function} of {len(arguments)} arguments")
        type = self.scalar(arguments[0])
        self.require(all(argument.type is type for argument in arguments), f"{function} of arguments of several types")
        if function == "complex":
            whole = next((c for c, part in PART.items() if part is type), None)
            self.require(whole is not None and operation.result.type is whole, f"complex of {type} gives {operation.result.type}")
            return
        if function.startswith("as_"):
            bits_of = self.scalar(operation.result)
            known = (
                function == f"as_{bits_of}"
                and bits_of.bits == type.bits
                and {type.kind, bits_of.kind} <= {"int", "uint", "float"}
            )
            self.require(known, f"{function} of {type} gives {bits_of}")
            return
        if function in PREDICATES:
            known = type.kind == "float" or (type.kind == "complex" and function != "signbit")
        elif function in ("real", "imag"):
            known = type.kind == "complex"
        elif function == "popcount":
            known = type.is_integer
        elif type.kind == "complex":
            known = function in COMPLEX
        else:
            known = type.kind == "float" and function in UNARY | BINARY | TERNARY
        self.require(known, f"{function} of {type}")
        self.result(operation.result, BOOL_ if function in PREDICATES else PART[type] if function in ("real", "imag") else type)
