"""docs/errors.md lists every error code with the words of the source."""

from __future__ import annotations

import re

import pytest
from documents import ROOT

from lend.diagnostics.codes import TITLES

PAGE = ROOT / "docs" / "errors.md"
TABLE = re.compile(r"(?<=<!-- table: codes -->\n).*?(?=<!-- end: codes -->)", re.DOTALL)


def cell(code: str) -> str:
    """The code, with a link to its page if it has one."""
    return f"[`{code}`](errors/{code}.md)" if (PAGE.parent / "errors" / f"{code}.md").exists() else f"`{code}`"


def test_every_page_is_that_of_a_code_and_begins_with_its_title() -> None:
    for page in (PAGE.parent / "errors").iterdir():
        assert page.read_text(encoding="utf-8").startswith(f"# {page.stem}: {TITLES[page.stem]}\n")


def test_every_code_stands_in_the_table(request: pytest.FixtureRequest) -> None:
    rows = "".join(f"| {cell(code)} | {title} |\n" for code, title in sorted(TITLES.items()))
    wanted = f"\n| code | what is refused |\n|---|---|\n{rows}\n"
    page = PAGE.read_text(encoding="utf-8")
    found = TABLE.search(page)
    assert found is not None
    if request.config.getoption("--bless", default=False):
        PAGE.write_text(TABLE.sub(lambda _: wanted, page), encoding="utf-8")
    else:
        assert found[0] == wanted
