"""Data-dependent accesses in Warp; its way to a histogram is atomic addition."""

import warp as wp

Places = wp.array(dtype=wp.int32)
Counts = wp.array(dtype=wp.int64)
Row = wp.array(dtype=wp.float64)


@wp.kernel
def histogram_kernel(bins: Places, counts: Counts):
    k = wp.tid()
    wp.atomic_add(counts, bins[k], wp.int64(1))


@wp.kernel
def csr_kernel(rows: Counts, columns: Places, values: Row, x: Row, y: Row):
    i = wp.tid()
    total = wp.float64(0.0)
    for k in range(int(rows[i]), int(rows[i + 1])):
        total += values[k] * x[columns[k]]
    y[i] = total


def histogram(bins, counts):
    counts.zero_()
    wp.launch(histogram_kernel, dim=bins.size, inputs=[bins, counts])


def csr(rows, columns, values, x, y):
    wp.launch(csr_kernel, dim=y.size, inputs=[rows, columns, values, x, y])
