"""Obligations that are decided at the call: conditions on sizes and scalars, and subscripts that are linear only then."""

from typing import Literal

import numpy as np
import pytest

import lend
from lend import Mut, Out, Ref, bool_, f64, i32, i64, u8
from lend.dims import K, M, N


@lend.kernel
def rows_side_by_side(n: i64, m: i64, y: Mut[f64, N]):
    for i, j in lend.grid(m, n):
        y[i * n + j] = f64(i) + f64(j)


@lend.kernel
def flattened(x: Ref[f64, N, M], y: Out[f64, K]):
    assert N * M == K
    for i, j in lend.grid(N, M):
        y[i * M + j] = x[i, j]


@lend.kernel
def strided(n: i64, s: i64, y: Mut[f64, N]):
    for i in lend.grid(n):
        y[i * s] = 1.0


@lend.kernel
def shifted(x: Mut[f64, N], s: i64):
    for i in lend.grid(N // 2):
        x[i] = x[i + s]


@lend.kernel
def copied(x: Ref[f64, M], y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] = x[i]


def test_a_product_of_an_index_and_a_scalar_is_decided_at_the_call():
    y = np.zeros(12)
    rows_side_by_side(4, 3, y)
    np.testing.assert_array_equal(y, np.add.outer(np.arange(3.0), np.arange(4.0)).ravel())


def test_an_out_array_written_through_a_product_is_covered_at_the_call():
    x, y = np.arange(12.0).reshape(3, 4), np.full(12, np.nan)
    flattened(x, y)
    np.testing.assert_array_equal(y, x.ravel())


@pytest.mark.parametrize("run", [strided, strided.py])
def test_a_stride_of_zero_is_a_race(run):
    y = np.zeros(12)
    run(4, 3, y)
    assert y.sum() == 4
    with pytest.raises(lend.ContractError, match=r"race on `y`.*s = 0.*both write"):
        run(4, 0, y)
    assert y.sum() == 4
    run(1, 0, y)  # one iteration alone cannot race


def test_a_subscript_that_was_not_linear_keeps_its_check():
    with pytest.raises(lend.BoundsError) as caught:
        strided(5, 3, np.zeros(12))
    assert caught.value.index == 12 and caught.value.thread == (4,)


@pytest.mark.parametrize("count", [8, 9])
def test_a_race_that_depends_on_a_scalar_is_refused_before_its_loop(count):
    x = np.arange(float(count))
    shifted(x, count // 2)
    np.testing.assert_array_equal(x[: count // 2], np.arange(float(count))[count // 2 : 2 * (count // 2)])
    before = x.copy()
    with pytest.raises(lend.ContractError, match=r"race on `x` unless .*writes x\[1\]"):
        shifted(x, 1)
    np.testing.assert_array_equal(x, before)
    shifted(x, 0)


def test_bounds_that_depend_on_sizes_run_with_checks_where_they_fail():
    y = np.zeros(3)
    copied(np.arange(5.0), y)
    np.testing.assert_array_equal(y, [0, 1, 2])
    with pytest.raises(lend.BoundsError) as caught:
        copied(np.arange(2.0), y)
    assert (caught.value.index, caught.value.size, caught.value.thread) == (2, 2, (2,))


def test_verdicts_say_what_a_launch_must_satisfy():
    (bounds,) = [p for p in copied.proofs() if p.subject.startswith("x")]
    assert bounds.verdict == "launch" and bounds.condition == "N <= M"
    assert {p.verdict for p in strided.proofs() if p.obligation == "race"} == {"launch"}
    assert {p.verdict for p in strided.proofs(4, 3, np.zeros(12)) if p.obligation == "race"} == {"proved"}


@lend.kernel
def always_written(y: Out[f64, N], s: i64):
    for i in lend.grid(N):
        if i + s > i + s - 1:
            y[i] = 1


def test_what_is_written_whole_only_for_moderate_scalars_is_required():
    y = np.zeros(4)
    always_written(y, 3)
    assert y.sum() == 4
    with pytest.raises(lend.ContractError, match="known only while s lies between"):
        always_written(y, -(2**63))  # here i + s - 1 wraps


@lend.kernel
def written_in_both_cases(y: Out[f64, N], s: i64):
    for i in lend.grid(N):
        if i + s > i + s - 1:
            y[i] = 1
        else:
            y[i] = 2


def test_what_both_cases_write_is_written_whole_for_all_scalars():
    y = np.zeros(4)
    written_in_both_cases(y, -(2**63))
    assert y.tolist() == [2, 1, 1, 1]


@lend.kernel
def interleaved(x: Mut[f64, N], n: i64, a: i64, b: i64, c: i64):
    for i in lend.grid(n):
        x[a * i + c] = x[b * i]


@pytest.mark.parametrize("run", [interleaved, interleaved.py])
def test_two_pitches_and_an_offset_are_decided_at_the_call(run):
    x = np.arange(8.0)
    run(x, 4, 2, 2, 1)
    assert x.tolist() == [0, 0, 2, 2, 4, 4, 6, 6]
    with pytest.raises(lend.ContractError, match=r"a = 2 and b = 1 and c = 1"):
        run(x, 4, 2, 1, 1)
    assert x.tolist() == [0, 0, 2, 2, 4, 4, 6, 6]


def test_a_product_that_races_for_all_values_is_refused_when_defined():
    with pytest.raises(lend.CompileError, match="L0311"):

        @lend.kernel
        def kernel(x: Mut[f64, N], n: i64, a: i64):
            for i in lend.grid(n):
                x[a * (i // 2)] = 1.0


def test_values_that_a_contract_excludes_are_not_tried():
    with pytest.raises(lend.CompileError, match="L0311"):

        @lend.kernel
        def kernel(x: Mut[f64, N], n: i64, a: i64):
            assert a < 5
            for i in lend.grid(n):
                x[a * (i // 2)] = 1.0


def test_an_index_in_a_narrower_type_is_a_condition_on_the_size():
    @lend.kernel
    def kernel(y: Mut[f64, N]):
        for i in lend.grid(N):
            y[i32(i)] = 1.0

    conditions = {p.obligation: p.condition for p in kernel.proofs() if p.verdict == "launch"}
    assert conditions == {"bounds": "N <= 2147483648", "race": "N <= 4294967296"}
    y = np.zeros(3)
    kernel(y)
    assert y.tolist() == [1, 1, 1]


def test_an_index_in_a_type_that_is_too_narrow_for_large_sizes_races():
    with pytest.raises(lend.CompileError, match=r"threads i=0 and i=256 both write y\[0\]"):

        @lend.kernel
        def kernel(y: Mut[f64, N]):
            for i in lend.grid(N):
                y[u8(i)] = 1.0


def test_an_index_that_wraps_to_its_place_is_proved():
    @lend.kernel
    def kernel(y: Out[f64, N, Literal[200]]):
        for i in lend.grid(N):
            for j in range(200):
                y[i, u8(j + 56 + 200)] = f64(j)

    assert {p.verdict for p in kernel.proofs()} == {"proved"}
    y = np.full((1, 200), np.nan)
    kernel(y)
    assert y[0, 0] == 0 and y[0, 199] == 199


def test_a_flag_is_among_the_values_of_a_call():
    @lend.kernel
    def kernel(y: Mut[f64, N], n: i64, first: bool_):
        for i in lend.grid(4):
            if first:
                y[0] = f64(n)
            else:
                y[i * n] = 1.0

    y = np.zeros(4)
    kernel(y, 1, False)
    assert y.tolist() == [1, 1, 1, 1]
    with pytest.raises(lend.ContractError, match=r"race on `y`.*first = True"):
        kernel(y, 1, True)
    with pytest.raises(lend.ContractError, match=r"race on `y`.*first = False"):
        kernel(y, 0, False)


@lend.kernel
def mean_everywhere(x: Ref[f64, N], y: Mut[f64, N]):
    s = 0.0
    for i in lend.grid(N):
        s += x[i]
    for i in lend.grid(N):
        y[i] = s / 4


@lend.kernel
def means(y: Mut[f64, N], at: Ref[i64, Literal[1]], n: i64, pitch: i64):
    first = at[0]
    for i, j in lend.grid(n, 3):
        y[i * pitch + j] += 1.0
    mean_everywhere(y[0:4], y[first : first + 4])


@lend.kernel
def means_by_a_scalar(y: Mut[f64, N], at: Ref[i64, Literal[1]], n: i64, pitch: i64):
    first = n
    for i, j in lend.grid(n, 3):
        y[i * pitch + j] += 1.0
    mean_everywhere(y[0:4], y[first : first + 4])


def test_loans_that_rest_on_computed_numbers_are_refused_where_the_call_decides_the_rest():
    y, at = np.zeros(16), np.array([8])
    with pytest.raises(lend.ContractError, match="`x` and `y` of `mean_everywhere` are not shown to be apart, with .*pitch = 3"):
        means(y, at, 4, 3)
    assert not y.any()
    means_by_a_scalar(y, at, 4, 3)
    assert y.tolist() == [1.0] * 12 + [0.0] * 4
    with pytest.raises(lend.ContractError, match="`x` and `y` of `mean_everywhere` overlap"):
        means_by_a_scalar(y, at, 3, 3)
    assert y.tolist() == [1.0] * 12 + [0.0] * 4


@lend.kernel
def scaled_block(y: Mut[f64, N], rows: i64, columns: i64, row_pitch: i64, column_pitch: i64):
    for i, j in lend.grid(rows, columns):
        y[i * row_pitch + j * column_pitch] *= 2.0


@pytest.mark.parametrize("pitches", [(1, 5), (5, 1), (7, 2)])
def test_any_two_pitches_are_decided_at_the_call(pitches):
    y = np.ones(32)
    scaled_block(y, 3, 3, *pitches)
    assert (y == 2).sum() == 9
    with pytest.raises(lend.ContractError, match="row_pitch = 1 and column_pitch = 2"):
        scaled_block(y, 3, 3, 1, 2)
