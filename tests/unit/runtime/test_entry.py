"""The native entry point against binding in Python: the same results, the same errors, nothing leaked, nothing run twice."""

import copy
import gc
import inspect
import math
import os
import pickle
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lend
from lend import (
    Mut,
    Ref,
    T,
    bf16,
    bool_,
    complex64,
    complex128,
    comptime,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
)  # fmt: skip
from lend.dims import K, M, N
from lend.runtime import vectorcall
from lend.targets.cpu.python_abi import python_abi

pytestmark = pytest.mark.skipif(
    python_abi() is None or not vectorcall.enabled(lend.Kernel), reason="this Python has no native path"
)


class Python:
    """Counts the calls of one kernel that Python bound."""

    def __init__(self, kernel: Any) -> None:
        self.calls = 0
        self._bind = kernel._binder.bind
        kernel._binder.bind = self._count

    def _count(self, *arguments: Any) -> Any:
        self.calls += 1
        return self._bind(*arguments)


@contextmanager
def in_python(kernel: Any) -> Iterator[Python]:
    """How many of the calls in the block were bound in Python."""
    counter = Python(kernel)
    try:
        yield counter
    finally:
        del kernel._binder.bind


def is_native(kernel: Any, *arguments: Any, **named: Any) -> bool:
    """Whether such a call does without Python."""
    with in_python(kernel) as python:
        kernel(*arguments, **named)
    return python.calls == 0


def warm(kernel: Any, *arguments: Any, **named: Any) -> None:
    """Call until the call is native."""
    for _ in range(2):
        kernel(*arguments, **named)
    assert is_native(kernel, *arguments, **named)


def warm_python(kernel: Any, *arguments: Any, **named: Any) -> None:
    """Call as often, and find that such calls stay in Python."""
    for _ in range(2):
        kernel(*arguments, **named)
    assert not is_native(kernel, *arguments, **named)


def bits(value: Any) -> Any:
    """What is equal for values of one type and the same bits."""
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, (tuple, list)):
        return tuple(bits(item) for item in value)
    return type(value), repr(value)


@lend.kernel
def nothing():
    """A call of it applies settings."""


def use_native(native: bool) -> None:
    """Switch the native path, and let a call notice."""
    lend.config.native = native
    nothing()


def outcome(call: Callable[[], Any]) -> Any:
    """What a call gives or raises."""
    try:
        return "gave", bits(call())
    except Exception as error:
        return "raised", type(error), str(error)


def both(kernel: Any, make: Callable[[], tuple[tuple[Any, ...], dict[str, Any]]]) -> tuple[Any, int]:
    """The outcome of a call, the same natively and in Python, with the arrays as they are after it; and the calls of Python."""
    arguments, named = make()
    with in_python(kernel) as python:
        native = outcome(lambda: kernel(*arguments, **named)), bits(arguments), bits(list(named.values()))
    use_native(False)
    try:
        arguments, named = make()
        expected = outcome(lambda: kernel(*arguments, **named)), bits(arguments), bits(list(named.values()))
    finally:
        use_native(True)
    assert native == expected
    return native[0], python.calls


@lend.kernel
def saxpy(a: f32, x: Ref[f32, N], y: Mut[f32, N]):
    """y += a x."""
    for i in lend.grid(N):
        y[i] += a * x[i]


def floats(count: int = 8, start: float = 1.0) -> np.ndarray:
    return np.arange(start, start + count, dtype=np.float32)


@pytest.fixture(autouse=True)
def _native() -> Iterator[None]:
    lend.config.threads = 2
    use_native(True)
    yield
    use_native(True)


# -------------------------------------------------------------------------------------------------- the usual call


def test_the_second_call_of_a_specialisation_makes_the_path():
    @lend.kernel
    def double(x: Mut[f64, N]):
        for i in lend.grid(N):
            x[i] *= 2.0

    x = np.ones(5)
    with in_python(double) as python:
        double(x)
        double(x)
        assert python.calls == 2
        double(x)
        double(x)
        assert python.calls == 2
    assert x.tolist() == [16.0] * 5


def test_the_result_is_that_of_the_kernel():
    x, y = floats(), floats(start=-3)
    warm(saxpy, 2.0, x, y)
    expected = y + np.float32(0.5) * x
    assert is_native(saxpy, 0.5, x, y)
    np.testing.assert_array_equal(y, expected)


def test_keywords_and_their_order():
    x, y = floats(), floats()
    warm(saxpy, 2.0, x, y)
    assert is_native(saxpy, 2.0, y=y, x=x)
    assert is_native(saxpy, x=x, a=1.0, y=y)
    assert is_native(saxpy, *(1.0, x), y=y)
    np.testing.assert_array_equal(y, floats() + (2 * 3 + 2 + 1 + 1) * x)


def test_a_keyword_that_is_not_interned():
    x, y = floats(), floats()
    warm(saxpy, 2.0, x, y)
    name = "".join(["", "y"])
    saxpy(2.0, x, **{name: y})


@pytest.mark.parametrize("number", [2.0, 3, np.float32(0.1), -0.0, math.inf, math.nan, 1e300, 2**62 + 1, -(2**63), 16777217])
def test_numbers_for_f32(number):
    warm(saxpy, 2.0, floats(), floats())
    _, calls = both(saxpy, lambda: ((number, floats(), floats()), {}))
    assert calls == 0


# ------------------------------------------------------------------------------------ arguments that violate one property


class Subclass(np.ndarray):
    pass


class Float(float):
    pass


class Int(int):
    pass


def _read_only() -> np.ndarray:
    y = floats()
    y.flags.writeable = False
    return y


def _unaligned() -> np.ndarray:
    return np.zeros(33, np.uint8)[1:].view(np.float32)


