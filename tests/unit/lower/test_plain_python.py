"""Kernels as plain Python from trees built by hand: results, order of evaluation, variables, faults."""

from __future__ import annotations

import ast
import math
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "ir"))

import ml_dtypes
import numpy as np
import pytest
from tree_builder import TreeBuilder, saxpy

from lend.ir.typed import Extent, Reduction, Unchecked
from lend.ir.verify import verify_kernel
from lend.language.dtypes import numpy_dtype
from lend.language.types import BF16, BOOL_, COMPLEX64, F16, F32, F64, I8, I32, I64, INDEX, StructType
from lend.lower import plain_syntax
from lend.lower.plain_python import plain_function


class Fault(Exception):
    """What the callback was given."""


def fault(site, dimension, index, size, thread):
    return Fault(site.kind, site.array, dimension, index, size, thread)


def plain(kernel):
    verify_kernel(kernel)
    function = plain_function(kernel, kernel.span.source)
    return lambda dims, leaves: function(dims, leaves, fault)


def python_of(kernel, monkeypatch):
    """The generated module as text."""
    written = []
    fix = ast.fix_missing_locations
    monkeypatch.setattr(
        plain_syntax.ast, "fix_missing_locations", lambda module: written.append(ast.unparse(module)) or fix(module)
    )
    plain_function(kernel, kernel.span.source)
    monkeypatch.undo()
    return written[0]


def test_saxpy_is_one_statement(monkeypatch):
    x, y = np.arange(4, dtype=np.float32), np.ones(4, np.float32)
    assert plain(saxpy())((4,), [2.0, x, y]) == ()
    assert y.tolist() == [1.0, 3.0, 5.0, 7.0]
    assert python_of(saxpy(), monkeypatch).splitlines()[2].strip() == (
        "lend.store(lend.add_f32(lend.load_1d(y, 0, i), lend.mul_f32(a, lend.load_1d(x, 1, i))), y, 2, i)"
    )


# ------------------------------------------------------------------------------------------------------ control flow


def swapping(count):
    """for k in range(count): a, b = b, a."""
    b = TreeBuilder()
    one, two = b.constant(1, I64, "a"), b.constant(2, I64, "b")
    extent = b.extent(b.index(count))
    k, first, second = b.value(INDEX, "k"), b.value(I64, "a"), b.value(I64, "b")
    with b.region(k, first, second) as body:
        body.yields = (second, first)
    results = b.for_(extent, [one, two], body, b.value(I64, "a"), b.value(I64, "b"))
    return b.kernel("swap", [], [], *results)


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_a_swap_is_simultaneous(count):
    assert plain(swapping(count))((), []) == ((1, 2) if count % 2 == 0 else (2, 1))


def test_a_swap_needs_no_further_variables(monkeypatch):
    assert "a, b = (b, a)" in python_of(swapping(3), monkeypatch)


def test_a_value_that_is_still_needed_keeps_its_variable():
    """Fibonacci: the old b is copied after the new one is computed."""
    b = TreeBuilder()
    zero, one = b.constant(0, I64, "a"), b.constant(1, I64, "b")
    extent = b.extent(b.index(10))
    k, first, second = b.value(INDEX, "k"), b.value(I64, "a"), b.value(I64, "b")
    with b.region(k, first, second) as body:
        body.yields = (second, b.binary("add", first, second, "b"))
    results = b.for_(extent, [zero, one], body, b.value(I64, "a"), b.value(I64, "b"))
    assert plain(b.kernel("fib", [], [], *results))((), []) == (55, 89)


def test_an_outer_value_is_not_lost_to_a_carried_one_of_its_name():
    b = TreeBuilder()
    n = b.value(I64, "n")
    extent = b.extent(b.index(3))
    k, carried = b.value(INDEX, "k"), b.value(I64, "n")
    with b.region(k, carried) as body:
        body.yields = (b.binary("add", carried, n, "n"),)
    last = b.for_(extent, [n], body, b.value(I64, "n"))
    assert plain(b.kernel("f", [], [n], last, n))((), [5]) == (20, 5)


def test_break_ends_the_loop_after_the_iteration_that_says_so():
    b = TreeBuilder()
    zero = b.constant(0, I64, "s")
    extent = b.extent(b.index(100))
    k, s = b.value(INDEX, "k"), b.value(I64, "s")
    with b.region(k, s) as body:
        after = b.binary("add", s, b.cast(k, I64), "s")
        body.yields = (b.binary("ge", after, b.constant(10, I64)), after)
    last = b.for_(extent, [zero], body, b.value(I64, "s"), stops=True)
    assert plain(b.kernel("f", [], [], last))((), []) == (10,)


