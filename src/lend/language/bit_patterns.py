"""The bits of a number as a number of another type of the same width, on Python values: `lend.bitcast` in `kernel.py`.

Does: `as_u64`, `as_f32` and their kin of `ir.typed.Math`.  Does not: bools and complex numbers.
Invariants: the bits are those of memory; of NaNs in f16 and f32 only that they are NaNs, as Python's own floats are f64.

Example: `bit_function(F64, U64)(1.0) == 0x3FF0000000000000`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import Any

from lend.language.rounding import bf16_bits, bf16_value
from lend.language.types import BF16, SCALARS, ScalarType

_LETTERS = {
    **{("int", bits): letter for bits, letter in ((8, "b"), (16, "h"), (32, "i"), (64, "q"))},
    **{("uint", bits): letter for bits, letter in ((8, "B"), (16, "H"), (32, "I"), (64, "Q"))},
    **{("float", bits): letter for bits, letter in ((16, "e"), (32, "f"), (64, "d"))},
}


def target_of(function: str) -> ScalarType | None:
    """The type that a function of `ir.typed.Math` gives bits as; None if it is another function."""
    return next((type for type in SCALARS if function == f"as_{type}"), None)


@cache
def bit_function(source: ScalarType, target: ScalarType) -> Callable[[Any], Any]:
    """The function from values of `source` to values of `target` with the same bits. Raises KeyError for bools and complex."""
    size = f"<{_LETTERS['uint', source.bits]}"
    bits = _packing(source)

    def value(number: Any) -> Any:
        (pattern,) = struct.unpack(size, bits(number))
        if target is BF16:
            return bf16_value(pattern)
        return struct.unpack(letter, struct.pack(size, pattern))[0]

    letter = "" if target is BF16 else f"<{_LETTERS[target.kind, target.bits]}"
    return value


def _packing(type: ScalarType) -> Callable[[Any], bytes]:
    """From a value to its bytes in memory."""
    if type is BF16:
        return lambda number: struct.pack("<H", bf16_bits(number))
    letter = f"<{_LETTERS[type.kind, type.bits]}"
    return lambda number: struct.pack(letter, number)
