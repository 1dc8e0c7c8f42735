"""Tests of subscripts that LLVM drops for what loops guarantee: those that follow go, all others stay."""

import itertools

import numpy as np
import pytest
from hand_built import Builder, Compiled, t, typed

from lend.language import abi

GUARD = 16  # elements before and after an array, which nothing may touch


def shifted(b, array, index, offset):
    """`array[index + offset]`, written as a user would."""
    number = b.index(abs(offset))
    return b.load(array, b.binary("add" if offset >= 0 else "sub", index, number))


def between(b, level, lower, upper, body):
    """The loop, of the grid or inside a single iteration of one."""
    extent = typed.Extent(lower, upper, b.index(1))
    if level == "grid":
        b.parallel([extent], body)
    else:
        b.grid([b.index(1)], lambda _: b.for_(typed.Extent(lower, upper, b.index(1)), [], body) and None)


def stencil(level, first, slack, offset):
    """`y[i + offset] = x[i + offset] + 1` for i in `first .. N - slack`, both arrays of size N."""
    b = Builder()
    n = b.dim("N")
    x, y = b.array("x", t.F64, borrow=t.Borrow.REF, sizes=[n]), b.array("y", t.F64, sizes=[n])
    one = b.const(t.F64, 1.0)
    upper = b.binary("sub", n, b.index(slack)) if slack >= 0 else b.binary("add", n, b.index(-slack))

    def body(i):
        place = b.binary("add" if offset >= 0 else "sub", i, b.index(abs(offset)))
        b.store(y, place, value=b.binary("add", shifted(b, x, i, offset), one))

    between(b, level, b.index(first), upper, body)
    return Compiled(b.kernel())


def guarded(values):
    memory = np.full(len(values) + 2 * GUARD, -7.0)
    memory[GUARD : GUARD + len(values)] = values
    return memory, memory[GUARD : GUARD + len(values)]


def run_and_compare(compiled, level, indices, offset, size, *scalars):
    """Against the same loop in Python: faults, values, and the memory around."""
    _, x = guarded(np.arange(size) * 1.0)
    memory, y = guarded(np.zeros(size))
    outcome = compiled(size, *scalars, x, y)
    want, failing = np.zeros(size), []
    for i in indices:
        if 0 <= i + offset < size:
            want[i + offset] = x[i + offset] + 1
        else:
            failing.append(i)
    assert np.array_equal(y, want)
    assert (memory[:GUARD] == -7).all() and (memory[GUARD + size :] == -7).all()
    assert outcome.code == (1 if failing else 0)
    if failing:
        thread = failing[0] - indices[0] if level == "grid" else 0
        assert outcome.fault[abi.FAULT_THREAD] == thread
        assert outcome.fault[abi.FAULT_INDEX] == failing[0] + offset and outcome.fault[abi.FAULT_SIZE] == size


@pytest.mark.parametrize("level", ["grid", "for"])
@pytest.mark.parametrize(("first", "slack"), [(0, 0), (1, 1), (2, 0), (0, 2), (0, -1), (-1, 0), (9, 9)])
def test_neighbours_of_an_index_are_tested_unless_they_must_be_inside(level, first, slack):
    for offset in (-10, -2, -1, 0, 1, 2, 10):
        compiled = stencil(level, first, slack, offset)
        for size in (0, 1, 2, 3, 12, 40):
            run_and_compare(compiled, level, range(first, size - slack), offset, size)


@pytest.mark.parametrize("level", ["grid", "for"])
@pytest.mark.parametrize("offset", [-1, 0, 1])
def test_bounds_that_come_as_scalars_prove_nothing_too_much(level, offset):
    b = Builder()
    n = b.dim("N")
    lower, upper = b.scalar("lower", t.I64), b.scalar("upper", t.I64)
    x, y = b.array("x", t.F64, borrow=t.Borrow.REF, sizes=[n]), b.array("y", t.F64, sizes=[n])
    one = b.const(t.F64, 1.0)

    def body(i):
        place = b.binary("add" if offset >= 0 else "sub", i, b.index(abs(offset)))
        b.store(y, place, value=b.binary("add", shifted(b, x, i, offset), one))

    between(b, level, lower, b.binary("sub", upper, b.index(1)), body)
    compiled = Compiled(b.kernel())
    for low, high, size in itertools.product((-3, 0, 2), (-1, 0, 5, 6, 9), (0, 4, 5)):
        run_and_compare(compiled, level, range(low, high - 1), offset, size, low, high)