@pytest.mark.parametrize("named", [None, "limit"])
def test_while_with_a_condition_that_needs_statements(named):
    b = TreeBuilder()
    start = b.constant(1, I64, "n")
    c, p = b.value(I64, "n"), b.value(I64, "n")
    with b.region(c) as test:
        limit = b.binary("mul", b.constant(10, I64), b.constant(10, I64), named)
        test.yields = (b.binary("lt", c, limit),)
    with b.region(p) as body:
        body.yields = (b.binary("mul", p, b.constant(3, I64), "n"),)
    last = b.while_([start], test, body, b.value(I64, "n"))
    assert plain(b.kernel("f", [], [], last))((), []) == (243,)


def test_a_range_goes_down_and_may_have_a_step_of_zero():
    b = TreeBuilder()
    x, step = b.array("x", I64), b.value(INDEX, "step")
    position = b.constant(0, I64, "p")
    k, p = b.value(INDEX, "k"), b.value(I64, "p")
    extent = Extent(b.index(9), b.index(-1), step)
    with b.region(k, p) as body:
        b.store(x, (p,), b.cast(k, I64))
        body.yields = (b.binary("add", p, b.constant(1, I64), "p"),)
    b.for_(extent, [position], body, b.value(I64, "p"), site=b.site("step"))
    run = plain(b.kernel("f", [step], [x]))
    x = np.zeros(5, np.int64)
    run((-2,), [x])
    assert x.tolist() == [9, 7, 5, 3, 1]
    with pytest.raises(Fault, match="step"):
        run((0,), [x])


def conditional(text):
    b = TreeBuilder(text)
    c, x = b.value(BOOL_, "c"), b.array("x", F64)
    with b.region() as then:
        then.yields = (b.load(x, b.index(0)),)
    with b.region() as orelse:
        orelse.yields = (b.constant(-1.0, F64),)
    return b.kernel("f", [], [c, x], b.if_(c, then, orelse, b.value(F64, "r")))


@pytest.mark.parametrize("text", ["r = x[0] if c else -1.0", "if c: r = x[0]"])
def test_only_the_arm_that_is_taken_is_evaluated(text):
    run = plain(conditional(text))
    assert run((), [True, np.array([7.0])]) == (7.0,)
    assert run((), [False, np.zeros(0)]) == (-1.0,)
    with pytest.raises(Fault):
        run((), [True, np.zeros(0)])


def test_what_was_written_as_an_expression_is_one(monkeypatch):
    assert "r = lend.load_1d(x, 0, 0) if c else -1.0" in python_of(conditional("x[0] if c else -1.0"), monkeypatch)
    assert "if c:" in python_of(conditional("if c: r = x[0]"), monkeypatch)


# ------------------------------------------------------------------------------------------------ order of evaluation


def test_reads_happen_before_the_writes_that_follow_them():
    """t = x[0]; x[0] = 5; return x[0] - t, where t has no name and is used last."""
    b = TreeBuilder()
    x, zero = b.array("x", I64), None
    zero = b.index(0)
    old = b.load(x, zero)
    b.store(x, (zero,), b.constant(5, I64))
    difference = b.binary("sub", b.load(x, zero), old)
    assert plain(b.kernel("f", [], [x], difference))((), [np.array([3])]) == (2,)


def test_the_first_of_two_faults_is_raised_whatever_the_operands_order():
    b = TreeBuilder()
    x, y, i = b.array("x", I64), b.array("y", I64), b.value(INDEX, "i")
    first, second = b.load(x, i), b.load(y, i)
    result = b.binary("sub", second, first)
    with pytest.raises(Fault) as caught:
        plain(b.kernel("f", [i], [x, y], result))((9,), [np.zeros(2, np.int64), np.zeros(3, np.int64)])
    assert caught.value.args == ("bounds", "x", 0, 9, 2, None)


def test_a_deferred_sum_reads_its_operands_before_they_change():
    b = TreeBuilder()
    start = b.constant(1, I64, "v")
    twice = b.binary("mul", start, b.constant(2, I64))
    changed = b.binary("add", start, b.constant(10, I64), "v")
    assert plain(b.kernel("f", [], [], b.binary("add", twice, changed), changed))((), []) == (13, 11)


def test_a_read_that_nothing_uses_is_still_tested():
    b = TreeBuilder()
    x = b.array("x", F64)
    b.load(x, b.index(3))
    with pytest.raises(Fault):
        plain(b.kernel("f", [], [x]))((), [np.zeros(3)])


