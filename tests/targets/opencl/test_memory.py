"""Memory of a device: blocks that are used again, who holds what, and what happens when there is none."""

from __future__ import annotations

import gc

import device_kernels as kernels
import numpy as np
import pytest

import lend
from lend.driver.devices import device as device_of


@pytest.fixture
def there(device):
    """The device, with nothing kept."""
    gc.collect()
    kernels.twice.on(device)(np.ones(3), np.ones(3))
    made = device_of(device)
    made.trim()
    return made


def test_the_report(device, there):
    before = next(entry for entry in lend.memory() if entry.device == device)
    arrays = [lend.asarray(np.zeros(1000), device) for _ in range(3)]  # here
    after = next(entry for entry in lend.memory() if entry.device == device)
    assert after.live - before.live == 3 * 8192 and after.lost - before.lost == 3 * 192
    mine = [holder for holder in after.holders if holder.place.startswith(__file__)]
    assert [(holder.bytes, holder.arrays) for holder in mine] == [(24000, 3)]
    line = mine[0].place.removeprefix(f"{__file__}:")
    assert "# here" in open(__file__).read().splitlines()[int(line) - 1]
    assert "23.4 KiB  3 arrays" in str(lend.memory())
    del arrays


def test_blocks_are_used_again(device, there):
    x, y = np.ones(10_000), np.empty(10_000)
    kernels.twice.on(device)(x, y)
    peak, cached = there.peak, there.cached
    for _ in range(20):
        kernels.twice.on(device)(x, y)
    assert (there.peak, there.cached) == (peak, cached)
    there.trim()
    assert there.cached == 0


def test_when_there_is_none_the_cache_is_freed_first(device, there, monkeypatch):
    lend.asarray(np.zeros(100_000), device)
    kernels.twice.on(device)(np.ones(3), np.ones(3))
    assert there.cached
    real, refused = there._new, []

    def refuse_while_cached(size):
        if there.cached:
            refused.append(size)
            return None
        return real(size)

    monkeypatch.setattr(there, "_new", refuse_while_cached)
    array = lend.asarray(np.arange(200_000.0), device)
    assert refused and (array.numpy() == np.arange(200_000.0)).all()


def test_an_error_with_the_sizes(device, there, monkeypatch):
    monkeypatch.setattr(there, "_new", lambda size: None)
    live = there.live
    with pytest.raises(lend.DeviceMemoryError, match=f"{device} has no memory for 8000000 bytes: {live} are in use"):
        lend.asarray(np.zeros(1_000_000), device)
    x, y = np.ones(1_000_000), np.zeros(1_000_000)
    with pytest.raises(lend.DeviceMemoryError):
        kernels.twice.on(device)(x, y)
    assert there.live == live and (y == 0).all()
    with pytest.raises(lend.DeviceMemoryError):
        kernels.halves.on(device)(np.ones(300))
    monkeypatch.undo()
    kernels.twice.on(device)(x, y)
    assert there.live <= live and (y == 2).all()


def test_a_temporary_for_which_there_is_none(device, there, monkeypatch):
    real = there.allocate

    def only_small(bytes):
        if bytes > 100_000:
            raise lend.DeviceMemoryError("no")
        return real(bytes)

    x = lend.asarray(np.ones(10_000), device)
    kernels.halves(x)
    monkeypatch.setattr(there, "allocate", lambda bytes: only_small(bytes + 50_000) if bytes == 80_000 else only_small(bytes))
    live = there.live
    with pytest.raises(lend.DeviceMemoryError, match="no memory for a temporary array of 80000 bytes"):
        kernels.halves(x)
    monkeypatch.undo()
    gc.collect()
    kernels.twice.on(device)(np.ones(3), np.ones(3))
    assert there.live <= live
