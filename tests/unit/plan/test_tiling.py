"""What runs together in well-known loops, on a machine with vectors of 64 bytes and 32 registers, and why."""

from __future__ import annotations

from math import prod
from typing import Any

import pytest
from planned import region_of

import lend
from lend import Index, Mut, Offsets, Out, Ref, complex128, f32, f64, i32, i64
from lend.dims import K, M, N
from lend.plan.tiling import Obstacle, Tiling


class N1(lend.Dim):
    equals = N + 1


@lend.kernel
def gemm(a: Ref[f32, N, K], b: Ref[f32, K, M], c: Out[f32, N, M]):
    for i, j in lend.grid(N, M):
        s = f32(0)
        for k in range(K):
            s += a[i, k] * b[k, j]
        c[i, j] = s


@lend.kernel
def matvec(a: Ref[f64, N, K], x: Ref[f64, K], y: Out[f64, N]):
    for i in lend.grid(N):
        s = 0.0
        for k in range(K):
            s += a[i, k] * x[k]
        y[i] = s


@lend.kernel
def stencil(u: Ref[f64, N, M], v: Mut[f64, N, M]):
    for i, j in lend.grid((1, N - 1), (1, M - 1)):
        v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


@lend.kernel
def mandelbrot(out: Out[i32, N, M]):
    for i, j in lend.grid(N, M):
        cr, ci = f64(j) / f64(M), f64(i) / f64(N)
        x, y, n = 0.0, 0.0, i32(0)
        while x * x + y * y <= 4.0 and n < 100:
            x, y = x * x - y * y + cr, 2.0 * x * y + ci
            n += 1
        out[i, j] = n


@lend.kernel
def csr(start: Ref[Offsets[K], N1], at: Ref[Index[M], K], v: Ref[f64, K], x: Ref[f64, M], y: Out[f64, N]):
    for i in lend.grid(N):
        s = 0.0
        for k in range(start[i], start[i + 1]):
            s += v[k] * x[at[k]]
        y[i] = s


@lend.kernel
def total(x: Ref[f32, N]) -> f32:
    s = f32(0)
    for i in lend.grid(N):
        s += x[i]
    return s


@lend.kernel
def by_columns(a: Ref[f64, M, N], b: Out[f64, M, N]):
    for i, j in lend.grid(N, M):
        b[j, i] = 2.0 * a[j, i]


@lend.kernel
def sums_of_columns(a: Ref[f64, K, N], y: Out[f64, N]):
    for j in lend.grid(N):
        s = 0.0
        for k in range(K):
            s += a[k, j]
        y[j] = s


def tiling_of(kernel: Any, vector_bytes: int = 64) -> Tiling:
    found = region_of(kernel, vector_bytes).tiling
    assert found is not None
    return found


def test_a_matrix_product_shares_rows_of_one_operand_and_columns_of_the_other() -> None:
    """Vectors along the columns that `b` and `c` have in a row; several rows of `a` use each vector of `b`."""
    tiling = tiling_of(gemm)
    assert (tiling.vector, tiling.lanes) == (1, 16)
    accumulators = tiling.vectors * tiling.jam[0]
    assert tiling.vectors > 1 and tiling.jam[0] > 1
    assert 8 <= accumulators <= 30, "enough to hide the latency, no more than there are registers"
    assert tiling.order == (1, 0), "a panel of `b` stays near while the rows of `a` pass"


@pytest.mark.parametrize(("bytes", "registers"), [(32, 16), (16, 16)])
def test_fewer_registers_hold_a_smaller_tile(bytes: int, registers: int) -> None:
    tiling = tiling_of(gemm, bytes)
    assert tiling.lanes == bytes // 4
    assert tiling.vectors * tiling.jam[0] + tiling.vectors < registers


def test_rows_that_lie_apart_are_jammed_without_vectors() -> None:
    """Lanes would gather `a`: rows side by side share what is read of `x`, and each keeps its order of additions."""
    tiling = tiling_of(matvec)
    assert tiling.lanes == 1 and tiling.volume > 1


