"""How scalar types and constants are written in LLVM IR.

Does: name register and memory types, print float constants.  Does not: emit instructions.
Invariants: the conventions are those of `builder.py`.
"""

from __future__ import annotations

import math
import struct

from lend.language.types import BF16, F16, F64, PART, ScalarType


def register_type(type: ScalarType) -> str:
    """The LLVM type of a value in a register (see `builder.py`)."""
    if type.kind == "bool":
        return "i1"
    if type.kind == "complex":
        part = register_type(PART[type])
        return f"{{ {part}, {part} }}"
    if type.kind == "float":
        return "double" if type is F64 else "float"
    return f"i{type.bits}"


def memory_type(type: ScalarType) -> str:
    """The LLVM type of a value in memory (see `builder.py`)."""
    if type.kind == "bool":
        return "i8"
    if type in (F16, BF16):
        return "i16"
    return register_type(type)


def float_text(value: float) -> str:
    """A `float` or `double` operand, exactly; the value must be one of its type. Every NaN becomes the quiet one."""
    if math.isnan(value):
        return "0x7FF8000000000000"
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
