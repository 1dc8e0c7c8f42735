"""`python -m benchmarks.vectorised_map`: an f32 map without checks against the same loop in C, on one thread and on two.

Each number of threads runs in a process of its own. The exit status is 1 if lend takes more than a tenth longer than the best C.
"""

from __future__ import annotations

import os
import subprocess
import sys
from statistics import median

import numpy as np

SIZES = (("32 K", 32_768), ("16 M", 1 << 24))
ROUNDS = 31
ALLOWED = 1.1


def main() -> int:
    """Both runs."""
    print("| map | threads | size | lend | C / lend | C by |\n|---|---|---|---|---|---|", flush=True)
    status = 0
    for threads in (1, 2):
        environment = {**os.environ, "LEND_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
        status |= subprocess.run([sys.executable, "-m", "benchmarks.vectorised_map", str(threads)], env=environment).returncode
    from lend.cli.machine import machine

    print(f"\n{machine()}.")
    return status


def one(threads: int) -> int:
    """The run with the environment's number of threads."""
    import lend
    from benchmarks import native
    from benchmarks.measure import interleaved, ratio, seconds
    from lend import Mut, Ref, f32
    from lend.dims import N

    @lend.kernel
    def polynomial(x: Ref[f32, N], y: Mut[f32, N]):
        for i in lend.grid(N):
            with lend.unchecked("i is below N, the size of both"):
                y[i] = ((0.5 * x[i] - 1.25) * x[i] + 2.0) * x[i] + 0.75

    libraries = {name: built for name in native.compilers().values() if (built := native.compile_native(name)) is not None}
    status = 0
    for label, n in SIZES:
        x = np.random.default_rng(7).random(n, dtype=np.float32)
        y = np.zeros_like(x)
        calls = {"lend": lambda x=x, y=y: polynomial(x, y)}
        for name, library in libraries.items():
            calls[name] = native.bind(library, "polynomial", x, y, n)
        times = interleaved(calls, ROUNDS)
        for name in libraries:
            slower = ratio(times, "lend", name)
            status |= slower > ALLOWED
            print(
                f"| polynomial | {threads} | {label} | {seconds(median(times['lend']))} | {1 / slower:.2f} | {name} |", flush=True
            )
    return int(status)


if __name__ == "__main__":
    sys.exit(one(int(sys.argv[1])) if sys.argv[1:] else main())
