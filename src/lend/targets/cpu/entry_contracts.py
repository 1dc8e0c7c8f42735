"""Entry points: contracts in machine code.

Does: compute a contract over sizes, scalars, compile-time values and captured constants, exactly as Python would, or not at
all.
Does not: report a contract that is false: the next entry, in the end Python, finds that out again and words it.
Invariants: every intermediate integer is an i64, or the guard gives up; `and` and `or` compute both sides, which can only
give up more often; floats are compared, never computed with.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Literal, NamedTuple

from lend.frontend.capture import Captured
from lend.ir import syntax
from lend.language import intrinsics
from lend.language.dims import DimType, Size, SizeExpression, size_text
from lend.language.signature import ArrayKind, ParameterKind
from lend.language.types import I64, U64, ScalarType
from lend.lower.scalar_types import float_text
from lend.targets.cpu.entry_arguments import NotNative, size_value
from lend.targets.cpu.entry_builder import EntryBuilder

_INTEGER = {"==": "eq", "!=": "ne", "<": "slt", "<=": "sle", ">": "sgt", ">=": "sge"}
_FLOAT = {"==": "oeq", "!=": "une", "<": "olt", "<=": "ole", ">": "ogt", ">=": "oge"}
_EXACT = {"+": "sadd", "-": "ssub", "*": "smul"}
_EXACT_IN_DOUBLE = 1 << 53


class Operand(NamedTuple):
    """A value: an i64, a double, an i1 that is Python's bool, or the i1 truth of a value that is not known itself."""

    kind: Literal["int", "float", "bool", "truth"]
    text: str


