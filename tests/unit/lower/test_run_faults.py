"""Compiled faults: what is recorded, what is skipped, how the function ends."""

import numpy as np
import pytest
from hand_built import Builder, Compiled, t, threads, typed

from lend.language import abi


def fault_words(outcome):
    """(thread, site, dimension, index, size, indices…)."""
    return tuple(outcome.fault[abi.FAULT_THREAD :])


def gather():
    """`y[i] = x[index[i]]`."""
    b = Builder()
    x, index, y = b.array("x", t.F64, borrow=t.Borrow.REF), b.array("index", t.I64, borrow=t.Borrow.REF), b.array("y", t.F64)
    b.grid([b.size(y)], lambda i: b.store(y, i, value=b.load(x, b.load(index, i))))
    return Compiled(b.kernel())


@pytest.mark.parametrize("bad", [10, -1, 2**62, -(2**63)])
@pytest.mark.parametrize("count", [1, 3])
def test_the_smallest_thread_is_recorded_and_the_others_go_on(bad, count):
    compiled, n = gather(), 200_000
    index = np.arange(n) % 10
    for place in (199_999, 150_000, 70_001, 70_003):
        index[place] = bad
    out = np.full(n, -1.0)
    with threads(count):
        outcome = compiled(np.arange(10.0), index, out)
    assert outcome.code == 1
    assert fault_words(outcome) == (70_001, 1, 0, bad, 10, 70_001, 0, 0, 0, 0, 0)
    assert outcome.fault[abi.FAULT_LOCK] == 0
    want = np.where(index == bad, 0.0, index)  # a failed read gives 0
    assert np.array_equal(out, want)


def test_every_thread_failing_at_once_records_the_first():
    compiled, n = gather(), 100_000
    with threads(3):
        for _ in range(5):
            outcome = compiled(np.arange(10.0), np.full(n, 99), np.zeros(n))
            assert fault_words(outcome)[:5] == (0, 1, 0, 99, 10)


def test_within_one_thread_the_first_fault_is_kept_and_the_dimension_is_told():
    b = Builder()
    y = b.array("y", t.F64, 3)
    shift = b.scalar("shift", t.I64)

    def body(i, j, k):
        far = b.binary("add", b.cast(t.I64, k), shift)
        value = b.load(y, i, j, far)
        b.store(y, far, j, k, value=value)

    b.grid([b.size(y, d) for d in range(3)], body)
    outcome = Compiled(b.kernel())(np.zeros((5, 4, 5)), 3)
    assert fault_words(outcome) == (2, 0, 2, 5, 5, 0, 0, 2, 0, 0, 0)


def test_a_failed_store_is_skipped():
    b = Builder()
    y, shift = b.array("y", t.F64), b.scalar("shift", t.I64)
    one = b.const(t.F64, 1.0)
    b.grid([b.size(y)], lambda i: b.store(y, b.binary("add", b.cast(t.I64, i), shift), value=one))
    memory = np.zeros(30)
    outcome = Compiled(b.kernel())(memory[10:20], -4)
    assert outcome.code == 1 and fault_words(outcome)[:5] == (0, 0, 0, -4, 10)
    assert memory.tolist() == [0] * 10 + [1] * 6 + [0] * 14


def integer_operation(operator, type):
    b = Builder()
    x, d, y = (b.array(name, type) for name in "xdy")
    site = b.site("division")

    def body(i):
        b.store(y, i, checked=False, value=b.binary(operator, b.load(x, i, checked=False), b.load(d, i, checked=False), site))

    b.grid([b.size(y)], body)
    return Compiled(b.kernel())


@pytest.mark.parametrize(
    ("operator", "bad", "good", "want"),
    [("floordiv", 0, -2, -4), ("mod", 0, -2, -1), ("shl", -1, 2, 28), ("shr", -1, 1, 3), ("pow", -3, 2, 49)],
)
@pytest.mark.parametrize("type", [t.I8, t.I32, t.I64], ids=str)
def test_operations_that_cannot_be_give_zero_and_a_fault(operator, bad, good, want, type):
    from hand_built import NUMPY

    compiled, dtype = integer_operation(operator, type), NUMPY[type]
    right = np.array([good, good, bad, good, bad], dtype)
    out = np.full(5, 55, dtype)
    outcome = compiled(np.full(5, 7, dtype), right, out)
    assert outcome.code == 1
    assert fault_words(outcome)[0] == 2 and fault_words(outcome)[3] == bad
    assert out.tolist() == [want, want, 0, want, 0]


