"""Calls that compiled code binds: from the third of a kind on, and as Python binds them."""

from __future__ import annotations

import gc
import importlib.util
import subprocess
import sys
import threading
from contextlib import contextmanager

import bytes_kernels as known
import device_kernels as kernels
import numpy as np
import pytest

import lend
from lend.dims import M, N
from lend.driver.kernel import Kernel
from lend.runtime import mover, vectorcall
from lend.targets.cpu.python_abi import python_abi

native = pytest.mark.skipif(python_abi() is None or not vectorcall.enabled(Kernel), reason="this Python has no native path")


@pytest.fixture(autouse=True)
def fresh_kernels(monkeypatch):
    """Kernels that no other test has called."""
    for name, module in (("kernels", kernels), ("known", known)):
        made = importlib.util.module_from_spec(module.__spec__)
        module.__spec__.loader.exec_module(made)
        monkeypatch.setitem(globals(), name, made)


@contextmanager
def bound_by_python(kernel, calls):
    """So many calls of the kernel are bound by Python inside the block."""
    bind, count = kernel._binder.bind, [0]

    def counted(*arguments):
        count[0] += 1
        return bind(*arguments)

    kernel._binder.bind = counted
    try:
        yield
    finally:
        del kernel._binder.bind
    assert count[0] == calls


def resident(*arrays):
    return [lend.asarray(array, DEVICE) for array in arrays]


DEVICE = ""


@pytest.fixture(autouse=True)
def _device(device):
    global DEVICE
    DEVICE = device


@native
def test_arrays_that_live_there(device):
    for n in (100, 7, 0, 1):
        x, y, z = resident(np.full(n, 3, np.float32), np.zeros(n, np.float32), np.ones(2 * n + 2, np.float32))
        for _ in range(3):
            kernels.saxpy(1.0, x, y)
        with bound_by_python(kernels.saxpy, 0):
            for _ in range(10):
                kernels.saxpy(2.0, x, y)
                kernels.saxpy(y=y, a=1, x=z[:n])
        with bound_by_python(kernels.saxpy, 2):  # sizes that differ, and what is no array
            for wrong in (z[: n + 1], None):
                with pytest.raises(lend.LendError):
                    kernels.saxpy(1.0, x, wrong)
        with bound_by_python(kernels.saxpy, int(n > 1)):  # another layout
            kernels.saxpy(1.0, x, z[: 2 * n : 2])
        expected = np.ones(2 * n + 2)
        expected[: 2 * n : 2] = 4
        assert (y.numpy() == 3 * 3 + 10 * 6 + 10).all() and (z.numpy() == expected).all()


@native
def test_arrays_of_the_host(device):
    run = known.from_to.on(device)
    y, expected = np.zeros(50, np.int32), np.zeros(50, np.int32)
    for _ in range(3):
        run(y, 0, 50)
    expected += 3
    with bound_by_python(known.from_to, 0):
        for size, low, high in (
            (50, 0, 50),
            (50, 3, 9),
            (50, 3, 3),
            (50, 49, 50),
            (20, 0, 20),
            (20, 5, 6),
            (0, 0, 0),
            (50, 3, 9),
        ):
            run(y[:size], low, high)
            expected[low:high] += 1
    np.testing.assert_array_equal(y, expected)
    with bound_by_python(known.from_to, 2):
        with pytest.raises(lend.ContractError):
            run(y, 9, 3)
        run(y[::-2], 0, 3)
    expected[::-2][:3] += 1
    np.testing.assert_array_equal(y, expected)


@native
def test_columns_and_boxes(device):
    for order in "CF":
        u = np.asarray(np.random.default_rng(1).random((9, 12)), order=order)
        v, expected = np.zeros((9, 12), order=order), np.zeros((9, 12), order=order)
        for calls in range(6):
            with bound_by_python(kernels.interior, int(calls < 2)):
                kernels.interior.on(device)(u, v)
            v[0] = calls
        kernels.interior.on("cpu")(u, expected)
        expected[0] = 5
        np.testing.assert_array_equal(v, expected)


