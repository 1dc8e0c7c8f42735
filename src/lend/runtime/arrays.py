"""Arrays that live on a device: `lend.Array`.

Does: own memory of a device, give it to calls as an array that is never looked into, copy to and from the host.
Does not: launch (`device_launch.py`), or lend host arrays for a while (`driver/lending.py`).
Invariants: memory is freed once, when the last array over it goes, and then waits for the device's next user: whoever drops an
array waits for nobody. Reading waits for what was begun before, and raises what that has recorded.

Example: `dx = lend.asarray(x, device="opencl:0"); kernel(dx); y = dx.numpy()`.
"""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lend.diagnostics.errors import ArgumentError, DeviceMemoryError
from lend.runtime import dlpack
from lend.runtime.device_work import settle
from lend.runtime.devices import Device
from lend.runtime.elements import AnyArray, AnyDtype
from lend.runtime.loaned import Loaned
from lend.runtime.memory import address_of, view_of
from lend.runtime.moves import Box
from lend.runtime.overlap import extent


class Memory:
    """A block of a device's memory, freed with this object."""

    __slots__ = ("__weakref__", "_finalizing", "address", "bytes", "device", "loaned", "place", "shared", "tested", "writes")

    def __init__(self, device: Device, address: int, bytes: int) -> None:
        self.device = device
        self.address = address
        self.bytes = bytes
        self.writes = 0
        """How often it was lent for writing."""
        self.shared = False
        """Whether other libraries have it too, and may write to it at any time."""
        self.tested: dict[Any, int] = {}
        """As what its elements were found to be indices, and at which number of writes."""
        self.loaned: Loaned | None = None
        """For the copy of an array that the host lends for a while: what is known of it."""
        self._finalizing = sys.is_finalizing
        self.place = _place_of_caller()
        """The user's line that it was made in."""
        _alive.add(self)

    def complete(self) -> None:
        """Have all elements there, before somebody reads them. The device's lock is held."""
        loaned = self.loaned
        if loaned is not None and loaned.source is not None:
            source: AnyArray = loaned.source
            if source.size:
                self.device.copy_in(self.address, address_of(source), source.nbytes)
                self.device.finish()
            loaned.source = None

    def written(self, place: OnDevice, box: Box | None = None) -> None:
        """Elements of it are lent for writing: a box of `place`, or all of that. The device's lock is held."""
        self.writes += 1
        if self.loaned is not None:
            self.loaned.write(address_of(place) - self.address, place.shape, place.strides, box)

    def __del__(self) -> None:
        if not self._finalizing():
            self.device.released.append(self.address)


class Borrowed(Memory):
    """Memory of another library's, which `release` gives back to it once nobody here uses it."""

    __slots__ = ("_release",)

    def __init__(self, device: Device, address: int, bytes: int, release: Callable[[], None]) -> None:
        super().__init__(device, address, bytes)
        _alive.discard(self)  # it is not this device's pool that holds it
        self.shared = True
        self._release = release

    def __del__(self) -> None:
        if not self._finalizing():
            self.device.parted.append(_Release(self._release))


class _Release:
    """Calls a function when it goes."""

    def __init__(self, release: Callable[[], None]) -> None:
        self._release = release

    def __del__(self) -> None:
        self._release()


_alive: weakref.WeakSet[Memory] = weakref.WeakSet()
_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def holders() -> list[Memory]:
    """The memory of all arrays that live."""
    return list(_alive)


def _place_of_caller() -> str:
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OWN):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


class OnDevice(np.ndarray[Any, np.dtype[Any]]):
    """Address, shape and strides of a device's array, in the form that calls are bound by. Its elements are not to be read."""

    memory: Memory
    array: weakref.ref[Array] | None = None
    """The array that has its place here, of one that the host has lent."""

    @property
    def __array_interface__(self) -> dict[str, Any]:
        raise ArgumentError("this array lives on a device")


class _Place:
    """What NumPy takes for the owner of memory."""

    def __init__(self, address: int, bytes: int) -> None:
        self.__array_interface__: dict[str, Any] = {
            "version": 3, "data": (address, False), "shape": (max(bytes, 1),), "typestr": "|u1",
        }  # fmt: skip


def placed_at(
    memory: Memory, shape: Sequence[int], dtype: AnyDtype, offset: int = 0, strides: Sequence[int] | None = None
) -> OnDevice:
    """An array in a device's memory, in the form that calls are bound by."""
    flat = np.asarray(_Place(memory.address, memory.bytes))
    array = np.ndarray.__new__(OnDevice, tuple(shape), dtype, flat.data, offset, None if strides is None else tuple(strides))
    array.memory = memory
    return array


