"""What would stand several times in a module, and takes LLVM as many times as long, stands once where that costs nothing."""

from __future__ import annotations

from typing import Any

import pytest

import lend
from lend import Mut, Out, Ref, complex128, comptime, f64, i64
from lend.dims import M, N
from lend.driver.pipeline import run
from lend.lower.module import OWN_VECTORS, lower
from lend.plan.regions import plan


@lend.kernel
def least_of_blocks(x: Ref[f64, N], y: Out[f64, M], at: Out[i64, M], T: comptime[int] = 128):
    for b in lend.blocks(M):
        low = (1e30, i64(-1))
        for t in lend.threads(T):
            i = b * T + t
            if i < N:
                low = min(low, (x[i], i))
        for _ in lend.threads(1):
            y[b] = low[0]
            at[b] = low[1]


@lend.kernel
def sums_of_blocks(x: Ref[f64, N, 128], y: Out[f64, N]):
    for b in lend.blocks(N):
        s = 0.0
        for t in lend.threads(128):
            s += x[b, t]
        for _ in lend.threads(1):
            y[b] = s


@lend.kernel
def sums_of_short_blocks(x: Ref[f64, N, 100], y: Out[f64, N]):
    for b in lend.blocks(N):
        s = 0.0
        for t in lend.threads(100):
            s += x[b, t]
        for _ in lend.threads(1):
            y[b] = s


@lend.kernel
def complex_blocks(x: Ref[complex128, N, 64], y: Out[complex128, N, 64]):
    for b in lend.blocks(N):
        for t in lend.threads(64):
            y[b, t] = x[b, t] * x[b, t]


@lend.kernel(math="strict")
def long_sum(x: Ref[f64, N]) -> f64:
    s = 0.0
    for i in lend.grid(N):
        v = x[i] * 3.0 + 1.0
        s += (v * v - 2.0) / (v + x[i] * 0.5 - 7.0)
    return s


@lend.kernel(math="strict")
def short_sum(x: Ref[f64, N]) -> f64:
    s = 0.0
    for i in lend.grid(N):
        s += 1.0 / x[i]
    return s


@lend.kernel
def one_step(x: Mut[f64, N]):
    for i in lend.grid(N):
        x[i] += 1.0


@lend.kernel
def many_steps(x: Mut[f64, N, M], y: Mut[f64, N, M], steps: i64):
    for _ in range(steps):
        for i, j in lend.grid((1, N), M):
            y[i, j] = x[i - 1, j] + x[i, j]
        for i, j in lend.grid(N, (1, M)):
            x[i, j] = y[i, j - 1] - y[i, j]
        for i, j in lend.grid(N - 1, M):
            y[i, j] = x[i + 1, j]


def text_of(kernel: Any) -> str:
    """The module of a kernel of known types, for vectors of 64 bytes."""
    compilation = run(next(iter(kernel.compilations())), until="schedule")
    assert compilation.scheduled is not None
    return lower(plan(compilation.scheduled, 64))


def test_blocks_inside_and_at_the_edge_share_what_folds_their_lanes() -> None:
    text = text_of(least_of_blocks)
    assert text.count("= call { double, i64 } @fold_lanes.") == 2
    assert text.count("define internal { double, i64 } @fold_lanes.") == 1


@pytest.mark.parametrize(("kernel", "masked"), [(sums_of_blocks, False), (sums_of_short_blocks, True)])
def test_full_rows_of_threads_have_no_masks(kernel: Any, masked: bool) -> None:
    region = text_of(kernel).split("@region_0(", 1)[1].split("\n}", 1)[0]
    assert ("%mask" in region) is masked


@pytest.mark.parametrize(
    ("kernel", "vectors"),
    [(long_sum, True), (least_of_blocks, True), (sums_of_blocks, True), (complex_blocks, False)],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_llvm_looks_for_vectors_only_where_lend_has_left_some(kernel: Any, vectors: bool) -> None:
    assert (OWN_VECTORS in text_of(kernel)) is vectors


@pytest.mark.parametrize(("kernel", "parts"), [(long_sum, 1), (short_sum, 16)], ids=lambda value: getattr(value, "__name__", ""))
def test_the_ends_of_a_long_reduction_go_vector_by_vector(kernel: Any, parts: int) -> None:
    """Eight vectors hold the 64 lanes; of a short body, all of them are written under masks too, and once more held back."""
    assert text_of(kernel).count("= fdiv <8 x double>") == 8 + parts


@pytest.mark.parametrize(("kernel", "plain"), [(one_step, False), (many_steps, True)])
def test_a_long_host_function_that_only_launches_is_not_optimised(kernel: Any, plain: bool) -> None:
    head = next(line for line in text_of(kernel).splitlines() if line.startswith("define i32 @kernel("))
    assert ("optnone" in head) is plain
    assert ("optsize" in head) is not plain
