"""The types of values inside a kernel: scalars, records and borrowed arrays.

Does: define the types and say which conversions lose nothing.  Does not: look at user annotations (`borrows.py`).
Invariants: types are compared by identity; `array_type` interns, so equal array types are one object.

Example: `widens(I32, F64)` is true, `widens(I64, F64)` is not, `widens(INDEX, F64)` is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from enum import Enum
from functools import cache
from typing import Any, Literal

from lend.diagnostics.records import dataclass

Kind = Literal["bool", "int", "uint", "float", "complex"]
MathMode = Literal["fast", "default", "strict"]
"""How exactly a kernel computes; see `lend.kernel`."""


@dataclass(frozen=True, eq=False)
class ScalarType:
    """A machine scalar: `kind` and width in bits as stored in memory.

    Outside kernels a scalar type can be called: `f32(0.1)` rounds, `i32(2**31)` wraps, to a Python number.
    """

    name: str
    kind: Kind
    bits: int

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        return self.name.upper()

    @property
    def bytes(self) -> int:
        """The size in memory, in bytes."""
        return self.bits // 8

    @property
    def is_integer(self) -> bool:
        """Whether this is a signed or unsigned integer type (`bool_` is not)."""
        return self.kind in ("int", "uint")

    @property
    def is_float(self) -> bool:
        """Whether this is a real floating-point type."""
        return self.kind == "float"

    @property
    def minimum(self) -> int:
        """The least value of an integer type or `bool_`."""
        return -(1 << (self.bits - 1)) if self.kind == "int" else 0

    @property
    def maximum(self) -> int:
        """The greatest value of an integer type or `bool_`."""
        if self.kind == "bool":
            return 1
        return (1 << (self.bits - 1)) - 1 if self.kind == "int" else (1 << self.bits) - 1

    def __call__(self, value: Any) -> Any:
        from lend.language.arithmetic import cast  # heavy part, loaded at first use

        return cast(self, value)


BOOL_ = ScalarType("bool_", "bool", 8)
I8 = ScalarType("i8", "int", 8)
I16 = ScalarType("i16", "int", 16)
I32 = ScalarType("i32", "int", 32)
I64 = ScalarType("i64", "int", 64)
U8 = ScalarType("u8", "uint", 8)
U16 = ScalarType("u16", "uint", 16)
U32 = ScalarType("u32", "uint", 32)
U64 = ScalarType("u64", "uint", 64)
F16 = ScalarType("f16", "float", 16)
BF16 = ScalarType("bf16", "float", 16)
F32 = ScalarType("f32", "float", 32)
F64 = ScalarType("f64", "float", 64)
COMPLEX64 = ScalarType("complex64", "complex", 64)
COMPLEX128 = ScalarType("complex128", "complex", 128)
INDEX = ScalarType("index", "int", 64)
"""A loop index or a size: an `i64` that, unlike others, may become an `f64` without a cast."""

SCALARS = (BOOL_, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64, COMPLEX64, COMPLEX128)

ATOMIC_ELEMENTS = (I32, I64, U32, U64, F32, F64)
"""What `Atomic` arrays hold."""

SIGNIFICAND = {F16: 11, BF16: 8, F32: 24, F64: 53}
"""Bits of precision of each float type, the hidden one included."""

PART = {COMPLEX64: F32, COMPLEX128: F64}
"""The type of the real and the imaginary part of each complex type."""


@cache
def widens(source: ScalarType, target: ScalarType) -> bool:
    """Whether every value of `source` is exactly a value of `target`, by lend's rules for implicit conversion."""
    if source is target:
        return True
    if source is INDEX:
        return target in (I64, F64, COMPLEX128)
    if target is INDEX:
        return source is BOOL_ or (source.is_integer and source is not I64 and widens(source, I64))
    if source.kind == "bool":
        return True
    if target.kind == "bool":
        return False
    if source.is_integer and target.is_integer:
        return source.minimum >= target.minimum and source.maximum <= target.maximum
    if source.is_integer and target.is_float:
        if target is F64:
            return source.bits <= 32
        return target is F32 and source.bits <= 16
    if source.is_float and target.is_float:
        return {F16: (F32, F64), BF16: (F32, F64), F32: (F64,), F64: ()}[source].__contains__(target)
    if target.kind == "complex":
        if source.kind == "complex":
            return target is COMPLEX128
        return widens(source, PART[target])
    return False


