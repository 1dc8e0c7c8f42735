"""Conversions between scalar types.

Does: what `ir.typed.Cast` says.  Does not: decide which conversions a program may write.
Invariants: each conversion to a float type rounds once; no float-to-integer conversion is out of range when it is executed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lend.diagnostics.errors import InternalError
from lend.language.types import BF16, F16, F64, PART, SIGNIFICAND, ScalarType
from lend.lower import scalar_narrow
from lend.lower.scalar_types import float_text, register_type

if TYPE_CHECKING:
    from lend.lower.arithmetic import ScalarEmitter


def cast(emitter: ScalarEmitter, source: ScalarType, target: ScalarType, a: str) -> str:
    """`a` of `source` as a value of `target`."""
    if source is target:
        return a
    if target.kind == "complex":
        return _to_complex(emitter, source, target, a)
    if target.kind == "bool":
        return _to_bool(emitter, source, a)
    if source.kind == "complex":
        raise InternalError(f"no conversion from {source} to {target}")
    if target.kind == "float":
        return _float_to_float(emitter, source, target, a) if source.kind == "float" else _to_float(emitter, source, target, a)
    if source.kind == "float":
        return _float_to_integer(emitter, source, target, a)
    return _to_integer(emitter, source, target, a)


def _to_bool(emitter: ScalarEmitter, source: ScalarType, a: str) -> str:
    emit = emitter.builder.emit
    if source.kind == "complex":
        parts = [emit(f"fcmp une {register_type(PART[source])} {part}, 0.0") for part in emitter.parts(source, a)]
        return emit(f"or i1 {parts[0]}, {parts[1]}")
    if source.kind == "float":
        return emit(f"fcmp une {register_type(source)} {a}, 0.0")
    return emit(f"icmp ne {register_type(source)} {a}, 0")


def _to_complex(emitter: ScalarEmitter, source: ScalarType, target: ScalarType, a: str) -> str:
    part = PART[target]
    if source.kind == "complex":
        real, imaginary = (cast(emitter, PART[source], part, each) for each in emitter.parts(source, a))
        return emitter.pair(target, real, imaginary)
    return emitter.pair(target, cast(emitter, source, part, a), "0.0")


def _to_integer(emitter: ScalarEmitter, source: ScalarType, target: ScalarType, a: str) -> str:
    """From bool_ or an integer: wraps."""
    wide, narrow = register_type(source), register_type(target)
    if wide == narrow:
        return a
    source_bits = 1 if source.kind == "bool" else source.bits
    if source_bits > target.bits:
        return emitter.builder.emit(f"trunc {wide} {a} to {narrow}")
    return emitter.builder.emit(f"{'sext' if source.kind == 'int' else 'zext'} {wide} {a} to {narrow}")


def _float_to_float(emitter: ScalarEmitter, source: ScalarType, target: ScalarType, a: str) -> str:
    emit = emitter.builder.emit
    if target is F64:
        return emit(f"fpext float {a} to double")
    if target in (F16, BF16):
        return (scalar_narrow.round_double if source is F64 else scalar_narrow.round_float)(emitter, target, a)
    return emit(f"fptrunc double {a} to float") if source is F64 else a


def _to_float(emitter: ScalarEmitter, source: ScalarType, target: ScalarType, a: str) -> str:
    """From bool_ or an integer."""
    emit, name = emitter.builder.emit, register_type(source)
    signed = source.kind == "int"
    instruction = "sitofp" if signed else "uitofp"
    if target not in (F16, BF16):
        return emit(f"{instruction} {name} {a} to {register_type(target)}")
    if source.kind == "bool":
        return emit(f"uitofp i1 {a} to float")
    if source.bits > 16:
        if target is F16:  # everything from 65520 on is infinite: a clamped integer is exact in f32
            exact = emit(f"{instruction} {name} {_clamped(emitter, source, a)} to float")
            return scalar_narrow.round_float(emitter, target, exact)
        if source.bits == 64:
            a = _odd_integer(emitter, signed, a)
        return scalar_narrow.round_double(emitter, target, emit(f"{instruction} {name} {a} to double"))
    return scalar_narrow.round_float(emitter, target, emit(f"{instruction} {name} {a} to float"))


def _clamped(emitter: ScalarEmitter, source: ScalarType, a: str) -> str:
    name = register_type(source)
    if source.kind == "uint":
        return emitter.intrinsic("umin", name, [a, "131072"])
    return emitter.intrinsic("smax", name, [emitter.intrinsic("smin", name, [a, "131072"]), "-131072"])


def _odd_integer(emitter: ScalarEmitter, signed: bool, a: str) -> str:
    """A 64-bit integer, rounded to odd where it has more bits than f64 holds."""
    emit = emitter.builder.emit
    low = emit(f"and i64 {a}, 4095")
    lost = emit(f"icmp ne i64 {low}, 0")
    sticky = emit(f"select i1 {lost}, i64 4096, i64 0")
    high = emit(f"and i64 {a}, -4096")
    odd = emit(f"or i64 {high}, {sticky}")
    magnitude = a
    if signed:
        emitter.declare("llvm.abs.i64", "i64", ["i64", "i1 immarg"])
        magnitude = emit(f"call i64 @llvm.abs.i64(i64 {a}, i1 false)")
    large = emit(f"icmp ugt i64 {magnitude}, {1 << 52}")
    return emit(f"select i1 {large}, i64 {odd}, i64 {a}")


def _float_to_integer(emitter: ScalarEmitter, source: ScalarType, target: ScalarType, a: str) -> str:
    """Saturates, and NaN gives 0. (`llvm.fptosi.sat` means the same but becomes scalar code inside vector loops.)"""
    emit, name = emitter.builder.emit, register_type(source)
    value_bits = target.bits - (1 if target.kind == "int" else 0)
    precision = SIGNIFICAND[F64] if source is F64 else 24
    exact = value_bits <= precision
    highest = float(target.maximum) if exact else float((1 << value_bits) - (1 << (value_bits - precision)))
    wide = target.bits < 32  # small integers: convert as i32, then truncate
    integer = "i32" if wide else register_type(target)
    instruction = "fptosi" if wide or target.kind == "int" else "fptoui"
    above = emit(f"fcmp ogt {name} {a}, {float_text(float(target.minimum))}")  # false for NaN
    low = emit(f"select i1 {above}, {name} {a}, {name} {float_text(float(target.minimum))}")
    below = emit(f"fcmp olt {name} {low}, {float_text(highest)}")
    inside = emit(f"select i1 {below}, {name} {low}, {name} {float_text(highest)}")
    result = emit(f"{instruction} {name} {inside} to {integer}")
    if not exact:
        over = emit(f"fcmp ogt {name} {a}, {float_text(highest)}")
        result = emit(f"select i1 {over}, {integer} {emitter.constant(target, target.maximum)}, {integer} {result}")
    if target.minimum != 0:
        nan = emit(f"fcmp uno {name} {a}, 0.0")
        result = emit(f"select i1 {nan}, {integer} 0, {integer} {result}")
    return emit(f"trunc i32 {result} to {register_type(target)}") if wide else result
