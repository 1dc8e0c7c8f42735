"""What lend says about an obligation: the verdict, and why.

Does: hold a verdict and print it.  Does not: decide.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from lend.diagnostics.spans import Span

ObligationName = Literal["bounds", "race", "init", "barrier", "alias", "arith"]
VerdictName = Literal["proved", "launch", "checked", "refuted", "assumed", "unproved"]
"""`unproved` stands for a race or an initialisation that could not be shown: the kernel is rejected for it."""


@dataclass(frozen=True)
class Witness:
    """Values for which an obligation fails: sizes and scalars, the threads (one or two), and the element or the operand."""

    sizes: tuple[tuple[str, int], ...]
    threads: tuple[tuple[tuple[str, int], ...], ...]
    element: tuple[int, ...] = ()

    @property
    def threads_text(self) -> str:
        """`threads i=0 and i=1`."""
        threads = " and ".join(_named(thread) for thread in self.threads if thread)
        return f"{'threads' if len(self.threads) > 1 else 'thread'} {threads}" if threads else "the host level"

    @property
    def sizes_text(self) -> str:
        """`, with N=2`."""
        return f", with {_named(self.sizes)}" if self.sizes else ""

    def __str__(self) -> str:
        return self.threads_text + self.sizes_text


def _named(values: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values)


@dataclass(frozen=True)
class Proof:
    """One obligation of one place in a kernel.

    place: what it is about. reason: why the verdict is not `proved`, or what it rests on. condition: what a launch must satisfy.
    witness: for `refuted`, how it fails.
    """

    obligation: ObligationName
    verdict: VerdictName
    place: Span
    subject: str
    reason: str = ""
    condition: str | None = None
    witness: Witness | None = None

    def __str__(self) -> str:
        parts = [f"{self.place.line}:{self.place.column + 1}", self.obligation, self.verdict, self.subject]
        if self.condition:
            parts.append(f"if {self.condition}")
        if self.reason:
            parts.append(self.reason)
        if self.witness:
            parts.append(f"e.g. {self.witness}")
        return "  ".join(parts)


class Proofs(tuple[Proof, ...]):
    """The proofs of a kernel, in the order of its source; it prints as a table."""

    def __new__(cls, proofs: Iterable[Proof]) -> Proofs:
        """The proofs, as a tuple."""
        return super().__new__(cls, tuple(proofs))

    def __str__(self) -> str:
        rows = [("line", "obligation", "verdict", "subject", "because")]
        for proof in self:
            because = "; ".join(part for part in (f"if {proof.condition}" if proof.condition else "", proof.reason) if part)
            rows.append((str(proof.place.line), proof.obligation, proof.verdict, proof.subject, because))
        widths = [max(len(row[k]) for row in rows) for k in range(4)]
        return "\n".join(
            "  ".join([*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row[4]]).rstrip() for row in rows
        )

    def __repr__(self) -> str:
        return str(self)
