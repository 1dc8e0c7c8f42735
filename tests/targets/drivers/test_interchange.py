"""Arrays that other libraries lend and borrow on CUDA's devices, over a driver that is none."""

from __future__ import annotations

import ctypes
import gc
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lend
from lend import Index, Mut, Out, Ref, f64
from lend.dims import M, N
from lend.driver import devices as driver_devices
from lend.runtime import dlpack
from lend.targets.cuda import library

from .fake import FakeDriver


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    """A driver with two devices that runs what it is given, late."""
    driver = FakeDriver(devices=2, runs=True, delays=random.Random(5))
    found = library.look(driver)
    monkeypatch.setattr(library, "library", lambda: found)
    for name in ("cuda:0", "cuda:1"):
        driver_devices._made.pop(name, None)
    yield driver
    for name in ("cuda:0", "cuda:1"):
        driver_devices._made.pop(name, None)
    driver.close()


class Interface:
    """An array of a library that speaks `__cuda_array_interface__`."""

    def __init__(self, driver: FakeDriver, values: np.ndarray, read_only: bool = False, stream: int | None = None) -> None:
        self.driver = driver
        self.address = driver.foreign(values)
        self.interface: dict[str, Any] = {
            "version": 3, "shape": values.shape, "typestr": values.dtype.str, "data": (self.address, read_only),
            "strides": None, "stream": stream,
        }  # fmt: skip

    @property
    def values(self) -> np.ndarray:
        shape = self.interface["shape"]
        return np.ctypeslib.as_array((ctypes.c_double * int(np.prod(shape))).from_address(self.address)).reshape(shape)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.interface


class Capsules:
    """An array of a library that speaks DLPack."""

    def __init__(
        self, driver: FakeDriver, values: np.ndarray, device: int = 0, read_only: bool = False, new: bool = True
    ) -> None:
        self.address, self.like, self.device = driver.foreign(values, device), values, device
        self.read_only, self.new = read_only, new
        self.streams: list[int] = []
        self.lent: list[Capsules] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.device

    def __dlpack__(self, *, stream: int, **more: Any) -> object:
        if more and not self.new:
            raise TypeError("no such argument")
        self.streams.append(stream)
        values = self.like
        return dlpack.wrap(
            self.address, (2, self.device), values.shape, values.strides, values.dtype, self.read_only, self, self.new
        )

    @property
    def values(self) -> np.ndarray:
        return np.ctypeslib.as_array((ctypes.c_double * self.like.size).from_address(self.address)).reshape(self.like.shape)


class Kernels:
    def __init__(self) -> None:
        @lend.kernel
        def twice(x: Ref[f64, N], y: Out[f64, N]):
            for i in lend.grid(N):
                y[i] = 2.0 * x[i]

        @lend.kernel
        def gathered(x: Ref[f64, N], where: Ref[Index[N], M], y: Out[f64, M]):
            for i in lend.grid(M):
                y[i] = x[where[i]]

        @lend.kernel
        def sums(xs: tuple[Ref[f64, N], ...], y: Mut[f64, N]):
            for i in lend.grid(N):
                for k in lend.static_range(len(xs)):
                    y[i] += xs[k][i]

        self.twice, self.gathered, self.sums = twice, gathered, sums


def test_arguments_with_an_interface(fake: FakeDriver) -> None:
    twice, x, y = Kernels().twice, Interface(fake, np.arange(40.0)), Interface(fake, np.zeros(40))
    for _ in range(4):
        y.values[...] = 0
        twice(x, y)
        np.testing.assert_array_equal(y.values, 2 * np.arange(40))  # what the library begins next comes after
    assert fake.bytes_in == 16 and fake.bytes_out == 0, "nothing but the record of faults is copied"
    with pytest.raises(lend.BorrowError, match="read-only"):
        twice(x, Interface(fake, np.zeros(40), read_only=True))
    with pytest.raises(lend.BorrowError):
        twice(x, x)
    with pytest.raises(lend.ArgumentError, match="must be"):
        twice(Interface(fake, np.zeros(40, np.int64)), y)
    masked = Interface(fake, np.zeros(40))
    masked.interface["mask"] = x
    with pytest.raises(lend.ArgumentError, match="mask"):
        twice(masked, y)


