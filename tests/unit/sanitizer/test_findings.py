"""What the dynamic judge finds, with both ends, and what it does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lend
from lend import Atomic, Mut, Out, Ref, bool_, f64, i32, i64
from lend.dims import M, N


def found(function: Any, *arguments: Any, runs: int = 3, **options: Any) -> list[tuple[Any, ...]]:
    """Kind, array, indices and lines (from the function's first) of each finding."""
    report = lend.sanitize(function, runs=runs, **options)(*arguments)
    first = function.__code__.co_firstlineno
    return [(f.kind, f.array, f.indices, tuple(place.line - first for place in f.places)) for f in report.findings]


def kinds(function: Any, *arguments: Any, **options: Any) -> set[str]:
    return {finding[0] for finding in found(function, *arguments, **options)}


# ------------------------------------------------------------------------------------------------------ grids and host


def test_iterations_that_write_one_element_race_though_they_write_the_same() -> None:
    def same(y: Mut[f64, N]):
        for i in lend.grid(N):
            y[i // 2] = 1.0

    (race,) = lend.sanitize(same)(np.zeros(2)).findings
    assert (race.kind, race.array, race.indices) == ("race", "y", (0,))
    assert [place.block for place in race.places] == [(0,), (1,)]
    assert "iteration i=0 writes it here, and iteration i=1 writes it too" in str(race)


def test_a_write_and_a_read_of_another_iteration_race_and_the_write_is_named_first() -> None:
    def shift(x: Mut[f64, N]):
        for i in lend.grid((1, N)):
            x[i] = x[i - 1]

    assert found(shift, np.zeros(2)) == []
    report = lend.sanitize(shift)(np.zeros(4))
    assert {f.kind for f in report.findings} == {"race"}
    assert "writes it here" in report.findings[0].diagnostic.primary.text


def test_successive_loops_are_ordered() -> None:
    def two(x: Ref[f64, N], y: Mut[f64, N], z: Out[f64, N]):
        for i in lend.grid(N):
            y[i] = x[i]
        for i in lend.grid(N):
            z[i] = y[N - 1 - i]

    z = np.zeros(5)
    assert lend.sanitize(two)(np.arange(5.0), np.zeros(5), z).ok
    assert z.tolist() == [4, 3, 2, 1, 0]


def test_what_is_read_unwritten() -> None:
    def reads(y: Out[f64, N], z: Out[f64, N], w: Mut[f64, N]):
        t = lend.empty(f64, N)
        for i in lend.grid(N):
            if i > 0:
                t[i] = 1.0
                z[i] = 2.0
        for i in lend.grid(N):
            own = lend.local(f64, 2)
            own[0] = t[i]
            y[i] = own[1]
            w[i] = y[i] + z[i]

    seen = found(reads, np.zeros(3), np.zeros(3), np.zeros(3))
    assert ("init", "t", (0,), (8,)) in seen
    assert ("init", "own", (1,), (9,)) in seen
    assert ("init", "z", (0,), (10,)) in seen
    assert ("init", "z", (0,), (0,)) in seen  # the `Out` array that is not written whole
    assert len(seen) == 4


def test_what_lies_outside_is_found_and_the_run_goes_on_to_the_end_of_the_loop() -> None:
    def outside(x: Ref[f64, N, M], y: Mut[f64, N], z: Mut[f64, N]):
        for i in lend.grid(N):
            y[i + 1] = x[i, M]
        for i in lend.grid(N):
            z[i + 7] = 1.0

    seen = found(outside, np.zeros((2, 3)), np.zeros(2), np.zeros(2))
    assert {(kind, array, lines) for kind, array, _, lines in seen} == {("bounds", "x", (2,)), ("bounds", "y", (2,))}


def test_slices_and_fields_are_judged_by_their_own_elements() -> None:
    def halves(x: Mut[f64, N], n: i64):
        low = x[:n]
        high = x[n:]
        for i in lend.grid(n):
            low[i] = high[i]

    x = np.arange(6.0)
    assert lend.sanitize(halves)(x, 3).ok
    assert x.tolist() == [3, 4, 5, 3, 4, 5]
    assert kinds(halves, np.zeros(6), 7) == {"bounds"}


@lend.struct
class Pair:
    a: f64
    b: i32


def test_two_fields_of_one_record_are_two_places() -> None:
    def fields(p: Mut[Pair, N]):
        for i in lend.grid(2 * N):
            if i % 2 == 0:
                p[i // 2].a = 1.5
            else:
                p[i // 2].b = i32(i)

    p = np.zeros(2, Pair.dtype)
    assert lend.sanitize(fields)(p).ok
    assert p["a"].tolist() == [1.5, 1.5] and p["b"].tolist() == [1, 3]


@pytest.mark.parametrize(("by", "expected"), [([1, 2], set()), ([1, 0], {"arith"})])
def test_division_by_zero(by: list[int], expected: set[str]) -> None:
    def divides(x: Mut[i64, N], by: Ref[i64, N]):
        for i in lend.grid(N):
            x[i] = x[i] % by[i]

    assert kinds(divides, np.ones(2, np.int64), np.array(by)) == expected


# ------------------------------------------------------------------------------------------------------------- teams


def test_threads_race_without_a_barrier_and_not_with_one() -> None:
    def exchange(y: Mut[f64, N], wait: bool_):
        for b in lend.blocks(N // 4):
            s = lend.shared(f64, 4)
            for t in lend.threads(4):
                s[t] = 1.0
                if wait:
                    lend.sync()
                y[b * 4 + t] = s[3 - t]

    assert kinds(exchange, np.zeros(8), True) == set()
    assert ("race", "s") in {(f[0], f[1]) for f in found(exchange, np.zeros(8), False)}


def test_a_barrier_at_one_end_of_a_loop_leaves_the_next_iteration_to_race() -> None:
    def wraps(y: Mut[f64, N]):
        for b in lend.blocks(1):
            s = lend.shared(f64, 4)
            for t in lend.threads(4):
                for k in range(3):
                    s[t] = f64(k)
                    lend.sync()
                    y[t] = y[t] + s[3 - t]

    assert found(wraps, np.zeros(4)) == [("race", "s", found(wraps, np.zeros(4))[0][2], (5, 7))]


def test_blocks_are_never_ordered() -> None:
    def blocks(y: Mut[f64, N]):
        for b in lend.blocks(2):
            for t in lend.threads(2):
                if b == 0:
                    y[t] = 1.0
            for t in lend.threads(2):
                if b == 1:
                    y[t] = 2.0

    (race,) = lend.sanitize(blocks)(np.zeros(2)).findings
    assert race.diagnostic.code == "L0313" and [place.block for place in race.places] == [(0,), (1,)]


def test_two_threads_loops_have_a_barrier_between() -> None:
    def loops(y: Out[f64, N]):
        for b in lend.blocks(N // 4):
            s = lend.shared(f64, 4)
            for t in lend.threads(4):
                s[t] = f64(t)
            for t in lend.threads(4):
                y[b * 4 + t] = s[3 - t]

    y = np.zeros(8)
    assert lend.sanitize(loops)(y).ok and y.tolist() == [3, 2, 1, 0] * 2


def test_a_tile_in_a_loop_has_new_content_each_time() -> None:
    def again(y: Out[f64, N]):
        for b in lend.blocks(N // 2):
            for k in range(2):
                s = lend.shared(f64, 2)
                for t in lend.threads(2):
                    if k == 0:
                        s[t] = 1.0
                    y[b * 2 + t] = s[t]

    assert {f[:2] for f in found(again, np.zeros(4))} == {("init", "s")}


@pytest.mark.parametrize("limit", [0, 1, 3, 4])
def test_a_barrier_for_some_threads_diverges(limit: int) -> None:
    def some(y: Mut[f64, N], limit: i64):
        for b in lend.blocks(1):
            for t in lend.threads(4):
                if t < limit:
                    lend.sync()
                y[t] = 1.0

    seen = found(some, np.zeros(4), limit)
    assert seen == ([] if limit in (0, 4) else [("barrier", None, (), (4, 2))])


def test_two_barriers_are_not_one() -> None:
    def arms(y: Mut[f64, N]):
        for b in lend.blocks(1):
            for t in lend.threads(4):
                if t % 2 == 0:
                    lend.sync()
                else:
                    lend.sync()
                y[t] = 1.0

    assert found(arms, np.zeros(4)) == [("barrier", None, (), (4, 6))]


def test_one_barrier_in_two_iterations_is_not_one() -> None:
    def turns(y: Mut[f64, N]):
        for b in lend.blocks(1):
            for t in lend.threads(2):
                for i in range(2):
                    for j in range(2 - 2 * ((i + t) % 2)):
                        lend.sync()
                y[t] = 1.0

    (finding,) = lend.sanitize(turns)(np.zeros(2)).findings
    assert finding.kind == "barrier" and "in another iteration" in str(finding)


def test_leaving_early_counts() -> None:
    def early(y: Mut[f64, N], n: i64):
        for b in lend.blocks(1):
            for t in lend.threads(4):
                if t >= n:
                    continue
                lend.sync()
                y[t] = 1.0

    assert kinds(early, np.zeros(4), 3) == {"barrier"}
    assert kinds(early, np.zeros(4), 4) == set()


def test_a_barrier_follows_a_loop_of_unknown_length() -> None:
    def unknown(y: Mut[f64, N], q: Ref[i64, N]):
        for b in lend.blocks(1):
            s = lend.shared(f64, 4)
            for t in lend.threads(4):
                s[t] = 1.0
                k = q[0]
                while k > 0:
                    lend.sync()
                    k -= 1
                y[t] = s[3 - t]

    def known(y: Mut[f64, N], n: i64):
        for b in lend.blocks(1):
            s = lend.shared(f64, 4)
            for t in lend.threads(4):
                s[t] = 1.0
                for _k in range(n):
                    lend.sync()
                y[t] = s[3 - t]

    assert kinds(unknown, np.zeros(4), np.zeros(4, np.int64)) == set()
    assert "race" in kinds(known, np.zeros(4), 0)
    assert kinds(known, np.zeros(4), 2) == set()


def test_atomics_do_not_race_and_give_the_old_value() -> None:
    def tickets(h: Atomic[i32, 2], y: Out[i32, N]):
        for b in lend.blocks(N // 4):
            own = lend.shared(Atomic[i32], 1)
            for t in lend.threads(4):
                own.add(0, 1)
                lend.sync()
                if own.load(0) == 4:
                    y[i64(h.add(0, 1))] = i32(t)

    h, y = np.zeros(2, np.int32), np.zeros(8, np.int32)
    assert lend.sanitize(tickets)(h, y).ok
    assert h.tolist() == [8, 0] and sorted(y.tolist()) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_a_value_that_differs_by_who_came_first_is_no_condition_for_a_barrier() -> None:
    def ticket(h: Atomic[i32, 1], y: Mut[f64, N]):
        for b in lend.blocks(1):
            for t in lend.threads(4):
                if h.add(0, 1) == 0:
                    lend.sync()
                y[t] = 1.0

    assert kinds(ticket, np.zeros(1, np.int32), np.zeros(4)) == {"barrier"}


def test_a_run_without_end_is_given_up() -> None:
    def endless(x: Mut[f64, 1]):
        for i in lend.grid(1):
            while x[0] < 1.0:
                x[0] = 0.5 * x[0]

    ((kind, *_, lines),) = found(endless, np.zeros(1), steps=1000)
    assert kind == "stuck" and lines in ((2,), (3,))


# -------------------------------------------------------------------------------------------------------- sub-groups


def test_barriers_of_sub_groups_order_their_lanes_alone() -> None:
    def lanes(y: Mut[f64, N], far: i64):
        for b in lend.blocks(1):
            s = lend.shared(f64, 8)
            for t in lend.threads(8):
                sg = lend.subgroup(4)
                s[t] = f64(t)
                sg.sync()
                y[t] = s[t ^ far]

    y = np.zeros(8)
    assert lend.sanitize(lanes)(y, 3).ok and y.tolist() == [3, 2, 1, 0, 7, 6, 5, 4]
    assert "race" in kinds(lanes, np.zeros(8), 4)


def test_sub_groups_of_two_sizes_order_what_they_chain() -> None:
    def chained(y: Mut[f64, N]):
        for b in lend.blocks(1):
            s = lend.shared(f64, 8)
            for t in lend.threads(8):
                small = lend.subgroup(2)
                large = lend.subgroup(8)
                s[t] = f64(t)
                small.sync()
                large.sync()
                y[t] = s[7 - t]

    assert lend.sanitize(chained)(np.zeros(8)).ok


def test_lanes_that_do_not_come_diverge() -> None:
    def apart(y: Mut[f64, N]):
        for b in lend.blocks(1):
            for t in lend.threads(8):
                sg = lend.subgroup(4)
                if t != 5:
                    y[t] = sg.reduce_add(1.0)

    (finding,) = lend.sanitize(apart)(np.zeros(8)).findings
    assert finding.kind == "barrier" and "sub-group" in str(finding)


def test_operations_of_sub_groups() -> None:
    def operations(x: Ref[i64, 8], y: Out[i64, 9, 8]):
        for b in lend.blocks(1):
            for t in lend.threads(8):
                sg = lend.subgroup(4)
                v = x[t]
                y[0, t] = sg.shuffle(v, 2)
                y[1, t] = sg.shuffle_xor(v, 1)
                y[2, t] = sg.shuffle_up(v, 1)
                y[3, t] = sg.shuffle_down(v, 3)
                y[4, t] = i64(sg.ballot(v > 3))
                y[5, t] = sg.reduce_add(v)
                y[6, t] = sg.reduce_min(v)
                y[7, t] = sg.scan_add(v)
                y[8, t] = i64(sg.lane)

    y = np.zeros((9, 8), np.int64)
    assert lend.sanitize(operations)(np.arange(8), y).ok
    assert y.tolist() == [
        [2, 2, 2, 2, 6, 6, 6, 6],
        [1, 0, 3, 2, 5, 4, 7, 6],
        [0, 0, 1, 2, 4, 4, 5, 6],
        [3, 1, 2, 3, 7, 5, 6, 7],
        [0, 0, 0, 0, 15, 15, 15, 15],
        [6, 6, 6, 6, 22, 22, 22, 22],
        [0, 0, 0, 0, 4, 4, 4, 4],
        [0, 1, 3, 6, 4, 9, 15, 22],
        [0, 1, 2, 3, 0, 1, 2, 3],
    ]
