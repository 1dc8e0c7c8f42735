"""Subscripts that loops carry: what data move stays inside where each step keeps it inside, and nowhere else.

Each kernel is proved, and beside it stands one that differs by a token and keeps its check, which is met.
"""

from __future__ import annotations

import numpy as np
import pytest

import lend
from lend import Index, Mut, Out, Ref, f64, i64
from lend.dims import K, M, N

from .verdicts import assert_accepted, assert_proved

# ------------------------------------------------------------------------------------------- inside whatever data say


def test_a_walk_along_parents():
    @lend.kernel
    def roots(parent: Ref[Index[N], N], root: Out[i64, N]):
        for v in lend.grid(N):
            k = v
            while parent[k] != k:
                k = parent[k]
            root[v] = k

    assert_proved(roots)
    root = np.zeros(5, np.int64)
    roots(np.array([1, 1, 1, 2, 3]), root)
    assert root.tolist() == [1] * 5


def test_a_walk_along_numbers_that_are_no_indices_is_checked():
    @lend.kernel
    def roots(parent: Ref[i64, N], root: Out[i64, N]):
        for v in lend.grid(N):
            k = v
            while parent[k] != k:
                k = parent[k]
            root[v] = k

    assert_accepted(roots, {"bounds checked parent"})
    with pytest.raises(lend.BoundsError):
        roots(np.array([1, 1, 1, 2, 7]), np.zeros(5, np.int64))


def test_both_ends_of_a_bisection():
    @lend.kernel
    def between(edges: Ref[f64, K], x: Ref[f64, N], y: Out[f64, N]):
        assert K >= 2
        for i in lend.grid(N):
            low, high = 0, K - 1
            while high - low > 1:
                middle = (low + high) // 2
                if edges[middle] <= x[i]:
                    low = middle
                else:
                    high = middle
            y[i] = 0.5 * (edges[low] + edges[high])

    assert_proved(between)
    y = np.zeros(3)
    between(np.arange(5.0), np.array([-1.0, 2.5, 9.0]), y)
    assert y.tolist() == [0.5, 2.5, 3.5]


def test_the_end_of_a_bisection_that_begins_behind_the_array_is_checked():
    @lend.kernel
    def between(edges: Ref[f64, K], x: Ref[f64, N], y: Out[f64, N]):
        assert K >= 2
        for i in lend.grid(N):
            low, high = 0, K
            while high - low > 1:
                middle = (low + high) // 2
                if edges[middle] <= x[i]:
                    low = middle
                else:
                    high = middle
            y[i] = 0.5 * (edges[low] + edges[high])

    assert_accepted(between, {"bounds checked edges"})
    with pytest.raises(lend.BoundsError):
        between(np.arange(5.0), np.array([9.0]), np.zeros(1))


def test_the_row_of_a_pivot():
    @lend.kernel
    def pivots(a: Mut[f64, N, M]):
        for k in range(min(N, M)):
            pivot = k
            for i in range(k + 1, N):
                if abs(a[i, k]) > abs(a[pivot, k]):
                    pivot = i
            for j in lend.grid(M):
                other = a[pivot, j]
                a[pivot, j] = a[k, j]
                a[k, j] = other

    assert_proved(pivots)
    a = np.array([[1.0, 5.0], [3.0, 6.0], [2.0, 7.0]])
    pivots(a)
    assert a.tolist() == [[3.0, 6.0], [2.0, 7.0], [1.0, 5.0]]


def test_the_row_behind_a_pivot_is_checked():
    @lend.kernel
    def pivots(a: Mut[f64, N, M]):
        for k in range(min(N, M)):
            pivot = k
            for i in range(k + 1, N):
                if abs(a[i, k]) > abs(a[pivot, k]):
                    pivot = i + 1
            for j in lend.grid(M):
                a[pivot, j] = 0.0

    assert_accepted(pivots, {"bounds launch a"})
    with pytest.raises(lend.BoundsError):
        pivots(np.array([[1.0, 5.0], [3.0, 6.0]]))


def test_a_place_in_a_ring():
    @lend.kernel
    def last_of_ring(x: Ref[f64, N], ring: Mut[f64, M, K]):
        for i in lend.grid(M):
            place = 0
            for k in range(N if K > 0 else 0):
                ring[i, place] = x[k]
                place += 1
                if place == K:
                    place = 0

    assert_proved(last_of_ring)
    ring = np.zeros((1, 3))
    last_of_ring(np.arange(5.0), ring)
    assert ring.tolist() == [[3.0, 4.0, 2.0]]


