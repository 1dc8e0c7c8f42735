"""What is proved where sizes are computed: they are not beyond memory, and counters of loops are not beyond their loops."""

import numpy as np
import pytest

import lend
from lend import Ref, f64, i64
from lend.dims import N

WAVE = 1 << 18


@lend.kernel
def counted_waves(x: Ref[f64, N]):
    """`w * WAVE` cannot wrap, as the loop ends before: no call could test that."""
    y = lend.zeros(f64, N)
    for w in range(lend.cdiv(N, WAVE)):
        for c in lend.grid(64):
            begin = w * WAVE + c * 4096
            for i in range(begin, min(begin + 4096, N)):
                y[i] = x[i]
    return y


@lend.kernel
def waves_of_a_computed_size(x: Ref[i64, N]):
    """A size that is a sum is below the largest size where an array of it has been made."""
    total = i64(0)
    for i in range(N):
        total += x[i]
    y = lend.zeros(f64, total)
    parts = lend.zeros(f64, lend.cdiv(len(y), 4096))
    for w in range(0, len(y), WAVE):
        for c in lend.grid(64):
            begin = w + c * 4096
            for i in range(begin, min(begin + 4096, len(y))):
                y[i] = 1.0
    return y, len(parts)


@lend.kernel
def made(n: i64, m: i64):
    y = lend.zeros(f64, n, m)
    return len(y)


@pytest.mark.parametrize("kernel", [counted_waves, waves_of_a_computed_size], ids=lambda kernel: kernel.__name__)
def test_nothing_is_left_to_a_call(kernel):
    assert kernel.proofs().counts.keys() == {"proved"}


def test_they_run():
    x = np.arange(1000.0)
    assert (counted_waves(x) == x).all()
    y, parts = waves_of_a_computed_size(np.full(5, 1000))
    assert (y == 1).all() and len(y) == 5000 and parts == 2


def test_no_dimension_is_beyond_the_largest_size():
    for run in (made, made.py):
        assert run(1 << 46, 0) == 1 << 46
        with pytest.raises(lend.DeviceMemoryError):
            run((1 << 46) + 1, 0)
