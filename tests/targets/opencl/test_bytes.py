"""Exactly the bytes that the borrows and the proofs require are copied."""

from __future__ import annotations

import bytes_kernels as known
import device_kernels as kernels
import numpy as np
import pytest

import lend

N = 10_000


def f64(*shape):
    """Numbers that are all different."""
    return np.arange(1.0, 1 + np.prod(shape, dtype=int)).reshape(shape)


CASES = {
    "saxpy": (kernels.saxpy, (2.0, np.ones(N, "f4"), np.ones(N, "f4")), 8 * N, 4 * N),
    "out": (kernels.twice, (f64(N), np.empty(N)), 8 * N, 8 * N),
    "strided": (kernels.twice, (f64(2 * N)[::2], np.empty(3 * N)[::3]), 8 * N, 8 * N),
    "1000 steps": (kernels.steps, (f64(N), f64(N), 1000), 8 * N, 16 * (N - 2)),
    "no step": (kernels.steps, (f64(N), f64(N), 0), 8 * N, 0),
    "reduction": (kernels.smallest, (f64(N).astype("f4"),), 4 * N, 4 + 32 * -(-N // 2048)),
    "filled": (known.filled, (f64(N), 3.0), 0, 8 * N),
    "in two halves": (known.in_two_halves, (f64(N), f64(N)), 8 * N, 8 * N),
    "written, then read": (known.written_then_read, (f64(N), f64(N), f64(N)), 16 * N, 16 * N),
    "read, then written": (known.read_then_written, (f64(N), f64(N)), 8 * N, 16 * N),
    "interior, 1": (known.one_dimension, (f64(N), f64(N)), 8 * N, 8 * (N - 2)),
    "interior, 2": (kernels.interior, (f64(100, 90), f64(100, 90)), 8 * 9000, 8 * 98 * 88),
    "interior, columns": (kernels.interior, (f64(90, 100).T, f64(90, 100).T), 8 * 9000, 8 * 98 * 88),
    "interior, strided": (kernels.interior, (f64(100, 90), f64(200, 270)[::2, ::3]), 8 * 9000, 8 * 98 * 88),
    "interior, 3": (known.three_dimensions, (f64(9, 8, 7).astype("f4"), f64(9, 8, 7).astype("f4")), 4 * 504, 4 * 7 * 4 * 5),
    "no interior": (kernels.interior, (f64(2, 90), f64(2, 90)), 8 * 180, 0),
    "row": (known.one_row, (f64(50, 40),), 0, 8 * 40),
    "column": (known.one_column, (f64(50, 40),), 0, 8 * 50),
    "as many as a scalar says": (known.first, (np.arange(N), 77), 0, 8 * 77),
    "from one scalar to another": (known.from_to, (np.arange(N, dtype="i4"), 10, 30), 4 * N, 4 * 20),
    "every other": (known.every_other, (f64(11),), 8 * 11, 8 * 11),
    "sometimes": (known.sometimes, (f64(N) % 2, f64(N)), 16 * N, 8 * (N - 2)),
    "if asked": (known.if_asked, (f64(N), 1), 0, 8 * N),
    "if not asked": (known.if_asked, (f64(N), 0), 0, 0),
    "through a view": (known.through_a_view, (f64(N), f64(N)), 8 * N, 8 * (N - 4)),
    "one of two": (known.one_of_two, (f64(N), f64(N), 1), 16 * N, 16 * (N - 2)),
    "atomic": (known.counted, (np.arange(N), np.zeros(10, "i4")), 8 * N + 40, 40),
    "heat": (known.heat, (f64(60, 50), f64(60, 50), 1000), 8 * 3000, 16 * 58 * 48),
    "swapped": (known.swapped, (f64(60, 50), 2 * f64(60, 50), 1000), 16 * 3000, 16 * 58 * 48),
    "swapped an odd number of times": (known.swapped, (f64(60, 50), 2 * f64(60, 50), 3), 16 * 3000, 16 * 58 * 48),
    "swapped in a while loop": (known.swapped_while, (f64(N), -f64(N), 5), 16 * N, 16 * (N - 2) + 16 * -(-N // 2048)),
    "swapped parts": (known.swapped_parts, (f64(N), f64(N), 3), 16 * N, 16 * (N - 1)),
    "one part": (known.one_part_or_another, (f64(N), 1), 8 * N, 16),
    "or another": (known.one_part_or_another, (f64(N), 0), 8 * N, 24),
    "one row": (known.one_row_or_another, (f64(50, 40), 1), 16000, 320),
    "or another, of columns": (known.one_row_or_another, (f64(40, 50).T, 0), 16000, 320),
    "part of one of two": (known.part_of_one_of_two, (f64(N), f64(N), 1), 16 * N, 56),
    "or of the other": (known.part_of_one_of_two, (f64(N), f64(N), 0), 16 * N, 56),
    "part of a part": (known.part_of_a_part, (f64(N), 7), 8 * N, 8 * (N - 2)),
    "whole": (known.whole_or_part, (f64(N), 1), 8 * N, 8 * N),
    "or part": (known.whole_or_part, (f64(N), 0), 8 * N, 8 * (N - 2)),
    "only read": (known.only_read, (f64(N), f64(N)), 8 * N, 8 * N),
    "given back": (known.given_back, (f64(N),), 8 * N, 8 * (N - 1)),
}  # fmt: skip
"""Kernel, arguments, bytes there, bytes back."""


@pytest.mark.parametrize(("kernel", "args", "there", "back"), CASES.values(), ids=CASES)
def test_calls_with_host_arrays(device, kernel, args, there, back, traffic):
    own = [_copied(a) if isinstance(a, np.ndarray) else a for a in args]
    expected = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    for calls in range(1, 5):  # from the third on, compiled code may bind them
        kernel.on(device)(*own)
        assert traffic() == (calls * there, calls * back)
        kernel.on("cpu")(*expected)
    for mine, right in zip(own, expected, strict=True):
        np.testing.assert_array_equal(mine, right)


def _copied(array):
    """A copy that lies in memory as the array does, if with other gaps."""
    if array.flags.forc:
        return array.copy(order="K")
    view = np.zeros(tuple(2 * size for size in array.shape), array.dtype)[tuple(slice(None, None, 2) for _ in array.shape)]
    view[...] = array
    return view


def test_lent_twice(device, traffic):
    x = f64(100, 100)
    for calls in range(1, 5):
        kernels.add.on(device)(x, x, np.empty((100, 100)))
        assert traffic() == (calls * 8 * N, calls * 8 * N)


def test_returned(device, traffic):
    kernels.halves.on(device)(np.ones(N))
    assert traffic() == (8 * N, 16 * N)


def test_ten_launches_on_the_same_arrays(device, traffic):
    x, y = np.ones(N, "f4"), np.ones(N, "f4")
    with lend.to(device, x, y) as (dx, dy):
        for _ in range(10):
            kernels.saxpy(1.0, dx, dy)
    assert traffic() == (8 * N, 4 * N)
    np.testing.assert_array_equal(y, 11)


LOANS = {
    "nothing": (lambda u, v: None, 0, 0),
    "a map": (lambda u, v: known.tripled(u, v), 1200, 1200),
    "a map of a part": (lambda u, v: known.tripled(u[:4], v[:4]), 2400, 480),
    "overwritten": (lambda u, v: known.filled_plane(v, 3.0), 0, 1200),
    "overwritten, then read": (lambda u, v: [known.filled_plane(v, 3.0), known.tripled(v, u)], 0, 2400),
    "the interior": (lambda u, v: kernels.interior(u, v), 2400, 8 * 8 * 13),
    "the interior of a part": (lambda u, v: kernels.interior(u[2:], v[2:]), 2400, 8 * 6 * 13),
    "the interior, turned": (lambda u, v: kernels.interior(u[::-1, ::-1], v[::-1, ::-1]), 2400, 8 * 8 * 13),
    "two rows": (lambda u, v: [known.filled(u[2], 1.0), known.filled(u[7], 2.0)], 1200, 240),
    "one row twice": (lambda u, v: [known.filled(u[2], 1.0), known.filled(u[2], 2.0)], 1200, 120),
    "rows that meet": (lambda u, v: [known.filled(u[k], 1.0) for k in (2, 3, 4)], 1200, 360),
    "parts of rows": (lambda u, v: [known.filled(u[k, j:], 1.0) for j in (0, 1) for k in range(10)], 1200, 1200),
    "as many as scalars say": (
        lambda u, v: [known.scaled_between(u[3], *own) for own in ((2, 5), (4, 9), (0, 0))], 1200, 8 * 7,
    ),
    "the same call again": (lambda u, v: [kernels.interior(u, v) for _ in range(5)], 2400, 8 * 8 * 13),
    "the same call with other scalars": (
        lambda u, v: [known.scaled_between(row, k, k + 1) for row in (v[3],) for k in range(5)], 1200, 40,
    ),
    "read on the way": (lambda u, v: [known.filled(v[1], 5.0), v.numpy()], 1200, 1320),
    "overwritten from the host": (lambda u, v: [v.copy_from(np.ones((10, 15))), known.filled(v[1], 5.0)], 1200, 1200),
}  # fmt: skip
"""What is done with two lent arrays of 10 by 15, the bytes there, and the bytes back."""


@pytest.mark.parametrize("strided", [False, True], ids=["", "strided"])
@pytest.mark.parametrize(("action", "there", "back"), LOANS.values(), ids=LOANS)
def test_loans(device, action, there, back, strided, traffic):
    u, v = f64(20, 30)[::2, ::2], -f64(20, 30)[::2, ::2]
    if not strided:
        u, v = u.copy(), v.copy()
    expected = [lend.asarray(array, device) for array in (u, v)]
    before = traffic()
    with lend.to(device, u, v) as (du, dv):
        action(du, dv)
    assert tuple(np.subtract(traffic(), before)) == (there, back)
    action(*expected)
    np.testing.assert_array_equal(u, expected[0])
    np.testing.assert_array_equal(v, expected[1])


def test_after_a_fault_nothing_comes_back(device, traffic):
    y = f64(N)
    with pytest.raises(lend.BoundsError):
        known.out_of_bounds.on(device)(np.full(N, N), y)
    assert traffic()[1] == 0
    np.testing.assert_array_equal(y, f64(N))
