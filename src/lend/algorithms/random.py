"""Counter-based random numbers: `philox4x32`, and `uniform` and `normal` made of it.

Does: give number `i` of the sequence of a seed, for any `i`, in any order: nothing is remembered between numbers.
Does not: cryptography.
Invariants: `philox4x32` is Philox 4x32-10 as published, and agrees with the known answers of its authors; a number depends on
the seed and its index alone.

Source: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11 (2011).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lend
from lend import f64, i64, u32, u64
from lend.algorithms.forms import count, in_kernels, late_kernel
from lend.diagnostics.errors import ArgumentError

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)


@lend.function
def philox4x32(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, int, int, int]:
    """Philox 4x32-10: four random `u32` of a counter (four `u32`) and a key (two)."""
    a, b, c, d = u32(counter[0]), u32(counter[1]), u32(counter[2]), u32(counter[3])
    k, m = u32(key[0]), u32(key[1])
    for _ in range(ROUNDS):
        first = u64(a) * MULTIPLIERS[0]
        second = u64(c) * MULTIPLIERS[1]
        a, c = u32(second >> 32) ^ b ^ k, u32(first >> 32) ^ d ^ m
        b, d = u32(second), u32(first)
        k, m = u32(k + WEYL[0]), u32(m + WEYL[1])
    return a, b, c, d


@lend.function
def block(seed: int, index: int) -> tuple[float, float]:
    """Two numbers, uniform in [0, 1), of 53 bits each: the block `index` of the sequence of a seed."""
    at, key = u64(index), u64(seed)
    a, b, c, d = philox4x32((u32(at), u32(at >> 32), u32(0), u32(0)), (u32(key), u32(key >> 32)))
    first = (u64(a) << 32 | u64(b)) >> 11
    second = (u64(c) << 32 | u64(d)) >> 11
    return f64(first) * 2.0**-53, f64(second) * 2.0**-53


@lend.function
def uniform_at(seed: int, index: int) -> float:
    """Number `index` of the uniform sequence of a seed: an `f64` in [0, 1)."""
    first, second = block(seed, u64(index) >> 1)
    return second if u64(index) & 1 == 1 else first


@lend.function
def normal_at(seed: int, index: int) -> float:
    """Number `index` of the normal sequence of a seed: an `f64` of mean 0 and variance 1, by Box and Muller."""
    first, second = block(seed, u64(index) >> 1)
    turn = second * (2.0 * math.pi) - f64(u64(index) & 1) * (0.5 * math.pi)
    return math.sqrt(-2.0 * math.log(1.0 - first)) * math.cos(turn)


@lend.function
def uniform_form(n: Any, seed: Any = 0, start: Any = 0) -> Any:
    """Numbers `start` to `start + n` of the uniform sequence of a seed."""
    y = lend.empty(f64, n)
    for i in lend.grid(n):
        y[i] = uniform_at(seed, u64(start) + u64(i))
    return y


@lend.function
def normal_form(n: Any, seed: Any = 0, start: Any = 0) -> Any:
    """Numbers `start` to `start + n` of the normal sequence of a seed."""
    y = lend.empty(f64, n)
    for i in lend.grid(n):
        y[i] = normal_at(seed, u64(start) + u64(i))
    return y


@late_kernel
def uniform_kernel(n: i64, seed: u64, start: u64) -> Any:
    """`uniform`, judged."""
    return uniform_form(n, seed, start)


@late_kernel
def normal_kernel(n: i64, seed: u64, start: u64) -> Any:
    """`normal`, judged."""
    return normal_form(n, seed, start)


# ----------------------------------------------------------------------------------------------------------- from Python


@in_kernels(uniform_form)
def uniform(n: int, seed: int = 0, start: int = 0) -> NDArray[np.float64]:
    """Numbers `start` to `start + n` of the uniform sequence of a seed: `f64` in [0, 1), of 53 random bits each.

    Raises ArgumentError for negative arguments and for those of more than 64 bits.
    """
    return uniform_kernel(*_judged("uniform", n, seed, start))


@in_kernels(normal_form)
def normal(n: int, seed: int = 0, start: int = 0) -> NDArray[np.float64]:
    """Numbers `start` to `start + n` of the normal sequence of a seed: `f64` of mean 0 and variance 1, by Box and Muller.

    Raises ArgumentError for negative arguments and for those of more than 64 bits.
    """
    return normal_kernel(*_judged("normal", n, seed, start))


def _judged(function: str, n: int, seed: int, start: int) -> tuple[int, int, int]:
    found = count(n, function, "n"), count(seed, function, "seed"), count(start, function, "start")
    if max(found) >= 1 << 64:
        raise ArgumentError(f"{function}: {max(found)} has more than 64 bits")
    return found
