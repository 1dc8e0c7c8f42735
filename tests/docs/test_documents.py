"""Every page's programs run, what they say is refused is refused in the words printed there, and every link leads somewhere."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from documents import PAGES, ROOT, blocks, marked_command

import lend

PYTHON_PAGES = [page for page in PAGES if "```python" in page.read_text(encoding="utf-8")]


def page_id(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PYTHON_PAGES, ids=page_id)
def test_programs_of_the_page_run_as_printed(
    page: Path, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    text = page.read_text(encoding="utf-8")
    module = types.ModuleType(f"page_{page.stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    names = module.__dict__
    corrected: list[tuple[int, int, str]] = []
    found = blocks(text)
    for position, block in enumerate(found):
        if block.info[:1] != ("python",):
            continue
        file = tmp_path / f"block_at_{block.line}.py"
        file.write_text(block.body, encoding="utf-8")
        code = compile(block.body, str(file), "exec")
        following = found[position + 1 : position + 2]
        printed = io.StringIO()
        if "refused" not in block.info:
            with contextlib.redirect_stdout(printed):
                exec(code, names)
            if not following or following[0].info != ("text", "output"):
                continue
            said = printed.getvalue()
        else:
            with pytest.raises(lend.LendError) as caught:
                exec(code, names)
            said = str(caught.value)
            assert following and following[0].info == ("text",), f"line {block.line}: its message stands in the next block"
        said = re.sub(rf"{re.escape(str(tmp_path))}/block_at_\d+\.py", "example.py", said)
        said = re.sub(r" +$", "", said, flags=re.MULTILINE).rstrip() + "\n"
        expected = following[0]
        if request.config.getoption("--bless", default=False):
            corrected.append((expected.start, expected.end, said))
        else:
            assert expected.body == said, f"what the program says at line {block.line} of {page_id(page)}"
    for start, end, said in reversed(corrected):
        text = text[:start] + said + text[end:]
    if corrected:
        page.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_of_the_page_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    missing = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        if "://" in target:
            continue
        file = (page.parent / path) if path else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            missing.append(target)
    assert not missing


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_readme_commands_make_their_own_environments() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for mark, environment, last in (("command: demo", ".venv-demo", "lend demo"), ("command: tests", ".venv-dev", "pytest")):
        words = shlex.split(marked_command(readme, mark))
        assert words[:4] == ["python3", "-m", "venv", environment]
        assert f"{environment}/bin/{last}" in " ".join(words)


def test_no_page_speaks_of_a_file_that_does_not_exist() -> None:
    missing = []
    for page in PAGES:
        for name in re.findall(r"`((?:src|tests|docs|examples|benchmarks)/[\w./-]+)`", page.read_text(encoding="utf-8")):
            if not (ROOT / name).exists():
                missing.append(f"{page_id(page)}: {name}")
    assert not missing
