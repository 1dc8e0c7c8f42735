"""Aliases: what a called kernel borrows to change shares no element with anything else that it borrows.

Does: decide each pair of loans of each call of another kernel.  Does not: look at calls from Python, where the arrays are known
(`runtime/`), or word messages (`explain.py`).
Invariants: a pair of which one may be changed has a finding, whatever the two are views of.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from lend.checks.apart import apart
from lend.checks.decide import Decision
from lend.diagnostics.records import dataclass
from lend.ir import typed
from lend.model.records import Lending, Model


@dataclass(frozen=True, eq=False)
class AliasFinding:
    """The decision about two loans of a call."""

    lending: Lending
    first: typed.Loan
    second: typed.Loan
    decision: Decision


def check_aliases(model: Model) -> Iterator[AliasFinding]:
    """A finding for each pair of loans of which one may be changed."""
    for lending in model.lendings:
        loans = zip(lending.operation.loans, lending.views, strict=True)
        for (first, a), (second, b) in combinations(loans, 2):
            if first.writes or second.writes:
                yield AliasFinding(lending, first, second, apart(model, a, b, lending.scope))
