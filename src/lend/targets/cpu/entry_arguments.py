"""Entry points: one argument of a call, judged in machine code.

Does: admit exactly what binding in Python would give the specialisation's type, and store its words.  Does not: word
refusals: what is not plainly right goes to the next entry, in the end to Python.
Invariants: whatever is admitted here has in Python the same type, words and extent (`runtime/borrows.py`,
`runtime/scalars.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np

from lend.diagnostics.records import dataclass
from lend.language.abi import MAX_SIZE
from lend.language.dims import DimType, Size, SizeExpression
from lend.language.dtypes import numpy_dtype, scalar_of
from lend.language.signature import IndexFacts
from lend.language.types import (
    BF16,
    BOOL_,
    COMPLEX128,
    F32,
    F64,
    I64,
    PART,
    ArrayType,
    Layout,
    ScalarType,
    StructType,
    size_of,
)
from lend.lower.scalar_types import register_type
from lend.targets.cpu.entry_builder import EntryBuilder
from lend.targets.cpu.python_abi import NUMPY_TYPES

C_CONTIGUOUS = 0x1
F_CONTIGUOUS = 0x2
ALIGNED = 0x100
WRITEABLE = 0x400

_LARGEST_SPAN = 1 << 56
"""Bytes that one dimension may span here: so that sums over all dimensions fit."""

_CODES = "?bBhHiIlLqQefdFD"


class NotNative(Exception):
    """A kernel that Python alone can bind."""


@dataclass(frozen=True)
class Bound:
    """An array that was admitted: the bytes [low, high), and the object that owns them (null if it does itself)."""

    type: ArrayType
    data: str
    shape: tuple[str, ...]
    writable: bool
    low: str
    high: str
    base: str


@dataclass
class Bindings:
    """What is known of the call so far."""

    words: str  # where the kernel's argument words go
    sizes: dict[DimType, str] = field(default_factory=dict[DimType, str])
    scalars: dict[str, tuple[ScalarType, str]] = field(default_factory=dict[str, tuple[ScalarType, str]])
    arrays: list[Bound] = field(default_factory=list[Bound])
    computed: list[tuple[Size, str]] = field(default_factory=list[tuple[Size, str]])  # what a size must be
    indices: list[tuple[IndexFacts, Bound]] = field(default_factory=list[tuple[IndexFacts, Bound]])  # what elements must be


# ------------------------------------------------------------------------------------------------------- scalars

Arm = tuple[Any, Callable[[], str]]
"""A class, and what makes the value of an object that is exactly of it."""


def bind_scalar(b: EntryBuilder, value: str, type: ScalarType, place: str, *, alone: bool) -> str:
    """Store the scalar at `place` and give it. `alone`: only this argument says what type it is."""
    if type is BOOL_:
        result = _bool(b, value)
    else:
        arms = _arms(b, value, type, alone)
        if not arms:
            raise NotNative
        result = _choose(b, value, register_type(type), arms)
    b.scalars.store(type, result, place, 8)
    return result


def _choose(b: EntryBuilder, value: str, llvm: str, arms: list[Arm]) -> str:
    """The value by the object's class."""
    own = b.type_of(value)
    done = b.new_block("scalar")
    incoming: list[tuple[str, str]] = []
    for number, (cls, make) in enumerate(arms):
        same = b.emit(f"icmp eq ptr {own}, {b.object(cls)}")
        if number == len(arms) - 1:
            b.require(same)
        else:
            then, other = b.new_block("is"), b.new_block("isnt")
            b.branch(same, then, other)
            b.open(then)
        result = make()
        incoming.append((result, b.block))
        b.jump(done)
        if number < len(arms) - 1:
            b.open(other)  # pyright: ignore[reportPossiblyUnboundVariable]
    b.open(done)
    return b.emit(f"phi {llvm} " + ", ".join(f"[ {result}, %{block} ]" for result, block in incoming))


