"""DLPack: arrays that libraries hand each other without a copy.

Does: wrap an array on a device in a capsule, and read a capsule of another library's; DLPack's records, versions 0 and 1.
Does not: decide what is lent to whom (`arrays.py`, `driver/foreign.py`), or wait.
Invariants: what a capsule speaks of lives until its receiver lets it go, or until the capsule goes that nobody received; each
deleter is called once.

Reference: the C header of DLPack 1.0, and the array API standard's `__dlpack__`.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

from lend.language.dtypes import scalar_of
from lend.language.types import BF16, SCALARS, ScalarType
from lend.runtime.elements import AnyDtype, dtype_of

HOST, CUDA, PINNED, OPENCL, ROCM, ROCM_PINNED, MANAGED = 1, 2, 3, 4, 10, 11, 13
"""Kinds of devices."""
ON_HOST = (HOST, PINNED, ROCM_PINNED)
OF_TARGET = {"cuda": CUDA, "hip": ROCM, "opencl": OPENCL}

READ_ONLY, COPIED = 1, 2
"""Flags."""

KINDS = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "complex": 5, "bool": 6}
NAMES = (b"dltensor", b"dltensor_versioned")
USED = (b"used_dltensor", b"used_dltensor_versioned")
VERSION = (1, 0)

_P = ctypes.c_void_p


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", _P), ("device", ctypes.c_int32), ("number", ctypes.c_int32), ("dimensions", ctypes.c_int32),
        ("kind", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64),
    )  # fmt: skip


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("context", _P), ("deleter", _P))


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", _P), ("deleter", _P), ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )  # fmt: skip


_RECORDS = (_Managed, _Versioned)
_DELETER = ctypes.CFUNCTYPE(None, _P)

_api = ctypes.pythonapi
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, _P, ctypes.c_char_p, _P)(("PyCapsule_New", _api))
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, _P, ctypes.c_char_p)(("PyCapsule_IsValid", _api))
_pointer = ctypes.PYFUNCTYPE(_P, _P, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))
_set_name = ctypes.PYFUNCTYPE(ctypes.c_int, _P, ctypes.c_char_p)(("PyCapsule_SetName", _api))

_exported: dict[int, tuple[Any, ...]] = {}
"""By the address of its record, what each array that others hold consists of."""


def _forget(address: int | None, exported: dict[int, Any] = _exported) -> None:
    exported.pop(address or 0, None)


def _end_capsule(capsule: int | None, ending: Callable[[], bool] = sys.is_finalizing) -> None:
    """A capsule goes: if nobody took what it held, that goes too."""
    if not ending():
        for name in NAMES:
            if _is_valid(capsule, name):
                _forget(_pointer(capsule, name))


_forgets, _ends_capsule = _DELETER(_forget), _DELETER(_end_capsule)
for _callback in (_forgets, _ends_capsule):  # others may call these until the process is gone
    _api.Py_IncRef(ctypes.py_object(_callback))


class Foreign(NamedTuple):
    """An array of another library's. strides: in bytes. release: tells the library that nobody uses it any more."""

    address: int
    device: int
    number: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: AnyDtype
    read_only: bool
    release: Callable[[], None]


def wrap(
    address: int, place: tuple[int, int], shape: tuple[int, ...], strides: tuple[int, ...], dtype: AnyDtype, read_only: bool,
    owner: Any, versioned: bool, copied: bool = False,
) -> object:  # fmt: skip
    """A capsule; `owner` lives as long as somebody has what it holds. Raises BufferError for what DLPack cannot express."""
    kind, bits = _type_of(dtype)
    if any(stride % dtype.itemsize for stride in strides):
        raise BufferError(f"DLPack's strides are whole elements, and these are {strides} bytes")
    if read_only and not versioned:
        raise BufferError("the array is read-only, which DLPack says from version 1 on: ask with max_version=(1, 0)")
    sizes = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    steps = (ctypes.c_int64 * max(len(shape), 1))(*[stride // dtype.itemsize for stride in strides])
    record = _RECORDS[versioned]()
    tensor: Any = record.tensor
    tensor.data, (tensor.device, tensor.number), tensor.dimensions = address, place, len(shape)
    tensor.kind, tensor.bits, tensor.lanes, tensor.shape, tensor.strides = kind, bits, 1, sizes, steps
    record.deleter = ctypes.cast(_forgets, _P).value
    if isinstance(record, _Versioned):
        (record.major, record.minor), record.flags = VERSION, READ_ONLY * read_only | COPIED * copied
    at = ctypes.addressof(record)
    _exported[at] = (record, sizes, steps, owner)
    return _new_capsule(at, NAMES[versioned], ctypes.cast(_ends_capsule, _P))


def unwrap(capsule: object) -> Foreign:
    """What a capsule holds, which is ours from now on. Raises BufferError for what lend has no arrays for."""
    own = id(capsule)
    version = next((k for k, name in enumerate(NAMES) if _is_valid(own, name)), None)
    if version is None:
        raise BufferError("this is no capsule of DLPack's, or somebody has taken what it held")
    at = _pointer(own, NAMES[version])
    record: Any = _RECORDS[version].from_address(at)
    if isinstance(record, _Versioned) and record.major > VERSION[0]:
        raise BufferError(f"the array is of version {record.major} of DLPack, and lend knows {VERSION[0]}")
    tensor: Any = record.tensor
    if tensor.lanes != 1:
        raise BufferError(f"the array has elements of {tensor.lanes} lanes")
    dtype = _dtype_of(tensor.kind, tensor.bits)
    shape = tuple(tensor.shape[: tensor.dimensions])
    if tensor.strides:
        strides = tuple([dtype.itemsize * step for step in tensor.strides[: tensor.dimensions]])
    else:
        strides = tuple([dtype.itemsize * prod(shape[k + 1 :]) for k in range(len(shape))])
    read_only = isinstance(record, _Versioned) and bool(record.flags & READ_ONLY)
    deleter = record.deleter
    _set_name(own, USED[version])

    def release() -> None:
        if deleter:
            _DELETER(deleter)(at)

    address = (tensor.data or 0) + tensor.offset
    return Foreign(address, tensor.device, tensor.number, shape, strides, dtype, read_only, release)


def _type_of(dtype: AnyDtype) -> tuple[int, int]:
    """DLPack's kind of an element type, and its bits."""
    element = scalar_of(dtype)
    if element is None or not dtype.isnative:
        raise BufferError(f"DLPack has no elements like {dtype}")
    return _kind_of(element), element.bits


def _dtype_of(kind: int, bits: int) -> AnyDtype:
    for element in SCALARS:
        if (_kind_of(element), element.bits) == (kind, bits):
            return dtype_of(element)
    raise BufferError(f"lend has no elements of {bits} bits of DLPack's kind {kind}")


def _kind_of(element: ScalarType) -> int:
    return KINDS["bfloat" if element is BF16 else element.kind]
