"""Defective team kernels: sub-groups, and reads of what nothing has written (see `attacks.py`)."""

from __future__ import annotations

import numpy as np

import lend
from lend import Atomic, Mut, Out, Ref, f64, i32, i64
from lend.dims import N

from .attacks import attack, zeros

# ------------------------------------------------------------------------------------------------ sub-groups


@attack("race", zeros(8))
def across_sub_groups(y: Mut[f64, N]):
    for b in lend.blocks(1):
        s = lend.shared(f64, 8)
        for t in lend.threads(8):
            sg = lend.subgroup(4)
            s[t] = 1.0
            sg.sync()
            y[t] = s[(t + 1) % 8]


@attack("race", zeros(8))
def a_shuffle_orders_no_memory(y: Mut[f64, N]):
    for b in lend.blocks(1):
        s = lend.shared(f64, 8)
        for t in lend.threads(8):
            sg = lend.subgroup(8)
            s[t] = 1.0
            v = sg.shuffle_xor(1.0, 1)
            y[t] = s[t ^ 1] + v


@attack("race", lambda: (np.zeros((4, 4)),))
def lanes_lie_along_the_last_index(y: Mut[f64, 4, 4]):
    for b in lend.blocks(1):
        s = lend.shared(f64, 4, 4)
        for p, q in lend.threads(4, 4):
            sg = lend.subgroup(4)
            s[p, q] = 1.0
            sg.sync()
            y[p, q] = s[3 - p, q]


@attack("race", zeros(16))
def a_smaller_sub_group_than_is_needed(y: Mut[f64, N]):
    for b in lend.blocks(1):
        s = lend.shared(f64, 16)
        for t in lend.threads(16):
            small = lend.subgroup(2)
            large = lend.subgroup(8)
            s[t] = 1.0
            small.sync()
            v = s[t ^ 2]
            large.sync()
            y[t] = v + s[t ^ 4]


