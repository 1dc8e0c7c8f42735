"""MessagePack, as notes of code objects have it."""

from __future__ import annotations

import pytest

from lend.diagnostics.errors import InternalError
from lend.targets.hip.notes import metadata, unpacked


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (b"\x07", 7),
        (b"\xe0", -32),
        (b"\xff", -1),
        (b"\xc0", None),
        (b"\xc2", False),
        (b"\xc3", True),
        (b"\xcc\xff", 255),
        (b"\xcd\x01\x00", 256),
        (b"\xce\x00\x01\x00\x00", 65536),
        (b"\xcf" + bytes(7) + b"\x05", 5),
        (b"\xd0\x80", -128),
        (b"\xd3" + b"\xff" * 8, -1),
        (b"\xa3abc", "abc"),
        (b"\xd9\x02hi", "hi"),
        (b"\xda\x00\x02hi", "hi"),
        (b"\xc4\x02\x00\x01", b"\x00\x01"),
        (b"\x93\x01\x02\xa1x", [1, 2, "x"]),
        (b"\xdc\x00\x02\x01\x02", [1, 2]),
        (b"\x82\xa1a\x01\xa1b\x90", {"a": 1, "b": []}),
        (b"\xde\x00\x01\xa1a\x81\x01\x02", {"a": {1: 2}}),
    ],
)
def test_values(content: bytes, value: object) -> None:
    assert unpacked(content) == value


def test_what_is_no_note() -> None:
    with pytest.raises(InternalError, match="a kind \\(0xca\\) that lend does not know"):
        unpacked(b"\xca\x00\x00\x00\x00")
    with pytest.raises(InternalError, match="cannot read"):
        metadata(b"\x7fELF")
    with pytest.raises(InternalError, match="without a note"):
        metadata(bytes(64))