@native
def test_numbers_come_back(device):
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal(5000).astype(np.float32), rng.standard_normal(5000)
    expected = kernels.sums.on("cpu")(x, y)
    dx, dy = resident(x, y)
    for calls in range(6):
        with bound_by_python(kernels.sums, 2 * (calls < 2)):
            assert kernels.sums.on(device)(x, y) == expected
            assert kernels.sums(dx, dy) == expected
    with bound_by_python(kernels.halves, 4):  # arrays do not, by this way
        for _ in range(4):
            kernels.halves.on(device)(y)


@native
def test_faults_of_both_kinds(device):
    x, y = np.arange(64, dtype=np.float32), np.full(64, 7, np.float32)
    dx, dy = resident(x, y)
    for _ in range(3):
        kernels.shifted.on(device)(x, y, 0)
        kernels.shifted(dx, dy, 0)
    for by in (40, -1, 1 << 40):
        with pytest.raises(lend.BoundsError) as here:
            kernels.shifted.on("cpu")(x, np.empty_like(y), by)
        with bound_by_python(kernels.shifted, 0):
            y[:] = 7
            with pytest.raises(lend.BoundsError) as there:
                kernels.shifted.on(device)(x, y, by)
            assert str(there.value) == str(here.value) and (y == 7).all()
            kernels.shifted(dx, dy, by)
            kernels.shifted(dx, dy, 1)
        with pytest.raises(lend.BoundsError) as there:
            dy.numpy()
        assert str(there.value) == str(here.value)


@native
def test_a_fault_comes_before_a_number(device):
    x, y = resident(np.arange(64, dtype=np.float32), np.zeros(64, np.float32))
    for _ in range(3):
        assert kernels.smallest(x) == (0, 0)
        kernels.shifted(x, y, 0)
    with bound_by_python(kernels.smallest, 0):
        kernels.shifted(x, y, 1)
        with pytest.raises(lend.BoundsError, match="shifted"):
            kernels.smallest(x)
        assert kernels.smallest(x) == (0, 0)


@native
def test_the_setting_leads_there_too(device):
    x, y, before = np.ones(10, np.float32), np.zeros(10, np.float32), lend.config.device
    try:
        for name in (device, "cpu", device):
            lend.set_device(name)
            for _ in range(4):
                kernels.saxpy(1.0, x, y)
            with bound_by_python(kernels.saxpy, 0), lend_traffic(device) as copied:
                kernels.saxpy(1.0, x, y)
            assert copied == ([80, 40] if name == device else [0, 0])
    finally:
        lend.config.device = before
    assert (y == 15).all()


@contextmanager
def lend_traffic(device):
    """The bytes that were copied there and back inside the block, once it is over."""
    from lend.driver.devices import device as device_of

    there, copied = device_of(device), []
    before = there.bytes_in, there.bytes_out
    yield copied
    copied += [there.bytes_in - before[0], there.bytes_out - before[1]]


@native
def test_what_was_dropped_is_freed_on_the_way(device):
    from lend.driver.devices import device as device_of

    there = device_of(device)
    x, y = resident(np.ones(1000, np.float32), np.zeros(1000, np.float32))
    for _ in range(3):
        kernels.saxpy(1.0, x, y)
    dropped = resident(np.zeros(1000))
    del dropped
    gc.collect()
    assert there.released
    kernels.saxpy(1.0, x, y)
    assert not there.released
    with bound_by_python(kernels.saxpy, 0):
        kernels.saxpy(1.0, x, y)


@native
def test_threads_take_turns(device):
    x, ys = lend.asarray(np.ones(100, np.float32), device), resident(*(np.zeros(100, np.float32) for _ in range(4)))
    host = [np.zeros(100, np.float32) for _ in range(4)]
    one = np.ones(100, np.float32)

    def work(k):
        for _ in range(300):
            kernels.saxpy(1.0, x, ys[k])
            kernels.saxpy.on(device)(1.0, one, host[k])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((y.numpy() == 300).all() for y in ys) and all((y == 300).all() for y in host)


