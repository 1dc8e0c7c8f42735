"""`lend explain L0301`: the page of an error code.

Does: print the page; where a code has none, its title; without a code, the list.  Does not: hold the pages (docs/errors/ does).
Invariants: works without the repository: the pages are part of the package.
"""

from __future__ import annotations

import sys
from pathlib import Path

from lend.diagnostics.codes import TITLES

_PACKAGED = Path(__file__).with_name("errors")
_REPOSITORY = Path(__file__).resolve().parents[3] / "docs" / "errors"


def main(code: str | None) -> int:
    """Print what is known of a code. 2 if it does not exist."""
    if code is None:
        print("\n".join(f"{known}  {title}" for known, title in sorted(TITLES.items())))
        return 0
    wanted = code.upper()
    if wanted not in TITLES:
        print(f"lend explain: there is no code {code}; `lend explain` lists them all", file=sys.stderr)
        return 2
    text = page(wanted)
    if text is None:
        print(f"{wanted}: {TITLES[wanted]}\n\nThis code has no page of its own; its message says what to write instead.")
        print("`lend explain` lists all codes, as docs/errors.md does.")
    else:
        print(text.rstrip())
    return 0


def page(code: str) -> str | None:
    """The Markdown page of a code; None if it has none."""
    for folder in (_PACKAGED, _REPOSITORY):  # an editable installation reads the repository's
        file = folder / f"{code}.md"
        if file.is_file():
            return file.read_text(encoding="utf-8")
    return None
