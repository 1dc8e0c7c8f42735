"""What once went wrong, one test each, named after it."""

import linecache
import math

import numpy as np
import pytest

import lend
from lend import Mut, Ref, T, bool_, f32, f64, i32, i64, u8, u16
from lend.dims import M, N


@lend.kernel
def reverse_into(x: Ref[f64, N], y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] = x[N - 1 - i]


def test_arrays_that_meet_after_an_iteration_are_not_taken_for_disjoint():
    with pytest.raises(lend.CompileError, match="may overlap"):

        @lend.kernel
        def rotated(u: Mut[f64, N], v: Mut[f64, N], n: i64):
            w = u
            for _ in range(n):
                reverse_into(u, v)
                u, v, w = v, w, u


@lend.kernel
def newest(n: i64) -> f64:
    u = lend.zeros(f64, 10)
    for k in range(n):
        v = lend.zeros(f64, 10)
        v[0] = u[0] + 1
        u = v
        if k % 3 == 0:
            continue
        w = lend.zeros(f64, 5)
        if k % 5 == 0:
            u = w
    return u[0]


def test_a_temporary_of_one_iteration_is_carried_to_the_next():
    assert newest(31) == newest.py(31) == 5


@lend.kernel
def found(x: Ref[f64, N], n: i64):
    while True:
        t = lend.zeros(f64, 3)
        t[1] = x[n % N]
        for k in range(n):
            if k == 4:
                return t, x[1:], t[k - 3 :]
        n += 1


def test_arrays_are_returned_from_inside_loops():
    x = np.arange(5.0)
    for run in (found, found.py):
        first, second, third = run(x, 1)
        assert (first.tolist(), second.tolist(), third.tolist()) == ([0, 0, 0], [1, 2, 3, 4], [0, 0])


@lend.kernel
def kept(x: Mut[f64, N], lower: i64, upper: i64) -> i64:
    part = x[lower:upper:3]
    return len(part)


def test_the_size_of_an_empty_slice_does_not_wrap():
    for run in (kept, kept.py):
        assert run(np.zeros(4), 3, -(2**63)) == 0
        assert run(np.zeros(4), 2**63 - 1, -(2**63)) == 0
        assert run(np.zeros(4), 0, 4) == 2


@lend.kernel
def count(n: i64) -> i64:
    s = 0
    for _i, _j in lend.grid(n, n):
        s += 1
    return s


def test_a_reduction_too_large_for_memory_says_so():
    with pytest.raises(lend.DeviceMemoryError, match="partial results"):
        count(2**40)


@lend.kernel
def without_elements(n: i64):
    return lend.zeros(f64, 0, n)


def test_an_empty_array_that_numpy_cannot_hold():
    for run in (without_elements, without_elements.py):
        assert run(3).shape == (0, 3)
        with pytest.raises(lend.DeviceMemoryError):
            run(2**63 - 1)


@lend.function
def applied(f, q):
    return f(q) + f(q)


@lend.kernel
def late(x: Ref[i64, N], y: Mut[i64, N]):
    for i in lend.grid(N):
        t = 0
        q = 5
        f = lambda v: v + t  # noqa: E731
        g = lambda v, w=q: v * w + N  # noqa: E731
        for k in range(4):
            h = lambda v: v * k + t  # noqa: B023, E731
            t = f(t) + h(1)
        q = x[i]
        y[i] = t + f(1) + applied(g, q)


def test_a_closure_sees_names_as_they_are_at_the_call_and_defaults_as_they_were():
    x = np.arange(10)
    for run in (late, late.py):
        y = np.zeros(10, int)
        run(x, y)
        t = 0
        for k in range(4):
            t = 2 * t + k + t
        assert y.tolist() == [t + 1 + t + 2 * (5 * v + 10) for v in x]


@lend.kernel
def operands(x: Ref[i64, N], y: Mut[i64, N, 4]):
    for i in lend.grid(N):
        y[i, 0] = x[i] or 7
        y[i, 1] = x[i] and 7 and x[i] - 1
        y[i, 2] = 0 if x[i] and x[N - 1 - i] or not (x[i] or x[0]) else 3
        y[i, 3] = (i + 1 < N and x[i + 1] > 2) or (i > 2 and x[i - 3] > 2)


def test_and_and_or_give_an_operand():
    x = np.array([0, 3, 1, 0, -2, 5])
    for run in (operands, operands.py):
        y = np.zeros((6, 4), int)
        run(x, y)
        for i in range(6):
            last = (i + 1 < 6 and x[i + 1] > 2) or (i > 2 and x[i - 3] > 2)
            middle = 0 if x[i] and x[5 - i] or not (x[i] or x[0]) else 3
            assert y[i].tolist() == [x[i] or 7, x[i] and 7 and x[i] - 1, middle, last]


@lend.kernel
def unrolled_with_a_way_out(x: Ref[i64, N], y: Mut[i64, N]):
    for i in lend.grid(N):
        s = 0
        for k in lend.static_range(300):
            s += k * x[i]
            if s > 1000:
                break
        y[i] = s