def test_a_slice_that_is_not_inside_is_empty_and_a_fault():
    b = Builder()
    x, ends, y = b.array("x", t.F64), b.array("ends", t.I64), b.array("y", t.I64)

    def body(i):
        end = b.cast(t.INDEX, b.load(ends, i, checked=False))
        part = b.view(x, typed.Extent(b.index(2), end, b.index(1)))
        b.store(y, i, value=b.cast(t.I64, b.size(part)), checked=False)

    b.grid([b.size(y)], body)
    compiled, out = Compiled(b.kernel()), np.zeros(5, np.int64)
    outcome = compiled(np.zeros(6), np.array([2, 6, 7, 1, -1]), out)
    assert out.tolist() == [0, 4, 0, 0, 0]
    assert fault_words(outcome)[:5] == (2, 0, 0, 7, 6)


def test_an_index_that_a_view_drops_is_tested():
    b = Builder()
    x, y = b.array("x", t.F64, 2), b.array("y", t.F64)

    def body(i):
        row = b.view(x, i, typed.Extent(b.index(0), b.size(x, 1), b.index(1)))
        b.store(y, i, value=b.load(row, b.index(0)))

    b.grid([b.size(y)], body)
    outcome = Compiled(b.kernel())(np.ones((3, 2)), np.zeros(5))
    assert fault_words(outcome)[:5] == (3, 0, 0, 3, 3)


def test_while_loops_end_when_the_chunk_has_a_fault():
    b = Builder()
    x, y = b.array("x", t.F64), b.array("y", t.I64)
    far = b.index(10**6)

    def body(i):
        def test(k):
            return b.binary("eq", b.load(x, far), b.const(t.F64, 0.0))  # the failed read gives 0: true for ever

        def step(k):
            return b.binary("add", k, b.const(t.I64, 1))

        b.store(y, i, value=b.while_([b.const(t.I64, 0)], test, step))

    b.grid([b.size(y)], body)
    outcome = Compiled(b.kernel())(np.zeros(3), np.zeros(1000, np.int64))
    assert outcome.code == 1 and fault_words(outcome)[:2] == (0, 0)


@pytest.mark.parametrize("step", [0, 1])
def test_a_zero_step_is_a_fault_and_no_iteration(step):
    b = Builder()
    y, given = b.array("y", t.I64), b.scalar("step", t.I64)
    extent = typed.Extent(b.index(0), b.size(y), given)
    b.parallel([extent], lambda i: b.store(y, i, value=b.const(t.I64, 1)), site=b.site("step"))
    out = np.zeros(4, np.int64)
    outcome = Compiled(b.kernel())(out, step)
    assert (outcome.code, out.tolist()) == ((1, [0] * 4) if step == 0 else (0, [1] * 4))
    if step == 0:
        assert fault_words(outcome)[:2] == (abi.HOST_LEVEL, 0)


def test_a_zero_step_inside_a_region_skips_the_loop():
    b = Builder()
    steps, y = b.array("steps", t.I64), b.array("y", t.I64)

    def body(i):
        extent = typed.Extent(b.index(0), b.index(10), b.load(steps, i))
        site = b.site("step")
        one = b.const(t.I64, 1)
        b.store(y, i, value=b.for_(extent, [b.const(t.I64, 0)], lambda _, n: b.binary("add", n, one), site=site))

    b.grid([b.size(y)], body)
    out = np.zeros(3, np.int64)
    outcome = Compiled(b.kernel())(np.array([3, 0, -1]), out)
    assert outcome.code == 1 and fault_words(outcome)[0] == 1 and out.tolist() == [4, 0, 0]


def test_the_host_level_stops_at_its_first_fault():
    b = Builder()
    y, k = b.array("y", t.F64), b.scalar("k", t.I64)
    value = b.load(y, k)
    b.store(y, b.index(0), value=b.const(t.F64, 9.0))
    compiled, out = Compiled(b.kernel(value)), np.ones(3)
    outcome = compiled(out, 3)
    assert outcome.code == 1 and out[0] == 1.0
    assert fault_words(outcome) == (abi.HOST_LEVEL, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0)
    assert compiled(out, 2).scalars() == [1.0] and out[0] == 9.0


def test_a_fault_of_a_region_ends_the_host_function_after_that_region():
    b = Builder()
    y, n = b.array("y", t.F64), b.scalar("n", t.I64)
    one, two = b.const(t.F64, 1.0), b.const(t.F64, 2.0)
    b.grid([n], lambda i: b.store(y, i, value=one))
    b.grid([b.size(y)], lambda i: b.store(y, i, value=two))
    out = np.zeros(4)
    assert Compiled(b.kernel())(out, 5).code == 1 and out.tolist() == [1] * 4


def test_requirements_end_the_kernel_with_their_numbers():
    b = Builder()
    n, m = b.scalar("n", t.I64), b.scalar("m", t.I32)
    b.require(b.binary("lt", n, b.const(t.I64, 5)), n, m)
    compiled = Compiled(b.kernel(n))
    assert compiled(4, 7).scalars() == [4]
    assert fault_words(compiled(6, -7))[:5] == (abi.HOST_LEVEL, 0, 0, 6, -7)
