"""Bits of integers as linear expressions: bit k of x is `x // 2**k % 2`.

Does: evaluate `&`, `|` and `^` where one side is a constant.  Does not: know anything of two unknown numbers but a range.
Invariants: only numbers that are not negative are taken apart.

Example: `t ^ 4` is `t + 4 - 8 * (t // 4 - 2 * (t // 8))`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lend.language.types import ScalarType
from lend.model.linear import Linear, equal

if TYPE_CHECKING:
    from lend.model.evaluate import Evaluator

I128 = ScalarType("count", "int", 128)
"""A type in which counts of iterations never wrap."""

MOST_BITS = 4
"""Bits of a constant that is combined with an unknown number bit by bit."""


def mask(evaluator: Evaluator, a: Linear, b: Linear, type: ScalarType) -> Linear | None:
    """`a & (2**k - 1)` is a remainder; `a & m` with m >= 0 lies in 0..m."""
    for x, y in ((a, b), (b, a)):
        m = y.value
        if m is not None and m >= 0:
            if m & (m + 1) == 0:
                return evaluator.remainder(x, Linear.constant(m + 1), type)
            exact = bitwise(evaluator, "and", x, y, type)
            return exact if exact is not None else Linear.of(evaluator.fresh("mask", 0, m, free=True))
    lows = [i for i in (evaluator.interval(a), evaluator.interval(b)) if i[0] >= 0]
    if lows:
        return evaluator.bounded_by(evaluator.fresh("mask", 0, min(i[1] for i in lows), free=True), a, b)
    return None


def bitwise(evaluator: Evaluator, operator: str, a: Linear, b: Linear, type: ScalarType) -> Linear | None:
    """`and`, `or`, `xor` of a number that is not negative and a constant of few bits."""
    for x, y in ((a, b), (b, a)):
        constant, (low, high) = y.value, evaluator.interval(x)
        if constant is None or constant < 0 or low < 0 or constant.bit_count() > MOST_BITS:
            continue
        result = _combined(evaluator, operator, x, constant, type)
        if result is None or result.value is not None:
            return result
        most = constant if operator == "and" else (1 << max(high.bit_length(), constant.bit_length())) - 1
        name = evaluator.fresh("bits", 0, most)
        evaluator.define(name, equal(Linear.of(name), result))
        if set(x.names()) & evaluator.names.opaque:
            evaluator.names.opaque.add(name)
        return evaluator.bounded_by(name, x).assuming(result.assumed)
    return None


def _combined(evaluator: Evaluator, operator: str, x: Linear, constant: int, type: ScalarType) -> Linear | None:
    result = Linear.constant(0) if operator == "and" else x
    for k in range(constant.bit_length()):
        if constant >> k & 1:
            whole = evaluator.quotient(x, Linear.constant(1 << k), type)
            half = evaluator.quotient(x, Linear.constant(2 << k), I128)
            if whole is None or half is None:
                return None
            bit = whole.add(half, -2)
            match operator:
                case "and":
                    result = result.add(bit, 1 << k)
                case "or":
                    result = result.plus(1 << k).add(bit, -(1 << k))
                case _:
                    result = result.plus(1 << k).add(bit, -(2 << k))
    return result
