"""Functions of complex numbers, composed from real ones.

Does: exp log sqrt sin cos tan sinh cosh tanh conj and powers, each a helper function of the module that is free of branches (but
for powers), so that loops around it vectorise.  Does not: round correctly: a few units in the last place, as C libraries do.
Invariants: no result overflows or underflows unless its value does; zeros, infinities, NaNs and branch cuts are those of C99's
Annex G, which NumPy follows; no fast-math flags, since the formulas rely on each rounding.

Sources: W. Kahan, "Branch cuts for complex elementary functions" (1987), for sqrt and tanh.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from lend.diagnostics.errors import InternalError
from lend.diagnostics.records import dataclass
from lend.ir.typed import BinaryOperator
from lend.language.types import F64, PART, ScalarType
from lend.lower.builder import FunctionBuilder
from lend.lower.scalar_types import register_type

if TYPE_CHECKING:
    from lend.lower.arithmetic import ScalarEmitter

Pair = tuple[str, str]


@dataclass(frozen=True)
class _Limits:
    """Constants of a part's type."""

    exponent: float  # exp of this is near the largest number
    huge: float  # from here on, four times a number may overflow
    tiny: float  # up to here, a number may be subnormal
    lift: float  # an even power of two that makes tiny numbers normal
    flat: float  # tanh is 1 to the last place from here on


_LIMITS = {
    F64: _Limits(709.0, math.ldexp(1.0, 1021), math.ldexp(1.0, -1000), math.ldexp(1.0, 108), 22.0),
}
_LIMITS_F32 = _Limits(88.0, math.ldexp(1.0, 125), math.ldexp(1.0, -100), math.ldexp(1.0, 48), 11.0)


class _Real:
    """Shorthand for real operations on one type, without fast-math flags."""

    def __init__(self, emitter: ScalarEmitter, part: ScalarType) -> None:
        self.emitter = emitter
        self.part = part
        self.limits = _LIMITS.get(part, _LIMITS_F32)

    def number(self, value: float) -> str:
        return self.emitter.constant(self.part, value)

    def do(self, operator: BinaryOperator, a: str, b: str) -> str:
        return self.emitter.binary(operator, self.part, a, b)

    def add(self, a: str, b: str) -> str:
        return self.do("add", a, b)

    def sub(self, a: str, b: str) -> str:
        return self.do("sub", a, b)

    def mul(self, a: str, b: str) -> str:
        return self.do("mul", a, b)

    def div(self, a: str, b: str) -> str:
        return self.do("div", a, b)

    def neg(self, a: str) -> str:
        return self.emitter.unary("neg", self.part, a)

    def abs(self, a: str) -> str:
        return self.emitter.unary("abs", self.part, a)

    def call(self, function: str, *arguments: str) -> str:
        return self.emitter.math(function, [self.part] * len(arguments), list(arguments), self.part)

    def compare(self, operator: BinaryOperator, a: str, value: float) -> str:
        return self.do(operator, a, self.number(value))

    def both(self, a: str, b: str) -> str:
        return self.emitter.builder.emit(f"and i1 {a}, {b}")

    def is_finite(self, a: str) -> str:
        return self.compare("lt", self.abs(a), math.inf)

    def is_infinite(self, a: str) -> str:
        return self.compare("eq", self.abs(a), math.inf)

    def invert(self, condition: str) -> str:
        return self.emitter.builder.emit(f"xor i1 {condition}, true")

    def select(self, condition: str, then: str, orelse: str) -> str:
        return self.emitter.select(self.part, condition, then, orelse)

    def choose(self, condition: str, then: float, orelse: float) -> str:
        return self.select(condition, self.number(then), self.number(orelse))


def function(emitter: ScalarEmitter, name: str, type: ScalarType, a: str) -> str:
    """`name` of a complex value, which is complex."""
    if name == "conj":
        real, imaginary = emitter.parts(type, a)
        return emitter.pair(type, real, emitter.unary("neg", PART[type], imaginary))
    formula = _FORMULAS.get(name)
    if formula is None:
        raise InternalError(f"no function {name} of {type}")
    whole = register_type(type)
    helper = f"lend.{type.name}.{name}"
    if not emitter.builder.module.declared(helper):
        inner, real = _helper_emitter(emitter, type)
        result = inner.pair(type, *formula(real, inner.parts(type, "%z")))
        inner.builder.ret(f"{whole} {result}")
        head = f"define internal {whole} @{helper}({whole} %z) alwaysinline nounwind willreturn memory(none)"
        emitter.builder.module.declare(helper, f"{head} {{\n{inner.builder.body()}\n}}")
    return emitter.call_helper(helper, whole, [(whole, a)])


