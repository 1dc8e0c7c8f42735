# ruff: noqa: E501 (whole messages are compared)
"""Launching, with Python functions in the place of compiled ones: words in, results and faults out."""

from __future__ import annotations

import ctypes
import gc
import pickle
import struct as packing
import threading
import time
import weakref

import ml_dtypes
import numpy as np
import pytest

from lend.diagnostics.errors import (
    ArithmeticFault,
    BoundsError,
    ContractError,
    DeviceMemoryError,
    InternalError,
    LendError,
    ShapeError,
)
from lend.diagnostics.sites import Site
from lend.diagnostics.spans import Source, Span
from lend.language.abi import (
    FAULT_DIMENSION,
    FAULT_INDEX,
    FAULT_INDICES,
    FAULT_SITE,
    FAULT_SIZE,
    FAULT_THREAD,
    FAULT_WORDS,
    HOST_LEVEL,
    NO_FAULT,
    argument_words,
    result_words,
)
from lend.language.dims import M, N
from lend.language.signature import (
    ArrayKind,
    Contract,
    ParameterSpec,
    ResultLeaf,
    ResultStruct,
    ResultTuple,
    ScalarKind,
    Signature,
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
    I16,
    I64,
    INDEX,
    SCALARS,
    U64,
    ArrayType,
    Borrow,
    Layout,
    array_type,
)
from lend.runtime import results
from lend.runtime.arguments import Binder
from lend.runtime.elements import dtype_of
from lend.runtime.launch import Executable, HostFunction, launch
from lend.runtime.scalars import FORMATS

REF, MUT, OWNED = Borrow.REF, Borrow.MUT, Borrow.OWNED
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]


FREED = []
"""The addresses that were released."""


def release(address):
    FREED.append(address)
    libc.free(address)


def executable(function, binding=None, result=None, sites=(), contracts=(), name="k"):
    """An executable around a Python function of three addresses."""
    compiled = HostFunction(function)
    types = () if binding is None else binding.types
    return Executable(
        kernel=name,
        address=ctypes.cast(compiled, ctypes.c_void_p).value,
        dimensions=0 if binding is None else len(binding.dims),
        leaves=types,
        result=result,
        sites=tuple(sites),
        contracts=tuple(contracts),
        keep_alive=compiled,
        release=release,
    )


def read(address, format):
    return packing.unpack(format, ctypes.string_at(address, packing.calcsize(format)))


def write(address, format, *values):
    data = packing.pack(format, *values)
    ctypes.memmove(address, data, len(data))


def binder(*kinds):
    names = "abcdefghij"
    parameters = tuple(ParameterSpec(names[k], kind) for k, kind in enumerate(kinds))
    return Binder(Signature("k", parameters, (N, M)[: max((len(getattr(kind, "sizes", ())) for kind in kinds), default=0)]))


EMPTY = binder().bind((), {})

# ---------------------------------------------------------------------------------------------------------- arguments


def test_words_are_laid_out_as_the_abi_says():
    x = np.zeros((2, 3), np.float32)[:, ::-1]
    kinds = [ScalarKind(t) for t in (BOOL_, I8, I16, F16, BF16, F32, COMPLEX64, COMPLEX128, U64)]
    binding = binder(*kinds, ArrayKind(REF, F32, (N, M))).bind((True, -2, -3, 0.5, 1.5, 2.5, 1 + 2j, 3 + 4j, 2**64 - 1, x), {})
    seen = []

    def host(arguments, results, fault):
        words = 2 + sum(argument_words(t) for t in binding.types)
        seen.extend(read(arguments + 8 * k, "<8s")[0] for k in range(words))
        seen.append(read(fault, f"<{FAULT_WORDS}q"))
        return 0

    assert launch(executable(host, binding), binding) is None
    *words, record = seen
    assert record[FAULT_THREAD] == NO_FAULT and record[0] == 0
    assert [int.from_bytes(word, "little") for word in words[:2]] == [2, 3]
    assert words[2][:1] == b"\1" and words[3][:1] == b"\xfe" and words[4][:2] == b"\xfd\xff"
    assert words[5][:2] == np.float16(0.5).tobytes() and words[6][:2] == ml_dtypes.bfloat16(1.5).tobytes()
    assert words[7][:4] == np.float32(2.5).tobytes() and words[8] == np.complex64(1 + 2j).tobytes()
    assert words[9] + words[10] == np.complex128(3 + 4j).tobytes() and words[11] == b"\xff" * 8
    assert [int.from_bytes(word, "little", signed=True) for word in words[12:]] == [x.ctypes.data, 2, 3, 12, -4]


