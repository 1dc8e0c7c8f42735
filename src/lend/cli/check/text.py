"""A report as text for a terminal.

Does: lay out what is not proved, kernel by kernel, the refusals and a summary.  Does not: decide anything.
"""

from __future__ import annotations

import os
import textwrap
from collections import Counter
from collections.abc import Iterator

from lend.cli.check.report import KernelEntry, Place, ProofEntry, Report, because, title, unmet
from lend.diagnostics.words import counted

WIDTH = 110
_COLOURS = {"accepted": "32", "refused": "1;31", "open": "33", "checked": "33", "launch": "36", "assumed": "35", "error": "1;31"}


def text(report: Report, shown: str, require: str | None, *, colour: bool) -> str:
    """The report. `shown`: the file's name as the user wrote it."""
    return _Text(report, shown, require, colour).whole()


class _Text:
    def __init__(self, report: Report, shown: str, require: str | None, colour: bool) -> None:
        self.report, self.shown, self.require, self.colour = report, shown, require, colour

    def whole(self) -> str:
        """All of it, paragraphs apart."""
        paragraphs = ["\n".join(self.kernel(entry)) for entry in self.report["kernels"]]
        paragraphs += [self.here(diagnostic["rendered"]) for diagnostic in self.report["diagnostics"]]
        unchecked = [block for entry in self.report["kernels"] for block in entry["unchecked"]]
        blocks = dict.fromkeys(f"  {self.place(block)}  {block['kernel']}: {block['reason']}" for block in unchecked)
        if blocks:
            paragraphs.append("\n".join(["lend.unchecked, taken on trust:", *blocks]))
        paragraphs += [*self.ended(), self.summary()]
        return "\n\n".join(paragraphs)

    def kernel(self, entry: KernelEntry) -> Iterator[str]:
        """A kernel's head, the obligations that rest on something, its refusals."""
        status = "not judged" if entry["status"] == "open" else entry["status"]
        counts = ", ".join(f"{count} {verdict}" for verdict, count in entry["counts"].items())
        tail = f": {counts}" if counts else f": {entry['note']}" if entry["note"] else ""
        yield f"{self.place(entry)}  {title(entry)}  {self.paint(status, entry['status'])}{tail}"
        rows = [p for p in entry["proofs"] if p["verdict"] not in ("proved", "refuted", "unproved", "assumed")]
        width = max((len(p["subject"]) for p in rows), default=0)
        for proof in rows:
            yield from self.proof(entry, proof, width)
        for diagnostic in entry["diagnostics"]:
            yield ""
            yield textwrap.indent(self.here(diagnostic["rendered"]), "  ")

    def proof(self, entry: KernelEntry, proof: ProofEntry, width: int) -> Iterator[str]:
        """One obligation: where, what, and beneath it why."""
        place = f"{proof['line']}:{proof['column']}"
        if proof["file"] != entry["file"]:
            place = f"{os.path.basename(proof['file'])}:{place}"
        verdict = self.paint(f"{proof['verdict']:<8}", proof["verdict"])
        yield f"  {place:<8} {proof['obligation']:<7} {verdict} {proof['subject']:<{width}}".rstrip()
        why = because(proof)
        if why:
            yield textwrap.fill(why, WIDTH, initial_indent=" " * 11, subsequent_indent=" " * 11, break_on_hyphens=False)

    def ended(self) -> Iterator[str]:
        """Why the import ended early."""
        ended = self.report["ended"]
        if ended is None:
            return
        line = f", at line {ended['line']}" if ended["line"] else ""
        rest = "kernels that it defines after this are not in the report"
        yield f"{self.paint('the import ended early', 'error')}{line}: {self.here(ended['message'])}; {rest}"

    def summary(self) -> str:
        """The last lines: kernels by status, obligations by verdict, and whether the requirement is met."""
        entries = self.report["kernels"]
        if not entries:
            return f"{self.shown}: no kernels"
        statuses = Counter(entry["status"] for entry in entries)
        words = {"accepted": "accepted", "refused": "refused", "open": "not judged"}
        found = ", ".join(f"{statuses[status]} {word}" for status, word in words.items() if statuses[status])
        counts: Counter[str] = Counter()
        for entry in entries:
            counts.update(entry["counts"])
        obligations = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        lines = [
            f"{self.shown}: {counted(len(entries), 'kernel')}: {found}; {counted(counts.total(), 'obligation')}: {obligations}"
        ]
        if not counts:
            lines = [lines[0].partition(";")[0]]
        missing = dict.fromkeys(title(entry) for entry in entries if unmet(entry))
        if self.require is not None and missing:
            lines.append(f"{self.paint('not met', 'error')}: --require {self.require}, by {', '.join(missing)}")
        return "\n".join(lines)

    def place(self, place: Place) -> str:
        """`file:line:column`, the file as the user wrote it."""
        return f"{self.here(place['file'])}:{place['line']}:{place['column']}"

    def here(self, words: str) -> str:
        """Words with the file's name as the user wrote it."""
        return words.replace(self.report["file"], self.shown)

    def paint(self, word: str, style: str) -> str:
        """A word in colour where colours are wanted."""
        return f"\x1b[{_COLOURS[style]}m{word}\x1b[0m" if self.colour and style in _COLOURS else word
