"""Programs that naive rules accept, at team level: each is refused, or right.

Does: the programs U.. at the end of the rules of soundness by their numbers, those of S.., C.. and H.. that blocks of threads
have in a way of their own, and others that earlier versions could have let through.
Does not: waiting for other threads, which the type checker refuses (U12, `tests/ui/teams`).
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from verdicts import assert_accepted, assert_proved, refused

import lend
from lend import Atomic, Mut, Out, Ref, f64, i32, i64
from lend.dims import M, N
from lend.driver.definition import Definition
from lend.ir import typed
from lend.ir.typed import Operation, Region

# --------------------------------------------------------------------------------------------------------- uniformity


def test_u01_what_leaves_a_loop_that_threads_leave_at_different_times():
    with refused("L0350", "`k` leaves a loop that threads leave at different times"):

        @lend.kernel
        def kernel(o: Mut[f64, Literal[8]]):
            for _ in lend.blocks(1):
                for t in lend.threads(8):
                    k = i64(0)
                    while k < t:
                        k += 1
                    if k > 3:
                        lend.sync()
                    o[t] = 1.0


def test_u01_a_count_of_iterations_that_differs():
    with refused("L0350"):

        @lend.kernel
        def kernel(o: Mut[f64, Literal[8]]):
            for _ in lend.blocks(1):
                for t in lend.threads(8):
                    k = i64(0)
                    for _j in range(t):
                        k += 1
                    if k > 3:
                        lend.sync()
                    o[t] = 1.0


def test_u03_what_an_atomic_operation_finds():
    with refused("L0350", "each thread finds another state of `h`"):

        @lend.kernel
        def kernel(o: Mut[f64, Literal[8]], h: Atomic[i32, 1]):
            for _ in lend.blocks(1):
                for t in lend.threads(8):
                    if h.load(0) > 5:
                        lend.sync()
                    o[t] = 1.0


def test_u03_a_ticket():
    with refused("L0350"):

        @lend.kernel
        def kernel(o: Mut[f64, Literal[8]], h: Atomic[i32, 1]):
            for _ in lend.blocks(1):
                for t in lend.threads(8):
                    k = h.add(0, 1)
                    for _j in range(k):
                        lend.sync()
                    o[t] = 1.0


def test_u06_leaving_before_a_barrier():
    with refused("L0350"):

        @lend.kernel
        def kernel(o: Mut[f64, N]):
            for b in lend.blocks(lend.cdiv(N, 8)):
                for t in lend.threads(8):
                    if b * 8 + t >= N:
                        continue
                    lend.sync()
                    o[b * 8 + t] = 1.0


def test_u06_leaving_a_function_before_its_barrier():
    @lend.function
    def halved(x: Mut[f64, N], i: i64):
        if i >= N:
            return
        x[i] *= 0.5
        lend.sync()

    with refused("L0350"):

        @lend.kernel
        def kernel(o: Mut[f64, N]):
            for b in lend.blocks(lend.cdiv(N, 8)):
                for t in lend.threads(8):
                    halved(o, b * 8 + t)


def test_u06_breaking_out_of_a_loop_with_a_barrier():
    with refused("L0350"):

        @lend.kernel
        def kernel(o: Mut[f64, M, Literal[8]]):
            for b in lend.blocks(M):
                for t in lend.threads(8):
                    for k in range(8):
                        if o[b, t] > k:
                            break
                        lend.sync()


def test_u08_a_condition_that_another_block_writes():
    with refused("L0313", "`g`"):

        @lend.kernel
        def kernel(o: Mut[f64, N, Literal[8]], g: Mut[i32, N]):
            for b in lend.blocks(N):
                for t in lend.threads(8):
                    if g[b] > 0:
                        lend.sync()
                    if t == 0 and b + 1 < N:
                        g[b + 1] = 3
                    o[b, t] = 1.0


def test_a_shared_value_that_one_thread_has_written():
    @lend.kernel
    def kernel(x: Ref[i32, N, Literal[8]], o: Out[i32, N, Literal[8]]):
        for b in lend.blocks(N):
            s = lend.shared(i32, 8)
            for t in lend.threads(8):
                s[t] = x[b, t]
                lend.sync()
                v = s[3]
                lend.sync()
                if v > 0:
                    lend.sync()
                s[t] = 7
                o[b, t] = s[t]

    assert_proved(kernel)


def test_a_shared_value_that_may_be_overwritten_before_all_have_read_it():
    with refused("L0312", "`s`"):

        @lend.kernel
        def kernel(x: Ref[i32, N, Literal[8]], o: Out[i32, N, Literal[8]]):
            for b in lend.blocks(N):
                s = lend.shared(i32, 8)
                for t in lend.threads(8):
                    s[t] = x[b, t]
                    lend.sync()
                    v = s[3]
                    s[t] = 7
                    if v > 0:
                        lend.sync()
                    o[b, t] = s[t]


def test_a_value_of_a_private_array():
    with refused("L0350", "each thread has its own `p`"):

        @lend.kernel
        def kernel(o: Mut[f64, N]):
            for b in lend.blocks(N):
                for t in lend.threads(8):
                    p = lend.local(i64, 1)
                    p[0] = t
                    if p[0] > 3:
                        lend.sync()
                    if t == 0:
                        o[b] = 1.0


def test_nothing_is_the_same_for_all_where_accesses_are_not_judged():
    with refused("L0350", "`lend.unchecked` says so"):

        @lend.kernel
        def kernel(g: Mut[i32, N], o: Mut[f64, N, Literal[8]]):
            for b in lend.blocks(N):
                for t in lend.threads(8):
                    with lend.unchecked("for this test"):
                        g[b] = i32(t)
                    if g[b] > 3:
                        lend.sync()
                    o[b, t] = 1.0


def test_numbers_say_that_all_threads_come():
    @lend.kernel
    def kernel(o: Out[f64, N, Literal[32]]):
        for b in lend.blocks(N):
            s = lend.shared(f64, 32)
            for t in lend.threads(32):
                s[t] = 1.0
                if t < 32:
                    lend.sync()
                for _k in range(1 + t // 32):
                    lend.sync()
                o[b, t] = s[31 - t]

    assert_proved(kernel)
    with refused("L0350", "thread b=0, t=32"):

        @lend.kernel
        def one_more(o: Out[f64, N, Literal[33]]):
            for b in lend.blocks(N):
                for t in lend.threads(33):
                    if t < 32:
                        lend.sync()
                    o[b, t] = 1.0


# ------------------------------------------------------------------------------------------------------ exit barriers


def inserted(kernel: Any) -> int:
    """How many barriers the judged tree has that the user has not written."""
    definition: Definition = kernel._definition
    known = definition.known_types()
    assert known is not None
    from lend.driver.pipeline import run

    judged = run(definition.compilation(*known), until="check")

    def count(operation: Operation) -> int:
        own = isinstance(operation, typed.Sync) and operation.inserted
        return own + sum(map(of_region, operation.regions))

    def of_region(region: Region) -> int:
        return sum(map(count, region.operations))

    return of_region(judged.kernel.body)


def test_a_condition_that_differs_where_sums_wrap():
    @lend.kernel
    def kernel(y: Mut[i64, N], k: i64):
        assert N % 4 == 0
        for b in lend.blocks(N // 4):
            for t in lend.threads(4):
                if k + t < k + 40:
                    lend.sync()
                y[b * 4 + t] = t

    # Rests on no sum: `k` may be any number.
    @lend.kernel
    def plain(y: Mut[i64, N], k: i64):
        assert N % 4 == 0
        for b in lend.blocks(N // 4):
            for t in lend.threads(4):
                if t < 40 and k > 5:
                    lend.sync()
                y[b * 4 + t] = t

    y, largest = np.zeros(8, np.int64), 2**63 - 1
    assert [p.verdict for p in kernel.proofs() if p.obligation == "barrier"] == ["launch"]
    kernel(y, 7)
    assert y.tolist() == [0, 1, 2, 3] * 2
    with pytest.raises(lend.ContractError, match=r"meet the same barriers only if abs\(k\) <= 2"):
        kernel(y, largest - 1)
    assert [f.kind for f in lend.sanitize(kernel)(y, largest - 1).findings] == ["barrier"]
    assert_proved(plain)
    plain(y, largest)


def test_a_barrier_that_a_sum_lets_all_threads_meet_orders_nothing_where_it_wraps():
    @lend.kernel
    def kernel(y: Mut[i64, N], k: i64):
        assert N % 4 == 0
        for b in lend.blocks(N // 4):
            s = lend.shared(i64, 4)
            for t in lend.threads(4):
                s[t] = t
                if k + 1 < k + 2:
                    lend.sync()
                y[b * 4 + t] = s[3 - t]

    y = np.zeros(8, np.int64)
    kernel(y, 7)
    assert y.tolist() == [3, 2, 1, 0] * 2
    with pytest.raises(lend.ContractError, match="only if abs"):
        kernel(y, 2**63 - 2)


def test_u09_a_loop_of_unknown_length_is_followed_by_a_barrier():
    @lend.kernel
    def kernel(o: Out[f64, N, Literal[8]], g: Ref[i32, N]):
        for b in lend.blocks(N):
            s = lend.shared(f64, 8)
            for t in lend.threads(8):
                s[t] = t * 1.0
                k = i32(0)
                while g[b] > k:
                    lend.sync()
                    k += 1
                o[b, t] = s[7 - t]

    assert_proved(kernel)
    assert inserted(kernel) == 1
    o = np.zeros((2, 8))
    kernel(o, np.array([0, 3], np.int32))
    assert o.tolist() == [[7, 6, 5, 4, 3, 2, 1, 0]] * 2
    o[:] = 0
    kernel.py(o, np.array([0, 3], np.int32))
    assert o.tolist() == [[7, 6, 5, 4, 3, 2, 1, 0]] * 2


def test_u09_no_barrier_comes_before_the_first_iteration():
    with refused("L0314", "`s`"):

        @lend.kernel
        def kernel(o: Out[f64, N, Literal[8]], g: Ref[i32, N]):
            for b in lend.blocks(N):
                s = lend.shared(f64, 8)
                for t in lend.threads(8):
                    s[t] = 1.0
                    k = i32(0)
                    while g[b] > k:
                        o[b, t] = s[7 - t]
                        lend.sync()
                        k += 1
                    o[b, t] = s[7 - t]


@pytest.mark.parametrize("both", [True, False])
def test_u09_branches_that_data_decide(both):
    if both:

        @lend.kernel
        def kernel(o: Out[f64, N, Literal[8]], g: Ref[i32, N]):
            for b in lend.blocks(N):
                s = lend.shared(f64, 8)
                for t in lend.threads(8):
                    s[t] = 1.0
                    if g[b] > 2:
                        lend.sync()
                        o[b, t] = s[7 - t]
                    else:
                        lend.sync()
                        o[b, t] = s[7 - t]

        assert_proved(kernel)
    else:
        with refused("L0314", "`s`"):

            @lend.kernel
            def early(o: Out[f64, N, Literal[8]], g: Ref[i32, N]):
                for b in lend.blocks(N):
                    s = lend.shared(f64, 8)
                    for t in lend.threads(8):
                        s[t] = 1.0
                        if g[b] > 2:
                            o[b, t] = s[7 - t]
                            lend.sync()
                        else:
                            lend.sync()
                            o[b, t] = s[7 - t]


def test_a_loop_that_all_leave_at_once():
    @lend.kernel
    def kernel(o: Out[f64, N, Literal[8]], g: Ref[i32, N]):
        for b in lend.blocks(N):
            s = lend.shared(f64, 8)
            for t in lend.threads(8):
                s[t] = 1.0
                lend.sync()
                for k in range(8):
                    v = s[7 - t]
                    if g[b] > k:
                        break
                    lend.sync()
                    s[t] = v
                    lend.sync()
                s[t] = 3.0
                o[b, t] = s[t]

    assert_proved(kernel)
    assert inserted(kernel) > 0


def test_loops_of_known_length_need_no_further_barrier():
    @lend.kernel
    def kernel(o: Mut[f64, N, Literal[8]], steps: i32):
        for b in lend.blocks(N):
            s = lend.shared(f64, 8)
            for t in lend.threads(8):
                s[t] = 1.0
                lend.sync()
                for _k in range(steps):
                    v = s[7 - t]
                    lend.sync()
                    s[t] = v
                    lend.sync()
                if steps > 3:
                    lend.sync()
                d = 4
                while d > 0:
                    if t < d:
                        s[t] += s[t + d]
                    lend.sync()
                    d //= 2
                o[b, t] = s[t]

    assert_proved(kernel)
    assert inserted(kernel) == 0


def test_a_sub_group_barrier_under_data_orders_nothing():
    with refused("L0314", "`s`"):

        @lend.kernel
        def kernel(o: Mut[f64, N, Literal[32]], g: Ref[i32, N]):
            for b in lend.blocks(N):
                s = lend.shared(f64, 32)
                for t in lend.threads(32):
                    group = lend.subgroup(32)
                    s[t] = 1.0
                    if g[b] > 0:
                        group.sync()
                    o[b, t] = s[31 - t]


def test_barriers_in_every_second_step():
    @lend.kernel
    def kernel(y: Mut[f64, N, Literal[8]], m: Ref[f64, M]):
        for b in lend.blocks(N):
            s = lend.shared(f64, 8)
            for t in lend.threads(8):
                s[t] = 0.0
                lend.sync()
                for i in range(M):
                    if i % 2 == 0:
                        lend.sync()
                    if i % 4 == 1:
                        s[t] = m[i]
                    if i % 4 == 3:
                        y[b, t] += s[7 - t]

    assert_proved(kernel)
    with refused("L031", "`s`"):

        @lend.kernel
        def too_early(y: Mut[f64, N, Literal[8]], m: Ref[f64, M]):
            assert M > 5
            for b in lend.blocks(N):
                s = lend.shared(f64, 8)
                for t in lend.threads(8):
                    s[t] = 0.0
                    lend.sync()
                    for i in range(M):
                        if i % 2 == 0:
                            lend.sync()
                        if i % 4 == 1:
                            s[t] = m[i]
                        if i % 4 == 0:
                            y[b, t] += s[7 - t]


# ------------------------------------------------------------------------------------------------- memory of a block


def test_u11_u13_exchange_in_global_memory_and_two_loops_over_threads():
    @lend.kernel
    def kernel(x: Mut[f64, N, Literal[8]], y: Out[f64, N, Literal[8]]):
        for b in lend.blocks(N):
            for t in lend.threads(8):
                x[b, t] += 1.0
                lend.sync()
                y[b, t] = x[b, 7 - t]
            for t in lend.threads(8):
                x[b, t] = y[b, 7 - t]

    assert_proved(kernel)


def test_u15_a_tile_made_in_a_loop_is_one_buffer_with_new_content():
    @lend.kernel
    def kernel(x: Ref[f64, N, Literal[8]], y: Mut[f64, N, Literal[8]]):
        for b in lend.blocks(N):
            for _k in range(3):
                s = lend.shared(f64, 8)
                for t in lend.threads(8):
                    s[t] = x[b, t]
                for t in lend.threads(8):
                    y[b, t] += s[7 - t]

    assert_proved(kernel)
    with refused("L0320", "`s`"):

        @lend.kernel
        def stale(x: Ref[f64, N, Literal[8]], y: Mut[f64, N, Literal[8]]):
            for b in lend.blocks(N):
                for k in range(3):
                    s = lend.shared(f64, 8)
                    for t in lend.threads(8):
                        if k == 0:
                            s[t] = x[b, t]
                    for t in lend.threads(8):
                        y[b, t] += s[7 - t]


def test_u15_a_tile_made_in_a_loop_that_could_be_unrolled():
    with refused("L0320", "`s`"):

        @lend.kernel
        def kernel(x: Ref[f64, N, Literal[8]], y: Mut[f64, N, Literal[8]]):
            for b in lend.blocks(N):
                k = 4
                while k > 0:
                    s = lend.shared(f64, 8)
                    for t in lend.threads(8):
                        if k == 4:
                            s[t] = x[b, t]
                    for t in lend.threads(8):
                        y[b, t] += s[7 - t]
                    k //= 2


def test_two_names_of_one_tile():
    with refused("L0312", "`s`"):

        @lend.kernel
        def kernel(y: Out[f64, N, Literal[4]]):
            for b in lend.blocks(N):
                s = lend.shared(f64, 8)
                low = s[0:6]
                high = s[2:8]
                for t in lend.threads(4):
                    low[t] = 1.0
                    high[t] = 2.0
                    lend.sync()
                    y[b, t] = low[t] + high[t]


def test_a_sum_over_threads_is_known_to_the_whole_block():
    @lend.kernel
    def kernel(x: Ref[f64, N, Literal[8]], y: Out[f64, N, Literal[8]]):
        for b in lend.blocks(N):
            total = 0.0
            for t in lend.threads(8):
                total += x[b, t]
            for t in lend.threads(8):
                if total > 1.0:
                    lend.sync()
                y[b, t] = x[b, t] / total

    assert_proved(kernel)


def test_what_the_block_reads_before_its_threads_write():
    @lend.kernel
    def kernel(x: Mut[f64, N]):
        for b in lend.blocks(N):
            first = x[b]
            for t in lend.threads(1):
                x[b + t] = first + 1.0
            second = x[b]
            for t in lend.threads(1):
                x[b + t] = first + second

    assert_proved(kernel)
    x = np.array([1.0, 2.0])
    kernel(x)
    assert x.tolist() == [3.0, 5.0]
    with refused("L0313", "`x`", "block (b="):

        @lend.kernel
        def neighbour(x: Mut[f64, N]):
            for b in lend.blocks(N - 1):
                first = x[b + 1]
                for t in lend.threads(1):
                    x[b + t] = first


def test_a_tile_filled_as_far_as_data_say():
    @lend.kernel
    def kernel(x: Ref[f64, N, Literal[64]], lengths: Ref[i64, N], y: Mut[f64, N, Literal[64]]):
        for b in lend.blocks(N):
            s = lend.shared(f64, 64)
            for t in lend.threads(64):
                n = min(lengths[b], 64)
                if t < n:
                    s[t] = x[b, t]
                lend.sync()
                for k in range(n):
                    y[b, t] += s[k]

    assert_proved(kernel)
    with refused("L0320", "`s`"):

        @lend.kernel
        def further(x: Ref[f64, N, Literal[64]], lengths: Ref[i64, N], y: Mut[f64, N, Literal[64]]):
            for b in lend.blocks(N):
                s = lend.shared(f64, 64)
                n = min(lengths[b], 63)
                for t in lend.threads(64):
                    if t < n:
                        s[t] = x[b, t]
                for t in lend.threads(64):
                    for k in range(n + 1):
                        y[b, t] += s[k]

    with refused("L0320", "`s`"):

        @lend.kernel
        def of_another_step(x: Ref[f64, N, Literal[64]], lengths: Ref[i64, N, 2], y: Mut[f64, N, Literal[64]]):
            for b in lend.blocks(N):
                s = lend.shared(f64, 64)
                for j in range(2):
                    n = min(lengths[b, j], 64)
                    for t in lend.threads(64):
                        if j == 0 and t < n:
                            s[t] = x[b, t]
                    for t in lend.threads(64):
                        for k in range(n):
                            y[b, t] += s[k]


# ------------------------------------------------------------------------------------------------- values, not names


def test_s01_a_loaded_index_is_one_value_for_all_threads_only_where_one_address_is_loaded():
    @lend.kernel
    def once(g: Ref[i64, N]):
        for b in lend.blocks(N):
            s = lend.shared(f64, 8)
            for t in lend.threads(8):
                c = g[b] % 8
                s[(c + t) % 8] = 1.0

    assert_proved(once)
    with refused("L0314", "`s`"):

        @lend.kernel
        def by_thread(g: Ref[i64, N, Literal[8]]):
            for b in lend.blocks(N):
                s = lend.shared(f64, 8)
                for t in lend.threads(8):
                    c = g[b, t] % 8
                    s[(c + t) % 8] = 1.0

    with refused("L0314", "`s`"):

        @lend.kernel
        def in_a_loop(g: Ref[i64, N, Literal[8]]):
            for b in lend.blocks(N):
                s = lend.shared(f64, 8)
                for t in lend.threads(8):
                    for k in range(8):
                        c = g[b, k] % 8
                        s[(c + t) % 8] = 1.0


def test_s02_the_index_of_a_thread_is_given_another_value():
    with refused("L0312", "threads (b=0, t=0) and (b=0, t=1) both write y[0, 0]"):

        @lend.kernel
        def kernel(y: Mut[f64, N, Literal[8]]):
            for b in lend.blocks(N):
                for t in lend.threads(8):
                    t = t // 2
                    y[b, t] = 0.0


def test_a_scalar_that_makes_it_a_race_is_a_condition_of_the_launch():
    @lend.kernel
    def kernel(x: Mut[f64, N, Literal[8]], steps: i32):
        for b in lend.blocks(N):
            for t in lend.threads(8):
                for k in range(steps):
                    x[b, (t + k) % 8] += 1.0

    assert_accepted(kernel, {"race launch x"})
    x = np.zeros((2, 8))
    kernel(x, 1)
    assert (x == 1).all()
    with pytest.raises(lend.ContractError, match="threads of a block race on `x`"):
        kernel(x, 2)


def test_unrolled_iterations_are_judged_one_by_one():
    with refused("L0312", "`s`"):

        @lend.kernel
        def kernel(o: Mut[f64, N]):
            for b in lend.blocks(N):
                s = lend.shared(f64, 64)
                for t in lend.threads(32):
                    d = 1
                    while d < 32:
                        if d == 4:
                            s[t] = 1.0
                        else:
                            if d == 8:
                                s[(t + 1) % 32] = 2.0
                            lend.sync()
                        d *= 2


# ----------------------------------------------------------------------------------------------------------- atomics


def test_c01_a_histogram_of_atomics():
    @lend.kernel
    def kernel(x: Ref[i64, N], h: Atomic[i32, Literal[16]]):
        for b in lend.blocks(lend.cdiv(N, 64)):
            bins = lend.shared(Atomic[i32], 16)
            for t in lend.threads(64):
                if 64 * b + t < N:
                    bins[x[64 * b + t] % 16] += 1
                lend.sync()
                if t < 16:
                    h[t] += bins.load(t)

    assert_proved(kernel)
    h = np.zeros(16, np.int32)
    kernel(np.zeros(4096, np.int64), h)
    assert h.tolist() == [4096] + [0] * 15


def test_c01_a_histogram_at_grid_level():
    @lend.kernel
    def kernel(x: Ref[i64, N], h: Atomic[i32, M]):
        for i in lend.grid(N):
            k = x[i]
            if 0 <= k and k < M:
                h[k] += 1

    assert_proved(kernel)

    @lend.kernel
    def checked(x: Ref[i64, N], h: Atomic[i32, M]):
        for i in lend.grid(N):
            h[x[i]] += 1

    assert_accepted(checked, {"bounds checked h"})
    with pytest.raises(lend.BoundsError):
        checked(np.array([0, 7]), np.zeros(3, np.int32))


def test_what_an_atomic_operation_gives_is_no_index_of_ones_own():
    with refused("L0314", "`y`"):

        @lend.kernel
        def kernel(h: Atomic[i64, 1], y: Mut[f64, N]):
            for _ in lend.blocks(1):
                for t in lend.threads(8):
                    k = h.max(0, t)
                    if 0 <= k and k < N:
                        y[k] = 1.0
