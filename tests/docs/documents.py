"""Reads the project's Markdown pages as programs.

A page is one program: its ```python blocks run in order and share their names. A block whose fence says ```python refused must
raise a `LendError`, and the ```text block after it must hold exactly its message. A block with ```text output after a program
holds what the program prints.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: the words after the fence, its text, its first line's number, and where its text lies in the page."""

    info: tuple[str, ...]
    body: str
    line: int
    start: int
    end: int


def blocks(page: str) -> list[Block]:
    """All fenced blocks of a page's text."""
    return [
        Block(tuple(m["info"].split()), m["body"], page.count("\n", 0, m.start("body")) + 1, m.start("body"), m.end("body"))
        for m in _FENCE.finditer(page)
    ]


def marked_command(page: str, mark: str) -> str:
    """The shell block after the line `<!-- mark -->`, as `.ci/run` finds it."""
    found = re.search(rf"^<!-- {re.escape(mark)} -->$\s*^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert found is not None, f"no command marked {mark!r}"
    return found[1].strip()
