"""Linear expressions over named integers, and conditions made of them.

Does: arithmetic on `Linear`, negation and simplification of `Formula`.  Does not: decide anything.
Invariants: coefficients are never 0; formulas know where something is unknown, and say so in the direction asked for; what an
expression assumes stays with it when names cancel out (`k + 1 > k` holds only where k + 1 does not wrap).

Example: `Linear.of("i").add(Linear.constant(1))` prints `i + 1`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

Direction = Literal["may", "must"]


@dataclass(frozen=True)
class Linear:
    """`offset + Σ coefficient · name`. `assumed`: names on whose assumptions it rests that this is the value."""

    terms: tuple[tuple[str, int], ...]
    offset: int
    assumed: tuple[str, ...] = ()

    @staticmethod
    def of(name: str) -> Linear:
        """The value of a name."""
        return Linear(((name, 1),), 0)

    @staticmethod
    def constant(value: int) -> Linear:
        """A number."""
        return Linear((), value)

    @property
    def value(self) -> int | None:
        """The number, if it is one whatever is assumed."""
        return None if self.terms or self.assumed else self.offset

    def assuming(self, names: tuple[str, ...]) -> Linear:
        """The same, resting on more names' assumptions."""
        if not set(names) - set(self.assumed):
            return self
        return Linear(self.terms, self.offset, tuple(sorted({*self.assumed, *names})))

    def add(self, other: Linear, factor: int = 1) -> Linear:
        """`self + factor · other`."""
        terms = dict(self.terms)
        for name, coefficient in other.terms:
            terms[name] = terms.get(name, 0) + factor * coefficient
        made = Linear(tuple(sorted((n, c) for n, c in terms.items() if c)), self.offset + factor * other.offset, self.assumed)
        return made.assuming(other.assumed)

    def sub(self, other: Linear) -> Linear:
        """`self - other`."""
        return self.add(other, -1)

    def scale(self, factor: int) -> Linear:
        """`factor · self`."""
        return Linear(tuple((n, c * factor) for n, c in self.terms) if factor else (), self.offset * factor, self.assumed)

    def plus(self, number: int) -> Linear:
        """`self + number`."""
        return Linear(self.terms, self.offset + number, self.assumed)

    def names(self) -> Iterator[str]:
        """The names it mentions, and those it assumes something of."""
        yield from (name for name, _ in self.terms)
        yield from self.assumed

    def rename(self, names: Mapping[str, str]) -> Linear:
        """The same with other names."""
        return Linear(tuple(sorted((names.get(n, n), c) for n, c in self.terms)), self.offset, self.assumed)

    def evaluate(self, values: Mapping[str, int]) -> int:
        """Its value. Raises KeyError for a name without one."""
        return self.offset + sum(c * values[n] for n, c in self.terms)

    def __str__(self) -> str:
        text = ""
        for name, coefficient in self.terms:
            sign = ("-" if coefficient < 0 else "") if not text else (" - " if coefficient < 0 else " + ")
            text += sign + (f"{abs(coefficient)}*{name}" if abs(coefficient) != 1 else name)
        if not text:
            return str(self.offset)
        return text if not self.offset else f"{text} {'-' if self.offset < 0 else '+'} {abs(self.offset)}"


@dataclass(frozen=True)
class AtLeastZero:
    """`expression >= 0`."""

    expression: Linear


@dataclass(frozen=True)
class Zero:
    """`expression == 0`."""

    expression: Linear


@dataclass(frozen=True)
class All:
    """All of them hold; with none, true."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True)
class Any_:
    """At least one of them holds; with none, false."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True)
class Unknown:
    """A condition on data: it may hold and may not."""


Formula = AtLeastZero | Zero | All | Any_ | Unknown

TRUE = All(())
FALSE = Any_(())


def both(a: Formula, b: Formula) -> Formula:
    """`a and b`, flattened."""
    parts = tuple(dict.fromkeys((*(a.parts if isinstance(a, All) else (a,)), *(b.parts if isinstance(b, All) else (b,)))))
    return FALSE if FALSE in parts else parts[0] if len(parts) == 1 else All(parts)


def either(a: Formula, b: Formula) -> Formula:
    """`a or b`, flattened."""
    parts = tuple(dict.fromkeys((*(a.parts if isinstance(a, Any_) else (a,)), *(b.parts if isinstance(b, Any_) else (b,)))))
    return TRUE if TRUE in parts else parts[0] if len(parts) == 1 else Any_(parts)


