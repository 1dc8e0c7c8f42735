"""Runs one scalar operation over arrays: a loop in LLVM IR around what the emitter writes, compiled for this machine."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import ml_dtypes
import numpy as np

from lend.language.types import (
    BF16,
    BOOL_,
    COMPLEX64,
    COMPLEX128,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    MathMode,
    ScalarType,
)  # fmt: skip
from lend.lower.arithmetic import ScalarEmitter
from lend.lower.builder import FunctionBuilder, ModuleBuilder
from lend.targets.cpu.emit import CompiledModule, compile_module
from lend.targets.cpu.machine import Machine

DTYPES = {
    BOOL_: np.bool_, I8: np.int8, I16: np.int16, I32: np.int32, I64: np.int64, U8: np.uint8, U16: np.uint16, U32: np.uint32,
    U64: np.uint64, F16: np.float16, BF16: ml_dtypes.bfloat16, F32: np.float32, F64: np.float64, COMPLEX64: np.complex64,
    COMPLEX128: np.complex128,
}  # fmt: skip
INTEGERS = (I8, I16, I32, I64, U8, U16, U32, U64)
FLOATS = (F16, BF16, F32, F64)

Write = Callable[[ScalarEmitter, list[str]], str]


def add_loop(
    module: ModuleBuilder, name: str, sources: list[ScalarType], target: ScalarType, write: Write, math: MathMode
) -> None:
    """Define `void name(ptr* sources, ptr out, i64 n)`: `out[i] = write(sources[0][i], …)`."""
    builder = FunctionBuilder(module)
    emitter = ScalarEmitter(builder, math)
    bases = []
    for k in range(len(sources)):
        slot = builder.emit(f"getelementptr ptr, ptr %sources, i64 {k}")
        bases.append(builder.emit(f"load ptr, ptr {slot}, !alias.scope !2"))
    head, body, done = builder.new_block("head"), builder.new_block("body"), builder.new_block("done")
    counter = builder.alloca("i64")
    builder.append(f"store i64 0, ptr {counter}")
    builder.jump(head)
    builder.open(head)
    index = builder.emit(f"load i64, ptr {counter}")
    builder.branch(builder.emit(f"icmp slt i64 {index}, %n"), body, done)
    builder.open(body)
    operands = []
    for base, source in zip(bases, sources, strict=True):
        place = builder.emit(f"getelementptr i8, ptr {base}, i64 {builder.emit(f'mul i64 {index}, {source.bytes}')}")
        operands.append(emitter.load(source, place, 1, ", !alias.scope !2"))
    place = builder.emit(f"getelementptr i8, ptr %out, i64 {builder.emit(f'mul i64 {index}, {target.bytes}')}")
    emitter.store(target, write(emitter, operands), place, 1, ", !noalias !2")
    builder.append(f"store i64 {builder.emit(f'add i64 {index}, 1')}, ptr {counter}")
    builder.jump(head)
    builder.open(done)
    builder.ret("void")
    module.add_function(f"define void @{name}(ptr %sources, ptr %out, i64 %n) {{\n{builder.body()}\n}}")


class Loops:
    """Many such loops in one module; the first call compiles it."""

    def __init__(self, math: MathMode = "strict", machine: Machine | None = None) -> None:
        self.math: MathMode = math
        self.machine = machine
        self.module = ModuleBuilder()
        domain = self.module.metadata("distinct !{!self}")
        scope = self.module.metadata(f"distinct !{{!self, {domain}}}")
        self.scopes = self.module.metadata(f"!{{{scope}}}")
        self.types: dict[str, tuple[list[ScalarType], ScalarType]] = {}
        self._compiled: CompiledModule | None = None

    def add(self, name: str, sources: list[ScalarType], target: ScalarType, write: Write) -> None:
        add_loop(self.module, name, sources, target, write, self.math)
        self.types[name] = (sources, target)

    @property
    def compiled(self) -> CompiledModule:
        if self._compiled is None:
            self._compiled = compile_module(self.module.text(), machine=self.machine)
        return self._compiled

    def run(self, name: str, *arrays: np.ndarray) -> np.ndarray:
        sources, target = self.types[name]
        kept = [np.ascontiguousarray(a, dtype=DTYPES[t]) for a, t in zip(arrays, sources, strict=True)]
        out = np.zeros(len(kept[0]), dtype=DTYPES[target])
        pointers = np.array([a.ctypes.data for a in kept], dtype=np.uint64)
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(self.compiled.address(name))
        function(pointers.ctypes.data, out.ctypes.data, len(out))
        return out


def integer_values(type: ScalarType) -> np.ndarray:
    """Edges, small numbers and a few in between."""
    low, high = type.minimum, type.maximum
    picks = {low, low + 1, low // 2, high, high - 1, high // 2, high // 3, 0, 1, 2, 3, 5, 7, 10, 31, 32, 63, 64, 100}
    if type.kind == "int":
        picks |= {-1, -2, -3, -7, -32, -100}
    return np.array(sorted(p for p in picks if low <= p <= high), dtype=DTYPES[type])


def float_values(type: ScalarType) -> np.ndarray:
    """Zeros, subnormals, halves, integers, the largest, infinities, NaN; and their negatives."""
    info = ml_dtypes.finfo(DTYPES[type])
    small, least, large = float(info.smallest_normal), float(info.smallest_subnormal), float(info.max)
    eps = float(info.eps)
    picks = [
        0.0,
        least,
        3 * least,
        small - least,
        small,
        small * 1.5,
        0.1,
        0.3,
        0.5,
        1.0,
        1 + eps,
        1 - eps / 2,
        1.5,
        2.5,
        3.0,
        7.0,
    ]
    picks += [10.0, 100.5, 127.0, 128.0, 255.0, 1 / eps, 2 / eps + 2, large / 2, large, float("inf")]
    values = np.array([*picks, *(-p for p in picks), float("nan")])
    return values.astype(DTYPES[type])


def values_of(type: ScalarType) -> np.ndarray:
    """Telling values of a type."""
    if type is BOOL_:
        return np.array([False, True])
    if type.kind == "complex":
        part = F32 if type is COMPLEX64 else F64
        parts = np.array([0.0, -0.0, 1.0, -1.5, 0.3, 1e-3, 40.0, -3e4, float("inf"), float("-inf"), float("nan")], DTYPES[part])
        return _complex_grid(parts, DTYPES[type])
    return integer_values(type) if type.is_integer else float_values(type)


def _complex_grid(parts: np.ndarray, dtype: type) -> np.ndarray:
    out = np.zeros((len(parts), len(parts)), dtype=dtype)
    out.real, out.imag = parts[:, None], parts[None, :]
    return out.ravel()


def pair_up(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every value of `a` with every one of `b`."""
    return np.repeat(a, len(b)), np.tile(b, len(a))


def python(values: np.ndarray) -> list:
    """As Python numbers."""
    return [v.item() if hasattr(v, "item") and not isinstance(v, ml_dtypes.bfloat16) else float(v) for v in values]


def assert_same(got: np.ndarray, expected: list, context: str) -> None:
    """Equal to the bit, but that any NaN is like any other."""
    exact = got.dtype.kind in "biu"
    want = (
        np.array(expected, dtype=got.dtype)
        if exact or got.dtype.kind == "c"
        else np.array(expected, np.float64).astype(got.dtype)
    )
    if exact:
        different = got != want
    elif got.dtype.kind == "c":
        different = ~(_alike(got.real, want.real) & _alike(got.imag, want.imag))
    else:
        different = ~_alike(got, want)
    if different.any():
        k = int(np.flatnonzero(different)[0])
        raise AssertionError(f"{context}: element {k}: got {got[k]!r}, expected {want[k]!r} ({int(different.sum())} differ)")


def _alike(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        a, b = a.astype(np.float64), b.astype(np.float64)
        return (np.isnan(a) & np.isnan(b)) | ((a == b) & (np.signbit(a) == np.signbit(b)))
