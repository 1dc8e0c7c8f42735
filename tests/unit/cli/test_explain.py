"""`lend explain`: pages, titles, and both from an installed wheel."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from lend import cli
from lend.cli.explain import page
from lend.diagnostics.codes import TITLES

ROOT = Path(__file__).resolve().parents[3]
WITHOUT_A_PROGRAM = ("L0101", "L0102", "L0104", "L0119", "L0129", "L0490")
"""What a block of a page cannot show: files that change, programs that programs write, syntax of later versions."""
PROOFS = sorted(code for code in TITLES if code.startswith("L03"))


@pytest.mark.parametrize("code", [*PROOFS, "L0407"])
def test_each_code_of_the_proofs_has_a_page_with_a_refused_and_an_accepted_program(code: str) -> None:
    text = page(code)
    before, _, after = text.partition("\n## Ways out\n")
    assert "```python refused\n" in before and f"error[{code}]" in before
    assert "```python\n" in after


def test_the_page_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "l0310"]) == 0
    assert capsys.readouterr().out.strip() == page("L0310").strip()


@pytest.mark.parametrize("code", sorted(TITLES))
def test_each_code_has_a_page_that_shows_it_or_says_in_words_what_to_do(code: str) -> None:
    text = page(code)
    assert text.startswith(f"# {code}: {TITLES[code]}\n")
    if code in WITHOUT_A_PROGRAM:
        assert "```" not in text and text.count("\n\n") == 2
        return
    before, _, after = re.split(r"^(## (?:Ways out|Instead))$", text, maxsplit=1, flags=re.MULTILINE)
    assert "```python refused\n" in before and f"error[{code}]" in before and "```python\n" in after


def test_without_a_code_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain"]) == 0
    assert capsys.readouterr().out.splitlines() == [f"{code}  {title}" for code, title in sorted(TITLES.items())]


@pytest.mark.parametrize("code", ["L9999", "301", "../check"])
def test_a_code_that_does_not_exist_is_status_2(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", code]) == 2
    assert capsys.readouterr().err == f"lend explain: there is no code {code}; `lend explain` lists them all\n"


def test_pages_come_with_the_wheel(tmp_path: Path) -> None:
    """Built, unpacked and run where nothing of the repository is."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=240)
    (wheel,) = tmp_path.glob("*.whl")
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    program = "import lend.cli, sys; print(lend.__file__); sys.exit(lend.cli.main(['explain', 'L0301']))"
    command = [sys.executable, "-P", "-c", program]
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True, timeout=120)
    where, _, said = done.stdout.partition("\n")
    assert Path(where).is_relative_to(installed)
    assert said.startswith(f"# L0301: {TITLES['L0301']}\n")
    assert (installed / "lend" / "cli" / "check" / "page.css").is_file()