def test_columns_are_read_in_long_pieces_of_each_row() -> None:
    tiling = tiling_of(sums_of_columns)
    assert tiling.by_row and tiling.lanes * tiling.vectors == 64


@pytest.mark.parametrize("kernel", [matvec, sums_of_columns])
@pytest.mark.parametrize(("iterations", "steps"), [(400, 400), (512, 512), (3000, 5), (20, 10**6)])
def test_chunks_are_whole_tiles(kernel: Any, iterations: int, steps: int) -> None:
    """A part of a tile would take as long as the whole."""
    region = region_of(kernel)
    assert region.tiling is not None
    assert region.chunk(iterations, 4 * steps) % region.tiling.volume == 0


def test_a_stencil_runs_along_its_rows() -> None:
    tiling = tiling_of(stencil)
    assert tiling.by_row and tiling.lanes == 8 and prod(tiling.jam) == 1


def test_a_loop_that_ends_anywhere_runs_in_lanes_with_several_vectors_for_its_latency() -> None:
    tiling = tiling_of(mandelbrot)
    assert (tiling.vector, tiling.lanes) == (1, 8)
    assert tiling.volume > tiling.lanes


def test_rows_of_unlike_lengths_with_gathers_are_left_alone() -> None:
    region = region_of(csr)
    assert region.tiling is None and region.untiled is not None
    assert region.untiled.obstacle is Obstacle.COST


@pytest.mark.parametrize("bytes", [16, 32, 64])
def test_a_reduction_fills_the_lanes_of_its_tree(bytes: int) -> None:
    tiling = tiling_of(total, bytes)
    assert tiling.lanes * tiling.vectors == 64 and tiling.lanes == bytes // 4


def test_vectors_lie_along_the_dimension_whose_elements_are_neighbours() -> None:
    tiling = tiling_of(by_columns)
    assert (tiling.vector, tiling.lanes) == (0, 8)
    assert not tiling.by_row


@lend.kernel
def promised(x: Mut[f64, M], where: Ref[Index[M], N]):
    for i in lend.grid(N):
        with lend.unchecked("distinct"):
            x[where[i]] += 1.0


@lend.kernel
def checked(x: Ref[f64, M], where: Ref[i64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = x[where[i]]


@lend.kernel
def complex_numbers(x: Mut[complex128, N]):
    for i in lend.grid(N):
        x[i] *= 2.0


@lend.kernel
def private_array(x: Ref[i64, N, M], y: Out[i64, N]):
    for i in lend.grid(N):
        counts = lend.local(i64, 4)
        for j in range(4):
            counts[j] = 0
        for j in range(M):
            counts[x[i, j] & 3] += 1
        y[i] = counts[0]


@lend.kernel
def stepping(y: Mut[i64, N], by: i64):
    assert by > 0
    for i in lend.grid(N):
        s = 0
        for k in range(0, i, by):
            s += k
        y[i] = s


@lend.kernel
def a_way_out_of_each_step(x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        s = 0.0
        for k in lend.static_range(100):
            s += k * x[i]
            if s > 1000.0:
                break
        y[i] = s


@pytest.mark.parametrize(
    ("kernel", "obstacle"),
    [
        (a_way_out_of_each_step, Obstacle.NONE_FITS),
        (promised, Obstacle.PROMISE),
        (checked, Obstacle.CHECK),
        (complex_numbers, Obstacle.COMPLEX),
        (private_array, Obstacle.LOCAL),
        (stepping, Obstacle.LOOP_STEP),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_cannot_be_tiled_says_why(kernel: Any, obstacle: Obstacle) -> None:
    region = region_of(kernel)
    assert region.tiling is None and region.untiled is not None
    assert region.untiled.obstacle is obstacle


def test_a_row_that_moves_with_the_lanes_keeps_vectors_off_that_dimension() -> None:
    @lend.kernel
    def rows(a: Ref[f64, N, K], b: Ref[f64, K, M], y: Out[f64, N, M]):
        for i, j in lend.grid(N, M):
            row = a[i]
            s = 0.0
            for k in range(K):
                s += row[k] * b[k, j]
            y[i, j] = s

    tiling = tiling_of(rows)
    assert tiling.vector == 1 and tiling.lanes == 8
