"""Where CPython and NumPy keep what compiled code reads: types, array fields, numbers.

Does: find the offsets of fields by looking at real objects, once.  Does not: read anything in a call (`entry.py` writes that).
Invariants: an offset is given only if every sample agrees with what Python says of it. Where something is not as expected
(another interpreter, a build without a global lock, another layout, a missing function), `python_abi()` is None and there is
no native path.
"""

from __future__ import annotations

import ctypes
import struct
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import field
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from lend.diagnostics.records import dataclass
from lend.language.dtypes import numpy_dtype
from lend.language.types import BF16, SCALARS, ScalarType

FUNCTIONS = (
    "Py_IncRef",
    "Py_DecRef",
    "PyErr_Clear",
    "PyErr_NoMemory",
    "PyMem_Malloc",
    "PyMem_Free",
    "PyObject_Vectorcall",
    "PyObject_CallOneArg",
    "PyObject_CallNoArgs",
    "PyObject_SetAttr",
    "PyNumber_Add",
    "PyObject_GetAttr",
    "PyBytes_FromStringAndSize",
    "PyDict_GetItemWithError",
    "PyTuple_New",
    "PyTuple_SetItem",
    "PyTuple_GetItem",
    "PyTuple_Size",
    "PyLong_AsLongLongAndOverflow",
    "PyLong_FromLongLong",
    "PyLong_FromUnsignedLongLong",
    "PyFloat_FromDouble",
    "PyComplex_FromDoubles",
    "PyBool_FromLong",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
)
"""What compiled entry points call."""

NUMPY_TYPES: dict[ScalarType, type[Any]] = {scalar: numpy_dtype(scalar).type for scalar in SCALARS if scalar is not BF16}
"""The class of NumPy's scalars of each type."""

_SAMPLES: dict[str, tuple[str, Any]] = {
    "bool_": ("?", True), "i8": ("b", -101), "i16": ("h", -30_001), "i32": ("i", -2_000_000_011), "i64": ("q", -(2**61) - 12345),
    "u8": ("B", 201), "u16": ("H", 60_001), "u32": ("I", 4_000_000_007), "u64": ("Q", 2**63 + 12345), "f16": ("e", -1.625),
    "f32": ("f", 1.2345e10), "f64": ("d", -1.23456789e-200), "complex64": ("ff", 1.5e9 - 3.25j),
    "complex128": ("dd", 1.23456789e-200 - 9.87654321e99j),
}  # fmt: skip

TYPE = 8
"""Where an object's type is: behind the count of references, in every build with a global lock."""


@dataclass(frozen=True)
class PythonAbi:
    """Offsets in bytes. `dict_version` is None where dictionaries do not count their changes (from Python 3.14 on)."""

    data: int
    dimensions: int
    shape: int
    strides: int
    base: int
    descr: int
    flags: int
    type_number: int  # in a descriptor
    byte_order: int
    float_value: int
    complex_value: int
    cell_value: int
    dict_version: int | None
    scalars: dict[ScalarType, int] = field(hash=False)  # of NumPy's scalars


@cache
def function_addresses() -> dict[str, int]:
    """Where the functions are, for whoever loads code that calls them."""
    return {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in FUNCTIONS}


class _Unexpected(Exception):
    """Something is not where it is looked for."""