def test_work_of_others_is_done_first(fake: FakeDriver) -> None:
    twice, y = Kernels().twice, Interface(fake, np.zeros(40))
    made: Any = lend.zeros(3, f64, "cuda:0").memory.device
    stream = ctypes.c_void_p()
    assert fake.function("cuStreamCreate", ctypes.c_void_p, ctypes.c_uint)(ctypes.addressof(stream), 1) == 0
    x = Interface(fake, np.zeros(40), stream=stream.value)
    ones = np.ones(40)
    fake.function("cuMemcpyHtoDAsync_v2", *[ctypes.c_void_p] * 2, ctypes.c_size_t, ctypes.c_void_p)(
        x.address, ones.ctypes.data, 320, stream
    )
    twice(x, y)
    assert (y.values == 2).all() and made.stream != stream.value


def test_arguments_with_capsules(fake: FakeDriver) -> None:
    kernels = Kernels()
    for new in (True, False):
        x, y = Capsules(fake, np.arange(40.0), new=new), Capsules(fake, np.zeros(40), new=new)
        kernels.twice(x, y)
        np.testing.assert_array_equal(y.values, 2 * np.arange(40))
        assert set(x.streams) == {lend.zeros(1, f64, "cuda:0").memory.device.stream}
        kernels.sums((x, y, lend.asarray(np.ones(40), "cuda:0")), z := lend.zeros(40, f64, "cuda:0"))
        np.testing.assert_array_equal(z, 3 * np.arange(40) + 1)
    held = len(dlpack._exported)
    del x, y
    gc.collect()
    lend.zeros(1, f64, "cuda:0").numpy()
    kernels.twice.on("cuda:0")(np.ones(3), np.ones(3))
    assert held and not dlpack._exported, "what was lent is given back once the device is done"
    with pytest.raises(lend.BorrowError, match="read-only"):
        kernels.twice(Capsules(fake, np.zeros(4)), Capsules(fake, np.zeros(4), read_only=True))
    with pytest.raises(lend.ArgumentError, match="lives on cuda:1"):
        kernels.twice(Capsules(fake, np.zeros(4)), Capsules(fake, np.zeros(4), device=1))


def test_results_hold_what_others_lent(fake: FakeDriver) -> None:
    x = Capsules(fake, np.arange(12.0).reshape(3, 4))
    array = lend.from_dlpack(x)
    assert (array.device, array.shape, array.strides) == ("cuda:0", (3, 4), (32, 8))
    view = array[1:, ::2]
    del x, array
    gc.collect()
    np.testing.assert_array_equal(view, np.arange(12.0).reshape(3, 4)[1:, ::2])
    assert dlpack._exported
    del view
    gc.collect()
    driver_devices.device("cuda:0").trim()
    assert not dlpack._exported


def test_there_and_back(fake: FakeDriver) -> None:
    x = lend.asarray(np.arange(12.0).reshape(3, 4), "cuda:1")
    assert x.__dlpack_device__() == (2, 1)
    for version in (None, (0, 8), (1, 0), (2, 3)):
        taken = dlpack.unwrap(x[1:, ::-1].__dlpack__(max_version=version, stream=1))
        assert taken.shape == (2, 4) and taken.strides == (32, -8) and not taken.read_only
        taken.release()
    capsule = x.__dlpack__()
    dlpack.unwrap(capsule).release()
    with pytest.raises(BufferError, match="taken"):
        dlpack.unwrap(capsule)
    x.__dlpack__()  # nobody takes it
    assert not dlpack._exported
    with pytest.raises(BufferError, match="stream 0"):
        x.__dlpack__(stream=0)
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))
    copied = dlpack.unwrap(x.__dlpack__(copy=True, max_version=(1, 0)))
    assert copied.address != dlpack.unwrap(x.__dlpack__()).address
    host = np.from_dlpack(x, device="cpu")
    np.testing.assert_array_equal(host, np.arange(12.0).reshape(3, 4))
    dlpack._exported.clear()


