"""Which loops may run in waves: how far their phases reach, and why others keep the plain order."""

from __future__ import annotations

from typing import Any

import pytest

import lend
from lend import Mut, Ref, f64, i64
from lend.dims import K, M, N
from lend.driver.pipeline import run
from lend.plan.regions import Plan
from lend.plan.waves import Coordinate, Order, growth, offsets


def plan_of(kernel: Any) -> Plan:
    """The plan for the signature's types."""
    made = run(next(iter(kernel.compilations())), until="plan").plan
    assert made is not None
    return made


# -------------------------------------------------------------------------------------------------- accepted


@lend.kernel
def two_sweeps(u: Mut[f64, N], v: Mut[f64, N], steps: i64):
    for t in range(steps):
        for i in lend.grid((1, N - 1)):
            v[i] = u[i - 1] + u[i + 1]
        for i in lend.grid((1, N - 1)):
            u[i] = v[i]


@lend.kernel
def swapped(u: Mut[f64, N, M], v: Mut[f64, N, M], steps: i64):
    for t in range(steps):
        for i, j in lend.grid((2, N), (1, M - 1)):
            v[i, j] = u[i - 2, j] + u[i, j + 1]
        u, v = v, u


@lend.kernel
def with_edges(u: Mut[f64, N, M], v: Mut[f64, N, M], steps: i64):
    assert N >= 3
    for t in range(steps):
        for j in lend.grid(M):
            u[N - 1, j] = u[N - 2, j]
        for i, j in lend.grid((1, N - 1), M):
            v[i, j] = u[i - 1, j] + u[i + 1, j]
        for i, j in lend.grid((1, N - 1), M):
            u[i, j] = v[i, j]


def test_distances_along_rows() -> None:
    (wave,) = plan_of(two_sweeps).waves
    assert wave.rows.ahead == ((0, 1), (1, 0)) and wave.rows.behind == ((0, 1), (1, 0))
    assert wave.rows.skew == 2 and wave.columns is None


def test_arrays_that_are_swapped_are_compared_over_steps() -> None:
    """A step reads what the one before wrote, two rows up, and overwrites what that one read."""
    (wave,) = plan_of(swapped).waves
    assert wave.rows.ahead == ((2,),) and wave.rows.behind == ((2,),)
    assert wave.columns is not None and wave.columns.ahead == ((1,),)


def test_a_loop_along_an_edge_lies_at_that_edge() -> None:
    (wave,) = plan_of(with_edges).waves
    (n, _) = wave.phases[0].row.place
    assert wave.phases[0].row.dimension is None and [(v.name, factor) for v, factor in n] == [("N", 1)]
    assert wave.phases[0].column == Coordinate(0) and wave.phases[1].column == Coordinate(1)


def test_offsets_grow_by_what_each_step_adds() -> None:
    table = ((0, 1), (1, None))
    assert offsets(table, [0, 1, 0, 1]) == [0, 1, 2, 3]
    assert growth(table) == 2
    assert growth(((-1,),)) == 0


@lend.kernel
def reader(u: Mut[f64, N], v: Mut[f64, N], source: Ref[f64, K]):
    for t in range(K):
        x = source[t]
        for i in lend.grid((1, N - 1)):
            v[i] = x * u[i + 1]
        u, v = v, u


def test_what_no_phase_writes_may_be_read_between_them() -> None:
    (wave,) = plan_of(reader).waves
    assert not wave.barriers


@lend.kernel
def watched(u: Mut[f64, N], v: Mut[f64, N], steps: i64) -> f64:
    total = 0.0
    for t in range(steps):
        for i in lend.grid((1, N - 1)):
            v[i] = u[i + 1]
        if t % 10 == 0:
            for i in lend.grid(N):
                total += v[i]
        u, v = v, u
    return total


def test_what_a_branch_does_now_and_then_waits_for_the_phases_before_it() -> None:
    (wave,) = plan_of(watched).waves
    assert len(wave.phases) == 1 and len(wave.barriers) == 1


# --------------------------------------------------------------------------------------------------- refused


@lend.kernel
def until_small(u: Mut[f64, N], v: Mut[f64, N], tolerance: f64):
    change = tolerance + 1.0
    while change > tolerance:
        change = 0.0
        for i in lend.grid((1, N - 1)):
            v[i] = 0.5 * (u[i - 1] + u[i + 1])
            change = max(change, abs(v[i] - u[i]))
        for i in lend.grid((1, N - 1)):
            u[i] = v[i]


@lend.kernel
def mirrored(u: Mut[f64, N], v: Mut[f64, N], steps: i64):
    for t in range(steps):
        for i in lend.grid(N):
            v[i] = u[N - 1 - i]
        u, v = v, u


@lend.kernel
def round_and_round(u: Mut[f64, N], v: Mut[f64, N], steps: i64):
    for t in range(steps):
        for i in lend.grid(N):
            v[i] = u[i + 1] if i + 1 < N else u[0]
        u, v = v, u


@lend.kernel
def far(u: Mut[f64, N], v: Mut[f64, N], steps: i64):
    for t in range(steps):
        for i in lend.grid((100, N)):
            v[i] = u[i - 100]
        u, v = v, u


@lend.kernel
def transposed(u: Mut[f64, N, N], v: Mut[f64, N, N], steps: i64):
    for t in range(steps):
        for i, j in lend.grid(N, N):
            v[i, j] = u[j, i]
        u, v = v, u


@lend.kernel
def further_each_step(u: Mut[f64, N], v: Mut[f64, N], steps: i64):
    assert steps < N
    for t in range(steps):
        for i in lend.grid(N - t):
            v[i] = u[i + t]
        for i in lend.grid(N - t):
            u[i] = v[i]


@lend.kernel
def looked_at(u: Mut[f64, N], v: Mut[f64, N], steps: i64) -> f64:
    assert N >= 1
    total = 0.0
    for t in range(steps):
        for i in lend.grid((1, N - 1)):
            v[i] = u[i + 1]
        total += v[0]
        u, v = v, u
    return total


@lend.kernel
def shifted_views(x: Mut[f64, N], y: Mut[f64, N], steps: i64):
    assert N >= 3
    a, b = x[: N - 1], x[1:]
    for t in range(steps):
        for i in lend.grid(N - 1):
            a[i] = 2.0 * a[i]
        for i in lend.grid(N - 1):
            y[i] = b[i]
        a, b = b, a


@lend.kernel
def every_second(u: Mut[f64, N], v: Mut[f64, N], steps: i64):
    for t in range(steps):
        for i in lend.grid((1, N - 1, 2)):
            v[i] = u[i - 1] + u[i + 1]
        for i in lend.grid((1, N - 1, 2)):
            u[i] = v[i]


@lend.kernel
def made_anew(u: Mut[f64, N], steps: i64):
    for t in range(steps):
        v = lend.zeros(f64, N)
        for i in lend.grid((1, N - 1)):
            v[i] = u[i - 1] + u[i + 1]
        for i in lend.grid(N):
            u[i] = v[i]


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (until_small, Order.REDUCES),
        (mirrored, Order.FAR),
        (round_and_round, Order.FAR),
        (far, Order.FAR),
        (transposed, Order.FAR),
        (further_each_step, Order.FAR),
        (shifted_views, Order.FAR),
        (every_second, Order.FAR),
        (looked_at, Order.READS),
        (made_anew, Order.ARRAYS),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_others_keep_the_plain_order_and_say_why(kernel: Any, why: Order) -> None:
    made = plan_of(kernel)
    assert made.waves == ()
    assert [decision.order for decision in made.decisions] == [why]
    assert "runs step by step" in str(made)
