"""Scalar operations -> LLVM, with the tests that keep them defined.

Does: constants, operators, functions and casts; a failing division, shift or power is a fault and gives 0.
Does not: choose instructions (`arithmetic.py`).
"""

from __future__ import annotations

from lend.ir.typed import Binary, Cast, Constant, Math, Unary
from lend.language.types import I64, ScalarType
from lend.lower.arithmetic import register_type
from lend.lower.faults import Failure
from lend.lower.writer import FunctionWriter

GUARDED = ("floordiv", "mod", "shl", "shr", "pow")


def write_constant(writer: FunctionWriter, operation: Constant) -> None:
    """A literal."""
    writer.bind(operation.result, writer.scalars.constant(operation.result.scalar, operation.value))


def write_unary(writer: FunctionWriter, operation: Unary) -> None:
    """`operator operand`."""
    operand = operation.operand
    writer.bind(operation.result, writer.scalars.unary(operation.operator, operand.scalar, writer.scalar(operand)))


def write_binary(writer: FunctionWriter, operation: Binary) -> None:
    """`left operator right`, guarded where it has a site."""
    type = operation.left.scalar
    left, right = writer.scalar(operation.left), writer.scalar(operation.right)
    if operation.site is None or operation.operator not in GUARDED or not type.is_integer:
        result = writer.scalars.binary(operation.operator, type, left, right)
        if type.kind == "int" and type.bits == 64:
            writer.facts.result(operation.operator, result, left, right)
        if operation in writer.gathers:
            result = writer.scalars.apart(type, result)
        writer.bind(operation.result, result)
        return
    name, divisor = register_type(type), right
    compare, safe = ("ne", "1") if operation.operator in ("floordiv", "mod") else ("sge", "0")
    ok = writer.builder.emit(f"icmp {compare} {name} {right}, 0")
    minded = writer.check(ok, operation.site, lambda: Failure(index=index_word(writer, type, right)))
    if minded != "true":
        right = writer.builder.emit(f"select i1 {minded}, {name} {right}, {name} {safe}")
    result = writer.scalars.binary(operation.operator, type, left, right)
    if operation.operator == "mod" and type.kind == "int" and type.bits == 64:
        writer.facts.remainder(result, divisor, right)
    if minded != "true":
        result = writer.builder.emit(f"select i1 {minded}, {name} {result}, {name} 0")
    writer.bind(operation.result, result)


def write_math(writer: FunctionWriter, operation: Math) -> None:
    """A mathematical function."""
    types = [argument.scalar for argument in operation.arguments]
    arguments = [writer.scalar(argument) for argument in operation.arguments]
    writer.bind(operation.result, writer.scalars.math(operation.function, types, arguments, operation.result.scalar))


def write_cast(writer: FunctionWriter, operation: Cast) -> None:
    """A conversion."""
    source, target = operation.operand.scalar, operation.result.scalar
    operand = writer.scalar(operation.operand)
    alike = source.is_integer and target.is_integer and source.bits == target.bits
    writer.bind(operation.result, operand if alike else writer.scalars.cast(source, target, operand))


def index_word(writer: FunctionWriter, type: ScalarType, operand: str) -> str:
    """A scalar as a word of the fault record."""
    if type.is_integer and type.bits == 64:
        return operand
    return writer.scalars.cast(type, I64, operand)
