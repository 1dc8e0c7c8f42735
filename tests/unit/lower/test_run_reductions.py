"""Compiled reductions against the tree in plain Python, bit for bit, for every chunking and thread count."""

import math

import numpy as np
import pytest
from hand_built import NUMPY, Builder, Compiled, t, threads

from lend.language.reduction import tree

SIZES = [0, 1, 2, 63, 64, 65, 127, 2047, 2048, 2049, 4096, 5000, 100_003, 300_001]


def reduce_array(operator, type, math_mode="default", checked=False):
    b = Builder(math_mode)
    x, init = b.array("x", type, borrow=t.Borrow.REF), b.scalar("init", type)

    def body(i, s):
        return b.binary(operator, s, b.load(x, i, checked=checked))

    return Compiled(b.kernel(b.grid([b.size(x)], body, (operator, [init]))))


def same_bits(a, b):
    return np.asarray(a).tobytes() == np.asarray(b).tobytes()


def random_values(type, size, seed=0):
    rng = np.random.default_rng(seed)
    if type.kind == "bool":
        return rng.random(size) < 0.5
    if type.kind == "complex":
        return (rng.normal(size=size) + 1j * rng.normal(size=size)).astype(NUMPY[type])
    if type.is_float:
        return rng.normal(size=size).astype(NUMPY[type])
    low, high = max(type.minimum, -(2**63)), min(type.maximum, 2**63 - 1)
    return rng.integers(low, high, size, dtype=np.int64, endpoint=True).astype(NUMPY[type])


def expected(operator, type, init, values):
    return NUMPY[type](tree(operator, (type,), (init,), ((v,) for v in values.tolist()))[0])


@pytest.mark.parametrize("type", [t.F32, t.F64], ids=str)
@pytest.mark.parametrize("checked", [False, True])
def test_sums_have_the_bits_of_the_tree_at_every_size(type, checked):
    compiled = reduce_array("add", type, checked=checked)
    for size in SIZES:
        values = random_values(type, size)
        (result,) = compiled(values, 0.25).scalars()
        assert same_bits(result, expected("add", type, 0.25, values)), size


@pytest.mark.parametrize("type", [t.F32, t.F64, t.I64, t.COMPLEX64], ids=str)
def test_sums_of_what_takes_long_to_compute_have_the_bits_of_the_tree(type):
    b = Builder("strict")
    x, init = b.array("x", type, borrow=t.Borrow.REF), b.scalar("init", type)

    def body(i, s):
        value = b.load(x, i, checked=False)
        for _ in range(9):
            value = b.binary("mul", value, b.binary("sub", b.load(x, i, checked=False), value))
        return b.binary("add", s, value)

    compiled = Compiled(b.kernel(b.grid([b.size(x)], body, ("add", [init]))))
    for size in SIZES[:-2]:
        x = random_values(type, size)
        values = x
        with np.errstate(all="ignore"):
            for _ in range(9):
                values = values * (x - values)
        (result,) = compiled(x, 1).scalars()
        assert same_bits(result, expected("add", type, 1, values)), size


@pytest.mark.parametrize("mode", ["strict", "default", "fast"])
def test_the_tree_is_the_same_in_every_math_mode(mode):
    values = random_values(t.F32, 70_001)
    (result,) = reduce_array("add", t.F32, mode)(values, 0.0).scalars()
    assert same_bits(result, expected("add", t.F32, 0.0, values))


CASES = [
    (operator, type)
    for type in (t.BOOL_, t.I8, t.U8, t.I32, t.U64, t.F16, t.F32, t.F64, t.COMPLEX64, t.COMPLEX128)
    for operator in ("add", "mul", "min", "max", "and", "or", "xor")
    if not (type.kind in ("float", "complex") and operator in ("and", "or", "xor"))
    and not (type.kind == "complex" and operator in ("min", "max"))
    and not (type.kind == "bool" and operator in ("add", "mul"))
]


@pytest.mark.parametrize(("operator", "type"), CASES, ids=str)
def test_every_operator_and_type(operator, type):
    compiled = reduce_array(operator, type)
    for size in (0, 3, 2500):
        values = random_values(type, size)
        init = values[0].item() if size else type.minimum
        (result,) = compiled(values, init).scalars()
        assert same_bits(result, expected(operator, type, init, values)), size


