"""Well-known kernels with loops inside: mandelbrot, n-body, prefix sums, CSR, Floyd-Warshall, matrix products."""

import math

import numpy as np
from harness import check

import lend
from lend import Mut, Out, Ref, f32, f64, i32, i64
from lend.dims import D, K, M, N


class N1(lend.Dim):
    equals = N + 1


@lend.kernel
def mandelbrot(out: Out[i32, N, M], limit: i32):
    for i, j in lend.grid(N, M):
        cr = -2.0 + 3.0 * j / M
        ci = -1.5 + 3.0 * i / N
        zr = 0.0
        zi = 0.0
        steps = i32(0)
        while zr * zr + zi * zi <= 4.0 and steps < limit:
            zr, zi = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci
            steps += 1
        out[i, j] = steps


@lend.kernel
def n_body(x: Ref[f32, N, 3], mass: Ref[f32, N], force: Out[f32, N, 3], soft: f32):
    for i in lend.grid(N):
        fx = f32(0)
        fy = f32(0)
        fz = f32(0)
        for j in range(N):
            dx = x[j, 0] - x[i, 0]
            dy = x[j, 1] - x[i, 1]
            dz = x[j, 2] - x[i, 2]
            r2 = dx * dx + dy * dy + dz * dz + soft
            s = mass[j] / (r2 * math.sqrt(r2))
            fx += dx * s
            fy += dy * s
            fz += dz * s
        force[i, 0] = fx
        force[i, 1] = fy
        force[i, 2] = fz


@lend.kernel
def prefix_rows(x: Ref[f64, N, M], y: Out[f64, N, M]):
    for i in lend.grid(N):
        running = 0.0
        for j in range(M):
            running += x[i, j]
            y[i, j] = running


@lend.kernel
def csr_matvec(start: Ref[i64, N1], column: Ref[i32, K], value: Ref[f64, K], x: Ref[f64, M], y: Out[f64, N]):
    for i in lend.grid(N):
        total = 0.0
        for k in range(start[i], start[i + 1]):
            total += value[k] * x[column[k]]
        y[i] = total


@lend.kernel
def floyd_warshall(d: Mut[f32, N, N], e: Mut[f32, N, N]):
    for k in range(N):
        for i, j in lend.grid(N, N):
            e[i, j] = min(d[i, j], d[i, k] + d[k, j])
        d, e = e, d


@lend.kernel
def matmul(a: Ref[f64, M, K], b: Ref[f64, K, N], c: Out[f64, M, N]):
    for i, j in lend.grid(M, N):
        total = 0.0
        for k in range(K):
            total += a[i, k] * b[k, j]
        c[i, j] = total


@lend.kernel
def nearest(points: Ref[f32, N, D], centres: Ref[f32, K, D], label: Out[i32, N]) -> f64:
    cost = f64(0)
    for i in lend.grid(N):
        best = f32(math.inf)
        where = -1
        for k in range(K):
            distance = f32(0)
            for d in range(D):
                difference = points[i, d] - centres[k, d]
                distance += difference * difference
            if distance < best:
                best = distance
                where = k
        label[i] = i32(where)
        cost += best
    return cost


@lend.kernel
def edit_distance(a: Ref[i32, N], b: Ref[i32, M], row: Mut[i32, 3, N1]) -> i32:
    """Needleman-Wunsch by anti-diagonals: row s % 3 holds the diagonal s, by i."""
    for s in range(N + M + 1):
        for i in lend.grid((max(0, s - M), min(N, s) + 1)):
            j = s - i
            if i == 0:
                row[s % 3, i] = i32(j)
            elif j == 0:
                row[s % 3, i] = i32(i)
            else:
                change = 0 if a[i - 1] == b[j - 1] else 1
                best = row[(s - 2) % 3, i - 1] + change
                row[s % 3, i] = i32(min(best, row[(s - 1) % 3, i - 1] + 1, row[(s - 1) % 3, i] + 1))
    return row[(N + M) % 3, N]


