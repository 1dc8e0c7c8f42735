"""Mathematical functions: how each primitive of `ir.typed.Math` is computed.

Does: one table from names to LLVM intrinsics, C library functions and short sequences.  Does not: know the machine's vector
library: calls that may be vectorised are to declarations marked `VECTOR_MARK`, which the target replaces (or drops).
Invariants: f16 and bf16 are computed in f32 and rounded; calls have no side effect that LLVM may rely on; under "strict" they are
`nobuiltin`, so that they stay the calls that were written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lend.diagnostics.errors import InternalError
from lend.language.types import BF16, F16, F64, ScalarType
from lend.lower import scalar_complex_math, scalar_narrow
from lend.lower.scalar_exp import exp
from lend.lower.scalar_log import log_f32
from lend.lower.scalar_types import float_text, register_type

if TYPE_CHECKING:
    from lend.lower.arithmetic import ScalarEmitter

VECTOR_MARK = '"lend-vector-math"'
"""An attribute of a declared function that a vector library may replace inside vectorised loops."""

PURE = "nounwind willreturn memory(none)"

INTRINSICS = {
    "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint", "fma": "fma", "copysign": "copysign",
}  # fmt: skip
"""Primitive -> LLVM intrinsic: each is exact or correctly rounded, and an instruction on most machines."""

LIBRARY = {
    "cbrt": "cbrt", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10",
    "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin", "acos": "acos", "atan": "atan", "sinh": "sinh",
    "cosh": "cosh", "tanh": "tanh", "asinh": "asinh", "acosh": "acosh", "atanh": "atanh", "erf": "erf", "erfc": "erfc",
    "tgamma": "tgamma", "lgamma": "lgamma", "atan2": "atan2", "hypot": "hypot", "nextafter": "nextafter",
    "remainder": "remainder", "pow": "pow",
}  # fmt: skip
"""Primitive -> function of C's mathematical library; the f32 one has an `f` behind its name."""

