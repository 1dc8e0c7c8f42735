"""How much room private arrays have: each parallel loop has its own, however many loops a kernel has."""

import numpy as np
import pytest

import lend
from lend import Mut, f64
from lend.dims import N


@lend.kernel
def twice_as_much(x: Mut[f64, N]):
    for i in lend.grid(N):
        first = lend.local(f64, 6000)
        for k in range(6000):
            first[k] = x[i] + k
        x[i] = first[5999]
    for i in lend.grid(N):
        second = lend.local(f64, 6000)
        for k in range(6000):
            second[k] = x[i] - k
        x[i] = second[5999]


def test_loops_after_each_other_have_the_same_room():
    x = np.arange(100.0)
    twice_as_much(x)
    assert (x == np.arange(100.0)).all()


def test_one_loop_with_more_is_refused():
    with pytest.raises(lend.CompileError, match="the private arrays of this loop take 96000 bytes in each thread"):

        @lend.kernel
        def too_much(x: Mut[f64, N]):
            for i in lend.grid(N):
                first = lend.local(f64, 6000)
                second = lend.local(f64, 6000)
                for k in range(6000):
                    first[k] = x[i]
                    second[k] = x[i]
                x[i] = first[5999] + second[5999]