class ContractWriter:
    """Writes the contracts of one kernel. `watched` collects captured values that must be what they were."""

    def __init__(
        self, b: EntryBuilder, captured: Captured, kinds: Mapping[str, ParameterKind], sizes: dict[DimType, str]
    ) -> None:
        self._b = b
        self._captured = captured
        self._kinds = kinds
        self._sizes = sizes
        self._values: dict[str, Operand] = {}
        self.watched: list[tuple[Any, str]] = []

    def know_scalar(self, name: str, type: ScalarType, text: str) -> None:
        """A scalar parameter. Raises NotNative if a contract cannot speak of it here."""
        b = self._b
        match type.kind:
            case "bool":
                self._values[name] = Operand("bool", text)
            case "float":
                wide = text if type.bits == 64 else b.emit(f"fpext float {text} to double")
                self._values[name] = Operand("float", wide)
            case "complex":
                return
            case _:
                if type is U64:
                    b.require(b.emit(f"icmp sge i64 {text}, 0"))
                elif type.bits < 64:
                    text = b.emit(f"{'sext' if type.kind == 'int' else 'zext'} i{type.bits} {text} to i64")
                self._values[name] = Operand("int", text)

    def know_constant(self, name: str, value: Any) -> None:
        """A compile-time value."""
        operand = _constant(value)
        if operand is not None:
            self._values[name] = operand

    def know_size(self, size: DimType) -> None:
        """A size by its name, unless a parameter has that name."""
        self._values.setdefault(size_text(size), Operand("int", size_value(self._b, size, self._sizes)))

    def guard(self, test: syntax.Expr) -> None:
        """Go on only if the contract holds."""
        self._b.require(self._truth(self._operand(test)))

    # ------------------------------------------------------------------------------------------- expressions

    def _operand(self, expression: syntax.Expr) -> Operand:
        match expression:
            case syntax.Literal():
                return _known(_constant(expression.value))
            case syntax.Name():
                return self._values.get(expression.id) or self._captured_value(expression)
            case syntax.Attribute():
                return self._captured_value(expression)
            case syntax.Unary():
                return self._unary(expression)
            case syntax.Binary():
                return self._binary(expression.op, self._operand(expression.left), self._operand(expression.right))
            case syntax.Compare():
                return self._chain(expression)
            case syntax.BoolOp():
                return self._combine(expression)
            case syntax.Call():
                return self._call(expression)
            case syntax.Subscript():
                return self._shape(expression)
            case _:
                raise NotNative

    def _unary(self, expression: syntax.Unary) -> Operand:
        operand = self._operand(expression.operand)
        if expression.op == "not":
            return Operand("bool", self._b.emit(f"xor i1 {self._truth(operand)}, true"))
        if expression.op == "-" and operand.kind == "float":
            return Operand("float", self._b.emit(f"fneg double {operand.text}"))
        if expression.op == "-":
            return Operand("int", self._b.exact("ssub", "0", self._integer(operand)))
        raise NotNative

    def _binary(self, op: str, left: Operand, right: Operand) -> Operand:
        b, first, second = self._b, self._integer(left), self._integer(right)
        if op in _EXACT:
            return Operand("int", b.exact(_EXACT[op], first, second))
        if op in ("//", "%"):
            return Operand("int", b.floor_division(first, second)[0 if op == "//" else 1])
        raise NotNative

    def _chain(self, expression: syntax.Compare) -> Operand:
        left, results = self._operand(expression.first), list[str]()
        for op, item in zip(expression.ops, expression.rest, strict=True):
            right = self._operand(item)
            results.append(self._compare(op, left, right))
            left = right
        return Operand("bool", self._b.all_of(results))

    def _compare(self, op: str, left: Operand, right: Operand) -> str:
        if op not in _INTEGER:
            raise NotNative
        if "float" in (left.kind, right.kind):
            return self._b.emit(f"fcmp {_FLOAT[op]} double {self._double(left)}, {self._double(right)}")
        return self._b.emit(f"icmp {_INTEGER[op]} i64 {self._integer(left)}, {self._integer(right)}")

    def _combine(self, expression: syntax.BoolOp) -> Operand:
        operands = [self._operand(value) for value in expression.values]
        truths = [self._truth(operand) for operand in operands]
        text = self._b.all_of(truths) if expression.op == "and" else self._b.either(truths)
        return Operand("bool" if all(operand.kind == "bool" for operand in operands) else "truth", text)

    def _call(self, expression: syntax.Call) -> Operand:
        function, arguments = self._target(expression.function), expression.arguments
        if expression.keywords:
            raise NotNative
        if function is builtins.len and len(arguments) == 1:
            return self._size(arguments[0], 0)
        operands = [self._operand(argument) for argument in arguments]
        if any(operand.kind != "int" for operand in operands):
            raise NotNative
        b = self._b
        if function in (builtins.min, builtins.max) and len(operands) > 1:
            name = f"llvm.s{'min' if function is builtins.min else 'max'}.i64"
            b.module.declare(name, f"declare i64 @{name}(i64, i64)")
            text = operands[0].text
            for operand in operands[1:]:
                text = b.emit(f"call i64 @{name}(i64 {text}, i64 {operand.text})")
            return Operand("int", text)
        if function is intrinsics.cdiv and len(operands) == 2:
            quotient = b.floor_division(b.exact("ssub", "0", operands[0].text), operands[1].text)[0]
            return Operand("int", b.exact("ssub", "0", quotient))
        raise NotNative

    def _shape(self, expression: syntax.Subscript) -> Operand:
        """`x.shape[1]`."""
        inner = expression.value
        if isinstance(inner, syntax.Attribute) and inner.name == "shape" and len(expression.indices) == 1:
            index = expression.indices[0]
            if isinstance(index, syntax.Literal) and type(index.value) is int:
                return self._size(inner.value, index.value)
        raise NotNative

    def _size(self, array: syntax.Expr, dimension: int) -> Operand:
        kind = self._kinds.get(array.id) if isinstance(array, syntax.Name) else None
        if not isinstance(kind, ArrayKind) or not 0 <= dimension < len(kind.sizes):
            raise NotNative
        return self._of_size(kind.sizes[dimension])

    def _of_size(self, size: Size) -> Operand:
        return Operand("int", size_value(self._b, size, self._sizes))

    # ------------------------------------------------------------------------------------------- captured values

    def _captured_value(self, expression: syntax.Expr) -> Operand:
        if isinstance(expression, syntax.Name) and expression.id in self._kinds:
            raise NotNative
        value = self._target(expression)
        if isinstance(value, (DimType, SizeExpression)):
            return self._of_size(value)
        return _known(_constant(value))

    def _target(self, expression: syntax.Expr) -> Any:
        """A captured value, which is watched from now on."""
        if isinstance(expression, syntax.Name):
            found, value = self._captured.resolve(expression.id)
            if not found:
                raise NotNative
            if not isinstance(value, ModuleType) and getattr(builtins, expression.id, self) is not value:
                self.watched.append((self._captured, expression.id))
            return value
        if isinstance(expression, syntax.Attribute):
            owner = self._target(expression.value)
            value = getattr(owner, expression.name, self)
            if value is self:
                raise NotNative
            self.watched.append((owner, expression.name))
            return value
        raise NotNative

    # ------------------------------------------------------------------------------------------- conversions

    def _integer(self, operand: Operand) -> str:
        if operand.kind == "int":
            return operand.text
        if operand.kind == "bool":
            return self._b.emit(f"zext i1 {operand.text} to i64")
        raise NotNative

    def _double(self, operand: Operand) -> str:
        if operand.kind == "float":
            return operand.text
        whole, b = self._integer(operand), self._b
        shifted = b.emit(f"add i64 {whole}, {_EXACT_IN_DOUBLE}")
        b.require(b.emit(f"icmp ule i64 {shifted}, {2 * _EXACT_IN_DOUBLE}"))
        return b.emit(f"sitofp i64 {whole} to double")

    def _truth(self, operand: Operand) -> str:
        if operand.kind == "int":
            return self._b.emit(f"icmp ne i64 {operand.text}, 0")
        if operand.kind == "float":
            return self._b.emit(f"fcmp une double {operand.text}, 0.0")
        return operand.text


def _constant(value: Any) -> Operand | None:
    """A Python constant; None if contracts are not compiled over its kind."""
    if type(value) is bool:
        return Operand("bool", "true" if value else "false")
    if type(value) is int and I64.minimum <= value <= I64.maximum:
        return Operand("int", str(value))
    return Operand("float", float_text(value)) if type(value) is float else None


def _known(operand: Operand | None) -> Operand:
    if operand is None:
        raise NotNative
    return operand