def test_mandelbrot(target):
    def reference(out, limit):
        n, m = out.shape
        cr = (-2.0 + 3.0 * np.arange(m) / max(m, 1))[None, :]
        ci = (-1.5 + 3.0 * np.arange(n) / max(n, 1))[:, None]
        zr, zi, steps = np.zeros((n, m)), np.zeros((n, m)), np.zeros((n, m), np.int32)
        going = np.ones((n, m), bool)
        for _ in range(limit):
            going &= zr * zr + zi * zi <= 4.0
            steps += going
            zr, zi = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci
        out[...] = steps

    # strict rounding is not asked for, so a point on the edge may differ: few steps keep rounding errors small
    check(
        mandelbrot,
        reference,
        lambda rng, n: (np.zeros((n, n + 3), np.int32), 30),
        target=target,
        sizes=(0, 1, 12, 64),
        python_up_to=12,
    )


def test_n_body(target):
    def reference(x, mass, force, soft):
        if len(x):
            wide = x.astype(np.float64)
            d = wide[None] - wide[:, None]
            r2 = (d * d).sum(-1) + soft
            force[...] = (d * (mass / r2**1.5)[..., None]).sum(1)

    def arguments(rng, n):
        return rng.normal(size=(n, 3)).astype(np.float32), rng.random(n, np.float32), np.zeros((n, 3), np.float32), 0.1

    check(n_body, reference, arguments, target=target, sizes=(0, 1, 9, 150), atol=1e-3, python_up_to=9)


def test_prefix_sum_of_each_row(target):
    def reference(x, y):
        np.cumsum(x, axis=1, out=y)

    check(prefix_rows, reference, lambda rng, n: tuple(rng.random((2, n, n + 1))), target=target, sizes=(0, 1, 17, 120))


def csr(rng, n, m):
    counts = rng.integers(0, 5, n)
    start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return start, rng.integers(0, m, start[-1]).astype(np.int32), rng.random(start[-1])


def test_csr_matvec(target):
    def reference(start, column, value, x, y):
        rows = np.repeat(np.arange(len(y)), np.diff(start))
        y[...] = np.bincount(rows, weights=value * x[column], minlength=len(y))[: len(y)]

    check(csr_matvec, reference, lambda rng, n: (*csr(rng, n, n + 5), rng.random(n + 5), np.zeros(n)), target=target)


def test_floyd_warshall(target):
    def reference(d, e):
        for k in range(len(d)):
            e[...] = np.minimum(d, d[:, k, None] + d[k])
            d, e = e, d

    def arguments(rng, n):
        d = rng.random((n, n), np.float32)
        d[rng.random((n, n)) < 0.5] = np.inf
        return d, np.zeros((n, n), np.float32)

    check(floyd_warshall, reference, arguments, target=target, sizes=(0, 1, 2, 9, 50), rtol=0, python_up_to=9)


def test_matmul(target):
    def reference(a, b, c):
        c[...] = a @ b

    def arguments(rng, n):
        return rng.random((n, n + 1)), rng.random((n + 1, n + 4)), np.zeros((n, n + 4))

    check(matmul, reference, arguments, target=target, sizes=(0, 1, 9, 60), python_up_to=9)


def test_nearest_centre(target):
    def reference(points, centres, label):
        d = ((points[:, None] - centres[None]) ** 2).sum(-1)
        label[...] = d.argmin(1)
        return d.min(1).sum(dtype=np.float64)

    def arguments(rng, n):
        return rng.normal(size=(n, 5)).astype(np.float32), rng.normal(size=(7, 5)).astype(np.float32), np.zeros(n, np.int32)

    check(nearest, reference, arguments, target=target, sizes=(0, 1, 17, 1500), rtol=1e-5)


def test_edit_distance_by_diagonals(target):
    def distance(a, b):
        previous = list(range(len(b) + 1))
        for i, x in enumerate(a, 1):
            now = [i]
            for j, y in enumerate(b, 1):
                now.append(min(previous[j - 1] + (x != y), previous[j] + 1, now[-1] + 1))
            previous = now
        return previous[-1]

    for n, m in ((0, 0), (1, 0), (0, 4), (17, 12), (150, 201)):
        rng = np.random.default_rng(n)
        a, b = rng.integers(0, 4, n).astype(np.int32), rng.integers(0, 4, m).astype(np.int32)
        assert edit_distance(a, b, np.zeros((3, n + 1), np.int32)) == distance(a, b)
        if n < 20:
            assert edit_distance.py(a, b, np.zeros((3, n + 1), np.int32)) == distance(a, b)
