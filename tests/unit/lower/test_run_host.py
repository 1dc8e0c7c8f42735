"""Compiled host levels: control flow, temporaries and who frees them, swaps, reshapes, results."""

import ctypes

import numpy as np
import pytest
from hand_built import Builder, Compiled, lower, plan, t, typed

from lend.language import abi


class Counted(Compiled):
    """Counts what a kernel allocates and frees, through functions of its own in place of the target's."""

    def __init__(self, kernel):
        import lend.targets.cpu.target as target

        libc = ctypes.CDLL(None)
        libc.calloc.restype, libc.calloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t, ctypes.c_size_t]
        libc.free.argtypes = [ctypes.c_void_p]
        self.live, self.made, self.most = set(), 0, 0

        @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int32)
        def allocate(size, zeroed):
            if size > 1 << 40:
                return None
            pointer = libc.calloc(1, max(size, 1))
            if not zeroed:
                ctypes.memset(pointer, 0xA5, size)
            self.live.add(pointer)
            self.made, self.most = self.made + 1, max(self.most, len(self.live))
            return pointer

        @ctypes.CFUNCTYPE(None, ctypes.c_void_p)
        def free(pointer):
            self.live.remove(pointer)
            libc.free(pointer)

        self._kept = (allocate, free)
        address = [ctypes.cast(f, ctypes.c_void_p).value for f in (allocate, free)]
        text = lower(plan(kernel))
        functions = [("lend_allocate", "ptr", ["i64", "i32"]), ("lend_free", "void", ["ptr"])]
        for (name, result, parameters), where in zip(functions, address):
            text = text.replace(f"@{name}(", f"@counted_{name}(")
            named = ", ".join(f"{p} %a{k}" for k, p in enumerate(parameters))
            call = f"call {result} inttoptr (i64 {where} to ptr)({named})"
            body = f"  {call}\n  ret void" if result == "void" else f"  %r = {call}\n  ret {result} %r"
            lines = [line for line in text.splitlines() if not line.startswith("declare") or f"@counted_{name}" not in line]
            text = "\n".join(lines) + f"\ndefine {result} @counted_{name}({named}) noinline {{\n{body}\n}}\n"
        self.kernel, self.text = kernel, text
        self.module = target.cpu().compile(text)
        entry = self.module.address("kernel")
        self._call = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(entry)

    def release(self, *owners):
        """Free results, as the runtime does."""
        for owner in set(owners) - {0}:
            self._kept[1](owner)


def fill(b, array, value):
    """`array[i] += value` over a vector."""
    b.grid([b.size(array)], lambda i: b.store(array, i, value=b.binary("add", b.load(array, i), value)))


def test_a_loop_of_regions_with_a_reduction_in_its_condition():
    """Halves a vector until its sum is below a bound; counts the steps."""
    b = Builder()
    x, bound = b.array("x", t.F64), b.scalar("bound", t.F64)
    half, zero, one = b.const(t.F64, 0.5), b.const(t.F64, 0.0), b.const(t.I64, 1)

    def body(_, steps):
        def halve(i, s):
            value = b.binary("mul", b.load(x, i), half)
            b.store(x, i, value=value)
            return b.binary("add", s, value)

        return b.grid([b.size(x)], halve, ("add", [zero])), b.binary("add", steps, one)

    start = b.binary("add", bound, bound)
    result = b.while_([start, b.const(t.I64, 0)], lambda s, _: b.binary("gt", s, bound), body)
    values = np.ones(5000)
    total, steps = Compiled(b.kernel(*result))(values, 10.0).scalars()
    assert steps == 9 and total == 5000 / 512 and (values == 1 / 512).all()


def test_swapped_borrows_are_followed():
    b = Builder()
    u, v, steps = b.array("u", t.F64), b.array("v", t.F64), b.scalar("steps", t.I64)
    one = b.const(t.F64, 1.0)

    def step(_, u, v):
        b.grid([b.size(u)], lambda i: b.store(v, i, value=b.binary("add", b.load(u, i), one)))
        return v, u

    last = b.for_(b.extent(steps), [u, v], step)
    compiled = Compiled(b.kernel(last[0]))
    for count in range(4):
        a, c = np.zeros(1000), np.full(1000, -5.0)
        outcome = compiled(a, c, count)
        assert (outcome.array() == count).all() and outcome.owner() == 0
        assert outcome.words[0] == (a, c)[count % 2].ctypes.data


