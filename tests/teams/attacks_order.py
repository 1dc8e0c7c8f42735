"""Defective team kernels: accesses that no barrier orders: phases, blocks, tickets (see `attacks.py`)."""

from __future__ import annotations

import numpy as np

import lend
from lend import Atomic, Index, Mut, Out, Ref, f32, f64, i8, i32, i64
from lend.dims import N

from .attacks import attack, zeros

# -------------------------------------------------------------------------------------------------- phases


@attack("race", lambda: (np.zeros(8), 0))
def a_loop_without_iterations(y: Mut[f64, N], n: i64):
    for b in lend.blocks(1):
        s = lend.shared(f64, 8)
        for t in lend.threads(8):
            s[t] = 1.0
            for _k in range(n):
                lend.sync()
            y[t] = s[7 - t]


@attack("race", lambda: (np.zeros(16), 1))
def a_barrier_in_some_blocks(y: Mut[f64, N], n: i64):
    for b in lend.blocks(2):
        s = lend.shared(f64, 8)
        for t in lend.threads(8):
            s[t] = 1.0
            if b < n:
                lend.sync()
            y[b * 8 + t] = s[7 - t]


@attack("race", zeros(8))
def an_inner_loop_that_has_no_iteration_at_first(y: Mut[f64, N]):
    for b in lend.blocks(1):
        s = lend.shared(f64, 8)
        for t in lend.threads(8):
            s[t] = 1.0
            for i in range(3):
                for _j in range(i):
                    lend.sync()
                y[t] = s[7 - t]
                for _j in range(i):
                    lend.sync()
                if i > 0:
                    s[t] = 2.0
                    lend.sync()


@attack("race", zeros(8))
def the_next_iteration_writes_too_early(y: Mut[f64, N]):
    for b in lend.blocks(1):
        s = lend.shared(f64, 8)
        for t in lend.threads(8):
            v = 0.0
            for k in range(3):
                s[t] = f64(k)
                lend.sync()
                v += s[7 - t]
            y[t] = v


@attack("race", lambda: (np.zeros(8), 5))
def three_buffers_are_one_too_few(y: Mut[f64, N], n: i64):
    for b in lend.blocks(1):
        s = lend.shared(f64, 2, 8)
        for t in lend.threads(8):
            v = 0.0
            for k in range(n):
                s[k % 2, t] = f64(k)
                if k % 2 == 1:
                    lend.sync()
                    v += s[0, 7 - t] + s[1, 7 - t]
            y[t] = v


@attack("race", zeros(8))
def a_barrier_in_every_other_iteration(y: Mut[f64, N]):
    for b in lend.blocks(1):
        s = lend.shared(f64, 8)
        for t in lend.threads(8):
            s[t] = 0.0
            lend.sync()
            for k in range(4):
                v = s[7 - t]
                if k % 2 == 0:
                    lend.sync()
                s[t] = v
                lend.sync()
            y[t] = s[t]


@attack("race", lambda: (np.zeros(8), 1))
def a_skipped_barrier(y: Mut[f64, N], n: i64):
    for b in lend.blocks(1):
        s = lend.shared(f64, 8)
        for t in lend.threads(8):
            s[t] = 0.0
            lend.sync()
            for k in range(2):
                v = s[7 - t]
                if k >= n:
                    continue
                lend.sync()
                s[t] = v
            y[t] = s[t]


@attack("race", zeros(32))
def halving_without_the_last_barrier(y: Mut[f64, N]):
    for b in lend.blocks(1):
        s = lend.shared(f64, 32)
        for t in lend.threads(32):
            s[t] = 1.0
            lend.sync()
            h = 16
            while h > 0:
                if t < h:
                    s[t] += s[t + h]
                if h > 1:
                    lend.sync()
                h //= 2
            y[t] = s[0]


@attack("race", zeros(70))
def more_steps_than_are_unrolled(y: Mut[f64, N]):
    for b in lend.blocks(1):
        s = lend.shared(f64, 70)
        for t in lend.threads(70):
            s[t] = 1.0
            lend.sync()
            for k in range(69):
                if t == (k * k) % 70:
                    s[t] = 2.0
                v = s[(k * k + k) % 70]
                lend.sync()
                y[t] = v


