"""Programs that naive rules accept: each is refused, or right.

Does: the programs at the end of the rules of soundness that concern host and grid level, by their numbers.
Does not: team level and atomics (`test_team_rules.py`), devices (C02, C08, C09, H04, H06-H08, H20), `lend.unchecked` (tests/run).
"""

from __future__ import annotations

import subprocess
import sys
from typing import Literal

import numpy as np
import pytest
from verdicts import assert_accepted, assert_proved, others, refused

import lend
from lend import Mut, Out, Ref, bool_, f64, i32, i64, u32
from lend.dims import D, K, M, N

# ------------------------------------------------------------------------------------------------ values, not names


def test_s01_a_loaded_index_is_another_value_in_each_iteration():
    with refused("L0311", "`y`"):

        @lend.kernel
        def kernel(idx: Ref[i64, N], y: Mut[f64, M, K]):
            for i in lend.grid(N):
                k = idx[i]
                if 1 <= k and k < M and i + 1 < K:
                    y[k, i] = y[k - 1, i + 1]


def test_s01_one_loaded_index_for_the_whole_loop():
    @lend.kernel
    def kernel(idx: Ref[i64, N], y: Mut[f64, M, K]):
        assert N > 0
        k = idx[0]
        for i in lend.grid(K - 1):
            if 1 <= k and k < M:
                y[k, i] = y[k - 1, i + 1]

    assert "race" not in " ".join(others(kernel))


def test_s02_the_index_is_given_another_value():
    with refused("L0310", "threads i=0 and i=1 both write y[0]"):

        @lend.kernel
        def kernel(y: Mut[f64, N]):
            for i in lend.grid(N):
                i = i // 2
                y[i] = 0.0


def test_s03_a_cursor_that_moves_by_data():
    with refused("L0311", "`y`"):

        @lend.kernel
        def kernel(s: Ref[i64, M], y: Mut[f64, N]):
            for i in lend.grid(N):
                k = i64(0)
                for j in range(M):
                    y[k] = 1.0
                    k += s[j]


def test_s03_a_cursor_of_one_row():
    @lend.kernel
    def kernel(s: Ref[i64, M], y: Mut[f64, N, K]):
        for i in lend.grid(N):
            k = i64(0)
            for j in range(M):
                y[i, k] = 1.0
                k += s[j]

    assert_accepted(kernel, {"bounds checked y"})


def test_s05_a_bound_that_changes_between_two_loops():
    @lend.kernel
    def right(y: Out[f64, N], z: Mut[f64, N]):
        lo = i64(0)
        for i in lend.grid((lo, N)):
            y[i] = 0.0
        lo = N // 2
        for i in lend.grid((lo, N)):
            z[i] = y[i]

    assert_proved(right)
    with refused("L0320", "`y`", "no value yet"):

        @lend.kernel
        def swapped(y: Out[f64, N], z: Mut[f64, N]):
            lo = N // 2
            for i in lend.grid((lo, N)):
                y[i] = 0.0
            lo = i64(0)
            for i in lend.grid((lo, N)):
                z[i] = y[i]


def test_s06_a_contract_is_about_the_first_value():
    @lend.kernel
    def kernel(n: i32, y: Mut[f64, N]):
        assert n <= N
        n = n + 10
        for i in lend.grid(n):
            y[i] = 0.0

    assert "bounds proved" not in " ".join(f"{p.obligation} {p.verdict}" for p in kernel.proofs())
    y = np.ones(12)
    kernel(2, y)
    assert not y.any()
    with pytest.raises(lend.BoundsError):
        kernel(3, y)


# ------------------------------------------------------------------------------------------------ machine arithmetic


def test_s08_unsigned_numbers_wrap():
    @lend.kernel
    def kernel(y: Ref[f64, N], k: u32) -> f64:
        total = 0.0
        if k - u32(1) >= u32(0):
            total = y[k - u32(1)]
        return total

    assert any(p.obligation == "bounds" and p.verdict != "proved" for p in kernel.proofs())
    assert kernel(np.arange(3.0), 3) == 2.0
    with pytest.raises(lend.BoundsError):
        kernel(np.arange(3.0), 0)


