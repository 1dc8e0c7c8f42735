"""A kernel's signature: what each parameter borrows or takes.

Does: hold the parsed annotations; the compiler and the runtime both read them.  Does not: parse annotations (`annotations.py`) or
bind arguments (`runtime/arguments.py`).
Invariants: parameters are in the order of the `def`; `dims` lists every underived size name once, in order of appearance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from lend.diagnostics.records import dataclass
from lend.language.borrows import IndexKind
from lend.language.dims import DimType, Size
from lend.language.types import ArrayType, Borrow, ElementType, ScalarType, StructType, Type, VectorType


@dataclass(frozen=True)
class ScalarKind:
    """A scalar or a record by value; a TypeVar stands for any scalar type."""

    element: ElementType | TypeVar


@dataclass(frozen=True)
class IndexFacts:
    """What is tested of an array's elements when it is lent.

    "index": they lie in 0..bound-1. "unique": they are distinct too. "offsets": they lie in 0..bound and never decrease (one
    dimension).
    """

    kind: IndexKind
    bound: Size


@dataclass(frozen=True)
class ArrayKind:
    """A borrowed array: `borrow` is REF, MUT or OUT. `facts`: what an index type says of the elements (integers).

    Of vectors (`vector`) the element is that of one vector, and the last of the sizes its length.
    """

    borrow: Borrow
    element: ElementType | TypeVar
    sizes: tuple[Size, ...]
    facts: IndexFacts | None = None
    vector: VectorType | None = None


@dataclass(frozen=True)
class TupleKind:
    """A tuple of borrows: `items` are its members, or, if `variadic`, the one kind of any number of members."""

    items: tuple[ArrayKind, ...]
    variadic: bool


@dataclass(frozen=True)
class ComptimeKind:
    """A compile-time value of the Python type (or `Callable`, `type`) named by the annotation; `Any` takes what is comptime."""

    type: Any


ParameterKind = ScalarKind | ArrayKind | TupleKind | ComptimeKind


class _NoDefault:
    def __repr__(self) -> str:
        return "<no default>"


NO_DEFAULT = _NoDefault()
"""The default of a parameter that has none."""


@dataclass(frozen=True)
class ParameterSpec:
    """One parameter of the `def`."""

    name: str
    kind: ParameterKind
    default: Any = NO_DEFAULT
    keyword_only: bool = False


@dataclass(frozen=True)
class Signature:
    """All parameters of a kernel called `kernel`, and its size names."""

    kernel: str
    parameters: tuple[ParameterSpec, ...]
    dims: tuple[DimType, ...]


@dataclass(frozen=True)
class Contract:
    """A contract: `holds(bindings)` says whether it does, in unbounded integers.

    `bindings` maps each size name's text, each scalar's and each comptime value's parameter name to its Python value;
    `text` is the condition as written, `message` the user's own words or None, `file` and `line` its place, `names` what it
    mentions.
    """

    text: str
    message: str | None
    file: str
    line: int
    names: tuple[str, ...]
    holds: Callable[[dict[str, Any]], bool]


# ------------------------------------------------------------------------------------------------- specialisation


@dataclass(frozen=True, eq=False)
class ComptimeValue:
    """A compile-time argument: equal only to one of the same Python type and value.

    1, 1.0 and True differ, as do 0.0 and -0.0.
    """

    type: type
    value: Any

    def _key(self) -> Any:
        return self.value.hex() if isinstance(self.value, float) else self.value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComptimeValue) and self.type is other.type and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self.type, self._key()))


def comptime_value(value: object) -> ComptimeValue:
    """A compile-time argument of its own type."""
    return ComptimeValue(type(value), value)


ArgumentType = ScalarType | StructType | ArrayType | tuple[ArrayType, ...] | ComptimeValue
"""What a parameter is in one specialisation: array types carry the layout class of the argument."""


# ------------------------------------------------------------------------------------------------------- results


@dataclass(frozen=True)
class ResultLeaf:
    """The next value that the kernel yields."""

    type: Type


@dataclass(frozen=True)
class ResultTuple:
    """A tuple that the kernel returns."""

    items: tuple[ResultShape, ...]


@dataclass(frozen=True)
class ResultStruct:
    """A record that the kernel returns, by its fields in order."""

    type: StructType
    items: tuple[ResultShape, ...]


ResultShape = ResultLeaf | ResultTuple | ResultStruct
