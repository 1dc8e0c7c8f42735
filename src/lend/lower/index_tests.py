"""Tests of index arrays inside of loops, and of what these leave out -> LLVM.

Does: write `Within` and `WithinRest`.  Does not: decide where one stands (`plan/index_tests.py`, `plan/row_tests.py`).
Invariants: what it says holds of the very elements that are read there; these are compared as unsigned numbers: negative ones are
too large.
"""

from __future__ import annotations

from lend.ir.typed import Value, Within, WithinRest
from lend.language.types import ScalarType
from lend.lower.faults import LIKELY, Failure
from lend.lower.indexing import add
from lend.lower.memory import address
from lend.lower.values import ArrayValue
from lend.lower.writer import FunctionWriter

GOOD = 1
UNLIKELY = (1, LIKELY[0])


def write_within(writer: FunctionWriter, operation: Within) -> None:
    """Whether an element is an index, or two of them offsets; a fault if not."""
    builder, array = writer.builder, writer.array(operation.array)
    element = array.type.element
    assert isinstance(element, ScalarType)
    pointer = address(writer, array, [writer.scalar(operation.first)], ())
    suffix = writer.access(operation.array)
    limit = _limit(writer, operation.bound, element, operation.offsets)
    if operation.offsets:
        second = address(writer, array, [add(builder, writer.scalar(operation.first), "1")], ())
        low, high = (_load(writer, element, place, suffix) for place in (pointer, second))
        ordered, inside = builder.emit(f"icmp ule i64 {low}, {high}"), builder.emit(f"icmp ule i64 {high}, {limit}")
        holds = builder.emit(f"select i1 {ordered}, i1 {inside}, i1 false")
    else:
        holds = builder.emit(f"icmp ult i64 {_load(writer, element, pointer, suffix)}, {limit}")
    writer.bind(operation.result, writer.check(holds, operation.site, Failure))


def write_within_rest(writer: FunctionWriter, operation: WithinRest) -> None:
    """Whether the elements that no row has are indices, and the rows' ends offsets; a fault if not."""
    builder, array, offsets = writer.builder, writer.array(operation.array), writer.array(operation.offsets)
    element, whole = array.type.element, array.sizes[0]
    assert isinstance(element, ScalarType)
    first, last = _ends(writer, offsets, writer.access(operation.offsets), whole)
    ordered, inside = builder.emit(f"icmp ule i64 {first}, {last}"), builder.emit(f"icmp ule i64 {last}, {whole}")
    writer.check(builder.emit(f"and i1 {ordered}, {inside}"), operation.site, Failure)
    some = builder.emit(f"or i64 {first}, {builder.emit(f'sub i64 {whole}, {last}')}")
    look, after = builder.new_block("look"), builder.new_block("looked")
    builder.branch(builder.emit(f"icmp ne i64 {some}, 0"), look, after, UNLIKELY)
    builder.open(look)
    limit = _limit(writer, operation.bound, element, False)
    writer.check(builder.emit(f"icmp ugt i64 {limit}, 0"), operation.site, Failure)
    greatest = builder.emit(f"sub i64 {limit}, 1")
    behind = address(writer, array, [last], ())
    for pointer, count in ((array.pointer, first), (behind, builder.emit(f"sub i64 {whole}, {last}"))):
        test, on = builder.new_block("test"), builder.new_block("tested")
        builder.branch(builder.emit(f"icmp ne i64 {count}, 0"), test, on)
        builder.open(test)
        name = f"lend_indices_{element.bits}"
        builder.module.declare(name, f"declare i32 @{name}(ptr, i64, i64) nounwind")
        verdict = builder.emit(f"call i32 @{name}(ptr {pointer}, i64 {count}, i64 {greatest})")
        writer.check(builder.emit(f"icmp eq i32 {verdict}, {GOOD}"), operation.site, Failure)
        builder.jump(on)
        builder.open(on)
    builder.jump(after)
    builder.open(after)
    writer.bind(operation.result, "true")


def _ends(writer: FunctionWriter, offsets: ArrayValue, suffix: str, whole: str) -> tuple[str, str]:
    """The first and the last of some offsets; if there are none, the end of what they divide, twice."""
    builder, element, count = writer.builder, offsets.type.element, offsets.sizes[0]
    assert isinstance(element, ScalarType)
    read, after, before = builder.new_block("ends"), builder.new_block("after"), builder.block
    builder.branch(builder.emit(f"icmp ne i64 {count}, 0"), read, after, LIKELY)
    builder.open(read)
    places = (offsets.pointer, address(writer, offsets, [builder.emit(f"sub i64 {count}, 1")], ()))
    first, last = (_load(writer, element, place, suffix) for place in places)
    came = builder.block
    builder.jump(after)
    builder.open(after)
    phis = [builder.emit(f"phi i64 [ {whole}, %{before} ], [ {value}, %{came} ]") for value in (first, last)]
    return phis[0], phis[1]


def _load(writer: FunctionWriter, element: ScalarType, pointer: str, suffix: str) -> str:
    """An element, as a number without a sign."""
    value = writer.builder.emit(f"load i{element.bits}, ptr {pointer}, align {element.bytes}{suffix}")
    return value if element.bits == 64 else writer.builder.emit(f"zext i{element.bits} {value} to i64")


def _limit(writer: FunctionWriter, bound: Value | int, element: ScalarType, included: bool) -> str:
    """What elements must be less than, or at most if it is `included`; those of signed types with their highest bit are wrong."""
    most = element.maximum if included else element.maximum + 1
    if isinstance(bound, int):
        return str(max(min(bound, most), 0))
    size = writer.scalar(bound)
    if element.bits == 64:
        return size
    name = "llvm.umin.i64"
    writer.builder.module.declare(name, f"declare i64 @{name}(i64, i64)")
    return writer.builder.emit(f"call i64 @{name}(i64 {size}, i64 {most})")
