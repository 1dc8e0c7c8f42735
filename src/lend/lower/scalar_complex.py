"""Complex arithmetic from real operations.

Does: `+ - * / **`, comparisons, `abs` and `neg` by NumPy's formulas.  Does not: the functions (`scalar_complex_math.py`).
Invariants: a complex value is a pair of its parts; division never divides by a sum of squares, which could overflow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lend.diagnostics.errors import InternalError
from lend.ir.typed import BinaryOperator, UnaryOperator
from lend.language.types import PART, ScalarType
from lend.lower import scalar_complex_math

if TYPE_CHECKING:
    from lend.lower.arithmetic import ScalarEmitter


def unary(emitter: ScalarEmitter, operator: UnaryOperator, type: ScalarType, a: str) -> str:
    """`neg`, or `abs`, which is real."""
    part = PART[type]
    real, imaginary = emitter.parts(type, a)
    if operator == "abs":
        return emitter.math("hypot", [part, part], [real, imaginary], part)
    if operator == "neg":
        return emitter.pair(type, emitter.unary("neg", part, real), emitter.unary("neg", part, imaginary))
    raise InternalError(f"no operator {operator} of {type}")


def binary(emitter: ScalarEmitter, operator: BinaryOperator, type: ScalarType, a: str, b: str) -> str:
    """`a operator b`; `eq` and `ne` give an `i1`."""
    if operator == "pow":
        return scalar_complex_math.power(emitter, type, a, b)
    part, emit = PART[type], emitter.builder.emit
    left, right = emitter.parts(type, a), emitter.parts(type, b)
    if operator in ("eq", "ne"):
        same = [emitter.binary(operator, part, left[k], right[k]) for k in range(2)]
        return emit(f"{'and' if operator == 'eq' else 'or'} i1 {same[0]}, {same[1]}")
    if operator in ("add", "sub"):
        return emitter.pair(type, *(emitter.binary(operator, part, left[k], right[k]) for k in range(2)))
    if operator == "mul":
        return emitter.pair(type, *multiply(emitter, part, left, right))
    if operator == "div":
        return emitter.pair(type, *divide(emitter, part, left, right))
    raise InternalError(f"no operator {operator} of {type}")


def multiply(emitter: ScalarEmitter, part: ScalarType, a: tuple[str, str], b: tuple[str, str]) -> tuple[str, str]:
    """The four-multiplication formula, as NumPy's."""

    def mul(x: str, y: str) -> str:
        return emitter.binary("mul", part, x, y)

    real = emitter.binary("sub", part, mul(a[0], b[0]), mul(a[1], b[1]))
    return real, emitter.binary("add", part, mul(a[0], b[1]), mul(a[1], b[0]))


def divide(emitter: ScalarEmitter, part: ScalarType, a: tuple[str, str], b: tuple[str, str]) -> tuple[str, str]:
    """Smith's method (Communications of the ACM 5, 1962), as NumPy's, with selects for its branches."""

    def do(operator: BinaryOperator, x: str, y: str) -> str:
        return emitter.binary(operator, part, x, y)

    size = [emitter.unary("abs", part, each) for each in b]
    real_larger = do("ge", size[0], size[1])
    large = emitter.select(part, real_larger, b[0], b[1])
    small = emitter.select(part, real_larger, b[1], b[0])
    ratio = do("div", small, large)
    scale = do("div", emitter.constant(part, 1.0), do("add", large, do("mul", small, ratio)))
    # With |re| >= |im|: ((a0 + a1 r) s, (a1 - a0 r) s); else ((a0 r + a1) s, (a1 r - a0) s).
    ratio_a0, ratio_a1 = do("mul", a[0], ratio), do("mul", a[1], ratio)
    real = do("add", emitter.select(part, real_larger, a[0], ratio_a0), emitter.select(part, real_larger, ratio_a1, a[1]))
    imaginary = do("sub", emitter.select(part, real_larger, a[1], ratio_a1), emitter.select(part, real_larger, ratio_a0, a[0]))
    by_zero = do("eq", do("max", size[0], size[1]), emitter.constant(part, 0.0))
    return (
        emitter.select(part, by_zero, do("div", a[0], size[0]), do("mul", real, scale)),
        emitter.select(part, by_zero, do("div", a[1], size[0]), do("mul", imaginary, scale)),
    )
