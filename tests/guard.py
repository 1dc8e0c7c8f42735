"""Memory that lies against pages no one may touch: an access beyond it ends the process instead of passing unseen.

Does: make such blocks (`block`), copy an array into one (`guarded`), and stand between callers and all kernels (`every_call`), so
that each NumPy array is lent from such a block and what kernels change is brought back. On OpenCL, the device's memory too.
Does not: guard memory that a kernel takes on the processor for itself, or arguments that are no plain `np.ndarray`.
Invariants: an array keeps its shape, strides, alignment and whether it may be written; arrays that overlap still do, in the same
way; bytes between elements come along; only bytes that have changed are written back.
"""

from __future__ import annotations

import ctypes
import mmap
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import groupby
from typing import Any
from unittest import mock

import numpy as np

PAGE = mmap.PAGESIZE
NO_ACCESS, READ_AND_WRITE = 0, 3
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def protect(address: int, how: int) -> None:
    """Say what may be done with a page."""
    if _libc.mprotect(address, PAGE, how):
        raise OSError(ctypes.get_errno(), "mprotect")


def block(bytes: int, side: str = "end", align: int = 1, like: int = 0) -> np.ndarray:
    """So many bytes, the last of which (`side="start"`: the first) touches a page without access. The other side is guarded too,
    up to a page away. Its address is that of `like`, modulo `align`, for which it may lie less than `align` from the page.
    """
    body = max(1, -(-(bytes + align - 1) // PAGE)) * PAGE
    raw = np.frombuffer(mmap.mmap(-1, body + 2 * PAGE), np.uint8)
    start = raw.ctypes.data
    for page in (0, PAGE + body):
        protect(start + page, NO_ACCESS)
    place = PAGE if side == "start" else PAGE + body - bytes
    place += (like - start - place) % align if side == "start" else -((start + place - like) % align)
    return raw[place : place + bytes]


def guarded(array: np.ndarray, side: str = "end") -> np.ndarray:
    """A row-major copy of an array whose last byte (`side="start"`: the first) touches a page without access."""
    view = np.ndarray(array.shape, array.dtype, block(array.nbytes, side))
    view[...] = array
    return view


# -------------------------------------------------------------------------------------------------------- calls of kernels


def _bounds(array: np.ndarray) -> tuple[int, int]:
    """Where the bytes of an array begin and end."""
    start = array.__array_interface__["data"][0]
    if array.size == 0:
        return start, start
    reach = [(size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True)]
    return start + sum(min(r, 0) for r in reach), start + sum(max(r, 0) for r in reach) + array.itemsize


class Lent:
    """The arguments of one call, with all arrays in guarded memory."""

    def __init__(self, values: tuple[Any, ...], side: str) -> None:
        self._side = side
        self._ranges: list[tuple[int, int, np.ndarray, bytes]] = []  # where it was, how long, the block, what was in it
        arrays = sorted({id(a): a for a in self._arrays(values)}.values(), key=_bounds)
        reach, number, keys = -1, 0, {}
        for array in arrays:  # those that overlap share a block
            low, high = _bounds(array)
            number += low >= reach
            keys[id(array)], reach = number, max(reach, high)
        self._views: dict[int, np.ndarray] = {}
        for _, group in groupby(arrays, key=lambda array: keys[id(array)]):
            self._place(list(group))
        self.values = self._replaced(values)

    def _arrays(self, value: Any) -> Iterator[np.ndarray]:
        if type(value) is np.ndarray and value.dtype.kind != "O":
            yield value
        elif isinstance(value, tuple):
            for item in value:
                yield from self._arrays(item)

    def _place(self, group: list[np.ndarray]) -> None:
        low, high = min(_bounds(a)[0] for a in group), max(_bounds(a)[1] for a in group)
        align = max(a.dtype.alignment for a in group)  # what is misaligned stays so
        raw = block(high - low, self._side, align, low)
        before = ctypes.string_at(low, high - low)
        raw[...] = np.frombuffer(before, np.uint8)
        self._ranges.append((low, high - low, raw, before))
        for array in group:
            offset = array.__array_interface__["data"][0] - low
            view = np.ndarray(array.shape, array.dtype, raw, offset, array.strides)
            view.flags.writeable = array.flags.writeable
            self._views[id(array)] = view

    def _replaced(self, value: Any) -> Any:
        if isinstance(value, tuple) and any(True for _ in self._arrays(value)):
            items = [self._replaced(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        return self._views.get(id(value), value)

    def bring_back(self) -> None:
        """What the call has changed, to where it was. Memory that may not be written must not have changed."""
        for start, bytes, raw, before in self._ranges:
            changed = np.flatnonzero(raw != np.frombuffer(before, np.uint8))
            if changed.size:
                there = np.frombuffer((ctypes.c_uint8 * bytes).from_address(start), np.uint8)
                there[changed] = raw[changed]


@contextmanager
def every_call(side: str, device_memory: bool) -> Iterator[None]:
    """Calls of kernels inside the block get their arrays in guarded memory, whether Python binds the call or compiled code."""
    from lend.driver.kernel import Kernel
    from lend.driver.on_device import OnDevice
    from lend.runtime import vectorcall

    inside, routes = threading.local(), {}
    plain, on_device = Kernel.__call__, OnDevice.__call__

    def lent(call: Callable[..., Any], callee: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if getattr(inside, "call", False):
            return call(callee, *args, **kwargs)
        there = Lent((*args, *kwargs.values()), side)
        inside.call = True
        try:
            return call(callee, *there.values[: len(args)], **dict(zip(kwargs, there.values[len(args) :], strict=True)))
        finally:
            inside.call = False
            there.bring_back()

    def replaced(python: Callable[..., Any]) -> Callable[..., Any]:
        def compiled(callee: Any, *args: Any, **kwargs: Any) -> Any:
            """As Python calls it: through its pointer, if it has one."""
            address = routes.get(id(callee), (0, callee))[0]
            return _vectorcall(address, callee, args, kwargs) if address else python(callee, *args, **kwargs)

        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            return lent(python if getattr(inside, "call", False) else compiled, self, args, kwargs)

        return call

    def note_route(kernel: Any, address: int) -> None:
        routes[id(kernel)] = (address, kernel)  # its own pointer stays null, so that Python calls what stands for `__call__`

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(Kernel, "__call__", replaced(plain)))
        stack.enter_context(mock.patch.object(OnDevice, "__call__", replaced(on_device)))
        stack.enter_context(mock.patch.object(vectorcall, "route", note_route))
        for called in (Kernel, OnDevice):
            vectorcall.enable(called)  # Python 3.12 takes this from a class whose `__call__` is set
        if device_memory:
            stack.enter_context(guarded_device_memory(side))
        yield
    for called in (Kernel, OnDevice):
        vectorcall.enable(called)


def _vectorcall(address: int, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a `vectorcallfunc`."""
    function = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)(address)
    values, names = [*args, *kwargs.values()], tuple(kwargs)
    pointers = (ctypes.c_void_p * max(len(values), 1))(*[id(value) for value in values])
    return function(kernel, ctypes.addressof(pointers), len(args), id(names) if names else None)


# -------------------------------------------------------------------------------------------------------- memory of devices


@contextmanager
def guarded_device_memory(side: str) -> Iterator[None]:
    """What OpenCL devices allocate has the size that was asked for, and lies against pages without access.

    Only where the device's memory is the processor's, as with Intel's runtime for processors. A block begins at a multiple of the
    largest power of two that divides its size, up to 64, which is all that an element of it can ask for.
    """
    from lend.targets import device
    from lend.targets.opencl.device import OpenCLDevice

    new, release, whole = OpenCLDevice._new, OpenCLDevice._release, {}

    def guarded_new(self: Any, size: int) -> int | None:
        body = -(-size // PAGE) * PAGE
        start = new(self, body + 3 * PAGE)
        if start is None:
            return None
        first = -(-start // PAGE) * PAGE
        for page in (first, first + PAGE + body):
            protect(page, NO_ACCESS)
        address = first + PAGE + (0 if side == "start" else body - size)
        whole[address] = start, first, body
        return address

    def guarded_release(self: Any, address: int) -> None:
        start, first, body = whole.pop(address)
        for page in (first, first + PAGE + body):
            protect(page, READ_AND_WRITE)
        release(self, start)

    with (
        mock.patch.object(OpenCLDevice, "_new", guarded_new),
        mock.patch.object(OpenCLDevice, "_release", guarded_release),
        mock.patch.object(device, "_rounded", lambda bytes: max(bytes, 1)),
    ):
        yield
