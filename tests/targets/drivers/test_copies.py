"""What is copied from CUDA's and HIP's devices, and what is left of a device that cannot be made."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.targets.device_kernels import five_points, lowered, needs

import lend
from lend.driver import devices as driver_devices
from lend.targets import stream_device
from lend.targets.cuda import library
from lend.targets.cuda.machine import ON_DEVICE, ON_HOST, RowsCopied
from lend.targets.hip import library as hip_library
from lend.targets.hip import toolkit

from .fake import FakeDriver, Rows


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    """A driver with one device, `cuda:0`, that runs what it is given."""
    driver = FakeDriver(runs=True)
    found = library.look(driver)
    monkeypatch.setattr(library, "library", lambda: found)
    driver_devices._made.pop("cuda:0", None)
    yield driver
    driver_devices._made.pop("cuda:0", None)
    driver.close()


def own_five_points() -> Any:
    """The kernel anew, so that no device of another test has its code."""
    return lend.kernel(five_points._definition.captured.function)


def numbers(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) ** 2 % 97


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_interior_comes_back_in_one_copy(fake: FakeDriver, order: Any) -> None:
    kernel = own_five_points()
    u, v = np.array(numbers(30, 40), order=order), np.array(numbers(30, 40) + 1, order=order)
    expected = v.copy()
    kernel(u, expected)
    kernel.on("cuda:0")(u, v)
    np.testing.assert_array_equal(v, expected)
    assert fake.calls.count("cuMemcpy2DAsync_v2") == 1 and fake.bytes_out == 4 * 28 * 38


def test_rows_that_lie_too_far_apart_are_copied_one_by_one(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_device, "MOST_PITCH", 100)
    kernel, u, v = own_five_points(), numbers(7, 40), numbers(7, 40)
    expected = v.copy()
    kernel(u, expected)
    kernel.on("cuda:0")(u, v)
    np.testing.assert_array_equal(v, expected)
    assert "cuMemcpy2DAsync_v2" not in fake.calls and fake.bytes_out == 4 * 5 * 38


@needs(toolkit.linker)
def test_rows_of_hip(monkeypatch: pytest.MonkeyPatch) -> None:
    words = re.search(r"region_0_param_2\[(\d+)\]", lowered(five_points, "cuda:sm_90").asm)
    assert words is not None
    driver = FakeDriver(hip=True, parameters={"region_0": [8, 8, -int(words[1]), 8, 8]})
    found = hip_library.Found(0, "No Such Card", "gfx942", 1 << 30)
    monkeypatch.setattr(hip_library, "library", lambda: hip_library.Devices(driver, (found,), ()))
    driver_devices._made.pop("hip:0", None)
    driver.kernels["region_0"] = lambda launch: [ctypes.memset(pointer, 0, 4 * 30 * 40) for pointer in launch.pointers]
    u, v = numbers(30, 40), numbers(30, 40) + 1
    expected = v.copy()
    expected[1:-1, 1:-1] = 0
    try:
        own_five_points().on("hip:0")(u, v)
        np.testing.assert_array_equal(v, expected)
        assert "hipMemcpy2DAsync" in driver.calls and driver.bytes_out == 4 * 28 * 38
        driver.close()
    finally:
        driver_devices._made.pop("hip:0", None)


def test_the_record_of_a_copy_is_the_drivers() -> None:
    given = RowsCopied(
        from_x=1, from_y=2, from_type=ON_DEVICE, from_device=3, from_pitch=4, to_host=5, to_type=ON_HOST, width=6, rows=7
    )
    read = Rows.from_buffer_copy(bytes(given))
    assert ctypes.sizeof(Rows) == ctypes.sizeof(RowsCopied) == 128
    assert (read.srcXInBytes, read.srcY, read.srcMemoryType, read.srcDevice, read.srcPitch) == (1, 2, 2, 3, 4)
    assert (read.dstHost, read.dstMemoryType, read.WidthInBytes, read.Height) == (5, 1, 6, 7)
    bindings = pytest.importorskip("cuda.bindings.driver")
    theirs = bindings.CUDA_MEMCPY2D()
    theirs.srcXInBytes, theirs.srcY, theirs.srcPitch, theirs.WidthInBytes, theirs.Height = 1, 2, 4, 6, 7
    theirs.srcMemoryType, theirs.dstMemoryType = bindings.CUmemorytype(ON_DEVICE), bindings.CUmemorytype(ON_HOST)
    theirs.srcDevice, theirs.dstHost = 3, 5
    assert ctypes.string_at(theirs.getPtr(), 128) == bytes(given)


def test_a_device_that_cannot_be_made_leaves_nothing(fake: FakeDriver) -> None:
    """Each call fails once; then it can be made."""
    for number in range(50):
        fake.fail = (len(fake.calls) + number, 999)
        try:
            lend.zeros(3, lend.f32, "cuda:0")
        except lend.DeviceError:
            pass
        reached = len(fake.calls) > fake.fail[0]
        fake.fail = None
        if not reached:
            break
        if "cuda:0" not in driver_devices._made:
            assert not fake.blocks and not fake.streams and not fake.retained
    assert number > 8 and (lend.zeros(3, lend.f32, "cuda:0").numpy() == 0).all()
