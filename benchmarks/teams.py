"""Teams on the processor: `python -m benchmarks.teams [--rounds N] [--threads N]`.

Does: time the tiled product of DESIGN beside the same loops in C++ with OpenMP, sums that blocks of threads take beside the sum
of a grid, and the code generation of each.
Does not: take part in `lend bench`.
Invariants: contenders take turns; a ratio is the median over rounds.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import lend
from benchmarks import compiling
from benchmarks.memory import empty
from lend import Out, Ref, comptime, f32, f64
from lend.dims import K, M, N
from lend.driver.pipeline import STEPS


@lend.kernel
def matmul(a: Ref[f32, M, K], b: Ref[f32, K, N], c: Out[f32, M, N], T: comptime[int] = 16):
    for bi, bj in lend.blocks(lend.cdiv(M, T), lend.cdiv(N, T)):
        ta = lend.shared(f32, T, T)
        tb = lend.shared(f32, T, T)
        for ti, tj in lend.threads(T, T):
            i = bi * T + ti
            j = bj * T + tj
            acc = f32(0)
            for k0 in range(0, K, T):
                ta[ti, tj] = a[i, k0 + tj] if i < M and k0 + tj < K else 0
                tb[ti, tj] = b[k0 + ti, j] if k0 + ti < K and j < N else 0
                lend.sync()
                for k in range(T):
                    acc += ta[ti, k] * tb[k, tj]
                lend.sync()
            if i < M and j < N:
                c[i, j] = acc


@lend.kernel
def grid_sum(x: Ref[f64, N]) -> f64:
    total = 0.0
    for i in lend.grid(N):
        total += x[i]
    return total


@lend.kernel
def block_sum(x: Ref[f64, N], T: comptime[int] = 256) -> f64:
    """A reduction over threads, whose results are reduced over blocks."""
    total = 0.0
    for b in lend.blocks(lend.cdiv(N, T)):
        s = 0.0
        for t in lend.threads(T):
            i = b * T + t
            if i < N:
                s += x[i]
        total += s
    return total


@lend.kernel
def block_parts(x: Ref[f64, N], out: Out[f64, M], T: comptime[int] = 256):
    for b in lend.blocks(M):
        s = 0.0
        for t in lend.threads(T):
            i = b * T + t
            if i < N:
                s += x[i]
        for _t in lend.threads(1):
            out[b] = s


@lend.kernel
def block_tree(x: Ref[f64, N], out: Out[f64, M], T: comptime[int] = 256, LOG: comptime[int] = 8):
    """Eight elements a thread, then a shared array in halves."""
    for b in lend.blocks(M):
        s = lend.shared(f64, T)
        for t in lend.threads(T):
            v = 0.0
            for k in range(8):
                i = b * (T * 8) + k * T + t
                if i < N:
                    v += x[i]
            s[t] = v
            lend.sync()
            for k in range(LOG):
                half = T >> (k + 1)
                if t < half:
                    s[t] += s[t + half]
                lend.sync()
            if t == 0:
                out[b] = s[0]


def turns(contenders: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Times of each in each round, in seconds."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds + 2):
        for name, run in contenders.items():
            started = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - started)
    return {name: found[2:] for name, found in times.items()}


def product(library: ctypes.CDLL, size: int, tile: int, rounds: int) -> None:
    """The product of square matrices."""
    rng = np.random.default_rng(0)
    a, b, c, other = (empty((size, size), np.float32) for _ in range(4))
    a[...], b[...] = rng.standard_normal((size, size)), rng.standard_normal((size, size))
    function = getattr(library, f"matmul_{tile}")
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in (a, b, other)]
    sizes = [ctypes.c_long(size)] * 3
    times = turns({"lend": lambda: matmul(a, b, c, tile), "C++": lambda: function(*pointers, *sizes)}, rounds)
    np.testing.assert_allclose(c, other, rtol=1e-3, atol=1e-3)
    ratio = median(x / y for x, y in zip(times["C++"], times["lend"], strict=True))
    speed = 2 * size**3 / median(times["lend"]) / 1e9
    taken = f"{median(times['lend']) * 1e3:7.2f} ms, {speed:6.1f} Gflop/s"
    print(f"matmul of {size}, tiles of {tile:2}: {taken}, C++ takes {ratio:5.2f} times as long")


def sums(size: int, rounds: int) -> None:
    """Sums by blocks beside the grid's."""
    x = empty((size,), np.float64)
    x[...] = np.random.default_rng(0).standard_normal(size)
    parts, trees = np.zeros(-(-size // 256)), np.zeros(-(-size // 2048))
    contenders: dict[str, Callable[[], Any]] = {
        "grid_sum": lambda: grid_sum(x),
        "block_sum": lambda: block_sum(x),
        "block_parts": lambda: block_parts(x, parts),
        "block_tree": lambda: block_tree(x, trees),
    }
    times = turns(contenders, rounds)
    np.testing.assert_allclose([block_sum(x), parts.sum(), trees.sum()], [grid_sum(x)] * 3, atol=1e-6)
    line = [f"sum of {size:,}: the grid {median(times['grid_sum']) * 1e6:.0f} us"]
    for name in list(contenders)[1:]:
        ratio = median(x / y for x, y in zip(times[name], times["grid_sum"], strict=True))
        line.append(f"{name} {ratio:.2f} times that")
    print(", ".join(line))


def code() -> None:
    """Processor time of each step from the schedule to machine code."""
    for kernel in (matmul, block_sum, block_parts, block_tree):
        compilation = next(iter(kernel.compilations()))
        spent: dict[str, float] = {}
        for step in STEPS:
            started = time.process_time()
            step.run(compilation)
            spent[step.name] = time.process_time() - started
        made = {name: spent[name] for name in ("schedule", "plan", "lower", "emit")}
        parts = ", ".join(f"{name} {seconds * 1e3:.0f}" for name, seconds in made.items())
        print(f"{kernel.__name__}: proofs {spent['check'] * 1e3:.0f} ms, code {sum(made.values()) * 1e3:.0f} ms ({parts})")


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__ and __doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    lend.config.threads = options.threads
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    code()
    compilers = compiling.compilers()
    with tempfile.TemporaryDirectory() as folder:
        for compiler in compilers.values():
            wrong = compiling.build(compiler, ["teams"], Path(folder))
            if wrong:
                print(f"{compiler}: {wrong}")
                continue
            print(compiling.version(compiler))
            library = ctypes.CDLL(str(Path(folder) / "teams.so"))
            for size in (512, 1000):
                for tile in (8, 16, 32):
                    product(library, size, tile, options.rounds)
            break
    for size in (100_000, 1_000_000, 10_000_000):
        sums(size, options.rounds)


if __name__ == "__main__":
    main()