def test_writes_by_compiled_code_are_seen(device):
    """An index array that compiled code lends for writing is tested anew."""
    where, x, y = lend.asarray(np.zeros(3, np.int64), device), lend.asarray(np.arange(5.0), device), None
    y = lend.asarray(np.zeros(3), device)
    for _ in range(3):
        known.first(where, 0)
    kernels.gather(x, where, y)
    known.first(where, 3)
    kernels.gather(x, where, y)
    np.testing.assert_array_equal(y.numpy(), [0, 1, 2])
    short = lend.asarray(np.arange(2.0), device)
    known.first(where, 0)
    with pytest.raises(lend.BoundsError, match="where"):
        kernels.gather(short, where, y)


def test_devices_have_one_object_for_each_name(device):
    assert kernels.saxpy.on(device) is kernels.saxpy.on(device)
    if device == "opencl:0":
        assert kernels.saxpy.on("opencl") is kernels.saxpy.on(device)


def test_scalars_may_change(device):
    x, y = lend.asarray(np.ones(100, np.float32), device), lend.asarray(np.zeros(100, np.float32), device)
    for factor in (1.0, 2, np.float32(0.5), -1.0):
        kernels.saxpy(factor, x, y)
    for wrong in ("1", None, 1j):
        with pytest.raises(lend.ArgumentError):
            kernels.saxpy(wrong, x, y)
    kernels.saxpy(a=1.0, x=x, y=y)
    assert (y.numpy() == 3.5).all()
    with pytest.raises(lend.ArgumentError):
        kernels.saxpy(1.0, x)


@native
def test_what_moves_is_found_out_once_for_what_decides_it(device, monkeypatch):
    found, transfer = [], mover.Mover._transfer

    def counted(self, array, *rest):
        found.append(array.leaf)
        return transfer(self, array, *rest)

    monkeypatch.setattr(mover.Mover, "_transfer", counted)
    saxpy, first = kernels.saxpy.on(device), known.first.on(device)
    for n, arrays in ((100, 2), (7, 4)):
        x, y = np.ones(n, np.float32), np.zeros(n, np.float32)
        for number in range(20):
            saxpy(number / 3, x, y)
        assert len(found) == arrays
    found.clear()
    for count in (3, 3, 3, 3, 3, 5, 5, 4):
        y = np.full(9, -1)
        first(y, count)
        assert (y == [*range(count), *[-1] * (9 - count)]).all()
    assert len(found) == 3  # a scalar decides the box


def test_arrays_may_change(device):
    arrays = [lend.asarray(np.full(10, k, np.float32), device) for k in range(4)]
    for k in (0, 1, 1, 2, 0, 0):
        kernels.saxpy(1.0, arrays[k], arrays[3])
    assert (arrays[3].numpy() == 3 + 0 + 1 + 1 + 2).all()
    host = np.zeros(10, np.float32)
    kernels.saxpy(1.0, arrays[1], host)
    kernels.saxpy(1.0, arrays[1], arrays[3])
    assert (host == 1).all() and (arrays[3].numpy() == 8).all()


def test_what_is_captured_may_change(device, monkeypatch):
    x = lend.asarray(np.ones(10), device)
    kernels.scaled(x)
    kernels.scaled(x)
    monkeypatch.setattr(kernels, "FACTOR", 10.0)
    kernels.scaled(x)
    kernels.scaled(x)
    assert (x.numpy() == 400).all()


def test_faults_on_the_way(device):
    x, y = (lend.asarray(np.arange(50, dtype=np.float32), device) for _ in range(2))
    for by in (0, 0, 7, 0, 9):
        kernels.shifted(x, y, by)
    with pytest.raises(lend.BoundsError) as caught:
        y.numpy()
    assert caught.value.index == 50 and caught.value.thread == (43,)
    kernels.shifted(x, y, 0)
    kernels.shifted(x, y, 0)
    np.testing.assert_array_equal(y.numpy(), x.numpy())


def test_nothing_is_kept_alive(device):
    from lend.driver.devices import device as device_of

    there = device_of(device)
    x, y = (lend.asarray(np.zeros(1 << 16, np.float32), device) for _ in range(2))
    kernels.saxpy(1.0, x, y)
    kernels.saxpy(1.0, x, y)
    y.numpy()
    before = there.live - sum(there._sizes[address] for address in there.released)
    del x, y
    gc.collect()
    after = there.live - sum(there._sizes[address] for address in there.released)
    assert after <= before - 2 * (1 << 18)