def _overlapping() -> tuple[np.ndarray, np.ndarray]:
    base = floats(12)
    return base[:8], base[4:]


def _interleaved() -> tuple[np.ndarray, np.ndarray]:
    base = floats(16)
    return base[::2], base[1::2]


VIOLATIONS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "too few": lambda: (2.0, floats()),
    "too many": lambda: (2.0, floats(), floats(), 1),
    "none": lambda: (),
    "x of f64": lambda: (2.0, floats().astype(np.float64), floats()),
    "x of i32": lambda: (2.0, floats().astype(np.int32), floats()),
    "x of the other byte order": lambda: (2.0, floats().astype(">f4"), floats()),
    "y of the other byte order": lambda: (2.0, floats(), floats().astype(">f4")),
    "x a list": lambda: (2.0, [1.0] * 8, floats()),
    "x None": lambda: (2.0, None, floats()),
    "x a subclass": lambda: (2.0, floats().view(Subclass), floats()),
    "x masked": lambda: (2.0, np.ma.masked_array(floats()), floats()),
    "x a matrix": lambda: (2.0, floats().view(np.matrix), floats()),
    "x a record": lambda: (2.0, np.zeros(8, [("a", "f4")]), floats()),
    "x of dates": lambda: (2.0, np.zeros(8, "M8[s]"), floats()),
    "x of objects": lambda: (2.0, np.zeros(8, object), floats()),
    "x of two dimensions": lambda: (2.0, floats().reshape(2, 4), floats()),
    "x of none": lambda: (2.0, np.float32(1).reshape(()), floats()),
    "x a scalar": lambda: (2.0, np.float32(1), floats()),
    "x shorter": lambda: (2.0, floats(7), floats()),
    "y shorter": lambda: (2.0, floats(), floats(7)),
    "x empty": lambda: (2.0, floats(0), floats()),
    "both empty": lambda: (2.0, floats(0), floats(0)),
    "y read-only": lambda: (2.0, floats(), _read_only()),
    "x read-only": lambda: (2.0, _read_only(), floats()),
    "x strided": lambda: (2.0, floats(16)[::2], floats()),
    "y strided": lambda: (2.0, floats(), floats(16)[::2]),
    "y reversed": lambda: (2.0, floats(), floats()[::-1]),
    "x broadcast": lambda: (2.0, np.broadcast_to(np.float32(1), (8,)), floats()),
    "y broadcast": lambda: (2.0, floats(), np.lib.stride_tricks.as_strided(floats(), (8,), (0,))),
    "y overlaps itself": lambda: (2.0, floats(), np.lib.stride_tricks.as_strided(floats(), (8,), (2,))),
    "x unaligned": lambda: (2.0, _unaligned(), floats()),
    "y unaligned": lambda: (2.0, floats(), _unaligned()),
    "x and y the same": lambda: (2.0, *[floats()] * 2),
    "x and y overlap": lambda: (2.0, *_overlapping()),
    "x and y interleave": lambda: (2.0, *_interleaved()),
    "a True": lambda: (True, floats(), floats()),
    "a complex": lambda: (1j, floats(), floats()),
    "a None": lambda: (None, floats(), floats()),
    "a str": lambda: ("2", floats(), floats()),
    "a np.float64": lambda: (np.float64(2.0), floats(), floats()),
    "a np.float16": lambda: (np.float16(2.0), floats(), floats()),
    "a np.int16": lambda: (np.int16(2), floats(), floats()),
    "a np.int64": lambda: (np.int64(2), floats(), floats()),
    "a np.bool": lambda: (np.True_, floats(), floats()),
    "a an array": lambda: (np.float32(2.0).reshape(()), floats(), floats()),
    "a an int beyond i64": lambda: (2**64, floats(), floats()),
    "a an int beyond f32": lambda: (10**40, floats(), floats()),
    "a an int beyond all": lambda: (10**400, floats(), floats()),
    "a a subclass of float": lambda: (Float(2.0), floats(), floats()),
    "a a subclass of int": lambda: (Int(2), floats(), floats()),
}


@pytest.mark.parametrize("what", VIOLATIONS)
def test_an_argument_that_violates_one_property(what):
    warm(saxpy, 2.0, floats(), floats())
    for _ in range(2):
        both(saxpy, lambda: (VIOLATIONS[what](), {}))
    assert is_native(saxpy, 2.0, floats(), floats())


