"""Blocks of threads as loops: where bodies are cut, what is kept, and which loops are bounded, split and led."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import lend
from lend import Mut, Out, Ref, comptime, f64, i64
from lend.dims import M, N
from lend.driver.pipeline import run
from lend.ir import typed
from lend.ir.typed import Kernel, Operation, Parallel, Region
from lend.ir.verify import verify_kernel
from lend.schedule import teams as passes


def planned(kernel: Any) -> Kernel:
    """The tree with loops in the place of blocks."""
    compilation = run(next(iter(kernel.compilations())), until="schedule")
    assert compilation.scheduled is not None
    made = passes.teams(compilation.scheduled)
    verify_kernel(made, planned=True)
    return made


def operations(region: Region) -> Iterator[Operation]:
    for operation in region.operations:
        yield operation
        for inner in operation.regions:
            yield from operations(inner)


def team_of(kernel: Any) -> Parallel:
    (team,) = (o for o in planned(kernel).body.operations if isinstance(o, Parallel) and o.team)
    return team


def kept(team: Parallel) -> list[str | None]:
    """The names of the arrays of a block."""
    return [o.result.name for o in team.body.operations if isinstance(o, typed.Local)]


def loops(region: Region) -> list[Parallel]:
    return [o for o in operations(region) if isinstance(o, Parallel)]


@lend.kernel
def exchange(x: Mut[f64, N], T: comptime[int] = 8):
    assert N % T == 0
    for b in lend.blocks(N // T):
        s = lend.shared(f64, T)
        for t in lend.threads(T):
            i = b * T + t
            own = x[i]
            other = own * 2.0
            s[t] = own
            lend.sync()
            x[i] = s[T - 1 - t] + own + other


def test_a_body_is_cut_at_a_barrier_and_keeps_what_was_read() -> None:
    team = team_of(exchange)
    assert len(loops(team.body)) == 2
    assert kept(team) == ["s", "own", "other"]  # not `i`, which is computed again


def test_what_is_the_same_for_all_threads_is_computed_once() -> None:
    team = team_of(exchange)
    products = [o for o in team.body.operations if isinstance(o, typed.Binary) and o.operator == "mul"]
    assert len(products) == 1  # b * T


@lend.kernel
def guarded_search(x: Mut[f64, 64], m: i64):
    for _b in lend.blocks(1):
        for t in lend.threads(64):
            sg = lend.subgroup(8)
            v = x[t]
            if t // 8 < m:
                h = i64(0)
                while h != m:  # ends for 0..63 only
                    h = (h * 5 + 1) & 63
                v = sg.scan_add(v) + f64(h)
            x[t] = v


def test_a_loop_that_may_never_end_runs_for_who_comes_to_it() -> None:
    team = team_of(guarded_search)
    found = [o for o in operations(team.body) if isinstance(o, typed.While)]
    guards = [o for o in operations(team.body) if isinstance(o, typed.If)]
    assert len(found) == 1
    assert any(found[0] in operations(guard.then) for guard in guards)


@lend.kernel
def halves(x: Ref[f64, N], out: Out[f64, M], T: comptime[int] = 16, LOG: comptime[int] = 4):
    assert N == M * T
    for b in lend.blocks(M):
        s = lend.shared(f64, T)
        for t in lend.threads(T):
            s[t] = x[b * T + t]
            lend.sync()
            for k in range(LOG):
                half = T >> (k + 1)
                if t < half:
                    s[t] += s[t + half]
                lend.sync()
            if t == 0:
                out[b] = s[0]


def test_guards_on_the_index_are_bounds() -> None:
    team = team_of(halves)
    first, tree, last = loops(team.body)
    constants = {o.result: o.value for o in operations(team.body) if isinstance(o, typed.Constant)}
    assert [constants.get(e.upper) for e in first.box] == [16]
    assert constants.get(tree.box[0].upper) is None and constants.get(tree.box[0].lower) == 0
    assert [(constants[e.lower], constants[e.upper]) for e in last.box] == [(0, 1)]
    assert not any(isinstance(o, typed.If) for loop in (tree, last) for o in operations(loop.body))
    assert kept(team) == ["s"]


@lend.kernel
def copied(x: Ref[f64, N], y: Out[f64, N], T: comptime[int] = 8):
    for b in lend.blocks(lend.cdiv(N, T)):
        for t in lend.threads(T):
            i = b * T + t
            if i < N:
                y[i] = x[i]


def test_blocks_inside_ask_no_guard() -> None:
    team = team_of(copied)
    (branch,) = (o for o in team.body.operations if isinstance(o, typed.If))
    inside, edge = loops(branch.then), loops(branch.orelse)
    assert len(inside) == len(edge) == 1
    assert not any(isinstance(o, typed.If) for o in operations(inside[0].body))
    assert any(isinstance(o, typed.If) for o in operations(edge[0].body))


@lend.kernel
def rows(x: Ref[f64, N, M], out: Out[f64, N], T: comptime[int] = 32):
    for b in lend.blocks(N):
        total = 0.0
        for t in lend.threads(T):
            for j in range(t, M, T):
                total += x[b, j]
        for t in lend.threads(1):
            out[b] = total


def test_threads_walk_along_a_row_together() -> None:
    team = team_of(rows)
    (walk,) = (o for o in team.body.operations if isinstance(o, typed.For))
    (step,) = loops(walk.body)
    assert not any(isinstance(o, typed.If | typed.For) for o in operations(step.body))


@lend.kernel
def few(x: Ref[f64, N, M], out: Out[f64, N], T: comptime[int] = 4):
    for b in lend.blocks(N):
        total = 0.0
        for t in lend.threads(T):
            for j in range(t, M, T):
                total += x[b, j]
        for t in lend.threads(1):
            out[b] = total


def test_few_threads_walk_on_their_own() -> None:
    team = team_of(few)
    assert not any(isinstance(o, typed.For) for o in team.body.operations)


@lend.kernel
def total_of_blocks(x: Ref[f64, N], T: comptime[int] = 8) -> f64:
    total = 1.0
    for b in lend.blocks(lend.cdiv(N, T)):
        s = 0.0
        for t in lend.threads(T):
            i = b * T + t
            if i < N:
                s += x[i]
        total += s
    return total


def test_what_blocks_contribute_is_combined_by_a_second_loop() -> None:
    body = planned(total_of_blocks).body
    team, combined = (o for o in body.operations if isinstance(o, Parallel))
    assert team.team and not team.reductions and not combined.team
    assert [r.operator for r in combined.reductions] == ["add"]
    assert len([o for o in body.operations if isinstance(o, typed.Allocate)]) == 1


@lend.kernel
def kernels_without_teams(x: Mut[i64, N]):
    for i in lend.grid(N):
        x[i] += 1


def test_other_kernels_stay_the_same_objects() -> None:
    compilation = run(next(iter(kernels_without_teams.compilations())), until="schedule")
    assert compilation.scheduled is not None and passes.teams(compilation.scheduled) is compilation.scheduled
