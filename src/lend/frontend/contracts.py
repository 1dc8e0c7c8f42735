"""Contracts: the asserts at the top of a kernel.

Does: tell contracts from other asserts, refuse what they cannot say, make each a predicate over a call's sizes, scalars and
compile-time values.  Does not: raise for a false one (`runtime/launch.py` does).
Invariants: read from the source, so `python -O` changes nothing.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from lend.diagnostics.diagnostic import Diagnostic, Label
from lend.frontend.capture import Captured
from lend.frontend.conditions import Condition
from lend.ir import syntax
from lend.language import intrinsics
from lend.language.annotations import kind_text
from lend.language.dims import DimType, SizeExpression, size_text
from lend.language.signature import ArrayKind, Contract, ScalarKind, Signature

_FUNCTIONS: tuple[Any, ...] = (
    builtins.min,
    builtins.max,
    builtins.abs,
    builtins.len,
    builtins.int,
    builtins.float,
    builtins.bool,
    builtins.round,
    intrinsics.cdiv,
    math.gcd,
    math.lcm,
    math.isqrt,
    math.sqrt,
    math.log2,
    math.floor,
    math.ceil,
    math.isfinite,
    math.isnan,
)


def is_contract(statement: syntax.Stmt, tree: syntax.Function) -> bool:
    """Whether a statement of a kernel's body is a contract: an assert before the first loop."""
    if not isinstance(statement, syntax.Assert):
        return False
    for other in tree.body:
        if other is statement:
            return True
        if isinstance(other, syntax.For | syntax.While):
            return False
    return False


def without_contracts(tree: syntax.Function) -> tuple[syntax.Stmt, ...]:
    """A kernel's body without its contracts."""
    return tuple(s for s in tree.body if not is_contract(s, tree))


class ContractRefused(Exception):
    """Something a contract cannot say."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__()
        self.diagnostic = diagnostic


def contracts_of(
    tree: syntax.Function, captured: Captured, signature: Signature
) -> tuple[tuple[Contract, ...], list[Diagnostic]]:
    """A kernel's contracts, and what is wrong with them."""
    contracts: list[Contract] = []
    diagnostics: list[Diagnostic] = []
    for statement in tree.body:
        if isinstance(statement, syntax.Assert) and is_contract(statement, tree):
            try:
                contracts.append(_contract(statement, captured, signature))
            except ContractRefused as refused:
                diagnostics.append(refused.diagnostic)
    return tuple(contracts), diagnostics


def _contract(statement: syntax.Assert, captured: Captured, signature: Signature) -> Contract:
    writer = _Writer(captured, signature)
    holds = Condition(writer.text(statement.test), captured, signature)
    names = tuple(dict.fromkeys(writer.mentioned))
    span = statement.span
    return Contract(statement.test.span.text, statement.message, span.source.filename, span.line, names, holds)


