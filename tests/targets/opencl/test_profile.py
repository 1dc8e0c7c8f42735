"""What calls cost, noted."""

from __future__ import annotations

import json

import device_kernels as kernels
import numpy as np
import pytest

import lend


def test_calls_on_both(device, tmp_path):
    x, y = np.ones(1000, np.float32), np.ones(1000, np.float32)
    dx = lend.asarray(x, device)
    for _ in range(3):
        kernels.saxpy.on("cpu")(1.0, x, y)  # entry points of machine code must not hide calls
    with lend.profile() as p:
        kernels.saxpy.on("cpu")(1.0, x, y)
        kernels.saxpy.on(device)(1.0, x, y)
        kernels.saxpy(1.0, x, dx)
        kernels.steps.on(device)(np.ones(100), np.ones(100), 5)
    kernels.saxpy.on("cpu")(1.0, x, y)
    assert [(call.kernel, call.device) for call in p] == [
        ("saxpy", "cpu"),
        ("saxpy", device),
        ("saxpy", device),
        ("steps", device),
    ]
    steps = (800, 1568)  # `u` goes there, and 98 elements of each come back
    assert [(call.bytes_in, call.bytes_out) for call in p] == [(0, 0), (8000, 4000), (4000, 0), steps]
    assert [call.launches for call in p] == [0, 1, 1, 10]
    assert (p.bytes_in, p.bytes_out) == (12800, 5568)
    for call in p:
        assert 0 < call.kernel_time <= call.total
        assert call.compile + call.to_device + call.from_device <= call.total
    assert np.array_equal(y, np.full(1000, 7, np.float32)) and (dx.numpy() == 2).all()
    lines = str(p).splitlines()
    assert len(lines) == 5 and lines[0].split()[:2] == ["kernel", "device"] and "8,000" in lines[2]
    p.chrome(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {event["pid"] for event in events} == {"cpu", device}
    assert all(event["dur"] >= 0 for event in events)


def test_a_fault_is_noted_too(device):
    x = np.ones(10, np.float32)
    with pytest.raises(lend.BoundsError), lend.profile() as p:
        kernels.shifted.on(device)(x, x.copy(), 5)
    assert [call.kernel for call in p] == ["shifted"]
    kernels.shifted.on(device)(x, x.copy(), 0)


def test_the_timeline(device, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    with lend.profile() as p:
        kernels.saxpy.on(device)(1.0, np.ones(10, np.float32), np.ones(10, np.float32))
    p.plot(tmp_path / "timeline.png")
    assert (tmp_path / "timeline.png").stat().st_size > 1000
