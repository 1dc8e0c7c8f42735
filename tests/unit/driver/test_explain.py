"""`kernel.explain`: the statement that a user needs, for kernels of many kinds."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lend
from lend import Index, Mut, Offsets, Out, Ref, complex64, comptime, f32, f64, i32, i64
from lend.diagnostics.explanation import Explanation, LoopReport
from lend.dims import K, M, N
from lend.driver import explained
from lend.plan.report import Surroundings


@lend.struct
class Particle:
    x: f64
    v: f64


class Rows(lend.Dim): ...


class Borders(lend.Dim):
    equals = Rows + 1


@lend.kernel
def matmul(a: Ref[f64, M, K], b: Ref[f64, K, N], c: Out[f64, M, N]):
    for i, j in lend.grid(M, N):
        total = 0.0
        for k in range(K):
            total += a[i, k] * b[k, j]
        c[i, j] = total


@lend.kernel
def matvec(a: Ref[f64, M, N], x: Ref[f64, N], y: Out[f64, M]):
    for i in lend.grid(M):
        total = 0.0
        for k in range(N):
            total += a[i, k] * x[k]
        y[i] = total


@lend.kernel
def smooth(u: Ref[f64, N, M], v: Mut[f64, N, M]):
    for i, j in lend.grid((1, N - 1), (1, M - 1)):
        v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


@lend.kernel
def mandelbrot(out: Out[i32, M, N], limit: i32):
    for i, j in lend.grid(M, N):
        cr = -2.0 + 3.0 * j / N
        ci = -1.0 + 2.0 * i / M
        zr = 0.0
        zi = 0.0
        n = i32(0)
        while zr * zr + zi * zi < 4.0 and n < limit:
            zr, zi = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci
            n += 1
        out[i, j] = n


@lend.kernel
def sparse(rows: Ref[Offsets[K], Borders], columns: Ref[Index[N], K], values: Ref[f64, K], x: Ref[f64, N], y: Out[f64, Rows]):
    for i in lend.grid(Rows):
        total = 0.0
        for k in range(rows[i], rows[i + 1]):
            total += values[k] * x[columns[k]]
        y[i] = total


@lend.kernel
def gather(x: Ref[f32, N], at: Ref[Index[N], M], y: Out[f32, M]):
    for i in lend.grid(M):
        y[i] = x[at[i]]


@lend.kernel
def checked(x: Ref[f32, N], at: Ref[i64, M], y: Out[f32, M]):
    for i in lend.grid(M):
        y[i] = x[at[i]]


@lend.kernel
def window(x: Ref[f32, N], y: Out[f32, M]):
    for i in lend.grid(M):
        y[i] = x[i]


@lend.kernel
def columns_first(x: Ref[f64, M, N]) -> f64:
    total = 0.0
    for j, i in lend.grid(N, M):
        total += x[i, j]
    return total


@lend.kernel
def running(x: Ref[f64, M, N], y: Out[f64, M, N]):
    for i in lend.grid(M):
        total = 0.0
        for j in range(N):
            total += x[i, j]
            y[i, j] = total


@lend.kernel
def running_alone(x: Ref[f64, N], y: Mut[f64, N]):
    total = 0.0
    for i in range(N):
        total += x[i]
        y[i] = total


@lend.kernel
def squares(x: Mut[complex64, N]):
    for i in lend.grid(N):
        x[i] = x[i] * x[i]


@lend.kernel
def private(x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        powers = lend.local(f64, 4)
        for k in range(4):
            powers[k] = x[i] * k
        y[i] = powers[0] + powers[3]


@lend.kernel
def every(x: Ref[f64, N, M], y: Out[f64, N], step: i64):
    for i in lend.grid(N):
        total = 0.0
        for k in range(0, M, step):
            total += x[i, k]
        y[i] = total


@lend.function
def first_above(row: Ref[f64, N], limit: f64) -> i64:
    for k in range(len(row)):
        if row[k] > limit:
            return k
    return -1


@lend.kernel
def rows_by_a_function(x: Ref[f64, M, N], y: Out[i64, M]):
    for i in lend.grid(M):
        y[i] = first_above(x[i, :], 0.5)


@lend.kernel
def every_third(y: Mut[f64, N], step: i64):
    for i in lend.grid((0, N, step)):
        y[i] = 1.0


@lend.kernel
def promised(at: Ref[i64, N], y: Mut[f64, N]):
    for i in lend.grid(N):
        with lend.unchecked("all of `at` differ"):
            y[at[i]] = 1.0


@lend.kernel
def drift(p: Mut[Particle, N], dt: f64):
    for i in lend.grid(N):
        p[i].x += dt * p[i].v


@lend.kernel
def branches(x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = 0.0
        if x[i] > 0.5:
            y[i] = math.sqrt(x[i])


@lend.kernel
def steps(u: Mut[f64, N, M], v: Mut[f64, N, M], count: i64):
    for _ in range(count):
        for i, j in lend.grid((1, N - 1), (1, M - 1)):
            v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        for i, j in lend.grid((1, N - 1), (1, M - 1)):
            u[i, j] = v[i, j]


@lend.kernel
def until(u: Mut[f64, N], v: Mut[f64, N], tolerance: f64):
    error = tolerance + 1.0
    while error > tolerance:
        error = 0.0
        for i in lend.grid((1, N - 1)):
            v[i] = 0.5 * (u[i - 1] + u[i + 1])
            error = max(error, abs(v[i] - u[i]))
        for i in lend.grid((1, N - 1)):
            u[i] = v[i]


@lend.kernel
def copy(x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = x[i]


@lend.kernel
def update(x: Ref[f64, N], y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] += x[i]


@lend.kernel
def halves(x: Ref[f64, N], W: comptime[int]) -> f64:
    first = lend.empty(f64, N // 2)
    for i in lend.grid(N // 2):
        first[i] = x[i] * W
    total = 0.0
    for i in lend.grid(N // 2):
        total += first[N // 2 - 1 - i]  # another iteration's, so that the loops stay apart
    return total


MIB = 1 << 20


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """One machine, whichever this is: 4 threads, a last cache of 32 MiB, waves from 12 MiB on, vectors of 32 bytes."""
    monkeypatch.setattr(explained, "surroundings", lambda: Surroundings(4, 32 * MIB, 12 * MIB, 32))


def only(explanation: Explanation) -> LoopReport:
    (loop,) = explanation.loops
    return loop


def patterns(loop: LoopReport) -> dict[str, str]:
    return {access.text: access.pattern for access in loop.accesses}


def said(of: object, *words: str) -> None:
    text = str(of)
    missing = [word for word in words if word not in text]
    assert not missing, f"{missing} not in\n{text}"


# ------------------------------------------------------------------------------------------------ vectors and tiles


def test_a_matrix_product_names_its_tile_and_what_each_read_is() -> None:
    loop = only(matmul.explain())
    assert loop.text == "for i, j in lend.grid(M, N)" and loop.indices == ("i", "j")
    assert loop.vector is not None and (loop.vector.index, loop.vector.elements) == ("j", 4)
    ((row, rows),) = loop.rows
    assert row == "i" and rows > 1 and loop.order == ("j", "i")
    assert patterns(loop) == {"a[i, k]": "shared", "b[k, j]": "neighbouring", "c[i, j]": "neighbouring"}
    (inside,) = loop.inside
    assert inside.text == "for k in range(K)" and inside.carries == ("total",) and inside.even
    said(loop, "4 neighbouring `j` in each", f"by {rows} rows of `i`", "`a[i, k]` once for all of them", "`total` goes from step")


def test_a_matrix_vector_product_says_how_the_matrix_should_lie() -> None:
    loop = only(matvec.explain())
    assert patterns(loop)["a[i, k]"] == "strided" and patterns(loop)["x[k]"] == "shared"
    (advice,) = loop.advice
    said(advice, "`a[i, k]`", "down a column from one `i` to the next", "np.asfortranarray(a)")


def test_in_column_major_order_the_same_product_has_whole_vectors_and_no_advice() -> None:
    a = np.asfortranarray(np.zeros((200, 300)))
    loop = only(matvec.explain(a, np.zeros(300), np.zeros(200)))
    assert patterns(loop)["a[i, k]"] == "neighbouring" and loop.advice == ()
    assert loop.vector is not None and loop.vector.elements == 4 and loop.iterations == 200


def test_a_stencil_reads_and_writes_whole_vectors() -> None:
    loop = only(smooth.explain())
    assert loop.vector is not None and loop.vector.index == "j" and set(patterns(loop).values()) == {"neighbouring"}
    assert loop.advice == () and loop.obstacle is None


def test_mandelbrot_runs_its_loop_as_often_as_the_longest_iteration_of_a_vector() -> None:
    loop = only(mandelbrot.explain())
    (inside,) = loop.inside
    assert not inside.even and inside.carries == ("zr", "zi", "n")
    said(loop, "as often as the longest of its iterations")


def test_rows_of_a_sparse_matrix_are_gathered() -> None:
    found = patterns(only(sparse.explain()))
    assert found["rows[i]"] == "neighbouring" and found["x[columns[k]]"] == found["values[k]"] == "gathered"


def test_a_gather_says_which_read_is_one_by_one() -> None:
    loop = only(gather.explain())
    assert patterns(loop) == {"at[i]": "neighbouring", "x[at[i]]": "gathered", "y[i]": "neighbouring"}
    said(loop, "`x[at[i]]` one by one, from anywhere")


def test_both_ways_of_a_branch_are_named_by_their_line() -> None:
    loop = only(branches.explain())
    said(loop, f"line {loop.line + 2} may go either way within a vector")


def test_reads_of_a_view_with_gaps_say_that_a_copy_would_be_contiguous() -> None:
    loop = only(copy.explain(np.zeros(20)[::2], np.zeros(10)))
    assert patterns(loop)["x[i]"] == "strided"
    said(loop.advice, "np.ascontiguousarray(x)")


# -------------------------------------------------------------------------------------------------------- obstacles


def test_a_check_that_is_left_is_named_with_its_reason() -> None:
    loop = only(checked.explain())
    assert loop.vector is None and loop.obstacle is not None and loop.obstacle.kind == "check"
    assert loop.obstacle.place.line == loop.line + 1 and loop.obstacle.place.text == "x[at[i]]"
    said(loop, "`x[at[i]]`", "keeps a test at run time", "known at run time only", "docs/proofs.md")


def test_two_versions_say_what_decides_and_which_runs() -> None:
    loop = only(window.explain())
    assert loop.condition == "N >= M" and loop.holds is None and loop.vector is not None
    x, y = np.zeros(8, np.float32), np.zeros(9, np.float32)
    assert only(window.explain(x, y)).holds is False
    assert only(window.explain(y, x)).holds is True
    said(window.explain(x, y), "it does not hold in this call")


@pytest.mark.parametrize(
    ("kernel", "kind", "words"),
    [
        (squares, "complex", "complex numbers"),
        (private, "local", "`lend.local(f64, 4)`"),
        (every, "step", "the step of `for k in range(0, M, step)`"),
        (rows_by_a_function, "view", "`x[i, :]`"),
        (every_third, "step", "the step of the grid is not a constant"),
        (promised, "unchecked", "only promised by `lend.unchecked` (`y[at[i]]`"),
        (drift, "cost", "the fields of the records in `p` lie apart"),
    ],
    ids=["complex", "local", "step", "view", "grid_step", "unchecked", "records"],
)
def test_what_stands_in_the_way_of_vectors_is_named(kernel: Any, kind: str, words: str) -> None:
    loop = only(kernel.explain())
    assert loop.vector is None and loop.obstacle is not None and loop.obstacle.kind == kind
    said(loop, words, "faster: ")


# ------------------------------------------------------------------------------------- sequential loops, reductions


def test_a_reduction_in_the_wrong_order_is_told_to_swap_its_indices() -> None:
    loop = only(columns_first.explain())
    assert loop.reduces == ("total",) and loop.vector is not None and loop.vector.index == "i"
    said(loop, "swap the loop indices, `for i, j in ...`", "same bits on any number of threads")


def test_a_scan_inside_a_grid_stays_sequential_and_says_so() -> None:
    loop = only(running.explain())
    (inside,) = loop.inside
    assert inside.carries == ("total",) and inside.place.line == loop.line + 2
    said(loop, "`for j in range(N)`", "keeps its order", "since `total` goes from step to step")


def test_a_scan_outside_of_a_grid_says_that_it_has_one_thread() -> None:
    explanation = running_alone.explain()
    assert explanation.loops == ()
    (host,) = explanation.host
    assert host.text == "for i in range(N)" and not host.waves and host.parallel == 0
    said(host, "threads: one, step by step", "`total` goes from step to step", "lend.grid")


def test_steps_of_a_host_loop_run_in_waves_where_arrays_exceed_the_caches() -> None:
    (host,) = steps.explain().host
    assert host.waves and host.parallel == 2 and host.used is None and host.from_bytes == 12 * MIB
    said(host, "in waves over rows and columns", "1 row away at most")
    small, large = np.zeros((100, 100)), np.zeros((1000, 1000))
    assert steps.explain(small, small.copy(), 4).host[0].used is False
    explanation = steps.explain(large, large.copy(), 4)
    assert explanation.host[0].used is True
    said(explanation.loops[0], f"in waves, with the other loops in the one in line {host.line}")


def test_a_host_loop_that_needs_a_reduction_says_in_which_line() -> None:
    explanation = until.explain()
    (host,) = explanation.host
    assert not host.waves
    said(host, f"each step needs the whole result of the reduction in line {host.line + 2}")
    assert [loop.reduces for loop in explanation.loops] == [("error",), ()]  # the one with more work first


# ------------------------------------------------------------------------------------------------- sizes of a call


def test_large_calls_stream_and_share_and_small_ones_do_not() -> None:
    general = only(copy.explain())
    assert general.streaming is not None and general.streaming.stores == ("y[i]",) and general.streaming.used is None
    least = general.streaming.from_iterations
    assert least == 32 * MIB // 16 + 1 and general.threads.pieces is None
    small = only(copy.explain(np.zeros(1000), np.zeros(1000)))
    assert small.streaming is not None and small.streaming.used is False and small.threads.pieces == 1
    said(small, "stays on the calling thread: 1,000 iterations")
    large = only(copy.explain(np.zeros(least), np.zeros(least)))
    assert large.streaming is not None and large.streaming.used and large.threads.pieces == 64
    said(large, "64 pieces, for up to 4 threads")
    assert small.threads.alone == large.threads.alone == 32767


def test_an_update_says_why_it_does_not_stream() -> None:
    loop = only(update.explain())
    assert loop.streaming is None and loop.unstreamed == "it reads what it writes"
    said(loop, "stores: through the caches, since it reads what it writes")


def test_pieces_follow_from_sizes_that_the_kernel_computes() -> None:
    explanation = halves.explain(np.zeros(200_000), 3)
    assert explanation.sizes == (("N", 200_000),)
    assert [loop.iterations for loop in explanation.loops] == [100_000, 100_000]
    assert all(loop.threads.pieces is not None and loop.threads.pieces > 1 for loop in explanation.loops)


def test_without_arguments_an_open_value_is_asked_for() -> None:
    with pytest.raises(TypeError, match=r"halves\.explain needs arguments"):
        halves.explain()


def test_wrong_arguments_are_refused_as_in_a_call() -> None:
    with pytest.raises(lend.ShapeError):
        copy.explain(np.zeros(3), np.zeros(4))


def test_the_text_begins_with_the_call_and_names_no_part_of_the_compiler() -> None:
    kernels = [matmul, matvec, smooth, mandelbrot, sparse, gather, checked, window, running, squares, every, drift, steps, until]
    text = "\n".join(str(kernel.explain()) for kernel in kernels)
    assert text.startswith("matmul, on up to 4 threads\n\nline ")
    assert not any(word in text.lower() for word in ("llvm", "tiling", "jam", "lane", "ssa", "region", "mask"))
    x = np.zeros(10)
    assert str(copy.explain(x, x.copy())).startswith("copy with N=10, on up to 4 threads\n\nline ")


PROGRAM = """
import numpy as np
import lend
from lend import Mut, Ref, f64
from lend.dims import N

@lend.kernel
def scaled(x: Ref[f64, N], y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] = 2.0 * x[i]

x = np.zeros(100)
scaled(x, x.copy())
print(scaled.explain(x, x.copy()))
"""


def test_a_kernel_from_the_disk_cache_is_explained_alike(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    environment = {"LEND_CACHE": "1", "LEND_CACHE_DIR": str(tmp_path / "cache"), "PATH": ""}
    texts = [
        subprocess.run([sys.executable, str(file)], capture_output=True, text=True, env=environment, check=True).stdout
        for _ in range(2)
    ]
    assert texts[0] == texts[1] and "neighbouring `i`" in texts[0]
    assert any((tmp_path / "cache").rglob("*"))
