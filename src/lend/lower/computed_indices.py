"""The test of computed indices -> LLVM: a call of the target's own.

Does: `Distinct`.  Does not: test anything itself.
"""

from __future__ import annotations

from lend.ir.typed import Distinct
from lend.language.types import ScalarType
from lend.lower.writer import FunctionWriter

GOOD = 1


def write_distinct(writer: FunctionWriter, operation: Distinct) -> None:
    """Whether elements differ and lie below a bound: as unsigned numbers negative ones are large."""
    builder, array = writer.builder, writer.array(operation.array)
    count, bound = array.sizes[0], writer.scalar(operation.bound)
    element = array.type.element
    assert isinstance(element, ScalarType)
    look, call, after = (builder.new_block(hint) for hint in ("look", "test", "tested"))
    some, before = builder.emit(f"icmp ne i64 {count}, 0"), builder.block
    builder.branch(some, look, after)
    builder.open(look)
    possible = builder.emit(f"icmp sgt i64 {bound}, 0")
    builder.branch(possible, call, after)
    builder.open(call)
    last = builder.emit(f"sub i64 {bound}, 1")
    builder.module.declare("llvm.umin.i64", "declare i64 @llvm.umin.i64(i64, i64)")
    limit = builder.emit(f"call i64 @llvm.umin.i64(i64 {last}, i64 {min(element.maximum, (1 << 63) - 1)})")
    name = f"lend_distinct_{element.bits}"
    builder.module.declare(name, f"declare i32 @{name}(ptr, i64, i64) nounwind")
    verdict = builder.emit(f"call i32 @{name}(ptr {array.pointer}, i64 {count}, i64 {limit})")
    good = builder.emit(f"icmp eq i32 {verdict}, {GOOD}")
    builder.jump(after)
    builder.open(after)
    found = builder.emit(f"phi i1 [ true, %{before} ], [ false, %{look} ], [ {good}, %{call} ]")
    writer.bind(operation.result, found)
