"""Operators, casts and functions on vectors give in each lane what the scalar code gives, for every type and telling values."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scalar_harness import DTYPES, FLOATS, Loops, Write, assert_same, pair_up, values_of

from lend.language.types import BF16, BOOL_, F16, SCALARS, MathMode, ScalarType
from lend.lower import scalar_narrow
from lend.lower.arithmetic import ScalarEmitter, memory_type
from lend.lower.builder import FunctionBuilder, ModuleBuilder
from lend.lower.math import INTRINSICS, LIBRARY
from lend.lower.tiles.widen import CannotWiden, WideBuilder, spread, wide_emitter, widened

TYPES = tuple(type for type in SCALARS if type.kind != "complex")
COMPARE = ("eq", "ne", "lt", "le", "gt", "ge")
PREDICATES = ("isnan", "isinf", "isfinite", "signbit")
TWO = ("atan2", "hypot", "nextafter", "remainder", "pow", "copysign", "fmax", "fmin", "fmod")
ONE = tuple(sorted((set(LIBRARY) | set(INTRINSICS)) - set(TWO) - {"fma"}))
LANES = (8,)


class Vectors(Loops):
    """The same loops, `lanes` values at a time."""

    def __init__(self, lanes: int, math: MathMode = "strict") -> None:
        super().__init__(math)
        self.lanes = lanes

    def add(self, name: str, sources: list[ScalarType], target: ScalarType, write: Write) -> None:
        builder = FunctionBuilder(self.module)
        wide = wide_emitter(ScalarEmitter(builder, self.math), self.lanes)
        counter = builder.alloca("i64")
        builder.append(f"store i64 0, ptr {counter}")
        head, body, done = builder.new_block("head"), builder.new_block("body"), builder.new_block("done")
        builder.jump(head)
        builder.open(head)
        index = builder.emit(f"load i64, ptr {counter}")
        builder.branch(builder.emit(f"icmp slt i64 {index}, %n"), body, done)
        builder.open(body)
        operands: list[str] = []
        for k, source in enumerate(sources):
            base = builder.emit(f"load ptr, ptr {builder.emit(f'getelementptr ptr, ptr %sources, i64 {k}')}")
            place = builder.emit(f"getelementptr {memory_type(source)}, ptr {base}, i64 {index}")
            raw = builder.emit(f"load <{self.lanes} x {memory_type(source)}>, ptr {place}, align 1")
            if source is BOOL_:
                raw = builder.emit(f"icmp ne <{self.lanes} x i8> {raw}, zeroinitializer")
            operands.append(scalar_narrow.from_bits(wide, source, raw) if source in (F16, BF16) else raw)
        value = write(wide, operands)
        if target in (F16, BF16):
            value = scalar_narrow.to_bits(wide, target, value)
        if target is BOOL_:
            value = builder.emit(f"zext <{self.lanes} x i1> {value} to <{self.lanes} x i8>")
        place = builder.emit(f"getelementptr {memory_type(target)}, ptr %out, i64 {index}")
        builder.append(f"store <{self.lanes} x {memory_type(target)}> {value}, ptr {place}, align 1")
        builder.append(f"store i64 {builder.emit(f'add i64 {index}, {self.lanes}')}, ptr {counter}")
        builder.jump(head)
        builder.open(done)
        builder.ret("void")
        self.module.add_function(f"define void @{name}(ptr %sources, ptr %out, i64 %n) {{\n{builder.body()}\n}}")
        self.types[name] = (sources, target)


def operators_of(type: ScalarType) -> tuple[str, ...]:
    if type is BOOL_:
        return ("and", "or", "xor", "min", "max", *COMPARE)
    common = ("add", "sub", "mul", "floordiv", "mod", "min", "max", *COMPARE)
    return (*common, "and", "or", "xor", "shl", "shr", "pow") if type.is_integer else (*common, "div", "pow")


def unary_of(type: ScalarType) -> tuple[str, ...]:
    if type is BOOL_:
        return ("not", "invert")
    return ("neg", "abs", "invert") if type.is_integer else ("neg", "abs")


def add_operators(made: Loops) -> Loops:
    for type in TYPES:
        for operator in operators_of(type):
            target = BOOL_ if operator in COMPARE else type
            made.add(f"{operator}.{type}", [type] * 2, target, lambda e, v, o=operator, t=type: e.binary(o, t, *v))
            made.add(
                f"{operator}.{type}.3",
                [type],
                target,
                lambda e, v, o=operator, t=type: e.binary(o, t, v[0], e.constant(t, t is BOOL_ or 3)),
            )
        for operator in unary_of(type):
            made.add(f"{operator}.{type}", [type], type, lambda e, v, o=operator, t=type: e.unary(o, t, v[0]))
        for target in TYPES:
            made.add(f"{type}.to.{target}", [type], target, lambda e, v, t=type, r=target: e.cast(t, r, v[0]))
        made.add(f"select.{type}", [BOOL_, type], type, lambda e, v, t=type: e.select(t, v[0], v[1], e.constant(t, 1)))
    return made


def add_functions(made: Loops) -> Loops:
    for type in FLOATS:
        for name in (*ONE, *PREDICATES):
            target = BOOL_ if name in PREDICATES else type
            made.add(f"{name}.{type}", [type], target, lambda e, v, f=name, t=type, r=target: e.math(f, [t], v, r))
        for name in TWO:
            made.add(f"{name}.{type}", [type] * 2, type, lambda e, v, f=name, t=type: e.math(f, [t] * 2, v, t))
        made.add(f"fma.{type}", [type] * 3, type, lambda e, v, t=type: e.math("fma", [t] * 3, v, t))
    for type in TYPES:
        if type.is_integer:
            made.add(f"popcount.{type}", [type], type, lambda e, v, t=type: e.math("popcount", [t], v, t))
    return made


@cache
def operators(lanes: int) -> Loops:
    return add_operators(Loops() if lanes == 1 else Vectors(lanes))


@cache
def functions(lanes: int, math: MathMode = "strict") -> Loops:
    return add_functions(Loops(math) if lanes == 1 else Vectors(lanes, math))


def telling(type: ScalarType) -> np.ndarray:
    """Edges and random bits."""
    if type is BOOL_:
        return values_of(type)
    bits = np.random.default_rng(type.bits).integers(0, 256, 64 * type.bytes, dtype=np.uint8)
    return np.concatenate([values_of(type), bits.view(DTYPES[type])])


def arguments(types: list[ScalarType], operator: str) -> list[np.ndarray]:
    """Every value with every other, in whole vectors, of what the operator is defined for."""
    if len(types) == 1:
        arrays = [telling(types[0])]
    else:
        arrays = list(pair_up(telling(types[0]), telling(types[1])))
        if types[1].is_integer and operator in ("floordiv", "mod", "shl", "shr", "pow"):
            kept = arrays[1] != 0 if operator in ("floordiv", "mod") else arrays[1] >= 0
            arrays = [array[kept] for array in arrays]
        arrays += [np.roll(arrays[0], 7)] * (len(types) - 2)
    length = -(-len(arrays[0]) // max(LANES)) * max(LANES)
    return [np.resize(array, length) for array in arrays]


def assert_lanes_are_scalars(wide: Loops, scalar: Loops, names: list[str]) -> None:
    assert names
    for name in names:
        given = arguments(wide.types[name][0], name.split(".")[0])
        with np.errstate(invalid="ignore"):  # bits that are signalling NaNs
            assert_same(wide.run(name, *given), list(scalar.run(name, *given)), name)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("type", TYPES, ids=str)
def test_operators_and_casts_in_lanes_are_those_of_scalars(type: ScalarType, lanes: int) -> None:
    wide = operators(lanes)
    names = [name for name in wide.types if name.split(".")[0] == str(type) or name.split(".")[1] == str(type)]
    assert_lanes_are_scalars(wide, operators(1), names)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("type", TYPES, ids=str)
def test_functions_in_lanes_are_those_of_scalars(type: ScalarType, lanes: int) -> None:
    wide = functions(lanes)
    names = [name for name in wide.types if name.endswith(f".{type}")]
    if type is not BOOL_:
        assert_lanes_are_scalars(wide, functions(1), names)


@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_by_default_functions_in_lanes_are_near_those_of_scalars(type: ScalarType) -> None:
    wide, scalar = functions(8, "default"), functions(1, "default")
    eps = {F16: 2e-3, BF16: 2e-2}.get(type, 1e-6 if type.bytes == 4 else 1e-14)
    for name in ("exp", "log", "sin", "tanh", "pow", "cbrt", "erf", "atan2"):
        sources, _ = wide.types[f"{name}.{type}"]
        given = [np.linspace(0.1, 9.5, 64).astype(DTYPES[type]) + DTYPES[type](k) for k in range(len(sources))]
        got, want = (loops.run(f"{name}.{type}", *given).astype(np.float64) for loops in (wide, scalar))
        np.testing.assert_allclose(got, want, rtol=eps, atol=eps / 10, err_msg=name)


def test_instructions_are_widened_with_their_literals() -> None:
    assert widened("fadd contract double %a, 0x3FF0000000000000", 8) == (
        "fadd contract <8 x double> %a, splat (double 0x3FF0000000000000)"
    )
    assert widened("select i1 %c, i64 %a, i64 0", 2) == "select <2 x i1> %c, <2 x i64> %a, <2 x i64> splat (i64 0)"
    assert widened("sext i32 %a to i64", 4) == "sext <4 x i32> %a to <4 x i64>"
    assert spread(4, "float", "%a") == "%a"


@pytest.mark.parametrize("text", ["load i64, ptr %p", "phi i64 [ 0, %a ], [ 1, %b ]", "extractvalue { double, double } %z, 0"])
def test_memory_control_flow_and_pairs_are_not_widened(text: str) -> None:
    with pytest.raises(CannotWiden):
        widened(text, 4)
    builder = WideBuilder(FunctionBuilder(ModuleBuilder()), 4)
    with pytest.raises(CannotWiden):
        builder.new_block()
