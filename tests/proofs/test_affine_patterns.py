"""Kernels that users write and that are right: every obligation is proved, nothing is left to check when they run."""

from __future__ import annotations

from typing import Literal

from verdicts import assert_proved, refused

import lend
from lend import Mut, Out, Ref, bool_, comptime, f32, f64, i32, i64, u8
from lend.dims import B, H, K, M, N, P, W


class Next(lend.Dim):
    equals = N + 1


class Double(lend.Dim):
    equals = 2 * N


class Half(lend.Dim):
    equals = N // 2


class Sum(lend.Dim):
    equals = N + K - 1


# --------------------------------------------------------------------------------------------------- maps and copies


def test_map_of_two_arrays():
    @lend.kernel
    def kernel(a: f32, x: Ref[f32, N], y: Mut[f32, N]):
        for i in lend.grid(N):
            y[i] += a * x[i]

    assert_proved(kernel)


def test_map_into_an_out_array():
    @lend.kernel
    def kernel(x: Ref[f32, N], y: Out[f32, N]):
        for i in lend.grid(N):
            y[i] = 2 * x[i]

    assert_proved(kernel)


def test_map_with_a_guard_against_the_tail():
    @lend.kernel
    def kernel(x: Ref[f32, N], y: Mut[f32, N], n: i64):
        for i in lend.grid(n):
            if i < N:
                y[i] = x[i]

    assert_proved(kernel)


def test_map_in_three_dimensions():
    @lend.kernel
    def kernel(x: Ref[f32, N, M, K], y: Out[f32, N, M, K]):
        for i, j, k in lend.grid(N, M, K):
            y[i, j, k] = x[i, j, k]

    assert_proved(kernel)


def test_reversal():
    @lend.kernel
    def kernel(x: Ref[f32, N], y: Out[f32, N]):
        for i in lend.grid(N):
            y[N - 1 - i] = x[i]

    assert_proved(kernel)