@attack("barrier", zeros(8))
def a_sub_group_without_one_of_its_lanes(y: Mut[f64, N]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            sg = lend.subgroup(4)
            if t != 2:
                sg.sync()
            y[t] = 1.0


@attack("race", zeros(16))
def sub_groups_of_two_blocks(y: Mut[f64, N]):
    for b in lend.blocks(2):
        for t in lend.threads(8):
            sg = lend.subgroup(8)
            y[t] = 1.0
            sg.sync()


@attack("race", lambda: (np.zeros(8), 0))
def a_sub_group_that_may_not_wait(y: Mut[f64, N], n: i64):
    for b in lend.blocks(1):
        s = lend.shared(f64, 8)
        for t in lend.threads(8):
            sg = lend.subgroup(8)
            s[t] = 1.0
            for _k in range(n):
                sg.sync()
            y[t] = s[7 - t]


# ------------------------------------------------------------------------------------------- sub-groups on their own


@attack("barrier", zeros(8))
def half_a_sub_group(y: Mut[f64, 8]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            sg = lend.subgroup(8)
            if t // 4 == 0:
                sg.sync()
            y[t] = 1.0


@attack("barrier", lambda: (np.zeros((2, 4)),))
def a_row_of_a_larger_sub_group(y: Mut[f64, 2, 4]):
    for b in lend.blocks(1):
        for p, q in lend.threads(2, 4):
            sg = lend.subgroup(8)
            if p == 0:
                sg.sync()
            y[p, q] = 1.0


@attack("barrier", lambda: (np.zeros((4, 2)),))
def a_column_of_a_sub_group(y: Mut[f64, 4, 2]):
    for b in lend.blocks(1):
        for p, q in lend.threads(4, 2):
            sg = lend.subgroup(2)
            if q == 0:
                sg.sync()
            y[p, q] = 1.0


@attack("barrier", zeros(8))
def a_ballot_of_a_smaller_sub_group(y: Mut[f64, 8]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            small = lend.subgroup(4)
            large = lend.subgroup(8)
            if small.ballot(t > 5) != 0:
                large.sync()
            y[t] = 1.0


@attack("barrier", zeros(8))
def a_scan_is_not_the_same_in_each_lane(y: Mut[f64, 8]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            sg = lend.subgroup(4)
            if sg.scan_add(1) > 2:
                sg.sync()
            y[t] = 1.0


@attack("barrier", zeros(8))
def a_shuffle_is_not_the_same_in_each_lane(y: Mut[f64, 8]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            sg = lend.subgroup(4)
            if sg.shuffle_xor(t, 1) % 4 == 0:
                sg.sync()
            y[t] = 1.0


@attack("barrier", lambda: (np.zeros(8), np.array([0, 3])))
def a_loop_as_long_as_the_sub_group_says(y: Mut[f64, 8], q: Ref[i64, 2]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            sg = lend.subgroup(8)
            for _k in range(q[t // 4]):
                sg.sync()
            y[t] = 1.0


@attack("race", zeros(8))
def a_sub_group_that_does_not_wait(y: Mut[f64, 8]):
    for b in lend.blocks(1):
        s = lend.shared(f64, 8)
        for t in lend.threads(8):
            sg = lend.subgroup(4)
            s[t] = 1.0
            for _k in range(t // 4):
                sg.sync()
            y[t] = s[t ^ 1]


@attack("race", lambda: (np.zeros(8), np.array([1, 0])))
def a_sub_group_that_data_does_not_let_wait(y: Mut[f64, 8], q: Ref[i64, 2]):
    for b in lend.blocks(1):
        s = lend.shared(f64, 8)
        for t in lend.threads(8):
            sg = lend.subgroup(4)
            s[t] = 1.0
            if q[t // 4] > 0:
                sg.sync()
            y[t] = s[t ^ 1]


@attack("race", zeros(8))
def the_next_iteration_of_a_sub_group(y: Mut[f64, 8]):
    for b in lend.blocks(1):
        s = lend.shared(f64, 8)
        for t in lend.threads(8):
            sg = lend.subgroup(4)
            v = 0.0
            for k in range(3):
                s[t] = f64(k)
                sg.sync()
                v += s[t ^ 3]
            y[t] = v


@attack("race", zeros(8))
def a_ballot_orders_no_memory(y: Mut[f64, 8]):
    for b in lend.blocks(1):
        s = lend.shared(f64, 8)
        for t in lend.threads(8):
            sg = lend.subgroup(8)
            s[t] = 1.0
            if sg.ballot(True) != 0:
                y[t] = s[7 - t]


# ------------------------------------------------------------------------------------------------ initialisation


@attack("init", zeros(10))
def a_tile_that_the_end_leaves_open(y: Out[f64, N]):
    for b in lend.blocks(lend.cdiv(N, 4)):
        s = lend.shared(f64, 4)
        for t in lend.threads(4):
            i = b * 4 + t
            if i < N:
                s[t] = 1.0
            lend.sync()
            if i < N:
                y[i] = s[3 - t]


@attack("init", zeros(8))
def the_content_of_an_earlier_iteration(y: Mut[f64, N]):
    for b in lend.blocks(1):
        for k in range(3):
            s = lend.shared(f64, 8)
            for t in lend.threads(8):
                if k == 0:
                    s[t] = 1.0
                lend.sync()
                y[t] = s[7 - t]


@attack("init", lambda: (np.zeros(8), np.zeros(1, np.int64)))
def a_fill_that_data_decides(y: Mut[f64, N], q: Ref[i64, 1]):
    for b in lend.blocks(1):
        s = lend.shared(f64, 8)
        for t in lend.threads(8):
            if q[0] > 0:
                s[t] = 1.0
            lend.sync()
            y[t] = s[7 - t]


@attack("init", lambda: (np.zeros(8), 0))
def a_fill_in_a_loop(y: Mut[f64, N], n: i64):
    for b in lend.blocks(1):
        s = lend.shared(f64, 8)
        for t in lend.threads(8):
            for _k in range(n):
                s[t] = 1.0
            lend.sync()
            y[t] = s[7 - t]


@attack("init", zeros(8))
def a_triangle_that_leaves_the_last(y: Mut[f64, N]):
    for b in lend.blocks(1):
        s = lend.shared(f64, 8)
        for t in lend.threads(8):
            if t == 6:
                for j in range(t + 1):
                    s[j] = 1.0
            lend.sync()
            y[t] = s[7 - t]


@attack("init", lambda: (np.zeros(16), 1))
def a_fill_in_some_blocks(y: Mut[f64, N], n: i64):
    for b in lend.blocks(2):
        s = lend.shared(f64, 8)
        if b < n:
            for t in lend.threads(8):
                s[t] = 1.0
        for t in lend.threads(8):
            y[b * 8 + t] = s[7 - t]


@attack("init", zeros(8))
def a_private_array_of_the_iteration_before(y: Mut[f64, N]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            for k in range(2):
                own = lend.local(f64, 2)
                if k == 0:
                    own[1] = 1.0
                y[t] = own[1]


@attack("init", lambda: (np.zeros(8), np.array([3, 9, 1, 0, 2, 4, 5, 6])))
def a_fill_whose_place_may_lie_outside(y: Mut[f64, N], q: Ref[i64, N]):
    for b in lend.blocks(1):
        s = lend.shared(f64, 8)
        for t in lend.threads(8):
            if t == 0:
                for k in range(8):
                    s[q[k] % 8] = 1.0
            lend.sync()
            y[t] = s[t]


@attack("init", lambda: (np.zeros(9),))
def an_out_array_whose_end_is_left(y: Out[f64, N]):
    for b in lend.blocks(N // 4):
        for t in lend.threads(4):
            y[b * 4 + t] = 1.0


@attack("init", lambda: (np.zeros(1, np.int32), np.zeros(8)))
def an_out_array_that_tickets_fill(h: Atomic[i32, 1], y: Out[f64, N]):
    for b in lend.blocks(2):
        for t in lend.threads(2):
            i = i64(h.add(0, 1))
            if i >= 0 and i < N:
                y[i] = 1.0


@attack("init", lambda: (np.zeros(8), np.zeros(8)))
def an_out_array_that_is_read_back(y: Out[f64, N], z: Mut[f64, N]):
    for b in lend.blocks(N // 4):
        for t in lend.threads(4):
            z[b * 4 + t] = y[b * 4 + t]
            y[b * 4 + t] = 1.0


@attack("init", lambda: (np.zeros(16),))
def a_temporary_that_blocks_fill_in_part(y: Out[f64, N]):
    s = lend.empty(f64, N)
    for b in lend.blocks(N // 8):
        for t in lend.threads(4):
            s[b * 8 + t] = 1.0
    for i in lend.grid(N):
        y[i] = s[i]


@attack("init", lambda: (np.zeros(8), np.array([3, 4])))
def a_fill_as_far_as_it_was_said_before(y: Mut[f64, 8], q: Mut[i64, 2]):
    for b in lend.blocks(2):
        s = lend.shared(f64, 8)
        for t in lend.threads(4):
            n = q[b]
            if t < n and t < 8:
                s[t] = 1.0
            lend.sync()
            if t == 0:
                q[b] = n + 3
            lend.sync()
            m = q[b]
            for j in range(8):
                if j < m:
                    y[b * 4 + t] = s[j]


@attack("init", lambda: (np.zeros(8), np.array([0, 1, 4, 4])))
def a_fill_as_far_as_each_thread_says(y: Mut[f64, 8], q: Ref[i64, 4]):
    for b in lend.blocks(2):
        s = lend.shared(f64, 4)
        for t in lend.threads(4):
            n = q[t]
            if t < n:
                s[t] = 1.0
            lend.sync()
            for j in range(4):
                if j < n:
                    y[b * 4 + t] = s[j]


@attack("init", lambda: (np.zeros(8), np.array([1, 4])))
def a_fill_as_far_as_another_element_says(y: Mut[f64, 8], q: Ref[i64, 2]):
    for b in lend.blocks(2):
        s = lend.shared(f64, 4)
        for t in lend.threads(4):
            n = q[0]
            m = q[1]
            if t < n:
                s[t] = 1.0
            lend.sync()
            if t < m:
                y[b * 4 + t] = s[t]


@attack("init", lambda: (np.zeros(8), np.array([1, 4])))
def a_fill_as_far_as_the_iteration_before_said(y: Mut[f64, 8], q: Ref[i64, 2]):
    for b in lend.blocks(2):
        s = lend.shared(f64, 4)
        for e in range(2):
            n = q[e]
            for t in lend.threads(4):
                if e == 0 and t < n:
                    s[t] = 1.0
            for t in lend.threads(4):
                if e == 1 and t < n:
                    y[b * 4 + t] = s[t]


@attack("init", lambda: (np.zeros(8), np.array([1.0, -1.0])))
def a_fill_that_is_undone_before_it_is_read(y: Mut[f64, 8], x: Mut[f64, 2]):
    for b in lend.blocks(2):
        s = lend.shared(f64, 4)
        for t in lend.threads(4):
            if x[b] > 0.0:
                s[t] = 1.0
            lend.sync()
            if t == 0:
                x[b] = -x[b]
            lend.sync()
            if x[b] > 0.0:
                y[b * 4 + t] = s[3 - t]


@attack("init", lambda: (np.zeros(8), np.array([1.0, -1.0])))
def two_fills_by_data(y: Mut[f64, 8], x: Ref[f64, 2]):
    for b in lend.blocks(2):
        s = lend.shared(f64, 4)
        for t in lend.threads(4):
            if x[0] > 0.0 and t < 2:
                s[t] = 1.0
            if x[1] > 0.0 and t >= 2:
                s[t] = 1.0
            lend.sync()
            if x[0] > 0.0 or x[1] > 0.0:
                y[b * 4 + t] = s[3 - t]


@attack("init", lambda: (np.zeros(8), np.array([2, 2])))
def a_fill_one_element_too_short(y: Mut[f64, 8], q: Ref[i64, 2]):
    for b in lend.blocks(2):
        s = lend.shared(f64, 4)
        n = q[b]
        for k in range(n):
            for t in lend.threads(4):
                if k < 1 and t < n:
                    s[t] = 1.0
        for t in lend.threads(4):
            if t <= n:
                y[b * 4 + t] = s[t]


@attack("init", lambda: (np.zeros(8), np.array([0, 3])))
def a_fill_that_another_block_decides(y: Mut[f64, 8], q: Ref[i64, 2]):
    t0 = lend.empty(f64, 8)
    for b in lend.blocks(2):
        n = q[b]
        for t in lend.threads(4):
            if t < n:
                t0[b * 4 + t] = 1.0
    for b in lend.blocks(2):
        n = q[1 - b]
        for t in lend.threads(4):
            if t < n:
                y[b * 4 + t] = t0[b * 4 + t]
