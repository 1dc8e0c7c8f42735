"""Object files: 64-bit little-endian ELF, as our compiler writes them.

Does: read sections, symbols and relocations.  Does not: load or link (`loader.py`).
Example: `read_symbols(object_code).undefined` is `{"expf", "lend_parallel_for"}`.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from lend.diagnostics.errors import InternalError

PROGRAM, SYMBOL_TABLE, RELOCATIONS, NO_BITS, RELOCATIONS_WITHOUT_ADDENDS = 1, 2, 4, 8, 9
"""Section types."""

WRITABLE, ALLOCATED, EXECUTABLE, THREAD_LOCAL = 1, 2, 4, 0x400
"""Section flags."""

UNDEFINED, ABSOLUTE = 0, 0xFFF1
"""Section numbers of symbols that lie in no section."""

_LOCAL = 0  # binding STB_LOCAL


class Section(NamedTuple):
    """A section: `data` is empty where there are none but zeros."""

    name: str
    type: int
    flags: int
    size: int
    alignment: int
    link: int
    info: int
    data: bytes


class Symbol(NamedTuple):
    """A symbol: in section number `section`, at `value`."""

    name: str
    binding: int
    type: int
    section: int
    value: int


class Relocation(NamedTuple):
    """At `offset` of section number `section`, something made of `symbol` (a position in `symbols`) and `addend`."""

    section: int
    offset: int
    type: int
    symbol: int
    addend: int


class ObjectFile(NamedTuple):
    """What an object file holds. `machine`: ELF's number of the architecture."""

    machine: int
    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]
    relocations: tuple[Relocation, ...]
    complete: bool
    """Whether all relocations could be read."""


class Symbols(NamedTuple):
    """Names that an object file defines for others, and names that it needs."""

    defined: frozenset[str]
    undefined: frozenset[str]


def read_object(code: bytes) -> ObjectFile:
    """The parts of an object file. Raises InternalError for what is none."""
    if code[:6] != b"\x7fELF\x02\x01":
        raise InternalError("an object file that is not 64-bit little-endian ELF")
    try:
        return _read(code)
    except (struct.error, IndexError, ValueError) as error:
        raise InternalError(f"a damaged object file ({error})") from None


def _read(code: bytes) -> ObjectFile:
    (machine,) = struct.unpack_from("<H", code, 0x12)
    (sections_at,) = struct.unpack_from("<Q", code, 0x28)
    entry_size, count, names_in = struct.unpack_from("<HHH", code, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", code, sections_at + k * entry_size) for k in range(count)]
    names = headers[names_in][4]
    sections = tuple(
        Section(
            _text(code, names + name),
            type,
            flags,
            size,
            max(alignment, 1),
            link,
            info,
            b"" if type == NO_BITS else code[at : at + size],
        )
        for name, type, flags, _, at, size, link, info, alignment, _ in headers
    )
    symbols: list[Symbol] = []
    relocations: list[Relocation] = []
    complete = True
    for section in sections:
        if section.type == SYMBOL_TABLE:
            texts = sections[section.link].data
            for name, info, _, index, value, _ in struct.iter_unpack("<IBBHQQ", section.data):
                symbols.append(Symbol(_text(texts, name), info >> 4, info & 15, index, value))
        elif section.type == RELOCATIONS:
            for offset, info, addend in struct.iter_unpack("<QQq", section.data):
                relocations.append(Relocation(section.info, offset, info & 0xFFFFFFFF, info >> 32, addend))
        elif section.type == RELOCATIONS_WITHOUT_ADDENDS:
            complete = False
    return ObjectFile(machine, sections, tuple(symbols), tuple(relocations), complete)


def _text(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode()


def read_symbols(code: bytes) -> Symbols:
    """The global symbols of an object file."""
    return symbols_of(read_object(code))


def symbols_of(file: ObjectFile) -> Symbols:
    """The global symbols of an object file that has been read."""
    named = [symbol for symbol in file.symbols if symbol.name and symbol.binding != _LOCAL]
    return Symbols(
        frozenset(symbol.name for symbol in named if symbol.section != UNDEFINED),
        frozenset(symbol.name for symbol in named if symbol.section == UNDEFINED),
    )
