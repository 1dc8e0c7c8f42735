"""`lend.algorithms` beside NumPy, in one process, in turns.

    python -m benchmarks.algorithms [--size 1e7] [--threads 2] [--rounds 5] [--clock processor] [names...]

Prints for each algorithm the least time of lend, the least of NumPy, and NumPy's divided by lend's; for reductions and scans also
lend's divided by the time of a copy that moves as many bytes. NumPy sorts by other means with and without vectors of AVX2 and
AVX-512, and chooses by the processor: run again under `NPY_DISABLE_CPU_FEATURES="X86_V4 AVX512_ICL"` for those of AVX2, and with
`X86_V3` too for none (names of NumPy 2.4; of earlier versions `AVX512F AVX512_SKX AVX512_ICL AVX2`). `--clock processor` counts
processor time, of all threads together: for a busy machine.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import lend

Case = tuple[Callable[[], Any], Callable[[], Any], float]
"""lend's, NumPy's, and the bytes that are moved at least (0: it is not memory that decides)."""


def cases(n: int) -> dict[str, Case]:
    """All cases, by name."""
    a, rng = lend.algorithms, np.random.default_rng(1)
    x, values = rng.random(n), rng.random(n)
    normal, wide = rng.normal(size=n), rng.integers(-(1 << 62), 1 << 62, n)
    single, small, few = x.astype("f4"), rng.integers(0, 1000, n), rng.integers(0, 256, n).astype("u1")
    mask, product = rng.random(n) < 0.5, lend.function(lambda p, q: p * q)
    ones = np.ones(n)

    def pairs_of_numpy(keys: np.ndarray[Any, Any]) -> Any:
        order = np.argsort(keys)
        return keys[order], values[order]

    found: dict[str, Case] = {
        "reduce": (lambda: a.reduce(x), lambda: np.sum(x), 8.0 * n),
        "reduce, product": (lambda: a.reduce(ones, product, 1), lambda: np.prod(ones), 8.0 * n),
        "scan": (lambda: a.scan(x), lambda: np.cumsum(x), 16.0 * n),
        "scan, exclusive": (lambda: a.scan(x, exclusive=True), lambda: np.cumsum(x), 16.0 * n),
        "compact": (lambda: a.compact(x, mask), lambda: x[mask], 0.0),
        "compact_if": (lambda: a.compact_if(x, above), lambda: x[x > 0.5], 0.0),
        "histogram": (lambda: a.histogram(x, 100, 0.0, 1.0), lambda: np.histogram(x, 100, (0.0, 1.0)), 0.0),
        "unique": (lambda: a.unique(small), lambda: np.unique(small), 0.0),
        "top_k": (lambda: a.top_k(x, 100), lambda: np.argpartition(x, n - 100)[n - 100 :], 0.0),
        "uniform": (lambda: a.uniform(n, 1), lambda: rng.random(n), 0.0),
        "normal": (lambda: a.normal(n, 1), lambda: rng.normal(size=n), 0.0),
    }
    for name, keys in {"f64": x, "f64 normal": normal, "f32": single, "i64": wide, "i64 < 1000": small, "u8": few}.items():
        found[f"sort {name}"] = (lambda k=keys: a.sort(k)), (lambda k=keys: np.sort(k)), 0.0
        found[f"sort_pairs {name}"] = (lambda k=keys: a.sort_pairs(k, values)), (lambda k=keys: pairs_of_numpy(k)), 0.0
    return found


@lend.function
def above(value: Any) -> Any:
    """Half of the numbers."""
    return value > 0.5


def least(runs: list[Callable[[], Any]], rounds: int, clock: Callable[[], float]) -> list[float]:
    """The least time of each, in turns."""
    best = [float("inf")] * len(runs)
    for run in runs:
        run()
    for _ in range(rounds):
        for number, run in enumerate(runs):
            begin = clock()
            run()
            best[number] = min(best[number], clock() - begin)
    return best


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=float, default=1e7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clock", choices=("wall", "processor"), default="wall")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    lend.config.threads = options.threads
    clock = time.perf_counter if options.clock == "wall" else time.process_time
    without = os.environ.get("NPY_DISABLE_CPU_FEATURES", "")
    print(f"{int(options.size)} elements, {options.threads} threads, NumPy {np.__version__}{without and f' without {without}'}\n")
    for name, (ours, numpys, moved) in cases(int(options.size)).items():
        if options.names and not any(name.startswith(wanted) for wanted in options.names):
            continue
        runs = [ours, numpys]
        if moved:
            source = np.ones(int(moved) // 16)
            target = np.empty_like(source)
            runs.append(lambda s=source, t=target: np.copyto(t, s))
        times = least(runs, options.rounds, clock)
        line = f"{name:22} lend {times[0] * 1e3:8.2f} ms   NumPy {times[1] * 1e3:8.2f} ms   {times[1] / times[0]:6.2f}"
        print(line + (f"   {times[0] / times[2]:.2f} of a copy of as many bytes" if moved else ""), flush=True)


if __name__ == "__main__":
    main()