# ----------------------------------------------------------------------------------------------------------- functions


def test_a_called_function_takes_what_it_captures(monkeypatch):
    b = TreeBuilder()
    a, outer = b.value(F64, "a"), b.value(F64, "outer")
    p = b.value(F64, "p")
    with b.region(p) as body:
        inner = b.value(F64, "q")
        with b.region(inner) as nested:
            nested.yields = (b.binary("mul", inner, outer),)
        body.yields = (p, b.call("deep", "kernels.py", [b.binary("add", p, outer)], nested, b.value(F64)))
    results = b.call("f", "other.py", [a], body, b.value(F64, "one"), b.value(F64, "two"))
    kernel = b.kernel("k", [], [a, outer], *results)
    assert plain(kernel)((), [2.0, 10.0]) == (2.0, 120.0)
    assert "def lend.f.1(p, outer):" in python_of(kernel, monkeypatch)


def test_a_function_without_results_may_store():
    b = TreeBuilder()
    x = b.array("x", F64)
    inner = b.array("v", F64)
    with b.region(inner) as body:
        b.store(inner, (b.index(0),), b.constant(4.0, F64))
    b.call("put", "other.py", [x], body)
    x = np.zeros(2)
    plain(b.kernel("k", [], [b.operations[-1].arguments[0]]))((), [x])
    assert x.tolist() == [4.0, 0.0]


# ---------------------------------------------------------------------------------------------------------- reductions


def reducing(operator, types, values, inits):
    b = TreeBuilder()
    n, x = b.value(INDEX, "N"), b.array("x", F64)
    starts = [b.constant(v, t) for v, t in zip(inits, types, strict=True)]
    extent = b.extent(n)
    i = b.value(INDEX, "i")
    sofar = [b.value(t, "r") for t in types]
    with b.inside("i"), b.region(i, *sofar) as body:
        body.yields = tuple(values(b, x, i, sofar))
    results = b.parallel([extent], body, *(b.value(t, "r") for t in types), reductions=[Reduction(operator, tuple(starts))])
    results = results if isinstance(results, tuple) else (results,)
    return plain(b.kernel("k", [n], [x], *results))


def test_a_sum_follows_the_tree():
    from lend.language.reduction import tree

    run = reducing("add", [F64], lambda b, x, i, r: [b.binary("add", r[0], b.load(x, i))], [0.5])
    x = np.random.default_rng(5).standard_normal(5000)
    assert run((5000,), [x]) == tree("add", (F64,), (0.5,), ((v,) for v in x.tolist()))
    assert run((0,), [x[:0]]) == (0.5,)


def test_a_tuple_reduces_as_python_compares_tuples():
    run = reducing("max", [F64, INDEX], lambda b, x, i, r: [b.load(x, i), i], [-math.inf, -1])
    assert run((4,), [np.array([1.0, 9.0, 9.0, 2.0])]) == (9.0, 2)


def test_a_box_runs_in_row_major_order_with_its_steps():
    b = TreeBuilder()
    x, p = b.array("x", I64, 2), b.array("p", I64)
    zero = b.index(0)
    box = [Extent(b.index(1), b.index(6), b.index(2)), Extent(b.index(2), b.index(-1), b.index(-1))]
    i, j = b.value(INDEX, "i"), b.value(INDEX, "j")
    with b.inside("i", "j"), b.region(i, j) as body:
        count = b.load(p, zero)
        b.store(x, (i, j), count)
        b.store(p, (zero,), b.binary("add", count, b.constant(1, I64)))
    b.parallel(box, body)
    x, p = np.full((6, 3), -1), np.zeros(1, np.int64)
    plain(b.kernel("k", [], [b.operations[-1].body.operations[1].array, b.operations[-1].body.operations[0].array]))((), [x, p])
    assert x[1::2].tolist() == [[2, 1, 0], [5, 4, 3], [8, 7, 6]]
    assert p[0] == 9


# -------------------------------------------------------------------------------------------------------------- arrays