NAMED: dict[str, Callable[[], tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "unknown": lambda: ((2.0, floats(), floats()), {"z": 1}),
    "unknown instead": lambda: ((2.0, floats()), {"z": floats()}),
    "twice": lambda: ((2.0, floats(), floats()), {"y": floats()}),
    "missing": lambda: ((2.0,), {"y": floats()}),
    "wrong": lambda: ((2.0,), {"y": floats(), "x": floats(7)}),
}


@pytest.mark.parametrize("what", NAMED)
def test_keywords_that_do_not_fit(what):
    warm(saxpy, 2.0, floats(), floats())
    result, calls = both(saxpy, NAMED[what])
    assert result[0] == "raised" and calls == 1


def test_an_unpickled_array_has_a_dtype_object_of_its_own():
    x = pickle.loads(pickle.dumps(floats()))
    y = np.empty(8, np.dtype("f4").newbyteorder("<"))
    y[...] = 1
    warm(saxpy, 2.0, floats(), floats())
    assert is_native(saxpy, 2.0, x, y)


def test_long_and_long_long_are_one_type():
    @lend.kernel
    def add(x: Mut[i64, N]):
        for i in lend.grid(N):
            x[i] += 1

    warm(add, np.zeros(3, np.int64))
    for code in "lq":
        x = np.zeros(3, code)
        assert is_native(add, x) and x.tolist() == [1, 1, 1]


@lend.kernel
def transpose(x: Ref[f64, M, N], y: Mut[f64, N, M]):
    for i, j in lend.grid(M, N):
        y[j, i] = x[i, j]


def matrix(layout: str, rows: int, columns: int) -> np.ndarray:
    whole = np.arange(4.0 * rows * columns).reshape(2 * rows, 2 * columns)
    if layout == "unaligned":
        return np.zeros(8 * rows * columns + 8, np.uint8)[3:-5].view(np.float64).reshape(rows, columns)
    made = {"C": whole[:rows, :columns].copy(), "F": np.asfortranarray(whole[:rows, :columns])}
    made |= {"gapped": whole[:rows, :columns], "strided": whole[::2, ::-2], "crossed": whole.T.copy().T[::2, 1::2]}
    return made[layout]


@pytest.mark.parametrize("first", ["C", "F", "gapped", "strided", "crossed", "unaligned"])
@pytest.mark.parametrize("second", ["C", "F", "gapped", "strided", "crossed", "unaligned"])
def test_each_pair_of_layouts_has_a_path(first, second):
    x, y = matrix(first, 3, 4), matrix(second, 4, 3)
    warm(transpose, x, y)
    y[...] = 0
    transpose(x, y)
    np.testing.assert_array_equal(y, x.T)
    both(transpose, lambda: ((matrix(first, 3, 4), matrix(second, 4, 3)), {}))


def test_a_layout_is_not_taken_for_another():
    x, y = matrix("C", 3, 3), matrix("C", 3, 3)
    warm(transpose, x, y)
    for layout in ("F", "gapped", "strided", "crossed", "unaligned"):
        y = matrix(layout, 3, 3)
        transpose(x, y)
        np.testing.assert_array_equal(y, x.T)


def test_writing_where_rows_overlap_is_refused_and_where_they_interleave_is_not():
    base = np.zeros(64)
    x = np.ones((3, 4))
    apart = np.lib.stride_tricks.as_strided(base, (4, 3), (8, 64))
    meeting = np.lib.stride_tricks.as_strided(base, (4, 3), (8, 24))
    warm(transpose, x, apart)
    with pytest.raises(lend.BorrowError, match="overlaps itself"):
        transpose(x, meeting)


# ------------------------------------------------------------------------------------------------------ memory


def test_views_of_different_arrays_are_native_and_mappings_of_one_file_are_not(tmp_path):
    x, y = floats(10)[1:9], floats(10)[:8]
    warm(saxpy, 2.0, x, y)
    path = tmp_path / "numbers"
    floats(16).tofile(path)
    first, second = np.memmap(path, np.float32, "r+", shape=(16,)), np.memmap(path, np.float32, "r+", shape=(16,))
    x, y = np.asarray(first)[:8], np.asarray(second)[:8]
    assert type(x) is np.ndarray
    with pytest.raises(lend.BorrowError, match="same bytes of one file"):
        saxpy(2.0, x, y)
    saxpy(2.0, x, np.asarray(second)[8:])
    x, y = np.frombuffer(memoryview(bytearray(32)), np.float32), np.frombuffer(bytearray(32), np.float32)
    saxpy(2.0, x, y)


def test_arrays_that_kernels_returned_are_known_to_be_no_mappings():
    @lend.kernel
    def ones(n: i64) -> Ref[f32, N]:
        x = lend.empty(f32, n)
        for i in lend.grid(n):
            x[i] = 1
        return x

    x, y = ones(8), ones(8)
    assert x.base is not None
    warm(saxpy, 2.0, x, y)


def test_memory_is_apart_or_python_decides():
    base = floats(32)
    warm(saxpy, 2.0, base[:8], base[8:16])
    both(saxpy, lambda: ((2.0, (b := floats(32))[:8], b[7:15]), {}))
    both(saxpy, lambda: ((2.0, (b := floats(32))[8:16], b[:8]), {}))
    both(saxpy, lambda: ((2.0, (b := floats(32))[8:16], b[1:9]), {}))


# ------------------------------------------------------------------------------------------------------ scalars


def _taker(element: Any) -> Any:
    @lend.kernel
    def take(v: element, y: Mut[element, N]):
        for i in lend.grid(N):
            y[i] = v

    return take


def _giver(element: Any) -> Any:
    @lend.kernel
    def give(y: Ref[element, N]) -> element:
        return y[N - 1]

    return give


SCALARS = {
    bool_: "?", i8: "b", i16: "h", i32: "i", i64: "q", u8: "B", u16: "H", u32: "I", u64: "Q", f16: "e", f32: "f", f64: "d",
    complex64: "F", complex128: "D", bf16: ml_dtypes.bfloat16,
}  # fmt: skip
TAKERS = {element: _taker(element) for element in SCALARS}
GIVERS = {element: _giver(element) for element in SCALARS}
FIRST: dict[str, Any] = {"bool": True, "int": 1, "uint": 1, "float": 1.0, "complex": 1j}

NUMBERS: list[Any] = [
    True, False, 0, 1, -1, 127, 128, -128, -129, 255, 256, 32767, 32768, 65535, 65536, 2**31 - 1, 2**31, -(2**31),
    2**32, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64 - 1, 2**64, 0.0, -0.0, 0.1, 65504.0, 65519.9, 65520.0,
    1e-8, 5e-324, 1e38, 3.4028236e38, 1e39, math.inf, -math.inf, math.nan, 1j, 0.1 - 1e39j, complex(math.nan, -0.0), None,
    "1", [1], *[np.dtype(code).type(1) for code in "?bhiqBHIQefdFDlLgG"], np.float32(0.1), np.float64(0.1),
    np.longdouble(0.1), ml_dtypes.bfloat16(1),
]  # fmt: skip


@pytest.mark.parametrize("element", SCALARS, ids=str)
def test_every_number_for_every_type(element):
    kernel, dtype = TAKERS[element], np.dtype(SCALARS[element])
    warm(kernel, FIRST[element.kind], np.zeros(2, dtype))
    for number in NUMBERS:
        both(kernel, lambda number=number: ((number, np.zeros(2, dtype)), {}))


@pytest.mark.parametrize("element", SCALARS, ids=str)
def test_every_type_is_returned(element):
    kernel, dtype = GIVERS[element], np.dtype(SCALARS[element])
    warm(kernel, np.zeros(2, dtype))
    for number in NUMBERS:
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                y = np.array([0, number], dtype)
        except (ValueError, TypeError, OverflowError):
            continue
        _, calls = both(kernel, lambda y=y: ((y,), {}))
        assert calls == 0


def test_tuples_of_scalars_are_returned():
    @lend.kernel
    def best(x: Ref[f64, N]) -> tuple[f64, i64, bool_]:
        best = (x[0], 0)
        for i in lend.grid(N):
            best = min(best, (x[i], i))
        return best[0], best[1], best[0] < 0.0

    x = np.array([3.0, -1.5, 2.0])
    warm(best, x)
    assert best(x) == (-1.5, 1, True)
    assert type(best(x)) is tuple and [type(item) for item in best(x)] == [float, int, bool]


def test_results_that_are_arrays_stay_in_python():
    @lend.kernel
    def doubled(x: Ref[f64, N]) -> Ref[f64, N]:
        y = lend.empty(f64, N)
        for i in lend.grid(N):
            y[i] = 2 * x[i]
        return y

    warm_python(doubled, np.ones(3))


# ------------------------------------------------------------------------------------------------------ parameters


def test_defaults_and_keyword_only_parameters():
    @lend.kernel
    def scale(x: Mut[f64, N], by: f64 = 2.0, *, plus: f64 = 0.5):
        for i in lend.grid(N):
            x[i] = by * x[i] + plus

    x = np.ones(2)
    warm(scale, x)
    for arguments, named in (((x,), {}), ((x, 3.0), {}), ((x,), {"by": 4.0}), ((x,), {"plus": 1}), ((x, 5.0), {"plus": 1.5})):
        assert is_native(scale, *arguments, **named)
        _, calls = both(scale, lambda arguments=arguments, named=named: ((np.ones(2), *arguments[1:]), named))
        assert calls == 0
    result, _ = both(scale, lambda: ((np.ones(2), 1.0, 2.0), {}))
    assert result[0] == "raised"


def test_without_parameters():
    @lend.kernel
    def answer() -> i64:
        return 42

    warm(answer)
    assert answer() == 42
    assert both(answer, lambda: ((1,), {}))[0][0] == "raised"
    assert both(answer, lambda: ((), {"n": 1}))[0][0] == "raised"


def test_many_parameters():
    names = [sys.intern(f"p{k}") for k in range(40)]
    warm_kernel = lend.kernel(_many())
    arguments = [float(k) for k in range(40)]
    warm(warm_kernel, *arguments)
    assert warm_kernel(*arguments) == sum(arguments)
    assert is_native(warm_kernel, **dict(zip(reversed(names), reversed(arguments), strict=True)))


def _many() -> Callable[..., Any]:
    sys.path.insert(0, str(Path(__file__).parent))
    try:
        from many_parameters import many
    finally:
        sys.path.pop(0)

    return many


def test_compile_time_values():
    @lend.kernel
    def power(x: Mut[f64, N], n: comptime[int] = 2, half: comptime[float] = 1.0, name: comptime[str] = "plain"):
        for i in lend.grid(N):
            y = half
            for _ in lend.static_range(n):
                y *= x[i]
            x[i] = y if name == "plain" else -y

    x = np.array([2.0])
    warm(power, x)
    for named in (
        {"n": 3},
        {"n": 1000},
        {"half": 0.5},
        {"name": "other"},
        {"n": True},
        {"half": 0.0},
        {"half": -0.0},
        {"half": 1},
    ):
        for _ in range(3):
            both(power, lambda named=named: ((np.array([2.0]),), named))
    big = int("1000")
    power(np.array([1.0]), int("1000"))
    assert is_native(power, np.array([1.0]), big)
    assert is_native(power, np.array([1.0]), 2, float("0.5"))
    assert power.__name__ == "power"


def test_functions_and_element_types_as_compile_time_values():
    @lend.function
    def one(x):
        return x + 1

    @lend.function
    def two(x):
        return x + 2

    @lend.kernel
    def apply(x: Mut[f64, N], f: comptime[Any], element: comptime[Any]):
        for i in lend.grid(N):
            x[i] = f64(element(f(x[i])))

    for f in (one, two):
        for element in (f32, i32):
            warm(apply, np.zeros(2), f, element)
    x = np.zeros(2)
    apply(x, two, i32)
    assert x.tolist() == [2, 2]


def test_tuples_of_borrows():
    @lend.kernel
    def total(xs: tuple[Ref[f64, N], ...], y: Mut[f64, N]):
        for i in lend.grid(N):
            for x in xs:
                y[i] += x[i]

    a, b = np.ones(3), np.full(3, 2.0)
    warm(total, (a, b), np.zeros(3))
    warm(total, (a,), np.zeros(3))
    for xs in ((a, b), (a,), (b, a), [a, b], (a, b, b), (a, np.ones(4)), (a, None), None, a):
        both(total, lambda xs=xs: ((xs, np.zeros(3)), {}))
    y = np.zeros(3)
    with pytest.raises(lend.BorrowError):
        total((a, y), y)


def test_type_variables():
    @lend.kernel
    def fill(v: T, y: Mut[T, N]):
        for i in lend.grid(N):
            y[i] = v

    @lend.kernel
    def added(a: T, b: T) -> T:
        return a + b

    warm(fill, 2, np.zeros(3))
    warm(fill, 2, np.zeros(3, np.int8))
    for code in "dbfi":
        for v in (1, 1.5, True, np.float32(1), np.int8(1), 300):
            both(fill, lambda v=v, code=code: ((v, np.zeros(2, code)), {}))
    for pair in ((1, 2), (1.0, 2.0), (1j, 1.0), (True, False), (1, 2.0), (np.float32(1), 0.1), (np.float32(1), np.float64(0.1)),
                 (np.int8(1), np.int8(2)), (np.int8(1), 2), (np.float64(1), 0.1), (np.True_, True), (2.5, 1)):  # fmt: skip
        for _ in range(3):
            both(added, lambda pair=pair: (pair, {}))


def test_derived_and_literal_sizes():
    class N1(lend.Dim):
        equals = N + 1

    class Half(lend.Dim):
        equals = N // 2

    @lend.kernel
    def sizes(x: Ref[f64, N], y: Ref[f64, N1], z: Ref[f64, Half, Literal[3]]) -> i64:
        return N1 * 100 + Half

    def arrays(n: int, m: int, h: int, three: int = 3) -> tuple[Any, ...]:
        return np.zeros(n), np.zeros(m), np.zeros((h, three))

    warm(sizes, *arrays(4, 5, 2))
    assert sizes(*arrays(4, 5, 2)) == 502
    for counts in ((5, 6, 2), (0, 1, 0), (4, 4, 2), (4, 5, 3), (4, 5, 2, 2), (3, 4, 2)):
        both(sizes, lambda counts=counts: (arrays(*counts), {}))


def test_sizes_beyond_the_largest():
    @lend.kernel
    def size(x: Ref[i8, N]) -> i64:
        return N

    for count in (1 << 45, 1 << 46, (1 << 46) + 1, 1 << 62):
        for _ in range(3):
            huge = np.lib.stride_tricks.as_strided(np.ones(1, np.int8), (count,), (0,))
            assert outcome(lambda huge=huge: size(huge))[0] == ("gave" if count <= 1 << 46 else "raised")


# ------------------------------------------------------------------------------------------------------ contracts

LIMIT = 100
HELPER = math


@lend.kernel
def guarded(x: Ref[f64, N, M], k: i32, t: f64, flag: bool_, T: comptime[int] = 2) -> i64:
    assert N >= 1 and M >= 1, "not empty"
    assert N % T == 0 or flag
    assert 0 <= k < N * 10 <= LIMIT
    assert not t > 2.5
    assert k // 3 < 8, "small"
    assert x.shape[1] == M and len(x) == N
    assert min(N, M, 5) < 5 and lend.cdiv(N, 3) <= 4
    return N * M + k


def test_contracts_in_machine_code():
    x = np.zeros((4, 3))
    warm(guarded, x, 1, 0.5, False)
    calls = [
        (x, 0, 0.5, False), (x, 23, 2.5, True), (x, 24, 0.5, False), (x, -1, 0.5, False), (x, 1, 2.6, False),
        (x, 1, math.nan, False), (np.zeros((3, 3)), 1, 0.5, False), (np.zeros((3, 3)), 1, 0.5, True),
        (np.zeros((0, 3)), 1, 0.5, True), (x, 39, 0.0, False), (np.zeros((12, 3)), 1, 0.5, False),
        (np.zeros((6, 5)), 1, 0.5, False),
        (np.zeros((8, 3)), 1, 0.5, False, 3),
    ]  # fmt: skip
    for arguments in calls:
        both(guarded, lambda arguments=arguments: (arguments, {}))
    assert is_native(guarded, x, 2, 0.5, False)


def test_a_contract_over_a_captured_value_that_changes():
    global LIMIT
    x = np.zeros((4, 3))
    warm(guarded, x, 1, 0.5, False)
    LIMIT = 39
    try:
        with pytest.raises(lend.ContractError):
            guarded(x, 1, 0.5, False)
    finally:
        LIMIT = 100
    guarded(x, 1, 0.5, False)


def test_contracts_beyond_64_bits_and_beyond_machine_code():
    @lend.kernel
    def large(n: i64, m: i64) -> i64:
        assert n * m > 0
        return n

    @lend.kernel
    def odd(n: i64, t: f64) -> i64:
        assert math.gcd(n, 12) == 4
        return n

    @lend.kernel
    def divided(n: i64, m: i64) -> i64:
        assert n // m >= n % m
        return n

    @lend.kernel
    def compared(n: i64, t: f64) -> bool_:
        assert n < t
        return True

    warm(large, 2, 3)
    for pair in ((2**62, 4), (-(2**62), 4), (2**63 - 1, 2**63 - 1), (0, 1), (-1, -1), (-(2**63), -1)):
        both(large, lambda pair=pair: (pair, {}))
    warm_python(odd, 4, 1.0)
    warm(divided, 9, 2)
    for pair in ((9, 0), (-9, 2), (9, -2), (-9, -2), (-(2**63), -1), (-(2**63), 1), (7, 7), (6, 7)):
        both(divided, lambda pair=pair: (pair, {}))
    warm(compared, 1, 1.5)
    for n, t in (
        (2**53, 2.0**53 + 2),
        (2**53 + 1, 2.0**53 + 2),
        (2**53 + 1, 2.0**53),
        (2**62 + 1, 2.0**62),
        (1, math.nan),
        (-3, -2.5),
    ):
        both(compared, lambda n=n, t=t: ((n, t), {}))


# ------------------------------------------------------------------------------------------------------ captured values

SCALE = 2.0


class Holder:
    value = 3.0


HOLDER = Holder()


@lend.kernel
def scaled(x: Mut[f64, N]):
    for i in lend.grid(N):
        x[i] *= SCALE


@lend.kernel
def held(x: Mut[f64, N]):
    for i in lend.grid(N):
        x[i] *= HOLDER.value


def once(kernel: Any) -> float:
    x = np.ones(2)
    kernel(x)
    return x[1]


def test_a_captured_global_that_changes():
    global SCALE
    x = np.ones(2)
    warm(scaled, x)
    try:
        SCALE = 5.0
        assert once(scaled) == 5.0
        warm(scaled, x)
        SCALE = 2.0
        assert once(scaled) == 2.0
        assert is_native(scaled, x)
        SCALE = float("2.0")  # equal, and another object
        assert once(scaled) == 2.0
        assert is_native(scaled, x)
        globals()["SOMETHING_ELSE"] = 1
        assert is_native(scaled, x)
        del globals()["SCALE"]
        with pytest.raises(lend.CompileError):
            scaled(x)
    finally:
        SCALE = 2.0
    assert once(scaled) == 2.0


def test_a_captured_cell_and_an_attribute_that_change():
    by = 2.0

    @lend.kernel
    def closed(x: Mut[f64, N]):
        for i in lend.grid(N):
            x[i] *= by

    x = np.ones(2)
    warm(closed, x)
    by = 7.0
    assert once(closed) == 7.0
    warm(held, x)
    HOLDER.value = 4.0
    try:
        assert once(held) == 4.0
        warm(held, x)
        del HOLDER.value
        assert once(held) == 3.0
        Holder.value = 6.0
        assert once(held) == 6.0
    finally:
        Holder.value = 3.0
    assert once(held) == 3.0


def test_a_function_that_changes():
    @lend.function
    def f(x):
        return x + 1

    @lend.kernel
    def use(x: Mut[f64, N]):
        for i in lend.grid(N):
            x[i] = f(x[i])

    warm(use, np.ones(2))
    first = f

    @lend.function
    def f(x):
        return x + 10

    assert once(use) == 11.0
    f = first
    assert once(use) == 2.0
    assert is_native(use, np.ones(2))


# ------------------------------------------------------------------------------------------------------ settings


def test_the_number_of_threads_is_applied():
    from lend.targets.cpu.threads import pool

    x, y = floats(), floats()
    warm(saxpy, 2.0, x, y)
    for count in (1, 2):
        lend.config.threads = count
        with in_python(saxpy) as python:
            saxpy(2.0, x, y)
            assert pool().threads == count
            saxpy(2.0, x, y)
        assert python.calls == 1


def test_without_the_native_path():
    x, y = floats(), floats()
    warm(saxpy, 2.0, x, y)
    lend.config.native = False
    assert not is_native(saxpy, 2.0, x, y)
    assert not is_native(saxpy, 2.0, x, y)
    lend.config.native = True
    saxpy(2.0, x, y)
    assert is_native(saxpy, 2.0, x, y)


def test_several_specialisations_are_tried():
    @lend.kernel
    def fill(x: Mut[T, N]):
        for i in lend.grid(N):
            x[i] = 1

    arrays = [np.zeros(2, code) for code in "bhiqBHIQfd"]
    for x in arrays * 2:
        fill(x)
    assert all(is_native(fill, x) for x in arrays)
    arrays += [np.zeros((2, 2), code)[0] for code in "bhiqBHIQfd"] + [np.zeros((2, 2), code)[:, 0] for code in "bhiqBHIQfd"]
    for x in arrays * 3:
        x[...] = 0
        fill(x)
        assert x.tolist() == [1, 1]
    assert is_native(fill, arrays[-1])


# ------------------------------------------------------------------------------------------------------ faults


def test_a_fault_raises_and_nothing_runs_again():
    @lend.kernel
    def count(x: Mut[i64, N], at: i64):
        for i in lend.grid(N):
            x[i] += 1
        x[at] += 1

    x = np.zeros(4, np.int64)
    warm(count, x, 1)
    before = x.copy()
    with in_python(count) as python, pytest.raises(lend.BoundsError, match="index 7 is out of bounds") as caught:
        count(x, 7)
    assert python.calls == 0 and (x == before + 1).all()
    assert (caught.value.index, caught.value.size, caught.value.kernel) == (7, 4, "count")
    both(count, lambda: ((np.zeros(4, np.int64), -1), {}))
    both(count, lambda: ((np.zeros(0, np.int64), 0), {}))


def test_a_fault_in_a_parallel_loop_and_a_division():
    @lend.kernel
    def gather(x: Ref[f64, N], k: Ref[i64, M], y: Mut[f64, M], d: i64):
        for i in lend.grid(M):
            y[i] = x[k[i]] + f64(k[i] // d)

    k = np.zeros(5000, np.int64)
    warm(gather, np.ones(3), k, np.zeros(5000), 1)
    k[[4000, 77]] = 5, -9
    result, calls = both(gather, lambda: ((np.ones(3), k, np.zeros(5000), 1), {}))
    assert result[1] is lend.BoundsError and calls == 0
    k[...] = 0
    result, calls = both(gather, lambda: ((np.ones(3), k, np.zeros(5000), 0), {}))
    assert result[1] is lend.ArithmeticFault and calls == 0


# ------------------------------------------------------------------------------------------------------ references


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def counted(objects: list[Any], call: Callable[[], Any], times: int) -> None:
    """Reference counts and memory are the same after many calls."""
    for _ in range(1000):
        call()
    gc.collect()
    before, memory = [sys.getrefcount(item) for item in objects], resident()
    for _ in range(times):
        call()
    gc.collect()
    after = [sys.getrefcount(item) for item in objects]
    assert [abs(b - a) <= 20 for a, b in zip(before, after, strict=True)] == [True] * len(objects), (before, after)
    assert resident() - memory < 4 << 20


def test_a_million_calls_leave_nothing_behind():
    x, y, a = floats(), floats(), float("2.5")
    warm(saxpy, a, x, y)
    counted([x, y, a, None, x.dtype, saxpy, np.ndarray, "x"], lambda: saxpy(a, x, y), 1_000_000)


def test_many_keyword_calls_and_results_leave_nothing_behind():
    @lend.kernel
    def pair(x: Ref[f64, N], n: i64 = 3) -> tuple[f64, i64]:
        return x[0], n

    x, n = np.full(2, 1234.5), int("123456789")
    warm(pair, x, n)
    names = {"x": x, "n": n}
    counted([x, n, tuple, names], lambda: pair(**names), 200_000)
    give = GIVERS[complex128]
    y = np.full(2, 1 - 2j)
    warm(give, y)
    counted([y, None, True], lambda: give(y), 200_000)


def test_calls_that_python_gets_leave_nothing_behind():
    x, y = floats(), floats()
    warm(saxpy, 2.0, x, y)

    def refused() -> None:
        with pytest.raises(lend.ShapeError):
            saxpy(2.0, x, y=y[:7])

    counted([x, y, saxpy], refused, 2000)
    counted([x, y, saxpy], lambda: saxpy(np.int16(2), x, y), 2000)


def test_faults_leave_nothing_behind():
    @lend.kernel
    def at(x: Ref[f64, N], i: i64) -> f64:
        return x[i]

    x = np.ones(3)
    warm(at, x, 0)

    def fault() -> None:
        with pytest.raises(lend.BoundsError):
            at(x, 5)

    counted([x, at], fault, 2000)


def test_a_kernel_and_its_code_go_together():
    import weakref

    def make() -> Any:
        @lend.kernel
        def local(x: Mut[f64, N]):
            for i in lend.grid(N):
                x[i] += 1

        return local

    kernel = make()
    warm(kernel, np.zeros(3))
    watch = weakref.ref(kernel)
    del kernel
    gc.collect()
    assert watch() is None


# ------------------------------------------------------------------------------------------------------ threads


def test_threads_that_call_at_once():
    @lend.kernel
    def bump(x: Mut[T, N], by: T):
        for i in lend.grid(N):
            x[i] += by

    errors: list[BaseException] = []

    def work(code: str) -> None:
        try:
            x = np.zeros(50, code)
            for _ in range(400):
                bump(x, 1)
            assert (x == (400 if code != "b" else np.array(400).astype("b"))).all()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(code,)) for code in "ihqfdb" * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_other_threads_run_while_a_long_kernel_does():
    @lend.kernel
    def spin(x: Mut[f64, N], steps: i64):
        for i in lend.grid(N):
            for _ in range(steps):
                x[i] = x[i] * 0.5 + 1.0

    x = np.zeros(1)
    warm(spin, x, 1)
    started = time.perf_counter()
    spin(x, 1_000_000)
    steps = int(1_000_000 * 0.3 / max(time.perf_counter() - started, 1e-4))
    ticks = 0
    done = threading.Event()

    def run() -> None:
        assert is_native(spin, x, steps)
        done.set()

    thread = threading.Thread(target=run)
    thread.start()
    while not done.is_set():
        ticks += 1
        time.sleep(0.001)
    thread.join()
    assert ticks > 10


def run_script(body: str) -> str:
    """What a program prints that makes kernels; it must end well."""
    folder = Path(__file__).parent
    result = subprocess.run(
        [sys.executable, "-X", "dev", "-c", f"import sys; sys.path.insert(0, {str(folder)!r})\n{body}"],
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_end_of_the_interpreter_and_a_fork():
    printed = run_script(
        "import os, threading, numpy as np\n"
        "from many_parameters import bump\n"
        "x = np.zeros(4)\n"
        "for _ in range(5): bump(x)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    for _ in range(5): bump(x)\n"
        "    os._exit(0 if x[0] == 10 else 3)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0\n"
        "class AtEnd:\n"
        "    def __del__(self): bump(x)\n"
        "keep = AtEnd()\n"
        "threading.Thread(target=lambda: [bump(x) for _ in range(1000)], daemon=True).start()\n"
        "print('ok')\n"
    )
    assert printed == "ok\n"


def test_forks_while_another_thread_makes_paths():
    printed = run_script(
        "import os, threading, time, numpy as np\n"
        "import many_parameters as module\n"
        "stop = threading.Event()\n"
        "def make():\n"
        "    while not stop.is_set():\n"
        "        kernel = module.make_bump()\n"
        "        kernels[0] = kernel\n"
        "        for _ in range(4): kernel(np.zeros(4))\n"
        "kernels = [module.bump]\n"
        "thread = threading.Thread(target=make); thread.start()\n"
        "for k in range(8):\n"
        "    time.sleep(0.03 * k)\n"  # so that some come while modules are imported, others while kernels are compiled
        "    kernel = kernels[0]\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        for _ in range(4): kernel(np.zeros(4))\n"
        "        os._exit(0)\n"
        "    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0\n"
        "stop.set(); thread.join()\n"
        "print('ok')\n"
    )
    assert printed == "ok\n"


# ------------------------------------------------------------------------------------------------------ the kernel object


def test_a_kernel_is_what_it_was():
    warm(saxpy, 2.0, floats(), floats())
    assert isinstance(saxpy, lend.Kernel) and callable(saxpy)
    assert (saxpy.__name__, saxpy.__doc__, saxpy.__module__) == ("saxpy", "y += a x.", __name__)
    assert list(inspect.signature(saxpy).parameters) == ["a", "x", "y"]
    assert copy.copy(saxpy) is saxpy and copy.deepcopy(saxpy) is saxpy
    assert "saxpy" in repr(saxpy)
    saxpy.note = "mine"
    assert saxpy.note == "mine"
    assert saxpy.on("cpu") is saxpy
    y = floats()
    saxpy.__call__(2.0, floats(), y)
    lend.Kernel.__call__(saxpy, 2.0, floats(), y)
    saxpy.py(2.0, floats(), y)
    np.testing.assert_array_equal(y, 7 * floats())
    assert list(map(saxpy, [1.0], [floats()], [y])) == [None]


def test_a_subclass_with_a_call_of_its_own():
    class Loud(lend.Kernel):
        def __call__(self, *arguments: Any, **named: Any) -> Any:
            self.heard = arguments
            return super().__call__(*arguments, **named)

    kernel = Loud(saxpy.__wrapped__)
    for scale in (1.0, 2.0, 3.0, 4.0):
        y = floats()
        kernel(scale, floats(), y)
        assert kernel.heard[0] == scale
        np.testing.assert_array_equal(y, floats() + np.float32(scale) * floats())


def test_a_traceback_leads_through_no_compiler():
    @lend.kernel
    def at(x: Ref[f64, N], i: i64) -> f64:
        return x[i]

    warm(at, np.ones(3), 0)
    with pytest.raises(lend.BoundsError) as caught:
        at(np.ones(3), 5)
    assert len(caught.traceback) <= 2


# ------------------------------------------------------------------------------------------------------ any arguments

ARRAYS: dict[str, Callable[[], Any]] = {
    "8": floats,
    "8 other": lambda: floats(start=4),
    "7": lambda: floats(7),
    "0": lambda: floats(0),
    "strided": lambda: floats(16)[::2],
    "reversed": lambda: floats()[::-1],
    "f64": lambda: np.arange(8.0),
    "swapped": lambda: floats().astype(">f4"),
    "unaligned": _unaligned,
    "read-only": _read_only,
    "broadcast": lambda: np.broadcast_to(np.float32(2), (8,)),
    "matrix": lambda: floats().reshape(2, 4),
    "subclass": lambda: floats().view(Subclass),
    "list": lambda: [1.0] * 8,
}
SHARED = {"low": slice(0, 8), "high": slice(8, 16), "middle": slice(4, 12), "even": slice(0, 16, 2), "odd": slice(1, 16, 2)}


def make_argument(choice: tuple[str, Any], shared: np.ndarray) -> Any:
    kind, value = choice
    if kind == "number":
        return value
    return shared[SHARED[value]] if kind == "shared" else ARRAYS[value]()


arrays = st.one_of(
    st.tuples(st.just("array"), st.sampled_from(["8", "8 other"])),
    st.tuples(st.just("array"), st.sampled_from(sorted(ARRAYS))),
    st.tuples(st.just("shared"), st.sampled_from(sorted(SHARED))),
)
numbers = st.tuples(
    st.just("number"), st.one_of(st.floats(), st.integers(), st.booleans(), st.complex_numbers(), st.sampled_from(NUMBERS))
)


@st.composite
def calls(draw: Any) -> tuple[list[Any], dict[str, Any]]:
    chosen = {"a": draw(numbers), "x": draw(arrays), "y": draw(arrays)}
    positional = draw(st.integers(0, 3))
    names = list(chosen)
    rest = draw(st.permutations(names[positional:]))
    extra = draw(st.sampled_from([0] * 8 + [1, 2]))
    args = [chosen[name] for name in names[:positional]]
    kwargs = {name: chosen[name] for name in rest}
    if extra == 1 and kwargs:
        kwargs.popitem()
    if extra == 2:
        args.append(("number", 1.0))
    return args, kwargs


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(calls())
def test_any_call_is_as_in_python(call):
    def make() -> tuple[tuple[Any, ...], dict[str, Any]]:
        shared = floats(16)
        args, kwargs = call
        return tuple(make_argument(c, shared) for c in args), {name: make_argument(c, shared) for name, c in kwargs.items()}

    both(saxpy, make)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(-(2**64), 2**64), st.one_of(st.floats(), st.integers(-(2**70), 2**70)), st.integers(0, 12), st.integers(0, 6))
def test_any_contract_is_as_in_python(k, t, n, m):
    both(guarded, lambda: ((np.zeros((n, m)), k, t, n % 2 == 0), {}))


@lend.kernel
def mixed(a: Ref[f64, M, K], b: Mut[f64, K, M], c: Mut[f64, M]) -> f64:
    total = 0.0
    for i in lend.grid(M):
        c[i] = a[i, 0] + b[0, i]
    for i in lend.grid(M):
        total += c[i]
    return total


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_views_of_one_buffer_are_as_in_python(data):
    size = 64

    def view(dimensions: int) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
        shape = tuple(data.draw(st.integers(0, 3)) for _ in range(dimensions))
        strides = tuple(8 * data.draw(st.integers(-9, 9)) for _ in range(dimensions))
        low = sum(min((s - 1) * t, 0) for s, t in zip(shape, strides, strict=True) if s)
        high = sum(max((s - 1) * t, 0) for s, t in zip(shape, strides, strict=True) if s) + 8
        start = data.draw(st.integers(0, max(0, (8 * size - (high - low)) // 8)))
        return -low + 8 * start, shape, strides

    chosen = [view(2), view(2), view(1)]

    def make() -> tuple[tuple[Any, ...], dict[str, Any]]:
        buffer = np.arange(float(size))
        return tuple(np.ndarray(shape, np.float64, buffer, at, strides) for at, shape, strides in chosen), {}

    both(mixed, make)
    both(mixed, make)
