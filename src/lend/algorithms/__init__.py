"""Primitives written in lend itself: folds, scans, selection, sorting, histograms, random numbers.

Does: name them. Each is a function over NumPy arrays, and stands in kernels at host level too.  Does not: several dimensions.
Invariants: loaded at first use of `lend.algorithms`; results have the same bits on any number of threads.
"""

from lend.algorithms.folding import add, reduce, scan
from lend.algorithms.histograms import histogram
from lend.algorithms.random import normal, normal_at, philox4x32, uniform, uniform_at
from lend.algorithms.selecting import compact, compact_if
from lend.algorithms.sorting import argsort, sort, sort_pairs, top_k, unique

__all__ = [
    "add",
    "argsort",
    "compact",
    "compact_if",
    "histogram",
    "normal",
    "normal_at",
    "philox4x32",
    "reduce",
    "scan",
    "sort",
    "sort_pairs",
    "top_k",
    "uniform",
    "uniform_at",
    "unique",
]
