"""What a typed value is while a function is being written: the LLVM operand of a scalar, or an array's descriptor.

Does: describe arrays, take values apart into operands and put them together again (for phis, environments and results).
Does not: access memory.
Invariants: an array of layout C or F has strides derived from its sizes, never carried, so that LLVM sees the constant one.
`owner` is the allocation or the local array that an array lies in (`null` if that is not this function's own memory).
"""

from __future__ import annotations

from lend.diagnostics.records import dataclass
from lend.language.types import ArrayType, Layout, ScalarType, Type, alignment_of, size_of
from lend.lower.arithmetic import register_type
from lend.lower.builder import FunctionBuilder
from lend.lower.indexing import multiply


@dataclass(frozen=True)
class ArrayValue:
    """A view of memory: the address of its first element, sizes in elements and strides in bytes, one per dimension."""

    type: ArrayType
    pointer: str
    sizes: tuple[str, ...]
    strides: tuple[str, ...]
    owner: str = "null"

    def alignment(self, scalar: ScalarType) -> int:
        """What the address of a `scalar` in an element is a multiple of."""
        return 1 if self.type.layout is Layout.UNALIGNED else alignment_of(scalar)


Lowered = str | ArrayValue


def carries_strides(type: ArrayType) -> bool:
    """Whether an array's strides are numbers of its own."""
    return type.layout in (Layout.STRIDED, Layout.UNALIGNED)


def dense_strides(builder: FunctionBuilder, type: ArrayType, sizes: tuple[str, ...]) -> tuple[str, ...]:
    """The strides of an array without gaps: row-major, or column-major for layout F."""
    order = range(type.dimensions) if type.layout is Layout.F else reversed(range(type.dimensions))
    strides = [""] * type.dimensions
    stride = str(size_of(type.element))
    for dimension in order:
        strides[dimension] = stride
        stride = multiply(builder, stride, sizes[dimension])
    return tuple(strides)


def describe(
    builder: FunctionBuilder, type: ArrayType, pointer: str, sizes: tuple[str, ...], strides: tuple[str, ...], owner: str = "null"
) -> ArrayValue:
    """An array; `strides` count only where the layout does not give them."""
    if not carries_strides(type):
        strides = dense_strides(builder, type, sizes)
    return ArrayValue(type, pointer, sizes, strides, owner)


def operands(type: Type, value: Lowered) -> list[tuple[str, str]]:
    """The LLVM types and operands that a value consists of as `type`; `assemble` is the inverse.

    An array of layout C may flow into a strided one.
    """
    if isinstance(value, str):
        assert isinstance(type, ScalarType)
        return [(register_type(type), value)]
    assert isinstance(type, ArrayType)
    words = [*value.sizes, *(value.strides if carries_strides(type) else ())]
    return [("ptr", value.pointer), ("ptr", value.owner), *(("i64", word) for word in words)]


def assemble(builder: FunctionBuilder, type: Type, parts: list[str]) -> Lowered:
    """A value from its operands."""
    if isinstance(type, ScalarType):
        return parts[0]
    sizes, strides = tuple(parts[2 : 2 + type.dimensions]), tuple(parts[2 + type.dimensions :])
    return describe(builder, type, parts[0], sizes, strides, parts[1])
