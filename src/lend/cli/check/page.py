"""A report as one page of HTML that needs nothing else.

Does: the source with line numbers, each access marked with its verdict; beside it what its verdict rests on; a table of kernels.
Does not: decide anything.
Invariants: every verdict is told by a letter and a line style as well as by a colour; all text is escaped;
no script, nothing loaded from elsewhere.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files

from lend.cli.check.report import KernelEntry, ProofEntry, Report, because, title
from lend.diagnostics.records import dataclass

VERDICTS = {
    "refuted": ("R", "fails: the kernel is refused"),
    "unproved": ("U", "could not be shown: the kernel is refused"),
    "checked": ("C", "tested at run time"),
    "assumed": ("A", "taken on trust, inside lend.unchecked"),
    "launch": ("L", "holds under a condition, tested once before the loop"),
    "proved": ("P", "holds always: no test at run time"),
}
"""Each verdict's letter and meaning, the worst first."""

_RANK = {verdict: rank for rank, verdict in enumerate(VERDICTS)}


def page(report: Report, source: str, shown: str) -> str:
    """The page. `source`: the file's text; `shown`: the file's name as the user wrote it."""
    style = files("lend.cli.check").joinpath("page.css").read_text(encoding="utf-8")
    body = [f"<h1>{escape(shown)}</h1>", _ended(report), _summary(report), _legend(), _unchecked(report)]
    body += [f"<pre class=elsewhere>{escape(d['rendered'])}</pre>" for d in report["diagnostics"]]
    body.append(_listing(report, source))
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(shown)}: lend check</title><style>\n{style}</style>"
    )
    content = "\n".join(filter(None, body))
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{content}\n</body></html>\n'


def _link(line: int, words: str) -> str:
    return f'<a href="#L{line}">{words}</a>'


def _ended(report: Report) -> str:
    ended = report["ended"]
    if ended is None:
        return ""
    where = f" at {_link(ended['line'], 'line ' + str(ended['line']))}" if ended["line"] else ""
    rest = "What the file defines after this is not in the report."
    return f"<p class=ended>The import ended early{where}: {escape(ended['message'])}. {rest}</p>"


def _summary(report: Report) -> str:
    rows = "".join(map(_summary_row, report["kernels"]))
    if not rows:
        return "<p>This file has no kernels.</p>"
    heads = "".join(f"<th scope=col>{name}</th>" for name in ("kernel", "line", "status"))
    heads += "".join(f'<th scope=col class=number title="{meaning}">{verdict}</th>' for verdict, (_, meaning) in VERDICTS.items())
    return f"<table class=summary><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _summary_row(entry: KernelEntry) -> str:
    status = {"accepted": "✓ accepted", "refused": "✗ refused", "open": "– not judged"}[entry["status"]]
    note = f"<br><small>{escape(entry['note'])}</small>" if entry["note"] else ""
    cells = [f"<th scope=row>{escape(title(entry))}</th>", f"<td>{_link(entry['line'], str(entry['line']))}</td>"]
    cells.append(f"<td class={entry['status']}>{status}{note}</td>")
    for verdict in VERDICTS:
        count = entry["counts"].get(verdict, 0)
        cells.append(f'<td class="number {verdict}">{count}</td>' if count else "<td></td>")
    return f"<tr>{''.join(cells)}</tr>"


def _legend() -> str:
    items = [f"<li>{_marked_word(verdict)} {meaning}</li>" for verdict, (_, meaning) in VERDICTS.items()]
    return f"<ul class=legend>{''.join(items)}</ul>"


def _marked_word(verdict: str) -> str:
    return f"<span class={verdict}>{verdict}<sup>{VERDICTS[verdict][0]}</sup></span>"


def _unchecked(report: Report) -> str:
    blocks = dict.fromkeys(
        (block["line"] if block["file"] == report["file"] else None, block["kernel"], block["reason"])
        for entry in report["kernels"]
        for block in entry["unchecked"]
    )
    if not blocks:
        return ""
    items = "".join(
        f"<li>{_link(line, f'line {line}') if line else 'elsewhere'}, <code>{escape(kernel)}</code>: {escape(reason)}</li>"
        for line, kernel, reason in blocks
    )
    return f"<section class=trust><h2>lend.unchecked</h2><ul>{items}</ul></section>"


# ------------------------------------------------------------------------------------------------ the source


@dataclass(frozen=True)
class _Mark:
    """An access on one line, columns from 0: its worst verdict and all that is known of it."""

    start: int
    end: int
    verdict: str
    words: str


def _listing(report: Report, source: str) -> str:
    lines = source.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    several = defaultdict[str, int](int)
    for entry in report["kernels"]:
        several[entry["kernel"]] += 1
    notes: dict[int, list[str]] = defaultdict(list)
    marks: dict[int, list[_Mark]] = defaultdict(list)
    by_place: dict[tuple[int, int, int, int], list[ProofEntry]] = defaultdict(list)
    for entry in report["kernels"]:
        label = f"{title(entry)}: " if several[entry["kernel"]] > 1 else ""
        mine = [proof for proof in entry["proofs"] if proof["file"] == report["file"]]
        for line, proofs in _by_line(mine).items():
            notes[line] += _notes(proofs, label)
        for diagnostic in reversed(entry["diagnostics"]):
            if diagnostic["file"] == report["file"]:
                notes[diagnostic["line"]].insert(0, _refusal(diagnostic))
        for proof in mine:
            by_place[proof["line"], proof["column"] - 1, proof["end_line"], proof["end_column"] - 1].append(proof)
    for (line, start, end), proofs in _on_lines(by_place, lines).items():
        worst = min((proof["verdict"] for proof in proofs), key=_RANK.__getitem__)
        words = "\n".join(dict.fromkeys(_words(proof) for proof in sorted(proofs, key=lambda p: _RANK[p["verdict"]])))
        marks[line].append(_Mark(start, end, worst, words))
    rows = [_row(number, text, marks[number], notes[number]) for number, text in enumerate(lines, 1)]
    return f"<div class=scroll><table class=source><tbody>{''.join(rows)}</tbody></table></div>"