@pytest.mark.parametrize("index", [-1, 3, -(2**63)])
def test_a_fault_in_a_parallel_loop_names_the_thread(index):
    b = TreeBuilder()
    n, x, k = b.value(INDEX, "N"), b.array("x", F64, 2), b.array("k", I64)
    extent = b.extent(n)
    i = b.value(INDEX, "i")
    with b.inside("i"), b.region(i) as body:
        b.store(x, (i, b.load(k, i)), b.constant(1.0, F64))
    b.parallel([extent], body)
    x = np.zeros((4, 3))
    with pytest.raises(Fault) as caught:
        plain(b.kernel("f", [n], [b.operations[-1].body.operations[-1].array, k]))((4,), [x, np.array([0, 2, index, 99])])
    assert caught.value.args == ("bounds", "x", 1, index, 3, (2,))
    assert x.sum() == 2.0, "the iterations before the fault have run, those after have not"


def test_unchecked_accesses_are_tested_in_plain_python():
    b = TreeBuilder()
    x, i = b.array("x", F64), b.value(INDEX, "i")
    kernel = b.kernel("f", [i], [x], b.load(x, i, checked=False), unchecked=[Unchecked(b.span, "sorted")])
    assert plain(kernel)((1,), [np.array([1.0, 2.0])]) == (2.0,)
    with pytest.raises(Fault) as caught:
        plain(kernel)((2,), [np.array([1.0, 2.0])])
    assert caught.value.args == ("bounds", "x", 0, 2, 2, None)


@pytest.mark.parametrize(
    ("element", "array", "expected"),
    [
        (BOOL_, np.array([2], np.uint8).view(bool), True),
        (F16, np.array([0.1], np.float16), float(np.float16(0.1))),
        (BF16, np.array([0.1], ml_dtypes.bfloat16), 0.10009765625),
        (BF16, np.array([0x3DCD], np.uint16), 0.10009765625),
        (F32, np.array([0.1], np.float32), float(np.float32(0.1))),
        (COMPLEX64, np.array([1 + 2j], np.complex64), 1 + 2j),
        (I8, np.array([-1], np.int8), -1),
        (F32, np.array([9, 0, 0, 128, 63], np.uint8)[1:].view(np.float32), 1.0),
        (I32, np.array([5, 6, 7], np.int32)[::-2], 7),
    ],
    ids=str,
)
def test_elements_are_read_and_written_as_python_values(element, array, expected):
    b = TreeBuilder()
    x, zero = b.array("x", element), None
    zero = b.index(0)
    value = b.load(x, zero)
    b.store(x, (zero,), value)
    kernel = b.kernel("f", [], [x], b.load(x, zero))
    (result,) = plain(kernel)((), [array])
    assert result == expected and type(result) is type(expected)


def test_record_fields_are_reached_by_their_path():
    inner = StructType("Inner", (("re", F32), ("im", F32)))
    outer = StructType("Outer", (("flag", BOOL_), ("z", inner)))
    b = TreeBuilder()
    x, zero = b.array("x", outer), None
    zero = b.index(0)
    b.store(x, (b.index(1),), b.load(x, zero, path=(1, 1)), path=(1, 0))
    array = np.zeros(2, numpy_dtype(outer))
    array["z"]["im"][0] = 2.5
    plain(b.kernel("f", [], [x]))((), [array])
    assert array["z"]["re"].tolist() == [0.0, 2.5]


def test_views_share_memory_and_test_their_parts():
    b = TreeBuilder()
    x, row, low, high = b.array("x", I64, 2), b.value(INDEX, "row"), b.value(INDEX, "low"), b.value(INDEX, "high")
    view = b.view(x, row, Extent(low, high, b.index(2)))
    b.store(view, (b.index(1),), b.constant(9, I64))
    size = b.size(view, 0)
    run = plain(b.kernel("f", [row, low, high], [x], size))
    array = np.zeros((2, 5), np.int64)
    assert run((1, 0, 5), [array]) == (3,)
    assert array.tolist() == [[0] * 5, [0, 0, 9, 0, 0]]
    for bounds in ((3, 2), (0, 0), (-3, -5), (9, 9)):
        with pytest.raises(Fault) as caught:  # the view is empty, the store into it is not inside
            run((1, *bounds), [array])
        assert caught.value.args == ("bounds", "x", 0, 1, 0, None)
    for bounds in ((3, 2), (0, 0), (-3, -5), (9, 9)):
        with pytest.raises(Fault) as caught:  # the view is empty: the store into it is not inside
            run((1, *bounds), [array])
        assert caught.value.args == ("bounds", "x", 0, 1, 0, None)
    for sizes, wrong in (((2, 0, 5), (0, 2, 2)), ((1, -1, 5), (1, -1, 5)), ((1, 0, 6), (1, 6, 5)), ((1, 6, 7), (1, 7, 5))):
        with pytest.raises(Fault) as caught:
            run(sizes, [array])
        assert caught.value.args[2:5] == wrong


