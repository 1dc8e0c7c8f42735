# ruff: noqa: E501 (whole messages are compared)
"""What a call's arguments become, and what is refused, with the whole message."""

from __future__ import annotations

import mmap
import re
import struct as packing
from collections.abc import Callable
from enum import IntEnum
from multiprocessing import shared_memory
from typing import Any, TypeVar

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lend.diagnostics.errors import ArgumentError, BorrowError, ShapeError
from lend.language import dims as ready
from lend.language.dims import K, M, N
from lend.language.dtypes import scalar_of
from lend.language.signature import (
    NO_DEFAULT,
    ArrayKind,
    ComptimeKind,
    ComptimeValue,
    ParameterSpec,
    ScalarKind,
    Signature,
    TupleKind,
)
from lend.language.structs import struct
from lend.language.types import (
    BF16,
    BOOL_,
    COMPLEX64,
    COMPLEX128,
    F16,
    F32,
    F64,
    I8,
    I32,
    I64,
    SCALARS,
    U8,
    U64,
    Borrow,
    Layout,
    array_type,
    widens,
)
from lend.runtime.arguments import Binder
from lend.runtime.elements import dtype_of

T = TypeVar("T")
REF, MUT, OUT = Borrow.REF, Borrow.MUT, Borrow.OUT


def binder(*parameters, name="saxpy", dims=None):
    """A binder of parameters given as (name, kind[, default[, keyword_only]])."""
    from lend.language.dims import symbols

    specs = tuple(ParameterSpec(*parameter) for parameter in parameters)
    found = {}
    for spec in specs:
        kinds = spec.kind.items if isinstance(spec.kind, TupleKind) else (spec.kind,)
        for kind in kinds:
            for size in getattr(kind, "sizes", ()):
                found.update(dict.fromkeys(symbols(size)))
    return Binder(Signature(name, specs, tuple(found) if dims is None else dims))


def array(borrow, element, *sizes):
    return ArrayKind(borrow, element, sizes)


SAXPY = binder(("a", ScalarKind(F32)), ("x", array(REF, F32, N)), ("y", array(MUT, F32, N)))


def refusal(error, action):
    with pytest.raises(error) as caught:
        action()
    return str(caught.value)


def bind_one(kind, value, **options):
    return binder(("x", kind), name="k", **options).bind((value,), {})


# ------------------------------------------------------------------------------------------------------- matching


def test_saxpy_binds():
    x, y = np.zeros(5, np.float32), np.ones(5, np.float32)
    call = SAXPY.bind((0.1, x, y), {})
    assert call.types == (F32, array_type(F32, 1, REF, Layout.C), array_type(F32, 1, MUT, Layout.C))
    assert call.dims == (5,)
    assert call.leaves[0] == float(np.float32(0.1)) and call.leaves[1] is x and call.leaves[2] is y
    assert call.words == [call.leaves[0], x.ctypes.data, 5, 4, y.ctypes.data, 5, 4]
    assert call.values == {"N": 5, "a": call.leaves[0]}
    assert {call.types: 1}[SAXPY.bind((), {"y": y, "x": x, "a": 2}).types] == 1


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((), {}),
        ((1,), {}),
        ((1, 2, 3, 4, 5, 6), {}),
        ((1, 2), {"x": 3}),
        ((1, 2), {"q": 3}),
        ((1, 2, 3), {}),
        ((1, 2, 3, 4, 5), {"k": 3}),
    ],
)
def test_wrong_counts_and_names_are_refused_in_pythons_words(args, kwargs):
    kind = ComptimeKind(Any)
    bound = binder(("x", kind), ("y", kind), ("z", kind, 1), ("w", kind, 2), ("k", kind, NO_DEFAULT, True), ("l", kind, 3, True))

    def saxpy(x, y, z=1, w=2, *, k, l=3): ...  # noqa: E741

    with pytest.raises(TypeError) as expected:
        saxpy(*args, **kwargs)
    saxpy_in_python = str(expected.value).replace(saxpy.__qualname__, "saxpy")
    assert refusal(ArgumentError, lambda: bound.bind(args, kwargs)) == saxpy_in_python


def test_defaults_and_keyword_only_parameters():
    kind = ComptimeKind(int)
    bound = binder(("x", kind), ("z", kind, 5), ("k", kind, 7, True))
    values = [value.value for value in bound.bind((1,), {}).types]
    assert values == [1, 5, 7]
    assert [value.value for value in bound.bind((1, 2), {"k": 3}).types] == [1, 2, 3]
    assert (
        refusal(ArgumentError, lambda: bound.bind((1, 2, 3), {}))
        == "saxpy() takes from 1 to 2 positional arguments but 3 were given"
    )


# -------------------------------------------------------------------------------------------------------- scalars


