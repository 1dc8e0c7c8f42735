"""Our own team-level kernels, compiled: against NumPy, `kernel.py` and themselves on other numbers of threads."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from two_ways import two_ways

import lend
from guard import guarded
from lend import Atomic, Mut, Out, Ref, comptime, f32, f64, i32, i64
from lend.dims import K, M, N
from lend.driver.pipeline import Compilation, run
from lend.ir.verify import verify_kernel

sys.path.insert(0, str(Path(__file__).parents[1] / "teams"))

from kernels import CASES, Arguments, Case


@cache
def strict(name: str) -> Any:
    """A kernel of ours whose bits are those of plain Python."""
    return lend.kernel(math="strict")(CASES[name].function)


def copied(arguments: Arguments) -> Arguments:
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in arguments.items()}


def agree(case: Case, found: Arguments, wanted: Arguments) -> None:
    for name, array in wanted.items():
        if case.exact:
            np.testing.assert_array_equal(found[name], array, err_msg=name)
        else:
            np.testing.assert_allclose(found[name], array, rtol=1e-5 if array.dtype == np.float32 else 1e-12, err_msg=name)


@pytest.mark.parametrize("name", CASES)
def test_own_kernels_against_numpy_between_guarded_pages(name: str) -> None:
    case = CASES[name]
    kernel = lend.kernel(case.function)
    for seed, side in ((1, "end"), (2, "start")):
        given = case.arguments(np.random.default_rng(seed))
        wanted = case.expected(copied(given))
        arguments = {k: guarded(v, side) if isinstance(v, np.ndarray) else v for k, v in given.items()}
        kernel(**arguments)
        agree(case, arguments, wanted)


@pytest.mark.parametrize("name", CASES)
def test_own_kernels_have_the_bits_of_plain_python_on_any_number_of_threads(name: str) -> None:
    given = CASES[name].arguments(np.random.default_rng(3))
    plain = copied(given)
    strict(name).py(**plain)
    for threads in (1, 2, 4):
        lend.config.threads = threads
        arguments = copied(given)
        strict(name)(**arguments)
        if name == "softmax":  # `exp` of plain Python is another library's
            np.testing.assert_allclose(arguments["y"], plain["y"], rtol=1e-14)
            continue
        for key, value in plain.items():
            assert not isinstance(value, np.ndarray) or value.tobytes() == arguments[key].tobytes(), key


@pytest.mark.parametrize("name", CASES)
def test_planned_trees_of_own_kernels_keep_the_invariants(name: str) -> None:
    for compilation in planned(strict(name)):
        assert compilation.plan is not None
        verify_kernel(compilation.plan.kernel, planned=True)


def planned(kernel: Any) -> list[Compilation]:
    return [run(compilation, until="plan") for compilation in kernel.compilations()]


# ------------------------------------------------------------------------------------------------------ the product


@lend.kernel
def matmul(a: Ref[f32, M, K], b: Ref[f32, K, N], c: Out[f32, M, N], T: comptime[int] = 16):
    for bi, bj in lend.blocks(lend.cdiv(M, T), lend.cdiv(N, T)):
        ta = lend.shared(f32, T, T)
        tb = lend.shared(f32, T, T)
        for ti, tj in lend.threads(T, T):
            i = bi * T + ti
            j = bj * T + tj
            acc = f32(0)
            for k0 in range(0, K, T):
                ta[ti, tj] = a[i, k0 + tj] if i < M and k0 + tj < K else 0
                tb[ti, tj] = b[k0 + ti, j] if k0 + ti < K and j < N else 0
                lend.sync()
                for k in range(T):
                    acc += ta[ti, k] * tb[k, tj]
                lend.sync()
            if i < M and j < N:
                c[i, j] = acc


@pytest.mark.parametrize("size", [8, 16, 32])
@pytest.mark.parametrize("shape", [(0, 3, 5), (1, 1, 1), (16, 32, 32), (33, 7, 70), (64, 65, 31), (100, 0, 9)])
def test_tiled_product(size: int, shape: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(size)
    m, k, n = shape
    a, b = rng.standard_normal((m, k)).astype(np.float32), rng.standard_normal((k, n)).astype(np.float32)
    c = guarded(np.full((m, n), np.nan, np.float32))
    matmul(guarded(a), guarded(b), c, size)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("size", [8, 16, 32])
def test_loops_over_threads_of_the_product_are_laid_out_in_vectors(size: int) -> None:
    definition = matmul._definition
    types, variables = definition.known_types()
    compilation = definition.compilation((*types[:-1], lend.language.signature.comptime_value(size)), variables)
    plan = run(compilation, until="plan").plan
    assert plan is not None
    tilings = [inner.tiling for inner in plan.regions[0].inner]
    assert all(tiling is not None and tiling.lanes > 1 for tiling in tilings)


# ---------------------------------------------------------------------------------------------- what lives across barriers


@lend.kernel(math="strict")
def swapped(x: Mut[f64, N], steps: i32, T: comptime[int] = 16):
    """Two values that change places in a loop with a barrier, and one that only one branch changes."""
    assert N % T == 0
    for b in lend.blocks(N // T):
        s = lend.shared(f64, T)
        for t in lend.threads(T):
            u = x[b * T + t]
            v = 2.0 * u
            w = 0.0
            for _k in range(i64(steps)):
                s[t] = u
                lend.sync()
                u, v = v, u + s[(t + 1) % T]
                if t % 3 == 0:
                    w += s[(t + 2) % T]
                lend.sync()
            x[b * T + t] = u - v + w


@lend.kernel(math="strict")
def private(x: Ref[f64, N], y: Out[f64, N], T: comptime[int] = 8):
    """Private arrays: of elements, and handed to a function, both across a barrier."""
    assert N % T == 0
    for b in lend.blocks(N // T):
        s = lend.shared(f64, T)
        for t in lend.threads(T):
            own = lend.local(f64, 3)
            rows = lend.local(f64, 2, 2)
            for k in range(3):
                own[k] = x[b * T + t] * f64(k)
            rows[1, 0] = own[2]
            rows[0, 1] = own[1]
            rows[0, 0] = 1.0
            rows[1, 1] = 2.0
            s[t] = own[1]
            lend.sync()
            own[0] = s[T - 1 - t]
            y[b * T + t] = own[0] + own[2] + trace(rows, t % 2)


@lend.function
def trace(rows, k):
    return rows[k, 0] + rows[1 - k, 1]


@lend.kernel(math="strict")
def branches(x: Ref[i64, N], y: Out[i64, N], deep: lend.bool_, T: comptime[int] = 8):
    """Values that branches with barriers give: the same for the block, and of each thread."""
    assert N % T == 0
    for b in lend.blocks(N // T):
        s = lend.shared(i64, T)
        for t in lend.threads(T):
            v = x[b * T + t]
            s[t] = v
            lend.sync()
            factor = i64(1)
            if deep:
                w = s[(t + 1) % T]
                lend.sync()
                s[t] = w
                factor = 3
            else:
                w = v - 1
                lend.sync()
            lend.sync()
            y[b * T + t] = factor * s[T - 1 - t] + w


@lend.kernel(math="strict")
def decided_by_memory(x: Ref[i64, N], n: Ref[i32, M], y: Out[i64, N], T: comptime[int] = 8):
    """A loop whose length is read by all threads at one place."""
    assert N == M * T
    for b in lend.blocks(M):
        s = lend.shared(i64, T)
        for t in lend.threads(T):
            v = x[b * T + t]
            s[t] = v
            lend.sync()
            for k in range(i64(n[b])):
                s[t] = v
                lend.sync()
                v += s[(t + 1) % T] * k
                lend.sync()
            y[b * T + t] = v


@lend.kernel(math="strict")
def three_dimensions(x: Ref[i64, N, 3, 4, 5], y: Out[i64, N, 5, 4, 3]) -> i64:
    """Threads in three dimensions, a block reduction, and one of the grid."""
    total = i64(0)
    for b in lend.blocks(N):
        s = lend.shared(i64, 3, 4, 5)
        most = i64(-1000)
        for i, j, k in lend.threads(3, 4, 5):
            s[i, j, k] = x[b, i, j, k]
            most = max(most, x[b, i, j, k])
        for i, j, k in lend.threads(5, 4, 3):
            y[b, i, j, k] = s[k, j, i] - most
        total += most
    return total


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
def test_values_that_change_places_in_a_loop_with_barriers(steps: int) -> None:
    two_ways(swapped, np.random.default_rng(1).standard_normal(64), steps)


def test_private_arrays_live_across_barriers() -> None:
    two_ways(private, np.random.default_rng(2).standard_normal(40), np.zeros(40))


@pytest.mark.parametrize("deep", [True, False])
def test_values_of_branches_with_barriers(deep: bool) -> None:
    x = np.random.default_rng(3).integers(-9, 10, 32)
    two_ways(branches, x, np.zeros(32, np.int64), deep)


def test_a_loop_whose_length_all_threads_read() -> None:
    rng = np.random.default_rng(4)
    two_ways(decided_by_memory, rng.integers(-9, 10, 40), np.array([0, 1, 3, 2, 7], np.int32), np.zeros(40, np.int64))


def test_threads_in_three_dimensions() -> None:
    x = np.random.default_rng(5).integers(-99, 100, (7, 3, 4, 5))
    _, y = two_ways(three_dimensions, x, np.zeros((7, 5, 4, 3), np.int64))
    np.testing.assert_array_equal(y, x.transpose(0, 3, 2, 1) - x.max((1, 2, 3)).reshape(-1, 1, 1, 1))


# ---------------------------------------------------------------------------------------------------------- reductions


@lend.kernel(math="strict")
def norms(x: Ref[f32, N], y: Out[f32, M], T: comptime[int] = 256) -> tuple[f32, f32, i64]:
    """Reductions over threads, and of their results over blocks, of several kinds together."""
    total, best = f32(0), (f32(1e30), i64(-1))
    for b in lend.blocks(M):
        s, product = f32(0.5), f32(1)
        low = (f32(1e30), i64(-1))
        for t in lend.threads(T):
            i = b * T + t
            if i < N:
                s += x[i]
                product *= f32(1) + x[i] * f32(0.01)
                low = min(low, (x[i], i))
        for t in lend.threads(1):
            y[b] = s * product
        total += s
        best = min(best, low)
    return total, best[0], best[1]


@pytest.mark.parametrize("size", [1, 255, 256, 257, 5000, 700_000])
def test_reductions_over_threads_and_over_blocks(size: int) -> None:
    x = np.random.default_rng(size).standard_normal(size).astype(np.float32)
    blocks = -(-size // 256)
    results = []
    for threads in (1, 2, 4):
        lend.config.threads = threads
        y = np.zeros(blocks, np.float32)
        results.append((*norms(x, y), y.tobytes()))
    assert results[0] == results[1] == results[2]
    total, best, at, _ = results[0]
    assert best == x.min() and at == x.argmin()
    np.testing.assert_allclose(total, x.sum(dtype=np.float64) + 0.5 * blocks, rtol=1e-3, atol=0.2)
    if size <= 5000:
        plain = np.zeros(blocks, np.float32)
        assert (*norms.py(x, plain), plain.tobytes()) == results[0]


# -------------------------------------------------------------------------------------------------------------- faults


@lend.kernel
def permuted(x: Ref[f64, N], q: Ref[i64, N], y: Out[f64, N], T: comptime[int] = 8):
    assert N % T == 0
    for b in lend.blocks(N // T):
        s = lend.shared(f64, T)
        for t in lend.threads(T):
            s[t] = x[b * T + t]
            lend.sync()
            y[b * T + t] = s[q[b * T + t]]


def test_the_fault_of_the_first_thread_is_kept_and_named() -> None:
    x, q = np.arange(400.0), np.tile(np.arange(8), 50)
    q[[77, 75, 200, 399]] = 8, 9, -1, 100
    messages = []
    for run_it in (permuted, permuted.py):
        for threads in (1, 4):
            lend.config.threads = threads
            with pytest.raises(lend.BoundsError) as error:
                run_it(x, q, np.zeros(400))
            messages.append(str(error.value).split("\n")[0])
    assert set(messages) == {"permuted: index 9 is out of bounds for dimension 0 of s, which has size 8, in iteration b=9, t=3"}


@lend.kernel
def shifted(x: Ref[f64, N], y: Mut[f64, N], by: i64, T: comptime[int] = 8):
    """Inside for launches that meet a condition: two versions of the blocks."""
    assert N % T == 0
    for b in lend.blocks(N // T):
        s = lend.shared(f64, T)
        for t in lend.threads(T):
            s[t] = x[b * T + t]
            lend.sync()
            y[b * T + t] = s[T - 1 - t] + x[by]


def test_blocks_whose_tests_depend_on_the_launch() -> None:
    x = np.arange(32.0)
    flipped = x.reshape(4, 8)[:, ::-1].reshape(-1)
    y = guarded(np.zeros(32))
    shifted(guarded(x), y, 31)
    np.testing.assert_array_equal(y, flipped + 31)
    for by in (-1, 32):
        with pytest.raises(lend.BoundsError, match="in iteration b=0, t=0"):
            shifted(x, y, by)


# -------------------------------------------------------------------------------------------------------------- memory


@lend.kernel
def large_tiles(x: Ref[f64, N], y: Out[f64, N], T: comptime[int] = 1024):
    """More than lies on a stack."""
    assert N % T == 0
    for b in lend.blocks(N // T):
        s = lend.shared(f64, 16, T)
        for t in lend.threads(T):
            own = lend.local(f64, 8)
            for k in range(16):
                s[k, t] = x[b * T + t] * f64(k)
            for k in range(8):
                own[k] = s[k, t]
            lend.sync()
            total = 0.0
            for k in range(8):
                total += own[k] + s[k + 8, T - 1 - t]
            y[b * T + t] = total


def test_tiles_that_do_not_fit_a_stack() -> None:
    x = np.random.default_rng(11).standard_normal(8 * 1024)
    rows = x.reshape(8, 1024)
    for threads in (1, 4):
        lend.config.threads = threads
        y = np.zeros_like(x)
        large_tiles(x, y)
        np.testing.assert_allclose(y.reshape(8, 1024), rows * 28 + rows[:, ::-1] * 92, rtol=1e-12, atol=1e-12)


@lend.kernel
def counted(x: Ref[i32, N], h: Atomic[i32, 16], T: comptime[int] = 64):
    for b in lend.blocks(lend.cdiv(N, T)):
        own = lend.shared(Atomic[i32], 16)
        for t in lend.threads(T):
            i = b * T + t
            if i < N:
                own.add(i64(x[i]) & 15, 1)
            lend.sync()
            if t < 16:
                h.add(t, own.load(t))


def test_a_histogram_of_each_block_in_shared_atomics() -> None:
    x = np.random.default_rng(12).integers(0, 16, 100_001).astype(np.int32)
    for threads in (1, 4):
        lend.config.threads = threads
        h = np.zeros(16, np.int32)
        counted(x, h)
        np.testing.assert_array_equal(h, np.bincount(x, minlength=16))
