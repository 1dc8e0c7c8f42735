"""What a name or an expression can be while a kernel is checked.

Does: define the entities.  Does not: convert or emit.
Invariants: entities are frozen; tuples and records exist only here, the typed tree has their parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from lend.diagnostics.records import dataclass
from lend.diagnostics.spans import Span
from lend.frontend.capture import Captured
from lend.ir import syntax
from lend.ir.typed import BinaryOperator, Value
from lend.language.borrows import IndexKind
from lend.language.dims import DimType
from lend.language.types import ScalarType, StructType, VectorType


@dataclass(frozen=True, eq=False)
class Number:
    """A number known at compile time. `type` None: a literal, which takes the type of what it meets."""

    value: Any
    type: ScalarType | None


@dataclass(frozen=True, eq=False)
class Scalar:
    """A run-time scalar. `literals`: it is one of these literals and still takes the type of what it meets."""

    value: Value
    literals: frozenset[int | float] | None = None


@dataclass(frozen=True, eq=False)
class Array:
    """An array or a view of one.

    `shape` are its sizes as entities; `base` is the array it is a view of (itself if none). `index`: what is known of the
    elements, as in `typed.Parameter`. `vector`: what the elements along the last dimension are together, if that is a small
    vector.
    """

    value: Value
    name: str
    shape: tuple[Number | Scalar, ...]
    base: Value
    index: tuple[IndexKind, Number | Scalar] | None = None
    vector: VectorType | None = None

    @property
    def sizes(self) -> tuple[Number | Scalar, ...]:
        """The sizes that the user knows: without a vector's."""
        return self.shape if self.vector is None else self.shape[:-1]


@dataclass(frozen=True, eq=False)
class Element:
    """An element that is a record or a vector (or one within it): a place to read fields or items from or write to."""

    array: Array
    indices: tuple[Value, ...]
    path: tuple[int, ...]
    type: StructType
    span: Span

    @property
    def in_rows(self) -> bool:
        """Whether this is a vector of an array of vectors, whose items are the array's elements."""
        return self.array.vector is not None


@dataclass(frozen=True, eq=False)
class Record:
    """A record or a vector by value: its fields or items in order."""

    type: StructType
    items: tuple[Entity, ...]


@dataclass(frozen=True, eq=False)
class TupleOf:
    """A tuple."""

    items: tuple[Entity, ...]


@dataclass(frozen=True, eq=False)
class Function:
    """A function to inline: from Python (`captured`) or written inside another (`outer`, whose names it sees as they are when it
    is called; `defaults` were evaluated where it is written)."""

    function: syntax.Function
    captured: Captured
    outer: Frame | None = None
    identity: Any = None
    defaults: Mapping[str, Entity] | None = None
    unchecked: bool = False  # written inside `lend.unchecked`


@dataclass(frozen=True, eq=False)
class Python:
    """A Python object known at compile time: a module, a type, a function of the language, a string, None."""

    object: Any


@dataclass(frozen=True, eq=False)
class Method:
    """`receiver.name`, not yet called."""

    receiver: Array | Scalar | Number | Subgroups
    name: str


@dataclass(frozen=True, eq=False)
class Subgroups:
    """What `lend.subgroup(size)` gives."""

    size: int


@dataclass(frozen=True, eq=False)
class Reducing:
    """A reduction variable inside its parallel loop: only its operator may touch it. `current` is this iteration's part."""

    name: str
    operator: BinaryOperator
    current: Scalar | TupleOf | Record
    declared: Span


@dataclass(frozen=True, eq=False)
class Missing:
    """A name that some path leaves unassigned. `assigned`: where others assign it; `why`: words for the message."""

    assigned: tuple[Span, ...] = ()
    why: str = "not assigned on every path to here"
    fix: str | None = None


@dataclass(frozen=True, eq=False)
class Conflict:
    """A name whose values on two paths do not fit together."""

    why: str
    fix: str | None = None
    paths: tuple[tuple[Span, str], ...] = ()  # where each value is computed, and what it is


@dataclass(frozen=True, eq=False)
class Poison:
    """The result of something already refused; reading it says nothing more."""


Entity = (
    Number
    | Scalar
    | Array
    | Element
    | Record
    | TupleOf
    | Function
    | Python
    | Method
    | Subgroups
    | Reducing
    | Missing
    | Conflict
    | Poison
)


@dataclass
class Frame:
    """The function being checked: its names, and the names of its enclosing kernel's sizes."""

    name: str
    captured: Captured
    names: dict[str, Entity]
    local_names: frozenset[str]
    outer: Frame | None = None
    sizes: dict[DimType, Number | Scalar] = field(default_factory=dict[DimType, "Number | Scalar"])
    calls: tuple[Span, ...] = ()
    identity: Any = None
