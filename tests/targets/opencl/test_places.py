"""Indices in parts, as AMD's processors have them, on a device that can run here: the same results."""

from __future__ import annotations

from dataclasses import replace

import device_kernels as kernels
import numpy as np
import pytest

import lend
from lend.driver.devices import device as device_of
from lend.lower.builder import FunctionBuilder


def parts(builder: FunctionBuilder, dimension: int, size: int) -> tuple[str, str]:
    """Where the block begins, and the place within it."""
    found: list[str] = []
    for name in ("get_global_id", "get_local_id"):
        symbol = f"_Z{len(name)}{name}j"
        builder.module.declare(symbol, f"declare spir_func i64 @{symbol}(i32) nounwind willreturn memory(none)")
        found.append(builder.emit(f"call spir_func i64 @{symbol}(i32 {dimension})", "place"))
    return builder.emit(f"sub i64 {found[0]}, {found[1]}"), found[1]


@pytest.fixture(params=[1, 4])
def in_parts(request, device, monkeypatch):
    """A device that says what places consist of; kernels made for it are not kept."""
    where = device_of(device)
    before, lend.config.elements = lend.config.elements, request.param
    monkeypatch.setattr(where, "_abi", replace(where.abi, parts=parts))
    yield device
    lend.config.elements = before


def test_kernels_whose_places_are_in_parts(in_parts):
    @lend.kernel(math="strict")
    def mirrored(x: lend.Ref[lend.f64, 9, lend.dims.N], y: lend.Mut[lend.f64, 9, lend.dims.N], n: lend.i64):
        for i, j in lend.grid((1, 8), (2, lend.dims.N)):
            y[i, j] = x[8 - i, lend.dims.N - 1 - j] + x[i - 1, j - 2] * x[i, 2 * j // 2] + x[i + 1, min(max(j + n, 0), j)]

    @lend.kernel(math="strict")
    def strided(x: lend.Ref[lend.f32, lend.dims.N], y: lend.Mut[lend.f32, lend.dims.N]):
        for i in lend.grid((1, lend.dims.N, 3)):
            y[i] = x[i] + x[i - 1]

    r = np.random.default_rng(3)
    for n in (1, 2, 3, 64, 257, 1000):
        x, y = r.random((9, n)), r.random((9, n))
        expected = y.copy()
        mirrored.on("cpu")(x, expected, -1)
        mirrored.on(in_parts)(x, y, -1)
        np.testing.assert_array_equal(y, expected)
        x, y = (r.random(n).astype(np.float32) for _ in range(2))
        expected = y.copy()
        strided.on("cpu")(x, expected)
        strided.on(in_parts)(x, y)
        np.testing.assert_array_equal(y, expected)


def test_packs_whose_places_are_in_parts(in_parts):
    @lend.kernel(math="strict")
    def five_points(
        u: lend.Ref[lend.f32, lend.dims.N, lend.dims.M], v: lend.Mut[lend.f32, lend.dims.N, lend.dims.M], a: lend.i64
    ):
        for i, j in lend.grid((1, lend.dims.N - 1), (a, lend.dims.M - 1)):
            if j > 0:
                v[i, j] = lend.f32(0.25) * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])

    for shape in ((3, 3), (5, 16), (17, 33), (4, 300)):
        for first in (-2, 0, 1, 3):
            u, v = (np.random.default_rng(k).random(shape).astype(np.float32) for k in (1, 2))
            expected = v.copy()
            five_points.on("cpu")(u, expected, first)
            five_points.on(in_parts)(u, v, first)
            np.testing.assert_array_equal(v, expected)


def test_positions_of_five_dimensions(in_parts, monkeypatch):
    monkeypatch.setattr(kernels.positions, "_on_devices", None)
    y = np.empty((3, 4, 5, 3, 2), np.int64)
    kernels.positions.on(in_parts)(y)
    assert y.ravel().tolist() == list(range(y.size))
