"""What was found, in words: the table, the means, what does not come first, and the plot.

Does: Markdown, and a picture if matplotlib is there. Does not: measure.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any

from benchmarks.ratios import OTHERS, Ratio, geometric_mean, group, ratio, seconds
from benchmarks.rounds import Row
from benchmarks.timing import in_words

COLOURS = {"C++": "#c44e52", "Numba": "#4c72b0", "Taichi": "#dd8452", "Warp": "#55a868", "NumPy": "#8172b3"}


@dataclass(frozen=True)
class Results:
    """The rows of a run, and on what they were measured."""

    rows: list[Row]
    machine: str
    software: str
    threads: int
    cache: int  # bytes of the last level

    def as_json(self) -> dict[str, Any]:
        return {
            "machine": self.machine,
            "software": self.software,
            "threads": self.threads,
            "cache": self.cache,
            "rows": [row.as_json() for row in self.rows],
        }

    @staticmethod
    def from_json(value: dict[str, Any]) -> Results:
        return Results(**{**value, "rows": [Row.from_json(row) for row in value["rows"]]})

    def there(self) -> list[str]:
        """The contenders that have a ratio somewhere."""
        return [other for other in OTHERS if any(ratio(row, other) for row in self.rows)]


def table(results: Results) -> str:
    """A line per kernel and size."""
    others = results.there()
    lines = [heading(others), f"|---|---|---|---|{'---|' * len(others)}"]
    return "\n".join([*lines, *(line(row, others) for row in results.rows)])


def heading(others: Sequence[str]) -> str:
    """The table's first line."""
    return f"| kernel | size | lend | rate | {' | '.join(others)} |"


def line(row: Row, others: Sequence[str]) -> str:
    """A row of the table: lend's time and rate, and each contender's ratio, C++'s with its interval."""
    if not row.times.get("lend"):
        return f"| {row.kernel} | {row.size} | {row.notes.get('lend', '')} | |{' |' * len(others)}"
    cells = [cell(ratio(row, other), interval=other == "C++") for other in others]
    return f"| {row.kernel} | {row.size} | {in_words(seconds(row, 'lend'))} | {rate(row)} | {' | '.join(cells)} |"


def cell(found: Ratio | None, *, interval: bool) -> str:
    """`1.25 (1.22-1.31) g++`."""
    if found is None:
        return ""
    if not interval:
        return f"{found.value:.2f}"
    bounds = "" if isnan(found.low) else f" ({found.low:.2f}–{found.high:.2f})"
    return f"{found.value:.2f}{bounds} {found.by}"


def rate(row: Row) -> str:
    """Bytes or operations per second, whichever the kernel is bound by."""
    amount, unit = (row.flops, "GFLOP/s") if row.bound == "compute" else (row.traffic, "GB/s")
    return f"{amount / seconds(row, 'lend') / 1e9:.3g} {unit}"


def summary(results: Results) -> str:
    """Geometric means by group, a line per group."""
    others = results.there()
    groups = sorted({group(row, results.cache) for row in results.rows})
    lines = [f"| geometric means | rows | {' | '.join(others)} |", f"|---|---|{'---|' * len(others)}"]
    for name in [*groups, "all"]:
        rows = [row for row in results.rows if name in ("all", group(row, results.cache))]
        means = [geometric_mean([found.value for row in rows if (found := ratio(row, other))]) for other in others]
        lines.append(f"| {name} | {len(rows)} | {' | '.join('' if isnan(mean) else f'{mean:.2f}' for mean in means)} |")
    return "\n".join(lines)


def losses(results: Results) -> str:
    """In how many rows lend is the quickest, and which are the others."""
    found: list[str] = []
    measured = [row for row in results.rows if row.times.get("lend")]
    for row in measured:
        quicker = [
            f"{one.by} {one.value:.2f}" for other in results.there() if (one := ratio(row, other)) is not None and one.value < 1.0
        ]
        if quicker:
            found.append(f"- {row.kernel} {row.size}: {', '.join(quicker)}")
    head = f"lend is the quickest in {len(measured) - len(found)} of {len(measured)} rows"
    return f"{head}, but for:\n\n" + "\n".join(found) if found else f"{head}."


def footer(results: Results) -> str:
    """On what it was measured."""
    threads = "1 thread" if results.threads == 1 else f"{results.threads} threads"
    flags = "C++ with `-O3 -march=native -fopenmp`"
    return f"{results.machine}, {results.cache >> 20} MiB of last-level cache, {threads}; {results.software}; {flags}."


def page(results: Results, picture: str | None = None) -> str:
    """Everything; the long table folded. `picture`: where the plot lies, as seen from the page."""
    every = f"<details><summary>Every kernel and size</summary>\n\n{table(results)}\n\n</details>"
    drawn = [f"![Each contender's time divided by lend's, kernel by kernel]({picture})"] if picture else []
    return "\n\n".join([summary(results), *drawn, losses(results), every, footer(results)]) + "\n"


def plot(results: Results, path: Path) -> bool:
    """Draw the ratios of all rows on a logarithmic scale; False, with a line on stderr, where matplotlib is missing."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
        from matplotlib.ticker import FixedLocator, NullFormatter, ScalarFormatter
    except ImportError:
        print("no plot: it needs matplotlib", file=sys.stderr)
        return False
    rows = [row for row in results.rows if row.times.get("lend")]
    others = results.there()
    figure = Figure(figsize=(8.5, 1.2 + 0.2 * len(rows)), layout="constrained")
    axes: Any = figure.add_subplot()
    for other in others[::-1]:  # C++ on top
        drawn = [(place, found) for place, row in enumerate(rows) if (found := ratio(row, other))]
        places, values = [place for place, _ in drawn], [found.value for _, found in drawn]
        axes.plot(values, places, "o", color=COLOURS[other], markersize=6 if other == "C++" else 4, label=other)
        if other == "C++":
            known = [(place, found) for place, found in drawn if not isnan(found.low)]
            ends = [found.low for _, found in known], [found.high for _, found in known]
            axes.hlines([place for place, _ in known], *ends, color=COLOURS[other])
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator([0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500]))
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_yticks(range(len(rows)), [f"{row.kernel}  {row.size}" for row in rows], fontsize=7)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(axis="x", alpha=0.3)
    axes.grid(axis="y", alpha=0.15)
    axes.set_xlabel("time divided by lend's (right of 1: lend is faster)")
    axes.set_title(f"{results.machine}, {results.threads} threads", fontsize=9)
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], labels[::-1], loc="lower right", fontsize=8)
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "lend"}):  # small, and the same for the same times
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    return True
