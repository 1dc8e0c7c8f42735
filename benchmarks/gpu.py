"""All that a machine with a GPU can check and measure, in under four minutes: `python -m benchmarks.gpu [--device cuda:0]`.

Does: run the tests of `tests/run` and of teams with the device as their target; time kernels and copies there, beside CUDA C++ of
ours (`gpu.cu`) where `nvcc` is; print what the device and its driver are.
Does not: need a GPU: `--device opencl:0` runs the same on any OpenCL device, without CUDA C++.
Invariants: times of kernels are the device's own, by its events; a number beside another is the median of several turns. Whatever
takes longer than its share of the four minutes is left out, which is said.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import lend
from benchmarks import paper_kernels
from benchmarks.device_cpp import nvcc
from benchmarks.teams import matmul
from lend import Mut, Ref, f64
from lend.dims import M, N

TESTS = ("tests/run", "tests/targets/opencl/test_teams.py")
SECONDS_FOR_TESTS = 130
ROUNDS = 7
ELEMENTS = (2, 4)
"""For each thread, beside one."""
LAUNCHES = 20


@lend.kernel
def daxpy(a: f64, x: Ref[f64, N], y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] += a * x[i]


@lend.kernel
def five_points(u: Ref[f64, N, M], v: Mut[f64, N, M]):
    for i, j in lend.grid((1, N - 1), (1, M - 1)):
        v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


def rows(*sizes: int, dtype: Any = np.float64) -> np.ndarray:
    """Numbers."""
    return np.random.default_rng(len(sizes)).random(sizes).astype(dtype)


def cases(size: int) -> list[tuple[str, Any, tuple[Any, ...], int]]:
    """Kernels with arguments, and the number that the C++ is told; `size` elements or so."""
    side, zones = int(size**0.5), size // 2048
    n = size
    return [
        ("daxpy", daxpy, (2.0, rows(n), rows(n)), n),
        ("pressure_2", paper_kernels.pressure_2, (rows(n), rows(n), rows(n), rows(n), 0.2, 0.2, 0.1), n),
        ("energy_3", paper_kernels.energy_3, tuple(rows(n) for _ in range(6)), n),
        ("five_points", five_points, (rows(side, side), rows(side, side)), side),
        ("ltimes", paper_kernels.ltimes, (rows(zones, 32, 25), rows(25, 64), rows(zones, 32, 64)), zones),
        ("matmul", matmul, tuple(rows(side // 4, side // 4, dtype=np.float32) for _ in range(3)), side // 4),
    ]


def tests(device: str) -> None:
    """The tests with the device as their target."""
    root = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=line", *TESTS]
    try:
        done = subprocess.run(
            command, cwd=root, env={**os.environ, "LEND_DEVICE": device}, capture_output=True, text=True,
            timeout=SECONDS_FOR_TESTS, check=False,
        )  # fmt: skip
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        print("\n".join(["tests:", *(f"  {line}" for line in lines[-12:])]))
    except subprocess.TimeoutExpired as error:
        done_so_far = (error.stdout or b"").decode(errors="replace").splitlines()
        print(f"tests: not done after {SECONDS_FOR_TESTS} s; so far: {' '.join(done_so_far[-2:])}")


def cpp() -> Any:
    """The CUDA C++, compiled for the card at hand; None without `nvcc`."""
    found = nvcc()
    if found is None:
        print("no CUDA C++: there is no nvcc")
        return None
    folder = tempfile.mkdtemp(prefix="lend")
    library = Path(folder, "gpu.so")
    source = Path(__file__).with_name("gpu.cu")
    command = [found, "-O3", "-arch=native", "-shared", "-Xcompiler", "-fPIC", "-o", str(library), str(source)]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
        return ctypes.CDLL(str(library))
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"no CUDA C++: {getattr(error, 'stderr', '') or error}".strip()[:300])
        return None


def kernel_time(kernel: Any, device: str, arguments: tuple[Any, ...]) -> float:
    """Seconds of one launch, by the device's clock."""
    with lend.profile() as profile:
        for _ in range(LAUNCHES):
            kernel.on(device)(*arguments)
    return min(call.kernel_time / max(call.launches, 1) for call in profile)