def _arms(b: EntryBuilder, value: str, type: ScalarType, alone: bool) -> list[Arm]:
    abi, scalars = b.abi, b.scalars

    def double() -> str:
        return b.field("double", value, abi.float_value)

    def stored(source: ScalarType) -> str:
        return scalars.load(source, b.offset(value, abi.scalars[source]), 8)

    arms: list[Arm] = []
    if type.is_float and (not alone or type is F64):
        arms.append((float, lambda: scalars.cast(F64, type, double())))
    if type.is_integer and (not alone or type is I64):
        arms.append((int, lambda: _integer(b, value, type)))
    if type.kind == "complex" and (not alone or type is COMPLEX128):
        arms.append((complex, lambda: _complex(b, value, type)))
    if type in NUMPY_TYPES:
        arms.append((NUMPY_TYPES[type], lambda: stored(type)))
    if alone:
        return arms
    if type in (F32, F64):
        arms.append((int, lambda: b.emit(f"sitofp i64 {_long(b, value)} to {register_type(type)}")))
    if type is F64:
        arms.append((NUMPY_TYPES[F32], lambda: scalars.cast(F32, F64, stored(F32))))
    if type.kind == "complex":
        part = PART[type]
        arms.append((float, lambda: scalars.pair(type, scalars.cast(F64, part, double()), scalars.constant(part, 0.0))))
    return arms


def _long(b: EntryBuilder, value: str) -> str:
    """An exact `int` that is an i64."""
    flag = b.alloca("i32", "overflow")
    result = b.api("PyLong_AsLongLongAndOverflow", value, flag)
    b.require_same("i32", b.emit(f"load i32, ptr {flag}"), "0")
    return result


def _integer(b: EntryBuilder, value: str, type: ScalarType) -> str:
    whole = _long(b, value)
    if type.minimum > I64.minimum:
        b.require(b.emit(f"icmp sge i64 {whole}, {type.minimum}"))
    if type.maximum < I64.maximum:
        b.require(b.emit(f"icmp sle i64 {whole}, {type.maximum}"))
    return whole if type.bits == 64 else b.emit(f"trunc i64 {whole} to i{type.bits}")


def _complex(b: EntryBuilder, value: str, type: ScalarType) -> str:
    parts = [b.field("double", value, b.abi.complex_value + at) for at in (0, 8)]
    real, imaginary = (b.scalars.cast(F64, PART[type], part) for part in parts)
    return b.scalars.pair(type, real, imaginary)


def _bool(b: EntryBuilder, value: str) -> str:
    """True, False or a NumPy bool."""
    true = b.emit(f"icmp eq ptr {value}, {b.object(True)}")
    false = b.emit(f"icmp eq ptr {value}, {b.object(False)}")
    plain, other, done = b.new_block("plain"), b.new_block("other"), b.new_block("scalar")
    b.branch(b.either([true, false]), plain, other)
    b.open(plain)
    b.jump(done)
    b.open(other)
    b.require_same("ptr", b.type_of(value), b.object(NUMPY_TYPES[BOOL_]))
    stored = b.scalars.load(BOOL_, b.offset(value, b.abi.scalars[BOOL_]), 1)
    came = b.block
    b.jump(done)
    b.open(done)
    return b.emit(f"phi i1 [ {true}, %{plain} ], [ {stored}, %{came} ]")


# ------------------------------------------------------------------------------------------------ compile-time values


def guard_comptime(b: EntryBuilder, value: str, given: Any) -> None:
    """Go on only if the argument is the same object as `given`, or an equal int or float."""
    same = b.emit(f"icmp eq ptr {value}, {b.object(given)}")
    if type(given) not in (int, float):
        if type(given).__eq__ is not object.__eq__ and not isinstance(given, (bool, str, complex, np.generic, type(None))):
            raise NotNative
        b.require(same)
        return
    equal, on = b.new_block("compare"), b.new_block("equal")
    b.branch(same, on, equal)
    b.open(equal)
    b.require_same("ptr", b.type_of(value), b.object(type(given)))
    if type(given) is int:
        if not I64.minimum <= given <= I64.maximum:
            raise NotNative
        b.require_same("i64", _long(b, value), str(given))
    else:
        bits = np.float64(given).view(np.int64).item()
        b.require_same("i64", b.field("i64", value, b.abi.float_value), str(bits))
    b.jump(on)
    b.open(on)


# -------------------------------------------------------------------------------------------------------- arrays


