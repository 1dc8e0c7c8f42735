"""The public names as a typed user uses them. pyright reads this file in strict mode, and `test_public_surface.py` runs it.

`assert_type` fails the check where lend's types say something else than a user would expect.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Literal, assert_type

import numpy as np
from numpy.typing import NDArray

import lend
from lend import Atomic, Index, Mut, Offsets, Out, Ref, T, Unique, Vec, complex64, comptime, f32, f64, i32, i64, u8
from lend.dims import H, M, N, W


class Rows(lend.Dim): ...


class Borders(lend.Dim):
    equals = Rows + 1


@lend.struct
class Particle:
    x: f64
    v: f64
    dtype: ClassVar[np.dtype[Any]]  # for type checkers, which cannot know that the decorator adds it


Point = Vec[f32, Literal[3]]


@lend.struct
class Body:
    place: Point
    speed: Vec[f32, Literal[3]]


@lend.function
def clamp(position: i64, last: i64) -> i64:
    return min(max(position, 0), last)


@lend.function
def bounce(particle: Particle, wall: f64) -> Particle:
    return Particle(2.0 * wall - particle.x, -particle.v) if particle.x > wall else particle


@lend.kernel
def saxpy(a: f32, x: Ref[f32, N], y: Mut[f32, N]):
    for i in lend.grid(N):
        y[i] += a * x[i]


@lend.kernel(math="strict")
def norm(x: Ref[f64, N]) -> f64:
    assert N > 0
    total = f64(0)
    for i in lend.grid(N):
        total += x[i] * x[i]
    return math.sqrt(total)


@lend.kernel
def shift(image: Ref[u8, H, W], out: Out[u8, H, W], by: i32 = 1, *, R: comptime[int] = 2):
    for i, j in lend.grid(H, (0, W, 1)):
        for k in range(-R, R + 1):
            out[i, j] = image[i, clamp(j + k + by, W - 1)]


@lend.kernel
def statistics(x: Ref[f64, N]) -> tuple[f64, f64, i64]:
    total = f64(0)
    best = (x[0], 0)
    for i in lend.grid(N):
        total += x[i]
        best = min(best, (x[i], i))
    return total / N, best[0], best[1]


@lend.kernel
def widths(borders: Ref[f64, Borders], out: Mut[f64, Rows]):
    for i in lend.grid(Rows):
        out[i] = borders[i + 1] - borders[i]


@lend.kernel(require="proved")
def ones(y: Out[f32, N]):
    for i in lend.grid(N):
        y[i] = 1.0


@lend.kernel
def reverse(x: Ref[T, N], y: Mut[T, N]):
    for i in lend.grid(N):
        y[i] = x[N - 1 - i]


@lend.kernel
def folded(x: Ref[f64, N], y: Mut[f64, N]):
    middle: i64 = N // 2
    for i in lend.grid(N):
        y[i] = x[clamp(2 * i, N) % N] / N + x[middle] * min(N, 8)


@lend.kernel
def drift(particles: Mut[Particle, N], wall: f64):
    for i in lend.grid(N):
        particles[i] = bounce(particles[i], wall)


@lend.kernel
def bounds(points: Ref[Point, N], by: Point) -> tuple[Point, Point]:
    total, least = Point(0), Point(math.inf)
    for i in lend.grid(N):
        total += points[i] * by - 2 * by
        least = min(least, points[i], abs(by))
    x, y, z = total / 2
    assert_type(by[0], float)
    assert_type(by + by * 2 - 1, Point)
    least[0] = x * sum(least) + len(least)
    return Point(x, y, z), least


@lend.kernel
def move(bodies: Mut[Body, N], dt: f32):
    for i in lend.grid(N):
        bodies[i].place += bodies[i].speed * dt


@lend.kernel
def sum_all(arrays: tuple[Ref[f64, N], ...], out: Mut[f64, N]):
    for i in lend.grid(N):
        for array in arrays:
            out[i] += array[i]


@lend.kernel
def apply(x: Mut[f32, N], function: comptime[Callable[[f32], f32]]):
    for i in lend.grid(N):
        x[i] = function(x[i])


@lend.kernel
def rotate(z: Mut[complex64, N], points: Ref[f32, M, Literal[2]]):
    assert M >= N
    for i in lend.grid(N):
        z[i] = z[i] * complex(points[i, 0], points[i, 1])


@lend.kernel
def doubled(x: Ref[f64, N]):
    y = lend.empty(f64, 2 * N)
    for i in lend.grid(N):
        y[2 * i] = x[i]
        y[2 * i + 1] = x[i]
    return y


@lend.kernel
def multiply(
    rows: Ref[Offsets[M], Borders], columns: Ref[Index[N, i32], M], values: Ref[f64, M], x: Ref[f64, N], y: Out[f64, Rows]
):
    for i in lend.grid(Rows):
        total = 0.0
        for k in range(rows[i], rows[i + 1]):
            total += values[k] * x[columns[k]]
        y[i] = total


@lend.kernel
def permute(p: Ref[Unique[N], N], corners: Ref[Index[Literal[3]], N], x: Mut[f64, N]):
    pass


@lend.kernel
def scatter(x: Ref[f64, N], places: Ref[i64, N], y: Mut[f64, N]):
    p = lend.as_unique(places, N)
    for i in lend.grid(N):
        y[p[i]] = x[i]


def element(index: Index[N, i32], offset: Offsets[M], other: Unique[N]) -> int:
    """Elements of index arrays are ints."""
    return index + 2 * offset - other


@lend.kernel
def block_sums(x: Ref[f32, N], counts: Atomic[i32, M], out: Out[f32, N], width: comptime[int] = 64):
    for b in lend.blocks(lend.cdiv(N, width)):
        tile = lend.shared(f32, width)
        seen = lend.shared(Atomic[i32], 4, 2)
        for t in lend.threads(width):
            i = b * width + t
            tile[t] = x[i] if i < N else 0.0
            lend.sync()
            group = lend.subgroup(32)
            total = group.scan_add(tile[width - 1 - t])
            assert_type(total, Any)
            assert_type(group.ballot(total > 0.0), int)
            assert_type(group.shuffle_xor(1.5, 1), float)
            seen[t % 4, 0] += 1
            seen.compare_exchange((group.lane % 4, 1), 0, 1, order="acq_rel")
            if M > 0:
                counts[0] += 1
                counts.max(0, seen.load((0, 0)), order="relaxed")
            if i < N:
                out[i] = total
    for c, d in lend.blocks(1, (0, 1)):
        for t, u, v in lend.threads(2, 2, 2):
            if c + d + t + u + v == 0 and M > 0:
                counts[0] -= 1


def calls(x: NDArray[np.float32], y: NDArray[np.float64], image: NDArray[np.uint8]) -> None:
    """What a program does with kernels."""
    assert_type(saxpy(2.0, x, x.copy()), None)
    length: Callable[[NDArray[np.float64]], float] = norm
    assert_type(length(y), float)
    assert_type(norm(y), float)
    assert_type(folded(y, y.copy()), None)
    assert_type(statistics(y), tuple[float, float, int])
    shift(image, image.copy(), 3, R=1)
    shift(image=image, out=np.empty_like(image))
    widths(y, np.empty(y.size - 1))
    reverse(x, np.empty_like(x))
    multiply(np.zeros(2, np.int64), np.zeros(y.size, np.int32), y, y, np.zeros(1))
    permute(np.arange(y.size), np.zeros(y.size, np.int64), y)
    drift(np.zeros(8, Particle.dtype), 1.0)
    sum_all((y, y), y.copy())
    points = np.zeros((4, 3), np.float32)
    assert_type(bounds(points, Point(1, 2, 3)), tuple[Vec[float, Literal[3]], Vec[float, Literal[3]]])
    move(np.zeros(4, np.dtype([("place", Point.dtype), ("speed", Point.dtype)])), 0.5)
    assert_type(Point(1, 2, 3) * 2 == Point(0), bool)
    assert_type([2.0 * item for item in Point(1, 2, 3)], list[float])
    apply(x, lambda value: value * 2.0)
    rotate(np.zeros(3, np.complex64), np.zeros((3, 2), np.float32))
    block_sums(x, np.zeros(1, np.int32), np.empty_like(x), width=32)
    z: Any = doubled(y)
    assert z.shape == (2 * y.size,)
    made: Any = lend.zeros((2, 3), lend.f32, "cpu")
    assert made.shape == (2, 3) and lend.empty(4).shape == (4,)
    saxpy.py(2.0, x, x.copy())
    assert_type(norm.py(y), float)
    assert_type(ones(x), None)
    for proof in saxpy.proofs():
        assert_type(f"{proof.place}: {proof.verdict}", str)
        assert_type(proof.condition, str | None)
    assert_type(saxpy.proofs(2.0, x, x.copy()).summary, str)
    assert_type(saxpy.lower(2.0, x, x.copy()).llvm, str)
    assert_type(saxpy.lower(2.0, x, x.copy()).asm, str)
    for loop in saxpy.explain(2.0, x, x.copy()).loops:
        assert_type(loop.iterations, int | None)
        assert_type(None if loop.vector is None else loop.vector.elements, int | None)
        assert_type(loop.advice, tuple[str, ...])
        assert_type([access.array for access in loop.accesses if access.pattern == "gathered"], list[str])
        assert_type(None if loop.obstacle is None else loop.obstacle.reason, str | None)
    report = lend.sanitize(norm, seed=1)(y)
    assert_type(report.ok, bool)
    assert_type(report.result, float | None)
    assert_type([place.line for finding in report.findings for place in finding.places], list[int])
    assert_type(saxpy.explain().host[0].waves if saxpy.explain().host else False, bool)


def settings() -> None:
    """What a program may set and read."""
    assert_type(lend.config.threads, int)
    lend.config.threads = 2
    assert_type(lend.config.cache_dir, Path)
    assert_type(lend.cdiv(7, 2), int)
    assert_type(lend.__version__, str)


def errors(x: NDArray[np.float32]) -> tuple[int, ...] | None:
    """What a program may catch."""
    try:
        saxpy(1.0, x, x)
    except lend.BoundsError as error:
        assert_type(error.index, int)
        return error.thread
    except (lend.ArgumentError, lend.ShapeError, lend.ContractError, lend.BorrowError, lend.ArithmeticFault) as error:
        print(error)
    except lend.CompileError as error:
        print([diagnostic.code for diagnostic in error.diagnostics], error.proofs)
    except lend.LendError:
        raise
    return None
