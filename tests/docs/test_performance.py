"""What docs/performance.md prints of `kernel.explain` is what it says on the machine that the page names."""

from __future__ import annotations

import contextlib
import io
import re
import sys
import types
from pathlib import Path

import pytest
from documents import ROOT, blocks

from lend.driver import explained
from lend.plan.report import Surroundings

PAGE = ROOT / "docs" / "performance.md"
MACHINE = Surroundings(threads=2, last_cache=32 << 20, wave_bytes=(32 << 20) // 3, vector_bytes=64)


def test_the_page_shows_what_explain_says(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explained, "surroundings", lambda: MACHINE)
    text = PAGE.read_text(encoding="utf-8")
    module = types.ModuleType("page_performance_shown")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    shown: list[tuple[int, int, str, str]] = []
    printed = ""
    for block in blocks(text):
        if block.info == ("python",):
            file = tmp_path / f"block_at_{block.line}.py"
            file.write_text(block.body, encoding="utf-8")
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(compile(block.body, str(file), "exec"), module.__dict__)
            printed = output.getvalue()
        elif block.info == ("text", "explain"):
            shown.append((block.start, block.end, block.body, printed))
    assert len(shown) == 4
    if request.config.getoption("--bless", default=False):
        for start, end, _, said in reversed(shown):
            text = text[:start] + said + text[end:]
        PAGE.write_text(text, encoding="utf-8")
    else:
        for _, _, expected, said in shown:
            assert expected == said


def test_every_topic_of_an_explanation_stands_in_the_table() -> None:
    source = (ROOT / "src" / "lend" / "plan" / "wording.py").read_text(encoding="utf-8")
    topics = set(re.findall(r'yield "(\w+)"', source)) | {"reads", "writes"}
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert topics <= set(re.findall(r"`(\w+)`", " ".join(rows)))
