"""Rounding of Python numbers to the machine types: the nearest value, ties to even, or the value modulo 2^bits.

Does: give for each type the function that rounds a float or an int to it, once.  Does not: operate on values (`arithmetic.py`).
Invariants: a value of f16, bf16 or f32 is a Python float that is exactly one of that type's; a rounding never raises and never
warns; too large is infinite, NaN stays NaN and zeros keep their sign.

Example: `rounding(F32)(0.1) == 0.10000000149011612`; `wrapping(I8)(200) == -56`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from ctypes import c_float
from functools import cache

from lend.language.types import BF16, F16, F32, ScalarType

BF16_LEAST_EXPONENT = -133  # 2^-133 is the least subnormal of bf16
BF16_LIMIT = math.ldexp(1.0, 128)


def round_f32(value: float) -> float:
    """The f32 nearest to `value`."""
    return c_float(value).value


def round_f16(value: float) -> float:
    """The f16 nearest to `value`."""
    try:
        return struct.unpack("<e", struct.pack("<e", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def round_bf16(value: float) -> float:
    """The bf16 nearest to `value`."""
    if value == 0.0 or not math.isfinite(value):
        return value
    if abs(value) >= 2.0 * BF16_LIMIT:  # the rounded value might not even be a double
        return math.copysign(math.inf, value)
    exponent = max(math.frexp(value)[1] - 8, BF16_LEAST_EXPONENT)
    steps = round(math.ldexp(value, -exponent))  # exact, then half to even
    if steps == 0:
        return math.copysign(0.0, value)
    rounded = math.ldexp(float(steps), exponent)
    return rounded if abs(rounded) < BF16_LIMIT else math.copysign(math.inf, value)


def round_f64(value: float) -> float:
    """`value` itself."""
    return value


@cache
def rounding(type: ScalarType) -> Callable[[float], float]:
    """The function that rounds a Python float to a float type."""
    return {F16: round_f16, BF16: round_bf16, F32: round_f32}.get(type, round_f64)


def float_of_integer(type: ScalarType, value: int) -> float:
    """The value of a float type nearest to an integer of any size: one rounding, not one to f64 and another."""
    magnitude = abs(value)
    excess = magnitude.bit_length() - 53
    if excess > 0 and type.bits < 64:
        kept = magnitude >> excess
        if kept << excess != magnitude:
            kept |= 1  # rounded to odd: f64's last bit says that something was cut off, and the next rounding is right
        magnitude = kept << excess
    try:
        exact = float(magnitude)
    except OverflowError:
        exact = math.inf
    return rounding(type)(-exact if value < 0 else exact)


@cache
def wrapping(type: ScalarType) -> Callable[[int], int]:
    """The function that takes an int modulo 2^bits into the range of an integer type."""
    mask = (1 << type.bits) - 1
    if type.kind == "uint":

        def unsigned(value: int) -> int:
            return value & mask

        return unsigned
    half = 1 << (type.bits - 1)

    def signed(value: int) -> int:
        return ((value + half) & mask) - half

    return signed


def saturated(type: ScalarType, value: float) -> int:
    """The integer part of `value`, or the end of the integer type's range it lies beyond; 0 for NaN."""
    if value != value:
        return 0
    if value >= type.maximum:
        return type.maximum
    if value <= type.minimum:
        return type.minimum
    return int(value)


def bf16_bits(value: float) -> int:
    """The 16 bits of a bf16 value."""
    return struct.unpack("<I", struct.pack("<f", value))[0] >> 16


def bf16_value(bits: int) -> float:
    """The bf16 value of 16 bits."""
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]