def test_a_long_unrolled_loop_with_break():
    x = np.arange(5)
    for run in (unrolled_with_a_way_out, unrolled_with_a_way_out.py):
        y = np.zeros(5, int)
        run(x, y)
        assert y.tolist() == [0, 1035, 1056, 1053, 1012]


def test_a_sum_of_many_terms():
    terms = " + ".join(f"{k} * x[i]" for k in range(1000))
    kernel = kernel_of(f"    for i in lend.grid(N):\n        y[i] = {terms}\n")
    x = np.arange(5)
    for run in (kernel, kernel.py):
        y = np.zeros(5, int)
        run(x, y)
        assert y.tolist() == (499500 * x).tolist()


def test_a_chain_of_loads_takes_no_exponential_time():
    names = " and ".join(f"x[{k} % N] >= 0" for k in range(24))
    namespace = kernel_of(f"    for i in lend.grid(N):\n        y[i] = 1 if {names} else 2\n")
    y = np.zeros(3, int)
    namespace(np.arange(3), y)
    assert y.tolist() == [1, 1, 1]


def kernel_of(body: str, header: str = "x: Ref[i64, N], y: Mut[i64, N]"):
    """A kernel `k` with this body, of two arrays if nothing else is said."""
    text = f"@lend.kernel\ndef k({header}):\n{body}"
    name = f"<regression {len(linecache.cache)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    namespace = {**globals(), "f32": f32}
    exec(compile(text, name, "exec"), namespace)
    return namespace["k"]


def test_private_arrays_that_no_stack_holds_are_refused():
    body = (
        "    for i in lend.grid(N):\n        z = lend.local(f64, {0})\n        for k in range({0}):\n            z[k] = 0\n"
        "        z[x[i]] = i\n        y[i] = i64(z[{0} - 1])\n"
    )
    y = np.zeros(3, int)
    kernel_of(body.format(8_000))(np.array([7_999, 0, 7_999]), y)
    assert y.tolist() == [0, 0, 2]
    with pytest.raises(lend.CompileError, match="at most 65536 in all"):
        kernel_of(body.format(1_200_000))


@lend.function
def widened(v) -> f64:
    return v


@lend.kernel
def declared(x: Ref[i32, N], k: i64) -> tuple[f64, i64]:
    return widened(x[0]) / 2 + 1, 7


def test_results_have_the_types_that_are_declared():
    for run in (declared, declared.py):
        assert run(np.array([5], np.int32), 3) == (3.5, 7)
    for result, value in (
        ("f32", "k"),
        ("i64", "None"),
        ("None", "k"),
        ("tuple[i64, i64]", "k"),
        ("Ref[f64, N]", "x"),
        ("i32", "2**40"),
    ):
        text = f"    return {value}\n"
        with pytest.raises(lend.CompileError, match="k"):
            kernel_of(text, f"x: Ref[i64, N], k: i64) -> ({result}")


@lend.kernel(math="strict")
def at_most_the_larger(x: Ref[f32, N], count: Ref[u16, N], out: Mut[bool_, N]):
    for i in lend.grid(N):
        out[i] = x[i] <= np.fmax(math.fmod(x[i], f32(3.0)), f32(count[i]))


def test_fmax_of_nan_and_a_converted_integer_is_the_integer():
    x, count = np.full(50, -np.inf, np.float32), np.full(50, 10, np.uint16)
    for run in (at_most_the_larger, at_most_the_larger.py):
        out = np.zeros(50, bool)
        run(x, count, out)
        assert out.all()


@lend.kernel
def log_of_sum(x: Ref[f32, N], y: Ref[f32, N], n: Ref[u8, N], out: Mut[f32, N]):
    for i in lend.grid(N):
        out[i] = np.logaddexp2(np.logaddexp(x[i], y[i]), n[i])


def test_logaddexp_of_f32_is_f32():
    x, y, n = (np.linspace(low, 9, 100, dtype=np.float32) for low in (-9, 9, 0))
    out = np.zeros(100, np.float32)
    log_of_sum(x, y, n.astype(np.uint8), out)
    np.testing.assert_allclose(out, np.logaddexp2(np.logaddexp(x, y), n.astype(np.uint8).astype(np.float32)), rtol=1e-6)


@lend.kernel
def shorter_into(x: Ref[f64, N], y: Mut[f64, M]):
    for i in lend.grid(min(N, M)):
        y[i] = x[i] * 2


@lend.kernel
def rows_into(x: Mut[f64, N, M]):
    t = lend.zeros(f64, M)
    shorter_into(x[0, :], t)
    shorter_into(t[::2], x[1, 1:])


def test_a_value_has_its_own_name_in_each_plain_function():
    for run in (rows_into, rows_into.py):
        x = np.arange(8.0).reshape(2, 4)
        run(x)
        assert x.tolist() == [[0, 1, 2, 3], [4, 0, 8, 7]]


@lend.function
def element_of(x, i):
    return x[i]


