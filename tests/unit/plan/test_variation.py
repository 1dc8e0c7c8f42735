"""How values vary from iteration to iteration: what is the same, what grows evenly, what is anything."""

from __future__ import annotations

from planned import stored, subscripts

import lend
from lend import Mut, Ref, f64, i32, i64
from lend.dims import K, M, N


class N2(lend.Dim):
    equals = 2 * N


def test_subscripts_grow_by_constants() -> None:
    @lend.kernel
    def kernel(a: Ref[f64, N, M], b: Ref[f64, N2], y: Mut[f64, N, M]):
        for i, j in lend.grid(N, M):
            y[i, j] = a[N - 1 - i, j] + b[2 * i + 1]

    assert subscripts(kernel, "y") == [((1, 0), (0, 1))]
    assert subscripts(kernel, "a") == [((-1, 0), (0, 1))]
    assert subscripts(kernel, "b") == [((2, 0),)]


def test_a_step_of_the_box_counts() -> None:
    @lend.kernel
    def kernel(x: Ref[f64, N], y: Mut[f64, N]):
        for i in lend.grid((0, N, 3)):
            y[i] = x[N - 1 - i]

    assert subscripts(kernel, "x") == [((-3,),)]


def test_what_is_read_at_the_same_place_is_the_same() -> None:
    @lend.kernel
    def kernel(x: Ref[f64, N], z: Ref[f64, M], y: Mut[f64, N, M], t: f64):
        for i, j in lend.grid(N, M):
            y[i, j] = t * x[i]

    assert stored(kernel) == (None, 0)


def test_a_division_is_anything() -> None:
    @lend.kernel
    def kernel(x: Ref[f64, N], y: Mut[f64, N]):
        for i in lend.grid(N):
            y[i] = x[i // 2]

    assert subscripts(kernel, "x") == [((None,),)]


def test_narrow_integers_wrap_and_are_anything() -> None:
    @lend.kernel
    def kernel(y: Mut[i32, N]):
        for i in lend.grid(N):
            y[i] = i32(i) + 1

    assert stored(kernel) == (None,)


def test_one_of_two_is_the_same_only_under_a_condition_that_is() -> None:
    @lend.kernel
    def uniform(y: Mut[i64, N], k: i64):
        for i in lend.grid(N):
            a = i + 1
            if k > 3:
                a = i + 5
            y[i] = a

    @lend.kernel
    def varying(y: Mut[i64, N], k: i64):
        for i in lend.grid(N):
            a = 1
            if i > k:
                a = 2
            y[i] = a

    @lend.kernel
    def unlike(y: Mut[i64, N], k: i64):
        for i in lend.grid(N):
            a = i
            if k > 3:
                a = 2 * i
            y[i] = a

    assert stored(uniform) == (1,)
    assert stored(varying) == (None,)
    assert stored(unlike) == (None,)


def test_what_a_loop_carries_joins_what_comes_in_and_what_goes_round() -> None:
    @lend.kernel
    def even(y: Mut[i64, N]):
        for i in lend.grid(N):
            a = i
            for _ in range(3):
                a += 1
            y[i] = a

    @lend.kernel
    def uneven(y: Mut[i64, N]):
        for i in lend.grid(N):
            a = 0
            for _ in range(3):
                a += i
            y[i] = a

    assert stored(even) == (1,)
    assert stored(uneven) == (None,)


def test_what_a_loop_carries_varies_with_its_length() -> None:
    @lend.kernel
    def triangle(x: Ref[f64, M], y: Mut[f64, N, M]):
        for i, j in lend.grid(N, M):
            s = 0.0
            for k in range(j):
                s += x[k]
            y[i, j] = s

    @lend.kernel
    def left_early(x: Ref[f64, N], y: Mut[i64, N]):
        for i in lend.grid(N):
            a = 0
            for k in range(9):
                if x[i] > 2.0:
                    break
                a += 1
            y[i] = a

    @lend.kernel
    def condition(y: Mut[i64, N], n: i64):
        for i in lend.grid(N):
            a = 0
            while a < n - i:
                a += 1
            y[i] = a

    assert stored(triangle) == (0, None)
    assert stored(left_early) == (None,)
    assert stored(condition) == (None,)


def test_a_loop_whose_ends_move_together_has_one_length_and_an_index_that_grows() -> None:
    @lend.kernel
    def window(x: Ref[f64, M], y: Mut[f64, N]):
        for i in lend.grid(N):
            s = 0.0
            for k in range(i, i + 3):
                if k < M:
                    s += x[k]
            y[i] = s

    assert subscripts(window, "x") == [((1,),)]


def test_ends_that_may_wrap_do_not_move_together() -> None:
    """`lower` and `upper` grow alike, but one of them may wrap where the other does not: the lengths differ then."""

    @lend.kernel
    def window(y: Mut[i64, N], big: i64):
        for i in lend.grid(N):
            a = 0
            for k in range(i + big, i + big + 3):
                a += 1
            y[i] = a

    assert stored(window) == (None,)


def test_values_of_the_innermost_loop_follow_the_outer_ones() -> None:
    @lend.kernel
    def kernel(a: Ref[f64, N, K], b: Ref[f64, K, M], c: Mut[f64, N, M]):
        for i, j in lend.grid(N, M):
            s = 0.0
            for k in range(K):
                s += a[i, k] * b[k, j]
            c[i, j] = s

    assert subscripts(kernel, "a") == [((1, 0), (0, 0))]
    assert subscripts(kernel, "b") == [((0, 0), (0, 1))]
    assert stored(kernel) == (None, None)
