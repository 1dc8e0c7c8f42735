"""What compiling a kernel costs, step by step.

Does: run a specialisation through the pipeline several times and take each step's processor time.  Does not: print.
Invariants: times are of the thread that compiles, so that other programs do not count; the first run, which loads the compiler's
libraries, is left out.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Mapping

from lend.diagnostics.records import dataclass
from lend.driver.pipeline import STEPS, Compilation, depth_limited
from lend.frontend.parse import parse_function

PARTS = ("parse_ir", "optimise", "generate", "load")
"""What `emit` consists of."""


@dataclass(frozen=True)
class Cost:
    """Median seconds by step (`parse`, then the pipeline's) and by part of `emit`; lines of LLVM IR, optimised too."""

    kernel: str
    steps: Mapping[str, float]
    parts: Mapping[str, float]
    lines: int
    optimised_lines: int

    @property
    def total(self) -> float:
        """All steps together."""
        return sum(self.steps.values())


def cost(compilation: Compilation, repeat: int = 5) -> Cost:
    """The cost of a specialisation. Raises CompileError if it is refused."""
    gc.freeze()  # what else is alive in this process is not gone through again and again
    try:
        runs = [_run(compilation.fresh()) for _ in range(repeat + 1)][1:]
    finally:
        gc.unfreeze()
    steps = {name: statistics.median(times[name] for times, _ in runs) for name in runs[0][0]}
    last = runs[-1][1]
    assert last.module is not None and last.ir is not None
    parts = {name: statistics.median(done.module.times[name] for _, done in runs if done.module is not None) for name in PARTS}
    return Cost(compilation.signature.kernel, steps, parts, last.ir.count("\n"), last.module.llvm.count("\n"))


def _run(compilation: Compilation) -> tuple[dict[str, float], Compilation]:
    times: dict[str, float] = {}
    started = time.thread_time()
    parse_function(compilation.captured)
    times["parse"] = time.thread_time() - started
    for step in STEPS:
        started = time.thread_time()
        with depth_limited(compilation.tree):
            step.run(compilation)
        times[step.name] = time.thread_time() - started
    return times, compilation