def _helper_emitter(emitter: ScalarEmitter, type: ScalarType) -> tuple[ScalarEmitter, _Real]:
    """An emitter for a helper function: the same library functions, no fast-math flags."""
    inner = emitter.without_flags(FunctionBuilder(emitter.builder.module))
    return inner, _Real(inner, PART[type])


# ---------------------------------------------------------------------------------------------------- formulas


def _exp(r: _Real, z: Pair) -> Pair:
    """e^x (cos y, sin y); where e^x would overflow, in two factors."""
    x, y = z
    large = r.compare("gt", x, r.limits.exponent)
    power = r.call("exp", r.sub(x, r.choose(large, r.limits.exponent, 0.0)))
    factor = r.choose(large, _rounded_exp(r), 1.0)
    real = r.mul(r.mul(power, r.call("cos", y)), factor)
    imaginary = r.mul(r.mul(power, r.call("sin", y)), factor)
    # x = -inf gives zeros and x = inf an infinite real part, whatever y is; y = 0 stays, whatever e^x is.
    infinite = r.both(r.is_infinite(x), r.invert(r.is_finite(y)))
    below = r.both(infinite, r.compare("lt", x, 0.0))
    real = r.select(infinite, r.select(below, r.number(0.0), x), real)
    imaginary = r.select(below, r.number(0.0), imaginary)
    on_axis = r.compare("eq", y, 0.0)
    return r.select(on_axis, r.mul(power, factor), real), r.select(on_axis, y, imaginary)


def _rounded_exp(r: _Real) -> float:
    """The constant factor of `_exp`: rounded to the type by `constant`."""
    return math.exp(r.limits.exponent)


def _log(r: _Real, z: Pair) -> Pair:
    """(log |z|, atan2(y, x)). Near |z| = 1, by log1p of |z|² - 1, computed with the products' rounding errors."""
    x, y = z
    size_x, size_y = r.abs(x), r.abs(y)
    large, small = r.do("max", size_x, size_y), r.do("min", size_x, size_y)
    scale, shift = _scaling(r, large)
    far = r.sub(r.call("log", r.call("hypot", r.mul(x, scale), r.mul(y, scale))), shift)
    square, square_small = r.mul(large, large), r.mul(small, small)
    error = r.add(
        r.call("fma", large, large, r.neg(square)),
        r.call("fma", small, small, r.neg(square_small)),
    )
    excess = r.add(r.add(r.sub(square, r.number(1.0)), square_small), error)
    near = r.mul(r.call("log1p", excess), r.number(0.5))
    sum_of_squares = r.add(square, square_small)
    is_near = r.both(r.compare("gt", sum_of_squares, 0.5), r.compare("lt", sum_of_squares, 3.0))
    infinite = r.emitter.builder.emit(f"or i1 {r.is_infinite(x)}, {r.is_infinite(y)}")
    real = r.select(infinite, r.number(math.inf), r.select(is_near, near, far))
    return real, r.call("atan2", y, x)


def _scaling(r: _Real, large: str) -> Pair:
    """A power of two that brings a number of this size away from overflow and underflow, and its logarithm."""
    too_large, too_small = r.compare("gt", large, r.limits.huge), r.compare("lt", large, r.limits.tiny)
    scale = r.select(too_large, r.number(0.25), r.choose(too_small, r.limits.lift, 1.0))
    shift = r.select(too_large, r.number(math.log(0.25)), r.choose(too_small, math.log(r.limits.lift), 0.0))
    return scale, shift


def _sqrt(r: _Real, z: Pair) -> Pair:
    """t = sqrt((|x| + |z|) / 2) and y / 2t, scaled by powers of four."""
    x, y = z
    large = r.do("max", r.abs(x), r.abs(y))
    too_large, too_small = r.compare("gt", large, r.limits.huge), r.compare("lt", large, r.limits.tiny)
    scale = r.select(too_large, r.number(1.0 / 16), r.choose(too_small, r.limits.lift, 1.0))
    back = r.select(too_large, r.number(4.0), r.choose(too_small, 1.0 / math.sqrt(r.limits.lift), 1.0))
    sx, sy = r.mul(x, scale), r.mul(y, scale)
    half = r.mul(r.add(r.abs(sx), r.call("hypot", sx, sy)), r.number(0.5))
    root = r.call("sqrt", half)
    other = r.div(r.abs(sy), r.mul(root, r.number(2.0)))
    root, other = r.mul(root, back), r.mul(other, back)
    negative = r.emitter.math("signbit", [r.part], [x], r.part)
    real = r.select(negative, other, root)
    imaginary = r.call("copysign", r.select(negative, root, other), y)
    zero = r.compare("eq", large, 0.0)
    infinite = r.is_infinite(y)
    real = r.select(infinite, r.number(math.inf), r.select(zero, r.number(0.0), real))
    keep = r.emitter.builder.emit(f"or i1 {infinite}, {zero}")
    return real, r.select(keep, y, imaginary)