class Array:
    """An array on a device. `numpy()` copies it to the host; kernels take it where they take NumPy's arrays."""

    __slots__ = ("__weakref__", "_device", "_memory", "_place", "_writer")

    def __init__(self, place: OnDevice) -> None:
        self._place = place
        self._memory = place.memory
        # Compiled code reads these where they are, and leaves calls to Python whose arrays are on another device, or whose
        # arrays for writing have another writer than the device (anybody may) or the specialisation that is called.
        self._device: Any = place.memory.device
        self._writer: Any = place.memory.device
        if place.memory.loaned is not None or place.memory.shared:
            self._device = self._writer = None
            place.array = weakref.ref(self)

    def noted(self, writer: Any) -> None:
        """Python has seen to a call with this array, which the host has lent; `writer`: who may write to it as in that call."""
        loaned = self._memory.loaned
        if loaned is not None and loaned.source is None and not self._memory.shared:
            self._device, self._writer = self._memory.device, writer

    @property
    def place(self) -> OnDevice:
        """Where it is, for calls."""
        return self._place

    @property
    def writer(self) -> Any:
        """Who may write to it without Python's seeing to that: the device if anybody, or a specialisation."""
        return self._writer

    @property
    def memory(self) -> Memory:
        """The memory that it lies in."""
        return self._memory

    @property
    def device(self) -> str:
        """The name of its device."""
        return self.memory.device.name

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes."""
        return self._place.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """The strides in bytes."""
        return self._place.strides

    @property
    def dtype(self) -> AnyDtype:
        """NumPy's dtype of the elements."""
        return self._place.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._place.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._place.size

    @property
    def nbytes(self) -> int:
        """The bytes of the elements."""
        return self._place.nbytes

    def __len__(self) -> int:
        return len(self._place)

    def __getitem__(self, key: Any) -> Array:
        """A view: basic subscripts only."""
        parts: tuple[Any, ...] = key if isinstance(key, tuple) else (key,)  # pyright: ignore[reportUnknownVariableType]
        if not all(isinstance(part, (int, slice, np.integer)) or part is Ellipsis or part is None for part in parts):
            raise ArgumentError("an array on a device takes whole numbers and slices as subscripts")
        found: Any = np.ndarray.__getitem__(self._place, (*parts, *(() if Ellipsis in parts else (Ellipsis,))))
        found.memory = self.memory
        return Array(found)

    def numpy(self) -> AnyArray:
        """A copy on the host. Waits for the launches before, and raises what they have recorded."""
        device = self.memory.device
        with device.lock:
            settle(device)
            return fetched(device, self._place)

    def copy_from(self, source: Any) -> None:
        """Overwrite the elements with those of a NumPy array of the same shape and dtype."""
        array: AnyArray = np.ascontiguousarray(source, self.dtype)
        if array.shape != self.shape or not self._place.flags.c_contiguous:
            raise ArgumentError(f"an array of shape {array.shape} cannot be copied into one of shape {self.shape}")
        device = self.memory.device
        with device.lock:
            loaned = self.memory.loaned
            if loaned is not None and not loaned.is_whole(self.shape):
                self.memory.complete()
            self.memory.written(self._place)
            if array.size:
                device.copy_in(address_of(self._place), address_of(array), array.nbytes)
            device.finish()
            if loaned is not None:
                loaned.source = None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        if copy is False:
            raise ValueError(f"an array on {self.device} can only be copied to the host")
        found = self.numpy()
        return found if dtype is None else found.astype(dtype, copy=False)

    # -------------------------------------------------------------------------------------------------- other libraries

    def _share(self) -> None:
        """Have another library use its memory from now on. Raises what was recorded before."""
        device, memory = self.memory.device, self.memory
        with device.lock:
            settle(device)
            memory.complete()
            device.finish()
            memory.shared = True
            self._device = self._writer = None
            if memory.loaned is not None and self._place.flags.writeable:
                memory.loaned.write_all()

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's kind of its device, and the device's number."""
        device = self.memory.device
        return dlpack.OF_TARGET[device.kind], device.number

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """A capsule of DLPack's: of its memory, or of a copy on the host for `dl_device=(1, 0)`.

        What was begun is done then, on whatever `stream`. Raises BufferError where there is no such thing.
        """
        device, place, where = self.memory.device, self._place, self.__dlpack_device__()
        versioned = max_version is not None and max_version[0] >= 1
        if dl_device is not None and tuple(dl_device) != where:
            if tuple(dl_device) != (dlpack.HOST, 0) or copy is False:
                raise BufferError(f"an array on {self.device} can only be copied to the host")
            found = self.numpy()
            return dlpack.wrap(
                address_of(found), (dlpack.HOST, 0), found.shape, found.strides, found.dtype, False, found, versioned, copied=True
            )
        if device.kind == "opencl":
            raise BufferError(f"{self.device} has no memory that other libraries know: ask for a copy on the host")
        if stream == 0 and device.kind == "cuda":
            raise BufferError("stream 0 says nothing: 1 is the default stream of the process, 2 that of the thread")
        owner: Array = self if copy is not True else to_device(device, self.numpy())
        if owner is self:
            self._share()
        read_only = owner is self and not place.flags.writeable
        shape, strides, at = owner.shape, owner.strides, address_of(owner.place)
        return dlpack.wrap(at, where, shape, strides, self.dtype, read_only, owner, versioned, copied=owner is not self)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        device, place = self.memory.device, self._place
        if device.kind != "cuda":
            raise AttributeError(f"an array on {self.device} is none of CUDA's")
        self._share()
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": self.dtype.str,
            "descr": self.dtype.descr,
            "data": (address_of(place) if place.size else 0, not place.flags.writeable),
            "strides": None if place.flags.c_contiguous else self.strides,
            "stream": device.stream,
        }

    def __repr__(self) -> str:
        sizes = ", ".join(map(str, self.shape))
        return f"<lend.Array of {sizes or 'one'} {self.dtype} on {self.device}>"


def fetched(device: Device, place: OnDevice) -> AnyArray:
    """A copy of an array on the host, row-major. The device's lock is held."""
    if not place.size:
        return np.empty(place.shape, place.dtype)
    place.memory.complete()
    whole = place.flags.c_contiguous
    view = view_of(place)
    low, high = (view.address, view.address + place.nbytes) if whole else extent(view)
    try:
        raw = np.empty(high - low, np.uint8)
    except MemoryError:
        raise DeviceMemoryError(f"the host has no memory for {high - low} bytes of an array on {device.name}") from None
    device.copy_out(address_of(raw), low, high - low)
    device.finish()
    found: AnyArray = np.ndarray(place.shape, place.dtype, raw.data, view.address - low, place.strides)
    return found if whole else found.copy()