def test_a_wrapping_upper_bound_is_not_taken_for_a_size():
    """`n - 1` with the least n is the largest number: the loop is long, and its second access must fail."""
    b = Builder()
    n = b.scalar("n", t.I64)
    y = b.array("y", t.I64)
    one, zero = b.const(t.I64, 1), b.index(0)

    def body(i, count):
        b.store(y, i, value=one)
        return b.binary("ge", b.cast(t.I64, i), one), b.binary("add", count, one)

    def iteration(_):
        extent = typed.Extent(zero, b.binary("sub", n, b.index(1)), b.index(1))
        b.for_(extent, [b.const(t.I64, 0)], body, stops=True)

    b.grid([b.index(1)], iteration)
    y_memory = np.zeros(3, np.int64)
    outcome = Compiled(b.kernel())(-(2**63), y_memory[:1])
    assert outcome.code == 1 and outcome.fault[abi.FAULT_INDEX] == 1 and y_memory.tolist() == [1, 0, 0]


def test_a_stencil_over_the_inside_keeps_no_test_and_is_vectorised():
    b = Builder()
    n, m = b.dim("N"), b.dim("M")
    u = b.array("u", t.F64, 2, borrow=t.Borrow.REF, sizes=[n, m])
    v = b.array("v", t.F64, 2, sizes=[n, m])
    one = b.index(1)

    def body(i, j):
        places = [
            (b.binary("sub", i, one), j),
            (b.binary("add", i, one), j),
            (i, b.binary("sub", j, one)),
            (i, b.binary("add", j, one)),
        ]
        a, c, d, e = (b.load(u, *place) for place in places)
        b.store(v, i, j, value=b.binary("add", b.binary("add", a, c), b.binary("add", d, e)))

    extents = [typed.Extent(one, b.binary("sub", size, one), one) for size in (n, m)]
    b.parallel(extents, body)
    compiled = Compiled(b.kernel())
    optimised = compiled.module.llvm
    assert "@lend_fault" in compiled.text and "@lend_fault" not in optimised
    assert "x double>" in optimised


def written(b, text, i, n):
    """The value of a Python expression over `i`, `n` and numbers, as a tree; `min`, `max`, `+ - * %` only."""
    import ast

    operators = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Mod: "mod"}

    def value(node):
        match node:
            case ast.Constant(value=number):
                return b.index(number)
            case ast.Name(id=name):
                return {"i": i, "n": n}[name]
            case ast.BinOp(left=left, op=op, right=right):
                operator = operators[type(op)]
                first, second = value(left), value(right)
                return b.binary(operator, first, second, b.site("division") if operator == "mod" else None)
            case ast.Call(func=ast.Name(id=name), args=[left, right]):
                return b.binary(name, value(left), value(right))
        raise AssertionError(text)

    return value(ast.parse(text, mode="eval").body)


INDICES = [
    "n - 1 - i", "n - i - 1", "n - i", "n - 2 - i", "n - (i + 1)", "n - 1 - (i - 1)", "i - (n - 1)",
    "min(i + 3, n - 1)", "max(i - 3, 0)", "min(max(i - 3, 0), n - 1)", "max(min(i + 3, n - 1), 0)", "max(min(i - 3, n - 1), 1)",
    "min(max(i, 1), n - 2)", "min(max(i, 0), n)", "max(min(i, n), 0)", "min(n - 1, 4)", "max(n - 5, 0)",
    "(i + 1) % n", "(i - 1) % n", "(i * 7) % n", "i % (n - 3)", "(i - 9) % 4", "i * 2", "2 * i + 1",
]  # fmt: skip