def test_a_place_in_a_ring_that_is_one_too_long_is_checked():
    @lend.kernel
    def last_of_ring(x: Ref[f64, N], ring: Mut[f64, M, K]):
        for i in lend.grid(M):
            place = 0
            for k in range(N if K > 0 else 0):
                ring[i, place] = x[k]
                place += 1
                if place > K:
                    place = 0

    assert_accepted(last_of_ring, {"bounds checked ring"})
    with pytest.raises(lend.BoundsError):
        last_of_ring(np.arange(5.0), np.zeros((1, 3)))


def test_an_insertion_that_stops_before_the_first():
    @lend.kernel
    def sort_rows(x: Mut[f64, N, M]):
        for i in lend.grid(N):
            for j in range(1, M):
                v = x[i, j]
                k = j - 1
                while k >= 0 and x[i, k] > v:
                    x[i, k + 1] = x[i, k]
                    k -= 1
                x[i, k + 1] = v

    assert_proved(sort_rows)
    x = np.random.default_rng(1).random((3, 9))
    expected = np.sort(x)
    sort_rows(x)
    np.testing.assert_array_equal(x, expected)


def test_an_insertion_that_goes_one_further_is_checked():
    @lend.kernel
    def sort_rows(x: Mut[f64, N, M]):
        for i in lend.grid(N):
            for j in range(1, M):
                v = x[i, j]
                k = j - 1
                while k >= 0 and x[i, k] > v:
                    x[i, k + 1] = x[i, k]
                    k -= 2
                x[i, k + 1] = v

    assert_accepted(sort_rows, {"bounds checked x"})
    with pytest.raises(lend.BoundsError):
        sort_rows(np.array([[2.0, 1.0]]))


# ------------------------------------------------------------------------------------------------------- no faster


def test_what_is_kept_moves_up_no_faster_than_what_is_read():
    @lend.kernel
    def compact(x: Ref[f64, N, M], y: Mut[f64, N, M], counts: Out[i64, N]):
        for i in lend.grid(N):
            kept = 0
            for j in range(M):
                if x[i, j] > 0.5:
                    y[i, kept] = x[i, j]
                    kept += 1
            counts[i] = kept

    assert_proved(compact)
    counts, y = np.zeros(1, np.int64), np.zeros((1, 4))
    compact(np.array([[0.9, 0.1, 0.8, 0.7]]), y, counts)
    assert counts[0] == 3 and y.tolist() == [[0.9, 0.8, 0.7, 0.0]]


def test_what_is_kept_twice_is_checked():
    @lend.kernel
    def compact(x: Ref[f64, N, M], y: Mut[f64, N, M], counts: Out[i64, N]):
        for i in lend.grid(N):
            kept = 0
            for j in range(M):
                if x[i, j] > 0.5:
                    y[i, kept] = x[i, j]
                    kept += 2
            counts[i] = kept

    assert_accepted(compact, {"bounds checked y"})
    with pytest.raises(lend.BoundsError):
        compact(np.ones((1, 4)), np.zeros((1, 4)), np.zeros(1, np.int64))


# --------------------------------------------------------------------------------------- no instance lacks a value


def test_a_value_that_begins_outside_stays_there():
    @lend.kernel
    def kernel(x: Ref[f64, N], start: i64, y: Out[f64, M]):
        for i in lend.grid(M):
            k = start
            for j in range(N):
                if x[j] > 0.5:
                    k = j
            y[i] = x[k]

    assert_accepted(kernel, {"bounds checked x"})
    with pytest.raises(lend.BoundsError):
        kernel(np.zeros(3), 5, np.zeros(2))


def test_the_bounds_of_one_branch_are_not_those_of_the_other():
    @lend.kernel
    def kernel(x: Ref[f64, N], y: Mut[f64, M], z: Ref[f64, K]):
        for i in lend.grid(M):
            k = 7
            if N > 0:
                k = 0
                for j in range(1, N):
                    if x[j] > x[k]:
                        k = j
            y[i] = z[k]

    assert_accepted(kernel, {"bounds checked z"})
    with pytest.raises(lend.BoundsError):
        kernel(np.zeros(0), np.zeros(2), np.zeros(3))


def test_the_bounds_of_one_branch_do_not_remove_the_other():
    @lend.kernel
    def kernel(x: Ref[f64, N], y: Mut[f64, M, K]):
        for i in lend.grid(M):
            k = i
            if N > 0:
                for j in range(N):
                    if x[j] > x[k % N]:
                        k = k + j
            y[i, k] = 1.0

    assert_accepted(kernel, {"bounds checked y"})
    with pytest.raises(lend.BoundsError):
        kernel(np.zeros(0), np.zeros((4, 2)))
