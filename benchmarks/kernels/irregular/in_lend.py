"""Data-dependent accesses in lend."""

from __future__ import annotations

import lend
from lend import Index, Offsets, Out, Ref, f64, i32, i64
from lend.dims import M, N

PART = 262_144


class Values(lend.Dim): ...


class RowEnds(lend.Dim):
    equals = M + 1


@lend.kernel
def histogram(bins: Ref[Index[M, i32], N], counts: Out[i64, M]):
    parts = lend.zeros(i64, lend.cdiv(N, PART), M)
    for p in lend.grid(lend.cdiv(N, PART)):
        for k in range(PART * p, min(PART * (p + 1), N)):
            parts[p, bins[k]] += 1
    for b in lend.grid(M):
        total = i64(0)
        for p in range(lend.cdiv(N, PART)):
            total += parts[p, b]
        counts[b] = total


@lend.kernel
def csr(
    rows: Ref[Offsets[Values], RowEnds],
    columns: Ref[Index[N, i32], Values],
    values: Ref[f64, Values],
    x: Ref[f64, N],
    y: Out[f64, M],
):
    for i in lend.grid(M):
        total = 0.0
        for k in range(rows[i], rows[i + 1]):
            total += values[k] * x[columns[k]]
        y[i] = total
