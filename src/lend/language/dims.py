"""Sizes in annotations: `N`, derived sizes, and fixed ones.

`class Rows(lend.Dim): ...` makes a size name; `class N1(lend.Dim): equals = N + 1` a derived one. Inside a kernel the name is the
size.

Does: hold symbolic sizes, print and evaluate them.  Does not: bind them to arguments (`runtime/arguments.py`).
Invariants: a `Dim` is a class, so annotations pass type checkers; arithmetic on it outside a kernel gives a `SizeExpression`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from lend.diagnostics.records import dataclass


@dataclass(frozen=True, eq=False)
class SizeExpression:
    """`left operator right` over sizes; operator is one of `+ - * // %`."""

    operator: str
    left: Size
    right: Size

    def __repr__(self) -> str:
        def part(size: Size) -> str:
            return f"({size!r})" if isinstance(size, SizeExpression) else size_text(size)

        return f"{part(self.left)} {self.operator} {part(self.right)}"

    def __add__(self, other: Any) -> SizeExpression:
        return SizeExpression("+", self, other)

    def __radd__(self, other: Any) -> SizeExpression:
        return SizeExpression("+", other, self)

    def __sub__(self, other: Any) -> SizeExpression:
        return SizeExpression("-", self, other)

    def __rsub__(self, other: Any) -> SizeExpression:
        return SizeExpression("-", other, self)

    def __mul__(self, other: Any) -> SizeExpression:
        return SizeExpression("*", self, other)

    def __rmul__(self, other: Any) -> SizeExpression:
        return SizeExpression("*", other, self)

    def __floordiv__(self, other: Any) -> SizeExpression:
        return SizeExpression("//", self, other)

    def __mod__(self, other: Any) -> SizeExpression:
        return SizeExpression("%", self, other)


if TYPE_CHECKING:
    # For type checkers a size name is a class, so that it can stand in annotations, and an `int`, so that bodies can compute with
    # it and pass it on. No class of Python's is both.
    class _ClassAndNumber(type, int):  # type: ignore[misc]
        pass
else:
    _ClassAndNumber = type


class DimType(_ClassAndNumber):
    """The type of size names. For type checkers a size name is an `int` too."""

    if TYPE_CHECKING:
        equals: Size | None
        """What a derived size equals; None for a size of its own."""

    else:

        def __add__(cls, other):
            return SizeExpression("+", cls, other)

        def __radd__(cls, other):
            return SizeExpression("+", other, cls)

        def __sub__(cls, other):
            return SizeExpression("-", cls, other)

        def __rsub__(cls, other):
            return SizeExpression("-", other, cls)

        def __mul__(cls, other):
            return SizeExpression("*", cls, other)

        def __rmul__(cls, other):
            return SizeExpression("*", other, cls)

        def __floordiv__(cls, other):
            return SizeExpression("//", cls, other)

        def __mod__(cls, other):
            return SizeExpression("%", cls, other)

    def __repr__(cls) -> str:
        return cls.__name__


class Dim(metaclass=DimType):
    """A size name for annotations: subclass it. `equals` makes it a derived size."""

    equals: Any = None


Size = DimType | SizeExpression | int


def size_text(size: Size) -> str:
    """A size as the user writes it."""
    return size.__name__ if isinstance(size, DimType) else repr(size)


def symbols(size: Size) -> Iterator[DimType]:
    """The size names that `size` is made of, derived ones taken apart, in order of appearance."""
    if isinstance(size, DimType):
        if size.equals is None:
            yield size
        else:
            yield from symbols(size.equals)
    elif isinstance(size, SizeExpression):
        yield from symbols(size.left)
        yield from symbols(size.right)


def evaluate(size: Size, bindings: Mapping[DimType, int]) -> int:
    """The value of a size. Raises KeyError for an unbound name, ZeroDivisionError for a division by a zero size."""
    if isinstance(size, DimType):
        return bindings[size] if size.equals is None else evaluate(size.equals, bindings)
    if isinstance(size, SizeExpression):
        left, right = evaluate(size.left, bindings), evaluate(size.right, bindings)
        match size.operator:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                return left * right
            case "//":
                return left // right
            case _:
                return left % right
    return int(size)


class B(Dim):
    """A ready-made size name."""


class C(Dim):
    """A ready-made size name."""


class D(Dim):
    """A ready-made size name."""


class H(Dim):
    """A ready-made size name."""


class K(Dim):
    """A ready-made size name."""


class L(Dim):
    """A ready-made size name."""


class M(Dim):
    """A ready-made size name."""


class N(Dim):
    """A ready-made size name."""


class P(Dim):
    """A ready-made size name."""


class Q(Dim):
    """A ready-made size name."""


class R(Dim):
    """A ready-made size name."""


class S(Dim):
    """A ready-made size name."""


class W(Dim):
    """A ready-made size name."""
