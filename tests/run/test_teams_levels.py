"""The team level: reductions and functions across its levels; compiled kernels and `kernel.py` give the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest

import lend
from lend import Mut, Out, Ref, complex128, f16, f64, i32, i64
from lend.dims import M, N


def run(kernel: Any, arguments: Callable[[], list[Any]]) -> tuple[Any, list[Any]]:
    """What a kernel returns and leaves in its arrays, the same compiled and as Python."""
    seen: list[tuple[Any, list[Any]]] = []
    for call in (kernel, kernel.py):
        given = arguments()
        result = call(*given)
        seen.append((result, [item.tolist() if isinstance(item, np.ndarray) else item for item in given]))
    assert repr(seen[0]) == repr(seen[1])
    return seen[0]


@lend.kernel(math="strict")
def in_loops(x: Ref[f64, N, Literal[4]], n: i32) -> tuple[f64, i64]:
    total = 0.0
    m = 0
    for b in lend.blocks(N):
        for r in range(n):
            if x[b, 0] > 1:
                for t in lend.threads(4):
                    total += x[b, t] * r
                    m = max(m, t + r)
            else:
                total += 0.125
        for r in lend.static_range(2):
            for t in lend.threads(2):
                if t == r:
                    continue
                total += 1
        j = 0
        while j < n:
            for _t in lend.threads(3):
                m = max(m, j)
            j += 1
    return total, m


def test_threads_add_to_a_variable_of_the_host_level_in_loops_and_branches() -> None:
    x = np.arange(12.0).reshape(3, 4)
    assert run(in_loops, lambda: [x.copy(), 3])[0] == (3 * 0.125 + 3 * x[1:].sum() + 6, 5)
    assert run(in_loops, lambda: [x.copy(), 0])[0] == (6.0, 0)
    assert run(in_loops, lambda: [x[:0].copy(), 3])[0] == (0.0, 0)


@lend.kernel(math="strict")
def after_barriers(x: Ref[f64, N, Literal[32]]) -> tuple[f64, f64]:
    once = 0.0
    total = 0.0
    for b in lend.blocks(N):
        for t in lend.threads(32):
            total += x[b, t]
            sg = lend.subgroup(32)
            s = sg.reduce_add(x[b, t])
            lend.sync()
            if sg.lane == 0:
                once += s
            total += s
    return once, total


def test_reductions_live_across_barriers() -> None:
    x = np.arange(96.0).reshape(3, 32)
    assert run(after_barriers, lambda: [x.copy()])[0] == (x.sum(), x.sum() * 33)


@lend.function
def part(x, b, w):
    if w > 6:
        return 0.0
    s = 0.0
    for t in lend.threads(w):
        s += x[b, t]
    return s


@lend.kernel(math="strict")
def largest_part(x: Ref[f64, N, Literal[8]], n: i64) -> f64:
    best = 0.0
    for b in lend.blocks(N):
        best = max(best, part(x, b, 4) + part(x, b, 7))
        if b > n:
            continue
        best = max(best, part(x, b, 5))
    return best


def test_functions_of_the_block_level_hold_threads_and_return_early() -> None:
    x = np.arange(24.0).reshape(3, 8)
    assert run(largest_part, lambda: [x.copy(), 1])[0] == 70.0
    assert run(largest_part, lambda: [x.copy(), 2])[0] == 90.0


@lend.function
def neighbours(s, v, t):
    s[t] = v
    lend.sync()
    left, right = s[(t + 1) % 4], s[(t + 3) % 4]
    lend.sync()
    return left, right


@lend.kernel
def exchanged(x: Mut[i64, N, Literal[4]]):
    for b in lend.blocks(N):
        s = lend.shared(i64, 4)

        def outer(t, v):
            return neighbours(s, v, t)

        for t in lend.threads(4):
            left, right = outer(t, x[b, t])
            l2, r2 = outer(t, left)
            x[b, t] = l2 * 100 + r2 * 10 + right


def test_functions_with_barriers_return_tuples_and_see_the_blocks_names() -> None:
    x = np.array([[3, 1, 0, 2], [0, 0, 5, 3]])
    expected = np.roll(x, -2, axis=1) * 100 + x * 10 + np.roll(x, 1, axis=1)
    assert run(exchanged, lambda: [x.copy()])[1] == [expected.tolist()]


@lend.kernel
def halved(x: Mut[f64, N, Literal[8]]):
    for b in lend.blocks(N):
        for t in lend.threads(8):
            d = 4
            while d > 0:
                v = x[b, t + d] if t < d else 0.0
                lend.sync()
                if t < d:
                    x[b, t] += v
                lend.sync()
                d = d // 2


def test_a_while_loop_of_the_same_length_for_all_threads() -> None:
    x = np.arange(16.0).reshape(2, 8)
    (found,) = run(halved, lambda: [x.copy()])[1]
    assert [row[0] for row in found] == x.sum(axis=1).tolist()


@lend.kernel
def on_demand(x: Mut[i64, N, Literal[8]], n: i32):
    for b in lend.blocks(N):
        s = lend.shared(i64, 8)
        for t in lend.threads(8):
            v = x[b, t]
            if n > 2:
                s[t] = v
                lend.sync()
                v += s[7 - t]
                lend.sync()
            x[b, t] = v


@pytest.mark.parametrize("n", [1, 3])
def test_barriers_under_a_condition_on_a_scalar(n: int) -> None:
    x = np.arange(16).reshape(2, 8)
    assert run(on_demand, lambda: [x.copy(), n])[1][0] == (x + x[:, ::-1] if n > 2 else x).tolist()


@lend.kernel
def limited(x: Mut[f64, N, Literal[4]], n: i32):
    for b in lend.blocks(N):
        for _k in range(n):
            s = 0.0
            for t in lend.threads(4):
                s += x[b, t]
            if s > 20:
                break
            for t in lend.threads(4):
                x[b, t] *= 2


def test_a_loop_of_the_block_that_ends_early() -> None:
    x = np.arange(8.0).reshape(2, 4)
    assert run(limited, lambda: [x.copy(), 5])[1][0] == [[0.0, 4.0, 8.0, 12.0], [4.0, 5.0, 6.0, 7.0]]


@lend.struct
class Pair:
    a: f64
    b: i64


@lend.kernel
def of_other_types(x: Mut[complex128, N, Literal[4]], y: Mut[f16, N, Literal[4]], z: Out[f64, N, Literal[4]]):
    for b in lend.blocks(N):
        s = lend.shared(complex128, 4)
        h = lend.shared(f16, 4)
        p = lend.shared(Pair, 4)
        total = complex128(0)
        for t in lend.threads(4):
            s[t] = x[b, t] * 1j
            h[t] = y[b, t]
            p[t] = Pair(y[b, t], t)
            total += x[b, t]
        for t in lend.threads(4):
            x[b, t] = s[3 - t] + total
            y[b, t] = h[3 - t] * 2
            z[b, t] = p[3 - t].a + f64(p[3 - t].b)


def test_shared_arrays_of_other_types() -> None:
    x, y = np.arange(8.0).reshape(2, 4) + 0j, np.arange(8).astype(np.float16).reshape(2, 4)
    found = run(of_other_types, lambda: [x.copy(), y.copy(), np.zeros((2, 4))])[1]
    turned = np.arange(8.0).reshape(2, 4)[:, ::-1]
    assert found[0] == (turned * 1j + x.sum(axis=1, keepdims=True)).tolist()
    assert found[1] == (2 * turned).tolist()
    assert found[2] == (turned + np.arange(4)[::-1]).tolist()


@lend.kernel
def one_row(x: Mut[f64, N]):
    for b in lend.blocks(lend.cdiv(N, 4)):
        for t in lend.threads(4):
            if b * 4 + t < N:
                x[b * 4 + t] += 1


@lend.kernel
def all_rows(x: Mut[f64, N, M]):
    for i in range(N):
        one_row(x[i])


def test_a_kernel_with_blocks_is_called_by_another() -> None:
    x = np.arange(10.0).reshape(2, 5)
    assert run(all_rows, lambda: [x.copy()])[1] == [(x + 1).tolist()]


@lend.kernel
def stepped(x: Ref[i64, N], low: i64, high: i64, step: i64) -> i64:
    s = 5
    for b in lend.blocks((low, high, step)):
        for t in lend.threads(2):
            s += b * 2 + t
    return s


@lend.kernel
def stepped_rows(x: Ref[f64, N], low: i64, high: i64, step: i64) -> tuple[f64, i64]:
    s, last = 0.25, -(1 << 40)
    for a, b in lend.blocks((low, high, step), (1, 4)):
        for t in lend.threads(3):
            s += f64(a) * 0.1 + f64(b) + x[0]
            last = max(last, a * 8 + b)
    return s, last


def test_reductions_over_two_dimensions_of_blocks_with_bounds_and_steps() -> None:
    x = np.array([0.3])
    for low, high, step in ((-7, 5, 3), (2, 2, 1), (9, -9, -4), (3, 4, 1 << 62), (4, 3, -(1 << 63))):
        there = run(stepped_rows, lambda a=(low, high, step): [x, *a])[0]
        terms = [(a, b) for a in range(low, high, step) for b in range(1, 4)]
        assert there[1] == max((a * 8 + b for a, b in terms), default=-(1 << 40))
        assert abs(there[0] - (0.25 + sum(3 * (a * 0.1 + b + 0.3) for a, b in terms))) < 1e-12


def test_blocks_with_bounds_and_steps() -> None:
    x = np.zeros(1, np.int64)
    least, most = -(1 << 63), (1 << 63) - 1
    far = ((least, most, 1 << 62), (most, least, -(1 << 61)), (most, least, least), (least, most, most))
    for low, high, step in ((0, 7, 3), (3, 1, 1), (-3, 1, 1), (5, 0, -2), *far):
        expected = 5 + sum(b * 2 + t for b in range(low, high, step) for t in range(2))
        expected = (expected - least) % (1 << 64) + least  # as i64 wraps
        assert run(stepped, lambda a=(low, high, step): [x, *a])[0] == expected
    for call in (stepped, stepped.py):
        with pytest.raises(lend.ArithmeticFault, match="step zero"):
            call(x, 0, 5, 0)


@lend.kernel
def divided(x: Mut[i64, N, Literal[4]], d: Ref[i64, N], at: Ref[i64, N]):
    for b in lend.blocks(N):
        q = 100 // d[b]
        for t in lend.threads(4):
            x[b, t] = q + d[at[b] + t]


def test_faults_name_the_block_and_the_thread() -> None:
    for call in (divided, divided.py):
        with pytest.raises(lend.ArithmeticFault, match="in iteration b=1") as division:
            call(np.zeros((5, 4), np.int64), np.array([1, 0, 2, 3, 4]), np.array([0, 1, 0, 0, 0]))
        assert division.value.thread == (1,)
        with pytest.raises(
            lend.BoundsError, match="index 5 is out of bounds for dimension 0 of d, .* in iteration b=1, t=3"
        ) as bounds:
            call(np.zeros((5, 4), np.int64), np.array([1, 3, 2, 3, 4]), np.array([0, 2, 0, 0, 0]))
        assert bounds.value.thread == (1, 3)
