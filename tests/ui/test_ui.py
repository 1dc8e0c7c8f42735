"""Refused programs and their accepted twins.

`<family>/<what_is_wrong>.py` must raise a `LendError` whose message is `<what_is_wrong>.stderr`, whole; its twin
`<what_is_wrong>.ok.py`, a few tokens away, must run. `pytest tests/ui --bless` rewrites the messages: read the difference.
"""

from __future__ import annotations

import difflib
import io
import re
import subprocess
import sys
import tokenize
import types
from pathlib import Path

import pytest

import lend

HERE = Path(__file__).resolve().parent
SOURCE = Path(lend.__file__).resolve().parent
REFUSED = sorted(path for path in HERE.glob("*/*.py") if not path.name.endswith(".ok.py"))
LAYOUT = {
    tokenize.NEWLINE,
    tokenize.NL,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.COMMENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
MOST_CHANGED_TOKENS = 8

# What the inside of the compiler is called, and whose words no user should meet.
INSIDE = re.compile(
    r"Traceback|LLVM|llvmlite|\b(typecheck|lower\.py|emit|parse_function|pipeline)\b|\.py\", line|\bast\.|<class|object at 0x"
)


def name_of(path: Path) -> str:
    return path.relative_to(HERE).as_posix()


@pytest.fixture(autouse=True)
def _no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")


def execute(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a program as a module of its own."""
    module = types.ModuleType("ui_" + re.sub(r"\W", "_", name_of(path)))
    module.__file__ = str(path)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec", dont_inherit=True), module.__dict__)


def message_of(error: lend.LendError, path: Path) -> str:
    """What the user reads: the error's class and its message, with the program's folder left out."""
    return f"{type(error).__name__}: {error}\n".replace(str(path), path.name)


@pytest.mark.parametrize("path", REFUSED, ids=name_of)
def test_program_is_refused_in_these_words(path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(lend.LendError) as caught:
        execute(path, monkeypatch)
    said = message_of(caught.value, path)
    expected = path.with_suffix(".stderr")
    if request.config.getoption("--bless"):
        expected.write_text(said, encoding="utf-8")
    assert said == (expected.read_text(encoding="utf-8") if expected.exists() else "")


@pytest.mark.parametrize("path", REFUSED, ids=name_of)
def test_accepted_twin_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    execute(path.with_suffix(".ok.py"), monkeypatch)


def tokens(path: Path) -> list[str]:
    """A program's tokens, but for comments and layout."""
    readline = io.StringIO(path.read_text(encoding="utf-8")).readline
    return [token.string for token in tokenize.generate_tokens(readline) if token.type not in LAYOUT]


@pytest.mark.parametrize("path", REFUSED, ids=name_of)
def test_accepted_twin_is_a_small_edit_away(path: Path) -> None:
    refused, accepted = tokens(path), tokens(path.with_suffix(".ok.py"))
    edits = difflib.SequenceMatcher(None, refused, accepted, autojunk=False).get_opcodes()
    changed = sum(max(i2 - i1, j2 - j1) for tag, i1, i2, j1, j2 in edits if tag != "equal")
    assert 1 <= changed <= MOST_CHANGED_TOKENS


@pytest.mark.parametrize("path", REFUSED, ids=name_of)
def test_message_speaks_of_the_program_only(path: Path) -> None:
    said = path.with_suffix(".stderr").read_text(encoding="utf-8")
    assert not INSIDE.findall(said)
    assert str(SOURCE) not in said and str(HERE) not in said and "src/lend" not in said


def test_every_file_belongs_to_a_refused_program() -> None:
    wanted = {file for path in REFUSED for file in (path, path.with_suffix(".ok.py"), path.with_suffix(".stderr"))}
    found = {path for path in HERE.glob("*/*") if path.is_file() and path.parent.name != "__pycache__"}
    assert found == wanted


@pytest.mark.parametrize("name", ["syntax/list_comprehension.py", "names/joins_i32_and_f32.py", "calls/wrong_dtype.py"])
def test_an_uncaught_error_shows_no_step_of_the_compiler(name: str) -> None:
    """Python prints the frames that an exception went through: none may lie below lend's entry points."""
    path = HERE / name
    done = subprocess.run([sys.executable, path.name], cwd=path.parent, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "During handling" not in done.stderr and "direct cause" not in done.stderr
    frames = re.findall(r'File "([^"]+)", line', done.stderr)
    inside = {Path(frame).relative_to(SOURCE).as_posix() for frame in frames if Path(frame).is_relative_to(SOURCE)}
    assert inside <= {"driver/kernel.py", "runtime/arguments.py"}
