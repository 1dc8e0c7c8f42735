"""Paired ratios: medians, their intervals, and means over rows.

Invariants: nothing here is random; an interval is one of order statistics, exact for any distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, exp, log, nan
from statistics import median

from benchmarks.contenders import ALONE
from benchmarks.rounds import Row

CPP = ("clang++", "g++")
OTHERS = ("C++", "Numba", "Taichi", "Warp", "NumPy")


@dataclass(frozen=True)
class Ratio:
    """How many times longer a contender takes than lend: the median over rounds and its 95 % interval (NaN: too few rounds)."""

    value: float
    low: float
    high: float
    by: str  # who it was


def interval(values: list[float], confidence: float = 0.95) -> tuple[float, float]:
    """The interval of the median between two order statistics; NaN where there are too few values for one."""
    ordered, n = sorted(values), len(values)
    below, rank = 0.0, 0
    while rank < n // 2 and 2 * (below + comb(n, rank) / 2**n) <= 1 - confidence:
        below += comb(n, rank) / 2**n
        rank += 1
    return (ordered[rank - 1], ordered[n - rank]) if rank else (nan, nan)


def seconds(row: Row, name: str) -> float:
    """The median time of a contender."""
    return median(row.times[name].values())


def best_cpp(row: Row) -> str | None:
    """The C++ build that is quicker at this row."""
    there = [name for name in CPP if row.times.get(name)]
    return min(there, key=lambda name: seconds(row, name)) if there else None


def ratio(row: Row, other: str) -> Ratio | None:
    """A contender (`C++`: the better build) against lend in a row. Warp is compared with lend on one thread."""
    name = best_cpp(row) if other == "C++" else other
    base = ALONE if other == "Warp" and ALONE in row.times else "lend"
    if name is None or not row.times.get(name) or not row.times.get(base):
        return None
    theirs, ours = row.times[name], row.times[base]
    paired = [theirs[number] / ours[number] for number in theirs if number in ours]
    return Ratio(median(paired), *interval(paired), name) if paired else None


def group(row: Row, cache: int) -> str:
    """Where a row counts in the means. In the cache: at most half of it; out of it: more than one and a half of it."""
    if row.bound == "compute":
        return "compute-bound"
    if row.bytes > 1.5 * cache:
        return "memory-bound, out of cache"
    return "memory-bound, in cache" if row.bytes <= cache / 2 else "memory-bound, near the cache's size"


def geometric_mean(values: list[float]) -> float:
    """NaN of nothing."""
    return exp(sum(map(log, values)) / len(values)) if values else nan
