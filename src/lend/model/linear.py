"""Linear expressions over named integers, and conditions made of them.

Does: arithmetic on `Linear`, negation and simplification of `Formula`.  Does not: decide anything.
Invariants: what is worked out of an expression or a formula is kept with it, as one is asked about many times;
coefficients are never 0; formulas know where something is unknown, and say so in the direction asked for; what an
expression assumes stays with it when names cancel out (`k + 1 > k` holds only where k + 1 does not wrap).

Example: `Linear.of("i").add(Linear.constant(1))` prints `i + 1`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from lend.diagnostics.records import dataclass

Direction = Literal["may", "must"]


class _Kept:
    """A dataclass's object that keeps what is worked out of it; a copy of it starts with its fields only."""

    def __hash__(self) -> int:
        kept: dict[str, Any] = self.__dict__
        found = kept.get("_hash")
        if found is None:
            found = kept["_hash"] = hash((type(self).__name__, *(kept[name] for name in self.__match_args__)))
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(self.__dict__[name] for name in self.__match_args__)

    __match_args__: tuple[str, ...] = ()


@dataclass(frozen=True)
class Linear(_Kept):
    """`offset + Σ coefficient · name`. `assumed`: names on whose assumptions it rests that this is the value."""

    terms: tuple[tuple[str, int], ...]
    offset: int
    assumed: tuple[str, ...] = ()
    __hash__ = _Kept.__hash__

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

    def names(self) -> tuple[str, ...]:
        """The names it mentions, and those it assumes something of."""
        found = self.__dict__.get("_names")
        if found is None:
            found = self.__dict__["_names"] = (*(name for name, _ in self.terms), *self.assumed)
        return found

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
class AtLeastZero(_Kept):
    """`expression >= 0`."""

    expression: Linear
    __hash__ = _Kept.__hash__


@dataclass(frozen=True)
class Zero(_Kept):
    """`expression == 0`."""

    expression: Linear
    __hash__ = _Kept.__hash__


@dataclass(frozen=True)
class All(_Kept):
    """All of them hold; with none, true."""

    parts: tuple[Formula, ...]
    __hash__ = _Kept.__hash__


@dataclass(frozen=True)
class Any_(_Kept):
    """At least one of them holds; with none, false."""

    parts: tuple[Formula, ...]
    __hash__ = _Kept.__hash__


@dataclass(frozen=True)
class Unknown(_Kept):
    """A condition on data: it may hold and may not."""

    __hash__ = _Kept.__hash__


Formula = AtLeastZero | Zero | All | Any_ | Unknown

TRUE = All(())
FALSE = Any_(())


def both(a: Formula, b: Formula) -> Formula:
    """`a and b`, flattened."""
    return conjunction((a, b))


def either(a: Formula, b: Formula) -> Formula:
    """`a or b`, flattened."""
    return disjunction((a, b))


def conjunction(formulas: Iterable[Formula]) -> Formula:
    """All of them, flattened."""
    parts: dict[Formula, None] = {}
    for formula in formulas:
        if isinstance(formula, All):
            parts.update(dict.fromkeys(formula.parts))
        else:
            parts[formula] = None
    return FALSE if FALSE in parts else next(iter(parts)) if len(parts) == 1 else All(tuple(parts))


def disjunction(formulas: Iterable[Formula]) -> Formula:
    """One of them, flattened."""
    parts: dict[Formula, None] = {}
    for formula in formulas:
        if isinstance(formula, Any_):
            parts.update(dict.fromkeys(formula.parts))
        else:
            parts[formula] = None
    return TRUE if TRUE in parts else next(iter(parts)) if len(parts) == 1 else Any_(tuple(parts))


def negate(formula: Formula) -> Formula:
    """`not formula`."""
    match formula:
        case AtLeastZero():
            return AtLeastZero(formula.expression.scale(-1).plus(-1))
        case Zero():
            return Any_((AtLeastZero(formula.expression.plus(-1)), AtLeastZero(formula.expression.scale(-1).plus(-1))))
        case All():
            return disjunction(map(negate, formula.parts))
        case Any_():
            return conjunction(map(negate, formula.parts))
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
    if isinstance(formula, (All, Any_)):
        found = formula.__dict__.get("_known")
        if found is None:
            found = formula.__dict__["_known"] = all(map(is_known, formula.parts))
        return found
    return not isinstance(formula, Unknown)


MAX_SIZE = 24
"""Comparisons in one condition; a larger one counts as unknown."""


def limited(formula: Formula) -> Formula:
    """The formula, or "unknown" if it has grown too large to be of use."""
    return formula if size(formula, MAX_SIZE + 1) <= MAX_SIZE else Unknown()


def disjuncts(formula: Formula) -> int:
    """How many conjunctions a formula falls apart into, at most."""
    if not isinstance(formula, (All, Any_)):
        return 1
    found = formula.__dict__.get("_disjuncts")
    if found is None:
        counts = map(disjuncts, formula.parts)
        found = formula.__dict__["_disjuncts"] = math.prod(counts) if isinstance(formula, All) else sum(counts)
    return found


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


def names_of(formula: Formula) -> tuple[str, ...]:
    """The names a formula mentions."""
    match formula:
        case AtLeastZero() | Zero():
            return formula.expression.names()
        case All() | Any_():
            found = formula.__dict__.get("_names")
            if found is None:
                found = tuple(dict.fromkeys(name for part in formula.parts for name in names_of(part)))
                formula.__dict__["_names"] = found
            return found
        case Unknown():
            return ()


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
    if names.keys().isdisjoint(names_of(formula)):
        return formula
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
        case All() | Any_():
            found = formula.__dict__.get(f"_{direction}")
            if found is None:
                parts = (resolved(part, direction) for part in formula.parts)
                found = conjunction(parts) if isinstance(formula, All) else disjunction(parts)
                # What is as it was keeps what is known of it.
                formula.__dict__[f"_{direction}"] = found = formula if found == formula else found
            return found
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
