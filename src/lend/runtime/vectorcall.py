"""A base class whose instances Python calls through a pointer of their own, to compiled code.

Does: make the class (a C-level type with room for one `vectorcallfunc`) and set the pointer of an instance.
Does not: compile code or know kernels.
Invariants: while an instance's pointer is null, calling it calls its class's `__call__`; a pointer leads to code that
behaves as `__call__` does. Where Python is not as expected, `Callable` is a plain class, `route` does nothing, and every
call goes to `__call__`.

Example: `class Kernel(Callable): ...` and `enable(Kernel)`; then `route(kernel, address)`.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from typing import TYPE_CHECKING, Any

_HAVE_VECTORCALL = 1 << 11
_BASE_TYPE = 1 << 10
_MEMBERS = 72  # the slot Py_tp_members
_READ_ONLY_SIZE = (19, 1)  # the member's type T_PYSSIZET, and READONLY
_POINTER = object.__basicsize__
"""Where an instance's pointer is: behind its header."""

_BASIC_SIZE, _VECTORCALL_OFFSET, _FLAGS = 32, 56, 168
"""Offsets in a type object, checked before use."""


class _Member(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Slot(ctypes.Structure):
    _fields_ = (("slot", ctypes.c_int), ("value", ctypes.c_void_p))


class _Spec(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("basic_size", ctypes.c_int),
        ("item_size", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.c_void_p),
    )


class _Plain:
    """The base class where there is no native path."""


def _make() -> type:
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED") or _POINTER != 16:
        return _Plain
    members = (_Member * 2)(_Member(b"__vectorcalloffset__", _READ_ONLY_SIZE[0], _POINTER, _READ_ONLY_SIZE[1], None))
    slots = (_Slot * 2)(_Slot(_MEMBERS, ctypes.addressof(members)))
    spec = _Spec(b"lend.runtime.vectorcall.Callable", _POINTER + 8, 0, _BASE_TYPE, ctypes.addressof(slots))
    _keep.extend((members, slots, spec))
    make = ctypes.pythonapi.PyType_FromSpec
    make.argtypes, make.restype = [ctypes.c_void_p], ctypes.py_object
    made: type = make(ctypes.addressof(spec))
    return made if _word(made, _BASIC_SIZE) == _POINTER + 8 and _word(made, _VECTORCALL_OFFSET) == _POINTER else _Plain


def _word(cls: type, offset: int) -> int:
    return ctypes.c_ssize_t.from_address(id(cls) + offset).value


_keep: list[Any] = []

if TYPE_CHECKING:

    class Callable:
        """The base class."""

else:
    Callable = _make()

_made = Callable.__name__ != _Plain.__name__
"""Whether instances have a pointer."""


def enable(cls: type) -> None:
    """Let Python use the pointers of the instances of `cls`, a subclass of `Callable` with a `__call__` of its own.

    Where that cannot be, they stay unused (see `enabled`).
    """
    if not _made or _word(cls, _VECTORCALL_OFFSET) != _POINTER or _word(cls, _BASIC_SIZE) != cls.__basicsize__:
        return
    flags = ctypes.c_ulong.from_address(id(cls) + _FLAGS)
    if flags.value == cls.__flags__:
        # A class with a `__call__` written in Python does not get this flag by itself, since in general the two would differ.
        flags.value |= _HAVE_VECTORCALL


def enabled(cls: type) -> bool:
    """Whether Python calls instances of exactly this class through their pointers."""
    return _made and issubclass(cls, Callable) and bool(cls.__flags__ & _HAVE_VECTORCALL)


def route(instance: Any, address: int) -> None:
    """Call `instance` through the code at `address` from now on; 0: through its class's `__call__`."""
    if isinstance(instance, Callable) and _made:
        ctypes.c_void_p.from_address(id(instance) + _POINTER).value = address