def test_a_returned_temporary_belongs_to_the_caller_and_others_are_freed():
    b = Builder()
    n = b.scalar("n", t.I64)
    kept, dropped = b.allocate(t.F64, n, n), b.allocate(t.F64, n)
    fill(b, dropped, b.const(t.F64, 2.0))
    b.store(kept, b.index(0), b.index(0), value=b.load(dropped, b.index(1)))
    row = b.view(kept, b.index(0), typed.Extent(b.index(0), n, b.index(1)))
    compiled = Counted(b.kernel(row, kept))
    outcome = compiled(3)
    assert outcome.code == 0 and compiled.made == 2 and len(compiled.live) == 1
    assert outcome.array(0).tolist() == [2, 0, 0] and outcome.array(1).shape == (3, 3)
    assert outcome.owner(0) == outcome.owner(1) in compiled.live
    compiled.release(outcome.owner(0), outcome.owner(1))


def test_an_empty_temporary_has_an_address():
    b = Builder()
    made = b.allocate(t.F64, b.index(0), b.scalar("n", t.I64))
    compiled = Counted(b.kernel(made))
    outcome = compiled(7)
    assert outcome.code == 0 and outcome.words[0] != 0 and outcome.array().shape == (0, 7)
    compiled.release(outcome.owner())


@pytest.mark.parametrize(
    ("sizes", "site", "size"),
    [((2, -1), 0, 0), ((2**40, 2**40), 1, 2**63 - 1), ((2**62, 1), 1, 2**63 - 1), ((2**20, 2**20), 1, 2**43)],
)
def test_temporaries_that_cannot_be(sizes, site, size):
    b = Builder()
    first = b.allocate(t.F64, b.index(3))
    b.allocate(t.F64, *(b.scalar(name, t.I64) for name in "nm"))
    compiled = Counted(b.kernel(b.load(first, b.index(0))))
    outcome = compiled(*sizes)
    assert outcome.code == 1 and not compiled.live
    assert outcome.fault[abi.FAULT_THREAD : abi.FAULT_SITE + 1] == [abi.HOST_LEVEL, 2 + site]
    assert outcome.fault[abi.FAULT_SIZE] == size
    if site == 0:
        assert outcome.fault[abi.FAULT_DIMENSION : abi.FAULT_INDEX + 1] == [1, -1]


def test_a_loop_that_makes_temporaries_keeps_only_what_it_carries():
    b = Builder()
    n, steps = b.scalar("n", t.I64), b.scalar("steps", t.I64)
    one = b.const(t.F64, 1.0)
    first = b.allocate(t.F64, n)

    def step(_, current):
        scratch, following = b.allocate(t.F64, n), b.allocate(t.F64, n)
        fill(b, scratch, one)
        b.grid([n], lambda i: b.store(following, i, value=b.binary("add", b.load(current, i), b.load(scratch, i))))
        return following

    last = b.for_(b.extent(steps), [first], step)
    compiled = Counted(b.kernel(last))
    for count in (0, 1, 50):
        outcome = compiled(100, count)
        assert outcome.code == 0 and (outcome.array() == count).all()
        assert compiled.live == {outcome.owner()}
        compiled.release(outcome.owner())
    assert compiled.made == 3 + 2 * 51 and compiled.most <= 4


def test_faults_free_everything_wherever_they_happen():
    b = Builder()
    n, bad = b.scalar("n", t.I64), b.scalar("bad", t.I64)
    first = b.allocate(t.F64, n)

    def step(k, current):
        following = b.allocate(t.F64, n)
        fill(b, following, b.const(t.F64, 1.0))
        b.store(following, b.binary("mul", b.cast(t.I64, k), bad), value=b.const(t.F64, 1.0))
        return following

    last = b.for_(b.extent(n), [first], step)
    compiled = Counted(b.kernel(last))
    assert compiled(10, 4).code == 1 and compiled.made == 5 and not compiled.live
    outcome = compiled(10, 1)
    assert outcome.code == 0 and len(compiled.live) == 1
    compiled.release(outcome.owner())


def test_branches_and_calls_free_what_does_not_leave_them():
    b = Builder()
    n = b.scalar("n", t.I64)
    x = b.array("x", t.F64)
    outer = b.allocate(t.F64, n)

    def then():
        made, scratch = b.allocate(t.F64, n), b.allocate(t.F64, n)
        fill(b, scratch, b.const(t.F64, 1.0))
        b.store(made, b.index(0), value=b.load(scratch, b.index(0)))
        return made

    def helper(given):
        inside = b.allocate(t.F64, n)
        fill(b, inside, b.const(t.F64, 3.0))
        b.store(given, b.index(1), value=b.load(inside, b.index(0)))
        return b.load(inside, b.index(1))

    big = b.binary("gt", n, b.const(t.I64, 5))
    chosen = b.if_(big, then, lambda: outer)
    got = b.call("helper", [chosen], helper)
    b.store(x, b.index(0), value=got)
    compiled = Counted(b.kernel(chosen))
    for size, want in ((4, [0, 3]), (8, [1, 3])):
        values = np.zeros(1)
        outcome = compiled(size, values)
        assert outcome.code == 0 and outcome.array()[:2].tolist() == want and values[0] == 3
        assert compiled.live == {outcome.owner()}
        compiled.release(outcome.owner())


