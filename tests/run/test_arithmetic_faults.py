"""Integer division by zero, negative shifts and exponents, zero steps: `ArithmeticFault`, never a signal."""

import numpy as np
import pytest
from harness import IN_PLACE, line_of, threads

import lend
from lend import Mut, Ref, i8, i32, i64, u64
from lend.dims import N


@lend.kernel
def divide(a: Ref[i32, N], b: Ref[i32, N], q: Mut[i32, N]):
    for i in lend.grid(N):
        q[i] = a[i] // b[i]  # quotient


@lend.kernel
def modulo(a: Ref[u64, N], b: u64, r: Mut[u64, N]):
    for i in lend.grid(N):
        r[i] = a[i] % b  # remainder


@lend.kernel
def shift(a: Mut[i64, N], k: Ref[i64, N]):
    for i in lend.grid(N):
        a[i] = a[i] << k[i]  # shift


@lend.kernel
def power(a: Mut[i32, N], k: Ref[i32, N]):
    for i in lend.grid(N):
        a[i] = a[i] ** k[i]  # power


@lend.kernel
def step(a: Mut[i64, N], by: i64):
    for i in lend.grid(N):
        for k in range(0, 10, by):  # step
            a[i] += k


@lend.kernel
def grid_step(a: Mut[i64, N], by: i64):
    for i in lend.grid((0, N, by)):  # grid step
        a[i] += 1


@lend.kernel
def at_host_level(a: Mut[i64, N], d: i64) -> i64:
    q = 100 // d  # host level
    for i in lend.grid(N):
        a[i] = q
    return q


@lend.kernel
def least_integers(a: Ref[i8, N], b: Ref[i32, N], c: Ref[i64, N], q: Mut[i64, N, 3], r: Mut[i64, N, 3]):
    for i in lend.grid(N):
        q[i, 0] = a[i] // i8(-1)
        q[i, 1] = b[i] // -1
        q[i, 2] = c[i] // -1
        r[i, 0] = a[i] % i8(-1)
        r[i, 1] = b[i] % -1
        r[i, 2] = c[i] % -1


both = pytest.mark.parametrize("number", [1, 3])


def fault(call, marker, number, thread):
    with threads(number), pytest.raises(lend.ArithmeticFault) as caught:
        call()
    error = caught.value
    assert isinstance(error, ZeroDivisionError)
    assert error.line == line_of(__file__, marker)
    assert error.thread == thread
    assert error.kernel in str(error) and str(error.line) in str(error)
    return error


@both
def test_division_by_zero(number):
    a, b, q = np.arange(5000, dtype=np.int32), np.ones(5000, np.int32), np.zeros(5000, np.int32)
    b[[1234, 4000]] = 0
    for _ in range(5):
        fault(lambda: divide(a, b, q), "quotient", number, (1234,))
    np.testing.assert_array_equal(np.delete(q, [1234, 4000]), np.delete(a, [1234, 4000]) if IN_PLACE else 0)
    b[:] = 1
    with threads(number):
        divide(a, b, q)
    np.testing.assert_array_equal(q, a)


@both
def test_modulo_by_zero(number):
    fault(lambda: modulo(np.ones(9, np.uint64), 0, np.zeros(9, np.uint64)), "remainder", number, (0,))


@both
def test_negative_shift(number):
    fault(lambda: shift(np.ones(9, np.int64), np.array([0, 1, 64, 200, -1, 1, -2, 0, 0])), "shift", number, (4,))


@both
def test_negative_exponent(number):
    fault(lambda: power(np.ones(4, np.int32), np.array([0, 1, -1, -5], np.int32)), "power", number, (2,))


@both
def test_zero_steps(number):
    fault(lambda: step(np.zeros(4, np.int64), 0), "step", number, (0,))
    fault(lambda: grid_step(np.zeros(4, np.int64), 0), "grid step", number, None)
    a = np.zeros(4, np.int64)
    step(a, 3)
    assert (a == 18).all()
    grid_step(a, 3)
    assert a.tolist() == [19, 18, 18, 19]


@both
def test_at_host_level(number):
    a = np.zeros(4, np.int64)
    fault(lambda: at_host_level(a, 0), "host level", number, None)
    assert (a == 0).all()
    assert at_host_level(a, -7) == -15


def test_the_least_integer_divided_by_minus_one_wraps():
    least = [np.array([np.iinfo(t).min, 5], t) for t in (np.int8, np.int32, np.int64)]
    for run in (least_integers, least_integers.py):
        q, r = np.ones((2, 3), np.int64), np.ones((2, 3), np.int64)
        run(*least, q, r)
        assert q.tolist() == [[-(2**7), -(2**31), -(2**63)], [-5, -5, -5]]
        assert (r == 0).all()


def test_plain_python_raises_the_same():
    for kernel, arguments, marker in (
        (divide, (np.ones(3, np.int32), np.array([1, 0, 1], np.int32), np.ones(3, np.int32)), "quotient"),
        (step, (np.zeros(4, np.int64), 0), "step"),
        (at_host_level, (np.zeros(4, np.int64), 0), "host level"),
        (power, (np.ones(2, np.int32), np.array([1, -1], np.int32)), "power"),
    ):
        with pytest.raises(lend.ArithmeticFault) as caught:
            kernel.py(*arguments)
        assert caught.value.line == line_of(__file__, marker)
        with pytest.raises(lend.ArithmeticFault) as compiled:
            kernel(*arguments)
        assert str(caught.value) == str(compiled.value)