@cache
def python_abi() -> PythonAbi | None:
    """The layout of this process's objects; None where it is not understood."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED") or sys.byteorder != "little":
        return None
    if ctypes.sizeof(ctypes.c_void_p) != 8 or object.__basicsize__ != 16:
        return None
    if not all(hasattr(ctypes.pythonapi, name) for name in FUNCTIONS):
        return None
    try:
        return _probe()
    except (_Unexpected, AttributeError, TypeError, ValueError):
        return None


def _probe() -> PythonAbi:
    arrays = _sample_arrays()
    size = np.ndarray.__basicsize__
    _same_type((1.5, np.zeros(1), {}, np.float32(1), (), True))
    shape = _find(arrays, size, lambda a, at: a.ndim == 0 or _words(_word(a, at), a.ndim) == a.shape, pointers=True)
    strides = _find(
        arrays, size, lambda a, at: at != shape and (a.ndim == 0 or _words(_word(a, at), a.ndim) == a.strides), pointers=True
    )
    descr = _find(arrays, size, lambda a, at: _word(a, at) == id(a.dtype))
    dtypes = [np.dtype(code) for code in "?bBhHiIlLqQefdFD"] + [np.dtype(">f4"), np.dtype(">i8")]
    return PythonAbi(
        data=_find(arrays, size, lambda a, at: _word(a, at) == a.__array_interface__["data"][0]),
        dimensions=_find(arrays, size, lambda a, at: _int(a, at) == a.ndim, step=4),
        shape=shape,
        strides=strides,
        base=_find(arrays, size, lambda a, at: _word(a, at) == (0 if a.base is None else id(a.base))),
        descr=descr,
        flags=_find(arrays, size, lambda a, at: _int(a, at) == a.flags.num, step=4),
        type_number=_find(dtypes, 48, lambda d, at: _int(d, at) == d.num, step=4),
        byte_order=_find(dtypes, 48, lambda d, at: _byte(d, at) == ord(d.byteorder), step=1),
        float_value=_find([1.5, -2.25e99], 24, lambda x, at: _bytes(x, at, 8) == struct.pack("<d", x)),
        complex_value=_find([1.5 - 3j], 32, lambda x, at: _bytes(x, at, 16) == struct.pack("<dd", x.real, x.imag), width=16),
        cell_value=_cell_value(),
        dict_version=_dict_version(),
        scalars={type: _scalar_value(type) for type in NUMPY_TYPES},
    )


def _sample_arrays() -> list[Any]:
    """Arrays that differ in every field."""
    base = np.arange(385, dtype=np.float32).reshape(5, 7, 11)
    read_only = np.arange(6, dtype=np.int16)
    read_only.flags.writeable = False
    odd = np.frombuffer(bytearray(49), np.uint8)[1:].view(np.float64)
    return [
        base,
        base[1:, ::2, ::-3],
        base.T,
        np.zeros((3, 4), np.complex128, order="F"),
        np.zeros(0),
        np.zeros((), np.int8),
        read_only,
        odd,
        np.zeros((2, 3, 4, 5), np.bool_),
        np.zeros((2, 0, 3), np.uint64),
        np.arange(13.0)[::2],
        np.zeros((1,), ">i4"),
    ]


def _find(
    samples: list[Any], size: int, holds: Callable[[Any, int], bool], *, step: int = 8, pointers: bool = False, width: int = 0
) -> int:
    """The one offset, behind the type, at which `holds` is true of all samples; it looks at `width` bytes, or `step`."""
    places = [
        at
        for at in range(16, size + 1 - (width or step), step)
        if all((not pointers or _is_pointer(x, at)) and holds(x, at) for x in samples)
    ]
    if len(places) != 1:
        raise _Unexpected
    return places[0]


def _is_pointer(array: Any, at: int) -> bool:
    """Whether the word may be followed, as far as can be told: NumPy keeps shape and strides of an array side by side."""
    words = [_word(array, other) for other in range(16, type(array).__basicsize__, 8)]
    word = _word(array, at)
    if array.ndim == 0:
        return True
    return word != 0 and word % 8 == 0 and (word + 8 * array.ndim in words or word - 8 * array.ndim in words)


def _same_type(values: tuple[Any, ...]) -> None:
    classes: list[Any] = [type(value) for value in values]
    if any(_word(value, TYPE) != id(cls) for value, cls in zip(values, classes, strict=True)):
        raise _Unexpected


def _cell_value() -> int:
    def make(value: Any) -> Any:
        return (lambda: value).__closure__[0]  # type: ignore[index]  # pyright: ignore[reportOptionalSubscript]

    return _find([make(object()), make(1.5), make(())], 24, lambda cell, at: _word(cell, at) == id(cell.cell_contents))


def _dict_version() -> int | None:
    """Where a dictionary's version is: it grows with every change and is the same otherwise."""
    sample: dict[str, Any] = {"a": 1, "b": 2}
    seen: list[int] = []
    for change in (lambda: None, lambda: sample.__setitem__("a", object()), lambda: sample.__setitem__("c", 1)):
        change()
        sample.get("a")
        seen.append(_word(sample, 24))
    del sample["c"]
    seen.append(_word(sample, 24))
    again = _word(sample, 24)
    other = {"a": 1}
    grows = all(before < after for before, after in pairwise(seen))
    return 24 if grows and again == seen[-1] and _word(other, 24) not in seen else None


def _scalar_value(type: ScalarType) -> int:
    code, value = _SAMPLES[type.name]
    scalar = NUMPY_TYPES[type](value)
    parts = (scalar.real.item(), scalar.imag.item()) if type.kind == "complex" else (scalar.item(),)
    wanted = struct.pack(f"<{code}", *parts)
    size = scalar.__class__.__basicsize__
    return _find([scalar], size, lambda x, at: _bytes(x, at, len(wanted)) == wanted, width=len(wanted))


def _word(value: Any, at: int) -> int:
    return ctypes.c_uint64.from_address(id(value) + at).value


def _int(value: Any, at: int) -> int:
    return ctypes.c_int32.from_address(id(value) + at).value


def _byte(value: Any, at: int) -> int:
    return ctypes.c_uint8.from_address(id(value) + at).value


def _bytes(value: Any, at: int, count: int) -> bytes:
    return ctypes.string_at(id(value) + at, count)


def _words(address: int, count: int) -> tuple[int, ...]:
    return tuple((ctypes.c_int64 * count).from_address(address))
