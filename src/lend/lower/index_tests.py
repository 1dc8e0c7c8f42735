"""Tests of index arrays inside of loops -> LLVM.

Does: write `Within`.  Does not: decide where one stands (`plan/index_tests.py`).
Invariants: what it says holds of the very elements that are read there; these are compared as unsigned numbers: negative ones are
too large.
"""

from __future__ import annotations

from lend.ir.typed import Value, Within
from lend.language.types import ScalarType
from lend.lower.faults import Failure
from lend.lower.memory import address
from lend.lower.writer import FunctionWriter


def write_within(writer: FunctionWriter, operation: Within) -> None:
    """Whether some elements are indices; a fault if not."""
    builder, array = writer.builder, writer.array(operation.array)
    element = array.type.element
    assert isinstance(element, ScalarType)
    pointer = address(writer, array, [writer.scalar(operation.first)], ())
    bits, suffix = element.bits, writer.access(operation.array)
    if operation.count == 1:
        greatest = builder.emit(f"load i{bits}, ptr {pointer}, align {element.bytes}{suffix}")
    else:
        vector, name = f"<{operation.count} x i{bits}>", f"llvm.vector.reduce.umax.v{operation.count}i{bits}"
        builder.module.declare(name, f"declare i{bits} @{name}({vector})")
        loaded = builder.emit(f"load {vector}, ptr {pointer}, align {element.bytes}{suffix}")
        greatest = builder.emit(f"call i{bits} @{name}({vector} {loaded})")
    wide = greatest if bits == 64 else builder.emit(f"zext i{bits} {greatest} to i64")
    holds = builder.emit(f"icmp ult i64 {wide}, {_limit(writer, operation.bound, element)}")
    writer.bind(operation.result, writer.check(holds, operation.site, Failure))


def _limit(writer: FunctionWriter, bound: Value | int, element: ScalarType) -> str:
    """What elements must be less than; those of signed types with their highest bit are negative."""
    if isinstance(bound, int):
        return str(max(min(bound, element.maximum + 1), 0))
    size = writer.scalar(bound)
    if element.bits == 64:
        return size
    name = "llvm.umin.i64"
    writer.builder.module.declare(name, f"declare i64 @{name}(i64, i64)")
    return writer.builder.emit(f"call i64 @{name}(i64 {size}, i64 {element.maximum + 1})")
