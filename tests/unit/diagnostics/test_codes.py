from __future__ import annotations

import re
from pathlib import Path

import lend.diagnostics.codes as codes

SOURCE = Path(codes.__file__).parents[1]


def test_every_code_used_in_the_source_is_in_the_table() -> None:
    used = {
        (code, path.name)
        for path in SOURCE.rglob("*.py")
        if path.name != "codes.py"
        for code in re.findall(r"""["'](L\d{4})["']""", path.read_text(encoding="utf-8"))
    }
    assert used, "the pattern finds no code at all"
    assert sorted((code, name) for code, name in used if code not in codes.TITLES) == []


def test_codes_are_sorted_and_titles_are_one_line() -> None:
    assert list(codes.TITLES) == sorted(codes.TITLES)
    assert all(re.fullmatch(r"L0[1-5]\d\d", code) for code in codes.TITLES)
    assert all(text and "\n" not in text and not text.endswith(".") for text in codes.TITLES.values())


def test_no_code_stands_twice_in_the_table() -> None:
    written = re.findall(r'^    "(L\d{4})":', Path(codes.__file__).read_text(encoding="utf-8"), re.MULTILINE)
    assert len(written) == len(set(written)) == len(codes.TITLES)
