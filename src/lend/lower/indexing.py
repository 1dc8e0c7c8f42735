"""64-bit index arithmetic on LLVM operands, with constants folded in the text.

Does: add, multiply, count the iterations of a range.  Does not: claim that anything does not wrap.
Invariants: an operand is `%name` or a literal; results wrap as machine integers do; a folded result is in the signed range.

Example: `multiply(builder, "%n", "1")` is `%n` and appends nothing.
"""

from __future__ import annotations

from lend.lower.builder import FunctionBuilder

LARGEST = (1 << 63) - 1


def literal(operand: str) -> int | None:
    """The value of a literal operand."""
    return None if operand.startswith("%") else int(operand)


def is_constant(operand: str) -> bool:
    """Whether `operand` means the same in every function: a literal, of whatever type."""
    return "%" not in operand


def wrapped(value: int) -> str:
    """An integer as the literal of an i64."""
    return str((value + (1 << 63)) % (1 << 64) - (1 << 63))


def add(builder: FunctionBuilder, a: str, b: str) -> str:
    """`a + b`."""
    left, right = literal(a), literal(b)
    if left is not None and right is not None:
        return wrapped(left + right)
    if right == 0:
        return a
    return b if left == 0 else builder.emit(f"add i64 {a}, {b}")


def subtract(builder: FunctionBuilder, a: str, b: str) -> str:
    """`a - b`."""
    left, right = literal(a), literal(b)
    if left is not None and right is not None:
        return wrapped(left - right)
    return a if right == 0 else builder.emit(f"sub i64 {a}, {b}")


def multiply(builder: FunctionBuilder, a: str, b: str) -> str:
    """`a * b`."""
    left, right = literal(a), literal(b)
    if left is not None and right is not None:
        return wrapped(left * right)
    if left == 0 or right == 0:
        return "0"
    if right == 1:
        return a
    return b if left == 1 else builder.emit(f"mul i64 {a}, {b}")


def offset(builder: FunctionBuilder, pointer: str, bytes: str, hint: str = "p") -> str:
    """`pointer` moved by `bytes`."""
    return pointer if bytes == "0" else builder.emit(f"getelementptr i8, ptr {pointer}, i64 {bytes}", hint)


def range_count(builder: FunctionBuilder, lower: str, upper: str, step: str) -> str:
    """`len(range(lower, upper, step))` in unbounded integers, as an unsigned 64-bit number; the step must not be zero.

    Never wraps: the distance of two i64 fits an unsigned one.
    """
    known_step = literal(step)
    low, high = literal(lower), literal(upper)
    if low is not None and high is not None and known_step is not None:
        return wrapped(len_range(low, high, known_step))
    if known_step is not None:
        return _count(builder, lower, upper, known_step > 0, str(abs(known_step)))
    upward = builder.emit(f"icmp sgt i64 {step}, 0")
    negated = builder.emit(f"sub i64 0, {step}")
    first = builder.emit(f"select i1 {upward}, i64 {lower}, i64 {upper}")
    last = builder.emit(f"select i1 {upward}, i64 {upper}, i64 {lower}")
    stride = builder.emit(f"select i1 {upward}, i64 {step}, i64 {negated}")
    return _count(builder, first, last, True, stride)


def len_range(lower: int, upper: int, step: int) -> int:
    """`len(range(…))`, which CPython refuses above the largest i64."""
    distance = upper - lower if step > 0 else lower - upper
    return (distance - 1) // abs(step) + 1 if distance > 0 else 0


def _count(builder: FunctionBuilder, lower: str, upper: str, upward: bool, stride: str) -> str:
    """The count for a stride (positive, unsigned) from `lower` up, or from `lower` down, to `upper`."""
    low, high = (lower, upper) if upward else (upper, lower)
    some = builder.emit(f"icmp slt i64 {low}, {high}")
    distance = subtract(builder, high, low)
    if stride != "1":
        less = builder.emit(f"sub i64 {distance}, 1")
        steps = builder.emit(f"udiv i64 {less}, {stride}")
        distance = builder.emit(f"add i64 {steps}, 1")
    return builder.emit(f"select i1 {some}, i64 {distance}, i64 0", "count")


def saturating_product(builder: FunctionBuilder, factors: list[str]) -> str:
    """The product of unsigned numbers, or the largest i64 if it is larger than that; exact zeros win."""
    product = "1"
    for factor in factors:
        left, right = literal(product), literal(factor)
        if left is not None and right is not None:
            product = str(min(left % (1 << 64) * (right % (1 << 64)), LARGEST))
            continue
        if left == 1 or right == 1:
            whole, large = (factor if left == 1 else product), None
        else:
            name = "llvm.umul.with.overflow.i64"
            builder.module.declare(name, f"declare {{ i64, i1 }} @{name}(i64, i64)")
            pair = builder.emit(f"call {{ i64, i1 }} @{name}(i64 {product}, i64 {factor})")
            whole = builder.emit(f"extractvalue {{ i64, i1 }} {pair}, 0")
            large = builder.emit(f"extractvalue {{ i64, i1 }} {pair}, 1")
        negative = builder.emit(f"icmp slt i64 {whole}, 0")
        over = negative if large is None else builder.emit(f"or i1 {large}, {negative}")
        product = builder.emit(f"select i1 {over}, i64 {LARGEST}, i64 {whole}")
    return product