def test_reversal_in_place_by_half():
    @lend.kernel
    def kernel(x: Mut[f32, N]):
        for i in lend.grid(N // 2):
            t = x[i]
            x[i] = x[N - 1 - i]
            x[N - 1 - i] = t

    assert_proved(kernel)


def test_loop_with_a_negative_step():
    @lend.kernel
    def kernel(x: Ref[f32, N], y: Out[f32, N]):
        for i in lend.grid((N - 1, -1, -1)):
            y[i] = x[i]

    assert_proved(kernel)


def test_transpose():
    @lend.kernel
    def kernel(x: Ref[f32, N, M], y: Out[f32, M, N]):
        for i, j in lend.grid(N, M):
            y[j, i] = x[i, j]

    assert_proved(kernel)


def test_transpose_in_place_of_the_lower_triangle():
    @lend.kernel
    def kernel(x: Mut[f32, N, N]):
        for i in lend.grid(N):
            for j in range(i):
                t = x[i, j]
                x[i, j] = x[j, i]
                x[j, i] = t

    assert_proved(kernel)


def test_rotation_by_a_quarter():
    @lend.kernel
    def kernel(x: Ref[u8, H, W], y: Out[u8, W, H]):
        for i, j in lend.grid(H, W):
            y[W - 1 - j, i] = x[i, j]

    assert_proved(kernel)


def test_shift_by_one_with_the_border():
    @lend.kernel
    def kernel(x: Ref[f32, N], y: Out[f32, N]):
        for i in lend.grid(N):
            y[i] = x[i - 1] if i > 0 else 0

    assert_proved(kernel)


def test_differences_of_a_derived_size():
    @lend.kernel
    def kernel(x: Ref[f32, Next], y: Out[f32, N]):
        for i in lend.grid(N):
            y[i] = x[i + 1] - x[i]

    assert_proved(kernel)


def test_writing_the_border_apart_from_the_inside():
    @lend.kernel
    def kernel(x: Ref[f32, N], y: Out[f32, N]):
        assert N >= 2
        y[0] = x[0]
        y[N - 1] = x[N - 1]
        for i in lend.grid((1, N - 1)):
            y[i] = 0.5 * (x[i - 1] + x[i + 1])

    assert_proved(kernel)


# ---------------------------------------------------------------------------------------------------------- strides


def test_even_and_odd_elements_apart():
    @lend.kernel
    def kernel(x: Mut[f32, N]):
        for i in lend.grid((0, N, 2)):
            x[i] = 1
        for i in lend.grid((1, N, 2)):
            x[i] = 2

    assert_proved(kernel)


def test_pairs():
    @lend.kernel
    def kernel(x: Mut[f32, N]):
        for i in lend.grid(N // 2):
            x[2 * i] = 0
            x[2 * i + 1] = 1

    assert_proved(kernel)


def test_interleaving_covers_the_output():
    @lend.kernel
    def kernel(x: Ref[f32, N], y: Ref[f32, N], z: Out[f32, Double]):
        for i in lend.grid(N):
            z[2 * i] = x[i]
            z[2 * i + 1] = y[i]

    assert_proved(kernel)


def test_downsampling():
    @lend.kernel
    def kernel(x: Ref[f32, N], y: Out[f32, Half]):
        for i in lend.grid(N // 2):
            y[i] = 0.5 * (x[2 * i] + x[2 * i + 1])

    assert_proved(kernel)


def test_upsampling():
    @lend.kernel
    def kernel(x: Ref[f32, N], y: Out[f32, Double]):
        for i in lend.grid(2 * N):
            y[i] = x[i // 2]

    assert_proved(kernel)


def test_three_elements_by_each_iteration():
    @lend.kernel
    def kernel(x: Mut[f32, N]):
        for i in lend.grid(N // 3):
            for k in range(3):
                x[3 * i + k] += 1

    assert_proved(kernel)


def test_blocks_of_a_fixed_length_with_a_tail():
    @lend.kernel
    def kernel(x: Ref[f32, N], y: Out[f32, N]):
        for b in lend.grid((N + 63) // 64):
            for k in range(64 * b, min(64 * b + 64, N)):
                y[k] = x[k]

    assert_proved(kernel)


def test_blocks_of_a_fixed_length_with_a_guard():
    @lend.kernel
    def kernel(x: Ref[f32, N], y: Mut[f32, N]):
        for b, t in lend.grid((N + 31) // 32, 32):
            i = b * 32 + t
            if i < N:
                y[i] = x[i]

    assert_proved(kernel)


def test_tiles_of_a_comptime_length():
    @lend.kernel
    def kernel(x: Ref[f32, N], y: Out[f32, N], T: comptime[int] = 16):
        for b, t in lend.grid(lend.cdiv(N, T), T):
            i = b * T + t
            if i < N:
                y[i] = x[i]

    assert_proved(kernel)


def test_tiles_in_two_dimensions():
    @lend.kernel
    def kernel(x: Ref[f32, N, M], y: Out[f32, M, N]):
        for bi, bj in lend.grid((N + 7) // 8, (M + 7) // 8):
            for i in range(8 * bi, min(8 * bi + 8, N)):
                for j in range(8 * bj, min(8 * bj + 8, M)):
                    y[j, i] = x[i, j]

    assert_proved(kernel)


def test_a_flat_index_taken_apart_by_a_constant_width():
    @lend.kernel
    def kernel(x: Mut[f32, N, Literal[8]]):
        for i in lend.grid(8 * N):
            x[i // 8, i % 8] = 1

    assert_proved(kernel)


def test_a_flat_index_of_three_dimensions_taken_apart():
    @lend.kernel
    def kernel(x: Out[f32, N, Literal[10], Literal[10]]):
        for e in lend.grid(100 * N):
            x[e // 100, e // 10 % 10, e % 10] = 1

    assert_proved(kernel)


def test_bits_taken_apart_by_masks_and_shifts():
    @lend.kernel
    def kernel(x: Mut[f32, N, Literal[16]]):
        for i in lend.grid(16 * N):
            x[i >> 4, i & 15] = 1

    assert_proved(kernel)


def test_grid_stride_by_a_constant():
    @lend.kernel
    def kernel(p: Out[i32, Literal[120]]):
        for g in lend.grid(24):
            for k in range(5):
                p[k * 24 + g] = 1

    assert_proved(kernel)


def test_butterflies_of_constant_width():
    @lend.kernel
    def kernel(x: Mut[f32, N]):
        for i in lend.grid(N // 8):
            for k in range(4):
                a = x[8 * i + k]
                b = x[8 * i + k + 4]
                x[8 * i + k] = a + b
                x[8 * i + k + 4] = a - b

    assert_proved(kernel)


# --------------------------------------------------------------------------------------------------------- stencils


def test_stencil_of_five_points():
    @lend.kernel
    def kernel(u: Ref[f64, N, M], v: Mut[f64, N, M]):
        for i, j in lend.grid((1, N - 1), (1, M - 1)):
            v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])

    assert_proved(kernel)


def test_stencil_with_clamped_borders():
    @lend.kernel
    def kernel(x: Ref[f64, N], y: Out[f64, N]):
        for i in lend.grid(N):
            y[i] = x[max(i - 1, 0)] + x[min(i + 1, N - 1)]

    assert_proved(kernel)


def test_stencil_with_periodic_borders():
    @lend.kernel
    def kernel(x: Ref[f64, N], y: Out[f64, N]):
        for i in lend.grid(N):
            y[i] = x[(i + 1) % N] - x[(i - 1) % N]

    assert_proved(kernel)


def test_stencil_with_mirrored_borders():
    @lend.kernel
    def kernel(x: Ref[f64, N], y: Out[f64, N]):
        assert N >= 2
        for i in lend.grid(N):
            left = i - 1 if i > 0 else 1
            right = i + 1 if i < N - 1 else N - 2
            y[i] = x[left] + x[right]

    assert_proved(kernel)


def test_stencil_with_a_guard_for_each_neighbour():
    @lend.kernel
    def kernel(x: Ref[f64, N, M], y: Out[f64, N, M]):
        for i, j in lend.grid(N, M):
            total = x[i, j]
            for a in range(-1, 2):
                for b in range(-1, 2):
                    r = i + a
                    c = j + b
                    if 0 <= r < N and 0 <= c < M:
                        total += x[r, c]
            y[i, j] = total

    assert_proved(kernel)


def test_life_with_periodic_borders():
    @lend.kernel
    def kernel(x: Ref[u8, H, W], y: Out[u8, H, W]):
        for i, j in lend.grid(H, W):
            alive = i32(0)
            for a in range(-1, 2):
                for b in range(-1, 2):
                    alive += x[(i + a) % H, (j + b) % W]
            y[i, j] = u8(1) if alive == 3 else u8(0)

    assert_proved(kernel)


def test_red_black_in_place():
    @lend.kernel
    def kernel(u: Mut[f64, N, M]):
        for colour in range(2):
            for i, j in lend.grid((1, N - 1), (1, M - 1)):
                if (i + j) % 2 == colour:
                    u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])

    assert_proved(kernel)


def test_red_black_in_one_dimension_by_strides():
    @lend.kernel
    def kernel(u: Mut[f64, N]):
        for i in lend.grid((1, N - 1, 2)):
            u[i] = 0.5 * (u[i - 1] + u[i + 1])
        for i in lend.grid((2, N - 1, 2)):
            u[i] = 0.5 * (u[i - 1] + u[i + 1])

    assert_proved(kernel)


def test_jacobi_until_converged():
    @lend.kernel
    def kernel(u: Mut[f64, N, M], v: Mut[f64, N, M], tol: f64, most: i32) -> i32:
        assert N >= 3 and M >= 3
        steps = i32(0)
        err = tol + 1.0
        while err > tol and steps < most:
            err = 0.0
            for i, j in lend.grid((1, N - 1), (1, M - 1)):
                v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
                err = max(err, abs(v[i, j] - u[i, j]))
            for i, j in lend.grid((1, N - 1), (1, M - 1)):
                u[i, j] = v[i, j]
            steps += 1
        return steps

    assert_proved(kernel)


def test_jacobi_with_arrays_that_swap():
    @lend.kernel
    def kernel(u: Mut[f64, N], v: Mut[f64, N], steps: i64):
        for _ in range(steps):
            for i in lend.grid((1, N - 1)):
                v[i] = 0.5 * (u[i - 1] + u[i + 1])
            u, v = v, u

    assert_proved(kernel)


def test_time_steps_in_a_circular_buffer_of_two():
    @lend.kernel
    def kernel(u: Mut[f64, Literal[2], N], steps: i64):
        for t in range(steps):
            for i in lend.grid((1, N - 1)):
                u[(t + 1) % 2, i] = 0.5 * (u[t % 2, i - 1] + u[t % 2, i + 1])

    assert_proved(kernel)


def test_wave_equation_in_a_circular_buffer_of_three():
    @lend.kernel
    def kernel(u: Mut[f64, Literal[3], N], steps: i64):
        for t in range(2, steps):
            for i in lend.grid((1, N - 1)):
                u[t % 3, i] = 2 * u[(t - 1) % 3, i] - u[(t - 2) % 3, i] + u[(t - 1) % 3, i + 1] + u[(t - 1) % 3, i - 1]

    assert_proved(kernel)


def test_history_of_all_time_steps():
    @lend.kernel
    def kernel(u: Mut[f64, K, N]):
        for t in range(1, K):
            for i in lend.grid((1, N - 1)):
                u[t, i] = 0.5 * (u[t - 1, i - 1] + u[t - 1, i + 1])

    assert_proved(kernel)


def test_wavefront_over_antidiagonals():
    @lend.kernel
    def kernel(d: Mut[i32, N, M]):
        for s in range(2, N + M - 1):
            for i in lend.grid((max(1, s - M + 1), min(N, s))):
                d[i, s - i] = min(d[i - 1, s - i], d[i, s - i - 1]) + 1

    assert_proved(kernel)


def test_restriction_to_a_coarser_grid():
    @lend.kernel
    def kernel(fine: Ref[f64, N], coarse: Mut[f64, M]):
        assert N == 2 * M + 1
        for i in lend.grid(M):
            coarse[i] = 0.25 * fine[2 * i] + 0.5 * fine[2 * i + 1] + 0.25 * fine[2 * i + 2]

    assert_proved(kernel)


def test_prolongation_to_a_finer_grid():
    @lend.kernel
    def kernel(coarse: Ref[f64, M], fine: Out[f64, N]):
        assert N == 2 * M + 1
        for i in lend.grid(N):
            if i % 2 == 1:
                fine[i] = coarse[i // 2]
            else:
                left = coarse[i // 2 - 1] if i > 0 else 0.0
                right = coarse[i // 2] if i < N - 1 else 0.0
                fine[i] = 0.5 * (left + right)

    assert_proved(kernel)


# ------------------------------------------------------------------------------------------------ rows and triangles


def test_prefix_sums_of_rows():
    @lend.kernel
    def kernel(x: Mut[f64, N, M]):
        for i in lend.grid(N):
            for j in range(1, M):
                x[i, j] += x[i, j - 1]

    assert_proved(kernel)


def test_recurrence_along_columns():
    @lend.kernel
    def kernel(x: Mut[f64, N, M]):
        for j in lend.grid(M):
            for i in range(1, N):
                x[i, j] = 0.5 * x[i - 1, j]

    assert_proved(kernel)


def test_backward_substitution_per_column():
    @lend.kernel
    def kernel(a: Ref[f64, N], x: Mut[f64, N, M]):
        for j in lend.grid(M):
            for i in range(N - 2, -1, -1):
                x[i, j] -= a[i] * x[i + 1, j]

    assert_proved(kernel)


def test_triangular_product_in_place_per_column():
    @lend.kernel
    def kernel(a: Ref[f64, M, M], b: Mut[f64, M, N], alpha: f64):
        for j in lend.grid(N):
            for i in range(M):
                for k in range(i + 1, M):
                    b[i, j] += a[k, i] * b[k, j]
                b[i, j] *= alpha

    assert_proved(kernel)


def test_lower_triangle():
    @lend.kernel
    def kernel(x: Mut[f64, N, N]):
        for i in lend.grid(N):
            for j in range(i + 1):
                x[i, j] = 0

    assert_proved(kernel)


def test_symmetric_matrix_from_one_triangle():
    @lend.kernel
    def kernel(x: Ref[f64, N, M], c: Out[f64, N, N]):
        for i in lend.grid(N):
            for j in range(i + 1):
                total = 0.0
                for k in range(M):
                    total += x[i, k] * x[j, k]
                c[i, j] = total
                c[j, i] = total

    assert_proved(kernel)


def test_upper_triangle_by_a_guard():
    @lend.kernel
    def kernel(x: Mut[f64, N, N]):
        for i, j in lend.grid(N, N):
            if j > i:
                x[i, j] = 0

    assert_proved(kernel)


def test_cholesky_column_by_column():
    @lend.kernel
    def kernel(a: Mut[f64, N, N]):
        for k in range(N):
            for i in lend.grid((k + 1, N)):
                a[i, k] /= a[k, k]
            for i, j in lend.grid((k + 1, N), (k + 1, N)):
                if j <= i:
                    a[i, j] -= a[i, k] * a[j, k]

    assert_proved(kernel)


def test_elimination_row_by_row():
    @lend.kernel
    def kernel(a: Mut[f64, N, N], b: Mut[f64, N]):
        for k in range(N):
            for i in lend.grid((k + 1, N)):
                f = a[i, k] / a[k, k]
                for j in range(k, N):
                    a[i, j] -= f * a[k, j]
                b[i] -= f * b[k]

    assert_proved(kernel)


def test_shortest_paths_by_floyd_and_warshall_out_of_place():
    @lend.kernel
    def kernel(d: Mut[f64, N, N], e: Mut[f64, N, N]):
        for k in range(N):
            for i, j in lend.grid(N, N):
                e[i, j] = min(d[i, j], d[i, k] + d[k, j])
            d, e = e, d

    assert_proved(kernel)


def test_sum_of_each_row():
    @lend.kernel
    def kernel(x: Ref[f64, N, M], y: Out[f64, N]):
        for i in lend.grid(N):
            total = 0.0
            for j in range(M):
                total += x[i, j]
            y[i] = total

    assert_proved(kernel)


def test_accumulating_in_the_output_itself():
    @lend.kernel
    def kernel(x: Ref[f64, N, M], y: Out[f64, N]):
        for i in lend.grid(N):
            y[i] = 0
            for j in range(M):
                y[i] += x[i, j]

    assert_proved(kernel)


def test_softmax_of_rows():
    @lend.kernel
    def kernel(x: Mut[f64, N, M]):
        assert M >= 1
        for i in lend.grid(N):
            top = x[i, 0]
            for j in range(1, M):
                top = max(top, x[i, j])
            total = 0.0
            for j in range(M):
                x[i, j] = 2.0 ** (x[i, j] - top)
                total += x[i, j]
            for j in range(M):
                x[i, j] /= total

    assert_proved(kernel)


def test_insertion_sort_of_rows():
    @lend.kernel
    def kernel(x: Mut[f64, N, M]):
        for i in lend.grid(N):
            for j in range(1, M):
                for k in range(j, 0, -1):
                    if x[i, k] < x[i, k - 1]:
                        t = x[i, k]
                        x[i, k] = x[i, k - 1]
                        x[i, k - 1] = t

    assert_proved(kernel)


def test_odd_even_transposition_sort():
    @lend.kernel
    def kernel(x: Mut[f64, N]):
        for step in range(N):
            for i in lend.grid((step % 2, N - 1, 2)):
                if x[i] > x[i + 1]:
                    t = x[i]
                    x[i] = x[i + 1]
                    x[i + 1] = t

    assert_proved(kernel)


# --------------------------------------------------------------------------------------------------- linear algebra


def test_matrix_product():
    @lend.kernel
    def kernel(a: Ref[f32, M, K], b: Ref[f32, K, N], c: Out[f32, M, N]):
        for i, j in lend.grid(M, N):
            acc = f32(0)
            for k in range(K):
                acc += a[i, k] * b[k, j]
            c[i, j] = acc

    assert_proved(kernel)


def test_matrix_product_in_tiles_by_hand():
    @lend.kernel
    def kernel(a: Ref[f32, M, K], b: Ref[f32, K, N], c: Out[f32, M, N]):
        for i, j in lend.grid(M, N):
            c[i, j] = 0
        for bi, bj in lend.grid((M + 15) // 16, (N + 15) // 16):
            for k0 in range(0, K, 16):
                for i in range(16 * bi, min(16 * bi + 16, M)):
                    for j in range(16 * bj, min(16 * bj + 16, N)):
                        for k in range(k0, min(k0 + 16, K)):
                            c[i, j] += a[i, k] * b[k, j]

    assert_proved(kernel)


def test_batched_matrix_product():
    @lend.kernel
    def kernel(a: Ref[f32, B, M, K], b: Ref[f32, B, K, N], c: Out[f32, B, M, N]):
        for n, i, j in lend.grid(B, M, N):
            acc = f32(0)
            for k in range(K):
                acc += a[n, i, k] * b[n, k, j]
            c[n, i, j] = acc

    assert_proved(kernel)


def test_matrix_vector_product_with_rows_as_views():
    @lend.function
    def dot(x, y):
        total = 0.0
        for k in range(len(x)):
            total += x[k] * y[k]
        return total

    @lend.kernel
    def kernel(a: Ref[f64, N, M], x: Ref[f64, M], y: Out[f64, N]):
        for i in lend.grid(N):
            y[i] = dot(a[i, :], x)

    assert_proved(kernel)


def test_convolution_without_borders():
    @lend.kernel
    def kernel(x: Ref[f64, Sum], w: Ref[f64, K], y: Out[f64, N]):
        assert K >= 1
        for i in lend.grid(N):
            total = 0.0
            for k in range(K):
                total += w[k] * x[i + k]
            y[i] = total

    assert_proved(kernel)


def test_full_convolution():
    @lend.kernel
    def kernel(x: Ref[f64, N], w: Ref[f64, K], y: Out[f64, Sum]):
        for i in lend.grid(N + K - 1):
            total = 0.0
            for k in range(max(0, i - N + 1), min(K, i + 1)):
                total += w[k] * x[i - k]
            y[i] = total

    assert_proved(kernel)


def test_pooling_by_two():
    @lend.kernel
    def kernel(x: Ref[f32, B, H, W], y: Mut[f32, B, M, N]):
        assert H == 2 * M and W == 2 * N
        for b, i, j in lend.grid(B, M, N):
            top = x[b, 2 * i, 2 * j]
            for a in range(2):
                for c in range(2):
                    top = max(top, x[b, 2 * i + a, 2 * j + c])
            y[b, i, j] = top

    assert_proved(kernel)


def test_strided_convolution_with_padding():
    @lend.kernel
    def kernel(x: Ref[f32, H, W], w: Ref[f32, Literal[3], Literal[3]], y: Out[f32, M, N]):
        for i, j in lend.grid(M, N):
            total = f32(0)
            for a in range(3):
                for b in range(3):
                    r = 2 * i + a - 1
                    c = 2 * j + b - 1
                    if r >= 0 and r < H and c >= 0 and c < W:
                        total += x[r, c] * w[a, b]
            y[i, j] = total

    assert_proved(kernel)


def test_outer_product_and_diagonal():
    @lend.kernel
    def kernel(x: Ref[f64, N], y: Ref[f64, M], a: Out[f64, N, M]):
        for i, j in lend.grid(N, M):
            a[i, j] = x[i] * y[j]
        for i in lend.grid(min(N, M)):
            a[i, i] += 1.0

    assert_proved(kernel)


def test_forces_between_all_pairs():
    @lend.kernel
    def kernel(p: Ref[f64, N, Literal[3]], f: Out[f64, N, Literal[3]]):
        for i in lend.grid(N):
            fx, fy, fz = 0.0, 0.0, 0.0
            for j in range(N):
                if j != i:
                    fx += p[j, 0] - p[i, 0]
                    fy += p[j, 1] - p[i, 1]
                    fz += p[j, 2] - p[i, 2]
            f[i, 0] = fx
            f[i, 1] = fy
            f[i, 2] = fz

    assert_proved(kernel)


# ------------------------------------------------------------------------------------------ temporaries and the host


def test_temporary_written_by_one_loop_and_read_by_the_next():
    @lend.kernel
    def kernel(x: Ref[f64, N], y: Out[f64, N]):
        t = lend.empty(f64, N + 2)
        t[0] = 0.0
        t[N + 1] = 0.0
        for i in lend.grid(N):
            t[i + 1] = x[i]
        for i in lend.grid(N):
            y[i] = t[i] + t[i + 2]

    assert_proved(kernel)


def test_out_of_place_shift_through_a_temporary():
    @lend.kernel
    def kernel(x: Mut[f64, N]):
        t = lend.empty(f64, N)
        for i in lend.grid(N):
            t[i] = x[i]
        for i in lend.grid((1, N)):
            x[i] = t[i - 1]

    assert_proved(kernel)


def test_private_array_of_each_iteration():
    @lend.kernel
    def kernel(x: Ref[f64, N], y: Out[f64, N]):
        for i in lend.grid(N):
            t = lend.local(f64, 4)
            for k in range(4):
                t[k] = x[i] * k
            y[i] = t[0] + t[3]

    assert_proved(kernel)


def test_private_histogram_with_bins_from_a_mask():
    @lend.kernel
    def kernel(image: Ref[u8, H, W], counts: Out[i32, H, Literal[16]]):
        for i in lend.grid(H):
            for k in range(16):
                counts[i, k] = 0
            for j in range(W):
                counts[i, i64(image[i, j]) & 15] += 1

    assert_proved(kernel)


def test_histogram_of_bytes_per_row():
    @lend.kernel
    def kernel(image: Ref[u8, H, W], counts: Mut[i32, H, Literal[256]]):
        for i in lend.grid(H):
            for j in range(W):
                counts[i, image[i, j]] += 1

    assert_proved(kernel)


def test_reduction_and_map_in_one_loop():
    @lend.kernel
    def kernel(x: Mut[f64, N]) -> f64:
        total = 0.0
        for i in lend.grid(N):
            total += x[i]
            x[i] = 0
        return total

    assert_proved(kernel)


def test_minimum_and_its_place():
    @lend.kernel
    def kernel(x: Ref[f64, N]) -> tuple[f64, i64]:
        assert N > 0
        best = (x[0], 0)
        for i in lend.grid(N):
            best = min(best, (x[i], i))
        return best[0], best[1]

    assert_proved(kernel)


def test_reshaped_to_pairs():
    @lend.kernel
    def kernel(x: Mut[f64, N]):
        pairs = x[0 : N // 2 * 2].reshape(N // 2, 2)
        for i in lend.grid(N // 2):
            pairs[i, 1] = pairs[i, 0]

    assert_proved(kernel)


def test_halves_as_views():
    @lend.kernel
    def kernel(x: Mut[f64, N]):
        a = x[0 : N // 2]
        b = x[N // 2 : N]
        for i in lend.grid(N // 2):
            a[i] = b[i]

    assert_proved(kernel)


def test_sieve_written_by_strides():
    @lend.kernel
    def kernel(composite: Mut[bool_, N]):
        for k in lend.grid((2, N)):
            if k * 2 < N:
                composite[2 * k] = True

    assert_proved(kernel)


def test_power_of_a_matrix_with_swapped_temporaries():
    @lend.kernel
    def kernel(x: Mut[f64, N], steps: i64):
        a = lend.zeros(f64, N)
        b = lend.zeros(f64, N)
        for i in lend.grid(N):
            a[i] = x[i]
        for _ in range(steps):
            for i in lend.grid(N):
                b[i] = a[i] + a[N - 1 - i]
            a, b = b, a
        for i in lend.grid(N):
            x[i] = a[i]

    assert_proved(kernel)


def test_function_that_writes_its_row():
    @lend.function
    def fill(row, value):
        for k in range(len(row)):
            row[k] = value

    @lend.kernel
    def kernel(x: Out[f64, N, M]):
        for i in lend.grid(N):
            fill(x[i, :], 1.0)

    assert_proved(kernel)


def test_kernel_that_calls_a_kernel():
    @lend.kernel
    def scale(x: Ref[f64, N], y: Out[f64, N], a: f64):
        for i in lend.grid(N):
            y[i] = a * x[i]

    @lend.kernel
    def kernel(x: Mut[f64, P], y: Mut[f64, P]):
        scale(x, y, 2.0)
        scale(y, x, 3.0)

    assert_proved(kernel)


def test_interpolation_between_clamped_neighbours():
    @lend.kernel
    def kernel(x: Ref[f64, N], at: Ref[f64, M], y: Out[f64, M]):
        assert N >= 2
        for i in lend.grid(M):
            k = min(max(i64(at[i]), 0), N - 2)
            y[i] = x[k] + x[k + 1]

    assert_proved(kernel)


def test_binary_search_with_invariants_in_the_condition():
    @lend.kernel
    def kernel(x: Ref[f64, N], at: Ref[f64, M], y: Out[i64, M]):
        for i in lend.grid(M):
            lo = i64(0)
            hi = N
            while lo < hi:
                mid = (lo + hi) // 2
                if 0 <= mid and mid < N and x[mid] < at[i]:
                    lo = mid + 1
                else:
                    hi = mid
            y[i] = lo

    assert_proved(kernel)


def test_offset_of_a_scalar_held_by_a_contract():
    @lend.kernel
    def kernel(x: Ref[f64, N], y: Mut[f64, N], k: i64):
        assert 0 <= k < N
        for i in lend.grid(N - k):
            y[i] = x[i + k]

    assert_proved(kernel)


def test_ring_buffer_of_constant_length():
    @lend.kernel
    def kernel(x: Ref[f64, N, M], y: Out[f64, N]):
        for i in lend.grid(N):
            ring = lend.local(f64, 8)
            for k in range(8):
                ring[k] = 0.0
            for j in range(M):
                ring[j % 8] = x[i, j]
            y[i] = ring[0]

    assert_proved(kernel)


def test_temporary_written_in_every_step_of_a_host_loop():
    @lend.kernel
    def kernel(x: Ref[f64, N], y: Out[f64, N]):
        t = lend.empty(f64, N)
        for _ in range(3):
            for i in lend.grid(N):
                t[i] = x[i]
        for i in lend.grid(N):
            y[i] = t[i]

    assert_proved(kernel)


def test_temporary_filled_by_a_host_loop():
    @lend.kernel
    def kernel(x: Ref[f64, N], y: Out[f64, N]):
        t = lend.empty(f64, N)
        for s in range(N):
            t[s] = x[s]
        for i in lend.grid(N):
            y[i] = t[i]

    assert_proved(kernel)


def test_output_in_halves_that_meet():
    @lend.kernel
    def kernel(y: Out[f64, N]):
        for i in lend.grid(N // 2):
            y[i] = 1.0
        for i in lend.grid((N // 2, N)):
            y[i] = 2.0

    assert_proved(kernel)


def test_output_by_fours_and_the_tail_apart():
    @lend.kernel
    def kernel(y: Out[f64, N]):
        for i in lend.grid(N // 4):
            for k in range(4):
                y[4 * i + k] = 1.0
        for i in lend.grid((N // 4 * 4, N)):
            y[i] = 2.0

    assert_proved(kernel)


def test_output_by_a_branch_on_a_size():
    @lend.kernel
    def kernel(y: Out[f64, N]):
        if N > 1000:
            for i in lend.grid(N):
                y[i] = 1.0
        else:
            for i in range(N):
                y[i] = 2.0

    assert_proved(kernel)


def test_output_by_a_branch_on_a_flag():
    @lend.kernel
    def kernel(y: Out[f64, N], reverse: bool_):
        if reverse:
            for i in lend.grid(N):
                y[i] = 1.0
        else:
            for i in lend.grid(N):
                y[i] = 2.0

    assert_proved(kernel)


def test_output_row_by_one_of_three_branches_on_data():
    @lend.kernel
    def kernel(c: Ref[f64, N], y: Out[f64, N, Literal[2]]):
        for i in lend.grid(N):
            if c[i] > 0:
                y[i, 0] = 1.0
                y[i, 1] = 0.0
            elif c[i] < 0:
                y[i, 0] = 0.0
                y[i, 1] = 1.0
            else:
                y[i, 0] = 0.5
                y[i, 1] = 0.5

    assert_proved(kernel)


def test_output_row_by_a_function_in_both_branches_on_data():
    @lend.function
    def fill(row, value):
        for k in range(len(row)):
            row[k] = value

    @lend.kernel
    def kernel(c: Ref[f64, N], y: Out[f64, N, M]):
        for i in lend.grid(N):
            if c[i] > 0:
                fill(y[i, :], 1.0)
            else:
                fill(y[i, :], 2.0)

    assert_proved(kernel)


def test_border_and_inside_of_an_output_of_two_dimensions():
    @lend.kernel
    def kernel(y: Out[f64, N, M]):
        assert N >= 2 and M >= 2
        for j in lend.grid(M):
            y[0, j] = 0.0
            y[N - 1, j] = 0.0
        for i in lend.grid((1, N - 1)):
            y[i, 0] = 0.0
            y[i, M - 1] = 0.0
            for j in range(1, M - 1):
                y[i, j] = 1.0

    assert_proved(kernel)


def test_flat_index_with_a_pitch_of_the_other_dimension():
    @lend.kernel
    def kernel(x: Mut[f64, K], y: Ref[f64, N, M]):
        assert K == N * M
        for i, j in lend.grid(N, M):
            x[i * M + j] = y[i, j]

    assert {p.verdict for p in kernel.proofs()} <= {"proved", "launch", "checked"}


def test_reshaped_rows_with_sizes_of_the_call():
    @lend.kernel
    def kernel(x: Mut[f64, N], h: i64, w: i64):
        assert N == h * w
        rows = x.reshape(h, w)
        for i, j in lend.grid(h, w):
            rows[i, j] = 1.0

    assert {p.verdict for p in kernel.proofs()} <= {"proved", "launch"}


def test_sparse_rows_with_index_types():
    @lend.kernel
    def kernel(start: Ref[lend.Offsets[K], Next], column: Ref[lend.Index[M], K], v: Ref[f64, K], x: Ref[f64, M], y: Out[f64, N]):
        for i in lend.grid(N):
            total = 0.0
            for k in range(start[i], start[i + 1]):
                total += v[k] * x[column[k]]
            y[i] = total

    assert_proved(kernel)


def test_particles_of_a_cell_through_their_order():
    @lend.kernel
    def kernel(start: Ref[lend.Offsets[N], K], order: Ref[lend.Unique[N], N], x: Ref[f64, N], y: Mut[f64, N]):
        for cell in lend.grid(K - 1):
            for a in range(start[cell], start[cell + 1]):
                total = 0.0
                for b in range(start[cell], start[cell + 1]):
                    total += x[order[b]]
                y[order[a]] = total

    assert_proved(kernel)


def test_particles_of_a_cell_and_the_first_of_the_next():
    with refused("L0311"):

        @lend.kernel
        def kernel(start: Ref[lend.Offsets[N], K], order: Ref[lend.Unique[N], N], x: Ref[f64, N], y: Mut[f64, N]):
            for cell in lend.grid(K - 1):
                for a in range(start[cell], min(start[cell + 1] + 1, N)):
                    y[order[a]] = x[order[a]]


def test_scatter_through_a_permutation_covers_the_output():
    @lend.kernel
    def kernel(x: Ref[f64, N], at: Ref[lend.Unique[N], N], y: Out[f64, N]):
        for i in lend.grid(N):
            y[at[i]] = x[i]

    assert_proved(kernel)


def test_private_elimination_of_a_small_matrix():
    @lend.kernel
    def kernel(x: Ref[f64, N], y: Out[f64, N]):
        for i in lend.grid(N):
            a = lend.local(f64, 3, 3)
            for p in range(3):
                for q in range(3):
                    a[p, q] = x[i] if p == q else 0.0
            for k in range(3):
                for p in range(k + 1, 3):
                    for q in range(k, 3):
                        a[p, q] -= a[p, k] * a[k, q]
            y[i] = a[2, 2]

    assert_proved(kernel)


def test_private_sort_for_a_median():
    @lend.kernel
    def kernel(x: Ref[f64, N, Literal[5]], y: Out[f64, N]):
        for i in lend.grid(N):
            v = lend.local(f64, 5)
            for p in range(5):
                v[p] = x[i, p]
            for p in range(1, 5):
                k = p
                while k > 0 and v[k - 1] > v[k]:
                    t = v[k]
                    v[k] = v[k - 1]
                    v[k - 1] = t
                    k -= 1
            y[i] = v[2]

    assert_proved(kernel)
