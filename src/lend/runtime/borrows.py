"""One borrowed array: is it what the parameter asks for, and how does it lie in memory?

Does: admit an argument for `Ref`, `Mut` or `Out` (kind, dtype, byte order, dimensions, fixed sizes, permission to write,
self-overlap), find its layout class and bind its sizes.  Does not: compare arguments with each other (`aliasing.py`) or solve
for sizes (`sizes.py`).
Invariants: the array is used in place, whatever its strides: nothing here copies. What is admitted for writing has no two
elements in the same byte.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from lend.diagnostics.errors import ArgumentError, BorrowError, ShapeError
from lend.diagnostics.words import class_of_value
from lend.language.annotations import kind_text
from lend.language.dims import DimType, Size, size_text
from lend.language.dtypes import scalar_of
from lend.language.signature import ArrayKind
from lend.language.types import (
    ATOMIC_ELEMENTS,
    ArrayType,
    Borrow,
    ElementType,
    Layout,
    ScalarType,
    StructType,
    alignment_of,
    array_type,
)
from lend.runtime.arrays import OnDevice
from lend.runtime.elements import AnyArray, AnyDtype, is_array, is_native, is_numpy_scalar, mismatch, numpy_name
from lend.runtime.memory import ALIGNED, C_CONTIGUOUS, F_CONTIGUOUS, WRITEABLE, address_of, view_of
from lend.runtime.overlap import extent, overlaps_itself

LAYOUTS = (Layout.C, Layout.F, Layout.STRIDED, Layout.UNALIGNED)

DEVICE_NAMES = {
    2: "cuda",
    3: "cuda (pinned)",
    4: "opencl",
    7: "vulkan",
    8: "metal",
    10: "rocm",
    13: "cuda (managed)",
    14: "oneapi",
}
"""DLPack's device types, other than host memory."""


class Lent(NamedTuple):
    """An array that this call lends: its parameter, and the bytes from `low` to before `high` that hold its elements."""

    parameter: ArrayParameter
    array: AnyArray
    low: int
    high: int


_new_tuple: Callable[[type[Lent], tuple[Any, ...]], Lent] = tuple.__new__  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
"""`Lent(...)` without the detour through its own `__new__`: half the time."""


class Call(Protocol):
    """What binding one array reads and adds to (`arguments.Binding`)."""

    sizes: list[int]  # by position in the signature's dims; -1 where not known yet
    typevars: dict[TypeVar, ScalarType]
    leaves: list[Any]
    words: list[Any]
    lent: list[Lent]