@pytest.mark.parametrize(
    ("element", "value", "expected"),
    [
        (F32, 2, 2.0),
        (F32, 0.1, 0.10000000149011612),
        (F32, 1e300, float("inf")),
        (F32, True, 1.0),
        (F32, np.float16(0.5), 0.5),
        (F32, np.int16(-3), -3.0),
        (F32, np.array(1.5, np.float32), 1.5),
        (F32, 2**24 + 1, float(2**24)),
        (F32, 2**60 + 2**36 + 1, float(2**60 + 2**37)),
        (F64, np.float32(0.1), 0.10000000149011612),
        (F64, 10**300, 1e300),
        (F16, 0.1, 0.0999755859375),
        (BF16, 0.1, 0.10009765625),
        (BF16, ml_dtypes.bfloat16(0.1), 0.10009765625),
        (F32, ml_dtypes.bfloat16(0.1), 0.10009765625),
        (I32, True, 1),
        (I32, np.uint8(200), 200),
        (I32, np.bool_(True), 1),
        (I64, np.int32(-5), -5),
        (U64, 2**64 - 1, 2**64 - 1),
        (BOOL_, True, True),
        (BOOL_, np.bool_(False), False),
        (COMPLEX64, 0.1, complex(0.10000000149011612)),
        (COMPLEX64, 1 + 2j, 1 + 2j),
        (COMPLEX128, np.complex64(1 + 2j), 1 + 2j),
        (COMPLEX128, np.int32(4), 4 + 0j),
        (COMPLEX128, 3, 3 + 0j),
    ],
)
def test_scalars_that_are_taken(element, value, expected):
    (leaf,) = bind_one(ScalarKind(element), value).leaves
    assert leaf == expected and type(leaf) is type(expected)


class Colour(IntEnum):
    RED = 3


class Countable:
    def __index__(self):
        return 7


def test_things_that_count_as_integers_are_taken():
    assert bind_one(ScalarKind(I32), Colour.RED).leaves == [3]
    assert bind_one(ScalarKind(I32), Countable()).leaves == [7]
    assert bind_one(ScalarKind(F32), Countable()).leaves == [7.0]


@pytest.mark.parametrize(
    ("element", "value", "message"),
    [
        (I32, 1.0, "k: x must be i32, not the float 1.0: pass int(x)"),
        (I32, 2**31, "k: x must be i32, and 2147483648 does not fit: i32 holds -2147483648 to 2147483647"),
        (U8, -1, "k: x must be u8, and -1 does not fit: u8 holds 0 to 255"),
        (I32, np.int64(1), "k: x must be i32, and a NumPy i64 does not always fit without loss: pass int(x) or np.int32(x)"),
        (I8, np.float32(1), "k: x must be i8, and a NumPy f32 does not always fit without loss: pass np.int8(x)"),
        (F32, np.float64(1), "k: x must be f32, and a NumPy f64 does not always fit without loss: pass float(x) or np.float32(x)"),
        (F64, np.int64(1), "k: x must be f64, and a NumPy i64 does not always fit without loss: pass np.float64(x)"),
        (F16, 70000, "k: x must be f16, and 70000 does not fit: f16 holds up to 65504"),
        (F64, 10**400, f"k: x must be f64, and {'1' + '0' * 36}... does not fit: f64 holds up to 1.79769e+308"),
        (F32, 1j, "k: x must be f32, not the complex 1j: pass x.real"),
        (F32, "1", "k: x must be f32, not a str '1'"),
        (F32, None, "k: x must be f32, not None"),
        (I32, None, "k: x must be i32, not None"),
        (I32, [1], "k: x must be i32, not a list [1]"),
        (BOOL_, 1, "k: x must be bool_, not 1: pass bool(x)"),
        (BOOL_, np.int8(1), "k: x must be bool_, and a NumPy i8 does not always fit without loss: pass bool(x)"),
        (COMPLEX64, "i", "k: x must be f32, not a str 'i'"),
        (COMPLEX64, np.complex128(1), "k: x must be complex64, and a NumPy complex128 does not always fit without loss: pass complex(x) or np.complex64(x)"),
        (F32, np.zeros(3), "k: x must be one f32, not an array of 1 dimension: pass an element, or annotate it Ref[f32, N]"),
    ],
)  # fmt: skip
def test_scalars_that_are_refused(element, value, message):
    assert refusal(ArgumentError, lambda: bind_one(ScalarKind(element), value)) == message


def test_a_date_is_no_number():
    text = refusal(ArgumentError, lambda: bind_one(ScalarKind(F64), np.datetime64(1, "s")))
    assert text.startswith("k: x must be f64, not a datetime64 ")


def test_an_integer_with_more_digits_than_python_prints():
    assert "does not fit" in refusal(ArgumentError, lambda: bind_one(ScalarKind(I32), 10**5000))


@pytest.mark.parametrize("source", SCALARS)
@pytest.mark.parametrize("target", SCALARS)
def test_numpy_scalars_pass_exactly_where_they_widen(source, target):
    value = np.ones((), dtype_of(source))[()]
    if widens(source, target):
        (leaf,) = bind_one(ScalarKind(target), value).leaves
        assert leaf == 1
    else:
        refusal(ArgumentError, lambda: bind_one(ScalarKind(target), value))


