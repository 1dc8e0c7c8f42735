"""Random programs over two devices whose driver delays what it is given, does it in any order that it may, and fails any call.

Launches, reads, writes, views, frees, loans, faults and exceptions: always what NumPy gives, one after the other. After a call of
the driver's that fails, what it was for has happened or has not; everything else is as it was, and nothing is lost.
"""

from __future__ import annotations

import ctypes
import gc
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

import lend
from lend import Mut, Out, Ref, f32, i64
from lend.dims import N
from lend.driver import devices as driver_devices
from lend.lower.device.faults import RECORD_BYTES
from lend.runtime.arrays import holders
from lend.runtime.device_launch import free_released
from lend.targets.cuda import library

from .fake import FakeDriver

SIZE = 40
NAMES = ("cuda:0", "cuda:1")
UNKNOWN = 999
FAULTED = object()


class Kernels:
    """Kernels of a test's own, which nothing was compiled of before."""

    def __init__(self) -> None:
        @lend.kernel
        def added(a: f32, x: Ref[f32, N], y: Mut[f32, N]):
            for i in lend.grid(N):
                y[i] += a * x[i]

        @lend.kernel
        def shifted(x: Ref[f32, N], y: Out[f32, N], by: i64):
            for i in lend.grid(N):
                y[i] = x[i + by]

        @lend.kernel
        def mixed(x: Mut[f32, N], y: Mut[f32, N], count: i64):
            for _ in range(count):
                for i in lend.grid((1, N - 1)):
                    y[i] = 0.5 * (x[i - 1] + x[i + 1])
                x, y = y, x

        @lend.kernel
        def halved(x: Ref[f32, N]):
            y = lend.empty(f32, N)
            z = lend.zeros(f32, N)
            for i in lend.grid(N):
                y[i] = 0.5 * x[i]
            return y, x, z

        self.added, self.shifted, self.mixed, self.halved = added, shifted, mixed, halved


def mixed_by_hand(x: np.ndarray, y: np.ndarray, count: int) -> None:
    for _ in range(count):
        y[1:-1] = np.float32(0.5) * (x[:-2] + x[2:])
        x, y = y, x


def shifted_by_hand(x: np.ndarray, y: np.ndarray, by: int) -> bool:
    """Whether a subscript was out of bounds."""
    inside = [0 <= i + by < len(x) for i in range(len(x))]
    y[...] = [x[i + by] if fine else 0 for i, fine in enumerate(inside)]
    return not all(inside)


def record_of(device: Any) -> int:
    """Where a device's launches record faults."""
    return device._variables["lend_record_at"].value


class Elsewhere:
    """Ones of another library's, on a device."""

    def __init__(self, driver: FakeDriver, device: int, count: int) -> None:
        self.driver, self.device = driver, device
        self.address = driver.foreign(np.ones(count, np.float32), device)
        self.elements = np.ctypeslib.as_array((ctypes.c_float * count).from_address(self.address))

    def free(self) -> None:
        del self.driver.blocks[self.address], self.driver.owners[self.address]

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"version": 3, "shape": self.elements.shape, "typestr": "<f4", "data": (self.address, False), "strides": None}


class World:
    """What all examples of a run share: the driver and the kernels, compiled once."""

    driver: FakeDriver
    kernels: Kernels