@pytest.mark.parametrize("text", INDICES)
@pytest.mark.parametrize("level", ["grid", "for"])
def test_indices_made_from_indices_are_tested_where_they_can_be_outside(text, level):
    for first, slack in ((0, 0), (1, 1), (0, -2), (2, 1), (-2, 0)):
        b = Builder()
        n = b.dim("N")
        x, y = b.array("x", t.F64, borrow=t.Borrow.REF, sizes=[n]), b.array("y", t.F64)
        upper = b.binary("sub", n, b.index(slack)) if slack >= 0 else b.binary("add", n, b.index(-slack))
        lower = b.index(first)

        def body(i):
            value = b.load(x, written(b, text, i, n))
            b.store(y, b.binary("sub", i, lower), value=value, checked=False)

        between(b, level, lower, upper, body)
        compiled = Compiled(b.kernel())
        for size in (0, 1, 2, 3, 5, 12):
            indices = range(first, size - slack)
            _, x_values = guarded(np.arange(size) + 1.0)
            out = np.zeros(len(indices) + 1)
            outcome = compiled(size, x_values, out)
            want, bad = [], False
            for i in indices:
                try:
                    place = eval(text, {"min": min, "max": max}, {"i": i, "n": size})
                except ZeroDivisionError:
                    place, bad = 0, True
                inside = 0 <= place < size
                bad |= not inside
                want.append(x_values[place] if inside else 0.0)
            assert out[: len(indices)].tolist() == want, (text, first, slack, size)
            assert outcome.code == bad, (text, first, slack, size)


@pytest.mark.parametrize("step", [1, 2, 3, -1, -2])
def test_strided_loops_state_no_more_than_is_true(step):
    b = Builder()
    n = b.dim("N")
    x, y = b.array("x", t.F64, borrow=t.Borrow.REF, sizes=[n]), b.array("y", t.F64, sizes=[n])
    one = b.index(1)
    ends = (one, b.binary("sub", n, one)) if step > 0 else (b.binary("sub", n, one), b.index(0))

    def body(i):
        b.store(y, i, value=b.binary("add", b.load(x, b.binary("sub", i, one)), b.load(x, b.binary("add", i, one))))

    b.parallel([typed.Extent(*ends, b.index(step))], body)
    compiled = Compiled(b.kernel())
    for size in range(7):
        _, x_values = guarded(np.arange(size) + 1.0)
        _, y_values = guarded(np.zeros(size))
        outcome = compiled(size, x_values, y_values)
        want, bad = np.zeros(size), False
        for i in range(1, size - 1, step) if step > 0 else range(size - 1, 0, step):
            want[i] = sum(x_values[k] if 0 <= k < size else 0 for k in (i - 1, i + 1))
            bad |= i + 1 >= size
        assert np.array_equal(y_values, want) and outcome.code == bad


def test_an_inner_loop_that_does_not_run_proves_nothing_after_it():
    """That `k < n` once does not hold where n is 0: the clamped index after the loop is outside."""
    b = Builder()
    n = b.dim("N")
    x, y = b.array("x", t.F64, sizes=[n]), b.array("y", t.F64)
    zero = b.index(0)

    def body(i):
        b.for_(b.extent(n), [], lambda k: b.store(x, k, value=b.const(t.F64, 5.0)))
        last = b.binary("min", b.binary("max", i, zero), b.binary("sub", n, b.index(1)))
        b.store(y, i, value=b.load(x, last))

    b.grid([b.size(y)], body)
    compiled, out = Compiled(b.kernel()), np.zeros(3)
    memory, empty = guarded(np.zeros(0))
    assert compiled(0, empty, out).code == 1 and (memory == -7).all()
    assert compiled(2, np.zeros(2), out).code == 0 and (out == 5).all()


def test_swapped_borrows_of_one_size_and_of_two():
    for same in (True, False):
        b = Builder()
        n, m = b.dim("N"), b.dim("M")
        u = b.array("u", t.F64, sizes=[n])
        v = b.array("v", t.F64, sizes=[n if same else m])
        steps = b.scalar("steps", t.I64)

        def step(_, u, v):
            b.grid([n], lambda i: b.store(v, i, value=b.binary("add", b.load(u, i), b.const(t.F64, 1.0))))
            return v, u

        b.for_(b.extent(steps), [u, v], step)
        compiled = Compiled(b.kernel())
        assert ("@lend_fault" in compiled.module.llvm) != same
        a, (memory, c) = np.zeros(5), guarded(np.zeros(5 if same else 3))
        outcome = compiled(5, 5 if same else 3, a, c, 2)
        assert outcome.code == (not same) and (memory[-GUARD:] == -7).all()
        assert a.tolist() == [2.0] * 5 if same else outcome.fault[abi.FAULT_INDEX] == 3
