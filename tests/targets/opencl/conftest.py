"""What these tests share: an OpenCL device, or the reason why they are skipped."""

from __future__ import annotations

import pytest

import lend


def _device() -> str:
    found = [device.name for device in lend.devices() if device.name.startswith("opencl")]
    if not found:
        reasons = "; ".join(f"{kind}: {why}" for kind, why in lend.devices().missing if kind.startswith("opencl"))
        pytest.skip(reasons)
    return found[0]


@pytest.fixture(scope="session")
def device() -> str:
    """The name of a device."""
    return _device()


@pytest.fixture
def traffic(device):
    """What has been copied since the test began: `traffic()` gives bytes to the device, and from it."""
    from lend.driver.devices import device as device_of

    there = device_of(device)
    before = there.bytes_in, there.bytes_out
    return lambda: (there.bytes_in - before[0], there.bytes_out - before[1])
