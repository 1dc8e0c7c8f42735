"""Array operations -> LLVM: element access, sizes, views, local arrays.

Does: compute addresses, test subscripts, read and write elements.  Does not: allocate temporaries or reshape (`temporaries.py`).
Invariants: an access with a site is reached only when every subscript is inside its dimension; address arithmetic wraps and is
never `inbounds`; the stride of the last dimension of layout C is a literal.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from lend.ir.typed import Atomic, Load, Local, Size, Store, Value, View
from lend.language.types import ElementType, ScalarType, StructType, size_of
from lend.lower.faults import Failure, Subscripts
from lend.lower.indexing import add, literal, multiply, offset, range_count
from lend.lower.values import ArrayValue, describe
from lend.lower.writer import FunctionWriter

Test = tuple[str, Failure]
"""An i1 that must hold, and what to report if it does not."""


def write_load(writer: FunctionWriter, operation: Load) -> None:
    """`array[indices].path`; 0 where the test fails."""
    array, type = writer.array(operation.array), operation.result.scalar
    indices = [writer.scalar(index) for index in operation.indices]

    def access() -> str:
        pointer = address(writer, array, indices, operation.path)
        value = writer.read(type, pointer, array.alignment(type), writer.access(operation.array))
        return writer.scalars.apart(type, value) if operation in writer.gathers else value

    writer.bind(operation.result, tested_access(writer, operation, indices, access, type))


def write_store(writer: FunctionWriter, operation: Store) -> None:
    """`array[indices].path = value`; nothing where the test fails."""
    array, type = writer.array(operation.array), operation.value.scalar
    indices = [writer.scalar(index) for index in operation.indices]
    value = writer.scalar(operation.value)

    def access() -> str:
        pointer = address(writer, array, indices, operation.path)
        writer.write_element(type, value, pointer, array.alignment(type), writer.access(operation.array))
        return ""

    tested_access(writer, operation, indices, access, type)


def write_size(writer: FunctionWriter, operation: Size) -> None:
    """The size of a dimension."""
    writer.bind(operation.result, writer.array(operation.array).sizes[operation.dimension])


def write_view(writer: FunctionWriter, operation: View) -> None:
    """A sub-view; where a test fails in a device region it is empty."""
    array, builder = writer.array(operation.array), writer.builder
    tests: list[Test] = []
    start, sizes, strides = "0", list[str](), list[str]()
    for dimension, (part, size, stride) in enumerate(zip(operation.parts, array.sizes, array.strides, strict=True)):
        if isinstance(part, Value):
            first = writer.scalar(part)
            tests.append((builder.emit(f"icmp ult i64 {first}, {size}"), Failure(str(dimension), first, size)))
        else:
            first, upper, step = (writer.scalar(value) for value in (part.lower, part.upper, part.step))
            tests.append(_slice_test(writer, first, upper, size, dimension))
            sizes.append(_kept(writer, first, upper, step))
            strides.append(multiply(builder, stride, step))
        start = add(builder, start, multiply(builder, first, stride))
    if operation.site is not None:
        ok, report = _all(writer, tests)
        minded = writer.check(ok, operation.site, report)
        if minded != "true":
            sizes = [builder.emit(f"select i1 {minded}, i64 {size}, i64 0") for size in sizes]
    pointer = offset(builder, array.pointer, start)
    type = operation.result.array
    writer.bind(operation.result, ArrayValue(type, pointer, tuple(sizes), tuple(strides), array.owner))


def write_local(writer: FunctionWriter, operation: Local) -> None:
    """A private array on the stack, zeroed each time it is reached.

    Where a loop around it can still hold the array of an earlier iteration, there is room for one more than it can hold.
    """
    builder, type = writer.builder, operation.result.array
    sizes = tuple(str(size) for size in operation.sizes)
    bytes = max(local_bytes(operation), 1)
    hint, align = operation.result.name or "local", 64 if bytes >= 64 else 16
    held = [value for carried in writer.carried for value in carried if writer.aliases.meet(operation.result, value)]
    rooms = [builder.alloca(f"[{bytes} x i8]", hint, align) for _ in range(len(held) + 1)]
    pointer = rooms.pop()
    for room in rooms:
        free = "true"
        for value in held:
            other = builder.emit(f"icmp ne ptr {writer.array(value).owner}, {room}")
            free = builder.emit(f"and i1 {free}, {other}")
        pointer = builder.emit(f"select i1 {free}, ptr {room}, ptr {pointer}", hint)
    memset = "llvm.memset.p0.i64"
    builder.module.declare(memset, f"declare void @{memset}(ptr, i8, i64, i1 immarg)")
    builder.append(f"call void @{memset}(ptr align {align} {pointer}, i8 0, i64 {bytes}, i1 false)")
    writer.bind(operation.result, describe(builder, type, pointer, sizes, (), pointer))


def local_bytes(operation: Local) -> int:
    """The size of a local array in memory."""
    return size_of(operation.result.array.element) * prod(operation.sizes)


def address(writer: FunctionWriter, array: ArrayValue, indices: list[str], path: tuple[int, ...]) -> str:
    """The address of `array[indices].path`."""
    pointer = writer.element(array.pointer, indices, array.strides)
    return offset(writer.builder, pointer, str(field_offset(array.type.element, path)))


def field_offset(element: ElementType, path: tuple[int, ...]) -> int:
    """Where the field reached by `path` starts in an element, in bytes."""
    total = 0
    for position in path:
        assert isinstance(element, StructType)
        total += element.offsets[position]
        element = element.fields[position][1]
    return total


# ------------------------------------------------------------------------------------------------------- tests


def tested_access(
    writer: FunctionWriter, operation: Load | Store | Atomic, indices: list[str], access: Callable[[], str], type: ScalarType
) -> str:
    """`access()` if every index is inside: one unsigned comparison per dimension, to which a negative index is a large one.

    A test that this iteration has made already is not made again: if it failed then, its fault is the one that is kept.
    """
    if operation.site is None:
        return access()
    sizes = writer.array(operation.array).sizes
    pairs = tuple(zip(indices, sizes, strict=True))
    if pairs in writer.tested:
        return writer.skip_unless(writer.tested[pairs], None, lambda: Subscripts(pairs), access, type)
    ok = _conjunction(writer, [writer.builder.emit(f"icmp ult i64 {index}, {size}") for index, size in pairs])
    value = writer.skip_unless(ok, operation.site, lambda: Subscripts(pairs), access, type)
    writer.tested[pairs] = "true" if writer.ends_at_fault else ok
    return value


def _conjunction(writer: FunctionWriter, tests: list[str]) -> str:
    ok = tests[0]
    for holds in tests[1:]:
        ok = writer.builder.emit(f"and i1 {ok}, {holds}")
    return ok


def _slice_test(writer: FunctionWriter, lower: str, upper: str, size: str, dimension: int) -> Test:
    """An extent is empty, or lies inside its dimension; the bound that does not is reported."""
    emit = writer.builder.emit
    empty = emit(f"icmp sge i64 {lower}, {upper}")
    below = emit(f"icmp slt i64 {lower}, 0")
    inside = emit(f"icmp sle i64 {upper}, {size}")
    inside = emit(f"and i1 {inside}, {emit(f'xor i1 {below}, true')}")
    wrong = emit(f"select i1 {below}, i64 {lower}, i64 {upper}")
    return emit(f"or i1 {empty}, {inside}"), Failure(str(dimension), wrong, size)


def _kept(writer: FunctionWriter, lower: str, upper: str, step: str) -> str:
    """The size of a kept dimension. A step that is not positive, against the rule, must not divide by zero."""
    if literal(step) is None:
        positive = writer.builder.emit(f"icmp sgt i64 {step}, 0")
        step = writer.builder.emit(f"select i1 {positive}, i64 {step}, i64 1")
    return range_count(writer.builder, lower, upper, step)


def _all(writer: FunctionWriter, tests: list[Test]) -> tuple[str, Callable[[], Failure]]:
    """The conjunction of the tests, and a writer of the first failure, for out of line."""
    builder = writer.builder
    ok = _conjunction(writer, [holds for holds, _ in tests])

    def report() -> Failure:
        last = tests[-1][1]
        words = [last.dimension, last.index, last.size]
        for holds, failure in reversed(tests[:-1]):
            mine = [failure.dimension, failure.index, failure.size]
            words = [builder.emit(f"select i1 {holds}, i64 {word}, i64 {own}") for word, own in zip(words, mine, strict=True)]
        return Failure(*words)

    return ok, report
