"""What a call on an OpenCL device costs beside pyopencl: `python -m benchmarks.device_calls [--device opencl:0]`.

Does: time launches of a saxpy whose arrays live on the device beside pyopencl's enqueue of the very same kernel on the very same
queue; and whole calls with NumPy arrays beside a program by hand of the same kernel and the same copies, with buffers that it
keeps, in shared virtual memory (which is what lend has) and as OpenCL's buffers.
Does not: set a limit: it prints.
Invariants: medians of many rounds, in which the subjects come in an order of chance; every sample ends when the device is done.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import random
import statistics
import struct
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import lend
from lend import Mut, Ref, f32
from lend.dims import N
from lend.driver.devices import device as device_of
from lend.runtime.settings import snapshot

LAUNCH_SIZES = (64, 1000, 16_384, 262_144)
CALL_SIZES = (64, 1000, 16_384, 262_144, 4_194_304)
LAUNCHES = 50


@lend.kernel
def saxpy(a: f32, x: Ref[f32, N], y: Mut[f32, N]):
    for i in lend.grid(N):
        y[i] += a * x[i]


class ByHand:
    """The same kernel as a program with pyopencl has it: queue, kernel and blocks of threads are lend's own."""

    def __init__(self, device: str, count: int) -> None:
        self.cl: Any = importlib.import_module("pyopencl")
        there: Any = device_of(device)
        arrays = (np.zeros(count, np.float32), np.zeros(count, np.float32))
        made = saxpy.specialised_for(there, saxpy.bind((0.0, *arrays), {}), snapshot())
        module: Any = made.executable.keep_alive
        self.queue, self.context = there._queue, there._context
        block = min(1 << (count - 1).bit_length(), there.variable("lend_block").value)
        self.shape = ((-(-count // block) * block,), (block,))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = self.cl.Program(self.context, module._binary).build()
        self.kernel = self.cl.Kernel(program, "region_0")
        self.count = count

    def launch(self, y: Any, x: Any, a: float) -> None:
        """Set the arguments, and begin."""
        kernel = self.kernel
        kernel.set_arg(0, y)
        kernel.set_arg(1, x)
        kernel.set_arg(2, struct.pack("<qf12x", self.count, a))
        self.cl.enqueue_nd_range_kernel(self.queue, kernel, *self.shape)

    def again(self) -> None:
        """Begin with the arguments as they are."""
        self.cl.enqueue_nd_range_kernel(self.queue, self.kernel, *self.shape)


def nothing() -> None:
    """What is done after a sample that is over."""


def ratios(
    subjects: dict[str, Callable[[], object]],
    base: str,
    rounds: int,
    last: Callable[[], object] = nothing,
    after: Callable[[], object] = nothing,
) -> dict[str, tuple[float, float]]:
    """Median seconds of each, and the median of the base's time divided by its own within a round; they take turns.

    `last` is the end of each sample, and `after` is done before the next.
    """
    samples: dict[str, list[float]] = {name: [] for name in subjects}
    names, shuffled = list(subjects), random.Random(0)
    gc.disable()
    try:
        for turn in range(rounds + 3):
            shuffled.shuffle(names)  # who comes after itself finds its arrays in the caches
            for name in names:
                started = time.perf_counter()
                subjects[name]()
                last()
                if turn >= 3:
                    samples[name].append(time.perf_counter() - started)
                after()
    finally:
        gc.enable()
    return {
        name: (statistics.median(times), statistics.median(ours / own for ours, own in zip(samples[base], times, strict=True)))
        for name, times in samples.items()
    }


def launches(device: str, rounds: int) -> None:
    """Launches on arrays that live on the device; `begun`: until the last is begun, `done`: until all are done."""
    print(f"{LAUNCHES} launches, arrays on {device}, us for each; and lend's time divided by that of the other")
    print(f"{'elements':>9} {'':>6} {'lend':>8} {'enqueue':>8} {'ratio':>6} {'with arguments':>14} {'ratio':>6}")
    for count in LAUNCH_SIZES:
        for what, found in launches_of(device, count, rounds).items():
            (a, _), (b, first), (c, second) = found.values()
            each = [time / LAUNCHES * 1e6 for time in (a, b, c)]
            print(f"{count:>9} {what:>6} {each[0]:>8.2f} {each[1]:>8.2f} {first:>6.2f} {each[2]:>14.2f} {second:>6.2f}")


def launches_of(device: str, count: int, rounds: int) -> dict[str, dict[str, tuple[float, float]]]:
    """Times of launches on so many elements."""
    there: Any = device_of(device)
    x, y = (lend.asarray(np.ones(count, np.float32), device) for _ in range(2))
    run: Any = saxpy
    other = ByHand(device, count)
    cl: Any = other.cl
    mine = [cl.SVMAllocation(other.context, 4 * count, 64, cl.svm_mem_flags.READ_WRITE) for _ in range(2)]
    other.launch(*mine, 0.5)

    def ours() -> None:
        for _ in range(LAUNCHES):
            run(0.5, x, y)

    def again() -> None:
        for _ in range(LAUNCHES):
            other.again()

    def with_arguments() -> None:
        for _ in range(LAUNCHES):
            other.launch(*mine, 0.5)

    subjects = {"lend": ours, "enqueue": again, "arguments": with_arguments}
    return {
        "begun": ratios(subjects, "lend", rounds, after=there.finish),
        "done": ratios(subjects, "lend", rounds, last=there.finish),
    }


def calls(device: str, rounds: int) -> None:
    """Calls with arrays of the host, beside copies by hand of the same bytes: two arrays there, one back."""
    print(f"calls with NumPy arrays on {device}, us; and lend's time divided by that of the other")
    print(f"{'elements':>9} {'lend':>9} {'by hand, SVM':>12} {'ratio':>6} {'by hand, buffers':>16} {'ratio':>6}")
    for count in CALL_SIZES:
        found = calls_of(device, count, rounds if count < 1_000_000 else rounds // 4)
        (a, _), (b, first), (c, second) = found.values()
        print(f"{count:>9} {a * 1e6:>9.1f} {b * 1e6:>12.1f} {first:>6.2f} {c * 1e6:>16.1f} {second:>6.2f}")


def calls_of(device: str, count: int, rounds: int) -> dict[str, tuple[float, float]]:
    """Times of calls with so many elements."""
    run: Any = saxpy.on(device)
    x, y = np.ones(count, np.float32), np.zeros(count, np.float32)
    other = ByHand(device, count)
    cl: Any = other.cl
    queue, copy = other.queue, cl.enqueue_copy
    shared = [cl.SVMAllocation(other.context, 4 * count, 64, cl.svm_mem_flags.READ_WRITE) for _ in range(2)]
    buffers = [cl.Buffer(other.context, cl.mem_flags.READ_WRITE, 4 * count) for _ in range(2)]

    def ours() -> None:
        run(0.5, x, y)

    def by_hand(dx: Any, dy: Any) -> None:
        copy(queue, dx, x, is_blocking=False)
        copy(queue, dy, y, is_blocking=False)
        other.launch(dy, dx, 0.5)
        copy(queue, y, dy)

    def by_svm() -> None:
        by_hand(*shared)

    def by_buffers() -> None:
        by_hand(*buffers)

    subjects = {"lend": ours, "svm": by_svm, "buffers": by_buffers}
    for subject in subjects.values():
        y[:] = 0
        subject()
        assert (y == 0.5).all()
    return ratios(subjects, "lend", rounds)


def main(arguments: list[str] | None = None) -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.device_calls", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--device", default="opencl:0")
    parser.add_argument("--rounds", type=int, default=200, help="samples of each subject")
    options = parser.parse_args(arguments)
    launches(options.device, options.rounds)
    calls(options.device, options.rounds * 2)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
