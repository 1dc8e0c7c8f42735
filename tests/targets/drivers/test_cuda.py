"""Launches through CUDA's and HIP's drivers, over a driver that is none and checks every call."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.targets.device_kernels import needs

import lend
from lend import Mut, Out, Ref, f32, f64
from lend.diagnostics.errors import BoundsError, DeviceError, DeviceMemoryError
from lend.dims import M, N
from lend.driver import devices as driver_devices
from lend.language.reduction import BLOCK
from lend.lower.device.faults import SLOT_WORDS, SLOTS
from lend.targets.cuda import library
from lend.targets.hip import library as hip_library
from lend.targets.hip import toolkit

from .fake import FakeDriver, Launch


def doubles(address: int, count: int) -> np.ndarray:
    """Numbers in memory."""
    return np.ctypeslib.as_array((ctypes.c_double * count).from_address(address))


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    """A driver with one device, `cuda:0`, used by no test before."""
    driver = FakeDriver()
    monkeypatch.setattr(library, "library", lambda: library.look(driver))
    driver_devices._made.pop("cuda:0", None)
    yield driver
    made = driver_devices._made.pop("cuda:0", None)
    if made is not None:
        driver.fail = None
        made.trim()
        driver.close()
        assert made.live == sum(map(len, driver.blocks.values()))


def make_axpy() -> Any:
    @lend.kernel
    def axpy(a: f64, x: Ref[f64, N], y: Mut[f64, N]):
        for i in lend.grid(N):
            y[i] += a * x[i]

    return axpy


def axpy_by_hand(launch: Launch) -> None:
    """What the kernel does: the words are the size and `a`, in an order that its code knows."""
    count = next(word for word in launch.words if 0 < word < 1 << 40)
    a = next(value for word in launch.words if (value := np.int64(word).view(np.float64)) in (2.0, 3.0))
    y, x = doubles(launch.pointers[0], count), doubles(launch.pointers[1], count)
    inside = launch.places(0)
    assert inside.stop >= count
    y += a * x


def test_a_device_is_listed_with_what_it_is(fake: FakeDriver) -> None:
    listed = {info.name: info for info in lend.devices()}
    assert listed["cuda:0"].label == "No Such Card" and listed["cuda:0"].memory == 1 << 30


def test_arrays_go_there_and_come_back_and_memory_is_given_back(fake: FakeDriver) -> None:
    fake.kernels["region_0"] = axpy_by_hand
    axpy = make_axpy().on("cuda:0")
    x, y = np.arange(1000.0), np.ones(1000)
    axpy(2.0, x, y)
    assert np.array_equal(y, 1 + 2 * x)
    axpy(3.0, x, y)
    assert np.array_equal(y, 1 + 5 * x)
    assert fake.bytes_in >= 4 * 8000 and len(fake.launches) == 2
    launch = fake.launches[0]
    assert (launch.grid, launch.block) == ((4, 1, 1), (256, 1, 1))
    record = fake.launches[0].pointers
    assert len(record) == 2  # a proved kernel is handed its arrays and nothing else
    before = len(fake.blocks)
    axpy(2.0, x, y)
    assert len(fake.blocks) == before  # memory is used again


def test_code_is_given_back_with_its_kernel(fake: FakeDriver) -> None:
    fake.kernels["region_0"] = axpy_by_hand
    axpy = make_axpy()
    axpy.on("cuda:0")(2.0, np.ones(3), np.ones(3))
    assert len(fake.modules) == 1
    del axpy
    gc.collect()
    assert len(fake.modules) == 0


def test_any_call_can_fail_and_nothing_is_lost(fake: FakeDriver) -> None:
    """Each call of a run fails once: an error with the driver's reason; the next call of the kernel works."""
    fake.kernels["region_0"] = axpy_by_hand
    axpy = make_axpy().on("cuda:0")
    x, y = np.arange(10.0), np.ones(10)
    axpy(2.0, x, y)
    start = len(fake.calls)
    axpy(2.0, x, y)
    count = len(fake.calls) - start
    assert count >= 5
    for number in range(count):
        y[:] = 1
        fake.fail = (len(fake.calls) + number, 719)
        with pytest.raises(DeviceError, match=r"cuda:0 could not .*: a kernel has failed, .* \(CUDA error 719\)"):
            axpy(2.0, x, y)
        fake.fail = None
        y[:] = 1
        axpy(2.0, x, y)
        assert np.array_equal(y, 1 + 2 * x)


def test_a_failure_where_a_kernel_asks_for_memory_keeps_its_reason(fake: FakeDriver) -> None:
    @lend.kernel
    def doubled(x: Ref[f64, N]) -> f64:
        work = lend.empty(f64, N)
        for i in lend.grid(N):
            work[i] = 2.0 * x[i]
        return work[0]

    kernel = doubled.on("cuda:0")
    with pytest.raises(BoundsError):
        kernel(np.ones(0))
    made = driver_devices._made["cuda:0"]
    made.trim()
    start = len(fake.calls)
    kernel(np.ones(5))
    asked = [k for k in range(start, len(fake.calls)) if fake.calls[k] == "cuMemAllocAsync"]
    assert len(asked) == 2  # for `x`, and for `work`
    made.trim()
    fake.fail = (len(fake.calls) + asked[1] - start, 719)
    with pytest.raises(DeviceError, match=r"cuda:0 could not allocate memory: a kernel has failed, .* \(CUDA error 719\)"):
        kernel(np.ones(5))
    fake.fail = None
    kernel(np.ones(5))


