"""Diagnostics as text in rustc's manner, and as plain data.

Does: lay out source lines, gutters, carets and labels.  Does not: decide what is wrong or word it.
Invariants: carets stand under the characters they mean on a terminal with cells of equal width, also after tabs, wide and
combining characters; control characters of the source never reach the terminal.

Example:
    error[L0201]: the name `foo` is not defined
     --> heat.py:7:12
      |
    7 |     y[i] = foo
      |            ^^^ not defined here
      |
      = help: did you mean `too`?
"""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from lend.diagnostics.diagnostic import Diagnostic, Label
from lend.diagnostics.records import dataclass
from lend.diagnostics.spans import Source, Span

TAB = 4
"""Cells that a tab is shown as, wherever it stands (as rustc does)."""

_RESET = "\x1b[0m"
_STYLES = {"error": "\x1b[1;91m", "title": "\x1b[1m", "gutter": "\x1b[1;94m", "^": "\x1b[1;91m", "-": "\x1b[1;94m", "plain": ""}


def wants_colour() -> bool:
    """Whether messages go to a terminal that shows colours: stderr is one, NO_COLOR is unset and TERM is not dumb."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # stderr replaced or closed
        return False


def render_text(diagnostics: Sequence[Diagnostic], *, colour: bool) -> str:
    """All diagnostics as text, a blank line between two, and a count at the end when there are several."""
    blocks = [_render_one(diagnostic, _Painter(colour)) for diagnostic in diagnostics]
    if len(blocks) > 1:
        blocks.append(_Painter(colour)(f"{len(blocks)} errors", "title"))
    return "\n\n".join(blocks)


def render_json(diagnostics: Sequence[Diagnostic]) -> list[dict[str, Any]]:
    """All diagnostics as plain dicts for editors; lines and columns count from 1, ends are exclusive."""
    return [
        {
            "code": diagnostic.code,
            "message": diagnostic.message,
            **_label_as_dict(diagnostic.primary),
            "labels": [_label_as_dict(label) for label in diagnostic.labels],
            "notes": list(diagnostic.notes),
            "fix": diagnostic.fix,
        }
        for diagnostic in diagnostics
    ]


def _label_as_dict(label: Label) -> dict[str, Any]:
    span = label.span
    return {
        "file": span.source.filename,
        "line": span.line,
        "column": span.column + 1,
        "end_line": span.end_line,
        "end_column": span.end_column + 1,
        "label": label.text,
    }


# ------------------------------------------------------------------------------------------------ one diagnostic


class _Painter:
    """Wraps text in a style where colours are wanted."""

    def __init__(self, colour: bool) -> None:
        self.colour = colour

    def __call__(self, text: str, style: str) -> str:
        if not self.colour or not text.strip() or not _STYLES[style]:
            return text
        return f"{_STYLES[style]}{text}{_RESET}"


def _render_one(diagnostic: Diagnostic, paint: _Painter) -> str:
    everything = [(diagnostic.primary, "^"), *((label, "-") for label in diagnostic.labels)]
    width = max(len(str(label.span.line)) for label, _ in everything)
    bar = " " * width + " |"
    out = [f"{paint(f'error[{diagnostic.code}]', 'error')}{paint(f': {_printable(diagnostic.message)}', 'title')}"]
    for position, (source, marks) in enumerate(_by_source(everything)):
        arrow = "-->" if position == 0 else ":::"
        place = diagnostic.primary.span.place if position == 0 else marks[0].span.place
        out.append(f"{' ' * width}{paint(arrow, 'gutter')} {_printable(place)}")
        shown = _render_source(source, marks, width, paint)
        if shown:
            out += [paint(bar, "gutter"), *shown]
    remarks = [("note", note) for note in diagnostic.notes]
    if diagnostic.fix is not None:
        remarks.append(("help", diagnostic.fix))
    if remarks:
        out.append(paint(bar, "gutter"))
    for kind, text in remarks:
        first, *rest = _printable(text).split("\n")
        lead = f"{' ' * width} {paint('=', 'gutter')} {paint(f'{kind}:', 'title')} "
        out.append(lead + first)
        out += [" " * (width + 3 + len(kind) + 2) + line for line in rest]
    return "\n".join(out)


@dataclass(frozen=True)
class _Mark:
    """A label on one line of one file."""

    span: Span
    sign: str
    text: str


def _by_source(labels: Iterable[tuple[Label, str]]) -> list[tuple[Source, list[_Mark]]]:
    """The labels of each file, the primary label's file first; one file may be held by several `Source`s."""
    groups: dict[tuple[str, str], tuple[Source, list[_Mark]]] = {}
    for label, sign in labels:
        source = label.span.source
        _, marks = groups.setdefault((source.filename, source.text), (source, []))
        marks.append(_Mark(label.span, sign, _printable(label.text).replace("\n", " ")))
    return list(groups.values())


