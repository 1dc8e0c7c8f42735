"""Random programs of launches, reads, writes, views, frees, loans and faults: always what NumPy gives, one after the other."""

from __future__ import annotations

import gc

import device_kernels as kernels
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

import lend
from lend.driver.devices import device as device_of

N = 96
NAME = ""


class Programs(RuleBasedStateMachine):
    """A model is an array of the host's, which a view shares with what it is a view of."""

    arrays = Bundle("arrays")

    def __init__(self) -> None:
        super().__init__()
        self.pending: list[str] = []  # kernels that have failed since somebody waited

    def waits(self, action):
        """Something that waits, and raises what the first kernel that failed has recorded."""
        if not self.pending:
            return action()
        with pytest.raises(lend.BoundsError) as caught:
            action()
        assert caught.value.kernel == self.pending[0]
        self.pending.clear()
        return action()

    @rule(target=arrays, seed=st.integers(0, 99))
    def make(self, seed):
        model = np.random.default_rng(seed).integers(-50, 50, N).astype(np.float32)
        return lend.asarray(model, NAME), model.copy()

    @rule(target=arrays, pair=arrays, start=st.integers(0, N), step=st.sampled_from([1, 2, -1]))
    def view(self, pair, start, step):
        array, model = pair
        return array[start::step], model[start::step]

    @rule(gone=consumes(arrays))
    def free(self, gone):
        del gone
        gc.collect()

    @rule(pair=arrays)
    def read(self, pair):
        array, model = pair
        np.testing.assert_array_equal(self.waits(array.numpy), model)

    @rule(pair=arrays, seed=st.integers(0, 99))
    def overwrite(self, pair, seed):
        array, model = pair
        if array.strides != (4,):
            return
        new = np.random.default_rng(seed).integers(-50, 50, array.shape).astype(np.float32)
        array.copy_from(new)
        model[...] = new

    @rule(first=arrays, second=arrays, factor=st.integers(-2, 2))
    def add(self, first, second, factor):
        (x, a), (y, b) = first, second
        self.launch(lambda: kernels.saxpy(factor, x, y), [a, b], lambda: b.__iadd__(np.float32(factor) * a))

    @rule(first=arrays, second=arrays, by=st.sampled_from([0, 0, 0, 3, -1]))
    def shift(self, first, second, by):
        (x, a), (y, b) = first, second

        def expected():
            new = np.zeros_like(b)
            for i in range(len(a)):
                if 0 <= i + by < len(a):
                    new[i] = a[i + by]
            b[...] = new
            if by and len(a):
                self.pending.append("shifted")

        self.launch(lambda: kernels.shifted(x, y, by), [a, b], expected)

    def launch(self, call, models, expected):
        """A launch, which is refused if sizes differ or arrays overlap."""
        a, b = models
        if len(a) != len(b):
            with pytest.raises(lend.ShapeError):
                call()
        elif np.shares_memory(a, b):
            with pytest.raises(lend.BorrowError):
                call()
        else:
            call()
            expected()

    @rule(pair=arrays)
    def from_the_host(self, pair):
        array, model = pair
        host = np.ones(len(model), np.float32)

        def call():
            host[...] = 1
            kernels.saxpy(2, array, host)

        self.waits(call)
        np.testing.assert_array_equal(host, 1 + 2 * model)

    @rule(pair=arrays, fails=st.booleans())
    def lend_for_a_while(self, pair, fails):
        array, model = pair
        host = np.zeros(len(model), np.float32)
        waiting = list(self.pending)
        try:
            with lend.to(NAME, host) as there:
                kernels.saxpy(1, array, there)
                if fails:
                    raise KeyError
        except KeyError:
            assert fails and not waiting
        except lend.BoundsError as error:
            assert waiting and error.kernel == waiting[0]
        self.pending.clear()
        assert host.flags.writeable
        np.testing.assert_array_equal(host, 0 if waiting else model)

    @rule(target=arrays, pair=arrays)
    def alike(self, pair):
        return multiple(pair)

    @invariant()
    def nothing_is_lost(self):
        if NAME:
            there = device_of(NAME)
            assert sum(there._sizes.values()) == there.live
            assert not set(there._sizes) & {address for waiting in there._free.values() for address in waiting}

    def teardown(self):
        if NAME:
            with device_of(NAME).lock:
                try:
                    lend.asarray(np.zeros(1), NAME).numpy()
                except lend.BoundsError:
                    assert self.pending


def test_random_programs(device):
    global NAME
    NAME = device
    for kernel in (kernels.saxpy, kernels.shifted):  # compile once, outside what is measured
        assert kernel.proofs()
    there = device_of(device)
    gc.collect()
    kernels.twice.on(device)(np.ones(3), np.ones(3))
    before = there.live
    Programs.TestCase.settings = settings(
        max_examples=25,
        stateful_step_count=30,
        phases=[Phase.generate],
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    Programs.TestCase().runTest()
    gc.collect()
    kernels.twice.on(device)(np.ones(3), np.ones(3))
    assert there.live <= before + 4096, "something was leaked"
