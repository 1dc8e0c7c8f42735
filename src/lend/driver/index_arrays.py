"""Index arrays are tested when they are lent: `Index`, `Unique` and `Offsets`.

Does: have the elements of each such array of a call looked at, in parallel where that pays, and word what is wrong.  Does not:
judge dtypes and shapes (`runtime/borrows.py`), or prove anything from what was tested.
Invariants: an array that is let through has the promised elements, whatever its strides; nothing is remembered from call to
call, because a NumPy array can change between them. What a test finds wrong is looked for again, serially, to be named; the
position that is named is the first in row-major order.

Cost, in parallel reads of the array: `Index` and `Offsets` one; `Unique` one if the elements ascend, else what it takes to set a
bit for each (`targets/cpu/index_tests_ir.py`); a copy comes on top for `Unique` arrays with gaps.

Example: lent as `Ref[Index[N], M]` where N is 3, [0, 2, 5] raises BoundsError: "gather: idx must be Ref[Index[N], M], of indices
below N = 3, but idx[2] is 5".
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

from lend.diagnostics.errors import BorrowError, BoundsError, LendError, ShapeError
from lend.diagnostics.records import dataclass
from lend.diagnostics.spans import Span
from lend.language.abi import MAX_SIZE
from lend.language.dims import DimType, Size, SizeExpression, size_text
from lend.language.signature import ArrayKind, IndexFacts, Signature, TupleKind
from lend.language.types import I64
from lend.runtime.arguments import Binding
from lend.runtime.borrows import ArrayParameter
from lend.runtime.elements import AnyArray
from lend.runtime.memory import address_of
from lend.targets.cpu.exclusive import COMPILING

SMALL = 1 << 12
"""Up to so many elements NumPy is quick enough: nothing need be compiled for them."""

DENSE = 8
"""With more possible values for each element, NumPy has no count for each value."""

GOOD, OPEN = 1, 2
"""Verdicts of the compiled tests."""

UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


@dataclass(frozen=True, eq=False)
class IndexArrays:
    """What tests the index arrays of a kernel's calls. `span`: the kernel's own place, for errors."""

    signature: Signature
    span: Span

    def __call__(self, binding: Binding) -> None:
        """Raise BoundsError or BorrowError for the first array whose elements are not what its index type says."""
        sizes = dict(zip(self.signature.dims, binding.dims, strict=True))
        for lent in binding.lent:
            facts = lent.parameter.kind.facts
            if facts is not None and lent.array.size:
                _Lent(lent.parameter, lent.array, facts, sizes, self.span).check()


def index_arrays(signature: Signature, span: Span) -> IndexArrays | None:
    """What tests the calls of a kernel; None where no parameter is an index array."""
    for spec in signature.parameters:
        kinds = (spec.kind,) if isinstance(spec.kind, ArrayKind) else spec.kind.items if isinstance(spec.kind, TupleKind) else ()
        if any(kind.facts is not None for kind in kinds):
            return IndexArrays(signature, span)
    return None


class _Lent:
    """One index array of one call, not empty."""

    def __init__(
        self, parameter: ArrayParameter, array: AnyArray, facts: IndexFacts, sizes: Mapping[DimType, int], span: Span
    ) -> None:
        self.parameter, self.array, self.facts, self.sizes, self.span = parameter, array, facts, sizes, span
        self.bound = self.value_of(facts.bound)
        if self.bound > MAX_SIZE:
            raise ShapeError(
                f"{self.subject}, whose bound {size_text(facts.bound)} is {self.bound}, and no size may exceed {MAX_SIZE}"
            )
        itemsize = array.dtype.itemsize
        # As unsigned numbers negative ones are large: too large, since no index needs a signed type's highest bit.
        self.unsigned: AnyArray = array.view(UNSIGNED[itemsize])
        self.greatest = (1 << (8 * itemsize - (array.dtype.kind == "i"))) - 1

    def check(self) -> None:
        """Raise unless the elements are what the index type says."""
        end = self.bound + 1 if self.facts.kind == "offsets" else self.bound
        if end <= 0 or not self.good(min(end - 1, self.greatest)):
            raise self.outside(end)

    def good(self, limit: int) -> bool:
        """Whether the elements are at most `limit`, and never fall, or differ, if they must."""
        match self.facts.kind:
            case "index":
                return at_most(self.unsigned, limit)
            case "offsets":
                return int(self.unsigned[-1]) <= limit and not falls(self.unsigned, limit)
            case "unique":
                return self.unsigned.size <= limit + 1 and distinct(self.unsigned, limit)

    # ------------------------------------------------------------------------------------------------------- bounds

    def value_of(self, size: Size) -> int:
        """The value of a bound. Raises ShapeError where it, or what it is computed from, is no size."""
        if isinstance(size, DimType):
            return self.sizes[size] if size.equals is None else self.value_of(size.equals)
        if not isinstance(size, SizeExpression):
            return size
        left, right = self.value_of(size.left), self.value_of(size.right)
        if size.operator in ("//", "%") and right == 0:
            raise ShapeError(f"{self.subject}, whose bound {size_text(size)} divides by zero")
        value = {"+": left + right, "-": left - right, "*": left * right}.get(size.operator)
        if value is None:
            value = left // right if size.operator == "//" else left % right
        if not I64.minimum <= value <= I64.maximum:
            raise ShapeError(f"{self.subject}, whose bound {size_text(size)} is {value}, more than an i64 holds")
        return value

    @property
    def subject(self) -> str:
        """The start of every message."""
        return f"{self.parameter.subject} must be {self.parameter}"

    # ------------------------------------------------------------------------------------------------- what is wrong

    def outside(self, end: int) -> LendError:
        """The error for an array that was found wrong; `end`: what its elements must be less than."""
        bound = self.facts.bound
        named = f"{self.bound}" if isinstance(bound, int) else f"{size_text(bound)} = {self.bound}"
        offsets = self.facts.kind == "offsets"
        within = f"of offsets in 0..{named}" if offsets else f"of indices below {named}"
        if end <= 0:
            count = self.array.size
            what = f"and there are none, but the array has {count} element{'s' if count != 1 else ''}"
            return self.bounds_error(f"{self.subject}, {within}, {what}", (0,) * self.array.ndim)
        wrong: Any = (self.array < 0) | (self.array >= end)
        if wrong.any():
            place = self.place(int(wrong.argmax()))
            negative = "" if offsets or self.array[place] >= 0 else ": negative ones do not count from the end"
            return self.bounds_error(f"{self.subject}, {within}, but {self.element(place)}{negative}", place)
        return self.falling() if offsets else self.repeated()

    def falling(self) -> LendError:
        """The error for offsets that decrease."""
        fall: Any = self.array[1:] < self.array[:-1]
        if not fall.any():
            return self.changed()
        place = int(fall.argmax())
        both = f"{self.element((place,))} and {self.element((place + 1,))}"
        return self.bounds_error(f"{self.subject}, of offsets that never decrease, but {both}", (place + 1,))

    def repeated(self) -> LendError:
        """The error for indices of which two are equal."""
        flat: Any = self.array.reshape(-1)
        order = np.argsort(flat, kind="stable")
        ordered = flat[order]
        same = ordered[1:] == ordered[:-1]
        if self.facts.kind != "unique" or not same.any():
            return self.changed()
        seconds = order[1:][same]
        which = int(seconds.argmin())
        first, second = self.place(int(order[:-1][same][which])), self.place(int(seconds[which]))
        name = self.parameter.name
        return BorrowError(
            f"{self.subject}, of indices that differ, but {name}{list(first)} and {name}{list(second)} "
            f"are both {int(self.array[first])}"
        )

    def changed(self) -> LendError:
        """The error for an array that was wrong and is no more."""
        return BorrowError(f"{self.parameter.subject} changed while it was lent: another thread writes it")

    def place(self, position: int) -> tuple[int, ...]:
        """A row-major position as subscripts."""
        return tuple(int(index) for index in np.unravel_index(position, self.array.shape))

    def element(self, place: tuple[int, ...]) -> str:
        """An element and its value, in words."""
        return f"{self.parameter.name}{list(place)} is {int(self.array[place])}"

    def bounds_error(self, message: str, place: tuple[int, ...]) -> BoundsError:
        """A BoundsError for the element at `place`."""
        error = BoundsError(message)
        error.kernel, error.file, error.line, error.thread = (
            self.parameter.kernel, self.span.source.filename, self.span.line, None,
        )  # fmt: skip
        error.array, error.dimension, error.index, error.size = self.parameter.name, 0, int(self.array[place]), self.bound
        return error


# --------------------------------------------------------------------------------------------------- reading an array


def at_most(array: AnyArray, limit: int) -> bool:
    """Whether no element of an array of unsigned integers, which is not empty, is above `limit`."""
    if array.size <= SMALL:
        return int(array.max()) <= limit
    array = in_few_dimensions(array)
    if _is_dense(array):
        return _tested("index", array, limit) == GOOD
    kernels = _kernels()
    if array.ndim > 2:
        array = array.reshape((1,) * (6 - array.ndim) + array.shape)
    kernel: Any = {1: kernels.greatest_1, 2: kernels.greatest_2, 6: kernels.greatest_6}[array.ndim]
    return int(kernel(array)) <= limit


def falls(array: AnyArray, limit: int) -> bool:
    """Whether some element of a row is less than the one before it, or the last one is above `limit`."""
    if array.size <= SMALL:
        return bool((array[:-1] > array[1:]).any())
    if _is_dense(array):
        return _tested("offsets", array, limit) != GOOD
    return bool(_kernels().descends(array))


def distinct(array: AnyArray, limit: int) -> bool:
    """Whether the elements differ and are at most `limit`."""
    flat = array.reshape(-1)
    if not _is_dense(flat):
        flat = flat.copy()
    if flat.size <= SMALL:
        if limit // DENSE <= flat.size:
            return int(flat.max()) <= limit and bool(np.bincount(flat.astype(np.intp)).max() == 1)
    elif (verdict := _tested("unique", flat, limit)) != OPEN:
        return verdict == GOOD
    ordered = np.sort(flat)
    return int(ordered[-1]) <= limit and bool((ordered[:-1] < ordered[1:]).all())


def _tested(kind: str, array: AnyArray, limit: int) -> int:
    """The verdict of a compiled test on a row without gaps."""
    with COMPILING:
        from lend.targets.cpu.index_tests import index_test

    return index_test(kind, 8 * array.itemsize)(address_of(array), array.size, limit)


def _kernels() -> ModuleType:
    """The tests that are kernels, made at first use."""
    with COMPILING:
        from lend.driver import index_kernels
    return index_kernels


def _is_dense(array: AnyArray) -> bool:
    """Whether an array is a row without gaps."""
    return array.ndim == 1 and array.strides[0] == array.itemsize


def in_few_dimensions(array: AnyArray) -> AnyArray:
    """A view of the same elements, in some order, without dimensions that strides make superfluous; at least one dimension.

    Dimensions along which nothing changes (of size 1, or broadcast) go, and those that continue each other are merged.
    """
    if array.ndim == 1 or array.flags.c_contiguous:
        return array.reshape(-1)
    strides = [(stride, size) for stride, size in zip(array.strides, array.shape, strict=True) if size > 1 and stride]
    merged: list[tuple[int, int]] = []
    for stride, size in sorted(strides, key=lambda pair: -abs(pair[0])):
        if merged and merged[-1][0] == stride * size:
            merged[-1] = (stride, merged[-1][1] * size)
        else:
            merged.append((stride, size))
    shape, steps = [size for _, size in merged] or [1], [stride for stride, _ in merged] or [0]
    return np.lib.stride_tricks.as_strided(array, shape, steps)
