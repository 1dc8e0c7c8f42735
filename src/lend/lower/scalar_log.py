"""The logarithm of f32 numbers under "default" and "fast", as a short sequence that vectorises.

Does: define the helper function `lend.f32.log`: at most 1 unit in the last place off (tested on every number in [0.5, 2]).
Does not: serve "strict", which calls the C library.

Method: x = 2^e m with m in [sqrt(1/2), sqrt(2)); log(x) = e log(2) + f - f²/2 + f³ P(f) with f = m - 1. P is a polynomial fitted
by iterated weighted least squares to relative error 1e-9; log(2) is split so that e times its upper part is exact
(as in W. J. Cody and W. Waite, "Software Manual for the Elementary Functions", 1980).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lend.lower.scalar_types import float_text

if TYPE_CHECKING:
    from lend.lower.arithmetic import ScalarEmitter

_POLYNOMIAL = (
    0.3333331346511841, -0.25000008940696716, 0.2000211924314499, -0.1666799634695053, 0.14219552278518677,
    -0.1240558922290802, 0.11888162791728973, -0.11675651371479034, 0.0674663856625557,
)  # fmt: skip
_LOG2_UPPER, _LOG2_LOWER = 0.693359375, -0.00021219444170128554
_ROOT_HALF = 0x3F3504F3  # the bits of sqrt(1/2)


def log_f32(emitter: ScalarEmitter, a: str) -> str:
    """The natural logarithm of a `float`."""
    emitter.builder.module.declare("lend.f32.log", _text())
    return emitter.call_helper("lend.f32.log", "float", [("float", a)])


def _text() -> str:
    lines = [
        "define internal float @lend.f32.log(float %x) alwaysinline nounwind willreturn memory(none) {",
        f"  %tiny = fcmp olt float %x, {float_text(2.0**-126)}",
        f"  %scale = select i1 %tiny, float {float_text(2.0**25)}, float 1.0",
        "  %shift = select i1 %tiny, i32 25, i32 0",
        "  %normal = fmul float %x, %scale",
        "  %bits = bitcast float %normal to i32",
        f"  %rebased = sub i32 %bits, {_ROOT_HALF}",
        "  %exponent = ashr i32 %rebased, 23",
        "  %e.int = sub i32 %exponent, %shift",
        "  %e = sitofp i32 %e.int to float",
        f"  %fraction = and i32 %rebased, {0x7FFFFF}",
        f"  %m.bits = add i32 %fraction, {_ROOT_HALF}",
        "  %m = bitcast i32 %m.bits to float",
        "  %f = fsub float %m, 1.0",
        "  %z = fmul float %f, %f",
    ]
    value = float_text(_POLYNOMIAL[-1])
    for k, coefficient in enumerate(reversed(_POLYNOMIAL[:-1])):
        lines.append(f"  %p{k} = fmul contract float {value}, %f")
        lines.append(f"  %q{k} = fadd contract float %p{k}, {float_text(coefficient)}")
        value = f"%q{k}"
    lines += [
        "  %cube = fmul float %f, %z",
        f"  %y0 = fmul contract float %cube, {value}",
        f"  %lower = fmul contract float %e, {float_text(_LOG2_LOWER)}",
        "  %y1 = fadd contract float %y0, %lower",
        "  %half = fmul contract float %z, 0.5",
        "  %y2 = fsub contract float %y1, %half",
        "  %y3 = fadd float %f, %y2",
        f"  %upper = fmul contract float %e, {float_text(_LOG2_UPPER)}",
        "  %log = fadd contract float %upper, %y3",
        "  %positive = fcmp ogt float %x, 0.0",
        "  %zero = fcmp oeq float %x, 0.0",
        f"  %edge = select i1 %zero, float {float_text(float('-inf'))}, float {float_text(float('nan'))}",
        f"  %infinite = fcmp oeq float %x, {float_text(float('inf'))}",
        "  %finite = select i1 %infinite, float %x, float %log",
        "  %r = select i1 %positive, float %finite, float %edge",
        "  ret float %r",
        "}",
    ]
    return "\n".join(lines)
