"""Kernels whose code for devices that need not be here is looked at, and how it is made."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import pytest

import lend
from lend import Index, Mut, Out, Ref, Vec, bf16, bool_, complex64, f16, f32, f64, i8, i32, i64, u64
from lend.diagnostics.errors import DeviceError
from lend.dims import K, M, N
from lend.driver.inspected import DeviceLowered, named_target
from lend.driver.kernel import Kernel


@lend.kernel
def saxpy(a: f32, x: Ref[f32, N], y: Mut[f32, N]):
    for i in lend.grid(N):
        y[i] += a * x[i]


@lend.kernel
def update(x: Ref[f64, N], y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] += x[i]


@lend.kernel
def five_points(u: Ref[f32, N, M], v: Mut[f32, N, M]):
    for i, j in lend.grid((1, N - 1), (1, M - 1)):
        v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


@lend.kernel
def product(a: Ref[f64, N, K], b: Ref[f64, K, M], c: Out[f64, N, M]):
    for i, j in lend.grid(N, M):
        s = 0.0
        for k in range(K):
            s += a[i, k] * b[k, j]
        c[i, j] = s


@lend.kernel
def dot(x: Ref[f64, N], y: Ref[f64, N]) -> f64:
    s = 0.0
    for i in lend.grid(N):
        s += x[i] * y[i]
    return s


@lend.kernel
def least(x: Ref[f32, N]) -> tuple[f32, i64]:
    best = (f32(math.inf), i64(-1))
    for i in lend.grid(N):
        best = min(best, (x[i], i))
    return best


@lend.kernel
def gathered(where: Ref[Index[M, i32], N], x: Ref[f64, M], y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = x[where[i]]


@lend.kernel
def looked_up(where: Ref[i32, N], x: Ref[f64, M], y: Out[f64, N]):
    """Keeps its tests."""
    for i in lend.grid(N):
        y[i] = x[where[i]]


@lend.kernel
def library(x: Ref[f32, N], y: Ref[f64, N], p: Out[f32, N], q: Out[f64, N]):
    for i in lend.grid(N):
        p[i] = math.sin(x[i]) + math.exp(x[i]) + math.pow(x[i], f32(0.3)) + math.tanh(x[i]) + math.erf(x[i]) + x[i] % f32(3)
        q[i] = math.cos(y[i]) + math.log(y[i]) + math.atan2(y[i], 2.0) + math.lgamma(y[i]) + math.cbrt(y[i]) + min(y[i], 0.0)


@lend.kernel
def narrow(
    a: Ref[f16, N], b: Ref[bf16, N], c: Ref[i8, N], d: Ref[bool_, N], e: Ref[complex64, N], f: Out[complex64, N], g: Out[u64, N]
):
    for i in lend.grid(N):
        f[i] = e[i] * f32(a[i]) if d[i] else e[i] + f32(b[i])
        g[i] = u64(i64(c[i]) // 3 + i64(c[i]) % 5)


@lend.struct
class Particle:
    x: f32
    alive: bool_
    mass: f64


@lend.kernel
def records(p: Mut[Particle, N], dt: f32):
    for i in lend.grid(N):
        if p[i].alive:
            p[i].x += dt
        p[i].mass += 1.0


@lend.kernel
def private(x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        seen = lend.local(f64, 8)
        for k in range(8):
            seen[k] = x[i] + f64(k)
        y[i] = seen[i % 8]


Three = Vec[f32, Literal[3]]


@lend.struct
class Body:
    place: Three
    mass: f64
    speed: Three


@lend.kernel
def vectors(p: Mut[Three, N], b: Mut[Body, N], by: Three, k: i64):
    assert 0 <= k < 3
    for i in lend.grid(N):
        v = by * b[i].speed
        v[k] += 1.0
        b[i].place += v
        p[i] = min(p[i], b[i].place)
        p[i][k] -= v[2 - k]


ALL = [saxpy, five_points, product, dot, least, gathered, looked_up, library, narrow, records, vectors, private]


def lowered(kernel: Kernel[..., Any], target: str) -> DeviceLowered:
    """A kernel's code for the types of its signature."""
    found = named_target(target)
    assert found is not None
    return DeviceLowered(next(iter(kernel.compilations())).fresh(), found)


def needs(*tools: Callable[[], object]) -> pytest.MarkDecorator:
    """Skips tests where a vendor's tool or library is not installed, and says which."""
    missing = ""
    for tool in tools:
        try:
            tool()
        except DeviceError as error:
            missing = str(error)
    return pytest.mark.skipif(bool(missing), reason=missing or "everything is there")


def lowered_for(kernel: Kernel[..., Any], target: str, elements: int) -> DeviceLowered:
    """The same with so many elements for each thread."""
    found = named_target(target)
    assert found is not None
    compilation = next(iter(kernel.compilations())).fresh()
    compilation.elements = elements
    return DeviceLowered(compilation, found)
