"""The team level: what may stand where, reductions of blocks and threads, barriers in functions, sub-groups."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from harness import check

import lend
from lend import Mut, Out, Ref, T, bool_, comptime, f32, f64, i32, i64, u64
from lend.dims import K, M, N
from lend.language.reduction import tree
from lend.language.types import F32

CONTIGUOUS = ("C",)


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


@pytest.mark.parametrize("tile", [4, 8, 16])
def test_matmul_of_the_design(tile: int) -> None:
    def reference(a: np.ndarray, b: np.ndarray, c: np.ndarray, tile: int) -> None:
        c[...] = a.astype(np.float64) @ b

    def arguments(rng: np.random.Generator, n: int) -> list[object]:
        m, k = n + 3, n // 2 + 1
        a, b = rng.random((m, k), np.float32), rng.random((k, n), np.float32)
        return [a, b, np.zeros((m, n), np.float32), tile]

    check(matmul, reference, arguments, sizes=(0, 1, 7, 40), python_up_to=7, rtol=1e-5)


# ------------------------------------------------------------------------------------------------------- reductions


@lend.kernel(math="strict")
def two_levels(x: Ref[f32, N]) -> tuple[f32, f32, i64, f32]:
    total = f32(0.5)
    direct = f32(1)
    count = 0
    largest = f32(-9)
    for b in lend.blocks(lend.cdiv(N, 64)):
        s = f32(0)
        for t in lend.threads(64):
            i = b * 64 + t
            if i < N:
                s += x[i]
                direct += x[i]
                largest = max(largest, x[i])
        total += s
        count += 1
    return total, direct, count, largest


def reduced(x: np.ndarray) -> tuple[float, float, int, float]:
    """The trees of threads and blocks."""
    blocks = [x[k : k + 64] for k in range(0, x.size, 64)]
    padded = [[(float(v),) for v in block] + [(-0.0,)] * (64 - block.size) for block in blocks]
    sums = [tree("add", (F32,), (0.0,), values) for values in padded]
    parts = [tree("add", (F32,), (-0.0,), values) for values in padded]
    return (
        tree("add", (F32,), (0.5,), sums)[0],
        tree("add", (F32,), (1.0,), parts)[0],
        len(blocks),
        max(-9.0, float(x.max(initial=-9.0))),
    )


def test_reductions_of_threads_and_of_blocks_have_one_tree_each() -> None:
    check(
        two_levels,
        reduced,
        lambda rng, n: [rng.standard_normal(n).astype(np.float32)],
        strict=True,
        rtol=0,
        python_up_to=200,
        sizes=(0, 1, 63, 200, 5000),
    )


@lend.kernel
def smallest(x: Ref[f64, N, M]) -> tuple[f64, i64]:
    best = (1e9, 0)
    for b in lend.blocks(N):
        for t in lend.threads(32):
            for j in range(t, M, 32):
                best = min(best, (x[b, j], b * M + j))
    return best


def test_arg_min_over_two_levels() -> None:
    def reference(x: np.ndarray) -> tuple[float, int]:
        at = int(np.argmin(x))
        return float(x.flat[at]), at

    check(smallest, reference, lambda rng, n: [rng.integers(0, 9, (n, 45)).astype(np.float64)], sizes=(1, 3, 40), python_up_to=3)


@lend.kernel
def normalised(x: Mut[f64, N, M]):
    for b in lend.blocks(N):
        s = 0.0
        for t in lend.threads(32):
            for j in range(t, M, 32):
                s += x[b, j]
        if s != 0:
            scale = 1 / s
            for t in lend.threads(32):
                for j in range(t, M, 32):
                    x[b, j] *= scale
        else:
            for t in lend.threads(8):
                for j in range(t, M, 8):
                    x[b, j] = -1.0


def test_threads_under_a_condition_of_the_block() -> None:
    def reference(x: np.ndarray) -> None:
        s = x.sum(axis=1, keepdims=True)
        x[...] = np.where(s == 0, -1.0, x / np.where(s == 0, 1, s))

    def arguments(rng: np.random.Generator, n: int) -> list[np.ndarray]:
        x = rng.random((n, 50))
        x[::3] = 0
        return [x]

    check(normalised, reference, arguments, sizes=(0, 1, 5, 100), python_up_to=5, rtol=1e-12)


@lend.kernel
def power_sums(x: Ref[f64, N, Literal[16]], out: Out[f64, N], rounds: i32):
    for b in lend.blocks(N):
        s = 1.0
        for k in range(rounds):
            part = 0.0
            for t in lend.threads(16):
                part += x[b, t] * s
            s = part
        while s > 100:
            s /= 2
        for t in lend.threads(1):
            out[b] = s


def test_threads_in_a_loop_of_the_block() -> None:
    def reference(x: np.ndarray, out: np.ndarray, rounds: int) -> None:
        s = np.ones(len(x))
        for _ in range(rounds):
            s = (x * s[:, None]).sum(axis=1)
        while (s > 100).any():
            s[s > 100] /= 2
        out[...] = s

    check(power_sums, reference, lambda rng, n: [rng.random((n, 16)), np.zeros(n), 3], sizes=(0, 1, 30), python_up_to=1)


# --------------------------------------------------------------------------------------- dimensions, levels, functions


@lend.kernel
def boxes(x: Out[i64, Literal[4], Literal[6], Literal[8]]):
    for a, b, c in lend.blocks((0, 4, 2), (0, 6, 3), 2):
        for t, u, v in lend.threads(2, 3, 4):
            x[a + t, b + u, c * 4 + v] = ((a * 10 + b) * 10 + c) * 1000 + (t * 10 + u) * 10 + v


def test_three_dimensions_of_blocks_and_threads() -> None:
    for run in (boxes, boxes.py):
        x = np.zeros((4, 6, 8), np.int64)
        run(x)
        i, j, k = np.indices(x.shape)
        expected = ((i // 2 * 2 * 10 + j // 3 * 3) * 10 + k // 4) * 1000 + (i % 2 * 10 + j % 3) * 10 + k % 4
        assert x.tolist() == expected.tolist()


@lend.function
def clamped(v, low, high):
    if v < low:
        return low
    if v > high:
        return high
    return v


@lend.function
def rotated(s, v, t):
    s[t] = v
    lend.sync()
    w = s[(t + 1) % 8]
    lend.sync()
    return w


@lend.kernel
def functions(x: Mut[f64, N, Literal[8]]):
    for b in lend.blocks(N):
        s = lend.shared(f64, 8)
        for t in lend.threads(8):
            if t == 7:
                x[b, t] = 0
                continue
            x[b, t] = clamped(x[b, t], 0.25, 0.75)
        for t in lend.threads(8):
            v = rotated(s, x[b, t], t)
            x[b, t] = rotated(s, v, t) + 0.5


def test_functions_with_barriers_and_early_returns() -> None:
    def reference(x: np.ndarray) -> None:
        x[...] = np.clip(x, 0.25, 0.75)
        x[:, 7] = 0
        x[...] = np.roll(x, -2, axis=1) + 0.5

    check(functions, reference, lambda rng, n: [rng.random((n, 8))], sizes=(0, 1, 50), python_up_to=50)


@lend.kernel
def skipped(x: Mut[i32, N, Literal[4]], first: i64):
    for b in lend.blocks(N):
        if b < first:
            continue
        width = x.shape[1]
        for t in lend.threads(4):
            x[b, t] += i32(width)


def test_continue_ends_a_block() -> None:
    for run in (skipped, skipped.py):
        x = np.zeros((5, 4), np.int32)
        run(x, 2)
        assert x.tolist() == [[0] * 4] * 2 + [[4] * 4] * 3


@lend.kernel
def unrolled(x: Mut[T, N, Literal[32]], reverse: comptime[bool]):
    for b in lend.blocks(N):
        s = lend.shared(T, 32)
        if reverse:
            for t in lend.threads(32):
                s[t] = x[b, t]
            for t in lend.threads(32):
                x[b, t] = s[31 - t]
        for k in lend.static_range(2):
            for t in lend.threads(32):
                x[b, t] += k + 1


def test_comptime_branches_and_unrolled_loops_of_the_block() -> None:
    for dtype in (np.float32, np.int64, np.complex64):
        for reverse in (False, True):
            for run in (unrolled, unrolled.py):
                x = np.arange(96, dtype=dtype).reshape(3, 32)
                y = (x[:, ::-1] if reverse else x) + 3
                run(x, reverse)
                assert x.tolist() == y.tolist()


@lend.kernel
def private(x: Ref[i64, N, Literal[8]], out: Out[i64, N, Literal[8]]):
    for b in lend.blocks(N):
        for t in lend.threads(8):
            mine = lend.local(i64, 4)
            for k in range(4):
                mine[k] = x[b, t] * k
            lend.sync()
            s = 0
            for k in range(4):
                s += mine[k]
            out[b, t] = s


def test_private_arrays_live_across_barriers() -> None:
    def reference(x: np.ndarray, out: np.ndarray) -> None:
        out[...] = 6 * x

    check(private, reference, lambda rng, n: [rng.integers(0, 99, (n, 8)), np.zeros((n, 8), np.int64)], python_up_to=17)


# ------------------------------------------------------------------------------------------------------- sub-groups


@lend.kernel(math="strict")
def shuffles(x: Ref[T, N, Literal[64]], out: Out[T, N, Literal[64]], which: comptime[str], size: comptime[int]):
    for b in lend.blocks(N):
        for t in lend.threads(64):
            sg = lend.subgroup(size)
            v = x[b, t]
            if which == "shuffle":
                v = sg.shuffle(v, (sg.lane * 7 + 3) % (sg.size + 2))
            if which == "xor":
                v = sg.shuffle_xor(v, 5)
            if which == "up":
                v = sg.shuffle_up(v, 3)
            if which == "down":
                v = sg.shuffle_down(v, 1)
            sg.sync()
            out[b, t] = v


@pytest.mark.parametrize("which", ["shuffle", "xor", "up", "down"])
@pytest.mark.parametrize("size", [1, 4, 32, 64])
def test_shuffles(which: str, size: int) -> None:
    lane = np.arange(64) % size
    source = {"shuffle": (lane * 7 + 3) % (size + 2), "xor": lane ^ 5, "up": lane - 3, "down": lane + 1}[which]
    source = np.where((source >= 0) & (source < size), source, lane) + np.arange(64) // size * size
    for dtype in (np.float32, np.int64, np.bool_):
        x = np.random.default_rng(size).integers(0, 2 if dtype is np.bool_ else 99, (3, 64)).astype(dtype)
        for run in (shuffles, shuffles.py):
            out = np.zeros_like(x)
            run(x, out, which, size)
            assert out.tolist() == x[:, source].tolist()


@lend.kernel(math="strict")
def combined(x: Ref[T, N, Literal[64]], r: Out[T, N, Literal[64]], s: Out[T, N, Literal[64]], which: comptime[str]):
    for b in lend.blocks(N):
        for t in lend.threads(64):
            sg = lend.subgroup(16)
            if which == "add":
                r[b, t] = sg.reduce_add(x[b, t])
                s[b, t] = sg.scan_add(x[b, t])
            if which == "mul":
                r[b, t] = sg.reduce_mul(x[b, t])
                s[b, t] = sg.scan_mul(x[b, t])
            if which == "min":
                r[b, t] = sg.reduce_min(x[b, t])
                s[b, t] = sg.scan_min(x[b, t])
            if which == "max":
                r[b, t] = sg.reduce_max(x[b, t])
                s[b, t] = sg.scan_max(x[b, t])


@lend.kernel
def combined_bits(x: Ref[T, N, Literal[64]], r: Out[T, N, Literal[64]], s: Out[T, N, Literal[64]], which: comptime[str]):
    for b in lend.blocks(N):
        for t in lend.threads(64):
            sg = lend.subgroup(16)
            if which == "and":
                r[b, t] = sg.reduce_and(x[b, t])
                s[b, t] = sg.scan_and(x[b, t])
            if which == "or":
                r[b, t] = sg.reduce_or(x[b, t])
                s[b, t] = sg.scan_or(x[b, t])
            if which == "xor":
                r[b, t] = sg.reduce_xor(x[b, t])
                s[b, t] = sg.scan_xor(x[b, t])


OPERATORS = {
    "add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip


def halves(operation: np.ufunc, x: np.ndarray) -> np.ndarray:
    """The lanes of the last dimension folded in halves."""
    while x.shape[-1] > 1:
        half = x.shape[-1] // 2
        x = operation(x[..., :half], x[..., half:])
    return x


@pytest.mark.parametrize("which", OPERATORS)
def test_reductions_and_scans_of_sub_groups(which: str) -> None:
    bits = which in ("and", "or", "xor")
    for dtype in (np.int32, np.uint64, np.bool_) if bits else (np.float32, np.float64, np.int32, np.uint64):
        x = np.random.default_rng(7).integers(0, 2 if dtype is np.bool_ else 1000, (3, 64)).astype(dtype)
        if dtype in (np.float32, np.float64):
            x = x / dtype(7)
        lanes = x.reshape(3, 4, 16)
        operation = OPERATORS[which]
        reduced = np.broadcast_to(halves(operation, lanes), lanes.shape).reshape(3, 64)
        scanned = operation.accumulate(lanes, axis=2).reshape(3, 64)
        kernel = combined_bits if bits else combined
        for run in (kernel, kernel.py):
            r, s = np.zeros_like(x), np.zeros_like(x)
            run(x, r, s, which)
            assert r.tobytes() == reduced.tobytes()
            assert s.tobytes() == scanned.astype(dtype).tobytes()


@lend.kernel
def ballots(
    x: Ref[bool_, N, Literal[4], Literal[16]],
    out: Out[u64, N, Literal[4], Literal[16]],
    lanes: Out[i32, N, Literal[4], Literal[16]],
):
    for b in lend.blocks(N):
        for t, u in lend.threads(4, 16):
            sg = lend.subgroup(32)
            out[b, t, u] = sg.ballot(x[b, t, u])
            lanes[b, t, u] = sg.lane


def test_ballot_and_lanes_go_in_row_major_order() -> None:
    x = np.random.default_rng(3).integers(0, 2, (5, 4, 16)).astype(bool)
    bits = (x.reshape(5, 2, 32).astype(np.uint64) << np.arange(32, dtype=np.uint64)).sum(axis=2, dtype=np.uint64)
    for run in (ballots, ballots.py):
        out, lanes = np.zeros(x.shape, np.uint64), np.zeros(x.shape, np.int32)
        run(x, out, lanes)
        assert out.reshape(5, 2, 32).tolist() == np.repeat(bits[:, :, None], 32, axis=2).tolist()
        assert (lanes.reshape(5, 2, 32) == np.arange(32)).all()


@lend.function
def block_sum(s, v, t):
    """The sum of v over 64 threads, by sub-groups and one shared array."""
    sg = lend.subgroup(16)
    w = sg.reduce_add(v)
    if sg.lane == 0:
        s[t // 16] = w
    lend.sync()
    total = (s[0] + s[1]) + (s[2] + s[3])
    lend.sync()
    return total


@lend.kernel
def centred(x: Mut[f64, N, Literal[64]]):
    for b in lend.blocks(N):
        s = lend.shared(f64, 4)
        for t in lend.threads(64):
            mean = block_sum(s, x[b, t], t) / 64
            spread = block_sum(s, (x[b, t] - mean) ** 2, t)
            x[b, t] = (x[b, t] - mean) / (1 + spread)


def test_sub_groups_in_functions() -> None:
    def reference(x: np.ndarray) -> None:
        x -= x.mean(axis=1, keepdims=True)
        x /= 1 + (x**2).sum(axis=1, keepdims=True)

    check(centred, reference, lambda rng, n: [rng.random((n, 64))], sizes=(0, 1, 20), python_up_to=1, rtol=1e-9, atol=1e-13)
