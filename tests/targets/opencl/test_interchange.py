"""Arrays on OpenCL's devices, and other libraries: by copies on the host, since no other library knows its memory."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import lend


def test_numpy_takes_a_copy(device):
    x = np.arange(12.0).reshape(3, 4)
    there = lend.asarray(x, device)
    assert there.__dlpack_device__()[0] == 4
    host = np.from_dlpack(there, device="cpu")
    np.testing.assert_array_equal(host, x)
    with pytest.raises(BufferError):
        np.from_dlpack(there, device="cpu", copy=False)
    with pytest.raises(BufferError):
        there.__dlpack__()
    assert not hasattr(there, "__cuda_array_interface__")
    assert np.array(there, dtype=np.float32).dtype == np.float32 and (np.asarray(there) + there == 2 * x).all()
    with pytest.raises(ValueError):
        np.array(there, copy=False)


def test_from_dlpack(device):
    x = np.arange(3.0)
    there = lend.from_dlpack(x, device=device)
    assert there.device == device and lend.from_dlpack(there, device=device) is there
    np.testing.assert_array_equal(lend.from_dlpack(there, device="cpu"), x)
    assert lend.from_dlpack(there, copy=True) is not there
    with pytest.raises(BufferError):
        lend.from_dlpack(x, device=device, copy=False)


def test_the_end_of_a_process_that_has_borrowed(device):
    program = (
        "import numpy as np, lend\n"
        f"array = lend.asarray(np.ones(1000), {device!r})\n"
        "host, capsule = np.from_dlpack(array, device='cpu'), array.__dlpack__(dl_device=(1, 0), max_version=(1, 0))\n"
        "import sys; sys.kept = host, capsule, array\n"
        "print(int(host.sum()))"
    )
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path), "LEND_CACHE": "0"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1000\n", "")
