"""Blocks of threads on a device: our team kernels compute there what NumPy does."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from tests.teams.kernels import CASES

import lend
from lend import Mut, Out, Ref, f64, i64
from lend.diagnostics.errors import BoundsError, DeviceError
from lend.dims import M, N


@pytest.mark.parametrize("name", CASES)
def test_a_team_kernel_leaves_what_numpy_computes(name: str, device: str) -> None:
    case = CASES[name]
    kernel = lend.kernel(case.function).on(device)
    for seed in range(2):
        arguments = case.arguments(np.random.default_rng(seed))
        expected = case.expected(copy.deepcopy(arguments))
        kernel(**arguments)
        for key, value in expected.items():
            if case.exact:
                assert np.array_equal(arguments[key], value), key
            else:
                np.testing.assert_allclose(arguments[key], value, rtol=2e-5 if value.dtype == np.float32 else 1e-11, atol=1e-6)


@lend.kernel
def uneven(x: Ref[f64, N, 48], y: Out[f64, N, 48]):
    """Blocks of threads that are no power of two, with barriers in branches and loops."""
    for b in lend.blocks(N):
        s = lend.shared(f64, 48)
        for t in lend.threads(48):
            s[t] = x[b, t]
            if t < 48:
                lend.sync()
            for k in range(3):
                v = s[(t + k) % 48]
                lend.sync()
                s[t] = v + 1.0
                lend.sync()
            y[b, t] = s[t]
        for t in lend.threads(5):
            s[t] = 0.0


@lend.kernel
def summed(x: Ref[f64, N, 100], y: Out[f64, N]) -> f64:
    """Reductions of threads, then of blocks."""
    total = 0.0
    for b in lend.blocks(N):
        s = 0.0
        for t in lend.threads(100):
            s += x[b, t]
        for t in lend.threads(1):
            y[b] = s
        total += s
    return total


def test_threads_without_work_meet_the_barriers_of_the_others(device: str) -> None:
    x = np.random.default_rng(0).random((7, 48))
    there, here = np.empty_like(x), np.empty_like(x)
    uneven.on(device)(x, there)
    uneven(x, here)
    assert np.array_equal(there, here)


def test_reductions_of_blocks_have_the_same_bits_everywhere(device: str) -> None:
    x = np.random.default_rng(1).random((5000, 100))
    there, here = np.empty(5000), np.empty(5000)
    assert summed.on(device)(x, there) == summed(x, here) == summed.py(x[:0], here[:0]) + summed(x, here)
    assert np.array_equal(there, here)


@lend.kernel
def looked_up(where: Ref[i64, N, 32], x: Ref[f64, M], y: Out[f64, N, 32]):
    for b in lend.blocks(N):
        for t in lend.threads(32):
            y[b, t] = x[where[b, t]]


def test_a_fault_names_block_and_thread(device: str) -> None:
    where = np.zeros((40, 32), np.int64)
    where[11, 5], where[30, 2] = 9, 9
    x, y = np.ones(9), np.empty((40, 32))
    with pytest.raises(BoundsError) as found:
        looked_up.on(device)(where, x, y)
    with pytest.raises(BoundsError) as expected:
        looked_up(where, x, y)
    assert str(found.value) == str(expected.value)
    where[:] = 1
    looked_up.on(device)(where, x, y)
    assert (y == 1).all()


@lend.kernel
def own_ways(x: Mut[f64, N, 64]):
    """Only some sub-groups get to the exchange."""
    for b in lend.blocks(N):
        for t in lend.threads(64):
            group = lend.subgroup(16)
            if t // 16 % 2 == 0:
                x[b, t] = group.shuffle_xor(x[b, t], 1)


def test_what_a_device_cannot_do_is_said_before_it_starts(device: str) -> None:
    with pytest.raises(DeviceError, match="sub-groups of 16 threads that go their own ways"):
        own_ways.on(device)(np.ones((3, 64)))
