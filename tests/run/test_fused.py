"""Neighbouring parallel loops that became one: the bits of loops that run one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lend
from lend import Mut, Ref, f32, f64, i64
from lend.dims import M, N
from lend.schedule import fuse as fusing

Make = Callable[[], Any]


def descent() -> Any:
    @lend.kernel(math="strict")
    def kernel(r: Mut[f64, N], x: Mut[f64, N], p: Ref[f64, N], a: f64) -> tuple[f64, f64]:
        for i in lend.grid(N):
            r[i] -= a * p[i]
        for i in lend.grid(N):
            x[i] += a * p[i]
        total, most = 0.0, -1.0
        for i in lend.grid(N):
            total += r[i] * r[i]
        for i in lend.grid(N):
            most = max(most, x[i])
        return total, most

    return kernel


def narrow() -> Any:
    @lend.kernel(math="strict")
    def kernel(x: Mut[f64, N], y: Mut[f64, N], z: Mut[f64, N], a: f64) -> f32:
        t = lend.zeros(f32, N)
        for i in lend.grid(N):
            t[i] = f32(x[i] * a)
        for i in lend.grid(N):
            y[i] = t[i] + z[i]
        last = f32(0)
        for i in lend.grid(N):
            last += t[i]
        return last

    return kernel


def branches() -> Any:
    @lend.kernel(math="strict")
    def kernel(x: Mut[f64, N], y: Mut[f64, N], z: Mut[f64, N], a: f64):
        for i in lend.grid(N):
            if x[i] > a:
                y[i] = x[i] + z[i]
        for i in lend.grid(N):
            z[i] = y[i] * 0.5
            y[i] = z[i] - x[i]
        for i in lend.grid(N):
            x[i] = y[i] if z[i] > 0.25 else z[i]

    return kernel


def steps() -> Any:
    @lend.kernel(math="strict")
    def kernel(x: Mut[f64, N], y: Mut[f64, N], z: Mut[f64, N], a: f64):
        for t in range(3):
            for i in lend.grid((1, N - 1)):
                y[i] = x[i] * a
            for i in lend.grid((1, N - 1)):
                z[i] = y[i] + x[i - 1] + t
            for i in lend.grid((1, N - 1)):
                x[i] = z[i] - y[i]

    return kernel


def run(kernel: Any, size: int) -> list[np.ndarray]:
    random = np.random.default_rng(2)
    arrays = [random.random(size) for _ in range(3)]
    result = kernel(*arrays, 0.375)
    return [*arrays, np.array(0 if result is None else result)]


@pytest.mark.parametrize("make", [descent, narrow, branches, steps], ids=lambda make: make.__name__)
@pytest.mark.parametrize("size", [0, 1, 2, 63, 64, 65, 2047, 2049, 100_003])
def test_the_same_bits_as_one_after_the_other(make: Make, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lend.config.threads = 1
    with monkeypatch.context() as patch:
        patch.setattr(fusing, "fuse", lambda kernel: kernel)
        apart = run(make(), size)
    together = make()
    for threads in (1, 2, 3):
        lend.config.threads = threads
        for a, b in zip(apart, run(together, size), strict=True):
            assert np.array_equal(a, b)


@lend.kernel
def blurred(x: Ref[f64, N, M], y: Mut[f64, N, M], z: Mut[f64, N, M], least: i64):
    for i, j in lend.grid(N, M):
        y[i, j] = 2.0 * x[i, j]
    for i, j in lend.grid(N, M):
        z[i, j] = y[i, j] + (1.0 if i + j >= least else 0.0)


def test_two_dimensions_against_numpy() -> None:
    x = np.random.default_rng(0).random((37, 41))
    y, z = np.zeros_like(x), np.zeros_like(x)
    blurred(x, y, z, 30)
    i, j = np.indices(x.shape)
    assert np.array_equal(y, 2.0 * x)
    assert np.array_equal(z, 2.0 * x + np.where(i + j >= 30, 1.0, 0.0))
