"""What a kernel returns: from result words to Python numbers, arrays, records and tuples.

Does: read the words, adopt the kernel's allocations (released when the last array over one goes), keep lent arrays alive under
returned views of them.  Does not: know how the target allocates; `release` is its function.
Invariants: every allocation has exactly one owner; two returned views of one allocation share it; a returned view of an array
that was lent read-only, or is read-only itself, is read-only.
"""

from __future__ import annotations

import datetime
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lend.diagnostics.errors import DeviceMemoryError, InternalError
from lend.language.signature import ResultLeaf, ResultShape, ResultStruct, ResultTuple
from lend.language.types import ArrayType, Borrow, ScalarType, StructType, Type
from lend.runtime.borrows import Lent
from lend.runtime.elements import AnyArray, dtype_of
from lend.runtime.overlap import View, extent
from lend.runtime.scalars import FORMATS, value_of, word_count

Release = Callable[[int], None]
"""Frees what a kernel allocated, given its address."""


class _Allocation:
    """Memory that a kernel allocated; freed with this object."""

    __slots__ = ("_address", "_release")

    def __init__(self, address: int, release: Release) -> None:
        self._address = address
        self._release = release  # its own reference, for the time when modules are being taken down

    def __del__(self) -> None:
        self._release(self._address)


class _Elements:
    """What NumPy asks for memory that is not its own: the base of a returned array, which keeps `owners` alive."""

    __slots__ = ("__array_interface__", "owners")

    def __init__(self, view: View, read_only: bool, owners: Any) -> None:
        self.owners = owners
        self.__array_interface__: dict[str, Any] = {
            "version": 3,
            "data": (view.address, read_only),
            "shape": view.shape,
            "strides": view.strides,
            "typestr": f"|V{view.itemsize}",
        }


def plain_owners() -> tuple[type, ...]:
    """Classes of objects that own arrays' memory and are known to be no file mappings: among them what owns returned arrays."""
    capsule: type[object] = getattr(datetime, "datetime_CAPI", None).__class__
    return bytes, bytearray, _Elements, capsule


def leaf_types(shape: ResultShape | None) -> tuple[Type, ...]:
    """The types of the leaves of a result, in the order in which the kernel yields them."""
    if shape is None:
        return ()
    if isinstance(shape, ResultLeaf):
        return (shape.type,)
    return tuple(type for item in shape.items for type in leaf_types(item))


def format_of(type: Type) -> str:
    """The `struct` format of a result leaf."""
    return f"QQ{2 * type.dimensions}q" if isinstance(type, ArrayType) else FORMATS[type.name]


class ResultReader:
    """Reads the results of one specialisation. `release`: for arrays that the kernel allocates."""

    def __init__(self, shape: ResultShape | None, release: Release | None = None) -> None:
        self.shape = shape
        self.release = release
        self.types = leaf_types(shape)
        self.layout = struct.Struct("<" + "".join(map(format_of, self.types)))

    def read(self, memory: Any, offset: int, lent: Sequence[Lent]) -> Any:
        """The value that the kernel returned: its words stand in `memory` (a buffer) from `offset` on."""
        if self.shape is None:
            return None
        words = self.layout.unpack_from(memory, offset)
        if isinstance(self.shape, ResultLeaf) and isinstance(self.shape.type, ScalarType):
            return value_of(self.shape.type, words)
        owners: dict[int, _Allocation] = {}
        # All allocations first, so that none is lost if building an array fails.
        position = 0
        places: list[int] = []
        for type in self.types:
            places.append(position)
            if isinstance(type, ArrayType):
                allocation = words[position + 1]
                if allocation and allocation not in owners:
                    owners[allocation] = self._adopt(allocation)
                position += 2 + 2 * type.dimensions
            else:
                position += word_count(type)
        leaves = iter([self._leaf(type, words, place, owners, lent) for type, place in zip(self.types, places, strict=True)])
        return _build(self.shape, leaves)

    def _adopt(self, allocation: int) -> _Allocation:
        if self.release is None:
            raise InternalError("a kernel returned memory that nothing releases")
        return _Allocation(allocation, self.release)

    def _leaf(self, type: Type, words: tuple[Any, ...], place: int, owners: dict[int, _Allocation], lent: Sequence[Lent]) -> Any:
        if isinstance(type, ScalarType):
            return value_of(type, words[place : place + word_count(type)])
        address, allocation = words[place], words[place + 1]
        sizes = words[place + 2 : place + 2 + type.dimensions]
        strides = words[place + 2 + type.dimensions : place + 2 + 2 * type.dimensions]
        dtype = dtype_of(type.element)
        if 0 in sizes:
            return empty_array(sizes, dtype)
        view = View(address, sizes, strides, dtype.itemsize)
        if allocation:
            return _array(view, dtype, False, owners[allocation])
        return view_of_lent(view, dtype, type.borrow, lent)


def empty_array(sizes: tuple[int, ...], dtype: np.dtype[Any]) -> AnyArray:
    """An array without elements. Raises DeviceMemoryError where its shape is too much for NumPy all the same."""
    try:
        return np.empty(sizes, dtype)
    except ValueError:
        raise DeviceMemoryError(f"a kernel returned an array of shape {sizes}, which NumPy cannot hold") from None


def assemble(shape: ResultShape, leaves: Sequence[Any]) -> Any:
    """The value that a kernel returned, from its leaves in order (Python numbers and ndarrays)."""
    return _build(shape, iter(leaves))


def _array(view: View, dtype: np.dtype[Any], read_only: bool, owners: Any) -> AnyArray:
    # By way of plain bytes: the interface protocol cannot name every dtype (records with padding, bf16).
    return np.asarray(_Elements(view, read_only, owners)).view(dtype)


def view_of_lent(view: View, dtype: np.dtype[Any], borrow: Borrow, lent: Sequence[Lent]) -> AnyArray:
    """A view of one of the arrays that a call lends."""
    low, high = extent(view)
    for entry in lent:
        if entry.low <= low and high <= entry.high:
            read_only = not (borrow.writable and entry.array.flags.writeable)
            return _array(view, dtype, read_only, entry.array)
    raise InternalError("a kernel returned an array that is neither its own nor an argument's")


def _build(shape: ResultShape, leaves: Any) -> Any:
    if isinstance(shape, ResultLeaf):
        return next(leaves)
    if isinstance(shape, ResultTuple):
        return tuple([_build(item, leaves) for item in shape.items])
    return _record(shape, [_build(item, leaves) for item in shape.items])


def _record(shape: ResultStruct, values: list[Any]) -> Any:
    struct_type: StructType = shape.type
    if struct_type.python_class is None:
        raise InternalError(f"record {struct_type.name} has no Python class to be returned as")
    return struct_type.python_class(*values)