def test_loans_remember_writes(device):
    x, y = np.ones(10, np.float32), np.zeros(10, np.float32)
    for _ in range(2):
        with lend.to(device, x, y) as (dx, dy):
            for _ in range(5):
                kernels.saxpy(1.0, dx, dy)
    assert (y == 10).all()


def test_index_arrays_are_looked_at_once(device, traffic):
    x, y = lend.asarray(np.arange(5.0), device), lend.asarray(np.zeros(3), device)
    where = lend.asarray(np.array([4, 0, 2]), device)
    kernels.gather(x, where, y)
    kernels.gather(x, where, y)
    assert traffic()[1] == 24, "the three indices, once"
    where.copy_from(np.array([4, 5, 2]))
    with pytest.raises(lend.BoundsError, match="where"):
        kernels.gather(x, where, y)
    np.testing.assert_array_equal(y.numpy(), [4, 0, 2])


@native
def test_each_setting_of_elements_has_code_of_its_own(device):
    @lend.kernel
    def added(a: lend.f64, x: lend.Ref[lend.f64, N, M], y: lend.Mut[lend.f64, N, M]):
        for i, j in lend.grid(N, M):
            y[i, j] += a * x[i, j]

    x, y = resident(np.ones((30, 40)), np.zeros((30, 40)))
    a, b = np.ones((30, 40)), np.zeros((30, 40))
    before = lend.config.elements
    try:
        for elements, again in ((1, 2), (4, 2), (1, 0)):
            lend.config.elements = elements
            kernels.add.on(device)(np.ones((2, 2)), np.ones((2, 2)), np.zeros((2, 2)))  # puts the setting in force
            with bound_by_python(added, 2 * again):
                for _ in range(again + 2):
                    added(1.0, x, y)
                    added.on(device)(1.0, a, b)
    finally:
        lend.config.elements = before
    assert (y.numpy() == 10).all() and (b == 10).all()


@native
def test_arrays_that_are_lent(device):
    """Calls that write what is known already, and calls that write anything once all of it may be written."""
    u, v = np.arange(300.0).reshape(20, 15), np.ones((20, 15))
    expected = v.copy()
    with lend.to(device, u, v) as (du, dv):
        for _ in range(4):
            kernels.interior(du, dv)
        with bound_by_python(kernels.interior, 0):
            for _ in range(10):
                kernels.interior(du, dv)
        with bound_by_python(kernels.interior, 1):  # a part of which nothing is known yet
            kernels.interior(du[:10], dv[:10])
    kernels.interior(u, expected)
    np.testing.assert_array_equal(v, expected)


@native
def test_two_kernels_that_write_one_lent_array(device, traffic):
    x, y = np.ones(100), np.zeros(100)
    with lend.to(device, x, y) as (dx, dy):
        for _ in range(4):
            kernels.scaled(dy[:50])
            kernels.twice(dx[:50], dy[50:])
            kernels.twice(dx[50:], dy[:50])
    assert traffic() == (1600, 800)
    np.testing.assert_array_equal(y, 2)


def test_a_child_of_fork_is_refused(device):
    """Compiled code, too, leaves the device alone there: its threads are the parent's."""
    program = (
        "import os, sys, numpy as np, lend\n"
        "import device_kernels as kernels\n"
        "x, y = np.ones(100, np.float32), np.ones(100, np.float32)\n"
        f"dx, dy = lend.asarray(x, {device!r}), lend.asarray(y, {device!r})\n"
        "def both():\n"
        "    yield lambda: kernels.saxpy(1.0, dx, dy)\n"
        f"    yield lambda: kernels.saxpy.on({device!r})(1.0, x, y)\n"
        "for _ in range(4):\n"
        "    for call in both(): call()\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    refused = 0\n"
        "    for call in both():\n"
        "        try: call()\n"
        "        except lend.DeviceError as error: refused += 'forked' in str(error)\n"
        "    os._exit(refused)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        "for call in both(): call()\n"
        "print(y[0], dy.numpy()[0])\n"
    )
    environment = {"LEND_CACHE": "0", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True, timeout=250
    )
    assert done.stdout.split() == ["2", "6.0", "6.0"]
