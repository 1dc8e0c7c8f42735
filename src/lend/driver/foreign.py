"""Arrays of other libraries: `lend.from_dlpack`, and arguments that live on a device of lend's.

Does: make arrays of lend's over memory that another library lends, by DLPack or `__cuda_array_interface__`.
Does not: know either format's records (`runtime/dlpack.py` does), or copy, unless asked to.
Invariants: the other library keeps its memory until nothing that was begun here uses it. Work that it has begun is done before
ours begins; a call that was given its arrays is over when it returns, so that its own work comes after.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from lend.diagnostics.errors import ArgumentError, LendError
from lend.driver.devices import device as device_of
from lend.driver.devices import names_of
from lend.runtime import dlpack
from lend.runtime.arrays import Array, Borrowed, placed_at, to_device
from lend.runtime.devices import Device
from lend.runtime.overlap import View, extent
from lend.runtime.settings import HERE

KINDS = {dlpack.CUDA: "cuda", dlpack.MANAGED: "cuda", dlpack.ROCM: "hip"}
"""The kinds of lend's devices that other libraries' arrays can live on."""


def from_dlpack(source: Any, /, *, device: str | None = None, copy: bool | None = None) -> Any:
    """An array of another library's, which shares its memory: a `lend.Array`, or NumPy's array if it is on the host.

    device: where it shall be, if not where it is. copy: True for a copy in any case; with False, BufferError where one is needed.
    """
    if isinstance(source, Array):
        found: Any = source
    else:
        kind, number = _place_of(source)
        if kind in dlpack.ON_HOST:
            found = np.from_dlpack(source)
        else:
            name = _name(kind, number)
            if name is None:
                raise BufferError(f"lend has no device of DLPack's kind {kind} and number {number}")
            found = _taken(name, source)
    here = found.device if isinstance(found, Array) else "cpu"
    there = here if device is None else "cpu" if device in HERE else device
    if there == here and not copy:
        return found
    if copy is False:
        raise BufferError(f"the array is on {here}, and can only be copied to {there}")
    host = found.numpy() if isinstance(found, Array) else found
    if there == "cpu":
        return host if isinstance(found, Array) else host.copy()
    return to_device(device_of(there), host)


def lent_by(value: Any) -> Array | None:
    """Another library's array as one of lend's, if it is on a device of lend's. Raises ArgumentError if it refuses to be lent."""
    try:
        if hasattr(value, "__dlpack_device__"):
            try:
                place = _place_of(value)
            except Exception:  # whatever that library raises: it is no array of any device, then
                return None
            name = _name(*place)
            return None if name is None else _taken(name, value)
        return _by_interface(value.__cuda_array_interface__)
    except LendError:
        raise
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise ArgumentError(f"a {type(value).__module__} array cannot be lent: {error}") from None


def _place_of(source: Any) -> tuple[int, int]:
    kind, number = source.__dlpack_device__()
    return int(kind), int(number)


def _name(kind: int, number: int) -> str | None:
    """What lend calls a device."""
    return None if kind not in KINDS else names_of(KINDS[kind]).get(number)


def _taken(name: str, source: Any) -> Array:
    """An array over what `source` lends of a device's memory."""
    device = device_of(name)
    stream = device.stream
    try:
        capsule = source.__dlpack__(stream=stream, max_version=dlpack.VERSION)
    except TypeError:  # of a library that knows version 0
        capsule = source.__dlpack__(stream=stream)
    return _over(device, dlpack.unwrap(capsule))


def _by_interface(interface: dict[str, Any]) -> Array | None:
    """An array over what `__cuda_array_interface__` speaks of; whoever called holds that while a call runs."""
    address, read_only = interface["data"]
    shape, dtype = tuple(interface["shape"]), np.dtype(interface["typestr"])
    if interface.get("mask") is not None:
        raise BufferError("it has a mask")
    names = list(names_of("cuda").values())
    if not names:
        return None
    device: Device = device_of(names[0])
    if address:
        name = names_of("cuda").get(device.number_of(address))
        if name is None:
            return None
        device = device_of(name)
    stream = interface.get("stream")
    if stream is not None:
        with device.lock:
            device.wait_for(int(stream))
    steps = interface.get("strides") or [dtype.itemsize * prod(shape[k + 1 :]) for k in range(len(shape))]
    return _over(device, dlpack.Foreign(address, 2, 0, shape, tuple(steps), dtype, bool(read_only), lambda: None))


def _over(device: Device, foreign: dlpack.Foreign) -> Array:
    view = View(foreign.address, foreign.shape, foreign.strides, foreign.dtype.itemsize)
    low, high = (foreign.address, foreign.address) if 0 in foreign.shape else extent(view)
    memory = Borrowed(device, low, high - low, foreign.release)
    place = placed_at(memory, foreign.shape, foreign.dtype, foreign.address - low, foreign.strides)
    place.flags.writeable = not foreign.read_only
    return Array(place)
