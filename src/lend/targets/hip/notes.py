"""What a code object says of its kernels: the note that AMD's driver reads.

Does: find the note in an ELF file of 64 bits, and read it (MessagePack).  Does not: look at code.
Invariants: files are the linker's own; what is not as it writes them raises InternalError, never anything else.

Source: "User Guide for AMDGPU Backend", section "Code Object Metadata"; the specification of MessagePack.
"""

from __future__ import annotations

import struct
from typing import Any

from lend.diagnostics.errors import InternalError

_NOTES = 7
"""The type of ELF sections that hold notes."""
_METADATA = 32
"""The type of the note, of a vendor called `AMDGPU`."""


def metadata(content: bytes) -> Any:
    """The metadata of a code object, as dictionaries and lists."""
    try:
        return unpacked(_note(content))
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise InternalError(f"the linker has written a code object that lend cannot read: {error}") from None


def _note(content: bytes) -> bytes:
    """What the note holds."""
    (table,) = struct.unpack_from("<Q", content, 0x28)
    size, count = struct.unpack_from("<HH", content, 0x3A)
    for number in range(count):
        kind, offset, length = struct.unpack_from("<4xI16xQQ", content, table + number * size)
        at = offset
        while kind == _NOTES and at < offset + length:
            name_bytes, bytes, type = struct.unpack_from("<III", content, at)
            name = content[at + 12 : at + 12 + name_bytes].rstrip(b"\0")
            start = at + 12 + -(-name_bytes // 4) * 4
            if name == b"AMDGPU" and type == _METADATA:
                return content[start : start + bytes]
            at = start + -(-bytes // 4) * 4
    raise InternalError("the linker has written a code object without a note of what its kernels are")


def unpacked(content: bytes) -> Any:
    """A value in MessagePack: what the notes hold of it (no floats, no extensions)."""
    return _value(content, 0)[0]


_FIXED = {0xC0: None, 0xC2: False, 0xC3: True}
_NUMBERS = {0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"}
_LENGTHS = {
    0xC4: ">B",
    0xC5: ">H",
    0xC6: ">I",
    0xD9: ">B",
    0xDA: ">H",
    0xDB: ">I",
    0xDC: ">H",
    0xDD: ">I",
    0xDE: ">H",
    0xDF: ">I",
}


def _value(content: bytes, at: int) -> tuple[Any, int]:
    """The value that begins there, and where the next one does."""
    head, at = content[at], at + 1
    if head < 0x80 or head >= 0xE0:
        return (head if head < 0x80 else head - 256), at
    if head in _FIXED:
        return _FIXED[head], at
    if head in _NUMBERS:
        form = _NUMBERS[head]
        return struct.unpack_from(form, content, at)[0], at + struct.calcsize(form)
    if head < 0xC0:
        length = head & (0x1F if head >= 0xA0 else 0x0F)
    elif head in _LENGTHS:
        (length,) = struct.unpack_from(_LENGTHS[head], content, at)
        at += struct.calcsize(_LENGTHS[head])
    else:
        raise InternalError(f"a note of a code object holds a value of a kind ({head:#x}) that lend does not know")
    if head < 0x90 or head in (0xDE, 0xDF):
        return _map(content, at, length)
    if head < 0xA0 or head in (0xDC, 0xDD):
        items: list[Any] = []
        for _ in range(length):
            item, at = _value(content, at)
            items.append(item)
        return items, at
    part = content[at : at + length]
    return (part if head in (0xC4, 0xC5, 0xC6) else part.decode()), at + length


def _map(content: bytes, at: int, length: int) -> tuple[dict[Any, Any], int]:
    found: dict[Any, Any] = {}
    for _ in range(length):
        key, at = _value(content, at)
        found[key], at = _value(content, at)
    return found, at
