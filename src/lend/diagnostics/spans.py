"""Where something stands in a user's source file.

Does: name a stretch of text (`Span`) in a file (`Source`).  Does not: render it (see `render.py`).
Invariants: lines count from 1, columns from 0 and in characters; the end is exclusive.
"""

from __future__ import annotations

from dataclasses import field

from lend.diagnostics.records import dataclass


@dataclass(frozen=True, eq=False)
class Source:
    """A file's name and its whole text, as it was when the kernel was defined."""

    filename: str
    text: str = field(repr=False)

    def line(self, number: int) -> str:
        """The text of line `number` (from 1) without its newline; empty if there is no such line."""
        lines = self.text.split("\n")  # as Python counts lines: form feeds and U+2028 end none
        return lines[number - 1] if 0 < number <= len(lines) else ""


@dataclass(frozen=True)
class Span:
    """A stretch of `source`: from (line, column) up to, not including, (end_line, end_column)."""

    source: Source
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return self.place

    @property
    def place(self) -> str:
        """`file:line:column`, the column counted from 1 as editors do."""
        return f"{self.source.filename}:{self.line}:{self.column + 1}"

    @property
    def text(self) -> str:
        """The text itself, on one line."""
        if self.line == self.end_line:
            return self.source.line(self.line)[self.column : self.end_column]
        lines = [self.source.line(self.line)[self.column :]]
        lines += [self.source.line(number) for number in range(self.line + 1, self.end_line)]
        lines.append(self.source.line(self.end_line)[: self.end_column])
        return " ".join(line.strip() for line in lines)
