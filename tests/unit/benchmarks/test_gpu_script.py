"""`benchmarks.gpu` is ready for a machine with a GPU: everything but the GPU is there."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

from benchmarks import device_cpp, gpu  # noqa: E402

import lend  # noqa: E402

opencl = [found.name for found in lend.devices() if found.name.startswith("opencl")]


@pytest.mark.skipif(not opencl, reason="there is no OpenCL device")
def test_kernels_and_copies_are_timed_at_one_element_and_at_several(capsys: pytest.CaptureFixture[str]) -> None:
    gpu.kernels(opencl[0], 1 << 14, None)
    gpu.copies(opencl[0], 1 << 14, None)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:7]] == [name for name, *_ in gpu.cases(1 << 14)]
    assert all(len(line.split()) == len(lines[1].split()) and float(line.split()[-1]) > 0 for line in lines[1:7])
    assert lines[-1].startswith("a launch of 8 elements")
    assert lend.config.elements == 1


@pytest.mark.skipif(device_cpp.nvcc() is None or shutil.which("c++") is None, reason="there is no nvcc")
def test_the_cpp_beside_it_compiles_and_has_a_function_for_each_kernel(tmp_path: Path) -> None:
    command = [device_cpp.nvcc() or "", "-O1", "-arch=sm_90", "-shared", "-Xcompiler", "-fPIC", "-o", str(tmp_path / "gpu.so")]
    done = subprocess.run([*command, str(Path(gpu.__file__).with_name("gpu.cu"))], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"nvcc does not link here: {done.stderr.strip()[-200:]}")
    text = (tmp_path / "gpu.so").read_bytes()
    assert all(f"time_{name}".encode() in text for name, *_ in gpu.cases(1 << 12))


def test_its_tests_are_where_it_looks_for_them() -> None:
    assert all((ROOT / path).exists() for path in gpu.TESTS)
    assert gpu.SECONDS_FOR_TESTS < 240