@attack("race", zeros(8))
def butterfly_of_the_wrong_width(y: Mut[f64, N]):
    for b in lend.blocks(1):
        s = lend.shared(f64, 8)
        for t in lend.threads(4):
            s[2 * t] = 0.0
            s[2 * t + 1] = 1.0
            lend.sync()
            for k in range(3):
                step = 1 << k
                low = 2 * step * (t // (step + step // 2)) + t % step
                if low + step < 8:
                    u = s[low]
                    s[low] = u + s[low + step]
                    s[low + step] = u
                lend.sync()
            y[t] = s[t]


@attack("race", zeros(8))
def global_memory_within_a_block(y: Mut[f64, N]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            y[t] = 1.0
            v = y[7 - t]
            lend.sync()
            y[t] = v


@attack("race", zeros(8))
def the_same_value(y: Mut[f64, N]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            y[t // 2] = 1.0


# --------------------------------------------------------------------------------------------------- blocks


@attack("race", zeros(16))
def the_neighbours_halo(y: Mut[f64, N]):
    for b in lend.blocks(2):
        for t in lend.threads(8):
            i = b * 8 + t
            y[i] = 1.0
            lend.sync()
            if i + 1 < N and t == 7:
                y[i + 1] = 2.0


@attack("race", lambda: (np.zeros(2), np.zeros(2)))
def a_load_of_the_block_level(y: Mut[f64, N], z: Mut[f64, N]):
    for b in lend.blocks(2):
        v = y[0]
        for t in lend.threads(1):
            z[b] = v
            y[b] = 1.0


@attack("race", zeros(8))
def blocks_in_two_dimensions(y: Mut[f64, N]):
    for p, q in lend.blocks(2, 2):
        for t in lend.threads(4):
            if q == 0 or p == 0:
                y[p * 4 + t] = 1.0


@attack("race", zeros(32))
def tiles_that_overlap(y: Mut[f64, N]):
    for b in lend.blocks(3):
        for t in lend.threads(8):
            y[b * 7 + t] = 1.0


@attack("race", lambda: (np.zeros(64), 7))
def a_pitch_that_may_be_too_small(y: Mut[f64, N], pitch: i64):
    for b in lend.blocks(3):
        for t in lend.threads(8):
            i = b * pitch + t
            if i >= 0 and i < N:
                y[i] = 1.0


@attack("race", zeros(16))
def a_loop_over_all_blocks(y: Mut[f64, N]):
    for b in lend.blocks(2):
        for t in lend.threads(4):
            for k in range(2):
                y[(b + k) % 2 * 4 + t] = 1.0


@attack("race", lambda: (np.zeros(8), np.array([0, 1, 1, 2, 3, 4, 5, 6])))
def a_scatter(y: Mut[f64, N], at: Ref[Index[N], N]):
    for b in lend.blocks(N // 4):
        for t in lend.threads(4):
            i = b * 4 + t
            if i < N:
                y[at[i]] = 1.0


# ---------------------------------------------------------------------------------------------------- tickets


@attack("race", lambda: (np.zeros(1, np.int32), np.zeros(8), 0))
def tickets_of_any_step(h: Atomic[i32, 1], y: Mut[f64, N], step: i32):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            i = i64(h.add(0, step))
            if i >= 0 and i < N:
                y[i] = 1.0


@attack("race", lambda: (np.zeros(2, np.int32), np.zeros(8)))
def tickets_of_two_counters(h: Atomic[i32, 2], y: Mut[f64, N]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            i = i64(h.add(t % 2, 1))
            if i >= 0 and i < N:
                y[i] = 1.0


@attack("race", lambda: (np.zeros(1, np.int32), np.zeros(8)))
def tickets_that_are_given_back(h: Atomic[i32, 1], y: Mut[f64, N]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            i = i64(h.add(0, 1))
            if i >= 0 and i < N:
                y[i] = 1.0
            h.add(0, -1)


@attack("race", lambda: (np.zeros(1, np.int32), np.zeros(8)))
def tickets_of_a_counter_that_is_reset(h: Atomic[i32, 1], y: Mut[f64, N]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            if t == 3:
                h.store(0, 0)
            i = i64(h.add(0, 1))
            if i >= 0 and i < N:
                y[i] = 1.0


@attack("race", lambda: (np.zeros(8),))
def tickets_of_each_block(y: Mut[f64, N]):
    for b in lend.blocks(2):
        own = lend.shared(Atomic[i32], 1)
        for t in lend.threads(4):
            i = i64(own.add(0, 1))
            if i >= 0 and i < N:
                y[i] = 1.0


@attack("race", lambda: (np.zeros(1, np.int32), np.zeros(8)))
def tickets_by_halves(h: Atomic[i32, 1], y: Mut[f64, N]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            i = i64(h.add(0, 1)) // 2
            if i >= 0 and i < N:
                y[i] = 1.0


@attack("race", lambda: (np.array([120], np.int32), np.zeros(600)))
def tickets_that_are_narrowed(h: Atomic[i32, 1], y: Mut[f64, N]):
    for b in lend.blocks(2):
        for t in lend.threads(256):
            i = i64(i8(h.add(0, 1))) + 128
            if i >= 0 and i < N:
                y[i] = 1.0


@attack("race", lambda: (np.array([2.0**24], np.float32), np.zeros(8)))
def tickets_that_no_longer_grow(h: Atomic[f32, 1], y: Mut[f64, N]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            i = i64(h.add(0, 1.0)) - 16777216
            if i >= 0 and i < N:
                y[i] = 1.0


@attack("race", lambda: (np.zeros(1, np.int32), np.zeros(8)))
def largest_so_far(h: Atomic[i32, 1], y: Mut[f64, N]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            i = i64(h.max(0, i32(t)))
            if i >= 0 and i < N:
                y[i] = 1.0


@attack("race", lambda: (np.zeros(1, np.int32), np.zeros(16)))
def tickets_and_indices(h: Atomic[i32, 1], y: Mut[f64, N]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            i = i64(h.add(0, 1))
            if i >= 0 and i < N:
                y[i] = 1.0
            y[t] = 2.0


# --------------------------------------------------------------------------------------------- block level and atomics


@attack("race", lambda: (np.zeros(4), np.zeros(4)))
def a_loop_of_the_block_level_that_others_change(y: Mut[f64, 4], z: Mut[f64, 4]):
    for b in lend.blocks(2):
        k = 0
        while y[0] < 0.5 and k < 3:
            for t in lend.threads(2):
                z[b * 2 + t] = 1.0
                if b == 1 and t == 0:
                    y[0] = 1.0
            k += 1


@attack("init", lambda: (np.zeros(8), np.zeros(2, np.int64)))
def a_loop_of_the_block_level_without_iterations(y: Out[f64, 8], q: Ref[i64, 2]):
    for b in lend.blocks(2):
        s = lend.shared(f64, 4)
        for _k in range(q[b]):
            for t in lend.threads(4):
                s[t] = 1.0
        for t in lend.threads(4):
            y[b * 4 + t] = s[3 - t]


@attack("init", zeros(8))
def a_tile_that_is_new_in_each_iteration(y: Mut[f64, 8]):
    for b in lend.blocks(2):
        for k in range(2):
            s = lend.shared(f64, 4)
            if k == 0:
                for t in lend.threads(4):
                    s[t] = 1.0
            for t in lend.threads(4):
                y[b * 4 + t] = s[3 - t]


@attack("race", lambda: (np.zeros(2, np.int32), np.zeros(8)))
def tickets_from_a_place_that_varies(h: Atomic[i32, 2], y: Mut[f64, 8]):
    for b in lend.blocks(2):
        for t in lend.threads(4):
            i = i64(h.add(b, 1))
            if i >= 0 and i < 8:
                y[i] = 1.0


@attack("race", lambda: (np.zeros(1, np.int32), np.zeros(8)))
def tickets_and_their_neighbours(h: Atomic[i32, 1], y: Mut[f64, 8]):
    for b in lend.blocks(1):
        for t in lend.threads(4):
            i = i64(h.add(0, 1))
            if i >= 0 and i < 7:
                y[i] = 1.0
                y[i + 1] = 1.0


@attack("race", lambda: (np.zeros(1, np.int32), np.zeros(8)))
def tickets_that_are_exchanged(h: Atomic[i32, 1], y: Mut[f64, 8]):
    for b in lend.blocks(1):
        for t in lend.threads(4):
            i = i64(h.exchange(0, i32(t // 2)))
            if i >= 0 and i < 8:
                y[i] = 1.0


@attack("race", lambda: (np.zeros(1, np.int32), np.zeros(8)))
def the_last_block_reads_what_others_wrote(h: Atomic[i32, 1], y: Mut[f64, 8]):
    for b in lend.blocks(2):
        for t in lend.threads(1):
            y[b] = 1.0
            if h.add(0, 1, order="acq_rel") == 1:
                y[4] = y[0] + y[1]
