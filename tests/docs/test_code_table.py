"""docs/errors.md lists every error code with the words of the source."""

from __future__ import annotations

import re

import pytest
from documents import ROOT

from lend.diagnostics.codes import TITLES

PAGE = ROOT / "docs" / "errors.md"
TABLE = re.compile(r"(?<=<!-- table: codes -->\n).*?(?=<!-- end: codes -->)", re.DOTALL)


def test_every_code_stands_in_the_table(request: pytest.FixtureRequest) -> None:
    rows = "".join(f"| `{code}` | {title} |\n" for code, title in sorted(TITLES.items()))
    wanted = f"\n| code | what is refused |\n|---|---|\n{rows}\n"
    page = PAGE.read_text(encoding="utf-8")
    found = TABLE.search(page)
    assert found is not None
    if request.config.getoption("--bless", default=False):
        PAGE.write_text(TABLE.sub(lambda _: wanted, page), encoding="utf-8")
    else:
        assert found[0] == wanted
