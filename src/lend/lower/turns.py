"""Copies of arrays with another dimension last, made for one launch -> LLVM.

Does: allocate and fill them before the launch, on the pool's threads, describe them to the region, free them after it.
Does not: choose them (`plan/tiling.py`).
Invariants: the copy holds the bytes of the array as they are when the launch begins; the loop does not write the array.

Example: of `b[j, k]`, with j moved last, element (j, k) of the copy stands at `k * J + j`.
"""

from __future__ import annotations

from lend.diagnostics.records import dataclass
from lend.language.abi import NO_SITE
from lend.language.types import size_of
from lend.lower import temporaries
from lend.lower.environment import Environment
from lend.lower.faults import Failure
from lend.lower.indexing import multiply, saturating_product
from lend.lower.values import ArrayValue
from lend.lower.writer import FunctionWriter

PIECE = 16384
"""Elements that a chunk copies, at least."""

_PART = """define internal void @lend.turn.WIDTH(ptr %env, i64 %begin, i64 %end) noinline nounwind {
entry:
  %to = load ptr, ptr %env
  %from.at = getelementptr i8, ptr %env, i64 8
  %from = load ptr, ptr %from.at
  %count.at = getelementptr i8, ptr %env, i64 16
  %count = load i64, ptr %count.at
  %inner.at = getelementptr i8, ptr %env, i64 24
  %inner = load i64, ptr %inner.at
  %less = sub i64 %count, 1
  %jump = mul i64 %less, %inner
  br label %place
place:
  %p = phi i64 [ %begin, %entry ], [ %p.next, %done ]
  %outer = udiv i64 %p, %inner
  %skipped = mul i64 %outer, %jump
  %base = add i64 %p, %skipped
  %row = mul i64 %p, %count
  br label %copy
copy:
  %q = phi i64 [ 0, %place ], [ %q.next, %copy ]
  %apart = mul i64 %q, %inner
  %source = add i64 %base, %apart
  %source.at = getelementptr iWIDTH, ptr %from, i64 %source
  %value = load iWIDTH, ptr %source.at, align BYTES
  %target = add i64 %row, %q
  %target.at = getelementptr iWIDTH, ptr %to, i64 %target
  store iWIDTH %value, ptr %target.at, align BYTES
  %q.next = add nuw i64 %q, 1
  %all = icmp eq i64 %q.next, %count
  br i1 %all, label %done, label %copy
done:
  %p.next = add nuw i64 %p, 1
  %last = icmp eq i64 %p.next, %end
  br i1 %last, label %leave, label %place
leave:
  ret void
}"""
"""Positions begin..end-1 of all dimensions but the moved one. env: the copy, the array, the moved dimension's size, and how many
elements lie between its neighbours."""


@dataclass(frozen=True)
class Turn:
    """A copy, in the host function: of `array`, whose dimension `last` comes last in it."""

    array: ArrayValue
    last: int
    pointer: str


def write_turn(host: FunctionWriter, array: ArrayValue, last: int) -> Turn:
    """Make the copy. An array without elements is not copied."""
    builder = host.builder
    bytes = size_of(array.type.element)
    total = saturating_product(builder, [*array.sizes, str(bytes)])
    temporaries.declare_memory(builder.module)
    pointer = builder.emit(f"call ptr @lend_allocate(i64 {total}, i32 0)", "turned")
    there = builder.emit(f"icmp ne ptr {pointer}, null")
    host.check(there, NO_SITE, lambda: Failure(size=total))
    inner = saturating_product(builder, list(array.sizes[last + 1 :]) or ["1"])
    others = saturating_product(builder, [size for d, size in enumerate(array.sizes) if d != last])
    count = array.sizes[last]
    env = builder.alloca("[4 x i64]", "turn", 16)
    for word, (type, operand) in enumerate((("ptr", pointer), ("ptr", array.pointer), ("i64", count), ("i64", inner))):
        at = builder.emit(f"getelementptr i8, ptr {env}, i64 {8 * word}")
        builder.append(f"store {type} {operand}, ptr {at}, align 8")
    part = f"lend.turn.{8 * bytes}"
    builder.module.declare(part, _PART.replace("WIDTH", str(8 * bytes)).replace("BYTES", str(bytes)))
    builder.module.declare("lend_parallel_for", "declare void @lend_parallel_for(ptr, ptr, i64, i64)")
    some = builder.emit(f"icmp ne i64 {total}, 0")
    copy, after = builder.new_block("turn"), builder.new_block("turned")
    builder.branch(some, copy, after)
    builder.open(copy)
    pieces = builder.emit(f"udiv i64 {PIECE}, {count}")
    chunk = builder.emit(f"add i64 {pieces}, 1")
    builder.append(f"call void @lend_parallel_for(ptr @{part}, ptr {env}, i64 {others}, i64 {chunk})")
    builder.jump(after)
    builder.open(after)
    return Turn(array, last, pointer)


def release_turn(host: FunctionWriter, turn: Turn) -> None:
    """Free the copy."""
    host.builder.append(f"call void @lend_free(ptr {turn.pointer})")


def turned_in_region(region: FunctionWriter, environment: Environment, array: ArrayValue, turn: Turn) -> ArrayValue:
    """The copy as the region's own descriptor; `array` is what the region has of the array."""
    builder = region.builder
    strides = [""] * len(array.sizes)
    strides[turn.last] = stride = str(size_of(array.type.element))
    for d in (turn.last, *(d for d in reversed(range(len(array.sizes))) if d != turn.last)):
        strides[d] = stride
        stride = multiply(builder, stride, array.sizes[d])
    return ArrayValue(array.type, environment.pointer(turn.pointer), array.sizes, tuple(strides))
