"""`lend explain L0301`: the page of an error code.

Does: print the page; without a code, the list.  Does not: hold the pages (docs/errors/ does).
Invariants: each code has a page. Works without the repository: the pages are part of the package.
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
    print(page(wanted).rstrip())
    return 0


def page(code: str) -> str:
    """The Markdown page of a code."""
    folder = _PACKAGED if _PACKAGED.is_dir() else _REPOSITORY  # an editable installation reads the repository's
    return (folder / f"{code}.md").read_text(encoding="utf-8")