class ArrayParameter:
    """An array parameter, or one member of a tuple of borrows (`name` is then `xs[0]`)."""

    def __init__(self, kernel: str, name: str, kind: ArrayKind, dims: tuple[DimType, ...]) -> None:
        self.kernel = kernel
        self.name = name
        self.kind = kind
        self.subject = f"{kernel}: {name}"
        self.dimensions = len(kind.sizes)
        self.writable = kind.borrow.writable
        self.typevar = kind.element if isinstance(kind.element, TypeVar) else None
        self.slots: list[tuple[int, int]] = []  # (dimension, position in the signature's dims)
        self.fixed: list[tuple[int, int]] = []  # (dimension, size)
        self.computed: list[tuple[int, Size]] = []  # (dimension, derived size or expression)
        for dimension, size in enumerate(kind.sizes):
            if isinstance(size, DimType) and size.equals is None:
                self.slots.append((dimension, dims.index(size)))
            elif isinstance(size, int):
                self.fixed.append((dimension, size))
            else:
                self.computed.append((dimension, size))
        self._accepted: dict[AnyDtype, tuple[ArrayType, ...]] = {}
        # NumPy's flag tells the alignment of scalars; records count as aligned anywhere unless made with align=True.
        self._trusts_flag = not isinstance(kind.element, StructType)

    def __str__(self) -> str:
        """The parameter's annotation as the user wrote it."""
        return kind_text(self.kind)

    def bind(self, value: Any, call: Call) -> ArrayType:
        """Check `value`, note its sizes, words and extent in `call`, and give its type in this specialisation."""
        array: AnyArray = value if type(value) is np.ndarray else self._admit(value)
        variants = self._accepted.get(array.dtype) or self._accept(array.dtype)
        if self.typevar is not None and call.typevars.get(self.typevar) is not variants[0].element:
            raise self._typevar_conflict(variants[0].element, call)
        shape = array.shape
        if len(shape) != self.dimensions:
            raise self._wrong_dimensions(shape)
        sizes = call.sizes
        for dimension, slot in self.slots:
            size = sizes[slot]
            if size != shape[dimension]:
                if size >= 0:
                    raise self._size_conflict(dimension, slot, shape[dimension], call)
                sizes[slot] = shape[dimension]
        if self.fixed:
            self._check_fixed(shape)
        flags = array.flags.num
        if self.writable and not flags & WRITEABLE:
            raise BorrowError(f"{self.subject} is lent as {self.kind.borrow.value} but is read-only{_why_read_only(array)}")
        address = address_of(array)
        strides = array.strides
        if flags & (C_CONTIGUOUS | F_CONTIGUOUS):
            low, high = address, address + array.nbytes
        else:
            low, high = extent(view_of(array))
            if self.writable:
                self._check_self_overlap(array)
        if not (flags & ALIGNED if self._trusts_flag else self._is_aligned(address, shape, strides)):
            layout = 3
            if self.kind.borrow is Borrow.ATOMIC:
                raise BorrowError(
                    f"{self.subject} is lent as Atomic, but its elements are not aligned, and no processor changes such "
                    "ones indivisibly: pass an aligned array"
                )
        elif flags & C_CONTIGUOUS:
            layout = 0
        else:
            layout = 1 if flags & F_CONTIGUOUS else 2
        call.leaves.append(array)
        words = call.words
        words.append(address)
        words += shape
        words += strides
        call.lent.append(_new_tuple(Lent, (self, array, low, high)))
        return variants[layout]  # as in LAYOUTS

    def _is_aligned(self, address: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
        bits = address
        for size, stride in zip(shape, strides, strict=True):
            if size == 0:
                return True
            if size > 1:
                bits |= stride
        assert not isinstance(self.kind.element, TypeVar)
        return bits % alignment_of(self.kind.element) == 0

    # ------------------------------------------------------------------------------------------------- refusals

    def _admit(self, value: Any) -> AnyArray:
        """The array under an argument that is not exactly an `ndarray`, without its subclass's ways."""
        if isinstance(value, OnDevice):
            return value
        if not is_array(value):
            shared = host_array(value)
            if shared is None:
                raise ArgumentError(f"{self.subject} must be {self}, {self._not_an_array(value)}")
            return shared
        if isinstance(value, np.ma.MaskedArray):
            raise ArgumentError(
                f"{self.subject} is a masked array, whose mask a kernel would not see: pass {self.name}.data and the mask"
            )
        if isinstance(value, np.matrix):
            raise ArgumentError(
                f"{self.subject} is a np.matrix, whose operators are not an array's: pass np.asarray({self.name})"
            )
        return value.view(np.ndarray)  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]

    def _not_an_array(self, value: Any) -> str:
        device = _device_of(value)
        if device is not None:
            return f"and lives on device {device}; this kernel runs on the cpu: bring it over first"
        kind = class_of_value(value)
        element = self.kind.element
        dtype = "" if isinstance(element, TypeVar) else f", {numpy_name(element)}"
        if isinstance(value, (list, tuple)):
            return f"not {kind}: pass a NumPy array: np.asarray({self.name}{dtype})"
        if is_numpy_scalar(value):
            return f"not {kind}, a single NumPy value: pass an array"
        if hasattr(value, "__dlpack__"):
            return f"not {kind}: pass np.from_dlpack({self.name}), which shares its memory"
        if hasattr(value, "__array__"):
            return f"not {kind}: pass a NumPy array, such as np.asarray({self.name}{dtype})"
        return f"not {kind}: pass a NumPy array"

    def _accept(self, dtype: AnyDtype) -> tuple[ArrayType, ...]:
        """The array types, by layout, that `dtype` gives here. Raises ArgumentError if it is not the parameter's."""
        element = self._element_of(dtype)
        why = mismatch(dtype, element)
        if why is not None:
            raise ArgumentError(f"{self.subject} must be {self} but {why}: {self._dtype_fix(dtype, element)}")
        if self.kind.borrow is Borrow.ATOMIC and element not in ATOMIC_ELEMENTS:
            names = ", ".join(map(repr, ATOMIC_ELEMENTS))
            raise ArgumentError(f"{self.subject} must be {self}, and there are no atomic operations on {element}, but on {names}")
        variants = tuple(array_type(element, self.dimensions, self.kind.borrow, layout) for layout in LAYOUTS)
        self._accepted[dtype] = variants
        return variants

    def _element_of(self, dtype: AnyDtype) -> ElementType:
        if not isinstance(self.kind.element, TypeVar):
            return self.kind.element
        element = scalar_of(dtype)
        if element is None:
            raise ArgumentError(f"{self.subject} must be {self}, and dtype {dtype} is none of lend's element types")
        allowed = [constraint for constraint in self.kind.element.__constraints__ if isinstance(constraint, ScalarType)]
        if allowed and element not in allowed:
            names = ", ".join(map(repr, allowed))
            raise ArgumentError(
                f"{self.subject} must be {self} but has dtype {dtype}; {self.kind.element.__name__} is one of {names}"
            )
        return element

    def _dtype_fix(self, dtype: AnyDtype, element: ElementType) -> str:
        if not is_native(dtype):
            return f"convert it first: {self.name}.astype({self.name}.dtype.newbyteorder('='))"
        wanted = numpy_name(element)
        given = scalar_of(dtype)
        if self.kind.facts is not None and given is not None and given.is_integer:
            stored = kind_text(replace(self.kind, element=given))
            return f"write {stored} in the kernel, or pass {self.name}.astype({wanted})"
        if self.writable or isinstance(element, StructType):
            return f"make it with dtype={wanted}"
        return f"make it with dtype={wanted}, or pass {self.name}.astype({wanted})"

    def _typevar_conflict(self, element: ElementType, call: Call) -> ArgumentError:
        assert self.typevar is not None
        name, known = self.typevar.__name__, call.typevars.get(self.typevar)
        other = next((lent.parameter.name for lent in call.lent if lent.parameter.typevar is self.typevar), None)
        where = f"in {other}" if other is not None else "elsewhere"
        return ArgumentError(f"{self.kernel}: {name} is {known} {where} but {element} in {self.name}")

    def _wrong_dimensions(self, shape: tuple[int, ...]) -> ShapeError:
        there, wanted = len(shape), self.dimensions
        last = "" if self.kind.vector is None else f" (the last one for the {self.kind.vector.length} items of a vector)"
        return ShapeError(
            f"{self.subject} must be {self}, of {wanted} dimension{'' if wanted == 1 else 's'}{last}, "
            f"but has {there} dimension{'' if there == 1 else 's'} (shape {shape})"
        )

    def _size_conflict(self, dimension: int, slot: int, size: int, call: Call) -> ShapeError:
        name = size_text(self.kind.sizes[dimension])
        for lent in call.lent:
            for other, other_slot in lent.parameter.slots:
                if other_slot == slot:
                    return ShapeError(
                        f"{self.kernel}: {name} is {lent.array.shape[other]} in {lent.parameter.name} (dimension {other}) "
                        f"but {size} in {self.name} (dimension {dimension})"
                    )
        first = next(other for other, other_slot in self.slots if other_slot == slot)  # the array disagrees with itself
        return ShapeError(
            f"{self.kernel}: {name} is {call.sizes[slot]} in {self.name} (dimension {first}) "
            f"but {size} in {self.name} (dimension {dimension})"
        )

    def _check_fixed(self, shape: tuple[int, ...]) -> None:
        for dimension, size in self.fixed:
            if shape[dimension] != size:
                raise ShapeError(
                    f"{self.subject} must be {self}, of size {size} in dimension {dimension}, but has {shape[dimension]} there"
                )

    def _check_self_overlap(self, array: AnyArray) -> None:
        overlap = overlaps_itself(view_of(array))
        if overlap is False:
            return
        borrow = self.kind.borrow.value
        if overlap is None:
            raise BorrowError(
                f"{self.subject} is lent as {borrow}, and whether its elements overlap could not be decided for "
                f"strides {array.strides} and shape {array.shape}: pass a view of simpler strides"
            )
        pairs = zip(array.shape, array.strides, strict=True)
        still = [str(dimension) for dimension, (size, stride) in enumerate(pairs) if size > 1 and stride == 0]
        if still:
            raise BorrowError(
                f"{self.subject} is lent as {borrow} but is broadcast: all indices of dimension {', '.join(still)} are one "
                f"element. Pass an array of its own, such as {self.name}.copy()"
            )
        raise BorrowError(
            f"{self.subject} is lent as {borrow} but overlaps itself: with strides {array.strides}, different indices reach "
            f"the same bytes. Pass an array of its own, such as {self.name}.copy()"
        )


def _why_read_only(array: AnyArray) -> str:
    if any(size > 1 and stride == 0 for size, stride in zip(array.shape, array.strides, strict=True)):
        return " (it is broadcast): pass an array of its own, such as a copy"
    return ": pass a writeable array"


def host_array(value: Any) -> AnyArray | None:
    """Another library's array in host memory, as NumPy's array over that memory; None for what is none."""
    if not (hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__")) or _device_of(value) is not None:
        return None
    try:
        return np.from_dlpack(value)
    except Exception:  # whatever that library raises: it does not lend this array
        return None


def _device_of(value: Any) -> str | None:
    """The device that a foreign array lives on, if that is not host memory."""
    if hasattr(value, "__dlpack_device__"):
        try:
            number, index = value.__dlpack_device__()
        except Exception:  # a foreign library's business; what matters is that this is no NumPy array
            return None
        if int(number) == 1:
            return None
        return f"{DEVICE_NAMES.get(int(number), f'of DLPack type {int(number)}')}:{index}"
    if hasattr(value, "__cuda_array_interface__"):
        return "cuda"
    return None
