"""A sparse matrix in compressed rows times a vector."""

from __future__ import annotations

import numpy as np

import lend
from lend import Out, Ref, f64, i32, i64
from lend.dims import K, M, N


class Starts(lend.Dim):
    equals = N + 1


@lend.kernel
def csr_matvec(start: Ref[i64, Starts], column: Ref[i32, K], value: Ref[f64, K], x: Ref[f64, M], y: Out[f64, N]):
    for i in lend.grid(N):
        total = 0.0
        for k in range(start[i], start[i + 1]):
            total += value[k] * x[column[k]]
        y[i] = total


def main() -> None:
    rng = np.random.default_rng(1)
    rows, columns = 20_000, 15_000
    counts = rng.integers(0, 12, rows)
    start = np.concatenate([[0], np.cumsum(counts)])
    entries = int(counts.sum())
    column = rng.integers(0, columns, entries).astype(np.int32)
    value, x, y = rng.random(entries), rng.random(columns), np.zeros(rows)
    csr_matvec(start, column, value, x, y)
    expected = np.bincount(np.repeat(np.arange(rows), counts), weights=value * x[column], minlength=rows)
    error = float(np.abs(y - expected).max())
    assert error < 1e-12
    print(f"csr_matvec: {value.size} entries in {rows} rows, largest difference from NumPy {error:.1e}")


if __name__ == "__main__":
    main()
