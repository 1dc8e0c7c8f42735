"""Subscripts out of bounds: `BoundsError` with the right place and numbers, and nothing touched, on guarded memory."""

import numpy as np
import pytest
from harness import IN_PLACE, line_of, threads

import lend
from guard import guarded
from lend import Mut, Ref, f32, f64, i32, i64
from lend.dims import K, M, N


@lend.struct
class Pair:
    x: f32
    y: f32


@lend.kernel
def read(x: Ref[f64, N], shift: i64, y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] = x[i + shift]  # read


@lend.kernel
def write(shift: i64, y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i + shift] = 1.0  # write


@lend.kernel
def augmented(shift: i64, y: Mut[i32, N]):
    for i in lend.grid(N):
        y[i - shift] += 1  # augmented


@lend.kernel
def from_data(where: Ref[i32, M], x: Ref[f32, N], y: Mut[f32, M]):
    for i in lend.grid(M):
        y[i] = x[where[i]]  # from data


@lend.kernel
def two_dimensions(x: Ref[f64, N, M], di: i64, dj: i64, y: Mut[f64, N, M]):
    for i, j in lend.grid(N, M):
        y[i, j] = x[i + di, j + dj]  # two dimensions


@lend.kernel
def three_dimensions(x: Mut[f32, N, M, K], a: i64, b: i64, c: i64):
    for i, j, k in lend.grid(N, M, K):
        x[i + a, j + b, k + c] = 1  # three dimensions


@lend.function
def pick(row, j):
    return row[j]  # in a function


@lend.kernel
def in_a_function(x: Ref[f64, N, M], j: i64, y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] = pick(x[i, :], j + i)


@lend.kernel
def in_a_sub_view(x: Ref[f64, N, M], j: i64, y: Mut[f64, N]):
    for i in lend.grid(N):
        inner = x[i, 1 : M - 1]
        y[i] = inner[j]  # in a sub-view


@lend.kernel
def of_a_sub_view(x: Ref[f64, N, M], shift: i64, y: Mut[f64, N]):
    for i in lend.grid(N):
        row = x[i + shift, :]  # of a sub-view
        y[i] = row[0] + len(row)


@lend.kernel
def slice_too_long(x: Mut[f64, N], upper: i64):
    part = x[1:upper]  # slice
    for i in lend.grid(len(part)):
        part[i] = 1


@lend.kernel
def of_records(p: Mut[Pair, N], shift: i64):
    for i in lend.grid(N):
        p[i + shift].y = 2  # record


@lend.kernel
def at_host_level(x: Mut[f64, N], k: i64) -> f64:
    for i in lend.grid(N):
        x[i] = 1
    value = x[k]  # host level
    for i in lend.grid(N):
        x[i] = 2
    return value


@lend.kernel
def of_a_local_array(k: i64, y: Mut[f64, N]):
    for i in lend.grid(N):
        buffer = lend.local(f64, 4)
        buffer[0] = 2
        buffer[k + i % 4] = 1  # local
        y[i] = buffer[0]


@lend.kernel
def of_a_temporary(k: i64, n: i64) -> f64:
    tmp = lend.zeros(f64, n)
    for i in lend.grid(n):
        tmp[i + k] = 1  # temporary
    s = 0.0
    for i in lend.grid(n):
        s += tmp[i]
    return s


@lend.kernel
def in_a_loop(y: Mut[i64, N, M], upper: i64):
    for i in lend.grid(N):
        for k in range(upper):
            y[i, k] = k  # in a loop


@lend.kernel
def never_ends_without_the_read(x: Ref[f64, N], start: i64, y: Mut[f64, 1]):
    for _ in lend.grid(1):
        k = start
        while x[k] == 0:  # in a condition
            k += 1
            y[0] = f64(k)