def test_s08_unsigned_numbers_wrap_in_a_region():
    @lend.kernel
    def kernel(k: Ref[u32, M], x: Ref[f64, N], y: Out[f64, M]):
        for i in lend.grid(M):
            y[i] = 0.0
            if k[i] - u32(1) >= u32(0):
                y[i] = x[k[i] - u32(1)]

    with pytest.raises(lend.BoundsError):
        kernel(np.array([1, 0], np.uint32), np.ones(3), np.zeros(2))


def test_s11_a_bool_whose_byte_is_two():
    @lend.kernel
    def kernel(flag: Ref[bool_, N], s: Ref[f64, Literal[2]], y: Out[f64, N]):
        for i in lend.grid(N):
            y[i] = s[i32(flag[i])]

    assert_proved(kernel)
    y = np.zeros(3)
    kernel(np.array([2, 0, 255], np.uint8).view(bool), np.array([1.0, 7.0]), y)
    assert y.tolist() == [7.0, 1.0, 7.0]


def test_s12_division_by_a_scalar_that_is_zero():
    @lend.kernel
    def kernel(y: Mut[f64, N], x: Ref[f64, N], d: i32):
        for i in lend.grid(N):
            y[i] = x[i // d]

    assert any(p.obligation == "arith" and p.verdict in ("launch", "checked") for p in kernel.proofs())
    kernel(np.zeros(4), np.ones(4), 2)
    with pytest.raises(lend.ArithmeticFault):
        kernel(np.zeros(4), np.ones(4), 0)


def test_s12_division_by_a_constant_zero():
    with pytest.raises(lend.CompileError):

        @lend.kernel
        def kernel(y: Mut[f64, N], x: Ref[f64, N]):
            z = i64(0)
            for i in lend.grid(N):
                y[i] = x[i % z]


def test_s12_the_least_number_divided_by_minus_one_wraps():
    @lend.kernel
    def kernel(x: Ref[i32, N], y: Out[i32, N], d: i32):
        for i in lend.grid(N):
            y[i] = x[i] // d

    y = np.zeros(2, np.int32)
    kernel(np.array([-(2**31), 5], np.int32), y, -1)
    assert y.tolist() == [-(2**31), -5]


def test_s12_the_least_number_divided_by_minus_one_as_a_subscript():
    @lend.kernel
    def kernel(at: Ref[i64, M], x: Ref[f64, N], y: Mut[f64, M]):
        for i in lend.grid(M):
            k = at[i] // -1
            if k >= 0:
                y[i] = x[k]

    assert any(p.verdict == "checked" for p in kernel.proofs())
    with pytest.raises(lend.BoundsError):
        kernel(np.array([-5]), np.ones(3), np.zeros(1))
    kernel(np.array([-(2**63)]), np.ones(3), np.zeros(1))


def test_s12_a_shift_by_the_width_or_more():
    @lend.kernel
    def kernel(x: Ref[f64, N], y: Mut[f64, N], k: i64):
        for i in lend.grid(N):
            y[i] = x[i] + f64(i32((1 << k) & 1))

    y = np.zeros(2)
    kernel(np.ones(2), y, 64)
    assert y.tolist() == [1.0, 1.0]
    with pytest.raises(lend.ArithmeticFault):
        kernel(np.ones(2), y, -1)


def test_s12_a_step_of_zero():
    @lend.kernel
    def kernel(y: Mut[f64, N], step: i64):
        for i in lend.grid((0, N, step)):
            y[i] = 1.0

    assert any(p.obligation == "arith" and p.verdict in ("launch", "checked") for p in kernel.proofs())
    kernel(np.zeros(4), 2)
    with pytest.raises(lend.ArithmeticFault):
        kernel(np.zeros(4), 0)


def test_s14_a_flat_index_whose_width_changes_from_call_to_call():
    @lend.kernel
    def kernel(y: Mut[f64, K], n: i64, rows: i64, columns: i64):
        for i, j in lend.grid(rows, columns):
            y[i * n + j] = 1.0

    y = np.zeros(12)
    kernel(y, 4, 3, 4)
    assert y.all()
    for width in (0, 1, 3):
        with pytest.raises(lend.ContractError, match="race on `y`"):
            kernel(y, width, 3, 4)
    with pytest.raises(lend.BoundsError):
        kernel(y, -4, 3, 4)
    kernel(y, 4, 3, 4)


def test_s16_a_negative_subscript_is_not_from_the_end():
    with refused("L0214"):

        @lend.kernel
        def constant(x: Mut[f64, N]):
            x[-1] = 0.0

    with refused("L0301", "thread i=0 reads x[-1]"):

        @lend.kernel
        def computed(x: Ref[f64, N], y: Out[f64, N]):
            for i in lend.grid(N):
                y[i] = x[i - 1]


def test_s16_in_plain_python_too():
    @lend.kernel
    def kernel(x: Ref[f64, N], y: Mut[f64, N], k: i64):
        for i in lend.grid(N):
            y[i] = x[i - k]

    for call in (kernel, kernel.py):
        with pytest.raises(lend.BoundsError, match="-1"):
            call(np.ones(3), np.zeros(3), 1)


def test_s17_recursion():
    @lend.function
    def down(k):
        return down(k - 1) if k > 0 else 0

    with refused("L0226"):

        @lend.kernel
        def kernel(y: Mut[i64, N]):
            for i in lend.grid(N):
                y[i] = down(i)


def ping(k):
    return pong(k - 1) if k > 0 else 0


def pong(k):
    return ping(k - 1) if k > 0 else 1


ping, pong = lend.function(ping), lend.function(pong)


def test_s17_mutual_recursion():
    with refused("L0226"):

        @lend.kernel
        def kernel(y: Mut[i64, N]):
            for i in lend.grid(N):
                y[i] = ping(i)


# ----------------------------------------------------------------------------------------------------- host side


def test_h01_an_array_that_overlaps_itself():
    @lend.kernel
    def kernel(y: Mut[f64, N, M]):
        for i, j in lend.grid(N, M):
            y[i, j] = 1.0

    assert_proved(kernel)
    with pytest.raises(lend.BorrowError):
        kernel(np.lib.stride_tricks.as_strided(np.zeros(8), (5, 4), (8, 8)))


def test_h02_a_field_at_an_odd_address():
    @lend.kernel
    def kernel(x: Ref[f64, N], y: Mut[f64, N]):
        for i in lend.grid(N):
            y[i] += x[i]

    records = np.zeros(5, np.dtype([("tag", "u1"), ("a", "f8")]))
    assert records["a"].ctypes.data % 8
    kernel(np.arange(5.0), records["a"])
    assert records["a"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert not records["tag"].any()


def test_h10_one_array_for_both_parameters_of_a_function():
    @lend.function
    def shift(to, source, i):
        to[i] = source[i + 1]
        source[i + 1] = 2.0 * to[i]
        return to[i] + source[i + 1]

    @lend.kernel
    def kernel(y: Mut[f64, N], z: Mut[f64, N]):
        for i in lend.grid(N // 2):
            z[i] = shift(y, y, 2 * i)

    assert_proved(kernel)
    y, z = np.arange(6.0), np.zeros(6)
    kernel(y, z)
    assert y.tolist() == [1.0, 2.0, 3.0, 6.0, 5.0, 10.0]
    assert z.tolist() == [3.0, 9.0, 15.0, 0.0, 0.0, 0.0]


def test_h10_a_race_between_both_parameters_of_a_function():
    @lend.function
    def shift(to, source, i):
        to[i] = source[i + 1]

    with refused("L0310", "writes y[1], which thread i=0 reads"):

        @lend.kernel
        def kernel(y: Mut[f64, N]):
            for i in lend.grid(N - 1):
                shift(y, y, i)


PROGRAM = """
import numpy as np
import lend
from lend import Mut, f64, i64
from lend.dims import N

@lend.kernel
def kernel(y: Mut[f64, N], k: i64):
    assert 0 <= k < N
    for i in lend.grid(N - k):
        y[i + k] = 1.0

for call in (kernel, kernel.py):
    try:
        call(np.zeros(3), 4)
    except lend.ContractError:
        print("refused")
"""


def test_h11_contracts_are_kept_by_optimised_python(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, "-O", "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["refused", "refused"], done.stderr


def test_h13_no_index_into_nothing():
    @lend.kernel
    def kernel(at: Ref[lend.Index[D], M], x: Ref[f64, D], y: Out[f64, M]):
        for i in lend.grid(M):
            y[i] = x[at[i]]

    kernel(np.zeros(2, np.int64), np.ones(1), np.zeros(2))
    kernel(np.zeros(0, np.int64), np.ones(0), np.zeros(0))
    with pytest.raises(lend.BoundsError):
        kernel(np.zeros(2, np.int64), np.ones(0), np.zeros(2))
    with refused("L0504"):

        @lend.kernel
        def unbound(at: Ref[lend.Index[D], M], y: Out[f64, M]):
            for i in lend.grid(M):
                y[i] = f64(at[i])


def test_h14_a_write_behind_a_guard_on_data_covers_nothing():
    with refused("L0321", "`y`", "may stay unwritten"):

        @lend.kernel
        def kernel(x: Ref[f64, N], y: Out[f64, N]):
            for i in lend.grid(N):
                if x[i] > 0:
                    y[i] = x[i]


def test_h14_a_checked_write_covers_nothing():
    with refused("L0321", "`y`"):

        @lend.kernel
        def kernel(k: i64, at: Ref[i64, N], y: Out[f64, N, M]):
            for i in lend.grid(N):
                for j in range(M):
                    y[i, at[i]] = 0.0


def test_h15_a_loop_on_an_error_that_a_fault_made_useless():
    @lend.kernel
    def kernel(x: Mut[f64, N], at: Ref[i64, N], tol: f64) -> f64:
        err = tol + 1.0
        while err > tol:
            err = 0.0
            for i in lend.grid(N):
                err = max(err, abs(x[at[i]]) + 1.0)
        return err

    with pytest.raises(lend.BoundsError):
        kernel(np.ones(4), np.array([0, 1, 2, 4]), 0.5)


# ------------------------------------------------------------------------------------------------- generated code


def test_c04_a_guarded_load_is_a_branch():
    @lend.kernel
    def kernel(x: Ref[f64, N], at: Ref[i64, M], y: Out[f64, M]):
        for i in lend.grid(M):
            k = at[i]
            y[i] = x[k] if 0 <= k and k < N else 0

    assert_proved(kernel)
    y = np.ones(3)
    kernel(np.ones(2), np.array([1, 2**40, -(2**40)]), y)
    assert y.tolist() == [1.0, 0.0, 0.0]


def test_c05_a_sum_that_wraps_past_its_own_check():
    @lend.kernel
    def kernel(k: Ref[i64, M], x: Ref[f64, N], y: Mut[f64, M]):
        for i in lend.grid(M):
            if k[i] + 1 > k[i]:
                y[i] = 1.0
            else:
                y[i] = 2.0

    y = np.zeros(2)
    kernel(np.array([0, 2**63 - 1]), np.zeros(1), y)
    assert y.tolist() == [1.0, 2.0]


def test_c05_a_guard_that_wraps_proves_nothing():
    @lend.kernel
    def kernel(k: Ref[i64, M], x: Ref[f64, N], y: Mut[f64, M]):
        for i in lend.grid(M):
            j = k[i]
            if 0 <= j and j + 1 < N:
                y[i] = x[j]

    assert "bounds checked x" in others(kernel)
    with pytest.raises(lend.BoundsError):
        kernel(np.array([2**63 - 1]), np.zeros(3), np.zeros(1))


def test_c07_a_checked_read_proves_nothing_of_what_follows():
    @lend.kernel
    def kernel(at: Ref[i64, N], x: Ref[f64, K], z: Ref[f64, K], y: Out[f64, N]):
        for i in lend.grid(N):
            y[i] = x[at[i]] + z[at[i]]

    assert_accepted(kernel, {"bounds checked x", "bounds checked z"})


def test_c07_a_failed_read_as_a_subscript_of_nothing():
    @lend.kernel
    def kernel(at: Ref[i64, K], x: Mut[f64, N], k: i64) -> f64:
        total = 0.0
        for i in lend.grid(1):
            total += x[at[k]]
        return total

    with pytest.raises(lend.BoundsError):
        kernel(np.zeros(1, np.int64), np.zeros(0), 3)


def test_c07_a_skipped_store_leaves_a_tile_unwritten():
    with refused("L0320", "`t`"):

        @lend.kernel
        def kernel(at: Ref[i64, N], y: Out[f64, N]):
            t = lend.empty(f64, N)
            for i in range(N):
                t[at[i]] = 1.0
            for i in lend.grid(N):
                y[i] = t[i]
