"""Kernels of the tests of devices."""

from __future__ import annotations

import lend
from lend import Index, Mut, Out, Ref, bool_, complex64, f16, f32, f64, i8, i32, i64, u16
from lend.dims import K, L, M, N


@lend.struct
class Particle:
    kind: i8
    x: f64
    mass: f32


@lend.kernel
def saxpy(a: f32, x: Ref[f32, N], y: Mut[f32, N]):
    for i in lend.grid(N):
        y[i] += a * x[i]


@lend.kernel
def twice(x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = 2.0 * x[i]


@lend.kernel
def add(x: Ref[f64, N, M], y: Ref[f64, N, M], z: Out[f64, N, M]):
    for i, j in lend.grid(N, M):
        z[i, j] = x[i, j] + y[i, j]


@lend.kernel
def interior(u: Ref[f64, N, M], v: Mut[f64, N, M]):
    assert N >= 2 and M >= 2
    for i, j in lend.grid((1, N - 1), (1, M - 1)):
        v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


@lend.kernel
def steps(u: Mut[f64, N], v: Mut[f64, N], count: i64):
    assert N >= 2
    for _ in range(count):
        for i in lend.grid((1, N - 1)):
            v[i] = 0.5 * (u[i - 1] + u[i + 1])
        for i in lend.grid((1, N - 1)):
            u[i] = v[i]


@lend.kernel
def positions(y: Out[i64, N, M, K, 3, 2]):
    for a, b, c, d, e in lend.grid(N, M, K, 3, 2):
        y[a, b, c, d, e] = (((a * M + b) * K + c) * 3 + d) * 2 + e


@lend.kernel(math="strict")
def sums(x: Ref[f32, N], y: Ref[f64, N]) -> tuple[f32, f64, i64, bool_]:
    s, t, n, any_negative = f32(0), 0.0, 0, bool_(False)
    for i in lend.grid(N):
        s += x[i] * x[i]
        t += y[i]
        n += i64(i % 7)
        any_negative |= x[i] < 0
    return s, t, n, any_negative


@lend.kernel
def smallest(x: Ref[f32, N]) -> tuple[f32, i64]:
    assert N >= 1
    best = (x[0], 0)
    for i in lend.grid(N):
        best = min(best, (x[i], i))
    return best


@lend.kernel
def shifted(x: Ref[f32, N], y: Out[f32, N], by: i64):
    for i in lend.grid(N):
        y[i] = x[i + by]


@lend.kernel
def quotients(x: Ref[i32, N, M], y: Ref[i32, N, M], q: Out[i32, N, M]):
    for i, j in lend.grid(N, M):
        q[i, j] = x[i, j] // y[i, j]


@lend.kernel
def halves(x: Ref[f64, N]):
    y = lend.empty(f64, N)
    z = lend.zeros(f64, N)
    for i in lend.grid(N):
        y[i] = 0.5 * x[i]
    return y, z, x


@lend.kernel
def everything(
    a: i8, b: u16, c: f16, d: f32, e: f64, g: bool_, h: complex64, p: Particle, xs: tuple[Ref[f32, N], ...], ps: Mut[Particle, N]
) -> tuple[f64, complex64]:
    total = 0.0
    for i in lend.grid(N):
        s = f64(a) + f64(b) + f64(c) + f64(d) + e + f64(g) + p.x + f64(p.mass) + f64(p.kind)
        for k in lend.static_range(len(xs)):
            s += f64(xs[k][i])
        ps[i].x += s
        ps[i].kind = i8(1) - ps[i].kind
        total += s
    return total, h * h


@lend.kernel
def gather(x: Ref[f64, N], where: Ref[Index[N], M], y: Out[f64, M]):
    for i in lend.grid(M):
        y[i] = x[where[i]]


FACTOR = 2.0


@lend.kernel
def scaled(x: Mut[f64, N]):
    for i in lend.grid(N):
        x[i] *= FACTOR


@lend.kernel(math="strict")
def strict_saxpy(a: f32, x: Ref[f32, N], y: Mut[f32, N]):
    for i in lend.grid(N):
        y[i] += a * x[i]


@lend.kernel(math="strict")
def strict_five_points(u: Ref[f32, N, M], v: Mut[f32, N, M]):
    for i, j in lend.grid((1, N - 1), (1, M - 1)):
        v[i, j] = f32(0.25) * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


@lend.kernel(math="strict")
def strict_product(a: Ref[f64, N, K], b: Ref[f64, K, M], c: Out[f64, N, M], last: i64):
    for i, j in lend.grid(N, M):
        s = 0.0
        for k in range(K):
            s += a[i, k] * b[k, j]
            if k == last:
                break
        c[i, j] = s


@lend.kernel(math="strict")
def branches(x: Ref[f64, N], y: Mut[f64, N], first: i64):
    for i in lend.grid((first, N)):
        if i >= 0:
            if first > 1:
                y[i] += x[i] + f64(i)
            elif x[i] > 0.5:
                y[i] = 2.0 * x[i]
            else:
                s = y[i]
                for k in range(3):
                    s += x[i] * f64(k)
                y[i] = s


@lend.kernel
def mixed(x: Ref[i8, N, M, K, L], y: Ref[f32, N, M, K, L], z: Out[f64, N, M, K, L]):
    for i, j, k, m in lend.grid(N, M, K, L):
        z[i, j, k, m] = f64(x[i, j, k, m]) + y[i, j, k, m]
