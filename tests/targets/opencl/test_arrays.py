"""Arrays that live on a device."""

from __future__ import annotations

import gc

import device_kernels as kernels
import numpy as np
import pytest

import lend


def test_there_and_back(device):
    for x in (np.arange(6.0).reshape(2, 3), np.zeros((0, 4), np.int8), np.float32(3), np.asfortranarray(np.eye(3))):
        there = lend.asarray(x, device)
        assert (there.shape, there.dtype, there.device) == (np.shape(x), x.dtype, device)
        np.testing.assert_array_equal(there.numpy(), x)
        np.testing.assert_array_equal(np.asarray(there), x)


def test_views_share_memory(device):
    x = np.arange(24.0).reshape(4, 6)
    there = lend.asarray(x, device)
    np.testing.assert_array_equal(there[1:, ::-2].numpy(), x[1:, ::-2])
    kernels.twice(there[0], there[2])
    x[2] = 2 * x[0]
    np.testing.assert_array_equal(there.numpy(), x)
    assert there[3, 5].numpy() == 23
    with pytest.raises(lend.ArgumentError):
        there[[0, 1]]
    with pytest.raises(lend.BorrowError):
        kernels.twice(there[0, 1:], there[0, :-1])


def test_results_stay_on_the_device(device):
    x = lend.asarray(np.arange(5.0), device)
    y, z, again = kernels.halves(x)
    assert all(isinstance(array, lend.Array) for array in (y, z, again))
    del x
    gc.collect()
    np.testing.assert_array_equal(y.numpy(), np.arange(5) / 2)
    np.testing.assert_array_equal(again.numpy(), np.arange(5))
    np.testing.assert_array_equal(z.numpy(), 0)


def test_host_arrays_beside_them(device):
    x, y = lend.asarray(np.ones(8, np.float32), device), np.ones(8, np.float32)
    kernels.saxpy(2.0, x, y)
    np.testing.assert_array_equal(y, 3)


def test_a_loan(device, traffic):
    x, y = np.ones(1000, np.float32), np.ones(1000, np.float32)
    with lend.to(device, x, y) as (dx, dy):
        for array in (x, y):
            with pytest.raises(ValueError):
                array[0] = 1
        for _ in range(10):
            kernels.saxpy(1.0, dx, dy)
    assert (y == 11).all() and x.flags.writeable and y.flags.writeable
    assert traffic() == (8000, 4000), "x is copied there, y there and back"


def test_a_loan_after_a_fault(device, traffic):
    """What a kernel that fails was to overwrite is what it was."""
    x, y = np.ones(100, np.float32), np.arange(100, dtype=np.float32)
    with pytest.raises(lend.BoundsError), lend.to(device, x, y) as (dx, dy):
        with pytest.raises(lend.BoundsError):
            kernels.shifted(dx, dy, 1)
        np.testing.assert_array_equal(dy, np.arange(100))
        kernels.shifted(dx, dy, -1)
    np.testing.assert_array_equal(y, np.arange(100))
    assert y.flags.writeable
    with pytest.raises(lend.BoundsError), lend.to(device, x, y) as (dx, dy):
        kernels.saxpy(1.0, dy, dx)
        kernels.shifted(dx, dy, 1)
    np.testing.assert_array_equal(x, 1)


def test_a_loan_of_a_read_only_array(device):
    x = np.ones(10, np.float32)
    x.flags.writeable = False
    with lend.to(device, x) as dx, pytest.raises(lend.BorrowError):
        kernels.saxpy(1.0, np.ones(10, np.float32), dx)
    assert not x.flags.writeable


def test_memory_is_given_back(device):
    from lend.driver.devices import device as device_of

    there = device_of(device)
    gc.collect()
    kernels.twice.on(device)(np.ones(3), np.ones(3))
    before = there.live
    arrays = [lend.asarray(np.zeros(1 << 16), device) for _ in range(4)]
    assert there.live >= before + 4 * (1 << 19)
    del arrays
    gc.collect()
    kernels.twice.on(device)(np.ones(3), np.ones(3))
    assert there.live <= before
    there.trim()
    assert there.cached == 0


