from __future__ import annotations

import io
import json
import re
import sys
import textwrap

import pytest

from lend.diagnostics.diagnostic import Diagnostic, Label
from lend.diagnostics.render import render_json, render_text, wants_colour
from lend.diagnostics.spans import Source, Span

TEXT = "def f(a, b):\n    y[i] = foo(a, b)\n    z = 1\n    w = 2\n    return y\n"


def at(source: Source, line: int, start: int, end: int, end_line: int | None = None) -> Span:
    return Span(source, line, start, end_line or line, end)


def shown(*diagnostics: Diagnostic) -> str:
    return render_text(diagnostics, colour=False)


def expect(diagnostic: Diagnostic, text: str) -> None:
    assert shown(diagnostic) == textwrap.dedent(text).strip("\n")


def test_one_label_with_note_and_help() -> None:
    source = Source("heat.py", TEXT)
    expect(
        Diagnostic("L0201", "the name `foo` is not defined", Label(at(source, 2, 11, 14), "undefined"), (), ("a note",), "a fix"),
        """
        error[L0201]: the name `foo` is not defined
         --> heat.py:2:12
          |
        2 |     y[i] = foo(a, b)
          |            ^^^ undefined
          |
          = note: a note
          = help: a fix
        """,
    )


def test_further_labels_on_the_same_line_hang_below() -> None:
    source = Source("heat.py", TEXT)
    labels = (Label(at(source, 2, 15, 16), "this is f32"), Label(at(source, 2, 18, 19), "this is i32"))
    expect(
        Diagnostic("L0203", "types differ", Label(at(source, 2, 11, 14), "called here"), labels),
        """
        error[L0203]: types differ
         --> heat.py:2:12
          |
        2 |     y[i] = foo(a, b)
          |            ^^^ -  - this is i32
          |            |   |
          |            |   this is f32
          |            called here
        """,
    )


def test_a_label_around_the_primary_one() -> None:
    source = Source("heat.py", TEXT)
    labels = (Label(at(source, 2, 11, 20), "in this call"),)
    expect(
        Diagnostic("L0203", "wrong", Label(at(source, 2, 15, 16), "this argument"), labels),
        """
        error[L0203]: wrong
         --> heat.py:2:16
          |
        2 |     y[i] = foo(a, b)
          |            ----^----
          |            |   |
          |            |   this argument
          |            in this call
        """,
    )


def test_two_labels_that_start_at_one_place_are_both_readable() -> None:
    source = Source("heat.py", TEXT)
    labels = (Label(at(source, 2, 11, 20), "whole call"),)
    text = shown(Diagnostic("L0203", "wrong", Label(at(source, 2, 11, 14), "the function"), labels))
    assert "^^^------ whole call" in text
    assert "\n  |            the function" in text


def test_lines_near_and_far() -> None:
    source = Source("heat.py", TEXT)
    labels = (Label(at(source, 3, 4, 5), "next line"), Label(at(source, 5, 11, 12), "two on"))
    expect(
        Diagnostic("L0203", "wrong", Label(at(source, 1, 6, 7), "here"), labels),
        """
        error[L0203]: wrong
         --> heat.py:1:7
          |
        1 | def f(a, b):
          |       ^ here
        2 |     y[i] = foo(a, b)
        3 |     z = 1
          |     - next line
        4 |     w = 2
        5 |     return y
          |            - two on
        """,
    )
    far = Source("far.py", "a\n" * 120)
    text = shown(Diagnostic("L0203", "wrong", Label(at(far, 100, 0, 1), "here"), (Label(at(far, 9, 0, 1), "there"),)))
    assert text.splitlines()[1:] == [
        "   --> far.py:100:1",
        "    |",
        "  9 | a",
        "    | - there",
        "...",
        "100 | a",
        "    | ^ here",
    ]


def test_labels_in_another_file() -> None:
    source, other = Source("heat.py", TEXT), Source("helper.py", "def foo(x):\n    pass\n")
    text = shown(Diagnostic("L0205", "wrong", Label(at(source, 2, 11, 14), "called"), (Label(at(other, 1, 4, 7), "defined"),)))
    assert text.splitlines()[4:] == [
        "  |            ^^^ called",
        " ::: helper.py:1:5",
        "  |",
        "1 | def foo(x):",
        "  |     --- defined",
    ]