def new_array(device: Device, shape: Sequence[int], dtype: AnyDtype) -> Array:
    """An array whose elements are whatever was there. The device's lock is held."""
    bytes = int(np.prod([int(size) for size in shape], dtype=object)) * dtype.itemsize
    return Array(placed_at(Memory(device, device.allocate(max(bytes, 1)), bytes), shape, dtype))


def to_device(device: Device, source: Any) -> Array:
    """A copy of an array on a device."""
    array: AnyArray = np.ascontiguousarray(source) if np.ndim(source) else np.array(source)
    if array.dtype.hasobject:
        raise ArgumentError("an array of Python objects stays on the host")
    with device.lock:
        made = new_array(device, array.shape, array.dtype)
        if array.size:
            device.copy_in(address_of(made.place), address_of(array), array.nbytes)
            device.finish()
        return made


def lent_to(device: Device, source: AnyArray) -> Array:
    """A place on a device for an array that the host lends; its elements go there when they are needed."""
    array: AnyArray = np.ascontiguousarray(source) if source.ndim else source
    if array.dtype.hasobject:
        raise ArgumentError("an array of Python objects stays on the host")
    with device.lock:
        memory = Memory(device, device.allocate(max(array.nbytes, 1)), array.nbytes)
    memory.loaned = Loaned(array)
    return Array(placed_at(memory, array.shape, array.dtype))


def has_array(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether an argument is an array on a device, or a tuple that may hold one."""
    for value in args:
        if type(value) is Array or holds_array(value) or is_foreign(value):
            return True
    return bool(kwargs) and has_array(tuple(kwargs.values()), {})


def holds_array(value: Any) -> bool:
    """Whether an argument is a tuple, or a list, that holds an array on a device."""
    return (value.__class__ is tuple or value.__class__ is list) and any(
        type(item) is Array or is_foreign(item) for item in value
    )


def is_foreign(value: Any) -> bool:
    """Whether an argument is another library's array, which may live on a device."""
    cls: Any = value.__class__
    known = _foreign.get(cls)
    if known is None:
        speaks = hasattr(cls, "__dlpack_device__") or hasattr(cls, "__cuda_array_interface__")
        known = _foreign[cls] = speaks and not isinstance(value, Array | np.ndarray | np.generic)
    return known


_foreign: dict[Any, bool] = {}
