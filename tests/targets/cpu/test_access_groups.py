"""What LLVM is told of loops left to it whose accesses do not depend on each other, and what it does with that."""

from __future__ import annotations

import re
from typing import Any, Literal

import llvmlite.binding as llvm
import numpy as np
import pytest

import lend
from lend import Index, Mut, Out, Ref, Unique, f64, i64
from lend.dims import M, N
from lend.driver.pipeline import run as run_pipeline
from lend.lower.module import lower
from lend.plan.tiling import Obstacle, Untiled
from lend.targets.cpu.emit import assembly, optimise
from lend.targets.cpu.machine import host, named

X86 = host().architecture == "x86_64"
AVX2 = X86 and "+avx2" in host().features


@pytest.fixture(autouse=True)
def _loops_are_left_to_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops that lend writes in vectors itself are told nothing."""
    monkeypatch.setattr("lend.plan.regions.choose_tiling", lambda *_, **__: Untiled(Obstacle.COST))


@lend.kernel
def red_black(u: Mut[f64, N, N], colour: i64):
    assert 0 <= colour and colour <= 1
    for i, k in lend.grid((1, N - 1), (N - 2) // 2):
        j = 1 + 2 * k + (i + colour) % 2
        if j < N - 1:
            u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


@lend.kernel
def reverse(x: Mut[f64, N]):
    for i in lend.grid(N // 2):
        left = x[i]
        x[i] = x[N - 1 - i]
        x[N - 1 - i] = left


@lend.kernel
def butterfly(x: Mut[f64, N]):
    for i in lend.grid(N // 2):
        a = x[i]
        b = x[i + N // 2]
        x[i] = a + b
        x[i + N // 2] = a - b


@lend.kernel
def swap_pairs(x: Mut[f64, N], y: Ref[f64, N]):
    for i in lend.grid(N):
        j = (i // 2) * 2 + 1 - i % 2
        if j < N:
            x[j] = x[j] + y[i]


@lend.kernel
def gather(x: Ref[f64, M], where: Ref[Index[M], N], y: Mut[f64, N]):
    for i in lend.grid(N):
        y[i] += x[where[i]]


@lend.kernel
def permuted(x: Mut[f64, M], where: Ref[Unique[M], N]):
    for i in lend.grid(N):
        x[where[i]] = 2.0 * x[where[i]]


@lend.kernel
def shifted_stores(y: Mut[f64, N], z: Mut[f64, N], k: i64):
    assert 0 <= k and k <= 1
    for i in lend.grid(N // 2):
        a = y[2 * i]
        y[2 * i + k] = 7.0
        b = y[2 * i + 1]  # written just now, if k is 1
        z[2 * i] = a
        z[2 * i + 1] = b


@lend.kernel
def stores_over_each_other(y: Mut[f64, N], k: i64):
    assert 0 <= k and k <= 1
    for i in lend.grid(N // 2):
        y[2 * i] = 1.0 + f64(i)
        y[2 * i + k] = y[2 * i + 1 - k] + 7.0
        y[2 * i + 1] = 3.0


@lend.kernel
def conditional_store_between(y: Mut[f64, N], z: Mut[f64, N], limit: f64):
    for i in lend.grid(N // 2):
        z[2 * i + 1] = y[2 * i + 1]
        if y[2 * i + 1] > limit:
            y[2 * i] = 1.0
        z[2 * i] = y[2 * i]


@lend.kernel
def one_iteration_stores(x: Ref[f64, N], y: Mut[f64, M], k: i64):
    assert M >= 1
    for i in lend.grid(N):
        if i == k:
            y[0] = y[0] + x[i]


@lend.kernel
def histograms_of_rows(x: Ref[i64, N, M], y: Out[i64, N]):
    for i in lend.grid(N):
        counts = lend.local(i64, 4)
        for j in range(4):
            counts[j] = 0
        for j in range(M):
            counts[x[i, j] & 3] += 1
        y[i] = counts[0] * counts[1] + counts[2] * counts[3]


@lend.kernel
def promised(x: Mut[f64, M], where: Ref[Index[M], N]):
    for i in lend.grid(N):
        with lend.unchecked("distinct"):
            x[where[i]] += 1.0


@lend.kernel
def sum_with_store(x: Ref[f64, N], y: Mut[f64, N]) -> f64:
    s = 0.0
    for i in lend.grid(N):
        y[i] = 2.0 * x[i]
        s += x[i]
    return s


@lend.kernel
def rows(a: Ref[f64, N, M], y: Out[f64, N]):
    for i in lend.grid(N):
        s = 0.0
        for k in range(M):
            s += a[i, k]
        y[i] = s


@lend.kernel
def three_taps(x: Ref[f64, N], y: Mut[f64, N, Literal[3]]):
    for i in lend.grid(N):
        for k in range(3):
            y[i, k] += x[i]


TOLD = [red_black, reverse, butterfly, swap_pairs, gather, permuted, one_iteration_stores, three_taps]
NOT_TOLD = [shifted_stores, stores_over_each_other, conditional_store_between, promised]
NO_USE = [rows, sum_with_store, histograms_of_rows]


def name_of(kernel: Any) -> str:
    return kernel.__name__


@pytest.mark.parametrize("kernel", TOLD, ids=name_of)
def test_a_region_without_dependences_says_so_in_its_innermost_loop(kernel: Any) -> None:
    ir = kernel.lower().ir
    groups = set(re.findall(r"!llvm\.access\.group (!\d+)", ir))
    assert len(groups) == ir.count("define internal void @region_"), "a version of a region has a group of its own"
    for group in groups:
        (parallel,) = re.findall(rf'^(!\d+) = !{{!"llvm.loop.parallel_accesses", {group}}}', ir, re.MULTILINE)
        (loop,) = re.findall(rf"^(!\d+) = distinct !{{!\d+, {parallel}\b.*}}", ir, re.MULTILINE)
        assert len(re.findall(rf"!llvm\.loop {loop}\b", ir)) == 1, "inner loops are not parallel"


@pytest.mark.parametrize("kernel", NOT_TOLD + NO_USE, ids=name_of)
def test_others_do_not(kernel: Any) -> None:
    ir = kernel.lower().ir
    assert "!llvm.access.group" not in ir and "llvm.loop.parallel_accesses" not in ir


def test_private_arrays_and_lanes_stay_out() -> None:
    """Even where all else is told, as in a region that somebody marks."""
    for kernel, shared in ((histograms_of_rows, 2), (sum_with_store, 3)):
        compilation = run_pipeline(next(iter(kernel.compilations())), until="plan")
        plan = compilation.plan
        assert plan is not None
        for region in plan.regions:
            assert region.parallel.independent
            object.__setattr__(region.parallel, "final_writes", True)
        ir = lower(plan)
        body = ir[ir.index("define internal void @region_0") : ir.index("\n}", ir.index("define internal void @region_0"))]
        told = [line for line in body.splitlines() if "!llvm.access.group" in line and "llvm.assume" not in line]
        assert len(told) == shared, told
        assert re.search(r"(memset|store <64 x double>)", body) and not any("memset" in line or "<" in line for line in told)


@pytest.mark.skipif(not X86, reason="x86-64 only")
@pytest.mark.parametrize("kernel", [red_black, reverse, butterfly, swap_pairs, gather, permuted], ids=name_of)
def test_they_are_vectorised_without_a_test_of_addresses(kernel: Any) -> None:
    """For LLVM's own idea of gathers and scatters; what is worth its while here is another matter (`machine.py`)."""
    machine = named("znver4")
    bitcode = optimise(kernel.lower().ir, machine)
    text = str(llvm.parse_bitcode(bitcode, llvm.create_context()))
    assert "vector.body" in text and "vector.memcheck" not in text
    assert re.search(r"%[yz]mm", assembly(bitcode, machine))