def negate(formula: Formula) -> Formula:
    """`not formula`."""
    match formula:
        case AtLeastZero():
            return AtLeastZero(formula.expression.scale(-1).plus(-1))
        case Zero():
            return Any_((AtLeastZero(formula.expression.plus(-1)), AtLeastZero(formula.expression.scale(-1).plus(-1))))
        case All():
            result: Formula = FALSE
            for part in formula.parts:
                result = either(result, negate(part))
            return result
        case Any_():
            result = TRUE
            for part in formula.parts:
                result = both(result, negate(part))
            return result
        case Unknown():
            return formula


def at_least(a: Linear, b: Linear) -> Formula:
    """`a >= b`."""
    return _settled(AtLeastZero(a.sub(b)))


def equal(a: Linear, b: Linear) -> Formula:
    """`a == b`."""
    return _settled(Zero(a.sub(b)))


def _settled(formula: AtLeastZero | Zero) -> Formula:
    number = formula.expression.value
    if number is None:
        return formula
    return TRUE if (number >= 0 if isinstance(formula, AtLeastZero) else number == 0) else FALSE


def is_known(formula: Formula) -> bool:
    """Whether nothing in it is unknown."""
    if isinstance(formula, All | Any_):
        return all(map(is_known, formula.parts))
    return not isinstance(formula, Unknown)


MAX_SIZE = 24
"""Comparisons in one condition; a larger one counts as unknown."""


def limited(formula: Formula) -> Formula:
    """The formula, or "unknown" if it has grown too large to be of use."""
    return formula if size(formula, MAX_SIZE + 1) <= MAX_SIZE else Unknown()


def disjuncts(formula: Formula) -> int:
    """How many conjunctions a formula falls apart into, at most."""
    if isinstance(formula, All):
        product = 1
        for part in formula.parts:
            product *= disjuncts(part)
        return product
    if isinstance(formula, Any_):
        return sum(map(disjuncts, formula.parts))
    return 1


def size(formula: Formula, stop: int) -> int:
    """The number of comparisons in a formula, counted up to `stop`."""
    if isinstance(formula, All | Any_):
        total = 0
        for part in formula.parts:
            total += size(part, stop - total)
            if total >= stop:
                break
        return total
    return 1


def names_of(formula: Formula) -> Iterator[str]:
    """The names a formula mentions."""
    match formula:
        case AtLeastZero() | Zero():
            yield from formula.expression.names()
        case All() | Any_():
            for part in formula.parts:
                yield from names_of(part)
        case Unknown():
            return


def assumed_of(formula: Formula) -> Iterator[str]:
    """The names on whose assumptions a formula's expressions rest."""
    match formula:
        case AtLeastZero() | Zero():
            yield from formula.expression.assumed
        case All() | Any_():
            for part in formula.parts:
                yield from assumed_of(part)
        case Unknown():
            return


def rename(formula: Formula, names: Mapping[str, str]) -> Formula:
    """The same with other names."""
    match formula:
        case AtLeastZero():
            return AtLeastZero(formula.expression.rename(names))
        case Zero():
            return Zero(formula.expression.rename(names))
        case All():
            return All(tuple(rename(part, names) for part in formula.parts))
        case Any_():
            return Any_(tuple(rename(part, names) for part in formula.parts))
        case Unknown():
            return formula


def resolved(formula: Formula, direction: Direction) -> Formula:
    """The formula with what is unknown taken as the direction says, and simplified."""
    match formula:
        case All():
            result: Formula = TRUE
            for part in formula.parts:
                result = both(result, resolved(part, direction))
            return result
        case Any_():
            result = FALSE
            for part in formula.parts:
                result = either(result, resolved(part, direction))
            return result
        case Unknown():
            return TRUE if direction == "may" else FALSE
        case _:
            return formula


def holds(formula: Formula, values: Mapping[str, int]) -> bool | None:
    """Whether it holds for these values; None if that depends on something unknown."""
    match formula:
        case AtLeastZero():
            return formula.expression.evaluate(values) >= 0
        case Zero():
            return formula.expression.evaluate(values) == 0
        case All():
            results = [holds(part, values) for part in formula.parts]
            return False if False in results else None if None in results else True
        case Any_():
            results = [holds(part, values) for part in formula.parts]
            return True if True in results else None if None in results else False
        case Unknown():
            return None
