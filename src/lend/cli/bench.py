"""`lend bench --compile [FILE]`: what compiling kernels costs.

Does: compile each kernel of a file, or those that come with lend, several times, and print a table by pipeline step.
Does not: run kernels.
Invariants: a specialisation is measured for each choice of types that the file calls a kernel with, else for its signature's.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import Any

from lend.cli.file_kernels import kernels_of
from lend.cli.machine import machine, software
from lend.diagnostics.errors import CompileError
from lend.diagnostics.words import counted
from lend.driver.kernel import Kernel
from lend.driver.measure import PARTS, Cost, cost


def main(file: Path | None, repeat: int) -> int:
    """Print the table. 2 if the file cannot be imported."""
    kernels = _built_in() if file is None else kernels_of(file, "lend bench")
    if kernels is None:
        return 2
    costs: list[Cost] = []
    for kernel in kernels:
        found = list(kernel.compilations())
        if not found:
            print(f"{kernel.__name__}: its types are known at a call only, and the file makes none", file=sys.stderr)
        try:
            costs += [cost(compilation, repeat) for compilation in found]
        except CompileError as error:
            print(f"{kernel.__name__} is refused: {error}", file=sys.stderr)
    print(f"{machine()}\n{software()}\nmilliseconds of processor time, median of {counted(repeat, 'compilation')}\n")
    print(f"{table(costs)}\n\n{above_limit(costs)}")
    return 0


LIMIT = 0.150
"""Seconds that a kernel should take at most."""


def above_limit(costs: list[Cost]) -> str:
    """How many kernels take longer than `LIMIT`, and which: one a line, dearest first, with its dearest step."""
    above = sorted((found for found in costs if found.total > LIMIT), key=lambda found: -found.total)
    lines = [f"{counted(len(costs), 'kernel')}; above {LIMIT * 1e3:.0f} ms: {len(above)}"]
    for found in above:
        step = max(found.steps, key=lambda name: found.steps[name])
        lines.append(f"  {found.kernel}: {found.total * 1e3:.0f} ms, of which {step} {found.steps[step] * 1e3:.0f}")
    return "\n".join(lines)


def table(costs: list[Cost]) -> str:
    """A table: a line per kernel, a column per step; below it the median and the largest of each column."""
    if not costs:
        return "no kernels"
    steps = list(costs[0].steps)
    head = ["kernel", *steps, "total", *PARTS, "IR lines", "optimised"]
    rows = [
        [
            c.kernel,
            *_ms(c.steps[s] for s in steps),
            *_ms([c.total]),
            *_ms(c.parts[p] for p in PARTS),
            str(c.lines),
            str(c.optimised_lines),
        ]
        for c in costs
    ]
    for name, summary in (("median", statistics.median), ("largest", max)):
        columns = [
            *([c.steps[s] for c in costs] for s in steps),
            [c.total for c in costs],
            *([c.parts[p] for c in costs] for p in PARTS),
        ]
        sizes = [[c.lines for c in costs], [c.optimised_lines for c in costs]]
        rows.append([name, *_ms(summary(column) for column in columns), *(f"{summary(size):.0f}" for size in sizes)])
    widths = [max(len(row[k]) for row in (head, *rows)) for k in range(len(head))]
    lines = [
        "  ".join(cell.ljust(w) if k == 0 else cell.rjust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True)))
        for row in (head, *rows)
    ]
    return "\n".join([lines[0], *lines[1:-2], "", *lines[-2:]])


def _ms(seconds: Any) -> list[str]:
    return [f"{second * 1e3:.1f}" for second in seconds]


def _built_in() -> list[Kernel[..., Any]]:
    from lend.cli import bench_kernels
    from lend.cli.demo import kernels as demo

    return [found for module in (bench_kernels, demo) for found in vars(module).values() if isinstance(found, Kernel)]