def test_the_processor_takes_none(device):
    x = lend.asarray(np.ones(3, np.float32), device)
    before = lend.config.device
    try:
        lend.set_device(device)
        for scope in (None, lend.profile()):
            with scope or pytest.MonkeyPatch.context():
                with pytest.raises(lend.ArgumentError, match=f"an argument lives on {device}"):
                    kernels.saxpy.on("cpu")(1.0, x, x)
    finally:
        lend.config.device = before
    with pytest.raises(lend.ArgumentError):
        kernels.saxpy.py(1.0, x, x)
    with pytest.raises(lend.BorrowError):
        kernels.saxpy(1.0, x, x)


def test_several_threads_at_once(device):
    import threading

    x = lend.asarray(np.ones(5000, np.float32), device)
    results: list[bool] = []

    def work():
        mine, host = lend.asarray(np.zeros(5000, np.float32), device), np.zeros(5000, np.float32)
        for _ in range(20):
            kernels.saxpy(1.0, x, mine)
            kernels.saxpy.on(device)(1.0, np.ones(5000, np.float32), host)
        results.append(bool((mine.numpy() == 20).all() and (host == 20).all()))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert results == [True] * 4


def test_the_end_of_a_process_with_arrays_alive(device):
    import subprocess
    import sys

    program = (
        "import numpy as np, lend\nimport device_kernels as kernels\n"
        f"x, y = (lend.asarray(np.ones(1000, np.float32), {device!r}) for _ in range(2))\n"
        "for _ in range(100): kernels.saxpy(1.0, x, y)\n"
        "print('ok')"
    )
    environment = {"PYTHONPATH": ":".join(sys.path), "LEND_CACHE": "0"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


def test_new_arrays(device):
    for shape, sizes in ((3, (3,)), ((2, 3), (2, 3)), ((0, 4), (0, 4)), ((), ()), ([np.int64(2)], (2,))):
        for dtype in (None, lend.f32, lend.bool_, lend.complex64, np.int16, "u4", kernels.Particle):
            found, known = lend.zeros(shape, dtype, device), lend.empty(shape, dtype, device=device)
            expected = np.zeros(sizes, "f8" if dtype is None else lend.zeros(0, dtype, "cpu").dtype)
            assert (found.device, found.shape, known.shape, known.dtype) == (device, sizes, sizes, expected.dtype)
            assert found.numpy().tobytes() == expected.tobytes() and found.dtype == expected.dtype
    x = lend.zeros(5, lend.f32, device)
    kernels.saxpy(1.0, lend.asarray(np.ones(5, np.float32), device), x)
    np.testing.assert_array_equal(x, 1)


def test_new_arrays_on_the_processor():
    assert type(lend.zeros((2, 3), lend.f32, "cpu")) is np.ndarray
    assert lend.empty(4).shape == (4,)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lend.zeros(lend.f64, 3), "element type first inside kernels only"),
        (lambda: lend.zeros(lend.f64, 3, 4), "word of the kernel language"),
        (lambda: lend.empty(kernels.Particle, 3), "element type first inside kernels only"),
        (lambda: lend.zeros(2.5), "whole numbers"),
        (lambda: lend.zeros((2, -1)), "cannot make"),
        (lambda: lend.zeros(2, object), "Python objects"),
        (lambda: lend.zeros(2, "nonsense"), "an element type"),
    ],
)
def test_new_arrays_that_are_refused(make, message):
    with pytest.raises(lend.LendError, match=message):
        make()


def test_objects_stay_on_the_host(device):
    with pytest.raises(lend.ArgumentError):
        lend.asarray(np.array([None, 1]), device)
