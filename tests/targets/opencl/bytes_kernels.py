"""Kernels of which it is known by hand how many bytes a device needs."""

from __future__ import annotations

import lend
from lend import Atomic, Mut, Out, Ref, f32, f64, i32, i64
from lend.dims import K, M, N


@lend.kernel
def filled(y: Mut[f64, N], value: f64):
    for i in lend.grid(N):
        y[i] = value


@lend.kernel
def in_two_halves(x: Ref[f64, N], y: Mut[f64, N]):
    m = N // 2
    for i in lend.grid(m):
        y[i] = x[i]
    for i in lend.grid((m, N)):
        y[i] = -x[i]


@lend.kernel
def written_then_read(x: Ref[f64, N], y: Mut[f64, N], z: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] = 2.0 * x[i]
    for i in lend.grid(N):
        z[i] += y[N - 1 - i]


@lend.kernel
def read_then_written(y: Mut[f64, N], z: Out[f64, N]):
    for i in lend.grid(N):
        z[i] = y[i]
    for i in lend.grid(N):
        y[i] = 0.0


@lend.kernel
def one_dimension(u: Ref[f64, N], v: Mut[f64, N]):
    assert N >= 2
    for i in lend.grid((1, N - 1)):
        v[i] = 0.5 * (u[i - 1] + u[i + 1])


@lend.kernel
def three_dimensions(u: Ref[f32, N, M, K], v: Mut[f32, N, M, K]):
    for i, j, k in lend.grid((1, N - 1), (2, M - 2), (1, K - 1)):
        v[i, j, k] = u[i - 1, j, k] + u[i + 1, j, k] + u[i, j, k - 1] + u[i, j, k + 1]


@lend.kernel
def one_row(y: Mut[f64, N, M]):
    assert N >= 3
    for j in lend.grid(M):
        y[2, j] = 1.0


@lend.kernel
def one_column(y: Mut[f64, N, M]):
    assert M >= 3
    for i in lend.grid(N):
        y[i, 2] = 1.0


@lend.kernel
def first(y: Mut[i64, N], count: i64):
    assert 0 <= count <= N
    for i in lend.grid(count):
        y[i] = i


@lend.kernel
def from_to(y: Mut[i32, N], low: i64, high: i64):
    assert 0 <= low <= high <= N
    for i in lend.grid((low, high)):
        y[i] += i32(1)


@lend.kernel
def every_other(y: Mut[f64, N]):
    for i in lend.grid((0, N, 2)):
        y[i] = 1.0


@lend.kernel
def sometimes(x: Ref[f64, N], y: Mut[f64, N]):
    for i in lend.grid((1, N - 1)):
        if x[i] > 0.0:
            y[i] = x[i]


@lend.kernel
def if_asked(y: Mut[f64, N], asked: i64):
    if asked > 0:
        for i in lend.grid(N):
            y[i] = 1.0


@lend.kernel
def through_a_view(x: Ref[f64, N], y: Mut[f64, N]):
    assert N >= 4
    inner = y[2 : N - 2]
    for i in lend.grid(N - 4):
        inner[i] = x[i + 1]


@lend.kernel
def one_of_two(x: Mut[f64, N], y: Mut[f64, N], which: i64):
    chosen = x if which > 0 else y
    for i in lend.grid((1, N - 1)):
        chosen[i] = 1.0


@lend.kernel
def counted(x: Ref[i64, N], bins: Atomic[i32, M]):
    for i in lend.grid(N):
        bins[x[i] % M] += 1


@lend.kernel
def heat(u: Mut[f64, N, M], v: Mut[f64, N, M], steps: i64):
    assert N >= 2 and M >= 2
    for _ in range(steps):
        for i, j in lend.grid((1, N - 1), (1, M - 1)):
            v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        for i, j in lend.grid((1, N - 1), (1, M - 1)):
            u[i, j] = v[i, j]


@lend.kernel
def filled_plane(y: Mut[f64, N, M], value: f64):
    for i, j in lend.grid(N, M):
        y[i, j] = value


@lend.kernel
def tripled(x: Ref[f64, N, M], y: Out[f64, N, M]):
    for i, j in lend.grid(N, M):
        y[i, j] = 3.0 * x[i, j]


@lend.kernel
def scaled_between(x: Mut[f64, N], begin: i64, end: i64):
    assert 0 <= begin <= end <= N
    for i in lend.grid((begin, end)):
        x[i] *= 2.0


@lend.kernel
def swapped(u: Mut[f64, N, M], v: Mut[f64, N, M], steps: i64):
    assert N >= 2 and M >= 2
    for _ in range(steps):
        for i, j in lend.grid((1, N - 1), (1, M - 1)):
            v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        u, v = v, u


@lend.kernel
def swapped_while(u: Mut[f64, N], v: Mut[f64, N], steps: i64) -> f64:
    left, total = steps, 0.0
    while left > 0:
        for i in lend.grid((2, N)):
            v[i] = u[i - 1]
        u, v = v, u
        left -= 1
    for i in lend.grid(N):
        total += u[i]
    return total


@lend.kernel
def swapped_parts(u: Mut[f64, N], v: Mut[f64, N], steps: i64):
    """Names that stand for parts of one array or of another."""
    assert N >= 4
    a, b = u[1:], v[1:]
    for _ in range(steps):
        for i in lend.grid(N - 1):
            b[i] = 2.0 * a[i]
        a, b = b, a


@lend.kernel
def one_part_or_another(u: Mut[f64, N], which: i64):
    assert N >= 8
    part = u[1:3] if which > 0 else u[4:7]
    for i in lend.grid(part.shape[0]):
        part[i] += 1.0


@lend.kernel
def one_row_or_another(u: Mut[f64, N, M], which: i64):
    assert N >= 8
    row = u[2] if which > 0 else u[5]
    for j in lend.grid(M):
        row[j] = 1.0


@lend.kernel
def part_of_one_of_two(u: Mut[f64, N], v: Mut[f64, N], which: i64):
    assert N >= 12
    part = u[1:9:3] if which > 0 else v[2:11:3]
    for i in lend.grid(3):
        part[i] = 1.0


@lend.kernel
def part_of_a_part(u: Mut[f64, N], steps: i64):
    """The name stands for less each time, of which the end is written."""
    assert 0 <= steps and 2 * steps <= N - 4
    part = u[1 : N - 1]
    for _ in range(steps):
        n = part.shape[0]
        for i in lend.grid(n):
            part[i] += 1.0
        part = part[: n - 1]


@lend.kernel
def whole_or_part(u: Mut[f64, N], which: i64):
    assert N >= 8
    part = u if which > 0 else u[2:]
    for i in lend.grid(4):
        part[i] = 1.0


@lend.kernel
def given_back(y: Mut[f64, N]):
    for i in lend.grid((0, N - 1)):
        y[i] = 1.0
    return y


@lend.kernel
def out_of_bounds(x: Ref[i64, N], y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] = f64(x[x[i]])


@lend.kernel
def only_read(x: Mut[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = x[i]
