"""Defective team kernels: barriers that not all threads meet, and values that are not the same for all (see `attacks.py`)."""

from __future__ import annotations

import numpy as np

import lend
from lend import Atomic, Mut, Ref, f64, i32, i64
from lend.dims import N

from .attacks import attack, zeros

# ----------------------------------------------------------------------------------------- what is not uniform


@attack("barrier", zeros(8))
def counted_to_t(y: Mut[f64, N]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            k = i64(0)
            while k < t:
                k += 1
            if k > 3:
                lend.sync()
            y[t] = 1.0


@attack("barrier", zeros(8))
def merged_under_a_divergent_branch(y: Mut[f64, N]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            flag = i64(0)
            if t == 3:
                flag = i64(1)
            if flag == 1:
                lend.sync()
            y[t] = 1.0


@attack("barrier", zeros(8))
def carried_out_of_a_divergent_loop(y: Mut[f64, N]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            seen = 0.0
            for _i in range(t):
                seen = y[8 - 8]
                seen = 1.0
            if seen > 0.5:
                lend.sync()
            if t > 0:
                y[t] = 1.0


@attack("barrier", zeros(8))
def private_array_at_one_place(y: Mut[f64, N]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            own = lend.local(i64, 1)
            own[0] = t
            if own[0] > 3:
                lend.sync()
            y[t] = 1.0


@attack("barrier", zeros(8))
def a_row_that_depends_on_the_thread(y: Mut[f64, N]):
    for b in lend.blocks(1):
        s = lend.shared(i64, 8, 2)
        for t in lend.threads(8):
            s[t, 0] = t
            lend.sync()
            row = s[t]
            if row[0] > 3:
                lend.sync()
            y[t] = 1.0


@attack("barrier", zeros(8))
def a_slice_that_depends_on_the_thread(y: Mut[f64, N]):
    for b in lend.blocks(1):
        s = lend.shared(i64, 8)
        for t in lend.threads(8):
            s[t] = t
            lend.sync()
            part = s[t : t + 1]
            if part[0] > 3:
                lend.sync()
            y[t] = 1.0


@attack("barrier", zeros(8))
def a_ballot(y: Mut[f64, N]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            sg = lend.subgroup(4)
            if sg.ballot(t > 5) != 0:
                lend.sync()
            y[t] = 1.0


@attack("barrier", zeros(8))
def a_reduction_of_a_sub_group(y: Mut[f64, N]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            sg = lend.subgroup(4)
            if sg.reduce_max(t) > 5:
                lend.sync()
            y[t] = 1.0


@attack("barrier", lambda: (np.zeros(1, np.int32), np.zeros(8)))
def a_ticket(h: Atomic[i32, 1], y: Mut[f64, N]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            if h.add(0, 1) > 3:
                lend.sync()
            y[t] = 1.0


@attack("barrier", lambda: (np.zeros(1, np.int32), np.zeros(8)))
def an_atomic_load(h: Atomic[i32, 1], y: Mut[f64, N]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            n = h.load(0)
            h.add(0, 1)
            if n > 3:
                lend.sync()
            y[t] = 1.0


@lend.function
def wait_unless_last(t: i64, last: i64):
    if t == last:
        return 0
    lend.sync()
    return 1


@attack("barrier", zeros(8))
def an_early_return_in_a_function(y: Mut[f64, N]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            y[t] = f64(wait_unless_last(t, 7))


@attack("barrier", lambda: (np.zeros(8), 7))
def an_early_exit(y: Mut[f64, N], n: i64):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            if t >= n:
                continue
            y[t] = 1.0
            lend.sync()


@attack("barrier", zeros(8))
def a_divergent_break(y: Mut[f64, N]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            for k in range(8):
                if k > t:
                    break
                lend.sync()
            y[t] = 1.0


@attack("barrier", lambda: (np.zeros(8), np.arange(8)))
def a_value_of_the_threads_own_element(y: Mut[f64, N], q: Ref[i64, N]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            if q[t] > 3:
                lend.sync()
            y[t] = 1.0


@attack("barrier", lambda: (np.zeros(8), np.arange(8)))
def a_select_between_uniform_values(y: Mut[f64, N], q: Ref[i64, N]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            v = q[1] if t < 4 else q[7]
            if v > 3:
                lend.sync()
            y[t] = 1.0


@attack("barrier", zeros(8))
def uniform_in_each_iteration_of_a_divergent_loop(y: Mut[f64, N]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            for k in range(t % 2 + 1):
                if k == 0:
                    y[t] = 1.0
                if k == 1:
                    lend.sync()


@attack("barrier", zeros(8))
def a_uniform_loop_in_a_divergent_branch(y: Mut[f64, N]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            if t < 4:
                for _k in range(2):
                    lend.sync()
            y[t] = 1.0


@attack("barrier", zeros(8))
def as_many_barriers_in_other_iterations(y: Mut[f64, N]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            for i in range(2):
                for _j in range(2 - 2 * ((i + t) % 2)):
                    lend.sync()
            y[t] = 1.0


@attack("barrier", zeros(8))
def a_float_that_only_some_change(y: Mut[f64, N]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            x = 1.0
            for k in range(3):
                if k == 1 and t > 4:
                    x = 0.0
                if x > 0.5:
                    lend.sync()
            y[t] = x


@attack("barrier", lambda: (np.zeros(8), np.zeros(8, np.int64)))
def an_element_that_its_reader_has_changed_on_the_way(y: Mut[f64, N], q: Mut[i64, N]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            k = i64(0)
            while k < 2:
                v = q[t]
                q[t] = t
                if v > 3:
                    lend.sync()
                k += 1
            y[t] = 1.0


# ------------------------------------------------------------------------------------------------- more of barriers


@attack("barrier", lambda: (np.zeros(8), np.arange(8)))
def half_of_the_condition_is_known(y: Mut[f64, 8], q: Ref[i64, 8]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            if t < 8 and q[t] > 3:
                lend.sync()
            y[t] = 1.0


@attack("barrier", lambda: (np.zeros(8), np.arange(8)))
def half_of_a_loops_condition_is_known(y: Mut[f64, 8], q: Ref[i64, 8]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            k = i64(0)
            while k < 2 and q[t] > 3:
                lend.sync()
                k += 1
            y[t] = 1.0


@attack("barrier", lambda: (np.zeros(8), np.arange(8)))
def a_range_of_data(y: Mut[f64, 8], q: Ref[i64, 8]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            for _k in range(min(q[t], 2)):
                lend.sync()
            y[t] = 1.0


@attack("barrier", zeros(8))
def a_loop_that_some_leave_by_a_flag(y: Mut[f64, 8]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            going = True
            k = i64(0)
            while going:
                lend.sync()
                k += 1
                going = k < 2 or (t == 5 and k < 3)
            y[t] = 1.0


@attack("barrier", zeros(8))
def the_last_iteration_of_some(y: Mut[f64, 8]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            last = i64(0)
            for k in range(8):
                if k <= t:
                    last = k
            for _k in range(last // 4):
                lend.sync()
            y[t] = 1.0


@attack("barrier", lambda: (np.zeros(16), 12))
def a_guard_of_the_end(y: Mut[f64, N], n: i64):
    for b in lend.blocks(2):
        for t in lend.threads(8):
            if b * 8 + t < n:
                lend.sync()
            y[b * 8 + t] = 1.0


@attack("barrier", lambda: (np.zeros(16), 3))
def a_guard_that_holds_for_most_numbers(y: Mut[f64, N], n: i64):
    for b in lend.blocks(2):
        for t in lend.threads(8):
            if t != n:
                lend.sync()
            y[b * 8 + t] = 1.0


@attack("barrier", zeros(8))
def a_complex_way_to_say_t(y: Mut[f64, 8]):
    for b in lend.blocks(1):
        for t in lend.threads(8):
            u = (t + 1) * (t + 1) - t * t - 2 * t - 1 + t // 4
            if u > 0:
                lend.sync()
            y[t] = 1.0