def bind_array(
    b: EntryBuilder, value: str, type: ArrayType, sizes: tuple[Size, ...], dtype: Any, place: str, call: Bindings
) -> Bound:
    """Admit what has an array's fields and store its words at `place`. `dtype`: of the specialisation's first array."""
    abi = b.abi
    _guard_dtype(b, b.field("ptr", value, abi.descr), type, dtype)
    b.require_same("i32", b.field("i32", value, abi.dimensions, 4), str(type.dimensions))
    wanted, mask = _flags(type)
    b.require_same("i32", b.emit(f"and i32 {b.field('i32', value, abi.flags, 4)}, {mask}"), str(wanted))
    data = b.field("ptr", value, abi.data)
    b.put("ptr", data, place, 0)
    shape_at, strides_at = b.field("ptr", value, abi.shape), b.field("ptr", value, abi.strides)
    shape: list[str] = []
    strides: list[str] = []
    for k, size in enumerate(sizes):
        shape.append(b.field("i64", shape_at, 8 * k))
        b.put("i64", shape[k], place, 8 * (1 + k))
        strides.append(b.field("i64", strides_at, 8 * k))
        b.put("i64", strides[k], place, 8 * (1 + len(sizes) + k))
        _bind_size(b, size, shape[k], call)
    address = b.emit(f"ptrtoint ptr {data} to i64")
    itemsize = size_of(type.element)
    if type.layout in (Layout.C, Layout.F):
        low, high = address, _end_of_dense(b, address, shape, itemsize)
    else:
        low, high = _extent(b, address, shape, strides, itemsize, type.borrow.writable)
    bound = Bound(type, data, tuple(shape), type.borrow.writable, low, high, b.field("ptr", value, abi.base))
    call.arrays.append(bound)
    return bound


def _bind_size(b: EntryBuilder, size: Size, there: str, call: Bindings) -> None:
    if isinstance(size, DimType) and size.equals is None:
        if size in call.sizes:
            b.require_same("i64", there, call.sizes[size])
        else:
            b.require(b.emit(f"icmp ule i64 {there}, {MAX_SIZE}"))
            call.sizes[size] = there
    elif isinstance(size, (DimType, SizeExpression)):
        call.computed.append((size, there))
    else:
        b.require_same("i64", there, str(int(size)))


def _guard_dtype(b: EntryBuilder, descr: str, type: ArrayType, dtype: Any) -> None:
    """The very dtype object that is usual, or another of the same type number in native byte order."""
    element = type.element
    if isinstance(element, StructType):
        raise NotNative  # the names of a record's fields can be changed in place
    if element is BF16:
        b.require_same("ptr", descr, b.object(dtype))
        return
    usual, other, on = b.emit(f"icmp eq ptr {descr}, {b.object(numpy_dtype(element))}"), b.new_block("dtype"), b.new_block("on")
    b.branch(usual, on, other, (100, 1))
    b.open(other)
    numbers = sum({1 << np.dtype(code).num for code in _CODES if scalar_of(np.dtype(code)) is element})
    b.require(b.support("dtype", descr, str(numbers)))
    b.jump(on)
    b.open(on)


def _flags(type: ArrayType) -> tuple[int, int]:
    """The flags that the array must have, among those of the mask."""
    wanted, mask = {
        Layout.C: (ALIGNED | C_CONTIGUOUS, ALIGNED | C_CONTIGUOUS),
        Layout.F: (ALIGNED | F_CONTIGUOUS, ALIGNED | C_CONTIGUOUS | F_CONTIGUOUS),
        Layout.STRIDED: (ALIGNED, ALIGNED | C_CONTIGUOUS | F_CONTIGUOUS),
        Layout.UNALIGNED: (0, ALIGNED),
    }[type.layout]
    write = WRITEABLE if type.borrow.writable else 0
    return wanted | write, mask | write


def _end_of_dense(b: EntryBuilder, address: str, shape: list[str], itemsize: int) -> str:
    bytes = str(itemsize)
    for size in shape:
        bytes = b.exact("smul", bytes, size)
    return b.emit(f"add i64 {address}, {bytes}")


