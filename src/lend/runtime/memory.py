"""Where an array's elements are: its address, read as fast as Python allows.

Does: give addresses of arrays.  Does not: keep arrays alive; the caller does.
Invariants: the short way reads the first field of NumPy's array object, whose place was the same in every release; it is taken
only if it agrees with `__array_interface__` on a few arrays when this module is imported.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable

import numpy as np

from lend.runtime.elements import AnyArray
from lend.runtime.overlap import View

C_CONTIGUOUS = 0x1
F_CONTIGUOUS = 0x2
ALIGNED = 0x100
WRITEABLE = 0x400
"""NumPy's flag bits in `array.flags.num`."""

_HEADER = object.__basicsize__
_read_word = ctypes.c_size_t.from_address


def _address_by_field(array: AnyArray) -> int:
    return _read_word(id(array) + _HEADER).value


def _address_by_interface(array: AnyArray) -> int:
    return array.__array_interface__["data"][0]


def _choose() -> Callable[[AnyArray], int]:
    if sys.implementation.name != "cpython":
        return _address_by_interface
    base = np.zeros((5, 7), np.float32)
    samples = (base, base[1:, ::-2], base.T, np.zeros(0), np.zeros((), np.int8), base[2:3].astype(np.float64))
    agree = all(_address_by_field(sample) == _address_by_interface(sample) for sample in samples)
    return _address_by_field if agree else _address_by_interface


address_of: Callable[[AnyArray], int] = _choose()
"""The address of an exact `ndarray`'s first element (meaningless, but some number, if it has none)."""


def view_of(array: AnyArray) -> View:
    """The bytes of an array's elements, for `overlap.py`."""
    return View(address_of(array), array.shape, array.strides, array.itemsize)
