"""Types in the place of arguments: `lower`, `proofs` and `explain` without a call."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest

import lend
from lend import Index, Mut, Out, Ref, T, Vec, comptime, f16, f32, f64, i32, i64
from lend.dims import M, N


@lend.struct
class Pair:
    x: f64
    y: f64


@lend.kernel
def saxpy(a: f32, x: Ref[f32, N], y: Mut[f32, N]):
    for i in lend.grid(N):
        y[i] += a * x[i]


@lend.kernel
def scaled(a: T, x: Ref[T, N], y: Out[T, N], times: comptime[int]):
    for i in lend.grid(N):
        y[i] = a * x[i]
        for _ in lend.static_range(times):
            y[i] *= a


@lend.kernel
def mixed(
    pairs: Ref[Pair, N], p: Vec[f32, Literal[3]], q: Ref[Vec[f32, Literal[3]], N], at: Ref[Index[N, i32], M], y: Out[f64, M]
):
    for i in lend.grid(M):
        y[i] = pairs[at[i]].x + q[at[i]][0] + p[1]


@lend.kernel
def together(xs: tuple[Ref[f64, N], ...], y: Mut[f64, N]):
    for i in lend.grid(N):
        for x in xs:
            y[i] += x[i]


def typed(kernel: Any, *given: Any, **named: Any) -> str:
    text: str = kernel.lower(*given, **named).typed
    return text


def test_types_stand_for_arguments() -> None:
    wanted = typed(saxpy)
    x = np.ones(2, np.float32)
    for given in ((f32, f32, f32), (np.float32, np.dtype("f4"), np.float32), (f32, Ref[f32, N], Mut[f32, N]), (2.0, x, f32)):
        assert typed(saxpy, *given) == wanted
    assert typed(saxpy, f32, y=f32, x=f32) == wanted
    assert "Ref[f32, 1d, strided]" in typed(saxpy, f32, np.ones(4, np.float32)[::2], f32)


def test_nothing_runs_and_every_target_takes_types() -> None:
    assert "define" in saxpy.lower(f32, f32, f32).llvm
    assert ".visible .entry" in saxpy.lower(f32, f32, f32, target="cuda:sm_90").asm
    assert saxpy.proofs(f32, f32, f32).summary == saxpy.proofs().summary
    assert saxpy.explain(f32, f32, f32).loops[0].iterations is None


def test_type_variables_take_what_is_given() -> None:
    assert "f16" in typed(scaled, f16, f16, f16, 2)
    assert "f32" in typed(scaled, 2.0, f32, f32, 2) and "f64" not in typed(scaled, 2.0, f32, f32, 2)
    with pytest.raises(
        lend.ArgumentError, match=r"scaled: y is f32, and f64 was given|scaled: y is Out\[T, N\], and f64 was given"
    ):
        scaled.lower(f32, f32, f64, 2)


def test_records_vectors_indices_and_tuples() -> None:
    Three = Vec[f32, Literal[3]]
    assert "Ref[Pair, 1d, C]" in typed(mixed, Pair, Three, Three, i32, f64)
    assert typed(mixed, Pair, Three, Ref[Three, N], Ref[Index[N, i32], M], Out[f64, M]) == typed(
        mixed, Pair, Three, Three, i32, f64
    )
    assert "xs[1]" in typed(together, (f64, f64), f64) and "xs[2]" not in typed(together, (f64, f64), f64)


@pytest.mark.parametrize(
    ("kernel", "given", "message"),
    [
        (saxpy, (f64, f32, f32), "saxpy: a is f32, and f64 was given for its type"),
        (saxpy, (f32, f32, i64), "saxpy: y is Mut[f32, N], and i64 was given for its type"),
        (saxpy, (f32, "x", f32), "saxpy: x is Ref[f32, N], and str was given for its type"),
        (saxpy, (f32, f32), "kernel() missing 1 required positional argument: 'y'"),
        (together, (f64, f64), "together: xs is tuple[Ref[f64, N], ...], and f64 was given for its type"),
    ],
)
def test_what_does_not_fit_is_named(kernel: Any, given: tuple[Any, ...], message: str) -> None:
    with pytest.raises(lend.ArgumentError) as caught:
        kernel.lower(*given)
    assert str(caught.value).replace("saxpy()", "kernel()") == message
