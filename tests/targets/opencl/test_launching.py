"""Calls on a device: what comes back is what the processor gives, from wherever the arguments were."""

from __future__ import annotations

import device_kernels as kernels
import numpy as np
import pytest

import lend

LAYOUTS = {
    "rows": lambda x: x,
    "columns": lambda x: np.asfortranarray(x),
    "every second": lambda x: np.repeat(np.repeat(x, 2, 0), 2, 1)[::2, ::2],
    "reversed": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "unaligned": lambda x: np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(x.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(0, 5), (1, 1), (3, 1), (17, 130), (1, 3000)])
def test_layouts(device, layout, shape):
    x, y = (np.random.default_rng(k).random(shape) for k in (1, 2))
    z = np.empty(shape, order="F" if layout == "columns" else "C")
    kernels.add.on(device)(LAYOUTS[layout](x), LAYOUTS[layout](y), z)
    np.testing.assert_array_equal(z, x + y)


def test_strided_results(device):
    whole = np.zeros((40, 40))
    kernels.add.on(device)(np.ones((20, 20)), np.ones((20, 20)), whole[::2, 1::2])
    expected = np.zeros((40, 40))
    expected[::2, 1::2] = 2
    np.testing.assert_array_equal(whole, expected)


def test_one_array_lent_twice(device):
    x, z = np.arange(12.0).reshape(3, 4), np.empty((3, 4))
    kernels.add.on(device)(x, x, z)
    np.testing.assert_array_equal(z, 2 * x)


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 5), (7, 1, 9), (0, 2, 2)])
def test_boxes_of_many_dimensions(device, shape):
    y = np.full((*shape, 3, 2), -1)
    kernels.positions.on(device)(y)
    np.testing.assert_array_equal(y.ravel(), np.arange(y.size))


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 2047, 2048, 2049, 4097, 200_000, 1_000_003])
def test_reductions_have_the_bits_of_the_processor(device, n):
    rng = np.random.default_rng(n)
    x, y = rng.standard_normal(n).astype(np.float32), rng.standard_normal(n)
    assert kernels.sums.on(device)(x, y) == kernels.sums.on("cpu")(x, y)
    if n:
        x[n // 2 :: 3] = x[n // 3]
        assert kernels.smallest.on(device)(x) == kernels.smallest.on("cpu")(x)


def test_every_kind_of_parameter(device):
    def arguments():
        particles = np.zeros(100, kernels.Particle.dtype)
        particles["x"], particles["kind"], particles["mass"] = np.arange(100), np.arange(100) % 2, 3
        xs = (np.arange(100, dtype=np.float32), np.ones(200, np.float32)[::2], np.zeros(100, np.float32))
        return -3, 65535, 0.5, 0.25, 1e-3, True, 1 + 2j, kernels.Particle(2, 0.125, 4.0), xs, particles

    here, there = arguments(), arguments()
    assert kernels.everything.on(device)(*there) == kernels.everything.on("cpu")(*here)
    for name in kernels.Particle.dtype.names:
        np.testing.assert_array_equal(there[-1][name], here[-1][name])


def test_returned_arrays(device):
    x = np.arange(10.0)
    y, z, again = kernels.halves.on(device)(x)
    np.testing.assert_array_equal(y, x / 2)
    np.testing.assert_array_equal(z, np.zeros(10))
    assert np.shares_memory(again, x) and not again.flags.writeable
    strided = np.arange(20.0)[::-2]
    *_, again = kernels.halves.on(device)(strided)
    assert np.shares_memory(again, strided) and again.strides == strided.strides
    np.testing.assert_array_equal(again, strided)


def test_a_loop_of_the_host_level(device):
    u, v = np.random.default_rng(3).random(500), np.zeros(500)
    p, q = u.copy(), v.copy()
    kernels.steps.on(device)(u, v, 50)
    kernels.steps.on("cpu")(p, q, 50)
    np.testing.assert_array_equal(u, p)
    np.testing.assert_array_equal(v, q)


def test_the_setting_decides_where_numpy_arrays_go(device):
    x, y = np.ones(10, np.float32), np.ones(10, np.float32)
    before = lend.config.device
    try:
        lend.set_device(device)
        kernels.saxpy(2.0, x, y)
        assert lend.config.device == device
    finally:
        lend.config.device = before
    np.testing.assert_array_equal(y, 3)


def test_errors_of_a_call_are_those_of_the_processor(device):
    with pytest.raises(lend.ShapeError):
        kernels.saxpy.on(device)(2.0, np.ones(3, np.float32), np.ones(4, np.float32))
    with pytest.raises(lend.ContractError):
        kernels.steps.on(device)(np.ones(1), np.ones(1), 1)
    x = np.ones(4, np.float32)
    with pytest.raises(lend.BorrowError):
        kernels.saxpy.on(device)(2.0, x, x)


def test_what_the_driver_made_is_used_where_it_accepts_it(device, monkeypatch):
    from lend.driver.devices import device as device_of
    from lend.runtime.settings import snapshot

    there = device_of(device)
    x, y = np.ones(100, np.float32), np.ones(100, np.float32)
    module = kernels.saxpy.specialised_for(there, kernels.saxpy.bind((1.0, x, y), {}), snapshot()).executable.keep_alive
    kept, native = module.object_code(), there.native(module._kernels)
    assert native and kept.endswith(native)
    made, program = [], there._pyopencl.Program

    def noted(context, *arguments):
        made.append("native" if len(arguments) == 2 else "SPIR-V")
        return program(context, *arguments)

    monkeypatch.setattr(there._pyopencl, "Program", noted)
    damaged = kept[: len(kept) - len(native)] + bytes(len(native))
    for content, expected in ((kept, ["native"]), (damaged, ["native", "SPIR-V"])):
        made.clear()
        assert there.load(content) is not None
        assert made == expected


def test_kernels_are_kept_for_later_processes(device, tmp_path):
    import subprocess
    import sys

    program = (
        "import sys, numpy as np, lend\n"
        "import device_kernels as kernels, pyopencl\n"
        "made, program = [], pyopencl.Program\n"
        "pyopencl.Program = lambda context, *how: (made.append(len(how)), program(context, *how))[1]\n"
        "x, y = np.ones(100, np.float32), np.ones(100, np.float32)\n"
        f"kernels.saxpy.on({device!r})(2.0, x, y)\n"
        "assert (y == 3).all()\n"
        "print('llvmlite' in sys.modules, made)\n"
    )
    environment = {"LEND_CACHE": "1", "LEND_CACHE_DIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    said = [
        subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        ).stdout.strip()
        for _ in range(2)
    ]
    assert said == ["True [1]", "False [2]"], "the second neither compiles, nor has the driver build SPIR-V"