def _render_source(source: Source, marks: list[_Mark], width: int, paint: _Painter) -> list[str]:
    """The marked lines of one file with what is said about them; empty if the file's text is not known."""
    if not source.text:
        return []
    out: list[str] = []
    before: int | None = None
    for number in sorted({mark.span.line for mark in marks}):
        if before is not None and number == before + 2:  # one line between: show it rather than an ellipsis
            out.append(_source_line(source, before + 1, width, paint))
        elif before is not None and number > before + 2:
            out.append(paint("...", "gutter"))
        out.append(_source_line(source, number, width, paint))
        cells = _Cells(source.line(number))
        here = [_Placed(*cells.range(mark.span), mark.sign, mark.text) for mark in marks if mark.span.line == number]
        out += [f"{paint(' ' * width + ' |', 'gutter')} {line}" for line in _annotate(here, paint)]
        before = number
    return out


def _source_line(source: Source, number: int, width: int, paint: _Painter) -> str:
    text = _Cells(source.line(number)).text
    return f"{paint(f'{number:>{width}} |', 'gutter')} {text}".rstrip()


# ------------------------------------------------------------------------------------------------ carets and labels


@dataclass(frozen=True)
class _Placed:
    """A mark in cells of its line: [start, end)."""

    start: int
    end: int
    sign: str
    text: str


def _annotate(marks: list[_Placed], paint: _Painter) -> list[str]:
    """The lines under a source line: carets first, then the words, the rightmost beside its carets, others hung below."""
    canvas = _Canvas()
    order = sorted(marks, key=lambda mark: (mark.start, mark.end))
    for mark in sorted(order, key=lambda mark: (mark.sign == "^", mark.start - mark.end)):  # primary and short ones on top
        canvas.write(0, mark.start, mark.sign * (mark.end - mark.start), mark.sign)
    spoken = [mark for mark in order if mark.text]
    if spoken:
        last = spoken[-1]
        if all(mark.end <= last.end for mark in marks):
            canvas.write(0, last.end + 1, last.text, last.sign)
            spoken.pop()
    row = 0
    while spoken:
        mark = spoken.pop()
        row += 2 if row == 0 else 1
        for above in range(1, row):
            if canvas.free(above, mark.start):
                canvas.write(above, mark.start, "|", mark.sign)
        canvas.write(row, mark.start, mark.text, mark.sign)
        for other in spoken:
            if other.start < mark.start:
                canvas.write(row, other.start, "|", other.sign)
    return canvas.lines(paint)


class _Canvas:
    """Rows of styled cells."""

    def __init__(self) -> None:
        self.rows: list[list[tuple[str, str]]] = []

    def write(self, row: int, column: int, text: str, style: str) -> None:
        """Put `text` at a place; every character is one entry, wide ones too (nothing is written to the right of words)."""
        while len(self.rows) <= row:
            self.rows.append([])
        cells = self.rows[row]
        cells.extend([(" ", "plain")] * (column + len(text) - len(cells)))
        for offset, character in enumerate(text):
            cells[column + offset] = (character, style)

    def free(self, row: int, column: int) -> bool:
        """Whether nothing is written at a place yet."""
        return row >= len(self.rows) or column >= len(self.rows[row]) or self.rows[row][column][0] == " "

    def lines(self, paint: _Painter) -> list[str]:
        """The rows as text, each run of one style painted once."""
        return [self._line(cells, paint) for cells in self.rows]

    @staticmethod
    def _line(cells: list[tuple[str, str]], paint: _Painter) -> str:
        out: list[str] = []
        run, style = "", "plain"
        for character, its in [*cells, ("", "end")]:
            if its != style:
                out.append(paint(run, style))
                run, style = "", its
            run += character
        return "".join(out).rstrip()


# ------------------------------------------------------------------------------------------------ cells of a terminal


class _Cells:
    """A source line as shown, and the cell at which each of its characters starts."""

    def __init__(self, line: str) -> None:
        self.line = line
        shown: list[str] = []
        self.starts: list[int] = []
        cell = 0
        for character in line:
            self.starts.append(cell)
            text, width = (" " * TAB, TAB) if character == "\t" else (_printable(character), _width(character))
            shown.append(text)
            cell += width
        self.end = cell
        self.text = "".join(shown)

    def cell(self, column: int) -> int:
        """The cell at which character `column` starts; columns past the end of the line count on from there."""
        return self.starts[column] if column < len(self.starts) else self.end + column - len(self.starts)

    def range(self, span: Span) -> tuple[int, int]:
        """The cells of the part of `span` on its first line, at least one."""
        start = self.cell(span.column)
        last = span.end_column if span.end_line == span.line else len(self.line.rstrip())
        return start, max(self.cell(last), start + 1)


def _width(character: str) -> int:
    """How many cells a terminal gives a character."""
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _printable(text: str) -> str:
    """`text` with control characters, which could drive a terminal, replaced."""
    if text.isprintable():
        return text
    return "".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(c) == "Cc" and c != "\n" else c for c in text)
