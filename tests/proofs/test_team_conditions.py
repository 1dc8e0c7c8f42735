"""What threads do under a condition on data, and do again under the same: it goes together; each has a twin that does not."""

from __future__ import annotations

from typing import Any, Literal

from verdicts import assert_proved, refused

import lend
from lend import Mut, Out, Ref, f32, i64
from lend.dims import M, N

Rows = Literal[32]


def test_each_thread_reads_what_it_wrote_under_its_own_condition() -> None:
    @lend.kernel
    def kernel(x: Ref[f32, M, Rows], o: Out[f32, M, Rows]):
        for b in lend.blocks(M):
            s = lend.shared(f32, 32)
            for t in lend.threads(32):
                v = x[b, t]
                if v > 0:
                    s[t] = v
                lend.sync()
                o[b, t] = s[t] if v > 0 else 0

    assert_proved(kernel)


def test_another_thread_has_another_condition() -> None:
    with refused("L0320", "`s`"):

        @lend.kernel
        def kernel(x: Ref[f32, M, Rows], o: Out[f32, M, Rows]):
            for b in lend.blocks(M):
                s = lend.shared(f32, 32)
                for t in lend.threads(32):
                    v = x[b, t]
                    if v > 0:
                        s[t] = v
                    lend.sync()
                    o[b, t] = s[31 - t] if v > 0 else 0


def test_a_condition_of_the_block_fills_a_tile_and_reads_it() -> None:
    @lend.kernel
    def kernel(x: Ref[f32, M, Rows], w: Ref[f32, M], o: Out[f32, M, Rows]):
        for b in lend.blocks(M):
            s = lend.shared(f32, 32)
            d = w[b]
            for t in lend.threads(32):
                if d > 0:
                    s[t] = x[b, t]
            for t in lend.threads(32):
                if d > 0:
                    o[b, t] = s[31 - t]
                else:
                    o[b, t] = 0.0

    assert_proved(kernel)


def test_another_comparison_is_another_condition() -> None:
    with refused("L0320", "`s`"):

        @lend.kernel
        def kernel(x: Ref[f32, M, Rows], w: Ref[f32, M], o: Out[f32, M, Rows]):
            for b in lend.blocks(M):
                s = lend.shared(f32, 32)
                d = w[b]
                for t in lend.threads(32):
                    if d > 0:
                        s[t] = x[b, t]
                for t in lend.threads(32):
                    if d >= 0:
                        o[b, t] = s[31 - t]
                    else:
                        o[b, t] = 0.0


def test_a_sum_of_the_block_decides() -> None:
    @lend.kernel
    def kernel(x: Ref[f32, M, Rows], o: Out[f32, M, Rows]):
        for b in lend.blocks(M):
            s = lend.shared(f32, 32)
            total = f32(0)
            for t in lend.threads(32):
                total += x[b, t]
            for t in lend.threads(32):
                if total > 0:
                    s[t] = x[b, t]
                lend.sync()
                if not total > 0:
                    o[b, t] = 0.0
                else:
                    o[b, t] = s[31 - t]

    assert_proved(kernel)


def test_the_other_way_round() -> None:
    with refused("L0320", "`s`"):

        @lend.kernel
        def kernel(x: Ref[f32, M, Rows], o: Out[f32, M, Rows]):
            for b in lend.blocks(M):
                s = lend.shared(f32, 32)
                total = f32(0)
                for t in lend.threads(32):
                    total += x[b, t]
                for t in lend.threads(32):
                    if total > 0:
                        s[t] = x[b, t]
                    lend.sync()
                    if total > 0:
                        o[b, t] = 0.0
                    else:
                        o[b, t] = s[31 - t]


def test_a_value_that_has_changed_is_another() -> None:
    with refused("L0320", "`s`"):

        @lend.kernel
        def kernel(x: Ref[f32, M, Rows], o: Out[f32, M, Rows]):
            for b in lend.blocks(M):
                s = lend.shared(f32, 32)
                for t in lend.threads(32):
                    v = x[b, t]
                    if v > 0:
                        s[t] = v
                    lend.sync()
                    v += 1
                    o[b, t] = s[t] if v > 0 else 0


def test_in_each_iteration_its_own() -> None:
    @lend.kernel
    def kernel(x: Ref[f32, M, N], o: Out[f32, M, Rows]):
        for b in lend.blocks(M):
            s = lend.shared(f32, 32)
            for t in lend.threads(32):
                v = f32(0)
                for j in range(N):
                    d = x[b, j]
                    if d > 0:
                        s[t] = d
                    lend.sync()
                    if d > 0:
                        v += s[31 - t]
                    lend.sync()
                o[b, t] = v

    assert_proved(kernel)