COMPLEX = ("exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "conj")


def emit(
    emitter: ScalarEmitter, function: str, argument_types: list[ScalarType], arguments: list[str], result_type: ScalarType
) -> str:
    """Append the instructions of one function and give its result, a value of `result_type`."""
    type = argument_types[0]
    if function.startswith("as_"):
        return _bits(emitter, type, result_type, arguments[0])
    if function == "complex":
        return emitter.pair(result_type, arguments[0], arguments[1])
    if type.kind == "complex":
        if function in ("real", "imag"):
            return emitter.parts(type, arguments[0])[0 if function == "real" else 1]
        if function in COMPLEX:
            return scalar_complex_math.function(emitter, function, type, arguments[0])
    elif function == "popcount":
        return emitter.intrinsic("ctpop", register_type(type), arguments)
    elif type.kind == "float":
        return _real(emitter, function, type, arguments)
    raise InternalError(f"no function {function} of {type}")


def _bits(emitter: ScalarEmitter, source: ScalarType, target: ScalarType, value: str) -> str:
    """The bits of a value as a value of a type of the same width."""
    if source in (F16, BF16):
        value = scalar_narrow.to_bits(emitter, source, value)
    elif source.is_float:
        value = emitter.builder.emit(f"bitcast {register_type(source)} {value} to i{source.bits}")
    if target in (F16, BF16):
        return scalar_narrow.from_bits(emitter, target, value)
    if not target.is_float:
        return value
    return emitter.builder.emit(f"bitcast i{target.bits} {value} to {register_type(target)}")


def _real(emitter: ScalarEmitter, function: str, type: ScalarType, arguments: list[str]) -> str:
    name = register_type(type)
    if function in ("isnan", "isinf", "isfinite", "signbit"):
        return _predicate(emitter, function, name, arguments[0])
    if function == "nextafter" and type in (F16, BF16):
        return _narrow_nextafter(emitter, type, arguments[0], arguments[1])
    if function == "fmod":
        return emitter.remainder(name, arguments[0], arguments[1])  # exact in every type
    if function in ("fmax", "fmin"):
        return _ignoring_nan(emitter, function[1:], name, arguments[0], arguments[1])
    if function == "sqrt":
        return emitter.rounded(type, emitter.square_root(name, arguments[0]))
    if function in INTRINSICS:
        return emitter.rounded(type, emitter.intrinsic(INTRINSICS[function], name, arguments))
    if function in LIBRARY:
        return emitter.rounded(type, call_library(emitter, function, type, arguments))
    raise InternalError(f"no function {function} of {type}")


def call_library(emitter: ScalarEmitter, function: str, type: ScalarType, arguments: list[str]) -> str:
    """Call a function of the C library; the result is not yet rounded to f16 or bf16."""
    name = register_type(type)
    if function == "log" and type is not F64 and emitter.mode != "strict":
        return log_f32(emitter, arguments[0])
    if function == "exp" and emitter.mode != "strict":
        return exp(emitter, type, arguments[0])
    return call_symbol(emitter, LIBRARY[function], name, arguments)


def call_symbol(emitter: ScalarEmitter, function: str, name: str, arguments: list[str]) -> str:
    """Call the target's own `function` of `float` or `double` values."""
    dialect, strict = emitter.builder.module.dialect, emitter.mode == "strict"
    symbol = dialect.symbol(function, name, len(arguments))
    marks = f" {PURE}" + (f" {VECTOR_MARK}" if dialect.marked and not strict else "")
    emitter.declare(symbol, f"{dialect.convention}{name}", [name] * len(arguments), marks)
    operands = ", ".join(f"{name} {a}" for a in arguments)
    fast = emitter.mode == "fast" and function != "pow"  # LLVM makes of a fast pow a call of the compiler's own library
    flags = emitter.flags if fast else ""
    call = f"call {flags}{dialect.convention}{name} @{symbol}({operands})"
    return emitter.builder.emit(call + (" nobuiltin" if strict else ""))


def _predicate(emitter: ScalarEmitter, function: str, name: str, a: str) -> str:
    emit = emitter.builder.emit
    if function == "isnan":
        return emit(f"fcmp uno {name} {a}, 0.0")
    if function == "signbit":
        bits = "i64" if name == "double" else "i32"
        return emit(f"icmp slt {bits} {emit(f'bitcast {name} {a} to {bits}')}, 0")
    size = emitter.intrinsic("fabs", name, [a], flags="")
    return emit(f"fcmp {'oeq' if function == 'isinf' else 'one'} {name} {size}, {float_text(float('inf'))}")


def _ignoring_nan(emitter: ScalarEmitter, operator: str, name: str, a: str, b: str) -> str:
    """The larger or smaller of what is a number. Not `llvm.maximumnum`: for x86 with AVX-512, LLVM 22 turns that of a NaN and a
    value known to be none (an integer converted, say) into NaN."""
    emit = emitter.builder.emit
    nan_a, nan_b = emit(f"fcmp uno {name} {a}, 0.0"), emit(f"fcmp uno {name} {b}, 0.0")
    result = emitter.extremum(operator, name, a, b)
    result = emit(f"select i1 {nan_b}, {name} {a}, {name} {result}")
    return emit(f"select i1 {nan_a}, {name} {b}, {name} {result}")


def _narrow_nextafter(emitter: ScalarEmitter, type: ScalarType, a: str, b: str) -> str:
    """The neighbour of `a` towards `b` among the values of f16 or bf16: one step of its bits."""
    emit = emitter.builder.emit
    bits = scalar_narrow.to_bits(emitter, type, a)
    magnitude = emit(f"and i16 {bits}, 32767")
    sign = emit(f"and i16 {scalar_narrow.to_bits(emitter, type, b)}, -32768")
    zero = emit(f"icmp eq i16 {magnitude}, 0")
    up = emit(f"fcmp ogt float {b}, {a}")
    positive = emit(f"icmp sge i16 {bits}, 0")
    away = emit(f"icmp eq i1 {up}, {positive}")
    step = emit(f"select i1 {away}, i16 1, i16 -1")
    moved = emit(f"add i16 {bits}, {step}")
    least = emit(f"or i16 {sign}, 1")
    stepped = scalar_narrow.from_bits(emitter, type, emit(f"select i1 {zero}, i16 {least}, i16 {moved}"))
    same = emit(f"fcmp oeq float {a}, {b}")
    nan = emit(f"fcmp uno float {a}, {b}")
    result = emit(f"select i1 {same}, float {b}, float {stepped}")
    return emit(f"select i1 {nan}, float {float_text(float('nan'))}, float {result}")


__all__ = ["COMPLEX", "INTRINSICS", "LIBRARY", "PURE", "VECTOR_MARK", "call_library", "emit"]
