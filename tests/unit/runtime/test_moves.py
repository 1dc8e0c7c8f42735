"""Boxes of arrays: where they lie, and what they are for a call."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from lend.language.abi import MAX_SIZE
from lend.language.moves import Move
from lend.runtime.moves import count_of, kept, rows_of, written_box


@pytest.mark.parametrize("shape", [(7,), (3, 4), (2, 3, 4), (3, 2, 3, 2)])
def test_rows_hold_a_box_and_nothing_else(shape):
    ranges = [list(itertools.combinations(range(size + 1), 2)) for size in shape]
    for box in itertools.product(*ranges):
        expected = np.zeros(shape, np.int16)
        expected[tuple(slice(low, high) for low, high in box)] = 1
        found = np.zeros(shape, np.int16)
        raw = found.reshape(-1).view(np.uint8)
        rows = rows_of(box, shape, 2)
        for start in rows.starts:
            for at in range(rows.many):
                begin = start + at * rows.pitch
                raw[begin : begin + rows.width] += 1
        np.testing.assert_array_equal(found.view(np.uint8).reshape(*shape, 2), np.stack([expected] * 2, -1))
        assert count_of(box) * 2 == rows.width * rows.many * len(rows.starts)


FROM = ((((False, (-3, ((True, 0, 1),))),), (1, ())),)
"""1, if the size is at least 3."""
TO = ((((False, (-3, ((True, 0, 1),))),), (-2, ((True, 0, 1), (False, 0, 2)))),)
"""Twice the scalar and the size less 2, if the size is at least 3."""


def box(size, scalar, moderate=()):
    move = Move(True, ((FROM, TO),), moderate)
    assert kept([[True, [[FROM, TO]], list(map(list, moderate))], None]) == (move, None)
    return written_box(move, SimpleNamespace(dims=(size,), leaves=(scalar,)), (size,))


def test_a_box_for_a_call():
    assert box(10, 0) == ((1, 9),)
    assert box(10, -2) == ((1, 5),)
    assert box(2, 0) == ((0, 0),), "nothing is written"
    assert box(10, -100) == ((0, 0),)
    assert box(10, 1 << 70) == ((1, 10),), "it ends with the array, and nothing wraps"


def test_what_is_supposed_of_scalars():
    assert box(10, MAX_SIZE, ((False, 0),)) is not None
    assert box(10, MAX_SIZE + 1, ((False, 0),)) is None
