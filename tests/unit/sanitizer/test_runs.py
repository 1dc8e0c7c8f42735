"""What a call under the judge leaves behind: results, arguments, exceptions, the same for the same seed."""

from __future__ import annotations

import copy
from typing import Any, Literal

import numpy as np
import pytest

import lend
from lend import Index, Mut, Out, Ref, T, bf16, bool_, comptime, f16, f32, f64, i32, i64, u8, u64
from lend.dims import M, N


def test_a_clean_run_leaves_what_the_kernel_leaves() -> None:
    @lend.kernel
    def step(a: f32, x: Ref[f32, N], y: Mut[f32, N]) -> f64:
        total = 0.0
        for i in lend.grid(N):
            y[i] += a * x[i]
            total += f64(y[i])
        return total

    x, y = np.arange(7, dtype=np.float32), np.ones(14, np.float32)[::2]
    twin = y.copy()
    report = lend.sanitize(step)(0.1, x, y)
    assert report.ok and report.result == step(0.1, x, twin)
    assert y.tobytes() == twin.tobytes()


def test_a_run_with_findings_leaves_the_arguments_alone() -> None:
    def racy(y: Mut[f64, N]) -> f64:
        for i in lend.grid(N):
            y[0] = 1.0
        return y[0]

    y = np.zeros(3)
    report = lend.sanitize(racy)(y)
    assert not report.ok and report.result is None and y.tolist() == [0, 0, 0]


def test_results_of_all_kinds() -> None:
    def results(x: Mut[f64, N, M]) -> tuple[Mut[f64, M], f64]:
        t = lend.zeros(f64, 2)
        t[0] = x[1, 2]
        x[1, 0] = t[0]
        return x[1], t[0]

    x = np.arange(6.0).reshape(2, 3)
    row, last = lend.sanitize(results)(x).result
    assert last == 5.0 and row.tolist() == [5, 4, 5] and np.shares_memory(row, x)


def test_a_returned_temporary_is_a_new_array() -> None:
    def fresh(n: i64) -> Mut[u64, N]:
        t = lend.zeros(u64, n)
        for i in lend.grid(n):
            t[i] = u64(i) - u64(2)
        return t

    report = lend.sanitize(fresh)(3)
    assert report.ok and report.result.dtype == np.uint64 and report.result.tolist() == [2**64 - 2, 2**64 - 1, 0]


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float16, np.float32, np.float64, np.complex64, np.complex128, np.bool_])
def test_elements_of_all_types_come_and_go(dtype: Any) -> None:
    def copies(x: Ref[T, N], y: Out[T, N]):
        for i in lend.grid(N):
            y[i] = x[i]

    x = np.frombuffer(np.random.default_rng(0).bytes(8 * np.dtype(dtype).itemsize), np.uint8)
    x = (x[: 8 * np.dtype(dtype).itemsize] % 2).astype(np.bool_) if dtype is np.bool_ else x.view(dtype)
    y = np.zeros(len(x), dtype)
    assert lend.sanitize(copies)(x, y).ok
    assert np.array_equal(x, y, equal_nan=True) if dtype not in (np.int8, np.uint64, np.bool_) else np.array_equal(x, y)


def test_bf16() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")

    def doubles(x: Mut[bf16, N]):
        for i in lend.grid(N):
            x[i] = bf16(f32(x[i]) * f32(2))

    x = np.array([1.5, -0.25, 300.0], ml_dtypes.bfloat16)
    assert lend.sanitize(doubles)(x).ok and x.astype(float).tolist() == [3.0, -0.5, 600.0]


@lend.struct
class Inner:
    a: f16
    b: bool_


@lend.struct
class Outer:
    n: i32
    inner: Inner


def test_nested_records() -> None:
    def turns(p: Mut[Outer, N]):
        for i in lend.grid(N):
            p[i].inner.a = p[i].inner.a + f16(p[i].n)
            p[i].inner.b = not p[i].inner.b

    p = np.zeros(2, Outer.dtype)
    p["n"] = [1, 2]
    assert lend.sanitize(turns)(p).ok
    assert p["inner"]["a"].tolist() == [1, 2] and p["inner"]["b"].tolist() == [True, True]