def test_memory_that_does_not_suffice(fake: FakeDriver) -> None:
    fake.kernels["region_0"] = axpy_by_hand
    axpy = make_axpy().on("cuda:0")
    axpy(2.0, np.ones(1000), np.ones(1000))
    fake.memory = 1_300_000  # the record of faults takes half of it
    axpy(2.0, np.ones(30_000), np.ones(30_000))  # after what waits is given back
    with pytest.raises(DeviceMemoryError, match="cuda:0 has no memory for 800000 bytes"):
        axpy(2.0, np.ones(100_000), np.ones(100_000))
    y = np.ones(1000)
    axpy(2.0, np.ones(1000), y)
    assert (y == 3).all()


def test_launches_of_more_blocks_than_the_driver_takes_are_made_in_parts(fake: FakeDriver) -> None:
    @lend.kernel
    def narrow(y: Out[f32, N, M]):
        for i, j in lend.grid(N, M):
            y[i, j] = f32(1)

    covered = np.zeros(600_000, bool)

    def mark(launch: Launch) -> None:
        assert len(launch.starts) == 2
        covered[launch.places(1).start : launch.places(1).stop] = True

    fake.kernels["region_0"] = mark
    narrow.on("cuda:0")(np.empty((600_000, 1), np.float32))
    assert len(fake.launches) == 3 and covered.all()


def test_a_reduction_is_folded_from_partial_results(fake: FakeDriver) -> None:
    @lend.kernel
    def total(x: Ref[f64, N]) -> f64:
        s = 0.0
        for i in lend.grid(N):
            s += x[i]
        return s

    def partial_sums(launch: Launch) -> None:
        assert launch.block == (64, 1, 1) and launch.grid == (3, 1, 1)
        sizes = [word for word in launch.words if word == 5000]
        assert sizes
        x, partials = (doubles(pointer, 5000 if k == wide else 6) for k, pointer in enumerate(launch.pointers))
        if wide == 1:
            x, partials = partials, x
        partials[:6:2] = [x[k : k + BLOCK].sum() for k in range(0, 5000, BLOCK)]

    x = np.arange(5000.0)
    for wide in (0, 1):
        fake.kernels["region_0"] = partial_sums
        try:
            assert total.on("cuda:0")(x) == x.sum()
            break
        except AssertionError:
            fake.wrong.clear()
    else:
        pytest.fail("neither order of the parameters gives the sum")


def test_a_fault_is_read_from_its_record_and_the_next_launch_works(fake: FakeDriver) -> None:
    @lend.kernel
    def looked_up(where: Ref[lend.i64, N], x: Ref[f64, M], y: Out[f64, N]):
        for i in lend.grid(N):
            y[i] = x[where[i]]

    def fails(launch: Launch) -> None:
        for pointer in launch.pointers:
            words = (ctypes.c_int64 * (SLOTS + SLOT_WORDS)).from_address(pointer) if fake.held(pointer, 8 * 4096) else None
            if words is not None and words[0] == (1 << 63) - 1:
                words[0], words[1] = 7, 1
                slot = words[SLOTS : SLOTS + SLOT_WORDS]
                slot[:6] = [0, 7, 0, 0, 99, 5]
                words[SLOTS : SLOTS + SLOT_WORDS] = slot

    fake.kernels["region_0"] = fails
    kernel = looked_up.on("cuda:0")
    where, x, y = np.zeros(20, np.int64), np.ones(5), np.zeros(20)
    with pytest.raises(BoundsError):
        kernel(where, x, y)
    fake.kernels["region_0"] = lambda launch: None
    kernel(where, x, y)


def test_launches_are_timed_by_events(fake: FakeDriver) -> None:
    fake.kernels["region_0"] = axpy_by_hand
    axpy = make_axpy().on("cuda:0")
    axpy(2.0, np.ones(5), np.ones(5))
    with lend.profile() as profile:
        axpy(2.0, np.ones(5), np.ones(5))
    assert "axpy" in str(profile)
    assert not fake.events


@needs(toolkit.linker)
def test_hip_is_driven_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = FakeDriver(hip=True, parameters={"region_0": [8, 8, -24, 8]})
    driver.kernels["region_0"] = axpy_by_hand
    found = hip_library.Found(0, "No Such Card", "gfx942", 1 << 30)
    monkeypatch.setattr(hip_library, "library", lambda: hip_library.Devices(driver, (found,), ()))
    driver_devices._made.pop("hip:0", None)
    try:
        x, y = np.arange(1000.0), np.ones(1000)
        make_axpy().on("hip:0")(2.0, x, y)
        assert np.array_equal(y, 1 + 2 * x)
        assert driver.launches[0].starts == [0]
        driver.fail = (len(driver.calls) + 3, 700)
        with pytest.raises(DeviceError, match="HIP error 700"):
            make_axpy().on("hip:0")(2.0, x, y)
        driver.close()
    finally:
        driver_devices._made.pop("hip:0", None)


def test_a_machine_without_drivers_says_why() -> None:
    missing = dict(lend.devices().missing)
    names = [info.name for info in lend.devices()]
    if not any(name.startswith("cuda") for name in names):
        assert "NVIDIA's driver" in missing["cuda"]
        with pytest.raises(DeviceError, match="there is no device 'cuda:0'; there are: cpu.* NVIDIA's driver"):
            make_axpy().on("cuda:0")(1.0, np.ones(1), np.ones(1))
    if not any(name.startswith("hip") for name in names):
        assert "AMD's driver" in missing["hip"]