@pytest.mark.parametrize("type", [*SCALARS, INDEX])
def test_every_scalar_takes_the_words_of_the_abi(type):
    assert packing.calcsize("<" + FORMATS[type.name]) == 8 * argument_words(type) == 8 * result_words(type)


def test_arrays_are_used_in_place():
    y = np.zeros(4, np.float32)
    binding = binder(ScalarKind(F32), ArrayKind(MUT, F32, (N,))).bind((2.0, y), {})

    def host(arguments, results, fault):
        size, a, address, _, stride = read(arguments, "<qf4xQqq")
        for i in range(size):
            write(address + i * stride, "<f", a * i)
        return 0

    launch(executable(host, binding), binding)
    assert y.tolist() == [0, 2, 4, 6]


def test_words_that_do_not_fit_are_our_bug():
    binding = binder(ScalarKind(F32)).bind((2.0,), {})
    other = Executable("k", 0, 0, (F32, F32), None, ())
    with pytest.raises(InternalError, match="this is a bug in lend: the arguments of k do not fit its specialisation"):
        launch(other, binding)


def test_other_python_threads_run_during_a_call():
    libc_sleep = ctypes.cast(libc.usleep, ctypes.c_void_p).value  # takes the address of the arguments as microseconds
    ran = []
    thread = threading.Thread(target=lambda: ran.append(time.perf_counter()))
    call = HostFunction(libc_sleep)
    thread.start()
    call(50_000, 0, 0)
    ended = time.perf_counter()
    thread.join()
    assert ran and ran[0] < ended


# ------------------------------------------------------------------------------------------------------------ results


@pytest.mark.parametrize(
    ("type", "words", "expected"),
    [
        (BOOL_, ("?7x", True), True),
        (I8, ("b7x", -3), -3),
        (I64, ("q", -(2**60)), -(2**60)),
        (INDEX, ("q", 7), 7),
        (U64, ("Q", 2**64 - 1), 2**64 - 1),
        (F16, ("e6x", 0.5), 0.5),
        (BF16, ("H6x", 0x3FC0), 1.5),
        (F32, ("f4x", 0.1), float(np.float32(0.1))),
        (F64, ("d", 0.1), 0.1),
        (COMPLEX64, ("ff", 1.0, 2.0), 1 + 2j),
        (COMPLEX128, ("dd", 1.0, -2.0), 1 - 2j),
    ],
)
def test_scalar_results_are_python_numbers(type, words, expected):
    def host(arguments, results, fault):
        write(results, "<" + words[0], *words[1:])
        return 0

    value = launch(executable(host, result=ResultLeaf(type)), EMPTY)
    assert value == expected and value.__class__ is expected.__class__


@struct
class Point:
    x: F32
    n: I64


def test_tuples_and_records():
    point = Point.__lend_struct__
    shape = ResultTuple(
        (ResultLeaf(I64), ResultStruct(point, (ResultLeaf(F32), ResultLeaf(I64))), ResultTuple((ResultLeaf(COMPLEX128),)))
    )

    def host(arguments, results, fault):
        write(results, "<qf4xqdd", 1, 2.5, 3, 4.0, 5.0)
        return 0

    assert launch(executable(host, result=shape), EMPTY) == (1, Point(2.5, 3), (4 + 5j,))


def allocate(values):
    """Memory from C's malloc that holds `values`."""
    address = libc.malloc(values.nbytes)
    ctypes.memmove(address, values.tobytes(), values.nbytes)
    return address


@pytest.fixture
def freed():
    FREED.clear()
    return FREED


@pytest.mark.parametrize("element", [F32, I64, COMPLEX64, BF16, BOOL_, Point.__lend_struct__])
def test_a_returned_array_owns_its_memory(element, freed):
    values = np.zeros((2, 3), dtype_of(element))
    values.view(np.uint8)[:] = np.arange(values.nbytes).reshape(values.view(np.uint8).shape) % (2 if element is BOOL_ else 100)
    address = allocate(values)
    size = values.itemsize

    def host(arguments, results, fault):
        write(results, "<QQqqqq", address, address, 2, 3, 3 * size, size)
        return 0

    array = launch(executable(host, result=ResultLeaf(array_type(element, 2, OWNED, Layout.C))), EMPTY)
    assert type(array) is np.ndarray and array.dtype == values.dtype and array.shape == (2, 3)
    assert array.tobytes() == values.tobytes() and array.flags.writeable and array.ctypes.data == address
    part = array[1:]
    del array
    gc.collect()
    assert freed == []
    del part
    gc.collect()
    assert freed == [address]


