"""Defective team kernels: subscripts, views, records and narrow numbers (see `attacks.py`)."""

from __future__ import annotations

import numpy as np

import lend
from lend import Index, Mut, Ref, bool_, f64, i8, i64, u8, u32
from lend.dims import M, N

from .attacks import attack, zeros

# ---------------------------------------------------------------------------------- views, records, narrow numbers


@lend.struct
class Cell:
    a: f64
    b: f64


@attack("race", zeros(8))
def fields_of_the_neighbour(y: Mut[f64, N]):
    for b in lend.blocks(1):
        s = lend.shared(Cell, 8)
        for t in lend.threads(8):
            s[t].a = 1.0
            s[t].b = 2.0
            lend.sync()
            s[t].a = 3.0
            y[t] = s[7 - t].a


@attack("race", zeros(8))
def slices_that_overlap(y: Mut[f64, N]):
    for b in lend.blocks(1):
        s = lend.shared(f64, 9)
        for t in lend.threads(8):
            pair = s[t : t + 2]
            pair[0] = 1.0
            pair[1] = 2.0
            lend.sync()
            y[t] = s[t]


@attack("race", lambda: (np.zeros(600),))
def a_narrow_index_that_wraps(y: Mut[f64, N]):
    for b in lend.blocks(2):
        for t in lend.threads(256):
            i = i64(i8(b * 256 + t)) + 128
            if i < N:
                y[i] = 1.0


