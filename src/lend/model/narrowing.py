"""Alternatives that other conjuncts of a question rule out, so that the question falls apart into fewer.

Does: compare comparisons of the same sum.  Does not: combine comparisons of different sums.
Invariants: the conjunction stays the same set; nothing is unknown in it.

Example: beside `i - j == 0`, of `(i - j - 1 >= 0 and a) or b` only b is left, which may rule out more.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from lend.model.linear import FALSE, TRUE, All, Any_, AtLeastZero, Formula, Linear, Zero, conjunction, disjunction

Sum = tuple[tuple[str, int], ...]


def narrowed(conjuncts: Iterable[Formula]) -> list[Formula]:
    """The conjuncts, those of several alternatives without the ones that the comparisons beside them rule out."""
    parts = list(dict.fromkeys(conjuncts))
    while True:
        limits = _Limits()
        for part in parts:
            if isinstance(part, AtLeastZero | Zero):
                limits.add(part)
        if limits.nothing:
            return [FALSE]
        following: dict[Formula, None] = {}
        for part in parts:
            left = part if isinstance(part, AtLeastZero | Zero) else limits.left_of(part)
            following.update(dict.fromkeys(left.parts if isinstance(left, All) else (left,)))
        if following.keys() == dict.fromkeys(parts).keys():
            return parts
        parts = list(following)


class _Limits:
    """Between which numbers sums lie."""

    def __init__(self) -> None:
        self.between: dict[Sum, tuple[float, float]] = {}
        self.nothing = False

    def add(self, comparison: AtLeastZero | Zero) -> None:
        """What a comparison says."""
        key, low, high = _range(comparison)
        before = self.between.get(key, (0, 0) if not key else (-inf, inf))
        low, high = max(low, before[0]), min(high, before[1])
        self.between[key] = low, high
        self.nothing = self.nothing or low > high

    def left_of(self, formula: Formula) -> Formula:
        """A formula without the alternatives that cannot be."""
        match formula:
            case All():
                return conjunction(map(self.left_of, formula.parts))
            case Any_():
                return disjunction(map(self.left_of, formula.parts))
            case AtLeastZero() | Zero():
                key, low, high = _range(formula)
                least, most = self.between.get(key, (0, 0) if not key else (-inf, inf))
                if low > most or high < least:
                    return FALSE
                return TRUE if low <= least and most <= high else formula
            case _:
                return formula


def _range(comparison: AtLeastZero | Zero) -> tuple[Sum, float, float]:
    """The sum that a comparison is about, its first coefficient positive, and between which numbers it has to lie."""
    expression: Linear = comparison.expression
    positive = not expression.terms or expression.terms[0][1] > 0
    terms = expression.terms if positive else tuple((name, -factor) for name, factor in expression.terms)
    number = -expression.offset if positive else expression.offset
    if isinstance(comparison, Zero):
        return terms, number, number
    return (terms, number, inf) if positive else (terms, -inf, number)