@settings(max_examples=300, deadline=None)
@given(st.floats(), st.sampled_from([F16, F32, BF16]))
def test_floats_round_as_numpy_rounds(value, element):
    with np.errstate(all="ignore"):
        if element is BF16:  # NumPy's way to bfloat16 rounds twice; a value that f32 holds rounds once
            value = float(np.float32(value))
        expected = float(np.array([value]).astype(dtype_of(element))[0])
    (leaf,) = bind_one(ScalarKind(element), value).leaves
    assert (leaf != leaf and expected != expected) or packing.pack("d", leaf) == packing.pack("d", expected)


# ---------------------------------------------------------------------------------------------------- type variables


def test_a_type_variable_takes_the_arrays_type():
    bound = binder(("a", ScalarKind(T)), ("x", array(REF, T, N)), ("y", array(MUT, T, N)))
    for dtype in (np.float32, np.int64, np.complex64, np.bool_, ml_dtypes.bfloat16):
        x, y = np.zeros(3, dtype), np.zeros(3, dtype)
        call = bound.bind((True if dtype is np.bool_ else 1, x, y), {})
        element = scalar_of(x.dtype)
        assert call.typevars == {T: element} and call.types[0] is element and call.types[1].element is element
    assert refusal(ArgumentError, lambda: bound.bind((1, np.zeros(3, np.float32), np.zeros(3)), {})) == (
        "saxpy: T is f32 in x but f64 in y"
    )
    assert refusal(ArgumentError, lambda: bound.bind((0.5, np.zeros(3, np.int32), np.zeros(3, np.int32)), {})) == (
        "saxpy: a must be i32, not the float 0.5: pass int(a)"
    )
    assert refusal(ArgumentError, lambda: bound.bind((1, np.zeros(3, "M8[s]"), np.zeros(3)), {})) == (
        "saxpy: x must be Ref[T, N], and dtype datetime64[s] is none of lend's element types"
    )


@pytest.mark.parametrize(
    ("values", "element"),
    [
        ((1, 2), I64),
        ((1, 2.0), F64),
        ((2j, 1), COMPLEX128),
        ((True, True), BOOL_),
        ((np.float32(1), 2.0), F32),
        ((2, np.float32(1)), F32),
        ((np.float32(1), np.float64(2)), F64),
        ((np.array(3, np.int8), 3), I8),
    ],
)
def test_scalars_alone_decide_a_type_variable(values, element):
    call = binder(("a", ScalarKind(T)), ("b", ScalarKind(T))).bind(values, {})
    assert call.types == (element, element)


def test_a_type_variable_that_nothing_decides():
    assert refusal(ArgumentError, lambda: bind_one(ScalarKind(T), "no")) == "k: x must be a number, not a str"
    assert refusal(ArgumentError, lambda: bind_one(ScalarKind(T), None)) == "k: x must be a number, not None"


def test_constraints_of_a_type_variable():
    narrow = TypeVar("narrow", F32, F64)
    assert bind_one(array(REF, narrow, N), np.zeros(3)).typevars == {narrow: F64}
    assert refusal(ArgumentError, lambda: bind_one(array(REF, narrow, N), np.zeros(3, np.int32))) == (
        "k: x must be Ref[narrow, N] but has dtype int32; narrow is one of f32, f64"
    )


# --------------------------------------------------------------------------------------------------------- records


@struct
class Point:
    x: F32
    y: F64


@struct
class Pair:
    a: Point
    n: I8
    z: COMPLEX64


def test_records_by_value():
    kind = ScalarKind(Pair.__lend_struct__)
    call = bind_one(kind, Pair(Point(0.1, 2), np.int8(3), 1j))
    assert call.types == (Pair.__lend_struct__,)
    assert call.leaves == [float(np.float32(0.1)), 2.0, 3, 1j]
    assert call.words == [float(np.float32(0.1)), 2.0, 3, 0.0, 1.0]
    assert call.values["x"].a.y == 2.0
    data = np.zeros(2, Pair.dtype)
    data[1] = ((5, 6), 7, 8)
    assert bind_one(kind, data[1]).leaves == [5.0, 6.0, 7, 8 + 0j]
    assert bind_one(kind, np.array(data[1], Pair.dtype)).leaves == [5.0, 6.0, 7, 8 + 0j]


def test_records_that_are_refused():
    kind = ScalarKind(Point.__lend_struct__)
    assert refusal(ArgumentError, lambda: bind_one(kind, (1, 2))) == "k: x must be a Point, not a tuple: pass Point(x, y)"
    assert refusal(ArgumentError, lambda: bind_one(kind, Point(1, "2"))) == "k: x.y must be f64, not a str '2'"
    other = np.zeros(1, [("x", "f4"), ("z", "f8")])[0]
    assert refusal(ArgumentError, lambda: bind_one(kind, other)) == "k: x must be a Point, not a void: pass Point(x, y)"


