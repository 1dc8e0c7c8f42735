"""Which parallel loops become one, and what is left of them."""

from __future__ import annotations

from typing import Any

import pytest

import lend
from lend import Mut, Out, Ref, f64, i64
from lend.dims import M, N
from lend.driver.pipeline import run
from lend.ir import typed


def scheduled(kernel: Any) -> typed.Kernel:
    """The tree that is planned."""
    made = run(next(iter(kernel.compilations())), until="schedule").scheduled
    assert made is not None
    return made


def loops(region: typed.Region) -> list[typed.Parallel]:
    """The parallel loops in a region of the host level."""
    found: list[typed.Parallel] = []
    for operation in region.operations:
        if isinstance(operation, typed.Parallel):
            found.append(operation)
        else:
            for inner in operation.regions:
                found += loops(inner)
    return found


def loads(loop: typed.Parallel) -> list[str | None]:
    """The arrays that a loop reads, by name."""
    return [operation.array.name for operation in loop.body.operations if isinstance(operation, typed.Load)]


@lend.kernel
def step_of_descent(x: Mut[f64, N], r: Mut[f64, N], p: Ref[f64, N], a: f64) -> f64:
    for i in lend.grid(N):
        r[i] -= a * p[i]
    for i in lend.grid(N):
        x[i] += 2.0 * p[i]
    total = 0.0
    for i in lend.grid(N):
        total += r[i] * r[i]
    return total


def test_neighbours_become_one_and_hand_on_what_they_store() -> None:
    (loop,) = loops(scheduled(step_of_descent).body)
    assert len(loop.reductions) == 1 and loop.independent
    assert loads(loop) == ["r", "p", "x", "p"]
    assert not loop.final_writes or "r" not in loads(loop)[1:]


@lend.kernel
def through_a_temporary(x: Ref[f64, N, M], y: Out[f64, N, M]):
    assert N >= 2
    t = lend.empty(f64, N, M)
    for i, j in lend.grid(N, M):
        t[i, j] = 2.0 * x[i, j]
    for k, m in lend.grid((0, N), (0, M)):
        y[k, m] = t[k, m] + x[k, m]


def test_names_of_indices_and_ways_to_write_a_box_do_not_count() -> None:
    (loop,) = loops(scheduled(through_a_temporary).body)
    assert loads(loop) == ["x", "x"]
    assert loop.final_writes


@lend.kernel
def in_a_loop(x: Mut[f64, N], y: Mut[f64, N], steps: i64):
    for t in range(steps):
        for i in lend.grid(N):
            y[i] = 0.5 * x[i]
        for i in lend.grid(N):
            x[i] = y[i] + t


def test_neighbours_in_a_loop_of_the_host_level() -> None:
    assert len(loops(scheduled(in_a_loop).body)) == 1


@lend.kernel
def stencil(x: Mut[f64, N], y: Mut[f64, N]):
    for i in lend.grid((1, N - 1)):
        y[i] = x[i - 1] + x[i + 1]
    for i in lend.grid((1, N - 1)):
        x[i] = y[i]


@lend.kernel
def reads_a_neighbour(x: Ref[f64, N], y: Mut[f64, N], z: Mut[f64, N]):
    for i in lend.grid((1, N)):
        y[i] = 2.0 * x[i]
    for i in lend.grid((1, N)):
        z[i] = y[i - 1]


@lend.kernel
def needs_the_sum(x: Ref[f64, N], y: Out[f64, N]):
    total = 0.0
    for i in lend.grid(N):
        total += x[i]
    for i in lend.grid(N):
        y[i] = x[i] / total


@lend.kernel
def needs_the_sum_by_a_scalar(x: Ref[f64, N], y: Out[f64, N]):
    total = 0.0
    for i in lend.grid(N):
        total += x[i]
    scale = 1.0 / total
    for i in lend.grid(N):
        y[i] = x[i] * scale


@lend.kernel
def sums_on(x: Ref[f64, N], y: Ref[f64, N]) -> f64:
    total = 0.0
    for i in lend.grid(N):
        total += x[i]
    for i in lend.grid(N):
        total += x[i] * y[i]
    return total


@lend.kernel
def other_boxes(x: Ref[f64, N], y: Out[f64, N], z: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] = x[i]
    for i in lend.grid((1, N)):
        z[i] = x[i]


@lend.kernel
def another_dimension(x: Mut[f64, N, M], y: Out[f64, N, M]):
    assert N >= 1
    for i, j in lend.grid(N, M):
        y[i, j] = x[i, j]
    for j in lend.grid(M):
        x[0, j] = y[0, j]
    for i, j in lend.grid(N, M):
        y[i, j] = 2.0 * y[i, j]
    for i, j in lend.grid(N, M):
        x[i, j] = 2.0 * y[i, j]


def test_loops_of_another_dimension_stand_between() -> None:
    assert [len(loop.box) for loop in loops(scheduled(another_dimension).body)] == [2, 1, 2]


@lend.kernel
def nothing_shared(x: Ref[f64, N], y: Out[f64, N], z: Out[f64, N], w: Ref[f64, N]):
    for i in lend.grid(N):
        y[i] = x[i]
    for i in lend.grid(N):
        z[i] = w[i]


@lend.kernel
def an_element_between(x: Ref[f64, N], y: Mut[f64, N], z: Out[f64, N]):
    assert N >= 1
    for i in lend.grid(N):
        y[i] = x[i]
    first = y[0]
    for i in lend.grid(N):
        z[i] = x[i] + first


@lend.kernel
def fixed_element(x: Mut[f64, N], y: Out[f64, N]):
    assert N >= 1
    for i in lend.grid((1, N)):
        x[i] = 2.0 * x[i]
    for i in lend.grid((1, N)):
        y[i] = x[N - 1]
    for i in lend.grid(1):
        y[i] = 0.0


@lend.kernel
def can_fail(x: Ref[f64, N], y: Out[f64, N], z: Out[f64, N], at: Ref[i64, N]):
    for i in lend.grid(N):
        y[i] = x[i]
    for i in lend.grid(N):
        z[i] = x[at[i]]


@lend.kernel
def across(x: Ref[f64, N, N], y: Out[f64, N, N], z: Out[f64, N, N]):
    for i, j in lend.grid(N, N):
        y[i, j] = x[i, j]
    for i, j in lend.grid(N, N):
        z[i, j] = x[j, i]


@lend.kernel
def nine_arrays(a: Ref[f64, N], b: Ref[f64, N], c: Ref[f64, N], d: Ref[f64, N], e: Ref[f64, N], f: Ref[f64, N], g: Ref[f64, N],
                y: Out[f64, N], z: Out[f64, N]):  # fmt: skip
    for i in lend.grid(N):
        y[i] = a[i] + b[i] + c[i] + d[i]
    for i in lend.grid(N):
        z[i] = a[i] + e[i] + f[i] + g[i]


OTHERS = [
    stencil, reads_a_neighbour, needs_the_sum, needs_the_sum_by_a_scalar, sums_on, other_boxes, nothing_shared,
    an_element_between, can_fail, across, nine_arrays,
]  # fmt: skip


@pytest.mark.parametrize("kernel", OTHERS, ids=lambda kernel: kernel.__name__)
def test_others_stay_as_they_are(kernel: Any) -> None:
    assert len(loops(scheduled(kernel).body)) == 2


def test_an_element_that_all_iterations_read_keeps_loops_apart() -> None:
    assert len(loops(scheduled(fixed_element).body)) == 3
