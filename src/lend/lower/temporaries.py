"""Temporaries of the host level: allocation, the table of live ones, reshaped views.

Does: allocate memory, zeroed where that is asked for; keep every live allocation in a table, so that each is freed when the
region it was made in ends unless an array that leaves the region lies in it; check and compute reshapes.
Does not: run at grid level.
Invariants: the table's size is known when compiling: a loop keeps no more allocations from one iteration to the next than it
carries arrays. What is returned is taken out of the table, everything else in it is freed on every way out.
"""

from __future__ import annotations

from lend.ir.typed import Allocate, Call, For, If, Local, Operation, Parallel, Region, Reshape, Value, While
from lend.language.abi import MAX_SIZE, NO_SITE
from lend.language.types import ArrayType, Layout, size_of
from lend.lower.builder import FunctionBuilder, ModuleBuilder
from lend.lower.faults import Failure
from lend.lower.indexing import LARGEST, literal, multiply, offset, saturating_product
from lend.lower.memory import local_bytes
from lend.lower.values import ArrayValue, Lowered, dense_strides, describe
from lend.lower.writer import FunctionWriter


class Table:
    """The live allocations of one call of a host function."""

    def __init__(self, builder: FunctionBuilder, capacity: int) -> None:
        self._builder = builder
        self._live: str | None = None
        if capacity:
            self._entries = builder.alloca(f"[{capacity} x ptr]", "allocations", 16)
            self._live = builder.alloca("i64", "live")
            builder.append(f"store i64 0, ptr {self._live}")

    def mark(self) -> str | None:
        """The number of live allocations now."""
        return None if self._live is None else self._builder.emit(f"load i64, ptr {self._live}", "mark")

    def push(self, allocation: str) -> None:
        """Add an allocation."""
        count = self._builder.emit(f"load i64, ptr {self._live}")
        entry = offset(self._builder, self._entries, multiply(self._builder, count, "8"))
        self._builder.append(f"store ptr {allocation}, ptr {entry}, align 8")
        more = self._builder.emit(f"add i64 {count}, 1")
        self._builder.append(f"store i64 {more}, ptr {self._live}")

    def sweep(self, mark: str, keep: list[Lowered]) -> None:
        """Free what was allocated since `mark`, except where arrays of `keep` lie."""
        if self._live is None:
            return
        builder = self._builder
        declare_memory(builder.module)
        builder.module.declare("lend_sweep", _SWEEP)
        owners = list(dict.fromkeys(value.owner for value in keep if isinstance(value, ArrayValue) and value.owner != "null"))
        kept = builder.alloca(f"[{len(owners)} x ptr]", "kept", 16) if owners else "null"
        for number, owner in enumerate(owners):
            builder.append(f"store ptr {owner}, ptr {offset(builder, kept, str(8 * number))}, align 8")
        arguments = f"ptr {self._entries}, ptr {self._live}, i64 {mark}, ptr {kept}, i64 {len(owners)}"
        builder.append(f"call void @lend_sweep({arguments})")


def capacity(region: Region) -> int:
    """The most allocations that can be live while `region` runs, from its own operations."""
    return sum(_capacity(operation) for operation in region.operations)


def _capacity(operation: Operation) -> int:
    match operation:
        case Allocate() | Local():
            return 1
        case If(then=then, orelse=orelse):
            return max(capacity(then), capacity(orelse))
        case Call(body=body):
            return capacity(body)
        case For(body=body, results=results):
            inner = capacity(body)
            return inner + _arrays(results) if inner else 0
        case While(condition=condition, body=body, results=results):
            inner = capacity(condition) + capacity(body)
            return inner + _arrays(results) if inner else 0
        case Parallel():
            return 0
        case _:
            return 0


def _arrays(values: tuple[Value, ...]) -> int:
    return sum(isinstance(value.type, ArrayType) for value in values)


def write_allocate(writer: FunctionWriter, operation: Allocate, table: Table) -> None:
    """Memory of layout C; faults for a negative size and where there is none."""
    builder, type = writer.builder, operation.result.array
    sizes = tuple(writer.scalar(size) for size in operation.sizes)
    for dimension, size in enumerate(sizes):
        number = literal(size)
        if number is None or number < 0:
            ok = builder.emit(f"icmp sge i64 {size}, 0")
            writer.check(ok, operation.extent_site, lambda k=dimension, n=size: Failure(str(k), n, "0"))
    bytes = saturating_product(builder, [*sizes, str(size_of(type.element))])
    possible = builder.emit(f"icmp ne i64 {bytes}, {LARGEST}")
    for size in sizes:
        if literal(size) is None:  # proofs rely on it, and memory ends before
            moderate = builder.emit(f"icmp ule i64 {size}, {MAX_SIZE}")
            possible = builder.emit(f"and i1 {possible}, {moderate}")
    writer.check(possible, operation.memory_site, lambda: Failure(size=bytes))
    pointer = _allocate(writer, bytes, operation.memory_site, table, operation.zeroed)
    writer.bind(operation.result, describe(builder, type, pointer, sizes, (), pointer))


