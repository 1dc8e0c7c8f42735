"""The `lend` command: help, wrong use, and what it says when the demo's extra is missing."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import lend
from lend import cli
from lend.cli import demo


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"lend {lend.__version__}\n"


@pytest.mark.parametrize("arguments", [["demonstrate"], ["demo", "--loudly"]])
def test_wrong_use_is_status_2_with_the_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments)
    assert stopped.value.code == 2
    assert capsys.readouterr().err.startswith("usage: lend")


def test_without_a_command_the_help_is_shown_and_the_status_is_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 2
    assert "show what is proved of every kernel" in capsys.readouterr().out


def test_the_module_is_the_command_and_a_reader_that_leaves_gets_no_traceback() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.argv[1:] = ['explain']; import lend.__main__"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as command:
        assert command.stdout is not None and command.stderr is not None
        command.stdout.close()
        assert command.stderr.read() == b""
    assert command.returncode == cli.STOPPED_READING
    listed = subprocess.run([sys.executable, "-m", "lend", "explain"], capture_output=True, text=True, check=True)
    assert listed.stdout.startswith("L0101  ")


def test_demo_without_its_extra_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(demo, "find_spec", lambda name: None if name == "rich" else find_spec(name))
    assert cli.main(["demo", "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert said == "lend demo needs rich: pip install 'lend[demo]'\n"
    assert not (tmp_path / "out").exists()