def test_a_while_loop_that_carries_temporaries_and_breaks():
    b = Builder()
    n, stop_at = b.scalar("n", t.I64), b.scalar("stop_at", t.I64)
    zero, one = b.const(t.I64, 0), b.const(t.I64, 1)

    def test(k, current):
        probe = b.allocate(t.I64, n)
        b.store(probe, zero, value=k)
        return b.binary("lt", b.load(probe, zero), n)

    def step(k, current):
        following = b.allocate(t.I64, n)
        following_k = b.binary("add", k, one)
        b.store(following, zero, value=following_k)
        return b.binary("eq", following_k, stop_at), following_k, following

    first = b.allocate(t.I64, n)
    k, last = b.while_([zero, first], test, step, stops=True)
    compiled = Counted(b.kernel(k, last))
    for stop, want in ((3, 3), (99, 10)):
        outcome = compiled(10, stop)
        assert outcome.scalars() == [want] and outcome.array()[0] == want
        assert compiled.live == {outcome.owner()}
        compiled.release(outcome.owner())


def reshape_kernel(layout):
    b = Builder()
    x = b.array("x", t.F64, 2, layout)
    n, m, k = (b.scalar(name, t.I64) for name in "nmk")
    return Compiled(b.kernel(b.reshape(x, n, m, k)))


def test_reshaped_arrays_share_memory():
    compiled, values = reshape_kernel(t.Layout.C), np.arange(24.0).reshape(4, 6)
    outcome = compiled(values, 2, 3, 4)
    assert outcome.words[0] == values.ctypes.data and np.array_equal(outcome.array(), values.reshape(2, 3, 4))


@pytest.mark.parametrize("sizes", [(2, 3, 5), (-2, -3, 4), (2**32, 2**32, 24), (0, 3, 4)])
def test_a_reshape_must_keep_the_number_of_elements(sizes):
    outcome = reshape_kernel(t.Layout.C)(np.zeros((4, 6)), *sizes)
    assert outcome.code == 1 and outcome.fault[abi.FAULT_SITE] == 0 and outcome.fault[abi.FAULT_SIZE] == 24


def test_a_reshape_needs_elements_without_gaps():
    compiled, wide = reshape_kernel(t.Layout.STRIDED), np.arange(48.0).reshape(4, 12)
    assert np.array_equal(compiled(wide[:2], 2, 3, 4).array(), wide[:2].reshape(2, 3, 4))
    for gaps in (wide[:, ::2], wide[:, :6], wide[::-1, :6], np.asfortranarray(wide[:, :6])):
        outcome = compiled(gaps, 2, 3, 4)
        assert outcome.code == 1 and outcome.fault[abi.FAULT_SITE] == 1
    assert np.array_equal(compiled(wide[1:2, :6], 1, 3, 2).array().ravel(), wide[1, :6])  # a single row has no gaps
    assert compiled(wide[:0, ::2], 0, 5, 7).array().shape == (0, 5, 7)


def test_results_of_every_kind_stand_in_order():
    b = Builder()
    x = b.array("x", t.F32, 2)
    flag, z = b.scalar("flag", t.BOOL_), b.scalar("z", t.COMPLEX128)
    compiled = Compiled(b.kernel(flag, x, z, b.size(x, 1), b.unary("not", flag)))
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    outcome = compiled(values, True, 1 + 2j)
    assert outcome.scalars() == [True, 1 + 2j, 3, False] and np.array_equal(outcome.array(), values)


def test_loops_run_in_both_directions_and_break():
    b = Builder()
    extent = typed.Extent(*(b.scalar(name, t.I64) for name in ("lower", "upper", "step")))
    limit = b.scalar("limit", t.I64)

    def body(k, total):
        following = b.binary("add", total, b.cast(t.I64, k))
        return b.binary("ge", following, limit), following

    total = b.for_(extent, [b.const(t.I64, 0)], body, stops=True, site=b.site("step"))
    compiled = Compiled(b.kernel(total))
    for lower_, upper, step, limit_ in [(0, 10, 1, 999), (0, 10, 1, 12), (10, 0, -3, 999), (5, 5, 1, 0), (3, 30, 7, 14)]:
        want = 0
        for k in range(lower_, upper, step):
            want += k
            if want >= limit_:
                break
        assert compiled(lower_, upper, step, limit_).scalars() == [want]


def test_a_very_long_reduction_keeps_its_partials_in_memory_it_frees():
    b = Builder()
    n, zero = b.scalar("n", t.I64), b.const(t.I64, 0)
    total = b.grid([n], lambda i, s: b.binary("add", s, b.cast(t.I64, i)), ("add", [zero]))
    compiled = Compiled(b.kernel(total))
    for size in (64 * 2048, 64 * 2048 + 1, 3_000_000):
        assert compiled(size).scalars() == [size * (size - 1) // 2]
