"""Atomic operations -> LLVM.

Does: write one indivisible operation on an element, which gives the value before it.  Does not: decide which arrays are atomic.
Invariants: what LLVM is told of other accesses (access groups, scopes) never holds of these. An operation with a site is reached
only when every subscript is inside; else it does nothing and gives 0. NaN and signed zeros are as in `Binary`.

What threads of one block share, and no other block, is touched by one processor's thread at a time: there an operation is a read
and a write, in the order of the text.
"""

from __future__ import annotations

from collections.abc import Callable

from lend.ir.typed import Atomic, AtomicOperator, BinaryOperator
from lend.language.types import ScalarType
from lend.lower import memory
from lend.lower.arithmetic import ScalarEmitter, register_type
from lend.lower.writer import FunctionWriter

ORDERS = {"relaxed": "monotonic", "acquire": "acquire", "release": "release", "acq_rel": "acq_rel", "seq_cst": "seq_cst"}
FAILED = {"relaxed": "monotonic", "acquire": "acquire", "release": "monotonic", "acq_rel": "acquire", "seq_cst": "seq_cst"}
"""The order of a comparison that fails: it is a read."""

_SIGNED = {"add": "add", "min": "min", "max": "max", "and": "and", "or": "or", "xor": "xor"}
_UNSIGNED = {**_SIGNED, "min": "umin", "max": "umax"}
_COMBINED: dict[AtomicOperator, BinaryOperator] = {
    "add": "add", "min": "min", "max": "max", "and": "and", "or": "or", "xor": "xor",
}  # fmt: skip


def write_atomic(writer: FunctionWriter, operation: Atomic) -> None:
    """`array[indices] = value operator array[indices]`, in one step."""
    array, type = writer.array(operation.array), operation.result.scalar
    indices = [writer.scalar(index) for index in operation.indices]
    value = None if operation.value is None else writer.scalar(operation.value)
    expected = None if operation.expected is None else writer.scalar(operation.expected)
    private = writer.shared_with_nobody(operation.array)

    def access() -> str:
        pointer = memory.address(writer, array, indices, ())
        place = writer.fetch(pointer, type)
        element = _Element(writer, type, place, operation.order)
        how = element.plainly if private else element.indivisibly
        old = how(operation.operator, value, expected)
        if operation.operator != "load":
            writer.put_back(pointer, place, type)
        return old

    writer.bind(operation.result, memory.tested_access(writer, operation, indices, access, type))


class _Element:
    """One element. f32 and f64 are compared and exchanged as their bits."""

    def __init__(self, writer: FunctionWriter, type: ScalarType, pointer: str, order: str) -> None:
        self._writer = writer
        self._builder = writer.builder
        self._strict = ScalarEmitter(writer.builder, "strict")
        self._type = type
        self._pointer = pointer
        self._order = order
        self._name = register_type(type)
        self._bits = f"i{type.bits}"

    def indivisibly(self, operator: AtomicOperator, value: str | None, expected: str | None) -> str:
        """The operation as one of the machine's; gives the old value."""
        emit, name, align = self._builder.emit, self._name, self._type.bytes
        order = ORDERS[self._order]
        if operator == "load":
            return emit(f"load atomic {name}, ptr {self._pointer} {order}, align {align}")
        assert value is not None
        if operator == "store":
            self._builder.append(f"store atomic {name} {value}, ptr {self._pointer} {order}, align {align}")
            return self._writer.zero(self._type)
        if operator == "compare_exchange":
            assert expected is not None
            old, _ = self._compare_exchange(self._as_bits(expected), self._as_bits(value))
            return self._as_value(old)
        if operator == "exchange":
            old = emit(f"atomicrmw xchg ptr {self._pointer}, {self._bits} {self._as_bits(value)} {order}, align {align}")
            return self._as_value(old)
        if self._type.is_float:
            return self._loop(lambda old: self._strict.binary(_COMBINED[operator], self._type, old, value))
        word = (_SIGNED if self._type.kind == "int" else _UNSIGNED)[operator]
        return emit(f"atomicrmw {word} ptr {self._pointer}, {name} {value} {order}, align {align}")

    def plainly(self, operator: AtomicOperator, value: str | None, expected: str | None) -> str:
        """The operation where no other thread of the processor can see the element."""
        align = self._type.bytes
        old = self._writer.scalars.load(self._type, self._pointer, align)
        if operator == "load":
            return old
        assert value is not None
        new = value
        if operator in _COMBINED:
            new = self._strict.binary(_COMBINED[operator], self._type, old, value)
        elif operator == "compare_exchange":
            assert expected is not None
            same = self._builder.emit(f"icmp eq {self._bits} {self._as_bits(old)}, {self._as_bits(expected)}")
            new = self._strict.select(self._type, same, value, old)
        self._writer.scalars.store(self._type, new, self._pointer, align)
        return old

    def _loop(self, combine: Callable[[str], str]) -> str:
        """Try until nobody came between reading and writing."""
        builder = self._builder
        again, latch, done = (builder.new_block(hint) for hint in ("again", "latch", "done"))
        first = builder.emit(f"load atomic {self._bits}, ptr {self._pointer} monotonic, align {self._type.bytes}")
        before, following = builder.block, builder.fresh("next")
        builder.jump(again)
        builder.open(again)
        seen = builder.emit(f"phi {self._bits} [ {first}, %{before} ], [ {following}, %{latch} ]")
        old = self._as_value(seen)
        found, won = self._compare_exchange(seen, self._as_bits(combine(old)))
        came = builder.block
        builder.branch(won, done, latch)
        builder.open(latch)
        builder.append(f"{following} = phi {self._bits} [ {found}, %{came} ]")
        builder.jump(again)
        builder.open(done)
        return old

    def _compare_exchange(self, expected: str, value: str) -> tuple[str, str]:
        """The old bits, and whether they were the expected ones."""
        orders = f"{ORDERS[self._order]} {FAILED[self._order]}"
        operands = f"ptr {self._pointer}, {self._bits} {expected}, {self._bits} {value}"
        pair = self._builder.emit(f"cmpxchg {operands} {orders}, align {self._type.bytes}")
        emit, kind = self._builder.emit, f"{{ {self._bits}, i1 }}"
        return emit(f"extractvalue {kind} {pair}, 0"), emit(f"extractvalue {kind} {pair}, 1")

    def _as_bits(self, value: str) -> str:
        return self._builder.emit(f"bitcast {self._name} {value} to {self._bits}") if self._type.is_float else value

    def _as_value(self, bits: str) -> str:
        return self._builder.emit(f"bitcast {self._bits} {bits} to {self._name}") if self._type.is_float else bits