def _hyperbolic(r: _Real, x: str, y: str) -> tuple[str, str, str, str, str]:
    """sinh x, cosh x, cos y, sin y and a factor: large x is taken as e^|x| / 2 in two factors."""
    size = r.abs(x)
    large = r.compare("gt", size, r.limits.exponent)
    power = r.call("exp", r.sub(size, r.number(r.limits.exponent)))
    sinh = r.select(large, r.call("copysign", power, x), r.call("sinh", x))
    cosh = r.select(large, power, r.call("cosh", x))
    factor = r.choose(large, 0.5 * math.exp(r.limits.exponent), 1.0)
    return sinh, cosh, r.call("cos", y), r.call("sin", y), factor


def _sinh(r: _Real, z: Pair) -> Pair:
    """(sinh x cos y, cosh x sin y)."""
    x, y = z
    sinh, cosh, cos, sin, factor = _hyperbolic(r, x, y)
    real, imaginary = r.mul(r.mul(sinh, cos), factor), r.mul(r.mul(cosh, sin), factor)
    # An infinite or NaN angle: a zero x stays, an infinite one gives an infinity whose sign C leaves open.
    unknown = r.invert(r.is_finite(y))
    real = r.select(r.both(unknown, r.compare("eq", x, 0.0)), x, real)
    real = r.select(r.both(unknown, r.is_infinite(x)), r.abs(x), real)
    on_axis = r.compare("eq", y, 0.0)
    return r.select(on_axis, r.mul(sinh, factor), real), r.select(on_axis, y, imaginary)


def _cosh(r: _Real, z: Pair) -> Pair:
    """(cosh x cos y, sinh x sin y)."""
    x, y = z
    sinh, cosh, cos, sin, factor = _hyperbolic(r, x, y)
    real, imaginary = r.mul(r.mul(cosh, cos), factor), r.mul(r.mul(sinh, sin), factor)
    unbounded = r.both(r.is_infinite(x), r.invert(r.is_finite(y)))
    real = r.select(unbounded, r.abs(x), real)
    on_axis = r.compare("eq", y, 0.0)
    # The product of two zeros' signs; also where one factor is infinite or NaN and the other zero.
    sign = r.mul(r.call("copysign", r.number(1.0), x), y)
    zero = r.both(r.compare("eq", x, 0.0), r.invert(r.is_finite(y)))
    imaginary = r.select(on_axis, sign, r.select(zero, r.number(0.0), imaginary))
    return r.select(on_axis, r.mul(cosh, factor), real), imaginary


def _tanh(r: _Real, z: Pair) -> Pair:
    """Kahan's formula; beyond `flat`, ±1 and 4 sin y cos y e^(-2|x|)."""
    x, y = z
    size = r.abs(x)
    tangent = r.call("tan", y)
    beta = r.add(r.number(1.0), r.mul(tangent, tangent))
    sinh = r.call("sinh", x)
    rho = r.call("sqrt", r.add(r.number(1.0), r.mul(sinh, sinh)))
    below = r.add(r.number(1.0), r.mul(beta, r.mul(sinh, sinh)))
    real, imaginary = r.div(r.mul(r.mul(beta, rho), sinh), below), r.div(tangent, below)
    fade = r.call("exp", r.neg(size))
    angle = r.mul(r.mul(r.number(4.0), r.call("sin", y)), r.call("cos", y))
    faint = r.mul(r.mul(angle, fade), fade)
    faint = r.select(r.is_finite(y), faint, r.call("copysign", r.number(0.0), y))
    known = r.emitter.builder.emit(f"or i1 {r.is_finite(y)}, {r.is_infinite(x)}")
    flat = r.both(known, r.compare("gt", size, r.limits.flat))
    real = r.select(flat, r.call("copysign", r.number(1.0), x), real)
    imaginary = r.select(flat, faint, imaginary)
    zero = r.compare("eq", x, 0.0)
    on_axis = r.compare("eq", y, 0.0)
    return r.select(zero, x, real), r.select(on_axis, y, imaginary)


def _sin(r: _Real, z: Pair) -> Pair:
    """sin(x + iy) is sinh(y + ix) with its parts exchanged."""
    real, imaginary = _sinh(r, (z[1], z[0]))
    return imaginary, real


