"""Kernels that the tests of plain Python look at line by line."""

from __future__ import annotations

from typing import Literal

import lend
from lend import Mut, Ref, f32, f64, i32, i64
from lend.dims import N


@lend.kernel
def saxpy(a: f32, x: Ref[f32, N], y: Mut[f32, N]):
    for i in lend.grid(N):  # saxpy
        y[i] += a * x[i]  # saxpy


@lend.kernel
def fibonacci(n: i32) -> i64:
    a = 0
    b = 1  # fibonacci
    for k in range(n):
        a, b = b, a + b
    return a


@lend.kernel
def every_line(x: Ref[f64, N]) -> f64:
    """Has a docstring."""
    n = 0  # start
    best = 0.0
    count = n
    for i in range(N):
        v = x[i]  # read
        if v < 0:  # sign
            continue  # negative
        if v > best:
            best = v  # larger
        count += 1
    if count > 100:
        best = -best
    return best


@lend.kernel
def total(x: Ref[f64, N]) -> f64:
    s = 0.0
    for i in lend.grid(N):
        s += x[i]  # total
    return s


@lend.function
def clamp(x, low, high):
    if x < low:  # clamp
        return low  # clamp
    return min(x, high)


@lend.kernel
def calls(x: Mut[f64, N]):
    for i in lend.grid(N):
        x[i] = clamp(x[i], 0.0, 1.0)


@lend.kernel
def captures(x: Mut[f64, N], scale: f64):
    shift = scale + 1.0

    def inner(v):
        return v * scale + shift  # inner

    for i in lend.grid(N):
        x[i] = inner(f64(i))


@lend.kernel
def outer(x: Ref[f32, N], y: Mut[f32, N]):
    saxpy(1.0, x, y)
    saxpy(2.0, x, y)


@lend.kernel
def divides(x: Mut[i32, N]):
    for i in lend.grid(N):
        x[i] = 7 // x[i]


@lend.function
def turned(s, v, t):
    s[t] = v  # turned
    lend.sync()  # turned
    return s[3 - t]  # turned


@lend.kernel
def team(x: Mut[f32, N, Literal[4]]) -> f32:
    total = f32(0)
    for b in lend.blocks(N):  # blocks
        s = lend.shared(f32, 4)
        part = f32(0)
        for t in lend.threads(4):  # threads
            n = 3  # constant of the team
            if t == 2:
                x[b, t] += n  # only thread 2
            v = turned(s, x[b, t], t)  # meets
            part += v  # part
            x[b, t] = v
        total += part  # total of blocks
    return total
