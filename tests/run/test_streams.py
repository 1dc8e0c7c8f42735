"""Stores that go past the caches: the same values, and nothing else, for every alignment, around the length where they begin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from harness import threads

import lend
from guard import guarded
from lend import Mut, Out, Ref, f64
from lend.dims import M, N


@pytest.fixture(autouse=True)
def _tiny_caches(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every launch exceeds them; chunks are small, so that several begin in the middle of a line."""
    monkeypatch.setattr("lend.lower.host.LAST_CACHE", 0)  # the level that has no bytes
    for module in ("lend.plan.regions", "lend.lower.chunks"):
        monkeypatch.setattr(f"{module}.CHUNK_WORK", 700)
    yield


@lend.kernel(math="strict")
def triad(a: Ref[lend.T, N], b: Ref[lend.T, N], c: Out[lend.T, N]):
    for i in lend.grid(N):
        c[i] = a[i] + b[i]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8])
def test_a_triad_of_any_alignment(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    for n in (1, 63, 255, 256, 257, 300, 320, 1000, 4099):
        a, b = rng.integers(0, 50, (2, n)).astype(dtype)
        assert "!nontemporal" in triad.lower(a, b, a + b).ir
        for away in range(64 // a.itemsize):
            room = np.full(n + 128, 99, dtype)
            start = (-room.ctypes.data // a.itemsize) % (64 // a.itemsize) + away
            with threads(1 + away % 3):
                triad(a, b, room[start : start + n])
            np.testing.assert_array_equal(room[start : start + n], a + b)
            assert (room[:start] == 99).all() and (room[start + n :] == 99).all()


@lend.kernel(math="strict")
def rows(u: Ref[f64, N, M], v: Mut[f64, N, M], w: Mut[f64, N, M]):
    for i, j in lend.grid((1, N), (1, M - 1)):
        v[i, j] = u[i, j - 1] + u[i, j + 1]
        w[i, j] = u[i - 1, j]


@pytest.mark.parametrize("m", [255, 256, 257, 258, 259, 300, 302])
def test_rows_whose_lines_begin_anywhere(m: int) -> None:
    assert "!nontemporal" in rows.lower().ir
    u = np.random.default_rng(m).standard_normal((7, m))
    for side in ("start", "end"):
        given = [guarded(u, side), guarded(np.zeros_like(u), side), guarded(np.zeros_like(u), side)]
        rows(*given)
        np.testing.assert_array_equal(given[1][1:, 1:-1], u[1:, :-2] + u[1:, 2:])
        np.testing.assert_array_equal(given[2][1:, 1:-1], u[:-1, 1:-1])
        for out in given[1:]:
            assert not out[0].any() and not out[:, 0].any() and not out[:, -1].any()


@lend.kernel(math="strict")
def apart(x: Ref[f64, N], y: Out[f64, N], z: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = 2.0 * x[i]
        z[i] = x[i] + 1.0


@pytest.mark.parametrize("away", range(8))
def test_two_stores_that_do_not_begin_their_lines_together(away: int) -> None:
    x = np.random.default_rng(1).standard_normal(700)
    room = np.zeros(700 + 16)
    start = (-room.ctypes.data // 8) % 8 + away
    y, z = np.zeros(700), room[start : start + 700]
    apart(x, y, z)
    np.testing.assert_array_equal(y, 2 * x)
    np.testing.assert_array_equal(z, x + 1)
