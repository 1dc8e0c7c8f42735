"""Temporaries made inside `lend.unchecked`: that they are written before they are read is taken on trust."""

import numpy as np
import pytest

import lend
from lend import Ref, f64, i64
from lend.dims import N


@lend.kernel
def scattered(x: Ref[f64, N], at: Ref[i64, N]):
    with lend.unchecked("the caller gives a permutation"):
        y = lend.empty(f64, N)
        for i in lend.grid(N):
            y[at[i]] = x[i]
    return y


def test_a_temporary_made_inside_is_not_judged():
    x, at = np.random.default_rng(1).random(5000), np.random.default_rng(2).permutation(5000)
    for run in (scattered, scattered.py):
        y = run(x, at)
        assert (y[at] == x).all()
    assert [block.reason for block in scattered.proofs().unchecked] == ["the caller gives a permutation"]


def test_it_is_not_cleared_either():
    assert "@lend_allocate" in (text := scattered.lower().llvm)
    assert "i32 1)" not in "".join(line for line in text.splitlines() if "call ptr @lend_allocate" in line)


def test_one_made_outside_is_judged():
    with pytest.raises(lend.CompileError, match="returned where it may not have been written whole"):

        @lend.kernel
        def made_outside(x: Ref[f64, N], at: Ref[i64, N]):
            y = lend.empty(f64, N)
            with lend.unchecked("the caller gives a permutation"):
                for i in lend.grid(N):
                    y[at[i]] = x[i]
            return y


def test_zeros_are_zeros_inside_too():
    @lend.kernel
    def blank(n: i64):
        with lend.unchecked("nothing happens here"):
            y = lend.zeros(f64, n)
        return y

    dirty = scattered(np.ones(1000), np.arange(1000))
    del dirty
    assert not blank(1000).any()
