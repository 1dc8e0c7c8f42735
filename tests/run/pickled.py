"""Kernels in a module of their own, for processes that import it by name."""

import numpy as np

import lend
from lend import Mut, Ref, f64, i64, u64
from lend.dims import N


@lend.kernel
def double(x: Mut[f64, N]):
    for i in lend.grid(N):
        x[i] *= 2


@lend.kernel
def total(x: Ref[f64, N]) -> f64:
    s = 0.0
    for i in lend.grid(N):
        s += x[i]
    return s


@lend.kernel
def spin(steps: i64) -> u64:
    """Keeps one processor busy without touching Python."""
    h = u64(88172645463325252)
    for _ in range(steps):
        h ^= h << 13
        h ^= h >> 7
        h ^= h << 17
    return h


@lend.struct
class Point:
    x: f64
    y: f64


@lend.kernel
def mirrored(p: Point) -> Point:
    return Point(p.y, p.x)


def total_of_ones(size):
    """Runs in a child process."""
    return float(total(np.ones(size)))


def call(kernel, size):
    """Runs a kernel that was sent to this process."""
    x = np.ones(size)
    kernel(x)
    return float(x.sum())
