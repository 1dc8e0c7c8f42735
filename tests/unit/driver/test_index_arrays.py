"""Index arrays are tested exactly: by NumPy where they are small, by compiled loops where they are large, on any strides."""

import numpy as np
import pytest

import lend
from lend.diagnostics.spans import Source, Span
from lend.driver import index_arrays
from lend.driver.index_arrays import at_most, distinct, falls, in_few_dimensions
from lend.language.dims import M, N
from lend.language.dtypes import scalar_of
from lend.language.signature import ArrayKind, IndexFacts, ParameterSpec, ScalarKind, Signature
from lend.language.types import F64, Borrow
from lend.runtime.arguments import Binder
from lend.targets.cpu.threads import pool

DTYPES = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
SPAN = Span(Source("kernel.py", ""), 1, 0, 1, 0)


@pytest.fixture(params=["numpy", "loops"])
def way(request, monkeypatch):
    """Arrays of any size are looked at by NumPy, or by compiled loops."""
    if request.param == "loops":
        monkeypatch.setattr(index_arrays, "SMALL", 0)
    return request.param


def views(array):
    """The same elements under other strides; most of several dimensions."""
    yield array
    yield array[::-1]
    yield np.repeat(array, 3)[1::3]
    packed = np.zeros(array.size, np.dtype([("pad", "u1"), ("value", array.dtype)]))
    packed["value"] = array
    yield packed["value"]
    for shape in ((2, -1), (-1, 3), (2, 2, -1)):
        if array.size and array.size % np.prod([size for size in shape if size > 0]) == 0:
            table = array.reshape(shape)
            yield table
            yield np.asfortranarray(table)
            yield np.pad(table, 2)[tuple(slice(2, -2) for _ in shape)]
            yield table.transpose()[::-1]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_the_greatest_element_counts(way, dtype):
    rng = np.random.default_rng(1)
    for size in (1, 2, 12, 300):
        for array in views(rng.integers(1, np.iinfo(dtype).max, size, dtype, endpoint=True)):
            assert at_most(array, int(array.max())) and not at_most(array, int(array.max()) - 1)


def test_the_greatest_element_in_many_dimensions_counts(way):
    array = np.random.default_rng(2).integers(1, 1000, (3, 4, 5, 2, 3, 2)).astype(np.uint32)
    views = (array, array[::2], array[:, ::2, ::-1], array[:, :, :, :1, ::2, 1:], array.transpose(5, 0, 3, 1, 4, 2)[:, 1:])
    for view in (*views, np.broadcast_to(array[:, :1, :1, :1], array.shape)):
        assert at_most(view, int(view.max())) and not at_most(view, int(view.max()) - 1)


def test_dimensions_that_continue_each_other_are_merged():
    array = np.zeros((4, 5, 6), np.uint8)
    assert in_few_dimensions(array).shape == (120,)
    assert in_few_dimensions(array.transpose(2, 0, 1)).shape == (120,)
    assert in_few_dimensions(array[:, 1:]).shape == (4, 24)
    assert in_few_dimensions(array[:, :, ::2]).shape == (60,)
    assert in_few_dimensions(array[::-1, ::-1, ::-1]).shape == (120,)
    assert in_few_dimensions(array[::-1]).shape == (4, 30)
    assert in_few_dimensions(array[1:2, 2:3, 3:4]).shape == (1,)
    assert in_few_dimensions(np.broadcast_to(array[:1, :1], (4, 5, 6))).shape == (6,)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint64])
def test_descent_anywhere_is_found(way, dtype):
    size = 260 if dtype is np.uint64 else 250
    rising = np.arange(size, dtype=dtype)
    for spread in (1, 2):  # without gaps and with
        assert not falls(np.repeat(rising, spread)[::spread], size) and distinct(np.repeat(rising, spread)[::spread], size)
        for k in range(1, size):  # also beside the ends of blocks
            level = np.repeat(rising, spread)[::spread]
            level[k] = level[k - 1]
            assert not falls(level, size) and not distinct(level, size)
            if k > 1:
                level[k] -= 1
                assert falls(level, size)
    for size in (1, 2):
        assert not falls(rising[:size], size)
        assert falls(rising[:size][::-1], size) == (size == 2)


@pytest.fixture(params=[1, 2, 5])
def threads(request):
    """So many threads run the loops."""
    before = pool().threads
    pool().configure(request.param)
    yield request.param
    pool().configure(before)