@lend.kernel
def far_away(x: Mut[f64, N], n: i64):
    for i in lend.grid(N):
        with lend.unchecked("only x[i] is written here"):
            x[i] = element_of(x, i + n)


def test_unchecked_does_not_reach_into_functions():
    for run in (far_away, far_away.py):
        with pytest.raises(lend.BoundsError):
            run(np.zeros(3), 10**15)


@lend.kernel
def doubled(x: Ref[T, N], y: Mut[T, N]) -> T:
    half = lend.local(T, 2)
    half[1] = T(2)
    for i in lend.grid(N):
        y[i] = x[i] * T(2)
    return half[1]


@lend.kernel
def doubles(x: Mut[i32, N], y: Ref[T, N], z: Mut[T, N]) -> T:
    t = lend.zeros(i32, N)
    return T(doubled(x, t)) + T(doubled(y, z))


def test_type_variables_are_types_in_the_body():
    for run in (doubles, doubles.py):
        for dtype in (np.int64, np.uint8):
            z = np.zeros(3, dtype)
            assert run(np.arange(3, dtype=np.int32), np.arange(3, dtype=dtype), z) == 4
            assert z.tolist() == [0, 2, 4]


@pytest.mark.parametrize("count", [60, 2000])
def test_many_early_exits_compile_or_are_refused(count):
    exits = "".join(f"        if x[i] == {k}:\n            continue\n" for k in range(count))
    body = f"    for i in lend.grid(N):\n{exits}        y[i] = 1\n"
    if count > 100:
        with pytest.raises(lend.CompileError, match="nests code too deeply"):
            kernel_of(body)
        return
    y = np.zeros(3, int)
    kernel_of(body)(np.array([1, 1000, 59]), y)
    assert y.tolist() == [0, 1, 0]


def test_a_captured_zero_changes_its_sign():
    zero = 0.0

    @lend.kernel
    def one_over() -> f64:
        return 1.0 / zero

    assert one_over() == np.inf
    zero = -0.0
    assert one_over() == -np.inf


@lend.kernel
def joined_late(x: Ref[i64, N], y: Mut[f64, N]):
    for i in lend.grid(N):
        s = 0
        t = 0
        for k in range(i % 5):
            t = s
            if k == 2:
                s = 2.5
            for _ in range(2):
                s = s + 1
                t += 1
        y[i] = s * 10 + t


def test_a_variable_takes_its_type_from_one_that_widens_later():
    for run in (joined_late, joined_late.py):
        y = np.zeros(5)
        run(np.zeros(5, int), y)
        assert y.tolist() == [0, 22, 44, 51, 71.5]


@lend.function
def first_power_above(x, n):
    if x < 0.0:
        scaled = 0.0
        scale = i64(1)
    else:
        if x > 100.0:
            return i64(-1)
        for k in range(n):
            if k == 5:
                return i64(-2)
        scale = 1.5
        scaled = x * scale
    while True:
        if scaled > 10.0:
            factor = f32(2)
        else:
            if n > 3:
                n -= 1
                continue
            factor = f32(3)
        return i64(scaled * factor) + n


@lend.kernel
def powers(x: Ref[f64, N], n: i64, out: Mut[i64, N]):
    for i in lend.grid(N):
        out[i] = first_power_above(x[i], n)


def test_names_count_as_assigned_where_the_other_path_has_returned():
    x = np.array([-1.0, 2.0, 20.0, 200.0])
    for n, expected in ((2, [2, 11, 62, -1]), (4, [3, 12, 64, -1]), (9, [3, -2, -2, -1])):
        for run in (powers, powers.py):
            out = np.zeros(4, np.int64)
            run(x, n, out)
            assert out.tolist() == expected


def test_a_name_missing_at_a_break_is_missing_after_the_loop():
    with pytest.raises(lend.CompileError, match="`found` is not assigned on every path"):

        @lend.kernel
        def search(x: Ref[f64, N]) -> f64:
            k = 0
            while True:
                if k < N:
                    found = x[k]
                else:
                    if k >= 0:
                        break
                    found = 0.0
                if found > 0.0:
                    break
                k += 1
            return found


def test_a_temporary_that_only_some_iterations_swap():
    @lend.kernel
    def stepped(n: i64, every: i64) -> f64:
        u = lend.zeros(f64, 3)
        v = lend.zeros(f64, 3)
        k = 0
        while k < n:
            k += 1
            if k % every == 0:
                u, v = v, u
            u[0] += 1.0
        return u[0]

    assert stepped(5, 2) == stepped.py(5, 2) == 3


@lend.kernel
def kept_through_a_loop(n: i64) -> f64:
    u = lend.zeros(f64, 3)
    k = 0
    while k < n:
        k += 1
        if k > 2:
            u, w = lend.zeros(f64, 3), u
            u[0] = w[0] + 1.0
    return u[0]


def test_a_temporary_that_only_some_iterations_replace():
    assert kept_through_a_loop(5) == kept_through_a_loop.py(5) == 3
