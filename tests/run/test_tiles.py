"""Loops that run in lanes: what is off does nothing, whatever the tiling; each kernel is run under several, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from harness import check

import lend
from guard import guarded
from lend import Index, Mut, Offsets, Out, Ref, f32, f64, i32, i64
from lend.dims import K, M, N
from lend.plan.tiling import Tiling, Untiled, refusal

Tiled = Callable[[Callable[..., Any]], Any]
FLAT = [(8, 1), (2, 8), (16, 2)]
LAYOUTS = ("C", "unaligned")


class N1(lend.Dim):
    equals = N + 1


def tiled(monkeypatch: pytest.MonkeyPatch, make: Callable[[int], Tiling]) -> Tiled:
    """A decorator for kernels whose loops get one tiling, and must be able to."""

    def choose(parallel: Any, variations: Any, vector_bytes: int, by_row: bool = False) -> Tiling | Untiled:
        refused = refusal(parallel, variations)
        assert refused is None, refused
        return make(len(parallel.box))

    monkeypatch.setattr("lend.plan.regions.choose_tiling", choose)
    return lend.kernel(math="strict")


@pytest.fixture(params=FLAT, ids=lambda p: f"{p[0]}x{p[1]}")
def along_rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Tiled:
    """Vectors along the last dimension."""
    lanes, vectors = request.param
    return tiled(monkeypatch, lambda n: Tiling(n - 1, lanes, vectors, (1,) * n, tuple(range(n))))


BOXES = [
    Tiling(1, 8, 2, (3, 1), (1, 0)),
    Tiling(0, 4, 1, (1, 2), (0, 1)),
    Tiling(1, 16, 1, (1, 1), (1, 0)),
    Tiling(0, 2, 4, (1, 5), (1, 0)),
]


@pytest.fixture(params=BOXES, ids=lambda t: f"{t.vector}-{t.lanes}x{t.vectors}-{max(t.jam)}")
def in_boxes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Tiled:
    """Tiles of two dimensions."""
    return tiled(monkeypatch, lambda n: request.param)


SIZES = (0, 1, 7, 9, 33, 65)


def test_lanes_that_are_off_divide_nothing(along_rows: Tiled) -> None:
    def quotients(n: Ref[i32, N], d: Ref[i32, N], q: Mut[i32, N], r: Mut[i32, N]):
        for i in lend.grid(N):
            by = d[i]
            if by != 0:
                q[i] = n[i] // by
                r[i] = n[i] % by

    def reference(n: np.ndarray, d: np.ndarray, q: np.ndarray, r: np.ndarray) -> None:
        some = d != 0
        q[some], r[some] = n[some].astype(np.int64) // d[some], n[some].astype(np.int64) % d[some]

    def arguments(rng: np.random.Generator, size: int) -> list[np.ndarray]:
        least = np.iinfo(np.int32).min
        n, d = rng.choice([least, -7, 0, 9, 100], size).astype(np.int32), rng.choice([0, 0, -1, 3, -4], size).astype(np.int32)
        n[(n == least) & (d == -1)] = 5  # NumPy warns
        return [n, d, np.full(size, 77, np.int32), np.full(size, 78, np.int32)]

    check(along_rows(quotients), reference, arguments, sizes=SIZES, layouts=LAYOUTS, strict=True)


def test_lanes_that_are_off_keep_no_loop_going(along_rows: Tiled) -> None:
    def steps(x: Ref[i64, N], y: Mut[i64, N]):
        for i in lend.grid(N):
            if x[i] > 0:  # from other numbers, the loop would never get to 1
                n, t = x[i], 0
                while n != 1:
                    n = n // 2 if n % 2 == 0 else 3 * n + 1
                    t += 1
                y[i] = t

    def reference(x: np.ndarray, y: np.ndarray) -> None:
        for k, n in enumerate(x.tolist()):
            t = 0
            while n > 1:
                n, t = (n // 2 if n % 2 == 0 else 3 * n + 1), t + 1
            y[k] = t if n > 0 else y[k]

    def arguments(rng: np.random.Generator, size: int) -> list[np.ndarray]:
        return [rng.integers(-9, 40, size), rng.integers(0, 9, size)]

    check(along_rows(steps), reference, arguments, sizes=SIZES, layouts=("C",), strict=True)


@pytest.mark.parametrize("side", ["start", "end"])
def test_lanes_that_are_off_touch_no_memory(along_rows: Tiled, side: str) -> None:
    def neighbours(x: Ref[f64, N], y: Mut[f64, N], z: Mut[f32, N]):
        for i in lend.grid(N):
            if i > 0:
                y[i] += x[i - 1]
            if i + 1 < N:
                y[i] += x[i + 1]
            if i >= 3:
                z[i - 3] = f32(i)
            if N - 1 - i >= 2:
                y[i] *= x[N - 3 - i]

    kernel = along_rows(neighbours)
    for size in SIZES:
        given = [np.random.default_rng(size).standard_normal((2, size)), np.zeros(size, np.float32)]
        placed = [guarded(given[0][0], side), guarded(given[0][1], side), guarded(given[1], side)]
        plain = [given[0][0].copy(), given[0][1].copy(), given[1].copy()]
        kernel(*placed)
        kernel.py(*plain)
        for a, b in zip(placed, plain, strict=True):
            np.testing.assert_array_equal(a, b)


def test_rows_of_unlike_lengths_and_gathers(along_rows: Tiled) -> None:
    def csr(start: Ref[Offsets[K], N1], at: Ref[Index[M, i32], K], v: Ref[f64, K], x: Ref[f64, M], y: Out[f64, N]):
        for i in lend.grid(N):
            s = 0.0
            for k in range(start[i], start[i + 1]):
                s += v[k] * x[at[k]]
            y[i] = s

    def reference(start: np.ndarray, at: np.ndarray, v: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
        for i in range(len(y)):
            s = 0.0
            for k in range(start[i], start[i + 1]):
                s += v[k] * x[at[k]]
            y[i] = s

    def arguments(rng: np.random.Generator, size: int) -> list[np.ndarray]:
        lengths = rng.integers(0, 6, size) * rng.integers(0, 2, size)
        start = np.concatenate([[0], np.cumsum(lengths)])
        count = int(start[-1])
        return [start, rng.integers(0, 5, count).astype(np.int32), rng.random(count), rng.random(5), np.zeros(size)]

    check(along_rows(csr), reference, arguments, sizes=SIZES, layouts=LAYOUTS, strict=True, rtol=0)


def test_what_iterations_carry_is_kept_when_they_leave(along_rows: Tiled) -> None:
    def carried(x: Ref[f64, N, M], y: Mut[f64, N], n: Mut[i32, N]):
        for i in lend.grid(N):
            best, at, seen = -1.0, i32(-1), False
            for k in range(M):
                if x[i, k] < 0.0:
                    continue
                if x[i, k] > 0.9:
                    seen = True
                    break
                if x[i, k] > best:
                    best, at = x[i, k], i32(k)
            y[i] = -best if seen else best
            n[i] = at

    def reference(x: np.ndarray, y: np.ndarray, n: np.ndarray) -> None:
        for i, row in enumerate(x):
            best, at, seen = -1.0, -1, False
            for k, value in enumerate(row):
                if value > 0.9:
                    seen = True
                    break
                if value >= 0.0 and value > best:
                    best, at = value, k
            y[i], n[i] = (-best if seen else best), at

    def arguments(rng: np.random.Generator, size: int) -> list[np.ndarray]:
        return [rng.uniform(-0.5, 1.0, (size, 9)), np.zeros(size), np.zeros(size, np.int32)]

    check(along_rows(carried), reference, arguments, sizes=SIZES, layouts=LAYOUTS, strict=True)


def test_reductions_over_rows_of_any_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows shorter and longer than the 64 lanes of the tree, beginning at any of them: the bits of the plain loop."""

    def several(x: Ref[f32, N, M], q: Ref[i64, N, M], t: f32) -> tuple[f32, f32, i64, bool, f32, i64]:
        s, m, x_or, every = f32(0), f32(-1), i64(0), True
        best = (f32(1e9), i64(-1))
        for i, j in lend.grid(N, M):
            s += x[i, j] * t
            m = max(m, x[i, j])
            if q[i, j] % 3 != 0:
                x_or ^= q[i, j]
            every &= q[i, j] < 90
            best = min(best, (x[i, j], i * M + j))
        return s, m, x_or, every, best[0], best[1]

    rng = np.random.default_rng(5)
    for lanes, vectors in ((2, 1), (8, 2), (16, 4), (64, 1), (4, 16)):
        kernel = tiled(monkeypatch, lambda n, lanes=lanes, vectors=vectors: Tiling(n - 1, lanes, vectors, (1,) * n, (0, 1)))(
            several
        )
        for n, m in ((0, 3), (1, 1), (7, 3), (5, 63), (4, 64), (5, 65), (70, 31), (3, 200), (2, 2100)):
            x = np.where(rng.random((n, m)) < 0.001, np.nan, rng.standard_normal((n, m))).astype(np.float32)
            given = (x, rng.integers(0, 99, (n, m)), 0.3)
            got, want = kernel(*given), kernel.py(*given)
            assert np.array_equal(np.array(got, np.float64), np.array(want, np.float64), equal_nan=True), (n, m, got, want)