def test_a_span_of_several_lines_shows_its_first() -> None:
    source = Source("heat.py", "x = (1 +   \n     2)\n")
    assert "1 | x = (1 +\n  |     ^^^^ sum" in shown(Diagnostic("L0203", "wrong", Label(at(source, 1, 4, 6, 2), "sum")))


def test_an_empty_span_gets_one_caret_also_at_the_end_of_the_line() -> None:
    source = Source("heat.py", "abc\n")
    assert "1 | abc\n  |    ^ here" in shown(Diagnostic("L0203", "wrong", Label(at(source, 1, 3, 3), "here")))


@pytest.mark.parametrize(
    ("line", "column", "before"),
    [
        ("\tx", 1, 4),
        ("a\tx", 2, 5),
        ("日本x", 2, 4),
        ("e\u0301x", 2, 1),
        ("\u200bx", 1, 0),
        ("\x0cx", 1, 1),
        ("🙂x", 1, 2),
    ],
)
def test_carets_stand_right_after_odd_characters(line: str, column: int, before: int) -> None:
    text = shown(Diagnostic("L0203", "wrong", Label(at(Source("f.py", line), 1, column, column + 1), "here")))
    assert text.splitlines()[-1] == "  | " + " " * before + "^ here"


def test_a_wide_character_gets_two_carets() -> None:
    text = shown(Diagnostic("L0203", "wrong", Label(at(Source("f.py", "日 = 1"), 1, 0, 1), "here")))
    assert text.splitlines()[-1] == "  | ^^ here"


def test_control_characters_never_reach_the_terminal() -> None:
    source = Source("f.py", "x = '\x1b[31m'")
    text = shown(Diagnostic("L0203", "wrong \x1b]0;a\x07", Label(at(source, 1, 0, 1), "here \x1b[2J")))
    assert "\x1b" not in text and "\x07" not in text


def test_a_file_without_text_shows_only_its_place() -> None:
    text = shown(Diagnostic("L0101", "no source", Label(at(Source("<stdin>", ""), 3, 0, 1), "here"), fix="save it"))
    assert text == "error[L0101]: no source\n --> <stdin>:3:1\n  |\n  = help: save it"


def test_several_diagnostics_are_counted() -> None:
    diagnostic = Diagnostic("L0203", "wrong", Label(at(Source("f.py", "x"), 1, 0, 1), "here"))
    text = shown(diagnostic, diagnostic)
    assert text.count("\n\n") == 2
    assert text.endswith("\n\n2 errors")
    assert "errors" not in shown(diagnostic)


def test_colours_change_nothing_else() -> None:
    source = Source("heat.py", TEXT)
    diagnostic = Diagnostic("L0201", "m", Label(at(source, 2, 11, 14), "p"), (Label(at(source, 2, 4, 8), "s"),), ("n",), "f")
    coloured = render_text([diagnostic, diagnostic], colour=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == shown(diagnostic, diagnostic)


def test_a_fix_of_several_lines_is_indented() -> None:
    diagnostic = Diagnostic("L0201", "m", Label(at(Source("f.py", "x"), 1, 0, 1), "p"), fix="write\n    y = 1")
    assert shown(diagnostic).splitlines()[-2:] == ["  = help: write", "              y = 1"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "variables", "wanted"),
    [
        (Terminal(), {}, True),
        (io.StringIO(), {}, False),
        (None, {}, False),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"TERM": "dumb"}, False),
    ],
)
def test_colours_only_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, stream: object, variables: dict[str, str], wanted: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stderr", stream)
    assert wants_colour() is wanted


def test_json_counts_columns_from_one() -> None:
    source = Source("heat.py", TEXT)
    diagnostic = Diagnostic("L0201", "m", Label(at(source, 2, 11, 14), "p"), (Label(at(source, 3, 4, 5), "s"),), ("n",), "f")
    [data] = json.loads(json.dumps(render_json([diagnostic])))
    assert data == {
        "code": "L0201",
        "message": "m",
        "file": "heat.py",
        "line": 2,
        "column": 12,
        "end_line": 2,
        "end_column": 15,
        "label": "p",
        "labels": [{"file": "heat.py", "line": 3, "column": 5, "end_line": 3, "end_column": 6, "label": "s"}],
        "notes": ["n"],
        "fix": "f",
    }