def test_reshapes_views_and_called_kernels() -> None:
    @lend.kernel
    def fill(row: Mut[f64, M], value: f64):
        for j in lend.grid(M):
            row[j] = value

    def calls(x: Mut[f64, N]):
        assert N % 6 == 0
        m = x.reshape(N // 6, 3, 2)
        for k in range(N // 6):
            fill(m[k, :, 1], f64(k))
            fill(m[k, 2, :], -1.0)

    x = np.full(12, 9.0)
    assert lend.sanitize(calls)(x).ok
    assert x.tolist() == [9, 0, 9, 0, -1, -1, 9, 1, 9, 1, -1, -1]


def test_what_a_call_refuses_is_refused_here() -> None:
    def gather(x: Ref[f64, N], at: Ref[Index[N], M], y: Out[f64, M], k: comptime[int] = 1):
        assert M > 1
        for j in lend.grid(M):
            y[j] = x[at[j]]

    judge = lend.sanitize(gather)
    assert judge(np.arange(3.0), np.array([2, 0]), np.zeros(2)).ok
    with pytest.raises(lend.ContractError, match="M > 1"):
        judge(np.arange(3.0), np.array([2]), np.zeros(1))
    with pytest.raises(lend.BoundsError):
        judge(np.arange(3.0), np.array([2, 3]), np.zeros(2))
    with pytest.raises(lend.ArgumentError):
        judge(np.arange(3), np.array([2, 3]), np.zeros(2))
    with pytest.raises(ValueError, match="at least 1"):
        lend.sanitize(gather, runs=0)


def test_a_kernel_that_is_no_kernel_is_refused() -> None:
    def wrong(y: Mut[f64, N]):
        for i in lend.grid(N):
            y[i] = i32(1) + 0.5j

    with pytest.raises(lend.CompileError):
        lend.sanitize(wrong)(np.zeros(2))
    with pytest.raises(lend.ArgumentError):
        lend.sanitize(3)  # type: ignore[type-var]


def test_a_refused_kernel_runs_and_a_decorated_one_too() -> None:
    @lend.sanitize
    def shift(x: Mut[f64, N]):
        for i in lend.grid((1, N)):
            x[i] = x[i - 1]

    with pytest.raises(lend.CompileError):
        lend.kernel(shift.__wrapped__)  # type: ignore[attr-defined]
    assert {f.kind for f in shift(np.zeros(3)).findings} == {"race"}


def test_a_captured_value_is_what_it_is_at_the_call() -> None:
    scale = 2.0

    def scaled(y: Mut[f64, N]):
        for i in lend.grid(N):
            y[i] = scale * y[i]

    judge, y = lend.sanitize(scaled), np.ones(1)
    judge(y)
    scale = 5.0
    judge(y)
    assert y.tolist() == [10.0]


def test_a_seed_names_the_runs() -> None:
    def ticket(h: lend.Atomic[i32, 1], y: Mut[i32, N]):
        for b in lend.blocks(N // 4):
            for t in lend.threads(4):
                y[b * 4 + t] = h.add(0, 1)

    def order(seed: int) -> list[int]:
        y = np.zeros(16, np.int32)
        assert lend.sanitize(ticket, seed=seed)(np.zeros(1, np.int32), y).ok
        return y.tolist()

    assert order(1) == order(1) != order(2)
    assert sorted(order(3)) == list(range(16))
    blocks = [{n // 4 for n in order(seed)[:4]} for seed in range(20)]
    assert any(len(b) > 1 for b in blocks) and any(len(b) == 1 for b in blocks)  # together, and one after another


def test_findings_are_the_same_for_the_same_seed_and_each_is_told_once() -> None:
    def races(y: Mut[f64, N]):
        for b in lend.blocks(3):
            for t in lend.threads(4):
                y[t // 2] = 1.0

    first, second = (str(lend.sanitize(races, seed=4)(np.zeros(4))) for _ in range(2))
    assert first == second and first.count("error[L0312]") <= 1 and first.count("error[L03") <= 2


def test_a_device_function_says_where_it_is_called_from() -> None:
    @lend.function
    def read(a: Ref[f64, N], k: i64):
        return a[k]

    def calls(x: Ref[f64, N], y: Out[f64, N]):
        for i in lend.grid(N):
            y[i] = read(x, i + 1)

    (finding,) = lend.sanitize(calls)(np.zeros(2), np.zeros(2)).findings
    assert finding.kind == "bounds" and "called from" in str(finding) and "return a[k]" in str(finding)


def test_unchecked_code_is_judged_like_all_other() -> None:
    def trusting(x: Ref[f64, N], y: Out[f64, N]):
        for i in lend.grid(N):
            with lend.unchecked("it is not true"):
                y[i] = x[i + 1]

    assert {f.kind for f in lend.sanitize(trusting)(np.zeros(2), np.zeros(2)).findings} == {"bounds"}


def test_reductions_have_the_bits_of_the_tree() -> None:
    @lend.kernel
    def sums(x: Ref[f64, N]) -> tuple[f64, f64, i64]:
        total, best = 0.5, (1e300, 0)
        for i in lend.grid(N):
            total += x[i]
            best = min(best, (x[i], i))
        return total, best[0], best[1]

    x = np.random.default_rng(0).standard_normal(2500)
    assert lend.sanitize(sums, runs=1)(x).result == sums.py(x)


def test_block_reductions_have_the_bits_of_the_tree() -> None:
    def teams(x: Ref[f64, N], y: Out[f64, N]) -> f64:
        total = 0.25
        for b in lend.blocks(N // 100):
            own = 0.5
            for t in lend.threads(100):
                own += x[b * 100 + t]
            total += own
            for t in lend.threads(100):
                y[b * 100 + t] = own
        return total

    x = np.random.default_rng(0).standard_normal(300)
    y = np.zeros(300)
    report = lend.sanitize(teams)(x, y)
    assert report.ok
    parts = [tree([x[100 * b + t] for t in range(100)], 0.5) for b in range(3)]
    assert y.reshape(3, 100)[:, 0].tolist() == parts and report.result == tree(parts, 0.25)


def tree(values: list[float], start: float) -> float:
    lanes = [-0.0] * 64
    for k, value in enumerate(values):
        lanes[k % 64] += value
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [a + b for a, b in zip(lanes[:half], lanes[half:], strict=True)]
    return start + lanes[0]


def test_two_and_three_dimensions() -> None:
    def cube(y: Out[i64, 4, 6, 2]):
        for a, b in lend.blocks(2, 3):
            for p, q, r in lend.threads(2, 2, 2):
                y[2 * a + p, 2 * b + q, r] = 100 * (2 * a + p) + 10 * (2 * b + q) + r

    y = np.zeros((4, 6, 2), np.int64)
    assert lend.sanitize(cube)(y).ok
    assert y.tolist() == [[[100 * i + 10 * j + k for k in range(2)] for j in range(6)] for i in range(4)]


def test_the_report_prints() -> None:
    def nothing(x: Ref[u8, Literal[2]]):
        pass

    report = lend.sanitize(nothing, runs=1)(np.zeros(2, np.uint8))
    assert str(report) == "nothing: nothing found in 1 run (seed 0)"
    assert copy.copy(report) == report
