"""Rounds: every contender in turn, so that what slows the machine slows all of them.

In each round every contender gives a time, in an order that rotates: its process is continued, takes a sample that does not
count (threads wake, caches fill) and then `SAMPLES`, the quickest of which is its time. Meanwhile all other contenders' processes
are stopped, so that no thread of theirs spins. A contender whose calls are slow takes part in fewer rounds, evenly spread.
A ratio is taken within a round.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.cases import Case, Size
from benchmarks.contenders import ALONE, Contender, Lost
from benchmarks.timing import LONG_CALL

SAMPLES = 3
FEWEST_ROUNDS = 7
BUDGET = 6.0
"""Seconds a contender may take for a row, beyond its fewest rounds."""
TOO_LONG = 10.0
"""Seconds of one call from which on a contender is left out of a row."""


@dataclass
class Row:
    """A kernel at a size: by contender, its seconds per call in each round that it took part in."""

    kernel: str
    size: str
    bound: str
    bytes: int
    traffic: int
    flops: int
    times: dict[str, dict[int, float]] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(value: dict[str, Any]) -> Row:
        times = {name: {int(number): taken for number, taken in rounds.items()} for name, rounds in value["times"].items()}
        return Row(**{**value, "times": times})


def measure(case: Case, size: Size, contenders: list[Contender], rounds: int) -> Row:
    """All rounds of a row. A contender whose result is wrong has a note and no times."""
    row = Row(case.name, size.label, case.bound, 0, case.traffic(*size.extents), case.flops(*size.extents))
    part: dict[str, tuple[Contender, int]] = {}
    with tempfile.TemporaryDirectory(prefix="lend-bench-") as folder:
        reference = str(Path(folder) / "reference.npz")
        for contender in sorted(contenders, key=lambda one: one.name != "NumPy"):
            taking = None if contender.name in size.without else _prepare(row, case, size, contender, reference, rounds)
            if taking:
                part[contender.name] = (contender, taking)
    names = list(part)
    for number in range(rounds):
        start = number % max(len(names), 1)
        for name in names[start:] + names[:start]:
            contender, taking = part[name]
            if (number + 1) * taking // rounds > number * taking // rounds:
                try:
                    row.times.setdefault(name, {})[number] = min(contender.ask(do="time", samples=SAMPLES)["times"])
                except Lost as lost:
                    row.notes[name] = str(lost)
                    part[name] = (contender, 0)
    return row


def _prepare(row: Row, case: Case, size: Size, contender: Contender, reference: str, rounds: int) -> int | None:
    """The number of rounds that the contender takes part in; None with a note if it does not."""
    saves = contender.name == "NumPy"
    try:
        answer = contender.ask(do="prepare", case=case.name, extents=size.extents, reference=reference, save=saves)
    except Lost as lost:
        answer = {"failed": str(lost)}
    if "absent" in answer:
        return None
    for trouble in ("wrong", "failed"):
        if trouble in answer:
            row.notes[contender.name] = f"{trouble}: {answer[trouble]}"
            print(f"{case.name} {size.label}: {contender.name}: {row.notes[contender.name]}", file=sys.stderr)
            return None
    row.bytes = answer["bytes"]
    if not contender.timed:
        return None
    if answer["seconds"] > TOO_LONG:
        row.notes[contender.name] = f"{answer['seconds']:.0f} s a call"
        return None
    per_round = answer["seconds"] * answer["calls"] * (1 if answer["seconds"] > LONG_CALL else SAMPLES + 1)
    return min(rounds, max(FEWEST_ROUNDS, int(BUDGET / per_round)))


__all__ = ["ALONE", "Row", "measure"]