@dataclass(frozen=True, eq=False)
class StructType:
    """A record: its fields in order, with C layout (each aligned to its own size, the whole padded).

    `offsets` and `size` are in bytes; the layout is the same on every target.
    """

    name: str
    fields: tuple[tuple[str, ScalarType | StructType], ...]
    python_class: type | None = None
    offsets: tuple[int, ...] = field(init=False)
    size: int = field(init=False)
    alignment: int = field(init=False)

    def __post_init__(self) -> None:
        offsets: list[int] = []
        end, largest = 0, 1
        for _, member in self.fields:
            align = alignment_of(member)
            end = (end + align - 1) // align * align
            offsets.append(end)
            end += size_of(member)
            largest = max(largest, align)
        object.__setattr__(self, "offsets", tuple(offsets))
        object.__setattr__(self, "size", (end + largest - 1) // largest * largest)
        object.__setattr__(self, "alignment", largest)

    def __repr__(self) -> str:
        return self.name

    def index_of(self, name: str) -> int | None:
        """The position of the field called `name`, or None."""
        for position, (field_name, _) in enumerate(self.fields):
            if field_name == name:
                return position
        return None


class VectorType(StructType):
    """A small vector: a record of equal scalars, whose fields are called `0`, `1`, ….

    An array of vectors is an array of scalars with one dimension more, the last one (`signature.ArrayKind.vector`).
    """

    @property
    def element(self) -> ScalarType:
        """The type of one item."""
        member = self.fields[0][1]
        assert isinstance(member, ScalarType)
        return member

    @property
    def length(self) -> int:
        """How many items there are."""
        return len(self.fields)


ElementType = ScalarType | StructType


def size_of(element: ElementType) -> int:
    """The size of one element in memory, in bytes."""
    return element.bytes if isinstance(element, ScalarType) else element.size


def alignment_of(element: ElementType) -> int:
    """The natural alignment of one element, in bytes (a complex number aligns like its parts)."""
    if isinstance(element, StructType):
        return element.alignment
    return PART[element].bytes if element in PART else element.bytes


def scalars_of(element: ElementType) -> Iterator[tuple[int, ...]]:
    """The ways from an element to its scalars: positions of fields, outermost first; of a scalar the way of no step."""
    if isinstance(element, ScalarType):
        yield ()
        return
    for position, (_, member) in enumerate(element.fields):
        for path in scalars_of(member):
            yield (position, *path)


def names_along(element: ElementType, path: tuple[int, ...]) -> str:
    """A way to a scalar as it is written behind an element: `.position.x`, `.position[0]`."""
    text = ""
    for position in path:
        assert isinstance(element, StructType)
        text += f"[{position}]" if isinstance(element, VectorType) else f".{element.fields[position][0]}"
        element = element.fields[position][1]
    return text


class Borrow(Enum):
    """How an array is lent."""

    REF = "Ref"
    MUT = "Mut"
    OUT = "Out"
    ATOMIC = "Atomic"  # shared, and changed by atomic operations only: no plain read or write
    OWNED = "owned"  # a temporary or a local array of the kernel's own

    @property
    def writable(self) -> bool:
        """Whether the kernel may write through this borrow."""
        return self is not Borrow.REF


class Layout(Enum):
    """What is known about an array's byte strides when the code is specialised."""

    C = "C"  # row-major without gaps, elements aligned
    F = "F"  # column-major without gaps, elements aligned
    STRIDED = "strided"  # any byte strides, elements aligned
    UNALIGNED = "unaligned"  # any byte strides, elements anywhere


@dataclass(frozen=True, eq=False)
class ArrayType:
    """A view of elements in memory. Made by `array_type`, which interns."""

    element: ElementType
    dimensions: int
    borrow: Borrow
    layout: Layout

    def __repr__(self) -> str:
        return f"{self.borrow.value}[{self.element}, {self.dimensions}d, {self.layout.value}]"


@cache
def array_type(element: ElementType, dimensions: int, borrow: Borrow, layout: Layout) -> ArrayType:
    """The one `ArrayType` of these parts."""
    return ArrayType(element, dimensions, borrow, layout)


Type = ScalarType | ArrayType
