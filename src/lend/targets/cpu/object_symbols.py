"""The symbols of an object file.

Does: read the symbol table of 64-bit little-endian ELF objects, as our compiler writes them.  Does not: load or link.
Example: `read_symbols(object_code).undefined` is `{"expf", "lend_parallel_for"}`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from lend.diagnostics.errors import InternalError

_SYMBOL_TABLE = 2  # section type SHT_SYMTAB
_LOCAL = 0  # binding STB_LOCAL


@dataclass(frozen=True)
class Symbols:
    """Names that an object file defines for others, and names that it needs."""

    defined: frozenset[str]
    undefined: frozenset[str]


def read_symbols(code: bytes) -> Symbols:
    """The global symbols of an object file."""
    if code[:6] != b"\x7fELF\x02\x01":
        raise InternalError("an object file that is not 64-bit little-endian ELF")
    (sections_at,) = struct.unpack_from("<Q", code, 0x28)
    entry_size, count = struct.unpack_from("<HH", code, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", code, sections_at + k * entry_size) for k in range(count)]
    defined: set[str] = set()
    undefined: set[str] = set()
    for header in headers:
        if header[1] != _SYMBOL_TABLE:
            continue
        at, size, names = header[4], header[5], headers[header[6]][4]
        for place in range(at, at + size, 24):
            name_at, info, _, section, _, _ = struct.unpack_from("<IBBHQQ", code, place)
            start = names + name_at
            name = code[start : code.index(b"\0", start)].decode()
            if not name or info >> 4 == _LOCAL:
                continue
            (undefined if section == 0 else defined).add(name)
    return Symbols(frozenset(defined), frozenset(undefined))
