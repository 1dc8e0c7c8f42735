"""f16 and bf16 in `float` registers: rounding to them, and their bits in memory, by 32-bit operations.

Does: define small helper functions in the module (`lend.f16.round`, …), which inline and vectorise.  Does not: use the machine's
half-precision instructions or the compiler's run-time library, which is missing on some targets.
Invariants: round to nearest even, subnormals kept, one rounding from any source (wider sources are first rounded to odd); NaNs
become the quiet NaN of their sign in f16 and keep their upper bits in bf16.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lend.language.types import ScalarType

if TYPE_CHECKING:
    from lend.lower.arithmetic import ScalarEmitter

_ATTRIBUTES = "alwaysinline nounwind willreturn memory(none)"

# Adding and subtracting 0.5 rounds a magnitude below 2^-14 to a multiple of 2^-24: the spacing of f32 in [0.5, 1).
_F16_ROUND = f"""define internal float @lend.f16.round(float %x) {_ATTRIBUTES} {{
  %u = bitcast float %x to i32
  %sign = and i32 %u, -2147483648
  %m = and i32 %u, 2147483647
  %shifted = lshr i32 %m, 13
  %odd = and i32 %shifted, 1
  %half = add i32 %m, 4095
  %even = add i32 %half, %odd
  %kept = and i32 %even, -8192
  %over = icmp ugt i32 %kept, {0x477FE000}
  %finite = select i1 %over, i32 {0x7F800000}, i32 %kept
  %mf = bitcast i32 %m to float
  %up = fadd float %mf, 0x3FE0000000000000
  %down = fsub float %up, 0x3FE0000000000000
  %small.bits = bitcast float %down to i32
  %small = icmp ult i32 %m, {0x38800000}
  %number = select i1 %small, i32 %small.bits, i32 %finite
  %nan = icmp ugt i32 %m, {0x7F800000}
  %magnitude = select i1 %nan, i32 {0x7FC00000}, i32 %number
  %bits = or i32 %magnitude, %sign
  %r = bitcast i32 %bits to float
  ret float %r
}}"""

_F16_BITS = f"""define internal i16 @lend.f16.bits(float %x) {_ATTRIBUTES} {{
  %u = bitcast float %x to i32
  %top = lshr i32 %u, 16
  %sign = and i32 %top, 32768
  %m = and i32 %u, 2147483647
  %rebased = sub i32 %m, {112 << 23}
  %normal = lshr i32 %rebased, 13
  %mf = bitcast i32 %m to float
  %scaled = fmul float %mf, 0x4170000000000000
  %small = icmp ult i32 %m, {0x38800000}
  %safe = select i1 %small, float %scaled, float 0.0
  %subnormal = fptosi float %safe to i32
  %number = select i1 %small, i32 %subnormal, i32 %normal
  %infinite = icmp uge i32 %m, {0x7F800000}
  %nan = icmp ugt i32 %m, {0x7F800000}
  %special = select i1 %nan, i32 {0x7E00}, i32 {0x7C00}
  %magnitude = select i1 %infinite, i32 %special, i32 %number
  %bits = or i32 %magnitude, %sign
  %r = trunc i32 %bits to i16
  ret i16 %r
}}"""

_F16_VALUE = f"""define internal float @lend.f16.value(i16 %h) {_ATTRIBUTES} {{
  %w = zext i16 %h to i32
  %top = and i32 %w, 32768
  %sign = shl i32 %top, 16
  %m = and i32 %w, 32767
  %placed = shl i32 %m, 13
  %normal = add i32 %placed, {112 << 23}
  %special = or i32 %placed, {0x7F800000}
  %infinite = icmp uge i32 %m, {0x7C00}
  %big = select i1 %infinite, i32 %special, i32 %normal
  %mf = sitofp i32 %m to float
  %scaled = fmul float %mf, 0x3E70000000000000
  %subnormal = bitcast float %scaled to i32
  %small = icmp ult i32 %m, {0x400}
  %magnitude = select i1 %small, i32 %subnormal, i32 %big
  %bits = or i32 %magnitude, %sign
  %r = bitcast i32 %bits to float
  ret float %r
}}"""

_BF16_ROUND = f"""define internal float @lend.bf16.round(float %x) {_ATTRIBUTES} {{
  %u = bitcast float %x to i32
  %shifted = lshr i32 %u, 16
  %odd = and i32 %shifted, 1
  %half = add i32 %u, 32767
  %even = add i32 %half, %odd
  %quiet = or i32 %u, {0x00400000}
  %nan = fcmp uno float %x, 0.0
  %whole = select i1 %nan, i32 %quiet, i32 %even
  %bits = and i32 %whole, -65536
  %r = bitcast i32 %bits to float
  ret float %r
}}"""

_BF16_BITS = f"""define internal i16 @lend.bf16.bits(float %x) {_ATTRIBUTES} {{
  %u = bitcast float %x to i32
  %quiet = or i32 %u, {0x00400000}
  %nan = fcmp uno float %x, 0.0
  %whole = select i1 %nan, i32 %quiet, i32 %u
  %top = lshr i32 %whole, 16
  %r = trunc i32 %top to i16
  ret i16 %r
}}"""

_BF16_VALUE = f"""define internal float @lend.bf16.value(i16 %h) {_ATTRIBUTES} {{
  %w = zext i16 %h to i32
  %bits = shl i32 %w, 16
  %r = bitcast i32 %bits to float
  ret float %r
}}"""

# Truncate towards zero and set the last bit if that lost anything: a later rounding to a type that is narrower by two bits or
# more is then the same as one rounding of the source.
_ODD = f"""define internal float @lend.f32.odd(double %x) {_ATTRIBUTES} {{
  %near = fptrunc double %x to float
  %back = fpext float %near to double
  %inexact = fcmp one double %back, %x
  %back.m = call double @llvm.fabs.f64(double %back)
  %x.m = call double @llvm.fabs.f64(double %x)
  %beyond = fcmp ogt double %back.m, %x.m
  %u = bitcast float %near to i32
  %step = sext i1 %beyond to i32
  %truncated = add i32 %u, %step
  %odd = or i32 %truncated, 1
  %bits = select i1 %inexact, i32 %odd, i32 %u
  %r = bitcast i32 %bits to float
  ret float %r
}}"""

_HELPERS = {
    "lend.f16.round": _F16_ROUND,
    "lend.f16.bits": _F16_BITS,
    "lend.f16.value": _F16_VALUE,
    "lend.bf16.round": _BF16_ROUND,
    "lend.bf16.bits": _BF16_BITS,
    "lend.bf16.value": _BF16_VALUE,
    "lend.f32.odd": _ODD,
}


def _call(emitter: ScalarEmitter, name: str, result: str, type: str, a: str) -> str:
    emitter.builder.module.declare(name, _HELPERS[name])
    return emitter.call_helper(name, result, [(type, a)])


def round_float(emitter: ScalarEmitter, type: ScalarType, a: str) -> str:
    """A `float` rounded to f16 or bf16."""
    return _call(emitter, f"lend.{type.name}.round", "float", "float", a)


def round_double(emitter: ScalarEmitter, type: ScalarType, a: str) -> str:
    """A `double` rounded to f16 or bf16, once."""
    emitter.declare("llvm.fabs.f64", "double", ["double"])
    return round_float(emitter, type, _call(emitter, "lend.f32.odd", "float", "double", a))


def to_bits(emitter: ScalarEmitter, type: ScalarType, a: str) -> str:
    """The `i16` in memory of an f16 or bf16 value."""
    return _call(emitter, f"lend.{type.name}.bits", "i16", "float", a)


def from_bits(emitter: ScalarEmitter, type: ScalarType, a: str) -> str:
    """The value of an `i16` from memory."""
    return _call(emitter, f"lend.{type.name}.value", "float", "i16", a)