_Stretch = tuple[int, int, int]  # line, first column, column after the last


def _on_lines(
    by_place: Mapping[tuple[int, int, int, int], list[ProofEntry]], lines: list[str]
) -> dict[_Stretch, list[ProofEntry]]:
    """The proofs of each stretch of a line that is to be marked."""
    found: dict[_Stretch, list[ProofEntry]] = defaultdict(list)
    for (line, start, end_line, end), proofs in by_place.items():
        target = _target_end(lines[line - 1], start, proofs)
        if target is not None:
            found[line, start, target] += proofs
            continue
        for number in range(line, min(end_line, len(lines)) + 1):
            text = lines[number - 1]
            first = start if number == line else len(text) - len(text.lstrip())
            last = end if number == end_line else len(text)
            found[number, first, max(last, first + 1)] += proofs
    return found


def _target_end(text: str, start: int, proofs: Sequence[ProofEntry]) -> int | None:
    """Where the subscript that a store begins with ends: a store's place is its whole statement."""
    name = proofs[0]["subject"].partition(" ")[0]
    if not text.startswith(f"{name}[", start):
        return None
    depth = 0
    for column in range(start + len(name), len(text)):
        depth += (text[column] in "[(") - (text[column] in "])")
        if depth == 0:
            return column + 1
    return None


def _by_line(proofs: Iterable[ProofEntry]) -> dict[int, list[ProofEntry]]:
    found: dict[int, list[ProofEntry]] = defaultdict(list)
    for proof in proofs:
        found[proof["line"]].append(proof)
    return found


def _notes(proofs: list[ProofEntry], label: str) -> list[str]:
    """The side column of one line: what is proved in short, the rest in words, the worst first."""
    told = [proof for proof in proofs if proof["verdict"] != "proved"]
    out = [
        f"<div class=note>{_letter(verdict)} {escape(label)}{escape(words)}</div>"
        for verdict, words in dict.fromkeys(
            (p["verdict"], _words(p, short=True)) for p in sorted(told, key=lambda p: _RANK[p["verdict"]])
        )
    ]
    proved = len(proofs) - len(told)
    if proved:
        out.append(f"<div class='note quiet'>{_letter('proved')} {escape(label)}{proved} proved</div>")
    return out


def _letter(verdict: str) -> str:
    return f'<span class="letter {verdict}" title="{verdict}">{VERDICTS[verdict][0]}</span>'


def _words(proof: ProofEntry, *, short: bool = False) -> str:
    """What is known of an obligation, in one line."""
    verdict = "" if short else f" {proof['verdict']}"
    why = because(proof)
    return f"{proof['obligation']}{verdict}, {proof['subject']}" + (f": {why}" if why else "")


def _refusal(diagnostic: dict[str, str]) -> str:
    fix = f"<br><span class=fix>help: {escape(diagnostic['fix'])}</span>" if diagnostic["fix"] else ""
    label = f": {escape(diagnostic['label'])}" if diagnostic["label"] else ""
    return f"<div class='note refusal'>✗ <b>{diagnostic['code']}</b> {escape(diagnostic['message'])}{label}{fix}</div>"


def _row(number: int, text: str, marks: list[_Mark], notes: list[str]) -> str:
    cells = f"<td class=line>{_link(number, str(number))}</td><td class=code>{_marked(text, marks)}</td>"
    return f"<tr id=L{number}>{cells}<td class=notes>{''.join(notes)}</td></tr>"


def _marked(text: str, marks: list[_Mark]) -> str:
    """A line with its accesses marked; one inside another is a mark inside a mark."""
    out: list[str] = []
    open_marks: list[_Mark] = []
    column = 0

    def advance(to: int) -> None:
        nonlocal column
        to = min(to, len(text))
        if to > column:
            out.append(escape(text[column:to]))
            column = to

    def close(until: int) -> None:
        while open_marks and open_marks[-1].end <= until:
            mark = open_marks.pop()
            advance(mark.end)
            out.append(f"<sup>{VERDICTS[mark.verdict][0]}</sup></span>")

    for mark in sorted(marks, key=lambda mark: (mark.start, -mark.end)):
        close(mark.start)
        advance(mark.start)
        if open_marks and mark.end > open_marks[-1].end:  # not one inside the other: cut it
            mark = _Mark(mark.start, open_marks[-1].end, mark.verdict, mark.words)
        out.append(f'<span class="{mark.verdict}" title="{escape(mark.words)}">')
        open_marks.append(mark)
    close(len(text) + 1)
    while open_marks:
        close(open_marks[-1].end)
    advance(len(text))
    return "".join(out)
