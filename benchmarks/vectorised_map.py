"""`python -m benchmarks.vectorised_map`: an f32 map without checks against the same loop in C, on one thread and on two.

The loop's time is that of the call less that of a call on one element, so that neither side's way of being called counts; both
calls are printed too. Each number of threads runs in a process of its own, several times; the medians of those runs stand in the
table. The exit status is 1 if lend's loop takes more than a tenth longer than the best C.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np

SIZES = {"one": 1, "32 K": 32_768, "1 M": 1 << 20, "16 M": 1 << 24}
RUNS, ROUNDS = 5, 11
ALLOWED = 1.1


def main() -> int:
    """All runs, and the table."""
    print("| threads | size | by | call | loop | loop / lend's |\n|---|---|---|---|---|---|", flush=True)
    slow = False
    for threads in (1, 2):
        environment = {**os.environ, "LEND_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
        command = [sys.executable, "-m", "benchmarks.vectorised_map", "run"]
        runs = [json.loads(subprocess.check_output(command, env=environment)) for _ in range(RUNS)]
        slow |= show(threads, runs)
    from lend.cli.machine import machine

    print(f"\n{machine()}; medians of {RUNS} runs.")
    return int(slow)


def show(threads: int, runs: list[dict[str, dict[str, float]]]) -> bool:
    """Print the rows for a number of threads; whether lend's loop is slower than the best C at a size."""
    from benchmarks.measure import seconds

    slow = False
    for label in list(SIZES)[1:]:
        ratios: dict[str, float] = {}
        ours_called = median(run[label]["lend"] for run in runs)
        for name in runs[0][label]:
            call = median(run[label][name] for run in runs)
            loops = [max(run[label][name] - run["one"][name], 1e-9) for run in runs]
            ours = [max(run[label]["lend"] - run["one"]["lend"], 1e-9) for run in runs]
            ratios[name] = median(a / b for a, b in zip(loops, ours, strict=True))
            cells = (threads, label, name, seconds(call), seconds(median(loops)), f"{ratios[name]:.2f}")
            print(f"| {' | '.join(map(str, cells))} |", flush=True)
            slow |= max(ratios[name], call / ours_called) < 1 / ALLOWED
    return slow


def one_run() -> int:
    """Print, as JSON, each contender's quickest call at each size, with the environment's number of threads."""
    from benchmarks import native
    from benchmarks.kernels import polynomial_unchecked
    from benchmarks.measure import interleaved

    libraries = {name: built for name in native.compilers().values() if (built := native.compile_native(name)) is not None}
    found: dict[str, dict[str, float]] = {}
    for label, n in SIZES.items():
        x = np.random.default_rng(7).random(n, dtype=np.float32)
        y = np.zeros_like(x)
        calls: dict[str, Callable[[], Any]] = {"lend": partial(polynomial_unchecked, x, y)}
        for name, library in libraries.items():
            calls[name] = native.bind(library, "polynomial", x, y, n)
        times = interleaved(calls, ROUNDS, int(os.environ["OMP_NUM_THREADS"]))
        found[label] = {name: min(rounds) for name, rounds in times.items()}
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(one_run() if sys.argv[1:] else main())