def test_the_iteration_before_had_another() -> None:
    with refused("L0320", "`s`"):

        @lend.kernel
        def kernel(x: Ref[f32, M, N], o: Out[f32, M, Rows]):
            for b in lend.blocks(M):
                s = lend.shared(f32, 32)
                for t in lend.threads(32):
                    v = f32(0)
                    for j in range(N):
                        d = x[b, j]
                        if d > 0 and j > 0:
                            v += s[31 - t]
                        lend.sync()
                        if d > 0:
                            s[t] = d
                        lend.sync()
                    o[b, t] = v


def test_iterations_that_are_known_one_by_one_have_their_own() -> None:
    with refused("L0320", "`s`"):

        @lend.kernel
        def kernel(x: Ref[f32, M, Rows], o: Out[f32, M, Rows]):
            for b in lend.blocks(M):
                s = lend.shared(f32, 32)
                for t in lend.threads(32):
                    v = f32(0)
                    d = 4
                    while d > 1:
                        w = x[b, d]
                        if d == 2:
                            if w > 0:
                                v += s[t]
                        if w > 0:
                            if d == 4:
                                s[t] = w
                        lend.sync()
                        d //= 2
                    o[b, t] = v


def test_in_one_of_them_it_is_one() -> None:
    @lend.kernel
    def kernel(x: Ref[f32, M, Rows], o: Out[f32, M, Rows]):
        for b in lend.blocks(M):
            s = lend.shared(f32, 32)
            for t in lend.threads(32):
                v = f32(0)
                d = 4
                while d > 1:
                    w = x[b, d]
                    if w > 0:
                        s[t] = w
                    lend.sync()
                    if w > 0:
                        v += s[t ^ d]
                    lend.sync()
                    d //= 2
                o[b, t] = v

    assert_proved(kernel)


@lend.function
def put(s: Any, t: i64, w: f32) -> None:
    if w > 0:
        s[t] = w


@lend.function
def get(s: Any, t: i64, w: f32) -> f32:
    return s[t] if w > 0 else f32(0)


def test_functions_that_are_given_one_value() -> None:
    @lend.kernel
    def kernel(x: Ref[f32, M, Rows], o: Out[f32, M, Rows]):
        for b in lend.blocks(M):
            s = lend.shared(f32, 32)
            d = x[b, 0]
            for t in lend.threads(32):
                put(s, t, d)
                lend.sync()
                o[b, t] = get(s, 31 - t, d)

    assert_proved(kernel)


def test_functions_that_are_given_two() -> None:
    with refused("L0320", "`s`"):

        @lend.kernel
        def kernel(x: Ref[f32, M, Rows], o: Out[f32, M, Rows]):
            for b in lend.blocks(M):
                s = lend.shared(f32, 32)
                d, e = x[b, 0], x[b, 1]
                for t in lend.threads(32):
                    put(s, t, d)
                    lend.sync()
                    o[b, t] = get(s, 31 - t, e)


def test_one_of_two_happens() -> None:
    @lend.kernel
    def kernel(x: Ref[f32, M], s: Mut[f32, M, Rows]):
        for b in lend.blocks(M):
            d = x[b]
            for t in lend.threads(32):
                if d > 0:
                    s[b, t] = 1.0
                if not d > 0:
                    s[b, 31 - t] = 2.0

    assert_proved(kernel)


def test_both_of_two_may_happen() -> None:
    with refused("L0314", "`s`"):

        @lend.kernel
        def kernel(x: Ref[f32, M], s: Mut[f32, M, Rows]):
            for b in lend.blocks(M):
                d = x[b]
                for t in lend.threads(32):
                    if d > 0:
                        s[b, t] = 1.0
                    if not d > 1:
                        s[b, 31 - t] = 2.0


def test_one_of_two_for_each_thread_is_both_for_two() -> None:
    with refused("L0314", "`s`"):

        @lend.kernel
        def kernel(x: Ref[f32, M, Rows], s: Mut[f32, M, Rows]):
            for b in lend.blocks(M):
                for t in lend.threads(32):
                    d = x[b, t]
                    if d > 0:
                        s[b, t] = 1.0
                    if not d > 0:
                        s[b, 31 - t] = 2.0