Pair = tuple[Any, np.ndarray]
failing = st.none() | st.integers(0, 7)
sizes = st.sampled_from([SIZE, SIZE, SIZE, SIZE // 2, 1, 0])


class Programs(RuleBasedStateMachine):
    """A model is an array of the host's, which a view shares with what it is a view of."""

    arrays = Bundle("arrays")

    def __init__(self) -> None:
        super().__init__()
        for name in NAMES:
            give_back(name)
        self.driver, self.kernels = World.driver, World.kernels
        self.sharing = False  # whether other libraries have arrays too, whose calls are waited for
        self.pending: dict[str, list[str]] = {name: [] for name in NAMES}  # kernels that have failed since somebody waited

    @initialize(seed=st.integers(0, 999))
    def begin(self, seed: int) -> None:
        self.driver.delays = random.Random(seed)

    @initialize(target=arrays, device=st.sampled_from(NAMES))
    def first(self, device: str):
        return lend.asarray(np.arange(SIZE, dtype=np.float32), device), np.arange(SIZE, dtype=np.float32)

    # ------------------------------------------------------------------------------------------------------- trying

    def attempt(self, fails: int | None, device: str, action: Callable[[], Any], faulting: str | None = None) -> tuple[bool, Any]:
        """Do something, in which a call of the driver's may fail; whether it was done, and what it gave.

        A fault from before comes first, and then it is done again. `faulting`: the kernel that may have been begun, and faults.
        """
        driver, waiting = self.driver, self.pending[device]
        at = None if fails is None else len(driver.calls) + fails
        driver.fail = None if at is None else (at, UNKNOWN)
        try:
            found = action()
        except lend.BoundsError as error:
            driver.fail = None
            if self.sharing and not waiting:  # the call has waited
                assert error.kernel == faulting
                return True, FAULTED
            assert waiting and error.kernel == waiting[0]
            waiting.clear()
            return self.attempt(None, device, action, faulting)
        except (lend.DeviceError, lend.DeviceMemoryError) as error:
            driver.fail = None
            assert at is not None and len(driver.calls) > at and "cuda:" in str(error), error
            assert not self.driver.touches_the_host(), "somebody's memory is still copied to or from"
            self.settle(device, faulting)
            return False, None
        driver.fail = None
        assert not self.driver.touches_the_host()
        assert at is None or len(driver.calls) <= at, f"{driver.calls[at]} has failed, and nobody was told"
        return True, found

    def made(self, fails: int | None, device: str, action: Callable[[], Any]) -> Any:
        """What an action gives; if a call fails, it is done again, so that what is drawn next does not depend on that."""
        done, found = self.attempt(fails, device, action)
        return found if done else self.attempt(None, device, action)[1]

    def settle(self, device: str, faulting: str | None = None) -> None:
        """Wait, so that what has failed is known."""
        waiting = self.pending[device]
        try:
            lend.asarray(np.zeros(1), device).numpy()
        except lend.BoundsError as error:
            assert error.kernel == (waiting[0] if waiting else faulting)
        else:
            assert not waiting, f"the fault of {waiting[0]} was lost"
        waiting.clear()

    def changed(
        self, fails: int | None, pair: Pair, action: Callable[[], Any], effect: Callable[[], bool | None], kernel: str = ""
    ):
        """Something that changes an array, as `effect` does its model; it gives whether that faults. If a call fails, either."""
        array, model = pair
        before = model.copy()
        done, found = self.attempt(fails, array.device, action, kernel or None)
        faulted = effect()
        if done:
            assert faulted or found is not FAULTED
            if faulted and found is not FAULTED:
                self.pending[array.device].append(kernel)
            return
        found = array.numpy()
        if np.array_equal(found, before):
            model[...] = before
        else:
            np.testing.assert_array_equal(found, model)

    # -------------------------------------------------------------------------------------------------------- rules

    @rule(target=arrays, seed=st.integers(0, 99), size=sizes, device=st.sampled_from(NAMES), fails=failing)
    def make(self, seed: int, size: int, device: str, fails: int | None):
        model = np.random.default_rng(seed).integers(-50, 50, size).astype(np.float32)
        return self.made(fails, device, lambda: lend.asarray(model, device)), model.copy()

    @rule(target=arrays, size=sizes, device=st.sampled_from(NAMES), fails=failing)
    def make_zeros(self, size: int, device: str, fails: int | None):
        return self.made(fails, device, lambda: lend.zeros(size, f32, device)), np.zeros(size, np.float32)

    @rule(target=arrays, pair=arrays, start=st.integers(0, 5), step=st.sampled_from([1, 2, -1]))
    def view(self, pair: Pair, start: int, step: int):
        array, model = pair
        return array[start::step], model[start::step]

    @rule(gone=consumes(arrays))
    def free(self, gone: Pair):
        del gone

    @rule(pair=arrays, fails=failing)
    def read(self, pair: Pair, fails: int | None):
        array, model = pair
        done, found = self.attempt(fails, array.device, array.numpy)
        if done:
            np.testing.assert_array_equal(found, model)

    @rule(pair=arrays, seed=st.integers(0, 99), fails=failing)
    def overwrite(self, pair: Pair, seed: int, fails: int | None):
        array, model = pair
        if array.strides != (4,):
            return
        new = np.random.default_rng(seed).integers(-50, 50, array.shape).astype(np.float32)
        self.changed(fails, pair, lambda: array.copy_from(new), lambda: model.__setitem__(..., new))

    @rule(target=arrays, pair=arrays, device=st.sampled_from(NAMES), fails=failing)
    def move(self, pair: Pair, device: str, fails: int | None):
        array, model = pair
        if array.device == device:
            return pair
        host = self.made(fails, array.device, array.numpy)
        return self.made(None, device, lambda: lend.asarray(host, device)), model.copy()

    def fitting(self, first: Pair, second: Pair, call: Callable[[Any, Any], Any]) -> Pair:
        """The second, if a call with both is a right one; if not, it is refused, and another one is made that does."""
        (x, a), (y, b) = first, second
        if len(a) != len(b):
            error: Any = lend.ShapeError
        elif np.shares_memory(a, b):
            error = lend.BorrowError
        elif x.device != y.device:
            error = lend.ArgumentError
        else:
            return second
        with pytest.raises(error):
            call(x, y)
        return lend.asarray(np.ones(len(a), np.float32), x.device), np.ones(len(a), np.float32)

    @rule(target=arrays, first=arrays, second=arrays, factor=st.integers(-2, 2), fails=failing)
    def add(self, first: Pair, second: Pair, factor: int, fails: int | None):
        def call(x, y):
            return self.kernels.added(factor, x, y)

        second = self.fitting(first, second, call)
        (x, a), (y, b) = first, second
        self.changed(fails, second, lambda: call(x, y), lambda: b.__iadd__(np.float32(factor) * a) is None)
        return second

    @rule(target=arrays, first=arrays, second=arrays, by=st.sampled_from([0, 3, -1]), fails=failing)
    def shift(self, first: Pair, second: Pair, by: int, fails: int | None):
        def call(x, y):
            return self.kernels.shifted(x, y, by)

        second = self.fitting(first, second, call)
        (x, a), (y, b) = first, second
        self.changed(fails, second, lambda: call(x, y), lambda: shifted_by_hand(a, b, by), "shifted")
        return second

    @rule(target=arrays, first=arrays, second=arrays, count=st.integers(0, 4))
    def mix(self, first: Pair, second: Pair, count: int):
        def call(x, y):
            return self.kernels.mixed(x, y, count)

        second = self.fitting(first, second, call)
        (x, a), (y, b) = first, second
        self.attempt(None, x.device, lambda: call(x, y))
        mixed_by_hand(a, b, count)
        return second

    @rule(target=arrays, pair=arrays, fails=failing)
    def halve(self, pair: Pair, fails: int | None):
        array, model = pair
        half, same, zeros = self.made(fails, array.device, lambda: self.kernels.halved(array))
        return multiple((half, np.float32(0.5) * model), (same, model), (zeros, np.zeros_like(model)))

    @rule(pair=arrays, fails=failing)
    def with_a_host_array(self, pair: Pair, fails: int | None):
        array, model = pair
        host = np.empty(len(model), np.float32)

        def call() -> None:
            host[...] = 1
            self.kernels.added(2, array, host)

        done, _ = self.attempt(fails, array.device, call)
        assert np.array_equal(host, 1 + 2 * model) or (not done and (host == 1).all())

    @rule(device=st.sampled_from(NAMES), count=st.integers(0, 3), fails=failing)
    def with_host_arrays_alone(self, device: str, count: int, fails: int | None):
        x, y = np.arange(1.0, SIZE + 1, dtype=np.float32), np.zeros(SIZE, np.float32)
        a, b = x.copy(), y.copy()

        def call() -> None:
            x[...], y[...] = a, b
            self.kernels.mixed.on(device)(x, y, count)

        done, _ = self.attempt(fails, device, call)
        u, v = a.copy(), b.copy()
        mixed_by_hand(u, v, count)
        for mine, old, new in ((x, a, u), (y, b, v)):
            assert np.array_equal(mine, new) or (not done and np.array_equal(mine, old))

    @rule(pair=arrays, by=st.sampled_from([0, 0, 2]), raises=st.booleans(), looks=st.booleans(), fails=failing)
    def lend_for_a_while(self, pair: Pair, by: int, raises: bool, looks: bool, fails: int | None):
        array, model = pair
        host, other = np.empty(len(model), np.float32), np.empty(2 * len(model), np.float32)[::2]
        faulted: list[bool] = []

        def call() -> None:
            faulted.clear()
            host[...], other[...] = 0, 7
            try:
                with lend.to(array.device, host, other) as (there, also):
                    self.kernels.added(1, array[:7], there[:7])
                    self.kernels.shifted(array, also, by)
                    if looks:
                        assert np.array_equal(also.numpy(), shifted)
                    if raises:
                        raise KeyError
            except KeyError:
                assert raises
            except lend.BoundsError as error:
                if self.pending[array.device]:
                    raise
                assert faults and error.kernel == "shifted"
                faulted.append(True)

        shifted = np.empty_like(model)
        faults = shifted_by_hand(model, shifted, by)
        part = np.where(np.arange(len(model)) < 7, model, np.float32(0))
        done, _ = self.attempt(fails, array.device, call, "shifted" if faults else None)
        assert host.flags.writeable and other.flags.writeable
        for mine, old, new in ((host, 0, part), (other, 7, shifted)):
            untouched = (mine == old).all()
            assert untouched if faulted else np.array_equal(mine, new) or (not done and untouched)

    @rule(pair=arrays, value=st.integers(-9, 9), fails=failing)
    def share(self, pair: Pair, value: int, fails: int | None):
        """Another library looks at the memory, and writes to it."""
        array, model = pair
        if array.strides != (4,) or not len(model):
            return
        done, there = self.attempt(fails, array.device, lambda: array.__cuda_array_interface__)
        if done:
            self.sharing = True
            elements = np.ctypeslib.as_array((ctypes.c_float * len(model)).from_address(there["data"][0]))
            np.testing.assert_array_equal(elements, model)
            elements[0] = model[0] = value

    @rule(pair=arrays, factor=st.integers(-2, 2), fails=failing)
    def borrow(self, pair: Pair, factor: int, fails: int | None):
        """A kernel gets another library's array, and is done with it when the call is over."""
        array, model = pair
        own = Elsewhere(self.driver, NAMES.index(array.device), len(model))
        done, _ = self.attempt(fails, array.device, lambda: self.kernels.shifted(array, own, 0))
        assert np.array_equal(own.elements, model) or (not done and (own.elements == 1).all())
        own.free()

    @rule(pair=arrays, factor=st.integers(-2, 2))
    def on_the_processor(self, pair: Pair, factor: int):
        """The same kernel here."""
        array, model = pair
        host = np.ones(len(model), np.float32)
        done, found = self.attempt(None, array.device, array.numpy)
        assert done
        self.kernels.added.on("cpu")(factor, found, host)
        np.testing.assert_array_equal(host, 1 + np.float32(factor) * model)

    @rule(target=arrays, pair=arrays)
    def alike(self, pair: Pair):
        return pair

    # ---------------------------------------------------------------------------------------------------- what holds

    @invariant()
    def nothing_is_wrong(self) -> None:
        assert not self.driver.wrong
        for name in NAMES:
            there: Any = driver_devices.device(name)
            waiting = [address for addresses in there._free.values() for address in addresses]
            assert sum(there._sizes.values()) == there.live
            assert len(set(waiting)) == len(waiting) and not set(there._sizes) & set(waiting)
            assert {*there._sizes, *waiting} <= self.driver.blocks.keys()
            owned = {memory.address for memory in holders() if memory.device is there}
            assert there._sizes.keys() <= {*owned, *there.released, record_of(there)}, (
                "memory that nobody holds is not given back"
            )

    def teardown(self) -> None:
        self.driver.fail = None
        self.names_to_values.clear()
        for name in NAMES:
            self.settle(name)


def give_back(name: str) -> None:
    """Have a device give back whatever nobody holds; what it has then is its record of faults and what arrays hold."""
    there: Any = driver_devices.device(name)
    gc.collect()
    with there.lock:
        free_released(there)
        there.trim()
        there.finish()
    owned = {memory.address for memory in holders() if memory.device is there}
    assert there._sizes.keys() == {*owned, record_of(there)} and there._sizes[record_of(there)] >= RECORD_BYTES


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    """Two devices that no test has used before."""
    World.driver = FakeDriver(devices=2, runs=True)
    World.kernels = Kernels()
    found = library.look(World.driver)
    monkeypatch.setattr(library, "library", lambda: found)
    for name in NAMES:
        driver_devices._made.pop(name, None)
    gc.freeze()  # so that what there is already is not looked through after each example
    yield World.driver
    gc.unfreeze()
    for name in NAMES:
        driver_devices._made.pop(name, None)


def test_random_programs(world: FakeDriver) -> None:
    kernels = World.kernels
    for name in NAMES:
        x, y = np.ones(3, np.float32), np.ones(3, np.float32)
        for call in (
            lambda: kernels.added.on(name)(1, x, y), lambda: kernels.shifted.on(name)(x, y, 0),
            lambda: kernels.mixed.on(name)(x, y, 1), lambda: kernels.halved.on(name)(x),
        ):  # fmt: skip
            call()
    Programs.TestCase.settings = settings(
        max_examples=50,
        stateful_step_count=30,
        phases=[Phase.generate],
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    Programs.TestCase().runTest()
    for name in NAMES:
        give_back(name)
        assert len(driver_devices.device(name)._sizes) == 1, "arrays that nobody has are held"
    assert sum(map(len, world.blocks.values())) == sum(driver_devices.device(name).live for name in NAMES)
    world.close()