@lend.kernel
def never_ends_at_host_level(x: Ref[f64, N]) -> f64:
    err = 1.0
    while err > 0.5:
        err = 1.0
        for i in lend.grid(N):
            err = max(err, x[i + 1])  # in a host loop
    return err


@lend.kernel
def guarded_by_a_condition(where: Ref[i64, N], x: Ref[f64, M], y: Mut[f64, N]):
    for i in lend.grid(N):
        k = where[i]
        if 0 <= k < M and x[k] > 0:
            y[i] = x[k]


def fault(call, number):
    with threads(number), pytest.raises(lend.BoundsError) as caught:
        call()
    return caught.value


def assert_fault(error, marker, **expected):
    assert error.line == line_of(__file__, marker)
    assert error.file == __file__
    for name, value in expected.items():
        assert getattr(error, name) == value, f"{name} is {getattr(error, name)}, not {value}: {error}"
    text = str(error)
    for word in (error.kernel, error.array, str(error.index), str(error.size), str(error.line)):
        assert word in text, f"{word!r} is not in {text!r}"
    assert isinstance(error, IndexError)
    assert isinstance(error, lend.LendError)


both = pytest.mark.parametrize("number", [1, 2, 4])
sizes = pytest.mark.parametrize("n", [1, 17, 30_000])


@both
@sizes
def test_read_past_the_end(number, n):
    x, y = guarded(np.ones(n)), guarded(np.zeros(n))
    error = fault(lambda: read(x, 1, y), number)
    assert_fault(error, "read", kernel="read", thread=(n - 1,), array="x", dimension=0, index=n, size=n)
    assert not IN_PLACE or (y[: n - 1] == 1).all()


@both
@sizes
def test_read_before_the_start(number, n):
    x, y = guarded(np.ones(n), "start"), guarded(np.zeros(n), "start")
    error = fault(lambda: read(x, -2, y), number)
    assert_fault(error, "read", thread=(0,), array="x", index=-2, size=n)


@both
@pytest.mark.parametrize("shift", [2**40, -(2**40), 2**63 - 1, -(2**63), 2**61, 2**62])
def test_far_away_subscripts(number, shift):
    x, y = guarded(np.ones(17)), guarded(np.zeros(17))
    error = fault(lambda: read(x, shift, y), number)
    assert_fault(error, "read", thread=(0,), array="x", index=shift, size=17)


