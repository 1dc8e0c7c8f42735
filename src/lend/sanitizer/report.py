"""What the dynamic judge found, in words.

Does: define a finding and the report of all runs; word each finding as a diagnostic.  Does not: find anything (`judge.py`).
Invariants: of several runs a finding is told once, with the first run it was seen in; the wording does not depend on which of two
accesses ran first: the one that writes is named first.

Example: `print(report)` shows the source lines of both ends of each race, as compile errors do.
"""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

from lend.diagnostics.diagnostic import Diagnostic
from lend.diagnostics.records import dataclass
from lend.diagnostics.render import render_text, wants_colour

R = TypeVar("R")

Kind = Literal["race", "bounds", "init", "barrier", "arith", "stuck"]
"""The obligation that a run did not meet, in the words of `kernel.proofs`; "stuck": the run took too many steps."""


@dataclass(frozen=True)
class Where:
    """One end of a finding: a line of a file, and who was there (None outside parallel loops).

    `block`: the indices of the block, or of the iteration of a grid. `thread`: those of the thread, empty at block level and in
    grids.
    """

    file: str
    line: int
    block: tuple[int, ...] | None
    thread: tuple[int, ...] | None


@dataclass(frozen=True)
class Finding:
    """Something that a kernel must not do, seen in a run.

    kind: which obligation. places: both ends of a race or of a divergent barrier, else the one place. array, indices: the
    element, where there is one. run: the number of the run, from 0. diagnostic: the same in words, with the source's own places.
    """

    kind: Kind
    places: tuple[Where, ...]
    array: str | None
    indices: tuple[int, ...]
    run: int
    diagnostic: Diagnostic

    def __str__(self) -> str:
        return render_text([self.diagnostic], colour=wants_colour())


@dataclass(frozen=True)
class Report(Generic[R]):
    """What `lend.sanitize` found in the runs of one call; prints as text.

    findings: in the order in which they were seen. result: what the kernel returned, None if something was found.
    """

    kernel: str
    findings: tuple[Finding, ...]
    result: R | None
    runs: int
    seed: int

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def __str__(self) -> str:
        if self.ok:
            return f"{self.kernel}: nothing found in {self.runs} run{'s' if self.runs != 1 else ''} (seed {self.seed})"
        return render_text([finding.diagnostic for finding in self.findings], colour=wants_colour())
