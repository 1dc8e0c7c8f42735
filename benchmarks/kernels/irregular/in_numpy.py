"""Data-dependent accesses in NumPy. Its `reduceat` gives an element, not 0, for an empty row."""

from __future__ import annotations

import numpy as np


def histogram(bins, counts):
    counts[:] = np.bincount(bins, minlength=counts.size)


def csr(rows, columns, values, x, y):
    products = np.append(values * x[columns], 0.0)
    y[:] = np.where(rows[1:] > rows[:-1], np.add.reduceat(products, rows[:-1]), 0.0)
