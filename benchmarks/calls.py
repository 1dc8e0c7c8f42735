"""What a call costs: `python -m benchmarks.calls [--numba-python PATH]`.

Does: time a saxpy of 8 elements with every check, by position and with keywords, beside Numba's `parallel=True`; and a loop that
alternates between a kernel and a matrix product of NumPy, beside each of them alone: they have threads of their own.
Does not: set a limit: it prints.
Invariants: medians of many rounds, in which the subjects take turns; each sample is a loop of at least 20 µs.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

import lend
from lend import Mut, Ref, f32
from lend.dims import N

ROUNDS, CALLS = 41, 2000

_NUMBA = f"""
import statistics, time
import numpy as np
from numba import njit, prange

@njit(parallel=True)
def saxpy(a, x, y):
    for i in prange(x.size):
        y[i] += a * x[i]

a, x, y = np.float32(0.5), np.ones(8, np.float32), np.ones(8, np.float32)
saxpy(a, x, y)
samples = []
for _ in range({ROUNDS}):
    started = time.perf_counter()
    for _ in range({CALLS}):
        saxpy(a, x, y)
    samples.append((time.perf_counter() - started) / {CALLS} * 1e9)
print(statistics.median(samples))
"""


@lend.kernel
def saxpy(a: f32, x: Ref[f32, N], y: Mut[f32, N]):
    for i in lend.grid(N):
        y[i] += a * x[i]


def medians(subjects: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Median seconds of each subject; they take turns."""
    samples: dict[str, list[float]] = {name: [] for name in subjects}
    for _ in range(rounds):
        for name, subject in subjects.items():
            started = time.perf_counter()
            subject()
            samples[name].append(time.perf_counter() - started)
    return {name: statistics.median(times) for name, times in samples.items()}


def small_calls() -> dict[str, float]:
    """Nanoseconds of a call on 8 elements."""
    x, y = np.ones(8, np.float32), np.ones(8, np.float32)

    def by_position() -> None:
        for _ in range(CALLS):
            saxpy(0.5, x, y)

    def by_keyword() -> None:
        for _ in range(CALLS):
            saxpy(a=0.5, x=x, y=y)

    by_position()
    by_keyword()
    return {name: time / CALLS * 1e9 for name, time in medians({"by position": by_position, "keywords": by_keyword}).items()}


def alternating() -> dict[str, float]:
    """Microseconds of a kernel on a million elements and of a product of 300 x 300 matrices, alone and in turn.

    "kernel, after a pause": as long as a product takes. A pool whose threads spin on would slow the product; one whose threads
    sleep at once would slow the kernel even in a loop of its own.
    """
    x, y = np.ones(1 << 20, np.float32), np.ones(1 << 20, np.float32)
    a, b, c = (np.random.default_rng(k).random((300, 300)) for k in range(3))
    samples: dict[str, list[float]] = {}

    def timed(name: str, subject: Callable[[], object]) -> float:
        started = time.perf_counter()
        subject()
        samples.setdefault(name, []).append(time.perf_counter() - started)
        return samples[name][-1]

    def kernel() -> None:
        saxpy(0.5, x, y)

    def product() -> None:
        np.matmul(a, b, out=c)

    for _ in range(8):
        for _ in range(50):
            timed("kernel", kernel)
        for _ in range(50):
            pause = timed("product", product)
        for _ in range(50):
            end = time.perf_counter() + pause
            while time.perf_counter() < end:
                pass
            timed("kernel, after a pause", kernel)
        for _ in range(50):
            timed("kernel, in turn", kernel)
            timed("product, in turn", product)
    return {name: statistics.median(times) * 1e6 for name, times in samples.items()}


def main(arguments: list[str] | None = None) -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calls", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--numba-python", default=sys.executable, help="the interpreter that has numba, if not this one")
    options = parser.parse_args(arguments)
    found = small_calls()
    print("saxpy of 8 elements: " + ", ".join(f"{name} {nanoseconds:.0f} ns" for name, nanoseconds in found.items()))
    run = subprocess.run([options.numba_python, "-c", _NUMBA], capture_output=True, text=True)
    if run.returncode == 0:
        numba = float(run.stdout)
        print(f"Numba, parallel=True: {numba:.0f} ns, {numba / found['by position']:.1f} times lend's")
    else:
        print("Numba is not there")
    times = alternating()
    print(", ".join(f"{name} {microseconds:.0f} µs" for name, microseconds in times.items()))
    print(f"in turn / alone: product {times['product, in turn'] / times['product']:.2f}, ", end="")
    print(f"kernel (after a pause) {times['kernel, in turn'] / times['kernel, after a pause']:.2f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
