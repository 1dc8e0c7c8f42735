"""The exact overlap tests, against sets of byte addresses."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lend.runtime import overlap
from lend.runtime.overlap import View, extent, overlaps, overlaps_itself


def addresses(view):
    """Every byte of every element, repeated where elements overlap."""
    found = []
    for index in itertools.product(*map(range, view.shape)):
        start = view.address + sum(i * stride for i, stride in zip(index, view.strides, strict=True))
        found += range(start, start + view.itemsize)
    return found


def views(dimensions=3, stride=40, size=4):
    return st.integers(0, dimensions).flatmap(
        lambda d: st.builds(
            View,
            st.integers(0, 200),
            st.tuples(*[st.integers(0, size)] * d),
            st.tuples(*[st.integers(-stride, stride)] * d),
            st.sampled_from([1, 2, 4, 8, 12]),
        )
    )


@settings(max_examples=1500, deadline=None)
@given(views(), views())
def test_two_views_against_their_bytes(first, second):
    assert overlaps(first, second) == (not set(addresses(first)).isdisjoint(addresses(second)))
    assert overlaps(second, first) == overlaps(first, second)


@settings(max_examples=1500, deadline=None)
@given(views(dimensions=4, size=3))
def test_one_view_against_its_bytes(view):
    found = addresses(view)
    assert overlaps_itself(view) == (len(set(found)) < len(found))


@settings(max_examples=1500, deadline=None)
@given(views())
def test_extent_is_the_hull_of_the_bytes(view):
    found = addresses(view)
    low, high = extent(view)
    assert (low, high) == ((min(found), max(found) + 1) if found else (view.address, view.address))


slices = st.builds(
    slice,
    st.none() | st.integers(-9, 9),
    st.none() | st.integers(-9, 9),
    st.sampled_from([None, 1, 2, 3, 5, -1, -2, -3]),
)


@settings(max_examples=800, deadline=None)
@given(st.lists(slices, min_size=6, max_size=6), st.lists(slices, min_size=6, max_size=6), st.permutations(range(3)))
def test_slices_of_one_array_agree_with_numpy(first, second, order):
    base = np.zeros((7, 6, 5), np.float32)
    a, b = base[tuple(first[:3])], base[tuple(second[:3])].transpose(order)

    def view(array):
        return View(array.__array_interface__["data"][0], array.shape, array.strides, array.itemsize)

    assert overlaps(view(a), view(b)) == np.shares_memory(a, b)
    assert overlaps_itself(view(a)) is False


def test_interleaved_elements_are_disjoint():
    assert overlaps(View(0, (4,), (16,), 8), View(8, (4,), (16,), 8)) is False
    assert overlaps(View(0, (4,), (16,), 8), View(7, (4,), (16,), 8)) is True
    assert overlaps(View(0, (4,), (-16,), 8), View(-8, (4,), (16,), 8)) is False


def test_fields_of_one_record_array_are_disjoint():
    assert overlaps(View(0, (10,), (9,), 1), View(1, (10,), (9,), 8)) is False


def test_long_views_of_coprime_steps_need_no_search():
    start = time.perf_counter()
    assert overlaps(View(0, (10**9,), (8 * 999983,), 8), View(8 * 12345, (10**9,), (8 * 999979,), 8)) is True
    assert overlaps(View(0, (10**9,), (16 * 999983,), 8), View(8, (10**9,), (16 * 999979,), 8)) is False
    assert time.perf_counter() - start < 1


def test_six_dimensional_blocks_of_one_array_are_decided():
    base = np.empty((12,) * 6, np.int8)
    for axis in range(6):
        low = base[tuple(slice(0, 6) if k == axis else slice(1, 11) for k in range(6))]
        high = base[tuple(slice(6, 12) if k == axis else slice(1, 11) for k in range(6))]
        first, second = (View(a.__array_interface__["data"][0], a.shape, a.strides, 1) for a in (low, high))
        assert overlaps(first, second) is False
        assert overlaps(first, second._replace(address=second.address - base.strides[axis])) is True


def test_a_search_without_end_is_given_up(monkeypatch):
    # Subset-sum with strides that nothing merges: six coprime ones against six others.
    strides = (10**6 + 3, 10**6 + 33, 10**6 + 37, 10**6 + 39, 10**6 + 81, 10**6 + 99)
    first = View(0, (60,) * 6, strides, 1)
    second = View(7 * 10**7 + 11, (60,) * 6, tuple(s * 2 for s in strides), 1)
    monkeypatch.setattr(overlap, "BUDGET", 10)
    start = time.perf_counter()
    assert overlaps(first, second) in (None, True)
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize(("shape", "strides"), [((8,), (0,)), ((5, 4), (8, 8)), ((3, 3), (8, 12)), ((2, 2), (8, -8))])
def test_views_that_overlap_themselves(shape, strides):
    assert overlaps_itself(View(0, shape, strides, 8)) is True


@pytest.mark.parametrize(
    ("shape", "strides"), [((8,), (8,)), ((1, 1), (0, 0)), ((0, 9), (0, 0)), ((3, 5), (8, 24)), ((2, 3), (12, 8))]
)
def test_views_that_do_not_overlap_themselves(shape, strides):
    assert overlaps_itself(View(0, shape, strides, 4)) is False