def test_products_in_tiles_of_two_dimensions(in_boxes: Tiled) -> None:
    def product(a: Ref[f64, N, K], b: Ref[f64, K, M], c: Out[f64, N, M]):
        for i, j in lend.grid(N, M):
            s = 0.0
            for k in range(K):
                s += a[i, k] * b[k, j]
            c[i, j] = s

    def reference(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
        c[...] = 0
        for k in range(a.shape[1]):
            c += a[:, k, None] * b[k]

    def arguments(rng: np.random.Generator, size: int) -> list[np.ndarray]:
        return [rng.random((size, 5)), rng.random((5, size + 3)), np.zeros((size, size + 3))]

    check(
        in_boxes(product), reference, arguments, sizes=(0, 1, 5, 8, 9, 17, 35), layouts=("C", "F", "mixed"), strict=True, rtol=0
    )


def test_triangles_and_diagonals_in_tiles_of_two_dimensions(in_boxes: Tiled) -> None:
    def triangle(a: Mut[f64, N, N], x: Ref[f64, N]):
        for i, j in lend.grid(N, N):
            if j > i:
                continue
            s = x[j]
            for k in range(j, i):
                s += x[k] * x[N - 1 - k]
            if i == j:
                a[i, j] = s
            else:
                a[i, j] -= s

    def reference(a: np.ndarray, x: np.ndarray) -> None:
        for i in range(len(a)):
            for j in range(i + 1):
                s = x[j]
                for k in range(j, i):
                    s += x[k] * x[-1 - k]
                a[i, j] = s if i == j else a[i, j] - s

    def arguments(rng: np.random.Generator, size: int) -> list[np.ndarray]:
        return [rng.random((size, size)), rng.random(size)]

    check(in_boxes(triangle), reference, arguments, sizes=(0, 1, 7, 16, 21), layouts=("C", "F"), strict=True, rtol=0)