@attack("race", lambda: (np.zeros(8), np.array([1 << 31], np.uint32)))
def an_unsigned_product_that_wraps(y: Mut[f64, N], q: Ref[u32, 1]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            i = i64(u32(t) * q[0]) % 8
            y[i] = 1.0


@attack("race", lambda: (np.zeros((4, 4)),))
def a_column_and_a_row(y: Mut[f64, N, M]):
    for b in lend.blocks(1):
        for t in lend.threads(4):
            if t < N and t < M:
                for k in range(4):
                    if k < N and k < M and (t == 0 or t == 1):
                        if t == 0:
                            y[k, 2] = 1.0
                        else:
                            y[1, k] = 2.0


@lend.function
def swap(tile: Mut[f64, N], p: i64, q: i64):
    v = tile[p]
    tile[p] = tile[q]
    tile[q] = v


@attack("race", zeros(8))
def a_function_that_swaps(y: Mut[f64, N]):
    for b in lend.blocks(1):
        s = lend.shared(f64, 8)
        for t in lend.threads(8):
            s[t] = 1.0
            lend.sync()
            if t % 2 == 0 or t == 3:
                swap(s, t, (t + 1) % 8)
            lend.sync()
            y[t] = s[t]


@attack("race", lambda: (np.zeros(8), True))
def a_branch_with_one_barrier_too_few(y: Mut[f64, N], f: bool_):
    for b in lend.blocks(1):
        s = lend.shared(f64, 8)
        for t in lend.threads(8):
            s[t] = 1.0
            if f:
                s[t] = 2.0
            else:
                lend.sync()
            y[t] = s[7 - t]


@attack("race", lambda: (np.zeros(8), 3))
def ranges_that_meet_at_their_ends(y: Mut[f64, N], n: i64):
    for b in lend.blocks(1):
        for t in lend.threads(2):
            if t == 0:
                for k in range(n + 1):
                    if k < N:
                        y[k] = 1.0
            else:
                for k in range(n, 8):
                    if k >= 0 and k < N:
                        y[k] = 2.0


# ------------------------------------------------------------------------------------------------------ subscripts


@attack("race", zeros(8))
def twice_modulo(y: Mut[f64, 8]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            y[(t * 2) % 8] = 1.0


@attack("race", zeros(8))
def squares_modulo(y: Mut[f64, 8]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            y[(t * t) % 8] = 1.0


@attack("race", zeros(8))
def masked_bits(y: Mut[f64, 8]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            y[(t ^ 4) & 3] = 1.0


@attack("race", lambda: (np.zeros(8), 4))
def bits_that_a_scalar_flips(y: Mut[f64, 8], k: i64):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            y[(t | k) & 7] = 1.0


@attack("race", zeros(8))
def a_shifted_index(y: Mut[f64, 8]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            y[(t << 1) >> 2] = 1.0


@attack("race", zeros(8))
def a_floor_below_zero(y: Mut[f64, 8]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            y[(t - 4) // 2 + 2] = 1.0


@attack("race", zeros(8))
def a_smallest(y: Mut[f64, 8]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            y[min(t, 6)] = 1.0


@attack("race", zeros(8))
def a_distance(y: Mut[f64, 8]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            y[abs(t - 4)] = 1.0


@attack("race", zeros(8))
def a_select(y: Mut[f64, 8]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            y[t if t < 7 else 0] = 1.0


@attack("race", lambda: (np.zeros(8), np.zeros(8, np.int64)))
def a_select_by_data(y: Mut[f64, 8], q: Ref[i64, 8]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            i = t if q[t] > 0 else i64(0)
            y[i] = 1.0


@attack("race", zeros(8))
def an_index_that_a_loop_doubles(y: Mut[f64, 8]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            i = t
            for _k in range(2):
                i = (i * 2) % 8
            y[i] = 1.0


@attack("race", zeros(8))
def an_index_that_a_loop_halves(y: Mut[f64, 8]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            i = t
            while i > 3:
                i = i // 2
            y[i] = 1.0


@attack("race", zeros(8))
def an_index_from_a_float(y: Mut[f64, 8]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            i = i64(f64(t) * 0.5)
            if i >= 0 and i < 8:
                y[i] = 1.0


@attack("race", zeros(8))
def an_index_from_a_private_table(y: Mut[f64, 8]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            own = lend.local(i64, 1)
            own[0] = t // 2
            i = own[0]
            if i >= 0 and i < 8:
                y[i] = 1.0


@attack("race", zeros(8))
def a_linear_index_of_the_wrong_pitch(y: Mut[f64, 8]):
    for b in lend.blocks(1):
        for p, q in lend.threads(2, 3):
            y[p * 2 + q] = 1.0


@attack("race", lambda: (np.zeros((3, 3)),))
def a_transposed_store_in_place(y: Mut[f64, 3, 3]):
    for b in lend.blocks(1):
        for p, q in lend.threads(3, 3):
            y[q, p] = y[p, q]


@attack("race", zeros(16))
def a_third_dimension_that_is_forgotten(y: Mut[f64, 16]):
    for b in lend.blocks(1):
        for p, q, r in lend.threads(2, 2, 2):
            y[4 * p + 2 * q] = f64(r)


@attack("race", zeros(300))
def a_byte_that_wraps(y: Mut[f64, 300]):
    for b in lend.blocks(1):
        for t in lend.threads(257):
            y[i64(u8(t))] = 1.0


@attack("race", zeros(8))
def a_product_that_wraps(y: Mut[f64, 8]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            y[i64(u32(t) * u32(1073741824)) // 1073741824] = 1.0


@attack("race", lambda: (np.zeros(16), 8))
def strides_that_meet(y: Mut[f64, N], n: i64):
    for b in lend.blocks(1):
        for t in lend.threads(4):
            for k in range(t, n, 3):
                if k >= 0 and k < N:
                    y[k] = 1.0


@attack("race", lambda: (np.zeros(16), 2))
def a_stride_of_any_length(y: Mut[f64, N], step: i64):
    for b in lend.blocks(1):
        for t in lend.threads(4):
            i = t * step % 4
            if i >= 0 and i < N:
                y[i] = 1.0


@attack("race", lambda: (np.zeros(16), 5, 4))
def halves_that_overlap(y: Mut[f64, N], n: i64, m: i64):
    low = y[:n]
    high = y[m:]
    for b in lend.blocks(1):
        for t in lend.threads(8):
            if t < n and t < N - m and n <= N and m >= 0:
                low[t] = 1.0
                high[t] = 2.0


@attack("race", lambda: (np.zeros((4, 4)),))
def rows_and_columns(y: Mut[f64, 4, 4]):
    for b in lend.blocks(1):
        for t in lend.threads(2):
            row = y[t]
            column = y[:, t]
            row[1] = 1.0
            column[0] = 2.0


@attack("race", lambda: (np.zeros(16),))
def a_reshaped_array_under_two_names(y: Mut[f64, 16]):
    m = y.reshape(4, 4)
    for b in lend.blocks(1):
        for t in lend.threads(4):
            m[t, 0] = 1.0
            lend.sync()
            m[0, t] = 2.0
            y[(t + 1) % 4] = 3.0


@attack("race", lambda: (np.zeros(16),))
def blocks_from_one(y: Mut[f64, 16]):
    for b in lend.blocks((1, 3)):
        for t in lend.threads(4):
            y[b // 2 * 4 + t] = 1.0
            y[b // 3 * 4 + t] = 1.0


@attack("race", lambda: (np.zeros(20),))
def a_shift_in_each_iteration_of_a_block(y: Mut[f64, N]):
    for b in lend.blocks(2):
        for e in range(2):
            for t in lend.threads(8):
                y[b * 8 + t + e] = 1.0


@attack("race", lambda: (np.zeros(8), np.array([0, 3, 5, 8])))
def offsets_and_the_element_behind(y: Mut[f64, N], at: Ref[lend.Offsets[N], M]):
    for b in lend.blocks(M - 1):
        for t in lend.threads(1):
            for k in range(at[b], at[b + 1] + 1):
                if k < N:
                    y[k] = 1.0


@attack("race", lambda: (np.zeros(8), np.array([1, 0, 3, 2])))
def a_permutation_and_its_neighbour(y: Mut[f64, N], at: Ref[lend.Unique[N], M]):
    for b in lend.blocks(1):
        for t in lend.threads(4):
            if t < M:
                i = at[t]
                y[i] = 1.0
                if i + 1 < N:
                    y[i + 1] = 2.0


@attack("race", lambda: (np.zeros(8), np.array([1, 1, 3, 2])))
def indices_that_are_not_unique(y: Mut[f64, N], at: Ref[Index[N], M]):
    for b in lend.blocks(1):
        s = lend.shared(f64, 8)
        for t in lend.threads(8):
            s[t] = 0.0
            lend.sync()
            if t < M:
                s[at[t] % 8] = 1.0
            lend.sync()
            y[t] = s[t]
