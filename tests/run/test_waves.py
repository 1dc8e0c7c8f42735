"""Loops around parallel loops that run several steps at a time: the bits of the plain order, at all sizes and numbers of
threads."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from harness import IN_PLACE

import lend
from lend import Mut, Ref, f64, i32, i64
from lend.dims import K, M, N
from lend.lower.waves_ir import waves_ir
from lend.targets.cpu.hand_written import assemble
from lend.targets.cpu.own_functions import OURS, addresses
from lend.targets.cpu.threads import CACHE_BYTES, PARALLEL_NOW, THREAD_COUNT, pool

PLAIN = (0, 1 << 15, 1 << 50, 1 << 50)
"""Caches so large that nothing has to wait."""
PRIVATE = [1 << 12, 1 << 14, 1 << 20]
"""Sizes of the private cache: the smallest cuts rows into blocks."""


@pytest.fixture(autouse=True)
def _caches_are_put_back() -> Iterator[None]:
    before = pool().caches
    yield
    pool().caches = before


def same_in_waves(kernel: Callable[..., object], shapes: list[tuple[int, ...]], *others: object) -> None:
    """Run a kernel on random arrays in the plain order and in waves, and compare all bits."""

    def run(caches: tuple[int, ...], threads: int) -> list[np.ndarray]:
        pool().caches = caches
        lend.config.threads = threads
        random = np.random.default_rng(3)
        arrays = [random.random(shape) for shape in shapes]
        result = kernel(*arrays, *others)
        return [*arrays, np.array(0 if result is None else result)]

    plain = run(PLAIN, 1)
    for private in PRIVATE:
        for threads in (1, 2, 3, 4):
            for a, b in zip(plain, run((0, 1 << 12, private, 0), threads), strict=True):
                assert np.array_equal(a, b), (shapes, others, private, threads)


@lend.kernel
def line(u: Mut[f64, N], v: Mut[f64, N], steps: i64):
    for t in range(steps):
        for i in lend.grid((1, N - 1)):
            v[i] = 0.33 * (u[i - 1] + u[i] + u[i + 1])
        for i in lend.grid((1, N - 1)):
            u[i] = 0.33 * (v[i - 1] + v[i] + v[i + 1])


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 100, 2049, 9000, 40000])
@pytest.mark.parametrize("steps", [0, 1, 7, 40])
def test_a_line(size: int, steps: int) -> None:
    same_in_waves(line, [(size,)] * 2, steps)


@lend.kernel
def swapped(u: Mut[f64, N, M], v: Mut[f64, N, M], steps: i64):
    for t in range(steps):
        for i, j in lend.grid((1, N - 1), (1, M - 1)):
            v[i, j] = 0.2 * (u[i, j] + u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        u, v = v, u


@lend.kernel
def copied_back(u: Mut[f64, N, M], v: Mut[f64, N, M], steps: i64):
    for t in range(steps):
        for i, j in lend.grid((1, N - 1), (1, M - 1)):
            v[i, j] = 0.2 * (u[i, j] + u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        for i, j in lend.grid(N, M):
            u[i, j] = v[i, j]


SHEETS = [(0, 0), (2, 7), (3, 3), (17, 2000), (64, 64), (65, 130), (129, 33), (300, 257), (1000, 40)]


@pytest.mark.parametrize("shape", SHEETS)
@pytest.mark.parametrize("steps", [1, 2, 37])
@pytest.mark.parametrize("kernel", [swapped, copied_back])
def test_a_sheet(kernel: Callable[..., object], shape: tuple[int, int], steps: int) -> None:
    same_in_waves(kernel, [shape] * 2, steps)


@lend.kernel
def heat(u: Mut[f64, N, M, K], v: Mut[f64, N, M, K], steps: i64):
    for t in range(steps):
        for i, j, k in lend.grid((1, N - 1), (1, M - 1), (1, K - 1)):
            along = u[i + 1, j, k] + u[i - 1, j, k] + u[i, j + 1, k] + u[i, j - 1, k] + u[i, j, k + 1] + u[i, j, k - 1]
            v[i, j, k] = 0.125 * along + 0.25 * u[i, j, k]
        u, v = v, u


@pytest.mark.parametrize("shape", [(3, 3, 3), (40, 20, 20), (129, 33, 9), (90, 40, 70)])
@pytest.mark.parametrize("steps", [1, 9])
def test_a_body(shape: tuple[int, int, int], steps: int) -> None:
    same_in_waves(heat, [shape] * 2, steps)


@lend.kernel
def fields(ex: Mut[f64, N, M], ey: Mut[f64, N, M], hz: Mut[f64, N, M], source: Ref[f64, K]):
    for t in range(K):
        for j in lend.grid(M):
            ey[0, j] = source[t]
        for i, j in lend.grid((1, N), M):
            ey[i, j] = ey[i, j] - 0.5 * (hz[i, j] - hz[i - 1, j])
        for i, j in lend.grid(N, (1, M)):
            ex[i, j] = ex[i, j] - 0.5 * (hz[i, j] - hz[i, j - 1])
        for i, j in lend.grid(N - 1, M - 1):
            hz[i, j] = hz[i, j] - 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])


@pytest.mark.parametrize("shape", SHEETS[1:])
@pytest.mark.parametrize("steps", [1, 20])
def test_three_fields_and_their_edge(shape: tuple[int, int], steps: int) -> None:
    same_in_waves(fields, [shape] * 3 + [(steps,)])


@lend.kernel
def edges(u: Mut[f64, N, M], v: Mut[f64, N, M], steps: i64):
    assert N >= 3 and M >= 3
    for t in range(steps):
        for j in lend.grid(M):
            u[N - 1, j] = u[N - 2, j]
        for i in lend.grid(N):
            u[i, 0] = 0.5 * u[i, 1]
        for i, j in lend.grid((1, N - 1), (1, M - 1)):
            v[i, j] = 0.2 * (u[i, j] + u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        if t % 3 == 0:
            for i, j in lend.grid((1, N - 1), (1, M - 1)):
                v[i, j] = v[i, j] + 0.01 * t
        u, v = v, u


@pytest.mark.parametrize("shape", SHEETS[2:])
def test_loops_along_edges_and_in_branches(shape: tuple[int, int]) -> None:
    same_in_waves(edges, [shape] * 2, 23)


@lend.kernel
def one_sided(u: Mut[f64, N, M], v: Mut[f64, N, M], w: Mut[f64, N, M], steps: i64):
    assert N >= 8 and M >= 8
    for t in range(steps):
        for i, j in lend.grid(N - 3, (2, M)):
            w[i, j] = u[i + 3, j - 2] - 0.5 * v[i, j]
        for i, j in lend.grid((4, N), M - 1):
            v[i, j] = 0.25 * w[i - 4, j + 1] + 0.5 * v[i, j]
        u, v, w = v, w, u


@pytest.mark.parametrize("shape", [(8, 8), (50, 300), (333, 64)])
@pytest.mark.parametrize("steps", [1, 5, 30])
def test_rows_that_lie_on_one_side_only(shape: tuple[int, int], steps: int) -> None:
    same_in_waves(one_sided, [shape] * 3, steps)


@lend.kernel
def counted(u: Mut[f64, N, M], v: Mut[f64, N, M], most: i32) -> f64:
    steps, total = i32(0), 0.0
    while steps < most:
        for i, j in lend.grid((1, N - 1), (1, M - 1)):
            v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        if steps % 5 == 2:
            for i, j in lend.grid(N, M):
                total += v[i, j]
        u, v = v, u
        steps += 1
    return total


@pytest.mark.parametrize("shape", SHEETS[1:])
def test_a_sum_now_and_then_sees_the_steps_before_it(shape: tuple[int, int]) -> None:
    same_in_waves(counted, [shape] * 2, 24)


@lend.kernel
def looked_at(u: Mut[f64, N], v: Mut[f64, N], steps: i64) -> f64:
    assert N >= 4
    seen = 0.0
    for t in range(steps):
        for i in lend.grid((1, N - 1)):
            v[i] = 0.5 * (u[i - 1] + u[i + 1])
        if t % 4 == 3:
            seen += v[N // 2]
        u, v = v, u
    return seen


@pytest.mark.parametrize("size", [4, 5000, 30000])
def test_an_element_read_now_and_then_is_up_to_date(size: int) -> None:
    same_in_waves(looked_at, [(size,)] * 2, 30)


@lend.kernel
def halved(u: Mut[f64, N], steps: i64):
    v = lend.zeros(f64, N)
    for round in range(2):
        for t in range(steps):
            for i in lend.grid((1, N - 1)):
                v[i] = u[i - 1] - u[i + 1]
            for i in lend.grid(N):
                u[i] = 0.5 * v[i]


def test_a_loop_inside_a_loop_and_a_temporary() -> None:
    same_in_waves(halved, [(20000,)], 19)


@lend.kernel
def guarded(u: Mut[f64, N], v: Mut[f64, N], bad: i64, steps: i64):
    for t in range(steps):
        for i in lend.grid((1, N - 1)):
            v[i] = 0.5 * (u[i - 1] + u[i + 1])
        if t == 9:
            for i in lend.grid(N):
                u[i] = v[i] + v[(i + bad) * (i + bad)]
        for i in lend.grid(N):
            u[i] = v[i]


@pytest.mark.parametrize("threads", [1, 2])
def test_steps_before_a_fault_have_run(threads: int) -> None:
    lend.config.threads = threads
    found = []
    for caches in (PLAIN, (0, 1 << 12, 1 << 14, 0)):
        pool().caches = caches
        u, v = np.linspace(0, 1, 30000), np.zeros(30000)
        with pytest.raises(lend.BoundsError) as error:
            guarded(u, v, 1 << 20, 30)
        found.append((v, str(error.value)))
    assert np.array_equal(found[0][0], found[1][0])
    assert found[0][1] == found[1][1]


@pytest.mark.skipif(not IN_PLACE, reason="steps run together on the processor only")
def test_several_steps_run_together_where_arrays_exceed_the_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    shape = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    real, calls = shape(pool().functions[PARALLEL_NOW]), []

    @shape
    def counting(region: int, env: int, iterations: int, chunk: int) -> None:
        calls.append(iterations)
        real(region, env, iterations, chunk)

    counted = {PARALLEL_NOW: ctypes.cast(counting, ctypes.c_void_p).value or 0}
    code = assemble(waves_ir(), addresses((CACHE_BYTES, THREAD_COUNT)) | counted, optimised=True)
    monkeypatch.setitem(OURS, "lend_wave_flush", lambda: code.address("lend_wave_flush"))  # type: ignore[arg-type]

    @lend.kernel
    def steps_of(u: Mut[f64, N, M], v: Mut[f64, N, M], steps: i64):
        for t in range(steps):
            for i, j in lend.grid((1, N - 1), (1, M - 1)):
                v[i, j] = 0.2 * (u[i, j] + u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
            u, v = v, u

    lend.config.threads = 1
    u, v = np.ones((600, 40)), np.ones((600, 40))
    for caches, times in ((PLAIN, 0), ((0, 1 << 12, 1 << 20, 0), 3)):
        calls.clear()
        pool().caches = caches
        steps_of(u, v, 48)
        assert calls == [1] * times