def _extent(
    b: EntryBuilder, address: str, shape: list[str], strides: list[str], itemsize: int, writable: bool
) -> tuple[str, str]:
    """The bytes of any strided array; if it is to be written, strides must nest, so that no two elements share a byte."""
    below, above, empty = "0", "0", "false"
    spans: list[str] = []
    absolute: list[str] = []
    rising: list[str] = []
    falling: list[str] = []
    b.module.declare("llvm.abs.i64", "declare i64 @llvm.abs.i64(i64, i1)")
    b.module.declare("llvm.smin.i64", "declare i64 @llvm.smin.i64(i64, i64)")
    b.module.declare("llvm.smax.i64", "declare i64 @llvm.smax.i64(i64, i64)")
    for size, stride in zip(shape, strides, strict=True):
        empty = b.emit(f"or i1 {empty}, {b.emit(f'icmp eq i64 {size}, 0')}")
        last = b.emit(f"sub i64 {size}, 1")
        span = b.exact("smul", last, stride)
        spans.append(b.emit(f"call i64 @llvm.abs.i64(i64 {span}, i1 false)"))
        b.require(b.emit(f"icmp ult i64 {spans[-1]}, {_LARGEST_SPAN}"))
        absolute.append(b.emit(f"call i64 @llvm.abs.i64(i64 {stride}, i1 false)"))
        below = b.emit(f"add i64 {below}, {b.emit(f'call i64 @llvm.smin.i64(i64 {span}, i64 0)')}")
        above = b.emit(f"add i64 {above}, {b.emit(f'call i64 @llvm.smax.i64(i64 {span}, i64 0)')}")
    if writable and shape:
        for steps, order in ((rising, range(len(shape))), (falling, range(len(shape) - 1, -1, -1))):
            reach = str(itemsize)
            for k in order:
                over = b.emit(f"icmp uge i64 {absolute[k]}, {reach}")
                steps.append(b.either([over, b.emit(f"icmp sle i64 {shape[k]}, 1")]))
                reach = b.emit(f"add i64 {reach}, {spans[k]}")
        b.require(b.either([empty, b.all_of(rising), b.all_of(falling)]))
    low = b.emit(f"add i64 {address}, {below}")
    high = b.emit(f"add i64 {address}, {b.emit(f'add i64 {above}, {itemsize}')}")
    return b.emit(f"select i1 {empty}, i64 {address}, i64 {low}"), b.emit(f"select i1 {empty}, i64 {address}, i64 {high}")


# --------------------------------------------------------------------------------------------------------- sizes


def size_value(b: EntryBuilder, size: Size, sizes: dict[DimType, str]) -> str:
    """A size in exact integers, from those that are known."""
    if isinstance(size, DimType):
        if size.equals is not None:
            return size_value(b, size.equals, sizes)
        if size not in sizes:
            raise NotNative
        return sizes[size]
    if not isinstance(size, SizeExpression):
        if not I64.minimum <= int(size) <= I64.maximum:
            raise NotNative
        return str(int(size))
    left, right = size_value(b, size.left, sizes), size_value(b, size.right, sizes)
    if size.operator in "+-*":
        return b.exact({"+": "sadd", "-": "ssub", "*": "smul"}[size.operator], left, right)
    return b.floor_division(left, right)[0 if size.operator == "//" else 1]


def guard_computed(b: EntryBuilder, call: Bindings) -> None:
    """Derived sizes are what the arrays have."""
    for size, there in call.computed:
        b.require(b.emit(f"icmp ule i64 {there}, {MAX_SIZE}"))
        b.require_same("i64", size_value(b, size, call.sizes), there)


# ------------------------------------------------------------------------------------------------------- overlap


def guard_aliases(b: EntryBuilder, call: Bindings) -> None:
    """Nothing that is written may lie where another array's extent reaches, nor in a mapping that might show another's bytes."""
    arrays = call.arrays
    if len(arrays) < 2 or not any(array.writable for array in arrays):
        return
    if len(arrays) > 12:
        raise NotNative
    for position, second in enumerate(arrays):
        for first in arrays[:position]:
            if first.writable or second.writable:
                before = b.emit(f"icmp ule i64 {second.high}, {first.low}")
                after = b.emit(f"icmp ule i64 {first.high}, {second.low}")
                b.require(b.either([before, after, *_empties(b, first, second)]))
    views = "0"
    for array in arrays:
        view = b.emit(f"icmp ne ptr {array.base}, null")
        views = b.emit(f"add i32 {views}, {b.emit(f'zext i1 {view} to i32')}")
    look, on = b.new_block("owners"), b.new_block("apart")
    b.branch(b.emit(f"icmp ult i32 {views}, 2"), on, look)
    b.open(look)
    for array in arrays:
        b.require(b.support("owned", array.base))
    b.jump(on)
    b.open(on)


def _empties(b: EntryBuilder, first: Bound, second: Bound) -> list[str]:
    """Arrays without elements overlap nothing, wherever they are."""
    return [b.emit(f"icmp eq i64 {array.low}, {array.high}") for array in (first, second)]
