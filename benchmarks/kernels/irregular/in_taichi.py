"""Data-dependent accesses in Taichi; its way to a histogram is atomic addition."""

import taichi as ti

Places = ti.types.ndarray(dtype=ti.i32, ndim=1)
Counts = ti.types.ndarray(dtype=ti.i64, ndim=1)
Row = ti.types.ndarray(dtype=ti.f64, ndim=1)


@ti.kernel
def histogram(bins: Places, counts: Counts):
    for b in range(counts.shape[0]):
        counts[b] = 0
    for k in range(bins.shape[0]):
        ti.atomic_add(counts[bins[k]], 1)


@ti.kernel
def csr(rows: Counts, columns: Places, values: Row, x: Row, y: Row):
    for i in range(y.shape[0]):
        total = ti.f64(0.0)
        for k in range(rows[i], rows[i + 1]):
            total += values[k] * x[columns[k]]
        y[i] = total
