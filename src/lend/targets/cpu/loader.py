"""Object files into memory, ready to be called.

Does: lay out the sections of an x86-64 object file, resolve its symbols, relocate it, and make its code executable; without LLVM,
whose library alone takes longer to load than a kernel that was compiled before.  Does not: anything for other architectures
or for objects unlike those that lend's code generator writes: `load` is None then, and LLVM's own loader does it (`emit.py`).
Invariants: nothing is both writable and executable; memory is private to the process, so that a child of `fork` has its own
data; it is given back when the last reference to `Loaded` goes, but never while Python shuts down, since other threads may
still run in it.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable
from functools import cache

from lend.targets.cpu.object_file import (
    ABSOLUTE,
    ALLOCATED,
    EXECUTABLE,
    NO_BITS,
    PROGRAM,
    THREAD_LOCAL,
    UNDEFINED,
    WRITABLE,
    ObjectFile,
    Symbol,
    read_object,
    symbols_of,
)

X86_64 = 62

_PAGE = 4096
_NONE, _64, _PC32, _PLT32, _32, _32S, _PC64 = 0, 1, 2, 4, 10, 11, 24
_FORMATS = {_64: "<Q", _PC32: "<i", _PLT32: "<i", _32: "<I", _32S: "<i", _PC64: "<q"}
_RELATIVE = (_PC32, _PLT32, _PC64)
_ORDINARY = (0, 1, 2, 3, 4)  # symbol types: none, object, function, section, file

_READ, _WRITE, _EXECUTE = 1, 2, 4
_PRIVATE_ANONYMOUS = 0x22


class Unsupported(Exception):
    """Something in an object file that this loader does not know."""


class Loaded:
    """Code in memory, at `addresses` by name."""

    def __init__(self, object_code: bytes, addresses: dict[str, int], place: int, size: int) -> None:
        self._object_code = object_code
        self._addresses = addresses
        self._place = place
        self._size = size
        self._unmap: Callable[[int, int], int] = _libc().munmap
        self._finalizing = sys.is_finalizing

    def address(self, name: str) -> int:
        """The address of a function or a variable that the object defines. Raises KeyError for any other."""
        return self._addresses[name]

    data_address = address

    def object_code(self) -> bytes:
        """The object file."""
        return self._object_code

    def __del__(self) -> None:
        if not self._finalizing():
            self._unmap(self._place, self._size)


@cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return libc


@cache
def _libraries() -> tuple[ctypes.CDLL, ...]:
    """Where compiled code finds what it calls: this process, the mathematical libraries (`libraries.py` has the same)."""
    found = [ctypes.CDLL(None)]
    for name in ("libm.so.6", "libmvec.so.1"):
        try:
            found.append(ctypes.CDLL(name))
        except OSError:
            continue
    return tuple(found)


def _find(name: str) -> int | None:
    for library in _libraries():
        try:
            return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        except AttributeError:
            continue
    return None


def load(object_code: bytes, symbols: dict[str, int]) -> Loaded | None:
    """Load an object file; `symbols` come first. None if that takes another loader, or a symbol is unknown."""
    return load_file(object_code, read_object(object_code), symbols)


def load_file(object_code: bytes, file: ObjectFile, symbols: dict[str, int]) -> Loaded | None:
    """`load`, of an object file that has been read."""
    if not sys.platform.startswith("linux") or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    try:
        return _load(object_code, file, symbols)
    except Unsupported:
        return None


def _load(object_code: bytes, file: ObjectFile, symbols: dict[str, int]) -> Loaded:
    if file.machine != X86_64 or not file.complete:
        raise Unsupported
    places, size, protections = _lay_out(file)
    # Symbols first: nothing is to be given back if one is missing.
    known = {name: symbols.get(name) or _find(name) for name in symbols_of(file).undefined}
    if not all(known.values()):
        raise Unsupported
    libc = _libc()
    base = libc.mmap(None, size, _READ | _WRITE, _PRIVATE_ANONYMOUS, -1, 0)
    if base in (None, ctypes.c_void_p(-1).value):
        raise Unsupported
    loaded = Loaded(object_code, {}, base, size)
    image = _image(file, places, size)
    values = [_value(symbol, places, base, known) for symbol in file.symbols]
    _relocate(file, image, places, base, values)
    ctypes.memmove(base, bytes(image), size)
    for start, end, protection in protections:
        if end > start and libc.mprotect(base + start, end - start, protection):
            raise Unsupported
    addresses = {
        s.name: value for s, value in zip(file.symbols, values, strict=True) if s.name and s.section and value is not None
    }
    loaded._addresses.update(addresses)  # pyright: ignore[reportPrivateUsage]
    return loaded


def _lay_out(file: ObjectFile) -> tuple[dict[int, int], int, list[tuple[int, int, int]]]:
    """Where each section goes, by number; the size of all; and (start, end, protection) of code, constants and data."""
    groups: dict[int, list[int]] = {_READ | _EXECUTE: [], _READ: [], _READ | _WRITE: []}
    for number, section in enumerate(file.sections):
        if not section.flags & ALLOCATED or section.name == ".eh_frame":  # nothing unwinds through code of ours
            continue
        if section.type not in (PROGRAM, NO_BITS) or section.flags & THREAD_LOCAL or section.alignment > _PAGE:
            raise Unsupported
        executable, writable = section.flags & EXECUTABLE, section.flags & WRITABLE
        if executable and writable:
            raise Unsupported
        groups[_READ | (_EXECUTE if executable else _WRITE if writable else 0)].append(number)
    places: dict[int, int] = {}
    protections: list[tuple[int, int, int]] = []
    end = 0
    for protection, numbers in groups.items():
        start = end
        for number in numbers:
            section = file.sections[number]
            end = -(-end // section.alignment) * section.alignment
            places[number] = end
            end += section.size
        end = -(-end // _PAGE) * _PAGE
        protections.append((start, end, protection))
    return places, max(end, _PAGE), protections


def _image(file: ObjectFile, places: dict[int, int], size: int) -> bytearray:
    image = bytearray(size)
    for number, place in places.items():
        data = file.sections[number].data
        image[place : place + len(data)] = data
    return image


def _value(symbol: Symbol, places: dict[int, int], base: int, known: dict[str, int | None]) -> int | None:
    """The address of a symbol; None for one that lies in no part that is loaded."""
    if symbol.section == UNDEFINED:
        return known.get(symbol.name)
    if symbol.type not in _ORDINARY:
        raise Unsupported
    if symbol.section == ABSOLUTE:
        return symbol.value
    return base + places[symbol.section] + symbol.value if symbol.section in places else None


def _relocate(file: ObjectFile, image: bytearray, places: dict[int, int], base: int, values: list[int | None]) -> None:
    for section, offset, type, symbol, addend in file.relocations:
        if section not in places or type == _NONE:
            continue
        target = values[symbol]
        if target is None or type not in _FORMATS:
            raise Unsupported
        place = places[section] + offset
        value = target + addend - (base + place if type in _RELATIVE else 0)
        try:
            struct.pack_into(_FORMATS[type], image, place, value % (1 << 64) if type == _64 else value)
        except struct.error:
            raise Unsupported from None