def test_elements(fake: FakeDriver) -> None:
    for type in (*"bhilBHILefdFD", "?"):
        x = lend.zeros(3, np.dtype(type), "cuda:0")
        taken = dlpack.unwrap(x.__dlpack__())
        assert taken.dtype == np.dtype(type)
        taken.release()
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    taken = dlpack.unwrap(lend.zeros(3, bfloat16, "cuda:0").__dlpack__())
    assert taken.dtype == np.dtype(bfloat16)
    taken.release()
    with pytest.raises(BufferError, match="no elements like"):
        lend.zeros(3, np.dtype("i4,f8"), "cuda:0").__dlpack__()


def test_the_interface_of_arrays(fake: FakeDriver) -> None:
    twice = Kernels().twice
    x, y = lend.asarray(np.arange(40.0), "cuda:0"), lend.zeros(40, f64, "cuda:0")
    twice(x, y)
    there = y.__cuda_array_interface__
    values = np.ctypeslib.as_array((ctypes.c_double * 40).from_address(there["data"][0]))
    np.testing.assert_array_equal(values, 2 * np.arange(40))  # what was begun is done
    assert (there["version"], there["shape"], there["typestr"], there["strides"]) == (3, (40,), "<f8", None)
    assert there["data"][1] is False and there["stream"] == y.memory.device.stream
    assert x[::2].__cuda_array_interface__["strides"] == (16,)
    twice(x, y)
    np.testing.assert_array_equal(values, 2 * np.arange(40))  # and what is begun since, too
    values[...] = 7
    np.testing.assert_array_equal(y, 7)


def test_indices_that_others_may_change_are_tested_in_each_call(fake: FakeDriver) -> None:
    gathered = Kernels().gathered
    x, y = lend.asarray(np.arange(5.0), "cuda:0"), lend.zeros(3, f64, "cuda:0")
    where = lend.asarray(np.array([4, 0, 2]), "cuda:0")
    gathered(x, where, y)
    there = where.__cuda_array_interface__
    values = np.ctypeslib.as_array((ctypes.c_int64 * 3).from_address(there["data"][0]))
    gathered(x, where, y)
    values[1] = 9
    with pytest.raises(lend.BoundsError):
        gathered(x, where, y)


def test_what_others_may_have_written_comes_back(fake: FakeDriver) -> None:
    x = np.zeros(40)
    with lend.to("cuda:0", x) as there:
        interface = there.__cuda_array_interface__
        np.ctypeslib.as_array((ctypes.c_double * 40).from_address(interface["data"][0]))[3] = 5
    assert x[3] == 5 and x.sum() == 5


def test_lent_arrays_that_are_read_only(fake: FakeDriver) -> None:
    x = np.zeros(40)
    x.flags.writeable = False
    with lend.to("cuda:0", x) as there:
        assert there.__cuda_array_interface__["data"][1] is True
        with pytest.raises(BufferError, match="read-only"):
            there.__dlpack__()
        assert dlpack.unwrap(there.__dlpack__(max_version=(1, 0))).read_only
    dlpack._exported.clear()


def test_from_dlpack_to_another_place(fake: FakeDriver) -> None:
    x = Capsules(fake, np.arange(5.0))
    for device, kind in (("cuda:0", lend.Array), ("cuda:1", lend.Array), ("cpu", np.ndarray), (None, lend.Array)):
        found = lend.from_dlpack(x, device=device)
        assert type(found) is kind
        np.testing.assert_array_equal(found, np.arange(5.0))
    own = lend.from_dlpack(x, copy=True)
    x.values[0] = 9
    np.testing.assert_array_equal(own, np.arange(5.0))
    for device in ("cpu", "cuda:1"):
        with pytest.raises(BufferError, match="can only be copied"):
            lend.from_dlpack(x, device=device, copy=False)
    host = np.arange(3.0)
    assert np.shares_memory(lend.from_dlpack(host), host) and not np.shares_memory(lend.from_dlpack(host, copy=True), host)
    there = lend.from_dlpack(host, device="cuda:0")
    np.testing.assert_array_equal(there, host)
    assert lend.from_dlpack(there) is there


@pytest.mark.parametrize("name", ["torch", "cupy"])
def test_other_libraries_on_the_host(name: str) -> None:
    other = pytest.importorskip(name)
    x = other.arange(5, dtype=other.float64)
    try:
        found = lend.from_dlpack(x)
    except BufferError:
        pytest.skip("there is no such device")
    np.testing.assert_array_equal(np.asarray(found), np.arange(5.0))
