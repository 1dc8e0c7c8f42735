"""The labelled cases of the checks at team level: blocks, threads, shared arrays and barriers, with their required verdicts.

The sources stand beside each test. `test_cases.py` has their twins at grid level.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from verdicts import assert_accepted, assert_proved, refused

import lend
from lend import Index, Mut, Out, Ref, Unique, bool_, comptime, f32, f64, i32, i64
from lend.dims import D, K, M, N

# ------------------------------------------------------------------------------------------------------ correct ones


def test_ok01_guarded_map():
    # elliotsayes/faial: drf-saxpy
    @lend.kernel
    def kernel(x: Ref[f32, N], y: Mut[f32, N], a: f32):
        for b in lend.blocks(lend.cdiv(N, 8)):
            for t in lend.threads(8):
                g = b * 8 + t
                if g < N:
                    y[g] += a * x[g]

    assert_proved(kernel)


def test_ok03_grid_stride_writes():
    # gpuverify: misc/pass/misc6
    @lend.kernel
    def kernel(p: Out[i32, Literal[120]]):
        for b in lend.blocks(3):
            for t in lend.threads(8):
                g = b * 8 + t
                for k in range(5):
                    p[k * 24 + g] = i32(k)

    assert_proved(kernel)


@pytest.mark.parametrize("threads", [2, 16, 64, 256])
def test_ok04_tree_reduction_with_a_halving_stride(threads):
    # GPUVerifyBenchmarks: AMD_SDK/Reduction
    def kernel(x: Ref[f64, M, K], o: Out[f64, M], B: comptime[int] = threads):
        assert K == 2 * B
        for b in lend.blocks(M):
            tile = lend.shared(f64, B)
            for t in lend.threads(B):
                tile[t] = x[b, 2 * t] + x[b, 2 * t + 1]
                lend.sync()
                s = B // 2
                while s > 0:
                    if t < s:
                        tile[t] = tile[t] + tile[t + s]
                    lend.sync()
                    s //= 2
                if t == 0:
                    o[b] = tile[0]

    kernel.__defaults__ = (threads,)
    assert_proved(lend.kernel(kernel))


def test_ok04_over_one_row():
    @lend.kernel
    def kernel(x: Ref[f64, N], o: Out[f64, M], B: comptime[int] = 16):
        assert N == 2 * B * M
        for b in lend.blocks(M):
            tile = lend.shared(f64, B)
            for t in lend.threads(B):
                g = b * B + t
                tile[t] = x[2 * g] + x[2 * g + 1]
                lend.sync()
                s = B // 2
                while s > 0:
                    if t < s:
                        tile[t] = tile[t] + tile[t + s]
                    lend.sync()
                    s //= 2
                if t == 0:
                    o[b] = tile[0]

    assert_proved(kernel)


def test_ok04_at_block_level():
    @lend.kernel
    def kernel(x: Ref[f64, M, Literal[16]], o: Out[f64, M]):
        for b in lend.blocks(M):
            tile = lend.shared(f64, 16)
            for t in lend.threads(16):
                tile[t] = x[b, t]
            s = 8
            while s > 0:
                for t in lend.threads(16):
                    if t < s:
                        tile[t] = tile[t] + tile[t + s]
                s //= 2
            for t in lend.threads(1):
                o[b] = tile[t]

    assert_proved(kernel)


def test_ok07_scan_in_two_halves_of_one_buffer():
    # GPUVerifyBenchmarks: CUDA20/scan/naive
    @lend.kernel
    def kernel(x: Ref[f64, Literal[16]], o: Out[f64, Literal[16]]):
        for _ in lend.blocks(1):
            s = lend.shared(f64, 32)
            for t in lend.threads(16):
                out, source = 0, 1
                s[t] = x[t]
                d = 1
                while d < 16:
                    out, source = source, out
                    lend.sync()
                    if t >= d:
                        s[out * 16 + t] = s[source * 16 + t] + s[source * 16 + t - d]
                    else:
                        s[out * 16 + t] = s[source * 16 + t]
                    d *= 2
                lend.sync()
                o[t] = s[out * 16 + t]

    assert_proved(kernel)


def test_ok09_tiled_transpose():
    # GPUVerifyBenchmarks: transposeCoalesced
    @lend.kernel
    def kernel(x: Ref[f32, N, M], y: Out[f32, M, N], T: comptime[int] = 4):
        assert N % T == 0 and M % T == 0
        for by, bx in lend.blocks(N // T, M // T):
            tile = lend.shared(f32, T, T)
            for ty, tx in lend.threads(T, T):
                tile[ty, tx] = x[by * T + ty, bx * T + tx]
                lend.sync()
                y[bx * T + ty, by * T + tx] = tile[tx, ty]

    assert_proved(kernel)


def test_ok13_private_histograms_with_bins_from_data():
    # GPUVerifyBenchmarks: AMD_SDK/Histogram: without a range, threads may bump each other's bins
    with refused("L0314", "`s`", "known at run time only"):

        @lend.kernel
        def kernel(v: Ref[i64, Literal[4], M], o: Out[i32, Literal[8]]):
            for _ in lend.blocks(1):
                s = lend.shared(i32, 32)
                for t in lend.threads(4):
                    for j in range(8):
                        s[t * 8 + j] = 0
                    for k in range(M):
                        s[t * 8 + v[t, k]] += 1
                    lend.sync()
                    for j in range(2):
                        total = i32(0)
                        for r in range(4):
                            total += s[r * 8 + 2 * t + j]
                        o[2 * t + j] = total


def test_ok13_private_histograms_with_a_declared_range():
    @lend.kernel
    def kernel(v: Ref[Index[D], Literal[4], M], o: Out[i32, D]):
        assert D == 8
        for _ in lend.blocks(1):
            s = lend.shared(i32, 32)
            for t in lend.threads(4):
                for j in range(8):
                    s[t * 8 + j] = 0
                for k in range(M):
                    s[t * 8 + v[t, k]] += 1
                lend.sync()
                for j in range(2):
                    total = i32(0)
                    for r in range(4):
                        total += s[r * 8 + 2 * t + j]
                    o[2 * t + j] = total

    assert_proved(kernel)


def test_ok13_with_two_subscripts_keeps_a_check():
    @lend.kernel
    def kernel(v: Ref[i64, Literal[4], M], o: Out[i32, Literal[8]]):
        for _ in lend.blocks(1):
            s = lend.shared(i32, 4, 8)
            for t in lend.threads(4):
                for j in range(8):
                    s[t, j] = 0
                for k in range(M):
                    s[t, v[t, k]] += 1
                lend.sync()
                for j in range(2):
                    total = i32(0)
                    for r in range(4):
                        total += s[r, 2 * t + j]
                    o[2 * t + j] = total

    assert_accepted(kernel, {"bounds checked s"})
    o = np.zeros(8, np.int32)
    kernel(np.full((4, 3), 2), o)
    assert o.tolist() == [0, 0, 12, 0, 0, 0, 0, 0]
    with pytest.raises(lend.BoundsError):
        kernel(np.full((4, 3), 8), o)


def test_ok15_scatter_through_an_index():
    # GPUVerifyBenchmarks: segmentationTreeThrust/_getVerticesMapping
    with refused("L0314", "`o`", "`perm[g]` is known at run time only", "Unique[N]"):

        @lend.kernel
        def kernel(n: Ref[f64, N], perm: Ref[i64, N], o: Mut[f64, N]):
            for b in lend.blocks(lend.cdiv(N, 4)):
                for t in lend.threads(4):
                    g = b * 4 + t
                    if g < N:
                        o[perm[g]] = n[g]


def test_ok15_scatter_through_a_permutation():
    @lend.kernel
    def kernel(n: Ref[f64, N], perm: Ref[Unique[N], N], o: Out[f64, N]):
        for b in lend.blocks(lend.cdiv(N, 4)):
            for t in lend.threads(4):
                g = b * 4 + t
                if g < N:
                    o[perm[g]] = n[g]

    assert_proved(kernel)
    o = np.zeros(6)
    kernel(np.arange(6.0), np.array([3, 1, 2, 0, 5, 4]), o)
    assert o.tolist() == [3, 1, 2, 0, 5, 4]


def test_ok20_barrier_under_an_argument():
    # gpuverify: barrierconditionalkernelparam
    @lend.kernel
    def kernel(o: Out[i32, M, Literal[8]], flag: bool_, x: i32):
        for b in lend.blocks(M):
            s = lend.shared(i32, 8)
            for t in lend.threads(8):
                s[t] = i32(t)
                if flag:
                    lend.sync()
                if x > 3:
                    lend.sync()
                o[b, t] = s[t]

    assert_proved(kernel)


def test_ok26_out_of_place_stencil():
    # dataracebench: DRB058, DRB194
    @lend.kernel
    def kernel(u: Ref[f64, N, M], v: Mut[f64, N, M]):
        for bi, bj in lend.blocks(lend.cdiv(N, 5), lend.cdiv(M, 5)):
            for ti, tj in lend.threads(5, 5):
                i = bi * 5 + ti
                j = bj * 5 + tj
                if i > 0 and i < N - 1 and j > 0 and j < M - 1:
                    v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])

    assert_proved(kernel)


def test_ok27_triangular_product_in_place():
    # GPUVerifyBenchmarks: polybench trmm/kernel0
    @lend.kernel
    def kernel(a: Ref[f64, N, N], m: Mut[f64, N, M]):
        for b in lend.blocks(lend.cdiv(M, 3)):
            for t in lend.threads(3):
                j = b * 3 + t
                if j < M:
                    for i in range(N):
                        for k in range(i + 1, N):
                            m[i, j] += a[k, i] * m[k, j]
                        m[i, j] *= 2.0

    assert_proved(kernel)


@pytest.mark.parametrize("tile", [8, 16, 32])
def test_matmul_as_the_design_prints_it(tile):
    def matmul(a: Ref[f32, M, K], b: Ref[f32, K, N], c: Out[f32, M, N], T: comptime[int] = 16):
        for bi, bj in lend.blocks(lend.cdiv(M, T), lend.cdiv(N, T)):
            ta = lend.shared(f32, T, T)
            tb = lend.shared(f32, T, T)
            for ti, tj in lend.threads(T, T):
                i = bi * T + ti
                j = bj * T + tj
                acc = f32(0)
                for k0 in range(0, K, T):
                    ta[ti, tj] = a[i, k0 + tj] if i < M and k0 + tj < K else 0
                    tb[ti, tj] = b[k0 + ti, j] if k0 + ti < K and j < N else 0
                    lend.sync()
                    for k in range(T):
                        acc += ta[ti, k] * tb[k, tj]
                    lend.sync()
                if i < M and j < N:
                    c[i, j] = acc

    matmul.__defaults__ = (tile,)
    kernel = lend.kernel(matmul)
    assert_proved(kernel)
    kinds = {(p.obligation, p.subject) for p in kernel.proofs()}
    assert {("init", "c (written whole)"), ("init", "ta (read)"), ("barrier", "the block")} <= kinds
    assert {("race", "tb (write/read, threads of a block)"), ("race", "c (write/write, blocks)")} <= kinds
    rng = np.random.default_rng(tile)
    a, b = rng.standard_normal((37, 29), np.float32), rng.standard_normal((29, 41), np.float32)
    c = np.zeros((37, 41), np.float32)
    kernel(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)


# ---------------------------------------------------------------------------------------------------- defective ones


def test_bad02_blocks_that_know_the_thread_only():
    # elliotsayes/faial: racy-grid-level.cu
    with refused("L0313", "`y`", "threads (b=0, t=0) and (b=1, t=0) both write y[0]"):

        @lend.kernel
        def kernel(x: Ref[f64, Literal[8]], y: Mut[f64, Literal[8]]):
            for b in lend.blocks(2):
                for t in lend.threads(8):
                    y[t] += x[t]


def test_bad02_is_right_with_one_block():
    @lend.kernel
    def kernel(x: Ref[f64, Literal[8]], y: Mut[f64, Literal[8]]):
        for _ in lend.blocks(1):
            for t in lend.threads(8):
                y[t] += x[t]

    assert_proved(kernel)


def test_bad03_one_barrier_in_a_loop_where_two_are_needed():
    # elliotsayes/faial: racy-cav21.cu
    with refused("L0312", "`y`", "writes y["):

        @lend.kernel
        def kernel(x: Mut[f64, Literal[6]], y: Mut[f64, Literal[12]], steps: Ref[f64, N]):
            for _ in lend.blocks(1):
                for t in lend.threads(6):
                    for _k in range(N):
                        y[t] = x[t]
                        lend.sync()
                        for j in range(6):
                            x[t] += y[t + j]


def test_bad03_one_barrier_is_enough_for_one_step():
    @lend.kernel
    def kernel(x: Mut[f64, Literal[6]], y: Mut[f64, Literal[12]], steps: i32):
        for _ in lend.blocks(1):
            for t in lend.threads(6):
                for _k in range(steps):
                    y[t] = x[t]
                    lend.sync()
                    for j in range(6):
                        x[t] += y[t + j]

    assert_accepted(kernel, {"race launch y"})
    kernel(np.ones(6), np.ones(12), 1)
    with pytest.raises(lend.ContractError, match=r"threads of a block race on `y` unless steps <= 1: thread \(block=0, t="):
        kernel(np.ones(6), np.ones(12), 2)


def test_bad03_with_the_second_barrier():
    @lend.kernel
    def kernel(x: Mut[f64, Literal[6]], y: Mut[f64, Literal[12]], steps: i32):
        for _ in lend.blocks(1):
            for t in lend.threads(6):
                for _k in range(steps):
                    y[t] = x[t]
                    lend.sync()
                    for j in range(6):
                        x[t] += y[t + j]
                    lend.sync()

    assert_proved(kernel)


def test_bad05_threads_of_a_warp_are_not_in_lock_step():
    # elliotsayes/faial: racy-reduce.cu
    with refused("L0312", "`s`"):

        @lend.kernel
        def kernel(x: Ref[f64, Literal[32]], o: Out[f64, Literal[1]]):
            for b in lend.blocks(1):
                s = lend.shared(f64, 48)
                for t in lend.threads(32):
                    s[t] = x[t]
                    if t < 16:
                        s[32 + t] = 0.0
                    lend.sync()
                    d = 16
                    while d > 0:
                        s[t] = s[t] + s[t + d]
                        d //= 2
                    lend.sync()
                    if t == 0:
                        o[b] = s[0]


def test_bad05_with_sub_group_barriers():
    @lend.kernel
    def kernel(x: Ref[f64, Literal[32]], o: Out[f64, Literal[1]]):
        for b in lend.blocks(1):
            s = lend.shared(f64, 32)
            for t in lend.threads(32):
                sg = lend.subgroup(32)
                s[t] = x[t]
                sg.sync()
                d = 16
                while d > 0:
                    if t < d:
                        s[t] = s[t] + s[t + d]
                    sg.sync()
                    d //= 2
                if t == 0:
                    o[b] = s[0]

    assert_proved(kernel)


def test_bad05_sub_group_barriers_do_not_hold_two_sub_groups():
    with refused("L0312", "`s`"):

        @lend.kernel
        def kernel(x: Ref[f64, Literal[64]], o: Out[f64, Literal[1]]):
            for b in lend.blocks(1):
                s = lend.shared(f64, 64)
                for t in lend.threads(64):
                    sg = lend.subgroup(32)
                    s[t] = x[t]
                    sg.sync()
                    d = 32
                    while d > 0:
                        if t < d:
                            s[t] = s[t] + s[t + d]
                        sg.sync()
                        d //= 2
                    if t == 0:
                        o[b] = s[0]


def test_bad08_the_last_thread_reaches_into_the_next_block():
    # gpuverify: inter_group_and_barrier_flag_tests/fail/sync
    with refused("L0313", "`p`"):

        @lend.kernel
        def kernel(p: Mut[i32, M], n: i32):
            for b in lend.blocks(M // 8):
                for t in lend.threads(8):
                    p[b * 8 + t] = i32(t)
                    lend.sync()
                    if b * 8 + t + 1 < M:
                        p[b * 8 + t + 1] = i32(t)

    with refused("L0301", "`p`"):

        @lend.kernel
        def outside(p: Mut[i32, Literal[24]]):
            for b in lend.blocks(3):
                for t in lend.threads(8):
                    p[b * 8 + t] = i32(t)
                    lend.sync()
                    p[b * 8 + t + 1] = i32(t)


def test_bad08_with_its_guard():
    @lend.kernel
    def kernel(p: Mut[i32, Literal[24]]):
        for b in lend.blocks(3):
            for t in lend.threads(8):
                p[b * 8 + t] = i32(t)
                lend.sync()
                if t < 7:
                    p[b * 8 + t + 1] = i32(t)

    assert_proved(kernel)


@pytest.mark.parametrize("threads", [64, 65])
def test_bad10_the_same_value_is_a_race_too(threads):
    # gpuverify: benign_race_tests/fail/writetiddiv64_offbyone and its twin
    def kernel(o: Out[i32, Literal[1]], i: i32, B: comptime[int] = threads):
        assert 0 <= i and i < 8
        for b in lend.blocks(1):
            a = lend.shared(i32, 8)
            for t in lend.threads(B):
                a[i] = i32(t // 64)
                lend.sync()
                if t == 0:
                    o[b] = a[i]

    kernel.__defaults__ = (threads,)
    with refused("L0312", "threads (b=0, t=0) and (b=0, t=1) both write a[0]"):
        lend.kernel(kernel)


def test_bad12_a_barrier_that_one_thread_meets():
    # gpuverify: sourcelocation_tests/barrier_divergence/fail
    with refused("L0350", "`t` is the index of a thread", "thread b=0, t=3"):

        @lend.kernel
        def kernel(o: Out[f64, Literal[8]]):
            for b in lend.blocks(1):
                a = lend.shared(f64, 8)
                for t in lend.threads(8):
                    a[t] = 1.0
                    if t == 3:
                        lend.sync()
                    o[8 * b + t] = a[t]


def test_bad16_a_quarter_of_the_buffer_is_written():
    # compute-sanitizer-samples: Initcheck/memset_error.cu
    with refused("L0320", "`v`"):

        @lend.kernel
        def kernel(x: Ref[f64, N]) -> Out[f64, N]:  # type: ignore[valid-type]
            v = lend.empty(f64, N)
            for b in lend.blocks(lend.cdiv(N // 4, 8)):
                for t in lend.threads(8):
                    if b * 8 + t < N // 4:
                        v[b * 8 + t] = 0.0
            for b in lend.blocks(lend.cdiv(N, 8)):
                for t in lend.threads(8):
                    if b * 8 + t < N:
                        v[b * 8 + t] += x[b * 8 + t]
            return v


def test_bad18_two_borrows_of_one_array():
    # descend-lang: write_data_race.desc
    @lend.kernel
    def kernel(p: Mut[f64, Literal[8]], q: Mut[f64, Literal[8]]):
        for _ in lend.blocks(1):
            for t in lend.threads(16):
                if t < 8:
                    p[t] = 1.0
                else:
                    q[t - 8] = 2.0

    assert_proved(kernel)
    a = np.zeros(8)
    with pytest.raises(lend.BorrowError):
        kernel(a, a)


def test_bad20_more_threads_than_elements():
    # descend-lang: write_data_race.desc, scale_vec
    with refused("L0301", "`v`"):

        @lend.kernel
        def fixed(v: Mut[f64, Literal[13]]):
            for b in lend.blocks(2):
                for t in lend.threads(8):
                    v[b * 8 + t] *= 2.0

    @lend.kernel
    def kernel(v: Mut[f64, N], g: i32):
        assert g >= 0
        for b in lend.blocks(g):
            for t in lend.threads(8):
                v[b * 8 + t] *= 2.0

    assert_accepted(kernel, {"bounds launch v"})
    v = np.ones(16)
    kernel(v, 2)
    assert v.tolist() == [2.0] * 16
    with pytest.raises(lend.BoundsError):
        kernel(np.ones(13), 2)


def test_bad23_two_views_of_one_array_through_an_index():
    # dataracebench: DRB005
    with refused("L031", "`m`"):

        @lend.kernel
        def kernel(m: Mut[f64, Literal[52]], at: Ref[i64, Literal[8]]):
            for b in lend.blocks(2):
                for t in lend.threads(4):
                    k = at[b * 4 + t]
                    if 0 <= k and k < 40:
                        m[k] += 1.0
                        m[k + 12] += 3.0
