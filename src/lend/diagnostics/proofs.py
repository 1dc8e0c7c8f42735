"""What lend says about an obligation: the verdict, and why.

Does: hold a verdict and print it.  Does not: decide.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

from lend.diagnostics.records import dataclass
from lend.diagnostics.spans import Span
from lend.diagnostics.words import counted

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

    Attributes:
        obligation: what must hold: "bounds", "race", "init", "barrier", "alias" or "arith".
        verdict: what is known of it: "proved", "launch", "checked", "assumed"; "refuted" or "unproved" in a refused kernel.
        place: where it stands; `str(proof.place)` is `file:line:column`, and `place.text` the code.
        subject: what it is about: `x (read)`, `y (write/write)`, `a division by zero`.
        reason: why the verdict is not "proved"; for "assumed", what the `lend.unchecked` block says. Empty if there is none.
        condition: for "launch", what must hold when the kernel is launched; else None.
        witness: values for which it fails, where some are known: of a "refuted" obligation, or of one that rests on a condition.
    """

    obligation: ObligationName
    verdict: VerdictName
    place: Span
    subject: str
    reason: str = ""
    condition: str | None = None
    witness: Witness | None = None

    @property
    def keeps_check(self) -> bool:
        """Whether a test can run for it: always, or in the version of a region that runs where a launch condition is false."""
        return self.obligation in ("bounds", "arith") and self.verdict in ("checked", "launch")

    @property
    def because(self) -> str:
        """Condition, reason and a failing example in one line; empty if there is nothing to say."""
        parts = [f"if {self.condition}" if self.condition else "", self.reason]
        if self.witness is not None:
            parts.append(f"{'fails' if self.verdict == 'refuted' else 'else it fails'} for {self.witness}")
        return "; ".join(filter(None, parts))

    def __str__(self) -> str:
        parts = [f"{self.place.line}:{self.place.column + 1}", self.obligation, self.verdict, self.subject, self.because]
        return "  ".join(filter(None, parts))

    def __repr__(self) -> str:
        return f"Proof({self.place}  {str(self).partition('  ')[2]})"


@dataclass(frozen=True)
class UncheckedBlock:
    """A `with lend.unchecked("reason"):` of a kernel: its header's place, and the reason."""

    place: Span
    reason: str

    def __str__(self) -> str:
        return f"unchecked at {self.place}: {self.reason}"


class Proofs(tuple[Proof, ...]):
    """The proofs of a kernel, in the order of its source; it prints as a table.

    `unchecked`: the kernel's `lend.unchecked` blocks, whether an obligation stands in them or not.
    """

    unchecked: tuple[UncheckedBlock, ...]

    def __new__(cls, proofs: Iterable[Proof] = (), unchecked: Iterable[UncheckedBlock] = ()) -> Proofs:
        """The proofs, as a tuple; each block once, though a function may be inlined more than once."""
        self = super().__new__(cls, tuple(proofs))
        self.unchecked = tuple(dict.fromkeys(unchecked))
        return self

    @property
    def counts(self) -> dict[VerdictName, int]:
        """How many obligations have each verdict, best first, those without any left out."""
        counts = {name: sum(proof.verdict == name for proof in self) for name in get_args(VerdictName)}
        return {name: count for name, count in counts.items() if count}

    @property
    def summary(self) -> str:
        """`4 obligations: 3 proved, 1 checked`."""
        found = ", ".join(f"{count} {name}" for name, count in self.counts.items())
        return f"{counted(len(self), 'obligation')}: {found}" if self else "no obligations"

    def _rows(self) -> list[tuple[str, ...]]:
        """The table: place, obligation, verdict, subject, because. The file is named where there are several."""
        several = len({proof.place.source.filename for proof in self}) > 1
        rows: list[tuple[str, ...]] = []
        for proof in self:
            place = f"{proof.place.line}:{proof.place.column + 1}"
            if several:
                place = f"{proof.place.source.filename.replace(chr(92), '/').rpartition('/')[2]}:{place}"
            rows.append((place, proof.obligation, proof.verdict, proof.subject, proof.because))
        return rows

    def __str__(self) -> str:
        rows = [_COLUMNS, *self._rows()] if self else []
        widths = [max(len(row[k]) for row in rows) for k in range(4)] if rows else []
        lines = ["  ".join([*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row[4]]).rstrip() for row in rows]
        lines += [*([""] if lines else []), self.summary, *map(str, self.unchecked)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """The table for notebooks."""
        from html import escape  # not for programs

        def row(cells: Iterable[str], tag: str) -> str:
            return "<tr>" + "".join(f'<{tag} style="text-align:left">{escape(cell)}</{tag}>' for cell in cells) + "</tr>"

        body = "".join(row(cells, "td") for cells in self._rows())
        table = f"<table><thead>{row(_COLUMNS, 'th')}</thead><tbody>{body}</tbody></table>" if self else ""
        return table + "".join(f"<p>{escape(remark)}</p>" for remark in (self.summary, *map(str, self.unchecked)))


_COLUMNS = ("line", "obligation", "verdict", "subject", "because")
