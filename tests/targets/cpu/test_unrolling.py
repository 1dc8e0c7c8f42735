"""What stands in the machine code of scalar loops inside of regions: how often they are unrolled, and where the odd steps are."""

from __future__ import annotations

import re
from typing import Any

import lend
from lend import Index, Offsets, Out, Ref, f64, i32, i64
from lend.dims import K, M, N
from lend.driver.pipeline import run
from lend.lower.module import lower
from lend.plan.regions import plan
from lend.targets.cpu.emit import assembly, optimise
from lend.targets.cpu.machine import Machine

MACHINE = Machine("x86_64-unknown-linux-gnu", "znver4", "+avx,+avx2,+fma,+avx512f,+avx512vl,+avx512dq")


class RowEnds(lend.Dim):
    equals = M + 1


@lend.kernel
def rows_of_any_length(rows: Ref[Offsets[K], RowEnds], at: Ref[Index[N, i32], K], v: Ref[f64, K], x: Ref[f64, N], y: Out[f64, M]):
    for i in lend.grid(M):
        s = 0.0
        for k in range(rows[i], rows[i + 1]):
            s += v[k] * x[at[k]]
        y[i] = s


@lend.kernel
def rows_in_order(rows: Ref[Offsets[K], RowEnds], v: Ref[f64, K], x: Ref[f64, K], y: Out[f64, M]):
    for i in lend.grid(M):
        s = 0.0
        for k in range(rows[i], rows[i + 1]):
            s += v[k] * x[k]
        y[i] = s


@lend.kernel
def long_pieces(at: Ref[Index[M, i32], N], y: Out[i64, M]):
    parts = lend.zeros(i64, lend.cdiv(N, 4096), M)
    for p in lend.grid(lend.cdiv(N, 4096)):
        for k in range(4096 * p, min(4096 * (p + 1), N)):
            parts[p, at[k]] += 1
    for b in lend.grid(M):
        total = i64(0)
        for p in range(lend.cdiv(N, 4096)):
            total += parts[p, b]
        y[b] = total


def loops(kernel: Any) -> list[str]:
    """The innermost loops of the first region."""
    compilation = run(next(iter(kernel.compilations())), until="schedule")
    assert compilation.scheduled is not None
    asm = assembly(optimise(lower(plan(compilation.scheduled, MACHINE.vector_bytes)), MACHINE), MACHINE)
    region = asm.partition("region_0:")[2].partition(".size")[0]
    return [m[2] for m in re.finditer(r"^(\.L\w+):[^\n]*\n((?:\t.*\n|\s*#.*\n)*?)\tj\w+\t\1$", region, re.MULTILINE)]


def test_rows_of_any_length_are_unrolled_with_the_odd_steps_first() -> None:
    steps = [loop.count("vfmadd") for loop in loops(rows_in_order)]
    assert len(steps) == 2 and steps[0] == 1 and steps[1] > 2


def test_rows_that_are_read_from_anywhere_are_unrolled_twice() -> None:
    assert [loop.count("vfmadd") for loop in loops(rows_of_any_length)] == [2]


def test_what_is_read_from_anywhere_is_loaded_before_it_is_added() -> None:
    (loop,) = loops(rows_of_any_length)
    places = re.findall(r"\tmovslq\t.*, (%\w+)", loop)
    assert len(places) == 2
    for place in places:
        assert re.search(rf"\tvmovsd\t\(%\w+,{place},8\), %xmm", loop)
        assert not re.search(rf"\tvfmadd\w+\t\(%\w+,{place},8\)", loop)


def test_pieces_of_a_length_that_is_known_but_for_the_last_are_unrolled() -> None:
    assert max(loop.count("incq\t(") for loop in loops(long_pieces)) > 2