@pytest.mark.skipif(not AVX2, reason="needs AVX2")
def test_a_reversal_in_place_runs_in_vectors_here() -> None:
    assert re.search(r"%[yz]mm", reverse.lower().asm)


def run(kernel: Any, *arguments: Any) -> None:
    """Compiled and as plain Python: the same bits."""
    compiled = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    plain = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    assert kernel(*compiled) == kernel.py(*plain)
    for a, b in zip(compiled, plain, strict=True):
        if isinstance(a, np.ndarray):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 17, 64, 301])
def test_results_are_those_of_plain_python(n: int) -> None:
    rng = np.random.default_rng(n)
    x, y, z = rng.random((3, n))
    square, order = rng.random((n, n))[:40, :40].copy(), rng.permutation(n)
    for k in (0, 1):
        run(red_black, square, k)
        run(shifted_stores, y, z, k)
        run(stores_over_each_other, y, k)
        run(one_iteration_stores, x, y[:1] if n else np.zeros(1), k)
    run(reverse, x)
    run(butterfly, x)
    run(swap_pairs, x, y)
    run(gather, x, rng.integers(0, max(n, 1), n), y)
    run(permuted, x, order)
    run(conditional_store_between, y, z, 0.5)
    run(histograms_of_rows, rng.integers(0, 9, (n, 5)), np.zeros(n, np.int64))
    run(promised, x, order)
    run(sum_with_store, x, y)
    run(three_taps, x, rng.random((n, 3)))
    run(rows, square, np.zeros(len(square)))


def test_strided_arrays_are_vectorised_and_right() -> None:
    x, y = np.arange(4000.0), np.arange(4000.0)
    strided, expected = x[::2], y[::2].copy()[::-1]
    reverse(strided)
    np.testing.assert_array_equal(strided, expected)
    np.testing.assert_array_equal(x[1::2], y[1::2])
    if X86:
        ir = optimise(reverse.lower(strided).ir, named("znver4"))
        assert "vector.body" in str(llvm.parse_bitcode(ir, llvm.create_context()))


def test_a_promise_that_is_wrong_is_kept_by_one_thread() -> None:
    """Nothing is told of accesses that are only promised: 4096 additions to one element are 4096 on one thread."""
    x, before = np.zeros(1), lend.config.threads
    lend.config.threads = 1
    try:
        promised(x, np.zeros(4096, np.int64))
    finally:
        lend.config.threads = before
    assert x[0] == 4096