def test_two_results_share_one_allocation(freed):
    address = allocate(np.arange(4.0))

    def host(arguments, results, fault):
        write(results, "<QQqqQQqq", address, address, 4, 8, address + 24, address, 4, -8)
        return 0

    leaf = ResultLeaf(array_type(F64, 1, OWNED, Layout.STRIDED))
    whole, reverse = launch(executable(host, result=ResultTuple((leaf, leaf))), EMPTY)
    assert whole.tolist() == [0, 1, 2, 3] and reverse.tolist() == [3, 2, 1, 0] and np.shares_memory(whole, reverse)
    del whole
    gc.collect()
    assert freed == []
    del reverse
    gc.collect()
    assert freed == [address]


def test_an_empty_result_frees_what_was_allocated(freed):
    address = allocate(np.zeros(1))

    def host(arguments, results, fault):
        write(results, "<QQqqqq", address, address, 0, 3, 24, 8)
        return 0

    array = launch(executable(host, result=ResultLeaf(array_type(F64, 2, OWNED, Layout.C))), EMPTY)
    assert array.shape == (0, 3) and array.dtype == np.float64
    gc.collect()
    assert freed == [address]


@pytest.mark.parametrize(("borrow", "locked", "writeable"), [(REF, False, False), (MUT, False, True), (REF, True, False)])
def test_a_returned_view_keeps_its_argument(borrow, locked, writeable, freed):
    x = np.arange(6.0)
    x.flags.writeable = not locked
    binding = binder(ArrayKind(borrow, F64, (N,))).bind((x,), {})

    def host(arguments, results, fault):
        _, address, size, stride = read(arguments, "<qQqq")
        write(results, "<QQqq", address + 40, 0, size // 2, -16)
        return 0

    view = launch(executable(host, binding, ResultLeaf(array_type(F64, 1, borrow, Layout.STRIDED))), binding)
    assert view.tolist() == [5, 3, 1] and np.shares_memory(view, x) and view.flags.writeable is writeable
    gone = weakref.ref(x)
    del binding, x
    gc.collect()
    assert gone() is not None and view.tolist() == [5, 3, 1]
    del view
    gc.collect()
    assert gone() is None and freed == []


def test_an_array_from_nowhere_is_our_bug():
    def host(arguments, results, fault):
        write(results, "<QQqq", 4096, 0, 3, 8)
        return 0

    with pytest.raises(InternalError, match="neither its own nor an argument's"):
        launch(executable(host, result=ResultLeaf(array_type(F64, 1, OWNED, Layout.C))), EMPTY)


# ------------------------------------------------------------------------------------------------------------- faults

SOURCE = Source("saxpy.py", "def saxpy(a, x, y):\n    for i in lend.grid(N):\n        y[i] += a * x[i + 2]\n    helper(x)\n")


def span(line):
    return Span(SOURCE, line, 8, line, 20)


def faulty(site, *, thread=0, dimension=0, index=0, size=0, indices=(), name="saxpy"):
    def host(arguments, results, fault):
        words = [0] * FAULT_WORDS
        words[FAULT_THREAD], words[FAULT_SITE] = thread, 1
        words[FAULT_DIMENSION], words[FAULT_INDEX], words[FAULT_SIZE] = dimension, index, size
        words[FAULT_INDICES : FAULT_INDICES + len(indices)] = indices
        write(fault, f"<{FAULT_WORDS}q", *words)
        return 1

    other = Site("memory", span(1))
    with pytest.raises(LendError) as caught:
        launch(executable(host, sites=(other, site), result=ResultLeaf(I64), name=name), EMPTY)
    return caught.value


def test_a_subscript_out_of_bounds():
    error = faulty(Site("bounds", span(3), "x", "read", threads=("i",)), thread=10, index=12, size=10, indices=(10,))
    assert isinstance(error, BoundsError) and isinstance(error, IndexError)
    assert str(error) == (
        "saxpy: index 12 is out of bounds for dimension 0 of x, which has size 10, in iteration i=10\n"
        "  --> saxpy.py:3\n"
        "   |  y[i] += a * x[i + 2]"
    )
    assert (error.kernel, error.file, error.line, error.thread) == ("saxpy", "saxpy.py", 3, (10,))
    assert (error.array, error.dimension, error.index, error.size) == ("x", 0, 12, 10)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and vars(again) == vars(error) and type(again) is BoundsError


def test_a_negative_subscript_at_host_level_in_a_function():
    error = faulty(
        Site("bounds", span(3), "x", "write", calls=(span(4), span(1))), thread=HOST_LEVEL, dimension=1, index=-1, size=4
    )
    assert str(error) == (
        "saxpy: index -1 is out of bounds for dimension 1 of x, which has size 4\n"
        "  --> saxpy.py:3\n"
        "   |  y[i] += a * x[i + 2]\n"
        " called from saxpy.py:1\n"
        "   |  def saxpy(a, x, y):\n"
        " called from saxpy.py:4\n"
        "   |  helper(x)\n"
        "  = note: a negative subscript does not count from the end in a kernel: write N - 1 for the last element of size N"
    )
    assert error.thread is None


@pytest.mark.parametrize(
    ("site", "values", "kind", "message"),
    [
        (Site("slice", span(3), "x"), {"index": 9, "size": 8, "dimension": 1}, BoundsError, "slice bound 9 is out of bounds for dimension 1 of x, which has size 8"),
        (Site("bounds", span(3)), {"index": 9, "size": 8}, BoundsError, "index 9 is out of bounds for dimension 0 of a temporary array, which has size 8"),
        (Site("division", span(3)), {}, ArithmeticFault, "integer division or modulo by zero"),
        (Site("shift", span(3)), {"index": -2}, ArithmeticFault, "shift by a negative count (-2)"),
        (Site("exponent", span(3)), {"index": -3}, ArithmeticFault, "an integer to a negative power (-3)"),
        (Site("step", span(3)), {}, ArithmeticFault, "a range with step zero"),
        (Site("contract", span(3), text="N >= 3"), {}, ContractError, "the contract N >= 3 of a kernel called here is false"),
        (Site("shape", span(3), text="N of helper"), {"index": 3, "size": 4}, ShapeError, "N of helper: 3 is not 4"),
        (Site("view", span(3), "x"), {}, ShapeError, "x cannot be reshaped in place, because its elements do not lie in order in memory"),
        (Site("extent", span(3)), {"index": -4}, ShapeError, "a temporary array of negative size (-4)"),
        (Site("memory", span(3)), {"size": 10**15}, DeviceMemoryError, "no memory for a temporary array of 1000000000000000 bytes"),
    ],
)  # fmt: skip
def test_every_kind_of_fault(site, values, kind, message):
    error = faulty(site, thread=HOST_LEVEL, **values)
    assert type(error) is kind
    assert str(error).split("\n")[0] == f"saxpy: {message}"
    assert error.line == 3 and pickle.loads(pickle.dumps(error)).line == 3


def test_several_indices_of_an_iteration():
    error = faulty(Site("division", span(3), threads=("i", "j")), thread=7, indices=(2, -3))
    assert "by zero, in iteration i=2, j=-3\n" in str(error) and error.thread == (2, -3)


def test_a_fault_without_a_record_is_our_bug():
    with pytest.raises(InternalError, match="left no record"):
        launch(executable(lambda arguments, results, fault: 1), EMPTY)


# ---------------------------------------------------------------------------------------------------------- contracts


def test_contracts_are_judged_before_anything_runs():
    ran = []

    def host(arguments, results, fault):
        ran.append(1)
        return 0

    contracts = (
        Contract("N >= 3 and a > 0", None, "k.py", 4, ("N", "a"), lambda v: v["N"] >= 3 and v["a"] > 0),
        Contract("N % a == 0", "N must be whole blocks", "k.py", 5, ("N", "a"), lambda v: v["N"] % v["a"] == 0),
    )
    bound = binder(ScalarKind(I64), ArrayKind(REF, F32, (N,)))

    def call(a, size):
        binding = bound.bind((a, np.zeros(size, np.float32)), {})
        launch(executable(host, binding, contracts=contracts), binding)

    call(2, 4)
    assert ran == [1]
    with pytest.raises(ContractError) as caught:
        call(2, 2)
    assert str(caught.value) == "k: the contract N >= 3 and a > 0 is false where N is 2 and a is 2\n  --> k.py:4"
    with pytest.raises(ContractError) as caught:
        call(3, 4)
    assert str(caught.value) == (
        "k: the contract N % a == 0 is false where N is 4 and a is 3: N must be whole blocks\n  --> k.py:5"
    )
    assert ran == [1]


def test_a_contract_that_divides_by_zero():
    contract = Contract("8 % a == 0", None, "k.py", 5, ("a",), lambda v: 8 % v["a"] == 0)
    binding = binder(ScalarKind(I64)).bind((0,), {})
    with pytest.raises(ContractError) as caught:
        launch(executable(lambda *_: 0, binding, contracts=(contract,)), binding)
    assert str(caught.value).startswith(
        "k: the contract 8 % a == 0 cannot be evaluated (integer modulo by zero) where a is 0\n"
    ) or (
        str(caught.value).startswith(
            "k: the contract 8 % a == 0 cannot be evaluated (integer division or modulo by zero) where a is 0\n"
        )
    )


def test_words_of_array_types_agree_with_the_abi():
    for type in (array_type(F32, 3, REF, Layout.C), F64):
        expected = 1 + 2 * 3 if isinstance(type, ArrayType) else 1
        assert argument_words(type) == expected
        assert packing.calcsize("<" + results.format_of(type)) == 8 * result_words(type)
