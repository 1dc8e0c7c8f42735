"""What plain Python kernels call while they run: checked accesses, arrays, loops over boxes.

Does: test every subscript, division, size and step, and raise what `fault` makes of a failure; keep the current iteration's
indices for it.  Does not: arithmetic (`language/arithmetic.py`) or word faults (the caller of `plain_function` does).
Invariants: the first fault ends the run: iterations run in row-major order, so it is the fault of the smallest thread. One `Run`
per call of a kernel: calls from several threads do not meet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from lend.diagnostics.sites import Site
from lend.ir import typed
from lend.language.abi import MAX_SIZE
from lend.language.arithmetic import binary_function, fault_of
from lend.language.dtypes import numpy_dtype
from lend.language.reduction import Accumulator
from lend.language.rounding import bf16_bits, bf16_value
from lend.language.types import BF16, ElementType, ScalarType
from lend.lower.plain_schedule import Schedule, atomic_change

AnyArray = np.ndarray[Any, Any]
Bounds = tuple[int, int, int]
Fault = Callable[[Site, int, int, int, tuple[int, ...] | None], BaseException]
"""Makes or raises the exception for (site, dimension, index, size, indices of the parallel loop or None), as records hold."""

LARGEST = (1 << 63) - 1


def storage_dtype(element: ElementType) -> Any:
    """The NumPy dtype of a new array. bf16 is kept as its bits where no package offers it."""
    try:
        return numpy_dtype(element)
    except ImportError:
        if element is BF16:
            return np.dtype(np.uint16)
        raise


class Run:
    """One call of a plain Python kernel: where it is, and the checks it makes."""

    def __init__(self, sites: Sequence[Site], fault: Fault, meetings: Sequence[typed.Sync | typed.Subgroup] = ()) -> None:
        self.sites = sites
        self.meetings = meetings
        self.fault = fault
        self.thread: tuple[int, ...] | None = None

    def fail(self, site: int, dimension: int = 0, index: int = 0, size: int = 0) -> NoReturn:
        """Raise the fault of a site."""
        raise self.fault(self.sites[site], dimension, index, size, self.thread)

    # ----------------------------------------------------------------------------------------------- elements

    def inside(self, site: int, array: AnyArray, indices: tuple[int, ...]) -> None:
        """Raise unless each index lies in its own dimension."""
        for dimension, (index, size) in enumerate(zip(indices, array.shape, strict=True)):
            if not 0 <= index < size:
                self.fail(site, dimension, index, size)

    def load(self, array: AnyArray, site: int, *indices: int) -> Any:
        """An element as a Python value."""
        self.inside(site, array, indices)
        return array.item(indices)

    def load_1d(self, array: AnyArray, site: int, index: int) -> Any:
        """An element of an array of one dimension."""
        if not 0 <= index < array.shape[0]:
            self.fail(site, 0, index, array.shape[0])
        return array.item(index)

    def load_bf16(self, array: AnyArray, site: int, *indices: int) -> float:
        """A bf16 element."""
        self.inside(site, array, indices)
        item = array[indices]
        return bf16_value(int(item)) if array.dtype.kind == "u" else float(item)

    def store(self, value: Any, array: AnyArray, site: int, *indices: int) -> None:
        """Set an element to a value of its type."""
        self.inside(site, array, indices)
        array[indices] = value

    def store_bf16(self, value: float, array: AnyArray, site: int, *indices: int) -> None:
        """Set a bf16 element."""
        self.inside(site, array, indices)
        array[indices] = bf16_bits(value) if array.dtype.kind == "u" else value

    def atomic(self, operator: typed.AtomicOperator, type: ScalarType) -> Callable[..., Any]:
        """An atomic operation on (array, site, indices, what it expects, the value): the element before it."""
        change = atomic_change(operator, type)

        def atomic(array: AnyArray, site: int, *operands: Any) -> Any:
            indices = operands[: array.ndim]
            self.inside(site, array, indices)
            old = array.item(indices)
            new = change(old, *operands[array.ndim :])
            if new is not None:
                array[indices] = new
            return old

        return atomic

    # ------------------------------------------------------------------------------------------------- arrays

    def view(self, array: AnyArray, site: int, *parts: int | Bounds) -> AnyArray:
        """A sub-view: an index drops its dimension, (lower, upper, step) keeps it."""
        key: list[int | slice] = []
        for dimension, (part, size) in enumerate(zip(parts, array.shape, strict=True)):
            if isinstance(part, int):
                if not 0 <= part < size:
                    self.fail(site, dimension, part, size)
                key.append(part)
                continue
            lower, upper, step = part
            if lower >= upper:
                key.append(slice(0, 0))
                continue
            if lower < 0 or upper > size:
                self.fail(site, dimension, lower if lower < 0 else upper, size)
            key.append(slice(lower, upper, step))
        return array[tuple(key)]

    def reshape(self, array: AnyArray, shape_site: int, view_site: int, *sizes: int) -> AnyArray:
        """The same memory in other sizes."""
        asked = LARGEST if min(sizes) < 0 else math.prod(sizes)
        if asked != array.size:
            self.fail(shape_site, 0, min(asked, LARGEST), array.size)
        if not array.flags.c_contiguous:
            self.fail(view_site)
        try:
            return array.reshape(sizes)
        except ValueError:  # no elements, and yet too large for NumPy
            self.fail(view_site)

    def allocate(self, dtype: Any, extent_site: int, memory_site: int, *sizes: int) -> AnyArray:
        """A new array of zeros."""
        for dimension, size in enumerate(sizes):
            if size < 0:
                self.fail(extent_site, dimension, size)
        size = math.prod(sizes) * dtype.itemsize
        if size > LARGEST or max(sizes) > MAX_SIZE:
            self.fail(memory_site, size=min(size, LARGEST))
        try:
            return np.zeros(sizes, dtype)
        except (MemoryError, ValueError):  # NumPy's "array is too big" is a ValueError
            self.fail(memory_site, size=size)

    @staticmethod
    def local(dtype: Any, *sizes: int) -> AnyArray:
        """A private array of zeros."""
        return np.zeros(sizes, dtype)

    # ------------------------------------------------------------------------------------------ other tests

    @staticmethod
    def distinct(array: AnyArray, bound: int) -> bool:
        """Whether elements lie in 0..bound-1 and differ."""
        if array.size == 0:
            return True
        return int(array.min()) >= 0 and int(array.max()) < bound and np.unique(array).size == array.size

    def require(self, condition: bool, site: int, index: int = 0, size: int = 0) -> None:
        """Raise unless the condition holds."""
        if not condition:
            self.fail(site, 0, index, size)

    def checked(self, operator: str, type: ScalarType) -> Callable[[int, int, int], int]:
        """An integer operation that tests its right operand."""
        operation = binary_function(operator, type)

        def checked(left: int, right: int, site: int) -> int:
            if fault_of(operator, type, right) is not None:
                self.fail(site, 0, right)
            return operation(left, right)

        return checked

    def range(self, site: int, lower: int, upper: int, step: int) -> range:
        """A range whose step is tested."""
        if step == 0:
            self.fail(site)
        return range(lower, upper, step)

    # -------------------------------------------------------------------------------------------------- boxes

    def grid(self, site: int | None, accumulators: tuple[Accumulator, ...], *box: Bounds) -> Iterator[Any]:
        """The iterations of a parallel loop in row-major order: the indices, then the reductions' identities."""
        for _, _, step in box:
            if step == 0 and site is not None:
                self.fail(site)
        start: tuple[Any, ...] = sum((accumulator.identity for accumulator in accumulators), ())
        single = len(box) + len(start) == 1
        for indices in _indices([range(*bounds) for bounds in box]):
            self.thread = indices
            yield indices[0] if single else indices + start
        self.thread = None

    def threads(
        self, body: Callable[..., Any], waits: bool, sizes: tuple[int, ...], accumulators: tuple[Accumulator, ...], *captured: Any
    ) -> None:
        """The threads of a block: `body` of each one's indices, what its reductions begin with and `captured`, in order.

        With `waits`, bodies are coroutines that yield where threads wait for each other. Each gives its contributions.
        """
        block = self.thread or ()
        start: tuple[Any, ...] = sum((accumulator.identity for accumulator in accumulators), ())
        places = list(_indices([range(size) for size in sizes]))
        calls = ((*place, *start, *captured) for place in places)
        if waits:
            coroutines = [body(*arguments) for arguments in calls]
            found = Schedule(self, block, places, coroutines).run()
        else:
            found = (self.at(block + place, body, arguments) for place, arguments in zip(places, calls, strict=True))
        for contributions in found:
            rest = iter(contributions or ())
            for accumulator in accumulators:
                accumulator.add(*(next(rest) for _ in accumulator.identity))
        self.thread = block

    def at(self, thread: tuple[int, ...], body: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """One thread without barriers, whole."""
        self.thread = thread
        return body(*arguments)


def _indices(ranges: list[range]) -> Iterator[tuple[int, ...]]:
    if len(ranges) == 1:
        for index in ranges[0]:
            yield (index,)
        return
    for index in ranges[0]:
        for rest in _indices(ranges[1:]):
            yield (index, *rest)


def reduced(accumulator: Accumulator) -> Any:
    """What a reduction came to: a value, or a tuple of several."""
    values = accumulator.result()
    return values[0] if len(values) == 1 else values
