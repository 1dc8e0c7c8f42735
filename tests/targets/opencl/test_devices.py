"""Which devices there are, and what is said of the others."""

from __future__ import annotations

import os
import subprocess
import sys

import device_kernels as kernels
import numpy as np
import pytest

import lend


def run(program: str, **environment: str) -> str:
    """What a program prints in a process of its own."""
    variables = {"PATH": os.environ.get("PATH", ""), "PYTHONPATH": ":".join(sys.path), **environment}
    done = subprocess.run([sys.executable, "-c", program], env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_processor_comes_first():
    found = lend.devices()
    assert found[0].name == "cpu"
    assert "cuda" in dict(found.missing) or any(device.name.startswith("cuda") for device in found)


def test_nothing_is_loaded_before_it_is_asked_for(tmp_path):
    program = (
        "import sys, numpy as np, lend\n"
        "from lend import Out, f64\nfrom lend.dims import N\n"
        "print(any(name.startswith('pyopencl') for name in sys.modules))"
    )
    assert run(program, LEND_CACHE_DIR=str(tmp_path)) == "False"


def test_without_pyopencl_the_reason_is_named(tmp_path):
    program = (
        "import sys; sys.modules['pyopencl'] = None\n"
        "import lend\n"
        "print(dict(lend.devices().missing)['opencl'])\n"
        "try: lend.asarray([1.0], 'opencl:0')\n"
        "except lend.DeviceError as error: print(error)\n"
    )
    first, second = run(program, LEND_CACHE_DIR=str(tmp_path)).splitlines()
    assert first == "pyopencl is not installed: pip install 'lend[opencl]'"
    assert second == f"there is no device 'opencl:0'; there are: cpu (opencl: {first})"


def test_no_variable_stays_set(device, tmp_path):
    program = "import os, lend\nprint(len(lend.devices()) > 1, 'OCL_ICD_VENDORS' in os.environ)"
    assert run(program, LEND_CACHE_DIR=str(tmp_path)) == "True False"


@pytest.mark.parametrize("name", ["opencl:99", "cuda:77", "gpu", "opencl:-1", "cpu:1", ""])
def test_devices_that_do_not_exist(name):
    with pytest.raises(lend.DeviceError, match="there is no device"):
        lend.asarray([1.0], name or " ")


def test_lending_to_the_processor():
    x, y = np.ones(5, np.float32), np.zeros(5, np.float32)
    with lend.to("cpu", x, y) as (dx, dy):
        assert dx is x and dy is y
        kernels.saxpy.on("cpu")(1.0, dx, dy)
    with lend.to("cpu", x) as dx:
        assert dx is x
    assert (y == 1).all() and lend.asarray(x, "cpu") is x
