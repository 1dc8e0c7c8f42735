"""What of a lent array may have changed."""

from __future__ import annotations

import numpy as np
import pytest

from lend.runtime.loaned import Loaned
from lend.runtime.memory import address_of


def marked(loaned, shape):
    """How often each element is in a box."""
    found = np.zeros(shape, int)
    for box in loaned.boxes:
        assert all(0 <= low < high <= size for (low, high), size in zip(box, shape, strict=True))
        found[(*(slice(low, high) for low, high in box), ...)] += 1
    return found


@pytest.mark.parametrize("shape", [(), (7,), (1, 6), (6, 1), (4, 5), (3, 1, 4), (2, 3, 4)])
def test_boxes_of_views_hold_what_is_written_once(shape):
    rng = np.random.default_rng(len(shape))
    for _ in range(200):
        array = np.zeros(shape, np.int32)
        loaned = Loaned(array)
        written = np.zeros(shape, bool)
        exact = True
        for _ in range(rng.integers(1, 7)):
            steps = rng.choice([1, 1, 1, -1, 2, -2], len(shape))
            key = tuple(slice(*sorted(map(int, rng.integers(0, n + 1, 2)))) for n in shape) + (...,)
            turned = tuple(slice(None, None, int(step)) for step in steps) + (...,)
            view, seen = array[key][turned], written[key][turned]
            box = tuple(tuple(sorted(map(int, rng.integers(0, n + 1, 2)))) for n in view.shape)
            loaned.write(address_of(view) - address_of(array), view.shape, view.strides, box)
            seen[(*(slice(*own) for own in box), ...)] = True
            exact &= bool((np.abs(steps) == 1).all())
        found = marked(loaned, shape)
        assert found.max(initial=0) <= 1, "copied twice"
        assert (found >= written).all()
        if exact:
            np.testing.assert_array_equal(found, written)


def test_views_of_other_shapes():
    array = np.zeros((4, 6))
    for view, expected in (
        (array.reshape(24)[6:12], ((1, 2), (0, 6))),
        (array.reshape(2, 2, 6)[1], ((2, 4), (0, 6))),
        (array.T[2:4], ((0, 4), (2, 4))),
        (array.reshape(24)[3:9], None),
        (np.lib.stride_tricks.as_strided(array, (3,), (56,)), None),
    ):
        loaned = Loaned(array)
        loaned.write(address_of(view) - address_of(array), view.shape, view.strides, None)
        assert loaned.boxes == [expected or ((0, 4), (0, 6))]


def test_many_boxes_become_one():
    loaned = Loaned(np.zeros((100, 3)))
    for k in range(0, 80, 2):
        loaned.write(24 * k, (3,), (8,), None)
    assert loaned.boxes and sum(high - low for (low, high), _ in loaned.boxes) <= 79


def test_nothing_and_everything():
    loaned = Loaned(np.zeros((4, 6)))
    loaned.write(0, (4, 0), (48, 8), None)
    loaned.write(0, (4, 6), (48, 8), ((0, 0), (0, 0)))
    assert not loaned.boxes
    loaned.write_all()
    assert loaned.boxes == [((0, 4), (0, 6))]
    loaned.write(0, (4, 6), (48, 8), None)
    assert len(loaned.boxes) == 1