def test_a_descent_where_threads_meet_is_found(threads):
    size = 3 << 17
    rising = np.arange(size, dtype=np.uint32)
    for k in (4096, 32768, 32769, 65536, size // 2, size - 1):
        level = rising.copy()
        level[k] = level[k - 1]
        assert not falls(level, size) and not distinct(level, size)
        level[k] -= 1
        assert falls(level, size)
    assert distinct(rising[::-1], size - 1) and not distinct(rising[::-1], size - 2)


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32, np.uint64])
def test_equal_elements_far_from_each_other_are_found(dtype, threads):
    rng = np.random.default_rng(5)
    for size in (5_000, 32_768, 60_000) if dtype is np.uint16 else (5_000, 200_000):
        for limit in (size - 1, size + 63, min(40 * size, np.iinfo(dtype).max)):
            array = rng.choice(limit + 1, size, replace=False).astype(dtype)
            assert distinct(array, limit)
            for first, second in ((0, size - 1), (size // 64 - 1, size // 64), (size // 3, size // 2)):
                wrong = array.copy()
                wrong[second] = wrong[first]
                assert not distinct(wrong, limit)
            wrong = array.copy()
            wrong[size // 2] = min(limit + 1, np.iinfo(dtype).max)
            assert limit + 1 > np.iinfo(dtype).max or not distinct(wrong, limit)


def test_distinct_elements_that_are_far_apart(way):
    array = np.random.default_rng(6).choice(1 << 40, 5_000, replace=False).astype(np.uint64)
    assert distinct(array, (1 << 40) - 1) and not distinct(array, int(array.max()) - 1)
    array[17] = array[4_000]
    assert not distinct(array, (1 << 40) - 1)


# ------------------------------------------------------------------------------------------------- against a plain check


def verdict(kind, values, bound):
    """What an index type says of a list of Python's ints."""
    if kind == "offsets":
        return all(0 <= v <= bound for v in values) and all(a <= b for a, b in zip(values[:-1], values[1:], strict=True))
    return all(0 <= v < bound for v in values) and (kind == "index" or len(set(values)) == len(values))


def judge(kind, array, bound):
    """What the test of an index array says: None or the error."""
    element = scalar_of(array.dtype)
    assert element is not None
    facts = IndexFacts(kind, N if kind == "index" else N + 0)
    sizes = (N, M, lend.dims.K)[: array.ndim + 1][1:]
    parameters = (
        ParameterSpec("idx", ArrayKind(Borrow.REF, element, sizes, facts)),
        ParameterSpec("y", ArrayKind(Borrow.REF, F64, (N,))),
        ParameterSpec("s", ScalarKind(F64)),
    )
    signature = Signature("kernel", parameters, (*sizes, N))
    binding = Binder(signature).bind((array, np.broadcast_to(1.0, bound), 1.0), {})
    test = index_arrays.index_arrays(signature, SPAN)
    assert test is not None
    try:
        test(binding)
    except (lend.BoundsError, lend.BorrowError) as error:
        return error
    return None


def arrays(rng, kind, dtype):
    """Arrays that are nearly always all right, and one wrong element in most."""
    limit = int(min(np.iinfo(dtype).max, 400))
    for size in (1, 2, 6, 24, 200):
        bound = int(rng.integers(1, limit + 2))
        match kind:
            case "index":
                values = rng.integers(0, bound, size)
            case "unique":
                bound = max(bound, size)
                values = rng.permutation(bound)[:size]
                if rng.random() < 0.3:
                    values = np.sort(values)
            case _:
                values = np.sort(rng.integers(0, bound + 1, size))
        array = (values % (limit + 1)).astype(dtype)
        if rng.random() < 0.6:
            info = np.iinfo(dtype)
            wrong = [bound, bound + 1, -1, 0, int(array[0]), info.max, info.min]
            fitting = [w for w in wrong if info.min <= w <= info.max]
            array[rng.integers(size)] = fitting[rng.integers(len(fitting))]
        yield array, bound


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["index", "unique", "offsets"])
def test_verdict_is_that_of_a_plain_check(way, kind, dtype):
    rng = np.random.default_rng(list(kind.encode()))
    seen = set()
    for _ in range(12 if way == "loops" else 40):
        for array, bound in arrays(rng, kind, dtype):
            for view in views(array):
                if view.ndim > (1 if kind == "offsets" else 2):
                    continue
                values = [int(v) for v in view.reshape(-1)]
                error, wanted = judge(kind, view, bound), verdict(kind, values, bound)
                assert (error is None) == wanted, (values, bound, error)
                seen.add(wanted)
    assert seen == {True, False}


def test_array_that_another_thread_mends_is_still_refused(monkeypatch):
    array = np.array([0, 9])

    def mended(unsigned, limit):
        array[1] = 1
        return False

    monkeypatch.setattr(index_arrays, "at_most", mended)
    error = judge("index", array, 3)
    assert isinstance(error, lend.BorrowError) and str(error) == "kernel: idx changed while it was lent: another thread writes it"