def test_reshapes_share_memory_or_fault():
    b = TreeBuilder()
    x, n, m = b.array("x", I64), b.value(INDEX, "n"), b.value(INDEX, "m")
    y = b.reshape(x, n, m, name="y")
    b.store(y, (b.index(1), b.index(0)), b.constant(7, I64))
    run = plain(b.kernel("f", [n, m], [x], y))
    array = np.zeros(6, np.int64)
    (result,) = run((2, 3), [array])
    assert array[3] == 7 and np.shares_memory(result, array)
    for sizes in ((4, 2), (-2, -3)):
        with pytest.raises(Fault, match="shape"):
            run(sizes, [array])
    with pytest.raises(Fault, match="view"):
        run((2, 3), [np.zeros(12, np.int64)[::2]])


def test_temporaries_are_zeroed_and_have_faults():
    b = TreeBuilder()
    n = b.value(INDEX, "n")
    t = b.allocate(F32, n, n, name="t")
    run = plain(b.kernel("f", [n], [], t))
    (result,) = run((3,), [])
    assert result.shape == (3, 3) and result.dtype == np.float32 and not result.any()
    for size, kind in ((-1, "extent"), (2**40, "memory"), (2**20, "memory")):
        if size == 2**20:
            continue  # four terabytes may be promised by the machine
        with pytest.raises(Fault, match=kind):
            run((size,), [])


def test_a_local_array_is_fresh_in_each_iteration():
    b = TreeBuilder()
    x = b.array("x", I64)
    extent = b.extent(b.index(3))
    i = b.value(INDEX, "i")
    with b.inside("i"), b.region(i) as body:
        t = b.local(I64, 2, name="t")
        zero = b.index(0)
        b.store(t, (zero,), b.binary("add", b.load(t, zero), b.constant(1, I64)))
        b.store(x, (i,), b.load(t, zero))
    b.parallel([extent], body)
    array = np.zeros(3, np.int64)
    plain(b.kernel("f", [], [x]))((), [array])
    assert array.tolist() == [1, 1, 1]


def test_integer_faults_and_requirements():
    bad_operands = {"floordiv": ("division", 0), "mod": ("division", 0), "shl": ("shift", -1), "pow": ("exponent", -2)}
    for operator, (kind, bad) in bad_operands.items():
        b = TreeBuilder()
        n = b.value(I32, "n")
        run = plain(b.kernel("f", [], [n], b.binary(operator, b.constant(5, I32), n, site=b.site(kind))))
        assert run((), [2]) == ({"floordiv": 2, "mod": 1, "shl": 20, "pow": 25}[operator],)
        with pytest.raises(Fault) as caught:
            run((), [bad])
        assert caught.value.args == (kind, None, 0, bad, 0, None)
    b = TreeBuilder()
    c, n = b.value(BOOL_, "c"), b.value(INDEX, "n")
    b.require(c, b.site("contract", text="n > 0"), n, n)
    run = plain(b.kernel("f", [n], [c]))
    assert run((3,), [True]) == ()
    with pytest.raises(Fault, match="contract"):
        run((3,), [False])


# --------------------------------------------------------------------------------------------------------------- names


def test_names_that_are_no_python_names_become_some(monkeypatch):
    b = TreeBuilder()
    values = [b.value(F64, name) for name in ("xs[0]", "p.field", "lambda", "_1", "add_f64")]
    total = values[0]
    for value in values[1:]:
        total = b.binary("add", total, value)
    more = b.binary("mul", total, total)
    kernel = b.kernel("f", [], values, b.binary("add", more, more))
    assert plain(kernel)((), [1.0, 2.0, 3.0, 4.0, 5.0]) == (450.0,)
    assert "(xs_0, p_field, lambda_, _1, add_f64)" in python_of(kernel, monkeypatch)


def test_two_calls_at_once_do_not_meet():
    from concurrent.futures import ThreadPoolExecutor

    run = plain(saxpy())

    def once(a):
        x, y = np.ones(300, np.float32), np.zeros(300, np.float32)
        run((300,), [a, x, y])
        return set(y.tolist())

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(once, [1.0, 2.0, 3.0, 4.0])) == [{1.0}, {2.0}, {3.0}, {4.0}]


def test_deep_expressions_compile():
    b = TreeBuilder()
    total = b.value(F64, "x")
    start = total
    for _ in range(3000):
        total = b.binary("add", total, b.constant(1.0, F64))
    assert plain(b.kernel("f", [], [start], total))((), [0.5]) == (3000.5,)