# --------------------------------------------------------------------------------------------------------- comptime


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (int, 3, 3),
        (int, np.int32(3), 3),
        (int, Colour.RED, 3),
        (float, 1, 1.0),
        (float, np.float32(0.5), 0.5),
        (bool, np.bool_(True), True),
        (str, "add", "add"),
        (Callable, abs, abs),
        (Any, 3, 3),
        (type, F32, F32),
        (type, Point, Point.__lend_struct__),
    ],
)
def test_comptime_values(kind, value, expected):
    (bound,) = bind_one(ComptimeKind(kind), value).types
    assert bound == ComptimeValue(type(expected), expected) and type(bound.value) is type(expected)


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (int, True, "k: x must be comptime[int], not the bool True"),
        (int, 1.0, "k: x must be comptime[int], not the float 1.0"),
        (bool, 1, "k: x must be comptime[bool], not the int 1"),
        (str, None, "k: x must be comptime[str], not None"),
        (float, "1", "k: x must be comptime[float], not the str '1'"),
        (Callable, 3, "k: x must be a function known when the kernel is compiled, not the int 3"),
        (Callable, F32, "k: x must be a function known when the kernel is compiled, not the ScalarType f32"),
        (type, np.float32, "k: x must be an element type such as lend.f32, or a struct, not the class float32"),
        (type, 3, "k: x must be an element type such as lend.f32, or a struct, not the int 3"),
        (Any, [1], "k: x must be hashable to specialise the kernel, and the list [1] is not"),
    ],
)
def test_comptime_values_that_are_refused(kind, value, message):
    assert refusal(ArgumentError, lambda: bind_one(ComptimeKind(kind), value)) == message


def test_comptime_values_are_equal_only_if_they_are_the_same():
    values = [1, 1.0, True, 0.0, -0.0, False, 0]
    keys = {bind_one(ComptimeKind(Any), value).types for value in values}
    assert len(keys) == len(values)
    assert bind_one(ComptimeKind(float), float("nan")).types == bind_one(ComptimeKind(float), float("nan")).types


# ---------------------------------------------------------------------------------------------------------- arrays


@pytest.mark.parametrize("element", SCALARS)
def test_every_element_type(element):
    value = np.zeros((2, 3), dtype_of(element))
    call = bind_one(array(MUT, element, N, M), value)
    assert call.types == (array_type(element, 2, MUT, Layout.C),) and call.dims == (2, 3)
    assert scalar_of(dtype_of(element)) is element


def test_both_spellings_of_a_64_bit_integer():
    for code in "lq":
        assert bind_one(array(REF, I64, N), np.zeros(3, code)).types == (array_type(I64, 1, REF, Layout.C),)


def raw(dtype, shape, strides, offset=0, size=4096):
    return np.ndarray(shape, dtype, np.zeros(size, np.int8).data, offset, strides)


@pytest.mark.parametrize(
    ("value", "layout"),
    [
        (np.zeros((3, 4), np.float32), Layout.C),
        (np.zeros((3, 4), np.float32, order="F"), Layout.F),
        (np.zeros((3, 4), np.float32).T, Layout.F),
        (np.zeros((3, 4), np.float32)[:, ::-1], Layout.STRIDED),
        (np.zeros((3, 4), np.float32)[::2], Layout.STRIDED),
        (np.zeros((3, 4), np.float32)[:1], Layout.C),
        (np.zeros((3, 4), np.float32)[:, :1], Layout.STRIDED),
        (np.zeros((0, 4), np.float32), Layout.C),
        (np.zeros((6, 4), np.float32)[::2, 1:1], Layout.C),
        (raw("f4", (3, 4), (16, 4), 4), Layout.C),
        (raw("f4", (3, 4), (16, 4), 2), Layout.UNALIGNED),
        (raw("f4", (3, 4), (18, 4)), Layout.UNALIGNED),
        (raw("f4", (1, 4), (18, 4)), Layout.C),
        (raw("f4", (1, 4), (18, 8)), Layout.STRIDED),
    ],
)
def test_layout_classes(value, layout):
    assert bind_one(array(REF, F32, N, M), value).types == (array_type(F32, 2, REF, layout),)


def test_alignment_of_records_is_their_own():
    kind = array(MUT, Point.__lend_struct__, N)
    dtype = Point.dtype
    assert dtype.alignment == 1  # which is why NumPy's flag says nothing
    memory = np.zeros(200, np.int8)
    start = -memory.ctypes.data % 8
    assert bind_one(kind, np.ndarray((3,), dtype, memory.data, start)).types[0].layout is Layout.C
    assert bind_one(kind, np.ndarray((3,), dtype, memory.data, start + 4)).types[0].layout is Layout.UNALIGNED
    assert bind_one(kind, np.ndarray((3,), dtype, memory.data, start, (20,))).types[0].layout is Layout.UNALIGNED
    assert bind_one(kind, np.ndarray((1,), dtype, memory.data, start, (20,))).types[0].layout is Layout.C
    assert bind_one(kind, np.zeros(3, np.dtype([("x", "f4"), ("y", "f8")], align=True))).types[0].layout is Layout.C