def write_host_local(writer: FunctionWriter, operation: Local, table: Table) -> None:
    """A local array of the host level is a temporary: it may be returned, and a loop may carry it."""
    sizes = tuple(str(size) for size in operation.sizes)
    pointer = _allocate(writer, str(local_bytes(operation)), NO_SITE, table, zeroed=True)
    writer.bind(operation.result, describe(writer.builder, operation.result.array, pointer, sizes, (), pointer))


def _allocate(writer: FunctionWriter, bytes: str, site: int, table: Table, zeroed: bool) -> str:
    """Memory, in the table; an empty array has an address too."""
    pointer = allocate(writer, bytes, site, zeroed)
    table.push(pointer)
    return pointer


def allocate(writer: FunctionWriter, bytes: str, site: int, zeroed: bool = False) -> str:
    """Memory that the caller sees freed by `release`; a fault at `site` where there is none."""
    declare_memory(writer.builder.module)
    pointer = writer.builder.emit(f"call ptr @lend_allocate(i64 {bytes}, i32 {int(zeroed)})", "temporary")
    there = writer.builder.emit(f"icmp ne ptr {pointer}, null")
    writer.check(there, site, lambda: Failure(size=bytes))
    return pointer


def release(writer: FunctionWriter, pointer: str) -> None:
    """Free what `allocate` gave."""
    writer.builder.append(f"call void @lend_free(ptr {pointer})")


def write_reshape(writer: FunctionWriter, operation: Reshape) -> None:
    """The same memory in other sizes; faults if the numbers of elements differ or the elements do not lie in row-major order."""
    builder, array, type = writer.builder, writer.array(operation.array), operation.result.array
    sizes = tuple(writer.scalar(size) for size in operation.sizes)
    have, asked = saturating_product(builder, list(array.sizes)), saturating_product(builder, list(sizes))
    ok = builder.emit(f"icmp eq i64 {have}, {asked}")
    for size in sizes:  # a negative size saturates the product, except beside a zero
        ok = builder.emit(f"and i1 {ok}, {builder.emit(f'icmp sge i64 {size}, 0')}")
    writer.check(ok, operation.shape_site, lambda: Failure("0", asked, have))
    if array.type.layout is not Layout.C and array.type.dimensions > 0:
        writer.check(_dense(writer, array, have), operation.view_site, Failure)
    strides = dense_strides(builder, type, sizes) if type.layout is not Layout.F else array.strides
    writer.bind(operation.result, ArrayValue(type, array.pointer, sizes, strides, array.owner))


def _dense(writer: FunctionWriter, array: ArrayValue, elements: str) -> str:
    """Whether the elements lie in row-major order without gaps; dimensions of size 1 have no say, nor have empty arrays."""
    emit = writer.builder.emit
    expected, ok = str(size_of(array.type.element)), emit(f"icmp eq i64 {elements}, 0")
    dense = "true"
    for size, stride in reversed(list(zip(array.sizes, array.strides, strict=True))):
        fits = emit(f"icmp eq i64 {stride}, {expected}")
        single = emit(f"icmp eq i64 {size}, 1")
        either = emit(f"or i1 {fits}, {single}")
        dense = emit(f"and i1 {dense}, {either}")
        expected = multiply(writer.builder, expected, size)
    return emit(f"or i1 {ok}, {dense}")


def declare_memory(module: ModuleBuilder) -> None:
    """The target's allocator."""
    module.declare("lend_allocate", "declare noalias ptr @lend_allocate(i64, i32) nounwind")
    module.declare("lend_free", "declare void @lend_free(ptr) nounwind")


_SWEEP = """define internal void @lend_sweep(ptr %entries, ptr %live, i64 %mark, ptr %kept, i64 %keeps) noinline nounwind {
entry:
  %count = load i64, ptr %live, align 8
  br label %head
head:
  %k = phi i64 [ %mark, %entry ], [ %k.next, %next ]
  %top = phi i64 [ %mark, %entry ], [ %top.next, %next ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %look, label %done
look:
  %entry.offset = shl i64 %k, 3
  %entry.at = getelementptr i8, ptr %entries, i64 %entry.offset
  %allocation = load ptr, ptr %entry.at, align 8
  br label %search
search:
  %j = phi i64 [ 0, %look ], [ %j.next, %compare ]
  %unseen = icmp ult i64 %j, %keeps
  br i1 %unseen, label %compare, label %drop
compare:
  %kept.offset = shl i64 %j, 3
  %kept.at = getelementptr i8, ptr %kept, i64 %kept.offset
  %owner = load ptr, ptr %kept.at, align 8
  %j.next = add i64 %j, 1
  %same = icmp eq ptr %owner, %allocation
  br i1 %same, label %keep, label %search
keep:
  %top.offset = shl i64 %top, 3
  %top.at = getelementptr i8, ptr %entries, i64 %top.offset
  store ptr %allocation, ptr %top.at, align 8
  %top.more = add i64 %top, 1
  br label %next
drop:
  call void @lend_free(ptr %allocation)
  br label %next
next:
  %top.next = phi i64 [ %top.more, %keep ], [ %top, %drop ]
  %k.next = add i64 %k, 1
  br label %head
done:
  store i64 %top, ptr %live, align 8
  ret void
}"""
