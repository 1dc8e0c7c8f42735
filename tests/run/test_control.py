"""Loops, jumps and conditions inside an iteration."""

import numpy as np
from harness import check

import lend
from lend import Mut, Out, Ref, bool_, f32, f64, i32, i64, u8
from lend.dims import K, M, N


@lend.kernel
def lower_triangle(x: Ref[f64, N, N], y: Out[f64, N]):
    for i in lend.grid(N):
        total = 0.0
        for j in range(i):
            total += x[i, j]
        for j in range(i, N):
            total -= x[i, j]
        y[i] = total


@lend.kernel
def steps(y: Out[i64, N, 4]):
    for i in lend.grid(N):
        a = 0
        for k in range(i, -1, -2):
            a += k
        b = 0
        for k in range(2, i, 3):
            b += k
        c = 0
        for k in range(5, 1):
            c += k
        d = 0
        for k in range(-i, i + 1, i + 1):
            d = 10 * d + k
        y[i, 0] = a
        y[i, 1] = b
        y[i, 2] = c
        y[i, 3] = d


@lend.kernel
def break_and_continue(x: Ref[i32, N, M], y: Out[i64, N]):
    for i in lend.grid(N):
        total = i64(0)
        for j in range(M):
            if x[i, j] < 0:
                break
            if x[i, j] % 2 == 1:
                continue
            for k in range(x[i, j]):
                if k == 3:
                    break
                total += k + 1
        y[i] = total


@lend.kernel
def while_with_break(x: Ref[f64, N], limit: f64, y: Out[i64, N]):
    for i in lend.grid(N):
        k = i
        total = 0.0
        while k < N:
            total += x[k]
            if total > limit:
                break
            k += 1
        y[i] = k


@lend.kernel
def guarded_neighbour(x: Ref[f64, N], y: Mut[f64, N]):
    for i in lend.grid(N):
        if i > 0 and x[i - 1] > 0.5:
            y[i] = 1
        elif i == N - 1 or x[i + 1] < 0.25:
            y[i] = 2
        else:
            y[i] = 3


@lend.kernel
def guarded_load(x: Ref[f32, N], y: Out[f32, N]):
    for i in lend.grid(N):
        left = x[i - 1] if i > 0 else 0
        right = x[i + 1] if i + 1 < N else 0
        y[i] = left - right


@lend.kernel
def between(x: Ref[i32, N], y: Out[bool_, N]):
    for i in lend.grid(N):
        y[i] = -5 <= x[i] < 5 != x[i] + 4


@lend.kernel
def median_of_three_by_three(x: Ref[u8, N, M], y: Out[u8, N, M]):
    for i, j in lend.grid(N, M):
        values = lend.local(u8, 9)
        for a in range(3):
            for b in range(3):
                values[3 * a + b] = x[min(max(i + a - 1, 0), N - 1), min(max(j + b - 1, 0), M - 1)]
        for a in range(1, 9):
            v = values[a]
            b = a
            while b > 0 and values[b - 1] > v:
                values[b] = values[b - 1]
                b -= 1
            values[b] = v
        y[i, j] = values[4]


@lend.kernel
def static_loops(x: Ref[f64, N, 4], y: Out[f64, N]):
    for i in lend.grid(N):
        m = lend.local(f64, 2, 2)
        for a in lend.static_range(2):
            for b in lend.static_range(2):
                m[a, b] = x[i, 2 * a + b]
        total = 0.0
        for k in lend.static_range(3, -1, -1):
            if k == 1:
                continue
            total = total * 2 + x[i, k]
        y[i] = m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0] + total


@lend.kernel
def sub_views(x: Ref[f64, N, M, K], y: Out[f64, N, K]):
    for i, k in lend.grid(N, K):
        plane = x[i, :, :]
        column = plane[:, k]
        inner = column[1 : M - 1]
        total = 0.0
        for j in range(len(inner)):
            total += inner[j]
        y[i, k] = total + len(column) + plane.shape[1]


@lend.kernel
def annotated(x: Ref[f32, N], y: Out[f64, N]):
    for i in lend.grid(N):
        a: f64 = x[i]
        b: i32 = 3
        b += 1
        a = c = a * b
        y[i] = a + c


@lend.kernel
def while_changes_several(n: i64, y: Out[i64, N, 3]):
    for i in lend.grid(N):
        low, high, rounds = 0, n, 0
        while low < high:
            middle = (low + high) // 2
            if middle * middle < i:
                low = middle + 1
            else:
                high = middle
            rounds += 1
        y[i, 0], y[i, 1], y[i, 2] = low, high, rounds


@lend.kernel
def conditions_of_numbers(x: Ref[i32, N], f: Ref[f64, N], y: Out[i32, N]):
    for i in lend.grid(N):
        flag = x[i] > 2
        other = not flag and f[i] != 0
        y[i] = 4 * i32(flag) + 2 * i32(other) + (1 if flag or other else 0)


