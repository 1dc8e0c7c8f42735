"""Several neighbouring elements in each thread: the same bits, wherever rows begin and end."""

from __future__ import annotations

import itertools

import device_kernels as kernels
import numpy as np
import pytest

import lend
from lend.lower.device.packs import PackWriter


@pytest.fixture(params=[2, 4, 16])
def several(request):
    """As many elements for each thread."""
    before, lend.config.elements = lend.config.elements, request.param
    yield request.param
    lend.config.elements = before


def numbers(*sizes, dtype=np.float64):
    return np.random.default_rng(sum(sizes)).random(sizes).astype(dtype)


def test_rows_of_every_length_begin_anywhere(device, several):
    for length, begin in itertools.product([0, 1, 2, 3, 4, 5, 15, 16, 17, 33, 70], [0, 1, 2, 3]):
        x, y = (numbers(length + begin, dtype=np.float32)[begin:] for _ in range(2))
        expected = y.copy()
        kernels.strict_saxpy.on("cpu")(2.0, x, expected)
        kernels.strict_saxpy.on(device)(2.0, x, y)
        np.testing.assert_array_equal(y, expected)


def test_views_of_what_lies_on_the_device_need_not_be_aligned(device, several):
    for begin in range(5):
        x, y = (lend.asarray(numbers(65, dtype=np.float32), device) for _ in range(2))
        expected = y.numpy()
        kernels.strict_saxpy.on("cpu")(2.0, x.numpy()[begin:], expected[begin:])
        kernels.strict_saxpy(2.0, x[begin:], y[begin:])
        np.testing.assert_array_equal(y.numpy(), expected)


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (3, 3), (3, 4), (5, 16), (16, 18), (17, 33), (4, 64)], ids=str)
def test_interiors_and_loops_inside(device, several, shape):
    u, v = numbers(*shape, dtype=np.float32), numbers(*shape, dtype=np.float32)
    expected = v.copy()
    kernels.strict_five_points.on("cpu")(u, expected)
    kernels.strict_five_points.on(device)(u, v)
    np.testing.assert_array_equal(v, expected)
    a, b = numbers(shape[0], 5), numbers(5, shape[1])
    c, d = np.empty(shape), np.empty(shape)
    for last in (2, 9):
        kernels.strict_product.on("cpu")(a, b, c, last)
        kernels.strict_product.on(device)(a, b, d, last)
        np.testing.assert_array_equal(c, d)


@pytest.mark.parametrize("first", [-9, -1, 0, 1, 2, 3, 5, 40])
@pytest.mark.parametrize("length", [0, 1, 3, 16, 37])
def test_branches_and_the_place_where_the_grid_begins(device, several, first, length):
    x, y = numbers(length), numbers(length)
    expected = y.copy()
    kernels.branches.on("cpu")(x, expected, first)
    kernels.branches.on(device)(x, y, first)
    np.testing.assert_array_equal(y, expected)


def test_four_dimensions_and_mixed_types(device, several):
    x = np.random.default_rng(5).integers(-9, 9, (2, 3, 4, 21)).astype(np.int8)
    y, z = numbers(2, 3, 4, 21, dtype=np.float32), np.empty((2, 3, 4, 21))
    kernels.mixed.on(device)(x, y, z)
    np.testing.assert_array_equal(z, np.float64(x) + y)


@pytest.fixture
def four():
    """Four elements for each thread."""
    before, lend.config.elements = lend.config.elements, 4
    yield
    lend.config.elements = before


def test_a_setting_that_changes_is_heeded(device, four):
    x, y = (lend.asarray(np.ones(64, np.float32), device) for _ in range(2))
    before = kernels.strict_saxpy._made
    made = set()
    for elements in (1, 2, 1, 2):
        lend.config.elements = elements
        kernels.strict_saxpy(1.0, x, y)
        made.add(kernels.strict_saxpy._made)
    assert (y.numpy() == 5).all()
    assert max(made) <= before + 2


def test_packs_run_where_rows_begin_at_units_and_only_there(device, four, monkeypatch):
    """Packs that do nothing show themselves."""

    @lend.kernel
    def copied(x: lend.Ref[lend.f32, lend.dims.N], y: lend.Mut[lend.f32, lend.dims.N]):
        for i in lend.grid(lend.dims.N):
            y[i] = x[i]

    monkeypatch.setattr(PackWriter, "_together", lambda self, region: [])
    x = lend.asarray(np.ones(67, np.float32), device)
    whole, shifted = (lend.zeros(67, lend.f32, device) for _ in range(2))
    copied(x, whole)
    assert whole.numpy().tolist() == [0] * 64 + [1] * 3
    copied(x[1:], shifted[1:])
    assert shifted.numpy().tolist() == [0] + [1] * 66
