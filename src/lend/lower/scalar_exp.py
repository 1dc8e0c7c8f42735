"""The exponential function of f32 and f64 numbers under "default" and "fast", as a short sequence that vectorises.

Does: define the helper functions `lend.f32.exp` and `lend.f64.exp`: at most 1.2 units in the last place off (tested).
Does not: serve "strict", which calls the C library.

Method: x = n log(2) + r with |r| <= log(2) / 2; exp(x) = 2^n (1 + r + r² P(r)). P is a Chebyshev fit, its even and odd terms
summed apart; log(2) is split so that n times its upper part is exact (as in W. J. Cody and W. Waite, "Software Manual for the
Elementary Functions", 1980). n is rounded by adding a number so large that its last bit is worth 1; 2^n is applied in two
halves, which reach infinity and the subnormal numbers without a branch. A call would spill every vector register; this keeps
them.
"""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

from lend.diagnostics.records import dataclass
from lend.language.types import F64, ScalarType
from lend.lower.scalar_types import float_text, register_type

if TYPE_CHECKING:
    from lend.lower.arithmetic import ScalarEmitter


@dataclass(frozen=True)
class _Format:
    """What the method needs to know of a type: `least` and `most` are where results are 0 and infinite beyond doubt."""

    bits: int
    mantissa: int
    bias: int
    least: float
    most: float
    upper: float
    lower: float
    polynomial: tuple[float, ...]


_F32 = _Format(
    32, 23, 127, -104.0, 89.0, 0.693359375, -0.00021219444170128554,
    (0.5, 0.16666573286056519, 0.04166654869914055, 0.008363774046301842, 0.0013926926767453551),
)  # fmt: skip
_F64 = _Format(
    64, 52, 1023, -746.0, 710.0, 0.6931471803691238, 1.9082149292705877e-10,
    (
        0.5000000000000001, 0.16666666666666669, 0.04166666666662064, 0.008333333333329793, 0.0013888888918939168,
        0.00019841269864380513, 2.4801518641395993e-05, 2.75572664186123e-06, 2.7621338669142925e-07, 2.510134692835034e-08,
    ),
)  # fmt: skip


def exp(emitter: ScalarEmitter, type: ScalarType, a: str) -> str:
    """e to a `float` or `double`."""
    name, register = f"lend.f{64 if type is F64 else 32}.exp", register_type(type)
    emitter.builder.module.declare(name, _text(name, register, _F64 if type is F64 else _F32))
    return emitter.call_helper(name, register, [(register, a)])


def _text(name: str, register: str, f: _Format) -> str:
    magic, integer = 1.5 * 2.0**f.mantissa, f"i{f.bits}"
    # as an f64 pattern, which is how LLVM writes constants of either type; as its own bits for the integer part
    magic_bits = ((f.bias + f.mantissa) << f.mantissa) | (1 << (f.mantissa - 1))
    lines = [
        f"define internal {register} @{name}({register} %x) alwaysinline nounwind willreturn memory(none) {{",
        f"  %small = fcmp olt {register} %x, {float_text(f.least)}",
        f"  %raised = select i1 %small, {register} {float_text(f.least)}, {register} %x",
        f"  %large = fcmp ogt {register} %raised, {float_text(f.most)}",
        f"  %inside = select i1 %large, {register} {float_text(f.most)}, {register} %raised",
        f"  %scaled = fmul contract {register} %inside, {float_text(_rounded(1 / math.log(2), f))}",
        f"  %sum = fadd contract {register} %scaled, {float_text(magic)}",
        f"  %n = fsub {register} %sum, {float_text(magic)}",
        f"  %high = fmul contract {register} %n, {float_text(f.upper)}",
        f"  %r0 = fsub contract {register} %inside, %high",
        f"  %low = fmul contract {register} %n, {float_text(f.lower)}",
        f"  %r = fsub contract {register} %r0, %low",
        f"  %z = fmul {register} %r, %r",
    ]
    even = _horner(lines, register, "e", f.polynomial[0::2])
    odd = _horner(lines, register, "o", f.polynomial[1::2])
    lines += [
        f"  %o.r = fmul contract {register} {odd}, %r",
        f"  %p = fadd contract {register} %o.r, {even}",
        f"  %p.z = fmul contract {register} %p, %z",
        f"  %y = fadd contract {register} %p.z, %r",
        f"  %fraction = fadd {register} %y, 1.0",
        f"  %bits = bitcast {register} %sum to {integer}",
        f"  %k = sub {integer} %bits, {magic_bits}",
        f"  %k1 = ashr {integer} %k, 1",
        f"  %k2 = sub {integer} %k, %k1",
    ]
    for half in (1, 2):
        lines += [
            f"  %biased{half} = add {integer} %k{half}, {f.bias}",
            f"  %placed{half} = shl {integer} %biased{half}, {f.mantissa}",
            f"  %power{half} = bitcast {integer} %placed{half} to {register}",
        ]
    lines += [
        f"  %first = fmul {register} %fraction, %power1",
        f"  %second = fmul {register} %first, %power2",
        f"  ret {register} %second",
        "}",
    ]
    return "\n".join(lines)


def _horner(lines: list[str], register: str, prefix: str, coefficients: tuple[float, ...]) -> str:
    """The value of a polynomial in z."""
    value = float_text(coefficients[-1])
    for k, coefficient in enumerate(reversed(coefficients[:-1])):
        lines.append(f"  %{prefix}m{k} = fmul contract {register} %z, {value}")
        lines.append(f"  %{prefix}a{k} = fadd contract {register} %{prefix}m{k}, {float_text(coefficient)}")
        value = f"%{prefix}a{k}"
    return value


def _rounded(value: float, f: _Format) -> float:
    """A constant as a number of the type."""
    return value if f.bits == 64 else struct.unpack("<f", struct.pack("<f", value))[0]