def test_fields_of_a_packed_record_are_lent_unaligned():
    packed = np.zeros(5, [("flag", "i1"), ("value", "f8")])
    call = bind_one(array(MUT, F64, N), packed["value"])
    assert call.types[0].layout is Layout.UNALIGNED and call.words[1:] == [5, 9]


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (array(REF, F32, N), [1.0], "k: x must be Ref[f32, N], not a list: pass a NumPy array: np.asarray(x, np.float32)"),
        (array(REF, T, N), (1.0,), "k: x must be Ref[T, N], not a tuple: pass a NumPy array: np.asarray(x)"),
        (array(REF, F32, N), None, "k: x must be Ref[f32, N], not None: pass a NumPy array"),
        (array(REF, F32, N), 2.0, "k: x must be Ref[f32, N], not a float: pass a NumPy array"),
        (array(REF, F32, N), np.float32(2), "k: x must be Ref[f32, N], not a float32, a single NumPy value: pass an array"),
        (array(REF, F32, N), np.zeros(3), "k: x must be Ref[f32, N] but has dtype float64: make it with dtype=np.float32, or pass x.astype(np.float32)"),
        (array(MUT, F32, N), np.zeros(3), "k: x must be Mut[f32, N] but has dtype float64: make it with dtype=np.float32"),
        (array(REF, BF16, N), np.zeros(3, np.float16), "k: x must be Ref[bf16, N] but has dtype float16: make it with dtype=ml_dtypes.bfloat16, or pass x.astype(ml_dtypes.bfloat16)"),
        (array(REF, I64, N), np.zeros(3, "M8[s]"), "k: x must be Ref[i64, N] but has dtype datetime64[s]: make it with dtype=np.int64, or pass x.astype(np.int64)"),
        (array(REF, BOOL_, N), np.zeros(3, np.uint8), "k: x must be Ref[bool_, N] but has dtype uint8: make it with dtype=np.bool_, or pass x.astype(np.bool_)"),
        (array(REF, F32, N), np.zeros(3, ">f4"), "k: x must be Ref[f32, N] but has the other byte order: convert it first: x.astype(x.dtype.newbyteorder('='))"),
        (array(REF, F32, N), np.zeros(3, object), "k: x must be Ref[f32, N] but has dtype object: make it with dtype=np.float32, or pass x.astype(np.float32)"),
        (array(REF, F32, N), np.ma.zeros(3, np.float32), "k: x is a masked array, whose mask a kernel would not see: pass x.data and the mask"),
        (array(REF, F32, N, M), np.zeros((1, 1), np.float32).view(np.matrix), "k: x is a np.matrix, whose operators are not an array's: pass np.asarray(x)"),
    ],
)  # fmt: skip
def test_arrays_of_the_wrong_kind(kind, value, message):
    assert refusal(ArgumentError, lambda: bind_one(kind, value)) == message


class OnDevice:
    def __init__(self, device):
        self.device = device

    def __dlpack__(self): ...

    def __dlpack_device__(self):
        return self.device


class Cuda:
    __cuda_array_interface__ = {}


def test_arrays_of_other_libraries_and_devices():
    kind = array(REF, F32, N)
    assert refusal(ArgumentError, lambda: bind_one(kind, OnDevice((2, 1)))) == (
        "k: x must be Ref[f32, N], and lives on device cuda:1; this kernel runs on the cpu: bring it over first"
    )
    assert refusal(ArgumentError, lambda: bind_one(kind, Cuda())) == (
        "k: x must be Ref[f32, N], and lives on device cuda; this kernel runs on the cpu: bring it over first"
    )
    assert refusal(ArgumentError, lambda: bind_one(kind, OnDevice((1, 0)))) == (
        "k: x must be Ref[f32, N], not an OnDevice: pass np.from_dlpack(x), which shares its memory"
    )


