"""Arithmetic: no integer division by zero, no negative shift or exponent, no zero step.

Does: decide each such operation of the model.  Does not: word messages (`explain.py`).
Invariants: wrap-around is not decided here; the model takes as unknown what might wrap.
"""

from __future__ import annotations

from lend.checks.decide import Decision, decide
from lend.diagnostics.records import dataclass
from lend.model.linear import both, is_known
from lend.model.records import Division, Model


@dataclass(frozen=True, eq=False)
class ArithFinding:
    """The decision about one operation."""

    division: Division
    decision: Decision


def check_arith(model: Model) -> list[ArithFinding]:
    """A finding for each operation that could fail."""
    findings: list[ArithFinding] = []
    for division in model.divisions:
        exact = division.scope.exact and is_known(division.scope.facts)
        decision = decide(model, [both(division.scope.facts, division.bad)], division.scope.threads, exact)
        findings.append(ArithFinding(division, decision))
    return findings