def kernels(device: str, size: int, library: Any) -> None:
    """Times of kernels whose arrays stay on the device: at one element for each thread beside C++, and at several."""
    several = "".join(f" {f'x{n}, us':>9}" for n in ELEMENTS)
    print(f"{'kernel':<12} {'lend, us':>10} {'C++, us':>10} {'C++ / lend':>10}{several}")
    for name, kernel, arguments, number in cases(size):
        there = tuple(lend.asarray(a, device) if isinstance(a, np.ndarray) else a for a in arguments)
        times: dict[int, list[float]] = {n: [] for n in (1, *ELEMENTS)}
        theirs: list[float] = []
        for _ in range(ROUNDS):
            for elements, taken in times.items():
                lend.config.elements = elements
                if not taken:
                    kernel.on(device)(*there)  # which compiles it
                taken.append(kernel_time(kernel, device, there))
            lend.config.elements = 1
            if library is not None:
                function = getattr(library, f"time_{name}")
                function.restype, function.argtypes = ctypes.c_double, [ctypes.c_long, ctypes.c_int]
                theirs.append(function(number, LAUNCHES) * 1e-3)
        mine = statistics.median(times[1])
        cpp_time = statistics.median(theirs) if theirs else float("nan")
        ratio = statistics.median(b / a for a, b in zip(times[1], theirs, strict=True)) if theirs else float("nan")
        more = "".join(f" {statistics.median(times[n]) * 1e6:>9.1f}" for n in ELEMENTS)
        print(f"{name:<12} {mine * 1e6:>10.1f} {cpp_time * 1e6:>10.1f} {ratio:>10.2f}{more}")


def median_of(rounds: int, work: Callable[[], Any]) -> float:
    """Seconds."""
    times: list[float] = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def copies(device: str, size: int, library: Any) -> None:
    """Times of copies, and of a call whose arrays are the host's."""
    host = rows(size)
    array = lend.asarray(host, device)
    to = median_of(ROUNDS, lambda: array.copy_from(host))
    back = median_of(ROUNDS, array.numpy)
    print(
        f"copies of {host.nbytes >> 20} MiB: there {host.nbytes / to / 1e9:.1f} GB/s, back {host.nbytes / back / 1e9:.1f} GB/s",
        end="",
    )
    if library is not None:
        seconds = ctypes.c_double()
        library.time_copies.restype = ctypes.c_double
        address = ctypes.c_void_p(host.ctypes.data)
        there = library.time_copies(address, ctypes.c_long(host.nbytes), 5, ctypes.byref(seconds))
        print(f"; cudaMemcpy: {host.nbytes / there / 1e9:.1f} and {host.nbytes / seconds.value / 1e9:.1f} GB/s", end="")
    x, y = rows(size), rows(size)
    whole = median_of(ROUNDS, lambda: daxpy.on(device)(2.0, x, y))
    print(f"\ndaxpy on arrays of the host: {whole * 1e3:.1f} ms for {3 * x.nbytes >> 20} MiB moved")
    small = lend.asarray(rows(8), device), lend.asarray(rows(8), device)
    daxpy.on(device)(1.0, *small)
    calls = median_of(ROUNDS, lambda: [daxpy.on(device)(1.0, *small) for _ in range(1000)] and small[1].numpy())
    print(f"a launch of 8 elements: {calls * 1e3:.2f} us")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default=None, help="default: the first that is no processor")
    parser.add_argument("--size", type=int, default=1 << 24, help="elements of an array (default: %(default)s)")
    parser.add_argument("--no-tests", action="store_true")
    options = parser.parse_args()
    print(lend.devices())
    found = [info.name for info in lend.devices() if info.name.startswith(("cuda", "hip"))]
    device = options.device or next(iter(found), None)
    if device is None:
        print("no GPU that lend can drive; --device opencl:0 runs the same elsewhere", file=sys.stderr)
        return 2
    library = cpp() if device.startswith("cuda") else None
    kernels(device, options.size, library)
    copies(device, options.size, library)
    if not options.no_tests:
        tests(device)
    return 0


if __name__ == "__main__":
    sys.exit(main())