def _cos(r: _Real, z: Pair) -> Pair:
    """cos z = cosh(iz)."""
    return _cosh(r, (r.neg(z[1]), z[0]))


def _tan(r: _Real, z: Pair) -> Pair:
    """tan(x + iy) is tanh(y + ix) with its parts exchanged."""
    real, imaginary = _tanh(r, (z[1], z[0]))
    return imaginary, real


_FORMULAS: dict[str, Callable[[_Real, Pair], Pair]] = {
    "exp": _exp, "log": _log, "sqrt": _sqrt, "sin": _sin, "cos": _cos, "tan": _tan, "sinh": _sinh, "cosh": _cosh, "tanh": _tanh,
}  # fmt: skip

# ------------------------------------------------------------------------------------------------------ powers


def power(emitter: ScalarEmitter, type: ScalarType, a: str, b: str) -> str:
    """`a ** b` as NumPy's: exact cases, small integer powers by multiplication, else exp(b log a)."""
    whole = register_type(type)
    helper = f"lend.{type.name}.pow"
    if not emitter.builder.module.declared(helper):
        inner, _ = _helper_emitter(emitter, type)
        _power_body(inner, type)
        head = f"define internal {whole} @{helper}({whole} %a, {whole} %b) nounwind willreturn memory(none)"
        emitter.builder.module.declare(helper, f"{head} {{\n{inner.builder.body()}\n}}")
    return emitter.call_helper(helper, whole, [(whole, a), (whole, b)])


def _power_body(e: ScalarEmitter, type: ScalarType) -> None:
    builder, part, whole = e.builder, PART[type], register_type(type)
    name = register_type(part)
    exponent = e.parts(type, "%b")
    one, zero = e.constant(type, 1.0), e.constant(type, 0.0)

    def leave(condition: str, value: str, hint: str) -> None:
        """Return `value` if `condition`."""
        leaving, going_on = builder.new_block(hint), builder.new_block("next")
        builder.branch(condition, leaving, going_on)
        builder.open(leaving)
        builder.ret(f"{whole} {value}")
        builder.open(going_on)

    leave(e.binary("eq", type, "%b", zero), one, "zeroth")
    positive = e.binary("gt", part, exponent[0], e.constant(part, 0.0))
    undefined = e.constant(type, complex(math.nan, math.nan))
    leave(e.binary("eq", type, "%a", zero), e.select(type, positive, zero, undefined), "base")
    real = e.binary("eq", part, exponent[1], e.constant(part, 0.0))
    whole_number = e.binary("eq", part, e.math("trunc", [part], [exponent[0]], part), exponent[0])
    small = e.binary("lt", part, e.unary("abs", part, exponent[0]), e.constant(part, 100.0))
    integral = builder.emit(f"and i1 {builder.emit(f'and i1 {real}, {whole_number}')}, {small}")
    by_squaring, general = builder.new_block("squaring"), builder.new_block("general")
    builder.branch(integral, by_squaring, general)
    builder.open(general)
    logarithm = function(e, "log", type, "%a")
    builder.ret(f"{whole} {function(e, 'exp', type, e.binary('mul', type, '%b', logarithm))}")
    builder.open(by_squaring)
    size = builder.emit(f"fptosi {name} {e.unary('abs', part, exponent[0])} to i32")
    result, factor, left = builder.alloca(whole), builder.alloca(whole), builder.alloca("i32")
    builder.append(f"store {whole} {one}, ptr {result}")
    builder.append(f"store {whole} %a, ptr {factor}")
    builder.append(f"store i32 {size}, ptr {left}")
    loop, done = builder.new_block("loop"), builder.new_block("done")
    builder.jump(loop)
    builder.open(loop)
    bits = builder.emit(f"load i32, ptr {left}")
    odd = builder.emit(f"trunc i32 {bits} to i1")
    so_far, now = builder.emit(f"load {whole}, ptr {result}"), builder.emit(f"load {whole}, ptr {factor}")
    product = e.binary("mul", type, so_far, now)
    builder.append(f"store {whole} {e.select(type, odd, product, so_far)}, ptr {result}")
    builder.append(f"store {whole} {e.binary('mul', type, now, now)}, ptr {factor}")
    rest = builder.emit(f"lshr i32 {bits}, 1")
    builder.append(f"store i32 {rest}, ptr {left}")
    builder.branch(builder.emit(f"icmp eq i32 {rest}, 0"), done, loop)
    builder.open(done)
    value = builder.emit(f"load {whole}, ptr {result}")
    leave(positive, value, "positive")
    builder.ret(f"{whole} {e.binary('div', type, one, value)}")