@pytest.mark.parametrize("operator", ["min", "max"])
def test_minimum_and_maximum_propagate_nan_and_order_zeros(operator):
    compiled = reduce_array(operator, t.F64)
    values = np.array([1.0, -0.0, 0.0, 0.0, -0.0, math.nan, 3.0])
    assert math.isnan(compiled(values, 0.5).scalars()[0])
    zero = compiled(np.array([0.0, -0.0, 0.0]), 0.0 if operator == "min" else -0.0).scalars()[0]
    assert math.copysign(1, zero) == (-1 if operator == "min" else 1)


def test_a_sum_of_negative_zeros_is_a_negative_zero():
    (result,) = reduce_array("add", t.F32)(np.full(100, -0.0, np.float32), -0.0).scalars()
    assert same_bits(result, np.float32(-0.0))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_thread_counts_do_not_change_bits(count):
    compiled = reduce_array("add", t.F32)
    values = random_values(t.F32, 1_000_003)
    with threads(count):
        results = {compiled(values, 0.0).scalars()[0].tobytes() for _ in range(5)}
    with threads(1):
        results.add(compiled(values, 0.0).scalars()[0].tobytes())
    assert len(results) == 1


def test_rows_and_columns_are_visited_in_row_major_order():
    b = Builder()
    x = b.array("x", t.F64, 3, borrow=t.Borrow.REF)
    zero = b.const(t.F64, 0.0)

    def body(i, j, k, s):
        return b.binary("add", s, b.load(x, i, j, k))

    result = b.grid([b.size(x, 0), b.size(x, 1), b.size(x, 2)], body, ("add", [zero]))
    compiled = Compiled(b.kernel(result))
    for shape in ((3, 5, 7), (1, 1, 5000), (5000, 1, 1), (17, 200, 3), (40, 64, 33), (2, 0, 5)):
        values = random_values(t.F64, math.prod(shape)).reshape(shape)
        assert same_bits(compiled(values).scalars()[0], expected("add", t.F64, 0.0, values.ravel())), shape


def arg_extremum(operator, type):
    b = Builder()
    x = b.array("x", type, borrow=t.Borrow.REF)
    best, where = b.scalar("best", type), b.scalar("where", t.I64)

    def body(i, s, k):
        value = b.load(x, i)
        s_nan, v_nan = b.binary("ne", s, s), b.binary("ne", value, value)
        less = b.binary("lt" if operator == "min" else "gt", value, s)
        better = b.binary("and", b.binary("or", less, v_nan), b.unary("not", s_nan))
        index = b.cast(t.I64, i)
        same = b.binary("or", b.binary("eq", s, value), b.binary("and", s_nan, v_nan))
        earlier = b.binary("lt" if operator == "min" else "gt", index, k)
        take = b.binary("or", better, b.binary("and", same, earlier))
        return b.if_(take, lambda: (value, index), lambda: (s, k))

    return Compiled(b.kernel(*b.grid([b.size(x)], body, (operator, [best, where]))))


@pytest.mark.parametrize("operator", ["min", "max"])
@pytest.mark.parametrize("type", [t.F64, t.I32], ids=str)
def test_tuples_are_compared_in_order(operator, type):
    compiled = arg_extremum(operator, type)
    rng = np.random.default_rng(1)
    for size in (0, 1, 70, 6000, 50_000):
        values = rng.integers(-500, 500, size).astype(NUMPY[type])
        if type.is_float and size > 1000:
            values[rng.integers(0, size, 3)] = np.nan
        start = (0, -1)
        result = compiled(values, *start).scalars()
        want = tree(operator, (type, t.I64), start, list(zip(values.tolist(), range(size))))
        assert same_bits(np.array(result, np.float64), np.array(want, np.float64)), (size, result, want)


def test_several_reductions_of_one_loop():
    b = Builder()
    x = b.array("x", t.F32, borrow=t.Borrow.REF)
    zero, one, low = b.const(t.F32, 0.0), b.const(t.I64, 0), b.const(t.F32, -math.inf)

    def body(i, s, count, top):
        value = b.load(x, i)
        positive = b.binary("gt", value, zero)
        return (
            b.binary("add", s, value),
            b.binary("add", count, b.cast(t.I64, positive)),
            b.binary("max", top, value),
        )

    results = b.grid([b.size(x)], body, ("add", [zero]), ("add", [one]), ("max", [low]))
    values = random_values(t.F32, 123_457)
    total, count, top = Compiled(b.kernel(*results))(values).scalars()
    assert same_bits(total, expected("add", t.F32, 0.0, values))
    assert count == (values > 0).sum() and top == values.max()
