"""The labelled cases of the checks: access patterns of kernels from public suites, at grid level, with their required verdicts.

The sources stand beside each test. Cases about the shared memory or the barriers of a block (OK04, OK07, OK09, OK20, BAD03,
BAD05, BAD12, and OK13, BAD10, BAD18 as far as shared arrays go) stand in `test_team_cases.py`; their twins without it stand here.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from verdicts import assert_accepted, assert_proved, refused

import lend
from lend import Mut, Out, Ref, f32, f64, i32, i64
from lend.dims import K, M, N

# ------------------------------------------------------------------------------------------------------ correct ones


def test_ok01_guarded_map_over_blocks_and_threads():
    # elliotsayes/faial: drf-saxpy
    @lend.kernel
    def kernel(x: Ref[f32, N], y: Mut[f32, N], a: f32):
        for g, t in lend.grid((N + 7) // 8, 8):
            i = g * 8 + t
            if i < N:
                y[i] += a * x[i]

    assert_proved(kernel)


def test_ok03_each_thread_writes_every_24th_element():
    # gpuverify: misc/pass/misc6
    @lend.kernel
    def kernel(p: Out[i32, Literal[120]]):
        for g in lend.grid(24):
            for k in range(5):
                p[k * 24 + g] = i32(k)

    assert_proved(kernel)


def test_ok03_with_any_number_of_rows():
    @lend.kernel
    def kernel(p: Mut[i32, N]):
        for g in lend.grid(24):
            for k in range(N // 24):
                p[k * 24 + g] = 1

    assert_proved(kernel)


def test_ok09_transpose_of_a_rectangle_in_tiles():
    # GPUVerifyBenchmarks: transposeCoalesced, without the staging tile
    @lend.kernel
    def kernel(x: Ref[f32, N, M], y: Mut[f32, M, N]):
        for by, bx, ty, tx in lend.grid((N + 3) // 4, (M + 3) // 4, 4, 4):
            i = by * 4 + ty
            j = bx * 4 + tx
            if i < N and j < M:
                y[j, i] = x[i, j]

    assert_proved(kernel)


def test_ok13_private_histograms_with_bins_from_data():
    # GPUVerifyBenchmarks: AMD_SDK/Histogram; in bounds only if the data are: a check stays
    @lend.kernel
    def kernel(v: Ref[i64, N, M], s: Mut[i32, N, Literal[8]], o: Out[i32, Literal[8]]):
        for t in lend.grid(N):
            for k in range(M):
                s[t, v[t, k]] += 1
        for j in lend.grid(8):
            total = i32(0)
            for t in range(N):
                total += s[t, j]
            o[j] = total

    assert_accepted(kernel, {"bounds checked s"})
    v, s, o = np.full((3, 4), 2), np.zeros((3, 8), np.int32), np.zeros(8, np.int32)
    kernel(v, s, o)
    assert o.tolist() == [0, 0, 12, 0, 0, 0, 0, 0]
    v[1, 2] = 8
    with pytest.raises(lend.BoundsError):
        kernel(v, s, o)


def test_ok13_private_histograms_with_bins_kept_in_range():
    @lend.kernel
    def kernel(v: Ref[i64, N, M], s: Mut[i32, N, Literal[8]]):
        for t in lend.grid(N):
            for k in range(M):
                s[t, v[t, k] % 8] += 1

    assert_proved(kernel)


def test_ok13_private_histograms_in_one_flat_array():
    @lend.kernel
    def kernel(v: Ref[i64, N, M], s: Mut[i32, K]):
        assert K == 8 * N
        for t in lend.grid(N):
            for k in range(M):
                s[t * 8 + v[t, k] % 8] += 1

    assert_proved(kernel)


def test_ok15_scatter_through_an_unknown_index_is_refused():
    # GPUVerifyBenchmarks: segmentationTreeThrust/_getVerticesMapping
    with refused("L0311", "`o`"):

        @lend.kernel
        def kernel(n: Ref[f64, N], perm: Ref[i64, N], o: Mut[f64, N]):
            for g in lend.grid(N):
                o[perm[g]] = n[g]


def test_ok15_scatter_under_unchecked_is_assumed():
    @lend.kernel
    def kernel(n: Ref[f64, N], perm: Ref[i64, N], o: Mut[f64, N]):
        for g in lend.grid(N):
            with lend.unchecked("perm is a permutation of 0..N-1"):
                o[perm[g]] = n[g]

    assert_accepted(kernel, {"bounds assumed perm", "bounds assumed n", "bounds assumed o", "race assumed o"})


def test_ok15_gather_through_an_unknown_index_keeps_a_check():
    @lend.kernel
    def kernel(n: Ref[f64, N], perm: Ref[i64, N], o: Out[f64, N]):
        for g in lend.grid(N):
            o[g] = n[perm[g]]

    assert_accepted(kernel, {"bounds checked n"})


def test_ok20_branch_on_a_scalar_argument():
    # gpuverify: barrierconditionalkernelparam, without its barrier: the two phases are two loops
    @lend.kernel
    def kernel(o: Mut[i32, N], flag: i32):
        for i in lend.grid(N):
            o[i] = i32(1)
        if flag != 0:
            for i in lend.grid(N):
                o[N - 1 - i] += 1

    assert_proved(kernel)


def test_ok26_jacobi_between_two_buffers():
    # dataracebench: DRB058, DRB194
    @lend.kernel
    def kernel(u: Ref[f64, N, M], v: Mut[f64, N, M]):
        for i, j in lend.grid((1, N - 1), (1, M - 1)):
            v[i, j] = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j]

    assert_proved(kernel)


def test_ok27_triangular_product_in_place():
    # GPUVerifyBenchmarks: polybench trmm
    @lend.kernel
    def kernel(a: Ref[f64, M, M], m: Mut[f64, M, N], alpha: f64):
        for j in lend.grid(N):
            for i in range(M):
                for k in range(i + 1, M):
                    m[i, j] += a[k, i] * m[k, j]
                m[i, j] = alpha * m[i, j]

    assert_proved(kernel)


# ---------------------------------------------------------------------------------------------------- defective ones


def test_bad02_subscript_by_the_thread_of_a_block_only():
    # elliotsayes/faial: racy-grid-level
    with refused("L0310", "threads g=0, t=0 and g=1, t=0", "y[0]"):

        @lend.kernel
        def kernel(x: Ref[f32, N, Literal[8]], y: Mut[f32, Literal[8]]):
            for g, t in lend.grid(N, 8):
                y[t] += x[g, t]


def test_bad02_with_the_number_of_blocks_as_a_scalar():
    @lend.kernel
    def kernel(x: Ref[f32, Literal[8]], y: Mut[f32, Literal[8]], blocks: i64):
        for g, t in lend.grid(blocks, 8):
            y[t] += x[t]

    assert {p.verdict for p in kernel.proofs() if p.obligation == "race"} == {"launch"}
    x, y = np.ones(8, np.float32), np.zeros(8, np.float32)
    kernel(x, y, 1)
    with pytest.raises(lend.ContractError):
        kernel(x, y, 2)
    assert y.tolist() == [1.0] * 8


def test_bad03_one_step_in_one_loop_that_reads_what_others_write():
    # elliotsayes/faial: racy-cav21, its two phases in one loop
    with refused("L0310", "`y`", "thread t=1 writes y[1], which thread t=0 reads"):

        @lend.kernel
        def kernel(x: Mut[f32, N], y: Mut[f32, M]):
            assert M == 2 * N
            for t in lend.grid(N):
                for k in range(3):
                    y[t] = x[t]
                    for j in range(N):
                        x[t] += y[t + j]


def test_bad03_two_loops_are_ordered():
    @lend.kernel
    def kernel(x: Mut[f32, N], y: Mut[f32, M], n: i64):
        assert M == 2 * N
        for k in range(n):
            for t in lend.grid(N):
                y[t] = x[t]
            for t in lend.grid(N):
                for j in range(N):
                    x[t] += y[t + j]

    assert_proved(kernel)


def test_bad05_tree_reduction_without_steps_that_wait():
    # elliotsayes/faial: racy-reduce
    with refused("L0310", "`s`", "s["):

        @lend.kernel
        def kernel(s: Mut[f32, Literal[48]]):
            for t in lend.grid(32):
                for step in lend.static_range(5):
                    if t + (16 >> step) < 32:
                        s[t] += s[t + (16 >> step)]


def test_bad05_each_step_a_loop_of_its_own():
    @lend.kernel
    def kernel(s: Mut[f32, Literal[32]]):
        for step in lend.static_range(5):
            for t in lend.grid(16 >> step):
                s[t] += s[t + (16 >> step)]

    assert_proved(kernel)


def test_bad08_last_thread_of_a_block_writes_into_the_next():
    # gpuverify: inter_group_and_barrier_flag_tests/fail/sync: a race and an access outside
    with refused("L0310", "`p`"):

        @lend.kernel
        def kernel(p: Mut[i32, Literal[24]]):
            for b, t in lend.grid(3, 8):
                p[b * 8 + t] = i32(1)
                p[b * 8 + t + 1] = i32(2)

    with refused("L0301", "`p`", "thread b=2, t=7 writes p[24]", "size 24"):

        @lend.kernel
        def other(p: Mut[i32, Literal[24]]):
            for b, t in lend.grid(3, 8):
                p[b * 8 + t + 1] = i32(2)


def test_bad08_only_within_the_block():
    @lend.kernel
    def kernel(p: Mut[i32, Literal[24]]):
        for b in lend.grid(3):
            for t in range(7):
                p[b * 8 + t] = i32(1)
                p[b * 8 + t + 1] = i32(2)

    assert_proved(kernel)


@pytest.mark.parametrize("threads", [64, 65])
def test_bad10_the_same_cell_even_with_the_same_value(threads: int):
    # gpuverify: benign_race_tests/writetiddiv64 and its off-by-one twin
    with refused("L0310", "threads t=0 and t=1 both write a["):

        @lend.kernel
        def kernel(a: Mut[i64, Literal[8]], i: i64, n: lend.comptime[int] = threads):
            assert 0 <= i < 8
            for t in lend.grid(n):
                a[i] = t // 64


def test_bad16_update_of_what_the_host_filled_by_a_quarter():
    # compute-sanitizer-samples: memset_error
    with refused("L0320", "`v`", "no value yet"):

        @lend.kernel
        def kernel(v: Out[f64, N]):
            for g in lend.grid(N // 4):
                v[g] = 0.0
            for g in lend.grid(N):
                v[g] += 1.0


def test_bad16_in_a_temporary():
    with refused("L0320", "`t`", "no value yet"):

        @lend.kernel
        def kernel(v: Out[f64, N]):
            t = lend.empty(f64, N)
            for g in lend.grid(N // 4):
                t[g] = 0.0
            for g in lend.grid(N):
                v[g] = t[g]


def test_bad18_one_array_for_two_exclusive_arguments():
    # descend: write_data_race; the body is right, the call is not
    @lend.kernel
    def kernel(p: Mut[f32, Literal[8]], q: Mut[f32, Literal[8]]):
        for t in lend.grid(16):
            if t < 8:
                p[t] = f32(0)
            else:
                q[t - 8] = f32(1)

    assert_proved(kernel)
    a, b = np.zeros(8, np.float32), np.zeros(8, np.float32)
    kernel(a, b)
    with pytest.raises(lend.BorrowError):
        kernel(a, a)

    with refused("L0407"):

        @lend.kernel
        def caller(x: Mut[f32, Literal[8]]):
            kernel(x, x)


def test_bad20_more_threads_than_elements():
    # descend: write_data_race, scale_vec
    with refused("L0301", "`v`", "thread b=1, t=5 reads v[13]", "size 13"):

        @lend.kernel
        def kernel(v: Mut[f32, Literal[13]]):
            for b, t in lend.grid(2, 8):
                v[b * 8 + t] *= 2


def test_bad20_with_sizes_of_the_call():
    @lend.kernel
    def kernel(v: Mut[f32, N], blocks: i64):
        for b, t in lend.grid(blocks, 8):
            v[b * 8 + t] *= 2

    assert {p.verdict for p in kernel.proofs()} <= {"proved", "launch"}
    kernel(np.ones(16, np.float32), 2)
    with pytest.raises(lend.BoundsError):
        kernel(np.ones(13, np.float32), 2)


def test_bad23_two_views_of_one_array_through_an_index():
    # dataracebench: DRB005, and its twin DRB052: only the values of the index tell them apart
    with refused("L0311", "`m`"):

        @lend.kernel
        def kernel(m: Mut[f64, N], at: Ref[i64, K]):
            first = m[0 : N - 12]
            second = m[12:N]
            for i in lend.grid(K):
                first[at[i]] += 1.0
                second[at[i]] += 3.0


def test_bad23_overlap_of_two_views_without_an_index():
    with refused("L0310", "`m`"):

        @lend.kernel
        def kernel(m: Mut[f64, N]):
            first = m[0 : N - 12]
            second = m[12:N]
            for i in lend.grid(N - 12):
                first[i] = 1.0
                second[i] = 3.0
