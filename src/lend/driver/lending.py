"""Arrays go to a device: `lend.to`, `lend.asarray`, `lend.set_device`; `lend.zeros` and `lend.empty` outside kernels.

Does: make arrays on a device, copy arrays to it, or lend host arrays to it for a while.  Does not: launch.
Invariants: while a host array is lent it cannot be written on the host. It goes to the device when a kernel first needs what it
holds, and when it comes back, only what a kernel may have changed is copied; if a kernel has failed, nothing is.

Example:
    with lend.to("opencl:0", x, y) as (dx, dy):
        saxpy(2.0, dx, dy)          # y holds the result after the block
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from operator import index
from types import TracebackType
from typing import Any

import numpy as np

from lend.diagnostics.errors import ArgumentError, ArithmeticFault, BoundsError, DeviceError, DeviceMemoryError
from lend.driver.devices import device as device_of
from lend.language.abi import MAX_SIZE
from lend.language.types import ScalarType
from lend.runtime.arrays import Array, lent_to, new_array, to_device
from lend.runtime.device_work import copy_box, settle
from lend.runtime.elements import AnyArray, AnyDtype, dtype_of
from lend.runtime.memory import address_of
from lend.runtime.moves import Box
from lend.runtime.settings import HERE, config, snapshot


def asarray(source: Any, device: str | None = None) -> Any:
    """A copy of an array on a device, a `lend.Array`: on that of `lend.config.device` if none is named.

    On the processor a NumPy array, of the same memory if it is one already.
    """
    name = device or snapshot().device
    if name in HERE:
        return source.numpy() if isinstance(source, Array) else np.asarray(source)
    if isinstance(source, Array):
        if source.device == name or device is None:
            return source
        source = source.numpy()
    return to_device(device_of(name), source)


def new(zeroed: bool, shape: Any, dtype: Any = None, device: str | None = None) -> Any:
    """A new array, a `lend.Array` or on the processor NumPy's: what `lend.zeros` and `lend.empty` are outside kernels."""
    word = "zeros" if zeroed else "empty"
    sizes = _sizes(word, shape)
    found = _dtype(word, dtype)
    name = device or snapshot().device
    if name in HERE:
        return np.zeros(sizes, found) if zeroed else np.empty(sizes, found)
    where = device_of(name)
    with where.lock:
        made = new_array(where, sizes, found)
        if zeroed and made.nbytes:
            where.zero(address_of(made.place), made.nbytes)
        return made


def _sizes(word: str, shape: Any) -> tuple[int, ...]:
    if isinstance(shape, ScalarType | type):
        raise ArgumentError(
            f"lend.{word} takes an element type first inside kernels only: outside it is lend.{word}((3, 4), f64, device)"
        )
    try:
        sizes = tuple([index(size) for size in (shape if isinstance(shape, tuple | list) else (shape,))])  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    except TypeError:
        raise ArgumentError(f"lend.{word} takes a shape of whole numbers, not {shape!r}") from None
    if any(size < 0 or size > MAX_SIZE for size in sizes):
        raise ArgumentError(f"lend.{word} cannot make an array of shape {sizes}")
    return sizes


def _dtype(word: str, dtype: Any) -> AnyDtype:
    """NumPy's dtype of an element type, one of lend's or of NumPy's."""
    if dtype is None:
        return np.dtype(np.float64)
    own: Any = getattr(dtype, "dtype", None)  # of a class of records
    try:
        found: AnyDtype = dtype_of(dtype) if isinstance(dtype, ScalarType) else np.dtype(own if _is_dtype(own) else dtype)
    except TypeError:
        raise ArgumentError(f"lend.{word} takes an element type, not {dtype!r}") from None
    if found.hasobject:
        raise ArgumentError(f"lend.{word} makes no arrays of Python objects")
    return found


def _is_dtype(value: Any) -> bool:
    return isinstance(value, np.dtype)


def set_device(device: str) -> None:
    """Where NumPy arguments run from now on: "cpu", "opencl:0", … or "auto"."""
    config.device = device


FAILURES = (BoundsError, ArithmeticFault, DeviceError, DeviceMemoryError)
"""What a kernel that has failed raises; if that leaves the block, its arrays are on the host what they were."""


class Loan:
    """Host arrays that a device has for a while; `lend.to` makes it."""

    def __init__(self, name: str, sources: tuple[Any, ...]) -> None:
        for source in sources:
            if not isinstance(source, np.ndarray):
                raise ArgumentError(f"lend.to takes NumPy arrays, not {type(source).__name__}")  # pyright: ignore[reportUnknownMemberType]
        self.device = device_of(name)
        self._sources: tuple[AnyArray, ...] = sources
        self._writeable: list[bool] = []
        self.arrays: tuple[Array, ...] = ()

    def __enter__(self) -> Any:
        self._writeable = [bool(source.flags.writeable) for source in self._sources]
        self.arrays = tuple([lent_to(self.device, source) for source in self._sources])
        for source, array in zip(self._sources, self.arrays, strict=True):
            array.place.flags.writeable = source.flags.writeable
            source.flags.writeable = False
        return self.arrays[0] if len(self.arrays) == 1 else self.arrays

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            with self.device.lock:
                settle(self.device)
                self._give_back()
                if isinstance(error, FAILURES):
                    return
                changed = [pair for pair in zip(self._sources, self.arrays, strict=True) if _boxes(pair[1])]
                places = [source if source.flags.c_contiguous else np.empty(source.shape, source.dtype) for source, _ in changed]
                try:
                    for (_, array), place in zip(changed, places, strict=True):
                        for box in _boxes(array):
                            to, block = address_of(place), array.memory.address
                            copy_box(self.device, to, block, place.shape, place.itemsize, box)
                finally:
                    self.device.finish()
                for (source, array), place in zip(changed, places, strict=True):
                    for box in _boxes(array) if place is not source else ():
                        own = tuple([slice(low, high) for low, high in box])
                        source[own] = place[own]
        finally:
            self._give_back()
            self.arrays = ()

    def _give_back(self) -> None:
        for source, writeable in zip(self._sources, self._writeable, strict=True):
            if writeable:
                source.flags.writeable = True


def _boxes(array: Array) -> list[Box]:
    """What of a lent array may have changed on the device."""
    loaned = array.memory.loaned
    return loaned.boxes if loaned is not None and loaned.source is None else []


def to(device: str, *arrays: Any) -> AbstractContextManager[Any]:
    """Lend host arrays to a device for the `with` block that follows; they are read-only on the host until it ends.

    To the processor they are lent as they are.
    """
    if device in HERE:
        return nullcontext(arrays[0] if len(arrays) == 1 else arrays)
    return Loan(device, arrays)