class _Writer:
    """Writes a contract's condition as Python text."""

    def __init__(self, captured: Captured, signature: Signature) -> None:
        self.captured = captured
        self.kinds = {spec.name: spec.kind for spec in signature.parameters}
        self.mentioned: list[str] = []

    def refuse(self, expression: syntax.Expr, what: str) -> Any:
        """Give up."""
        raise ContractRefused(
            Diagnostic(
                "L0408",
                f"a contract cannot speak of {what}",
                Label(expression.span, "in this contract"),
                fix="compare sizes, scalar parameters, compile-time values and constants",
            )
        )

    def text(self, expression: syntax.Expr) -> str:
        """The expression as Python text."""
        match expression:
            case syntax.Name():
                return self.name(expression)
            case syntax.Literal():
                return repr(expression.value)
            case syntax.Unary():
                return f"({expression.op} {self.text(expression.operand)})"
            case syntax.Binary():
                return f"({self.text(expression.left)} {expression.op} {self.text(expression.right)})"
            case syntax.Compare():
                ordered = any(op not in ("==", "!=", "is", "is not") for op in expression.ops)
                for part in (expression.first, *expression.rest):
                    if ordered and isinstance(part, syntax.Literal) and not isinstance(part.value, int | float):
                        return self.refuse(part, "the order of this")
                rest = " ".join(f"{op} {self.text(e)}" for op, e in zip(expression.ops, expression.rest, strict=True))
                return f"({self.text(expression.first)} {rest})"
            case syntax.BoolOp():
                return "(" + f" {expression.op} ".join(map(self.text, expression.values)) + ")"
            case syntax.Conditional():
                return f"({self.text(expression.then)} if {self.text(expression.test)} else {self.text(expression.orelse)})"
            case syntax.Tuple():
                return "(" + "".join(f"{self.text(item)}, " for item in expression.items) + ")"
            case syntax.Call():
                return self.call(expression)
            case syntax.Subscript():
                return self.subscript(expression)
            case syntax.Attribute():
                return self.attribute(expression)
            case _:
                return self.refuse(expression, "this")

    def name(self, expression: syntax.Name) -> str:
        kind = self.kinds.get(expression.id)
        if isinstance(kind, ArrayKind):
            return self.refuse(expression, f"the elements of `{expression.id}`: they are not known before the launch")
        if kind is not None and isinstance(kind, ScalarKind) is False and kind_text(kind).startswith("tuple"):
            return self.refuse(expression, f"the tuple `{expression.id}`")
        if kind is None and not self.captured.resolve(expression.id)[0]:
            return self.refuse(expression, f"`{expression.id}`, which is not a size, a parameter or a constant")
        value = self.captured.resolve(expression.id)[1] if kind is None else None
        if kind is None and not isinstance(value, int | float | str | np.number | np.bool_ | DimType | SizeExpression):
            return self.refuse(expression, f"`{expression.id}`, which is not a number or a string")
        self.mentioned.append(expression.id)
        return expression.id

    def call(self, expression: syntax.Call) -> str:
        target = self.resolve(expression.function)
        if expression.keywords or not any(target is known for known in _FUNCTIONS):
            return self.refuse(expression, "the result of this call")
        if target is builtins.len and len(expression.arguments) == 1:
            return self.size(expression.arguments[0], 0, expression)
        return f"{self.callee(expression.function)}({', '.join(map(self.text, expression.arguments))})"

    def callee(self, function: syntax.Expr) -> str:
        if isinstance(function, syntax.Attribute):
            return f"{self.callee(function.value)}.{function.name}"
        assert isinstance(function, syntax.Name)
        return function.id

    def resolve(self, function: syntax.Expr) -> Any:
        if isinstance(function, syntax.Attribute):
            return getattr(self.resolve(function.value), function.name, None)
        return self.captured.resolve(function.id)[1] if isinstance(function, syntax.Name) else None

    def subscript(self, expression: syntax.Subscript) -> str:
        inner = expression.value
        if isinstance(inner, syntax.Attribute) and inner.name == "shape" and len(expression.indices) == 1:
            index = expression.indices[0]
            if isinstance(index, syntax.Literal) and isinstance(index.value, int):
                return self.size(inner.value, index.value, expression)
        return self.refuse(expression, "elements: they are not known before the launch")

    def attribute(self, expression: syntax.Attribute) -> str:
        value = self.resolve(expression)
        if isinstance(value, int | float):
            return f"{self.callee(expression.value)}.{expression.name}"
        return self.refuse(expression, f"`.{expression.name}` of this")

    def size(self, array: syntax.Expr, dimension: int, expression: syntax.Expr) -> str:
        kind = self.kinds.get(array.id) if isinstance(array, syntax.Name) else None
        if not isinstance(kind, ArrayKind) or not 0 <= dimension < len(kind.sizes):
            return self.refuse(expression, "the size of something other than an array parameter")
        return f"({self.size_text(kind.sizes[dimension])})"

    def size_text(self, size: Any) -> str:
        """A size over underived names only."""
        if isinstance(size, DimType):
            if size.equals is not None:
                return f"({self.size_text(size.equals)})"
            self.mentioned.append(size_text(size))
            return size_text(size)
        if isinstance(size, SizeExpression):
            return f"({self.size_text(size.left)} {size.operator} {self.size_text(size.right)})"
        return str(size)
