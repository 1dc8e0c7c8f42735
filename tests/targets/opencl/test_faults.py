"""What fails in a thread of a device is reported as on the processor, and the device stays as good as new."""

from __future__ import annotations

import device_kernels as kernels
import numpy as np
import pytest

import lend


def test_the_smallest_iteration_is_reported(device):
    x, y = np.arange(5000, dtype=np.float32), np.full(5000, 7, np.float32)
    for by in (1, 4000, -1, 1 << 40):
        with pytest.raises(lend.BoundsError) as there:
            kernels.shifted.on(device)(x, y, by)
        with pytest.raises(lend.BoundsError) as here:
            kernels.shifted.on("cpu")(x, np.empty_like(y), by)
        assert str(there.value) == str(here.value)
        assert there.value.thread == here.value.thread == (max(5000 - by, 0) if by > 0 else 0,)
        assert (y == 7).all(), "nothing is copied back after a fault"


def test_indices_of_several_dimensions(device):
    x, y = np.ones((30, 40), np.int32), np.ones((30, 40), np.int32)
    y[20, 3] = y[20, 2] = y[25, 0] = 0
    with pytest.raises(lend.ArithmeticFault) as caught:
        kernels.quotients.on(device)(x, y, np.empty_like(x))
    assert caught.value.thread == (20, 2)


def test_the_next_launches_work(device):
    x, y = np.arange(100, dtype=np.float32), np.empty(100, np.float32)
    run = kernels.shifted.on(device)
    for _ in range(50):
        with pytest.raises(lend.BoundsError):
            run(x, y, 60)
        run(x, y, 0)
        np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("stays", [False, True])
def test_the_next_thousand_launches_work(device, stays):
    """A fault says line, thread and index; everything after it is as if it had not been."""
    x, y = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    dx, dy = (lend.asarray(x, device), lend.asarray(y, device)) if stays else (x, y)
    run = kernels.shifted.on(device)
    line = next(number for number, text in enumerate(open(kernels.__file__), 1) if "y[i] = x[i + by]" in text)
    for calls in (0, 1000):  # bound by Python, and by compiled code
        for _ in range(calls):
            run(dx, dy, 0)
        with pytest.raises(lend.BoundsError) as caught:
            run(dx, dy, 60)
            dy.numpy()
        error = caught.value
        assert (error.kernel, error.line, error.thread, error.index, error.size) == ("shifted", line, (40,), 100, 100)
        for number in range(1000):
            dx[0:1].copy_from(np.float32([number])) if stays else x.__setitem__(0, number)
            run(dx, dy, 0)
            if not stays or number % 100 == 0:
                np.testing.assert_array_equal(dy.numpy() if stays else y, dx.numpy() if stays else x)


def test_a_fault_surfaces_when_somebody_waits(device):
    x, y = (lend.asarray(np.arange(64, dtype=np.float32), device) for _ in range(2))
    kernels.shifted(x, y, 0)
    kernels.shifted(x, y, 1)
    kernels.shifted(x, y, 40)
    kernels.saxpy(1.0, x, y)
    with pytest.raises(lend.BoundsError) as caught:
        y.numpy()
    assert caught.value.kernel == "shifted"
    assert caught.value.thread == (63,), "of several, the first that was begun"
    y.numpy()
    kernels.shifted(x, y, 0)
    np.testing.assert_array_equal(y.numpy(), x.numpy())


def test_a_later_kernel_reports_what_an_earlier_one_did(device):
    x, y = (lend.asarray(np.arange(64, dtype=np.float32), device) for _ in range(2))
    kernels.shifted(x, y, 40)
    with pytest.raises(lend.BoundsError) as caught:
        kernels.smallest(x)
    assert caught.value.kernel == "shifted"
    assert kernels.smallest(x) == (0.0, 0)


def test_nothing_comes_back_from_a_loan_after_a_fault(device):
    x, y = np.arange(64, dtype=np.float32), np.full(64, 7, np.float32)
    with pytest.raises(lend.BoundsError), lend.to(device, x, y) as (dx, dy):
        kernels.shifted(dx, dy, 40)
    assert (y == 7).all()
    y[0] = 1
