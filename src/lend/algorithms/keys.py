"""Integers in whose order numbers are sorted.

Does: map each number to an unsigned integer of its width, so that comparing these is comparing the numbers as NumPy sorts them.
Does not: complex numbers and records, which have no such integer.
Invariants: equal numbers have equal keys, -0.0 and 0.0 included; every NaN has the greatest key of its type.
"""

from __future__ import annotations

import math
from typing import Any

import lend
from lend import bf16, bool_, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64


@lend.function
def key_type(element: Any) -> Any:
    """The unsigned integer type that is as wide as `element`."""
    if element == f64 or element == i64 or element == u64:  # noqa: SIM109  (kernels have no `in`)
        return u64
    if element == f32 or element == i32 or element == u32:  # noqa: SIM109  (kernels have no `in`)
        return u32
    if element == f16 or element == bf16 or element == i16 or element == u16:  # noqa: SIM109  (kernels have no `in`)
        return u16
    return u8


@lend.function
def key_bits(element: Any) -> Any:
    """How many bits a key has."""
    key = key_type(element)
    return 64 if key == u64 else 32 if key == u32 else 16 if key == u16 else 8


@lend.function
def key_of(value: Any, element: Any) -> Any:
    """The key of a value of type `element`."""
    key = key_type(element)
    if element == bool_ or element == key:  # noqa: SIM109  (kernels have no `in`)
        return key(value)
    bits = lend.bitcast(value, key)
    top = key(1) << (key_bits(element) - 1)
    if element == i8 or element == i16 or element == i32 or element == i64:  # noqa: SIM109  (kernels have no `in`)
        return bits ^ top
    infinity = lend.bitcast(element(math.inf), key)
    if bits & ~top > infinity:
        return ~key(0)
    if bits > top:
        return ~bits
    return bits | top  # -0.0 as 0.0