@both
@sizes
def test_write_past_the_end(number, n):
    y = guarded(np.zeros(n))
    error = fault(lambda: write(n // 2 + 1, y), number)
    first = max(0, n - n // 2 - 1)
    assert_fault(error, "write", kernel="write", thread=(first,), array="y", index=n, size=n)
    assert (y[: n // 2 + 1] == 0).all()
    assert not IN_PLACE or (y[n // 2 + 1 :] == 1).all()


@both
def test_write_before_the_start(number):
    y = guarded(np.zeros(100), "start")
    error = fault(lambda: write(-3, y), number)
    assert_fault(error, "write", thread=(0,), array="y", index=-3, size=100)
    assert (y[:97] == int(IN_PLACE)).all() and (y[97:] == 0).all()


@both
def test_augmented_assignment(number):
    y = guarded(np.zeros(5000, np.int32), "start")
    error = fault(lambda: augmented(1, y), number)
    assert_fault(error, "augmented", thread=(0,), array="y", index=-1, size=5000)
    assert (y[:-1] == int(IN_PLACE)).all() and y[-1] == 0


@both
def test_the_smallest_thread_is_reported_whatever_the_thread_count(number):
    where = np.arange(20_000, dtype=np.int32)
    where[[19_999, 12_345, 777, 15_000]] = -7, 10**6, 20_000, -1
    x, y = guarded(np.ones(20_000, np.float32)), guarded(np.zeros(20_000, np.float32))
    for _ in range(20):
        error = fault(lambda: from_data(where, x, y), number)
        assert_fault(error, "from data", thread=(777,), array="x", index=20_000, size=20_000)
    assert (y[np.r_[0:777, 778:12_345]] == int(IN_PLACE)).all()


@both
@pytest.mark.parametrize(
    ("di", "dj", "dimension", "index", "thread"),
    [(1, 0, 0, 9, (8, 0)), (-1, 0, 0, -1, (0, 0)), (0, 1, 1, 7, (0, 6)), (0, -1, 1, -1, (0, 0)), (0, 7, 1, 7, (0, 0))],
)
def test_each_dimension_of_two(number, di, dj, dimension, index, thread):
    x, y = guarded(np.ones((9, 7)), "start" if index < 0 else "end"), np.zeros((9, 7))
    error = fault(lambda: two_dimensions(x, di, dj, y), number)
    assert_fault(error, "two dimensions", thread=thread, array="x", dimension=dimension, index=index, size=(9, 7)[dimension])


@both
@pytest.mark.parametrize("dimension", [0, 1, 2])
@pytest.mark.parametrize("shift", [1, -1])
def test_each_dimension_of_three(number, dimension, shift):
    shape = (20, 30, 40)
    x = guarded(np.zeros(shape, np.float32), "start" if shift < 0 else "end")
    shifts = [shift if d == dimension else 0 for d in range(3)]
    error = fault(lambda: three_dimensions(x, *shifts), number)
    index = shape[dimension] if shift > 0 else -1
    thread = tuple(shape[dimension] - 1 if d == dimension and shift > 0 else 0 for d in range(3))
    assert_fault(error, "three dimensions", thread=thread, array="x", dimension=dimension, index=index, size=shape[dimension])


@both
def test_in_a_device_function(number):
    x, y = guarded(np.ones((5, 5))), np.zeros(5)
    error = fault(lambda: in_a_function(x, 2, y), number)
    assert_fault(error, "in a function", kernel="in_a_function", thread=(3,), index=5, size=5, array="row")


@both
def test_in_a_sub_view(number):
    x, y = guarded(np.ones((5, 6))), np.zeros(5)
    error = fault(lambda: in_a_sub_view(x, 4, y), number)
    assert_fault(error, "in a sub-view", thread=(0,), array="inner", index=4, size=4)
    error = fault(lambda: in_a_sub_view(x, -1, y), number)  # x[0, 0] is there, but not in the view
    assert_fault(error, "in a sub-view", thread=(0,), array="inner", index=-1, size=4)


@both
def test_of_a_sub_view(number):
    x, y = guarded(np.ones((5, 6))), np.zeros(5)
    error = fault(lambda: of_a_sub_view(x, 2, y), number)
    assert_fault(error, "of a sub-view", thread=(3,), array="x", dimension=0, index=5, size=5)


@both
def test_a_slice_that_is_too_long(number):
    x = guarded(np.zeros(10))
    error = fault(lambda: slice_too_long(x, 11), number)
    assert_fault(error, "slice", thread=None, array="x", index=11, size=10)
    assert (x == 0).all()
    slice_too_long(x, 10)
    assert (x[1:] == 1).all()


@both
def test_of_records(number):
    p = guarded(np.zeros(50, Pair.dtype))
    error = fault(lambda: of_records(p, 1), number)
    assert_fault(error, "record", thread=(49,), array="p", index=50, size=50)
    assert (p["x"] == 0).all()


@both
def test_at_host_level(number):
    for k, side in ((100, "end"), (-1, "start")):
        x = guarded(np.zeros(100), side)
        error = fault(lambda: at_host_level(x, k), number)
        assert_fault(error, "host level", thread=None, array="x", index=k, size=100)
        assert (x == int(IN_PLACE)).all()  # what stands after the fault did not run


@both
def test_of_a_local_array(number):
    y = np.zeros(100)
    error = fault(lambda: of_a_local_array(1, y), number)
    assert_fault(error, "local", thread=(3,), array="buffer", index=4, size=4)


@both
def test_of_a_temporary(number):
    error = fault(lambda: of_a_temporary(1, 5000), number)
    assert_fault(error, "temporary", thread=(4999,), array="tmp", index=5000, size=5000)
    assert of_a_temporary(0, 5000) == 5000


@both
def test_in_a_sequential_loop_the_first_is_reported(number):
    y = guarded(np.zeros((50, 10), np.int64))
    error = fault(lambda: in_a_loop(y, 13), number)
    assert_fault(error, "in a loop", thread=(0,), array="y", dimension=1, index=10, size=10)
    assert not IN_PLACE or (y == np.arange(10)).all()


@both
def test_a_condition_that_fails_ends_the_loop(number):
    x, y = guarded(np.zeros(64)), np.zeros(1)
    error = fault(lambda: never_ends_without_the_read(x, 0, y), number)
    assert_fault(error, "in a condition", array="x", index=64, size=64)


@both
def test_a_host_level_loop_ends_after_a_fault(number):
    x = guarded(np.zeros(64))
    error = fault(lambda: never_ends_at_host_level(x), number)
    assert_fault(error, "in a host loop", thread=(63,), array="x", index=64, size=64)


@both
def test_a_guarded_subscript_is_not_a_fault(number):
    x, y = guarded(np.ones(10)), np.zeros(5)
    with threads(number):
        guarded_by_a_condition(np.array([-1, 0, 9, 10, 2**40]), x, y)
    assert y.tolist() == [0, 1, 1, 0, 0]


@both
def test_an_empty_array(number):
    with threads(number):
        read(np.zeros(0), 5, np.zeros(0))
    error = fault(lambda: at_host_level(np.zeros(0), 0), number)
    assert_fault(error, "host level", index=0, size=0)


@both
def test_later_calls_and_other_arrays_are_intact(number):
    bystander = np.arange(1000.0)
    x, y = np.ones(1000), np.zeros(1000)
    for _ in range(50):
        fault(lambda: read(x, 1, y), number)
        with threads(number):
            read(x, 0, y)
        assert (y == 1).all()
        y[:] = 0
    assert (bystander == np.arange(1000)).all()
    assert (x == 1).all()


@pytest.mark.parametrize("layout", ["C", "F", "strided", "reversed", "unaligned"])
def test_all_layouts_have_the_check(layout):
    from harness import place

    x, y = place(np.ones((9, 7)), layout), place(np.zeros((9, 7)), layout)
    error = fault(lambda: two_dimensions(x.view, 0, 1, y.view), 2)
    assert_fault(error, "two dimensions", thread=(0, 6), array="x", dimension=1, index=7, size=7)
    x.assert_intact()
    y.assert_intact()


@pytest.mark.parametrize(
    ("kernel", "arguments", "marker", "index"),
    [
        (read, lambda: (np.ones(5), 1, np.zeros(5)), "read", 5),
        (read, lambda: (np.ones(5), -1, np.zeros(5)), "read", -1),
        (write, lambda: (2, np.zeros(5)), "write", 5),
        (augmented, lambda: (1, np.zeros(5, np.int32)), "augmented", -1),
        (in_a_function, lambda: (np.ones((5, 5)), 2, np.zeros(5)), "in a function", 5),
        (in_a_sub_view, lambda: (np.ones((5, 6)), -1, np.zeros(5)), "in a sub-view", -1),
        (at_host_level, lambda: (np.ones(5), 7), "host level", 7),
        (slice_too_long, lambda: (np.ones(5), 6), "slice", 6),
    ],
)
def test_plain_python_raises_the_same(kernel, arguments, marker, index):
    with pytest.raises(lend.BoundsError) as caught:
        kernel.py(*arguments())
    assert_fault(caught.value, marker, kernel=kernel.__name__, index=index)
    compiled = fault(lambda: kernel(*arguments()), 1)
    assert str(caught.value) == str(compiled)
