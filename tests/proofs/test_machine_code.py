"""What a proof is worth in machine code: proved kernels have no check left, the others keep theirs through the optimiser."""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np
import pytest
from verdicts import assert_proved, others

import lend
from lend import Mut, Out, Ref, f64, i32, i64, u8
from lend.dims import H, K, M, N, W

# ------------------------------------------------------------------------------------------------------------- proved


@lend.kernel
def map_of_one_array(x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = 2.0 * x[i]


@lend.kernel
def stencil(u: Ref[f64, N, M], v: Mut[f64, N, M]):
    for i, j in lend.grid((1, N - 1), (1, M - 1)):
        v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


@lend.kernel
def periodic(x: Ref[f64, N], y: Out[f64, N]):
    for i in lend.grid(N):
        y[i] = x[(i + 1) % N] - x[(i - 1) % N]


@lend.kernel
def product(a: Ref[f64, M, K], b: Ref[f64, K, N], c: Out[f64, M, N]):
    for i, j in lend.grid(M, N):
        total = 0.0
        for k in range(K):
            total += a[i, k] * b[k, j]
        c[i, j] = total


@lend.kernel
def guarded(x: Ref[f64, N], at: Ref[i64, M], y: Out[f64, M]):
    for i in lend.grid(M):
        k = at[i]
        y[i] = x[k] if 0 <= k and k < N else 0.0


@lend.kernel
def bytes_of_rows(image: Ref[u8, H, W], counts: Mut[i32, H, Literal[256]]):
    for i in lend.grid(H):
        for j in range(W):
            counts[i, image[i, j]] += 1


@lend.kernel
def triangle(x: Mut[f64, N, N]):
    for i in lend.grid(N):
        for j in range(i):
            x[i, j] = x[j, i]


@lend.kernel
def through_a_temporary(x: Mut[f64, N]):
    t = lend.empty(f64, N)
    for i in lend.grid(N):
        t[i] = x[N - 1 - i]
    for i in lend.grid(N):
        x[i] = t[i]


PROVED = [map_of_one_array, stencil, periodic, product, guarded, bytes_of_rows, triangle]


def name_of(kernel: Any) -> str:
    return kernel.__name__


@pytest.mark.parametrize("kernel", PROVED, ids=name_of)
def test_proved_kernels_have_no_check_in_their_machine_code(kernel: Any) -> None:
    assert_proved(kernel)
    assert "lend_fault" not in kernel.lower().asm
    assert "fault" not in regions_of(kernel.lower().llvm)


def test_a_temporary_can_only_run_out_of_memory() -> None:
    assert_proved(through_a_temporary)
    assert "fault" not in regions_of(through_a_temporary.lower().llvm)


def regions_of(llvm: str) -> str:
    """The parallel loops of a module."""
    found = re.findall(r"^define internal void @region_.*?^}", llvm, re.MULTILINE | re.DOTALL)
    assert found
    return "\n".join(found)


# ------------------------------------------------------------------------------------------------------------ checked


@lend.kernel
def gather(x: Ref[f64, N], at: Ref[i64, M], y: Out[f64, M]):
    for i in lend.grid(M):
        y[i] = x[at[i]]


@lend.kernel
def gather_of_sums(x: Ref[f64, N], at: Ref[i64, M], y: Out[f64, M]):
    for i in lend.grid(M):
        y[i] = x[at[i] + 1] + x[at[i] - 1]


@lend.kernel
def gather_behind_a_guard_that_wraps(x: Ref[f64, N], at: Ref[i64, M], y: Mut[f64, M]):
    for i in lend.grid(M):
        k = at[i]
        if 0 <= k and k + 1 < N:
            y[i] = x[k]


@lend.kernel
def rows(start: Ref[i64, N], x: Ref[f64, M], y: Mut[f64, N]):
    for i in lend.grid(N - 1):
        total = 0.0
        for k in range(start[i], start[i + 1]):
            total += x[k]
        y[i] = total


CHECKED = [
    (gather, (np.ones(4), np.array([0, 4]), np.zeros(2))),
    (gather, (np.ones(4), np.array([0, -1]), np.zeros(2))),
    (gather, (np.ones(4), np.array([-(2**63), 2**63 - 1]), np.zeros(2))),
    (gather_of_sums, (np.ones(4), np.array([1, 3]), np.zeros(2))),
    (gather_of_sums, (np.ones(4), np.array([1, 2**63 - 1]), np.zeros(2))),
    (gather_behind_a_guard_that_wraps, (np.ones(4), np.array([2**63 - 1]), np.zeros(1))),
    (rows, (np.array([0, 2, 5]), np.ones(4), np.zeros(3))),
]


@pytest.mark.parametrize(("kernel", "arguments"), CHECKED, ids=lambda value: getattr(value, "__name__", ""))
def test_checks_outlive_the_optimiser(kernel: Any, arguments: tuple[Any, ...]) -> None:
    assert any(what.startswith("bounds checked") for what in others(kernel))
    assert "lend_fault" in kernel.lower().asm
    assert "@lend_fault" in regions_of(kernel.lower().llvm)
    with pytest.raises(lend.BoundsError):
        kernel(*arguments)


# ------------------------------------------------------------------------------------------------------------- launch


@lend.kernel
def sizes_that_agree_only_at_a_call(x: Ref[f64, N], y: Ref[f64, M], z: Out[f64, N]):
    for i in lend.grid(N):
        z[i] = x[i] + y[i]


@lend.kernel
def scalar_bound(x: Mut[f64, N], n: i64):
    for i in lend.grid(n):
        x[i] = 1.0


@pytest.mark.parametrize("kernel", [sizes_that_agree_only_at_a_call, scalar_bound], ids=name_of)
def test_conditional_regions_stand_twice(kernel: Any) -> None:
    assert {p.verdict for p in kernel.proofs()} <= {"proved", "launch"}
    regions = re.findall(r"^define internal void @region_.*?^}", kernel.lower().llvm, re.MULTILINE | re.DOTALL)
    assert sorted("fault" in region for region in regions) == [False, True]


def test_the_version_with_checks_runs_where_the_condition_is_false() -> None:
    z = np.zeros(3)
    sizes_that_agree_only_at_a_call(np.ones(3), np.ones(4), z)
    assert z.tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(lend.BoundsError):
        sizes_that_agree_only_at_a_call(np.ones(3), np.ones(2), z)
    x = np.zeros(3)
    scalar_bound(x, 2)
    assert x.tolist() == [1.0, 1.0, 0.0]
    with pytest.raises(lend.BoundsError):
        scalar_bound(x, 4)
    scalar_bound(np.zeros(3), -(2**63))
    with pytest.raises(lend.BoundsError):
        scalar_bound(np.zeros(3), 2**20)