class OnHost:
    """An array of another library, in host memory."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


def test_arrays_of_other_libraries_in_host_memory_are_lent_as_they_are():
    values = np.arange(6, dtype=np.float32)
    call = bind_one(array(REF, F32, N), OnHost(values[::2]))
    assert call.words == [values.ctypes.data, 3, 8] and np.shares_memory(call.leaves[0], values)
    assert refusal(ShapeError, lambda: bind_one(array(REF, F32, N, M), OnHost(values))).startswith("k: x must be Ref[f32, N, M]")
    values.flags.writeable = False
    if np.from_dlpack(values).flags.writeable:
        return  # an old NumPy, whose DLPack does not say so
    assert refusal(BorrowError, lambda: bind_one(array(MUT, F32, N), OnHost(values))).startswith(
        "k: x is lent as Mut but is read-only"
    )


def test_subclasses_that_only_add_are_taken(tmp_path):
    mapped = np.memmap(tmp_path / "file", np.float32, "w+", shape=(4,))
    call = bind_one(array(MUT, F32, N), mapped)
    assert type(call.leaves[0]) is np.ndarray and call.words[0] == mapped.ctypes.data
    records = np.zeros(3, Point.dtype).view(np.recarray)
    assert bind_one(array(MUT, Point.__lend_struct__, N), records).dims == (3,)


def test_record_dtypes_that_differ():
    kind = array(REF, Point.__lend_struct__, N)
    assert refusal(ArgumentError, lambda: bind_one(kind, np.zeros(3, [("x", "f4"), ("y", "f8")]))) == (
        "k: x must be Ref[Point, N] but lays its fields out at bytes 0, 4 of 12, and Point has them at 0, 8 of 16: "
        "make it with dtype=Point.dtype"
    )
    assert refusal(ArgumentError, lambda: bind_one(kind, np.zeros(3, [("x", "f4"), ("z", "f8")]))) == (
        "k: x must be Ref[Point, N] but has fields x, z, and Point has x, y: make it with dtype=Point.dtype"
    )
    assert refusal(ArgumentError, lambda: bind_one(kind, np.zeros(3, [("x", "f8"), ("y", "f8")]))) == (
        "k: x must be Ref[Point, N] but field x has dtype float64, and in Point it is f32: make it with dtype=Point.dtype"
    )
    assert refusal(ArgumentError, lambda: bind_one(kind, np.zeros(3, [("x", "f4", 2), ("y", "f8")]))) == (
        "k: x must be Ref[Point, N] but field x has dtype ('<f4', (2,)), and in Point it is f32: make it with dtype=Point.dtype"
    )
    assert refusal(ArgumentError, lambda: bind_one(kind, np.zeros(3, Point.dtype.newbyteorder()))) == (
        "k: x must be Ref[Point, N] but has the other byte order: convert it first: x.astype(x.dtype.newbyteorder('='))"
    )
    assert refusal(ArgumentError, lambda: bind_one(kind, np.zeros(3))) == (
        "k: x must be Ref[Point, N] but has dtype float64, which is not a record: make it with dtype=Point.dtype"
    )


def test_wrong_number_of_dimensions():
    assert refusal(ShapeError, lambda: bind_one(array(REF, F32, N), np.zeros((2, 3), np.float32))) == (
        "k: x must be Ref[f32, N], of 1 dimension, but has 2 dimensions (shape (2, 3))"
    )


# ------------------------------------------------------------------------------------------------------------ sizes


def zeros(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


class N1(ready.Dim):
    equals = N + 1


class Twice(ready.Dim):
    equals = 2 * N1


def test_sizes_that_disagree():
    assert refusal(ShapeError, lambda: SAXPY.bind((1, zeros(5), zeros(4)), {})) == (
        "saxpy: N is 5 in x (dimension 0) but 4 in y (dimension 0)"
    )
    square = binder(("x", array(REF, F32, N, N)), name="k")
    assert square.bind((zeros(3, 3),), {}).dims == (3,)
    assert refusal(ShapeError, lambda: square.bind((zeros(3, 4),), {})) == (
        "k: N is 3 in x (dimension 0) but 4 in x (dimension 1)"
    )


def test_fixed_sizes():
    bound = binder(("x", array(REF, F32, N, 3)), name="k")
    assert bound.bind((zeros(5, 3),), {}).dims == (5,)
    assert refusal(ShapeError, lambda: bound.bind((zeros(5, 4),), {})) == (
        "k: x must be Ref[f32, N, 3], of size 3 in dimension 1, but has 4 there"
    )


def test_derived_sizes():
    bound = binder(
        ("x", array(REF, F32, N)), ("p", array(REF, F32, N1)), ("q", array(REF, F32, N // M)), ("r", array(REF, F32, M)), name="k"
    )
    call = bound.bind((zeros(7), zeros(8), zeros(3), zeros(2)), {})
    assert call.dims == (7, 2) and call.values == {"N": 7, "M": 2, "N1": 8}
    assert refusal(ShapeError, lambda: bound.bind((zeros(7), zeros(9), zeros(3), zeros(2)), {})) == (
        "k: N1 = N + 1 is 8 where N is 7 (dimension 0 of x), but 9 in p (dimension 0)"
    )
    assert refusal(ShapeError, lambda: bound.bind((zeros(7), zeros(8), zeros(4), zeros(2)), {})) == (
        "k: N // M is 3 where N is 7 (dimension 0 of x) and M is 2 (dimension 0 of r), but 4 in q (dimension 0)"
    )
    assert refusal(ShapeError, lambda: bound.bind((zeros(7), zeros(8), zeros(4), zeros(0)), {})) == (
        "k: N // M divides by zero where N is 7 and M is 0"
    )


@pytest.mark.parametrize(
    ("size", "given", "solution"),
    [(N1, 6, 5), (Twice, 12, 5), (N * 2, 6, 3), (3 - N, 1, 2), (N - 3, 1, 4), (3 + N * 2, 9, 3), ((N + 1) * (M * 0 + 2), 6, 2)],
)
def test_sizes_that_only_expressions_have_are_solved(size, given, solution):
    bound = binder(("x", array(REF, F32, size)), ("m", array(REF, F32, M)), name="k")
    call = bound.bind((zeros(given), zeros(4)), {})
    assert dict(zip(bound.signature.dims, call.dims, strict=True))[N] == solution


@pytest.mark.parametrize(
    ("size", "given", "message"),
    [
        (N * 2, 5, "k: N * 2 is 5 in x (dimension 0), and no size N gives that"),
        (N1, 0, "k: N1 = N + 1 is 0 in x (dimension 0), and no size N gives that"),
        (N // 2, 3, "k: the size N does not follow from N // 2 being 3 in x (dimension 0): lend an array that has N as a size"),
        (N * N, 4, "k: the size N does not follow from N * N being 4 in x (dimension 0): lend an array that has N as a size"),
        (N + K, 4, "k: the size N does not follow from N + K being 4 in x (dimension 0): lend an array that has N as a size"),
    ],
)
def test_sizes_that_cannot_be_solved(size, given, message):
    assert refusal(ShapeError, lambda: bind_one(array(REF, F32, size), zeros(given))) == message


def test_sizes_bound_later_help_earlier_expressions():
    bound = binder(("x", array(REF, F32, N + K)), ("y", array(REF, F32, K)), name="k")
    assert bound.bind((zeros(7), zeros(3)), {}).dims == (4, 3)
    assert refusal(ShapeError, lambda: bound.bind((zeros(2), zeros(3)), {})) == (
        "k: N + K is 2 in x (dimension 0), and no size N gives that where K is 3"
    )


# ----------------------------------------------------------------------------------------------------------- tuples

MANY = binder(("xs", TupleKind((array(REF, F32, N),), True)), ("y", array(MUT, F32, N)), name="k")
TWO = binder(("xs", TupleKind((array(REF, F32, N), array(MUT, F64, M)), False)), name="k")


def test_tuples_of_borrows():
    call = MANY.bind(((zeros(3), zeros(3)[::-1]), zeros(3)), {})
    assert call.types[0] == (array_type(F32, 1, REF, Layout.C), array_type(F32, 1, REF, Layout.STRIDED))
    assert len(call.leaves) == 3 and call.dims == (3,) and call.values == {"N": 3}
    assert MANY.bind(([], zeros(3)), {}).types[0] == ()
    assert TWO.bind(((zeros(3), np.zeros(2)),), {}).dims == (3, 2)


def test_tuples_that_are_refused():
    assert refusal(ArgumentError, lambda: MANY.bind((zeros(2, 3), zeros(3)), {})) == (
        "k: xs must be tuple[Ref[f32, N], ...], a tuple of arrays, not an ndarray"
    )
    assert refusal(ArgumentError, lambda: TWO.bind(((zeros(3),),), {})) == "k: xs must be a tuple of 2 arrays, and 1 were given"
    assert refusal(ArgumentError, lambda: MANY.bind(((zeros(3), np.zeros(3)), zeros(3)), {})) == (
        "k: xs[1] must be Ref[f32, N] but has dtype float64: make it with dtype=np.float32, or pass xs[1].astype(np.float32)"
    )
    assert refusal(ShapeError, lambda: MANY.bind(((zeros(3), zeros(4)), zeros(3)), {})) == (
        "k: N is 3 in xs[0] (dimension 0) but 4 in xs[1] (dimension 0)"
    )
    only = binder(("xs", TupleKind((array(REF, F32, N),), True)), name="k")
    assert refusal(ShapeError, lambda: only.bind(((),), {})) == (
        "k: the size N is not known, because no argument of this call has it"
    )


# ---------------------------------------------------------------------------------------------------------- borrows


def test_what_cannot_be_written():
    locked = zeros(3)
    locked.flags.writeable = False
    assert refusal(BorrowError, lambda: SAXPY.bind((1, zeros(3), locked), {})) == (
        "saxpy: y is lent as Mut but is read-only: pass a writeable array"
    )
    assert refusal(BorrowError, lambda: SAXPY.bind((1, zeros(3), np.broadcast_to(zeros(1), 3)), {})) == (
        "saxpy: y is lent as Mut but is read-only (it is broadcast): pass an array of its own, such as a copy"
    )
    still = np.lib.stride_tricks.as_strided(zeros(3), (3,), (0,))
    assert refusal(BorrowError, lambda: SAXPY.bind((1, zeros(3), still), {})) == (
        "saxpy: y is lent as Mut but is broadcast: all indices of dimension 0 are one element. "
        "Pass an array of its own, such as y.copy()"
    )
    windows = np.lib.stride_tricks.as_strided(np.zeros(8), (5, 4), (8, 8))
    assert refusal(BorrowError, lambda: bind_one(array(OUT, F64, N, M), windows)) == (
        "k: x is lent as Out but overlaps itself: with strides (8, 8), different indices reach the same bytes. "
        "Pass an array of its own, such as x.copy()"
    )
    assert SAXPY.bind((1, np.broadcast_to(zeros(1), 3), zeros(3)), {}).dims == (3,)
    assert bind_one(array(REF, F64, N, M), windows).dims == (5, 4)


def test_arguments_that_overlap():
    x = zeros(10)
    message = "saxpy: y is lent as Mut but x and y share memory: pass arrays that do not overlap, such as x.copy()"
    for first, second in ((x, x), (x[:5], x[4:9]), (x[::2], x[8::-2]), (x[:9:2], x[:5])):
        assert refusal(BorrowError, lambda first=first, second=second: SAXPY.bind((1, first, second), {})) == message
    for first, second in ((x[::2], x[1::2]), (x[:5], x[5:]), (x[4::-1], x[5:]), (x[:0], x[:0]), (x[3:3], x[2:2])):
        SAXPY.bind((1, first, second), {})
    reads = binder(("x", array(REF, F32, N)), ("y", array(REF, F32, N)))
    assert reads.bind((x, x), {}).dims == (10,)


def test_fields_of_one_record_array_may_be_lent_together():
    records = np.zeros(6, [("a", "f4"), ("b", "f4")])
    SAXPY.bind((1, records["a"], records["b"]), {})
    refusal(BorrowError, lambda: SAXPY.bind((1, records["a"], records["a"]), {}))


def test_members_of_tuples_count():
    y = zeros(4)
    assert refusal(BorrowError, lambda: MANY.bind(((zeros(4), y), y), {})) == (
        "k: y is lent as Mut but xs[1] and y share memory: pass arrays that do not overlap, such as xs[1].copy()"
    )
    writes = binder(("xs", TupleKind((array(MUT, F32, N),), True)), name="k")
    assert refusal(BorrowError, lambda: writes.bind(((zeros(4), y, y[::-1]),), {})) == (
        "k: xs[1] is lent as Mut but xs[1] and xs[2] share memory: pass arrays that do not overlap, such as xs[2].copy()"
    )


@pytest.mark.parametrize("count", [3, 8, 9, 40])
def test_many_arrays_are_all_compared(count):
    base = np.zeros((count, 5), np.float32)
    rows = [base[k] for k in range(count)]
    MANY.bind((rows[:-1], rows[-1]), {})
    for position in range(count - 1):
        lent = [*rows[:position], rows[-1], *rows[position + 1 : -1]]
        assert f"xs[{position}] and y share memory" in refusal(BorrowError, lambda lent=lent: MANY.bind((lent, rows[-1]), {}))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_overlap_agrees_with_numpy(data):
    base = np.zeros((6, 6), np.float32)
    steps = st.sampled_from([1, 2, 3, -1, -2])
    a, b = (
        base[data.draw(st.integers(0, 5)) :: data.draw(steps), data.draw(st.integers(0, 5)) :: data.draw(steps)] for _ in range(2)
    )
    bound = binder(("a", array(REF, F32, N, M)), ("b", array(MUT, F32, K, ready.L)), name="k")
    if np.shares_memory(a, b):
        refusal(BorrowError, lambda: bound.bind((a, b), {}))
    else:
        bound.bind((a, b), {})


# -------------------------------------------------------------------------------------------------- memory-mapped files


def test_two_maps_of_one_file(tmp_path):
    path = tmp_path / "file"
    np.arange(10000, dtype=np.float32).tofile(path)
    first = np.memmap(path, np.float32, "r+", shape=(5000,))
    again = np.memmap(path, np.float32, "r+", shape=(5000,))
    later = np.memmap(path, np.float32, "r+", offset=20000, shape=(5000,))
    private = np.memmap(path, np.float32, "c", shape=(5000,))
    message = (
        "saxpy: y is lent as Mut but x and y map the same bytes of one file: pass arrays that do not overlap, such as x.copy()"
    )
    assert refusal(BorrowError, lambda: SAXPY.bind((1, first, again), {})) == message
    assert refusal(BorrowError, lambda: SAXPY.bind((1, np.asarray(first)[10:20], again[15:25]), {})) == message
    assert refusal(BorrowError, lambda: SAXPY.bind((1, private, first), {})) == message
    SAXPY.bind((1, first, later), {})
    SAXPY.bind((1, first[::2], again[1::2]), {})
    SAXPY.bind((1, first, private), {})  # what is written stays private


def test_maps_without_the_systems_list(tmp_path, monkeypatch):
    from lend.runtime import mapped

    def unavailable(address):
        raise FileNotFoundError

    monkeypatch.setattr(mapped, "_from_system", unavailable)
    path = tmp_path / "file"
    np.zeros(10000, np.float32).tofile(path)
    first, again = (np.memmap(path, np.float32, "r+", offset=offset, shape=(100,)) for offset in (0, 40))
    assert "one file" in refusal(BorrowError, lambda: SAXPY.bind((1, first, again), {}))
    SAXPY.bind((1, first[:10], again[:10]), {})
    path.unlink()
    SAXPY.bind((1, first, again), {})  # nobody can tell


def test_shared_memory_under_one_name():
    memory = shared_memory.SharedMemory(create=True, size=400)
    other = shared_memory.SharedMemory(memory.name)
    try:
        views = [np.ndarray((100,), np.float32, owner.buf) for owner in (memory, other)]
        assert views[0].ctypes.data != views[1].ctypes.data
        assert "one file" in refusal(BorrowError, lambda views=views: SAXPY.bind((1, *views), {}))
        views.clear()
    finally:
        other.close()
        memory.unlink()
        memory.close()


def test_anonymous_maps_are_apart():
    x, y = (np.frombuffer(mmap.mmap(-1, 400, mmap.MAP_PRIVATE), np.float32) for _ in range(2))
    SAXPY.bind((1, x, y), {})


def test_no_message_holds_a_machine_address():
    x = zeros(10)
    text = refusal(BorrowError, lambda: SAXPY.bind((1, x, x), {}))
    assert not re.search(r"0x[0-9a-f]{6}|\d{9}", text)