def test_triangular_loops(target):
    def reference(x, y):
        y[...] = 2 * np.tril(x, -1).sum(axis=1) - x.sum(axis=1)

    check(
        lower_triangle,
        reference,
        lambda rng, n: (rng.random((n, n)), np.zeros(n)),
        target=target,
        sizes=(0, 1, 17, 90),
        atol=1e-11,
    )


def test_ranges_of_any_step(target):
    def reference(y):
        for i in range(len(y)):
            d = 0
            for k in range(-i, i + 1, i + 1):
                d = 10 * d + k
            y[i] = sum(range(i, -1, -2)), sum(range(2, i, 3)), 0, d

    check(steps, reference, lambda rng, n: (np.zeros((n, 4), np.int64),), target=target, sizes=(0, 1, 17, 300))


def test_break_and_continue(target):
    def reference(x, y):
        for i, row in enumerate(x.tolist()):
            total = 0
            for v in row:
                if v < 0:
                    break
                if v % 2 == 0:
                    total += sum(range(1, min(v, 3) + 1))
            y[i] = total

    def arguments(rng, n):
        return rng.integers(-1, 9, (n, n + 1)).astype(np.int32), np.zeros(n, np.int64)

    check(break_and_continue, reference, arguments, target=target, sizes=(0, 1, 17, 80))


def test_while_with_break(target):
    def reference(x, limit, y):
        for i in range(len(x)):
            above = np.flatnonzero(np.cumsum(x[i:]) > limit)
            y[i] = i + above[0] if above.size else len(x)

    check(
        while_with_break,
        reference,
        lambda rng, n: (rng.random(n), 7.0, np.zeros(n, np.int64)),
        target=target,
        sizes=(0, 1, 17, 700),
    )


def test_and_or_guard_a_subscript(target):
    def reference(x, y):
        for i in range(len(x)):
            y[i] = 1 if i > 0 and x[i - 1] > 0.5 else 2 if i == len(x) - 1 or x[i + 1] < 0.25 else 3

    check(guarded_neighbour, reference, lambda rng, n: (rng.random(n), np.zeros(n)), target=target)


def test_a_conditional_expression_guards_a_load(target):
    def reference(x, y):
        padded = np.pad(x, 1)
        y[...] = padded[:-2] - padded[2:]

    check(guarded_load, reference, lambda rng, n: (rng.random(n, np.float32), np.zeros(n, np.float32)), target=target, rtol=0)


def test_chained_comparison(target):
    def reference(x, y):
        y[...] = (-5 <= x) & (x < 5) & (x + 4 != 5)

    check(between, reference, lambda rng, n: (rng.integers(-9, 9, n).astype(np.int32), np.zeros(n, bool)), target=target)


def test_a_local_array_is_sorted(target):
    def reference(x, y):
        n, m = x.shape
        padded = np.pad(x, 1, mode="edge") if x.size else x
        if x.size:
            y[...] = np.median([padded[a : a + n, b : b + m] for a in range(3) for b in range(3)], axis=0)

    def arguments(rng, n):
        return rng.integers(0, 256, (n, n + 1)).astype(np.uint8), np.zeros((n, n + 1), np.uint8)

    check(median_of_three_by_three, reference, arguments, target=target, sizes=(0, 1, 9, 70), python_up_to=9)


def test_static_loops(target):
    def reference(x, y):
        y[...] = x[:, 0] * x[:, 3] - x[:, 1] * x[:, 2] + 4 * x[:, 3] + 2 * x[:, 2] + x[:, 0]

    check(static_loops, reference, lambda rng, n: (rng.random((n, 4)), np.zeros(n)), target=target)


def test_sub_views_of_sub_views(target):
    def reference(x, y):
        y[...] = x[:, 1:-1].sum(axis=1) + x.shape[1] + x.shape[2]

    def arguments(rng, n):
        return rng.random((n, n + 2, n + 1)), np.zeros((n, n + 1))

    check(sub_views, reference, arguments, target=target, sizes=(0, 1, 9, 25))


def test_annotated_and_chained_assignment(target):
    def reference(x, y):
        y[...] = 8 * x.astype(np.float64)

    check(annotated, reference, lambda rng, n: (rng.random(n, np.float32), np.zeros(n)), target=target, rtol=0)


def test_while_carries_several_values(target):
    def reference(n, y):
        for i in range(len(y)):
            low, high, rounds = 0, n, 0
            while low < high:
                middle = (low + high) // 2
                low, high = (middle + 1, high) if middle * middle < i else (low, middle)
                rounds += 1
            y[i] = low, high, rounds

    check(
        while_changes_several, reference, lambda rng, n: (100, np.zeros((n, 3), np.int64)), target=target, sizes=(0, 1, 17, 900)
    )


def test_bools_in_arithmetic(target):
    def reference(x, f, y):
        flag = x > 2
        other = ~flag & (f != 0)
        y[...] = 4 * flag + 2 * other + (flag | other)

    def arguments(rng, n):
        return rng.integers(0, 5, n).astype(np.int32), rng.integers(0, 2, n).astype(float), np.zeros(n, np.int32)

    check(conditions_of_numbers, reference, arguments, target=target)
