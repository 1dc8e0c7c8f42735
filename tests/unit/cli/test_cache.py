"""`lend cache`: what it shows, and that clearing removes the files and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import lend
from lend import cli
from lend.runtime.store import Store


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Iterator[Path]:
    before = (lend.config.cache, lend.config.cache_dir)
    lend.config.cache, lend.config.cache_dir = True, tmp_path
    yield tmp_path
    lend.config.cache, lend.config.cache_dir = before


def test_an_empty_cache(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["cache"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].endswith(str(folder / "lend-1"))
    assert said[1:] == ["files   0", "size    0.0 MB of at most 512 MB"]


def test_files_are_counted_and_removed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store(str(folder), 1 << 29)
    for k in range(3):
        store.save(bytes([k]) * 20, b"x" * (1 << 19))
    (folder / "mine.txt").write_text("not of lend")
    assert cli.main(["cache"]) == 0
    said = capsys.readouterr().out
    assert "files   3" in said and "1.5 MB of at most 512 MB" in said and "used    20" in said
    assert cli.main(["cache", "--clear"]) == 0
    assert "removed 3 files (1.5 MB)" in capsys.readouterr().out
    assert store.find(bytes([1]) * 20) is None and (folder / "mine.txt").exists()


def test_a_cache_that_is_off_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    lend.config.cache = False
    assert cli.main(["cache"]) == 0
    assert "LEND_CACHE=0" in capsys.readouterr().out


def test_a_wrong_setting_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("LEND_CACHE_LIMIT", "much")
    lend.config.reset()
    try:
        assert cli.main(["cache"]) == 2
    finally:
        monkeypatch.delenv("LEND_CACHE_LIMIT")
        lend.config.reset()
    assert "LEND_CACHE_LIMIT is 'much'" in capsys.readouterr().out
