"""Loops that go over the rows of a matrix together: the same bits as one iteration after the other, in every size and piece."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from two_ways import two_ways

import lend
from lend import Mut, Out, Ref, f32, f64, i32, i64
from lend.dims import K, M, N
from lend.targets.cpu.threads import pool


@pytest.fixture(autouse=True, params=["near", "far"])
def _caches(request: pytest.FixtureRequest) -> Iterator[None]:
    """Caches that hold everything, and caches that hold nothing, so that rows are fetched ahead."""
    threads, caches = lend.config.threads, pool().caches
    size = 1 << 40 if request.param == "near" else 1
    pool().caches = (size,) * len(caches)
    yield
    pool().caches = caches
    lend.config.threads = threads


@lend.kernel(math="strict")
def times(a: Ref[f64, N, M], x: Ref[f64, N], y: Out[f64, M]):
    for j in lend.grid(M):
        s = 0.0
        for i in range(N):
            s += a[i, j] * x[i]
        y[j] = s


@lend.kernel(math="strict")
def lowest_and_sum(a: Ref[f32, N, M], low: Out[f32, M], at: Out[i64, M], total: Out[f32, M]):
    for j in lend.grid(M):
        best, where, s = f32(1e30), i64(-1), f32(0)
        for i in range(N):
            where = min(where, i + j)
            best = min(best, a[i, j])
            s += a[i, j]
        low[j], at[j], total[j] = best, where, s


@lend.kernel(math="strict")
def in_place(a: Ref[f64, N, M], scale: Ref[f64, M], y: Mut[f64, M]):
    for j in lend.grid((1, M)):
        t = scale[j] * 0.5
        s = y[j]
        for i in range(N - 1, 0, -1):
            s = s * 0.5 + a[i, j] * t
        y[j] = s
        if s > 1.0:
            y[j] = 1.0


@lend.kernel(math="strict")
def every_second(a: Ref[i32, N, K, M], k: i64, y: Out[i32, M]):
    assert 0 <= k < K
    for j in lend.grid(M - 1):
        s = i32(7)
        for i in range(1, N, 2):
            s = s * 3 + a[i, k, j + 1] - a[i, 0, j]
        y[j] = s
    for j in lend.grid((M - 1, M)):
        y[j] = 0


SIZES = [(0, 5), (1, 1), (3, 7), (7, 8), (8, 9), (9, 64), (15, 65), (16, 127), (17, 129), (33, 300), (2, 4097), (20, 2049)]


def _random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape)


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_a_transposed_matrix_times_a_vector(n, m):
    a, x = _random(n, m), _random(n)
    y = two_ways(times, a, x, np.full(m, np.nan))[2]
    assert np.allclose(y, a.T @ x, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_several_values_that_are_carried(n, m):
    two_ways(lowest_and_sum, _random(n, m).astype(np.float32), *(np.zeros(m, t) for t in (np.float32, np.int64, np.float32)))


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_backwards_and_in_place(n, m):
    two_ways(in_place, _random(n, m), _random(m), _random(m))


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_two_rows_of_every_second_matrix(n, m):
    a = np.random.default_rng(n + m).integers(-9, 9, (n, 3, m)).astype(np.int32)
    two_ways(every_second, a, 2, np.zeros(m, np.int32))


def test_large_enough_for_several_chunks():
    a, x = _random(400, 3001), _random(400)
    two_ways(times, a, x, np.zeros(3001))


def test_rows_with_gaps_between_and_in_them():
    a, x = _random(40, 2, 600), _random(40)
    for view in (a[:, 1], a[::-1, 0, :333], a[:, 0, ::2], a[:, 0, ::-1]):
        y = np.zeros(view.shape[1])
        times(view, x, y)
        assert np.allclose(y, view.T @ x, rtol=1e-12, atol=1e-12)
    wide = np.asfortranarray(_random(40, 77))
    y = np.zeros(77)
    times(wide, x, y)
    assert np.allclose(y, wide.T @ x, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kernel", [times, lowest_and_sum, in_place, every_second])
def test_what_is_said_of_it(kernel):
    loop = kernel.explain().loops[0]
    assert dict(loop.sentences)["rows"].startswith("8 steps of the loop in line") and "`a[i, " in dict(loop.sentences)["rows"]
    assert loop.vector is not None and loop.vector.side_by_side == 1
