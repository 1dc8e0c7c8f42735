"""islpy's version module, made without `importlib.metadata`: what it holds, and when it is left to Python."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import islpy.version
import pytest

from lend.model import quick_islpy


def public(module: object) -> dict[str, object]:
    return {name: value for name, value in vars(module).items() if name.isupper()}


def test_the_version_module_holds_what_python_would_find() -> None:
    made = quick_islpy.version_module()
    assert made is not None
    assert made.VERSION_TEXT == importlib.metadata.version("islpy")
    assert public(made) == public(islpy.version)
    assert made.__file__ == islpy.version.__file__
    assert "metadata" not in vars(made) or made.metadata is importlib.metadata


def test_a_process_that_proves_loads_no_metadata() -> None:
    program = (
        "import sys\nfrom lend.model import sets\nimport islpy, islpy.version\n"
        "assert islpy.version is sys.modules['islpy.version'] and islpy.__version__ == islpy.version.VERSION_TEXT\n"
        "assert islpy.Set('{ [i] : 0 <= i < 3 }').is_equal(islpy.Set('{ [i] : 0 <= i <= 2 }'))\n"
        "print('importlib.metadata' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


KNOWN = 'from importlib import metadata\nVERSION_TEXT = metadata.version("islpy")\n'


@pytest.mark.parametrize(
    ("text", "folders", "made"),
    [
        (KNOWN, ["islpy-1.2.dist-info"], True),
        (KNOWN, [], False),
        (KNOWN, ["islpy-1.2.dist-info", "islpy-1.3.dist-info"], False),
        (KNOWN + "NAMES = metadata.metadata('islpy')\n", ["islpy-1.2.dist-info"], False),
        ("VERSION_TEXT = '1.2'\n", ["islpy-1.2.dist-info"], False),
        (KNOWN + "raise ImportError\n", ["islpy-1.2.dist-info"], False),
    ],
)
def test_what_is_not_as_expected_is_left_to_python(
    text: str, folders: list[str], made: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "islpy"
    package.mkdir()
    (package / "version.py").write_text(text)
    for name in folders:
        (tmp_path / name).mkdir()
    found = SimpleNamespace(submodule_search_locations=[str(package)])
    monkeypatch.setattr(quick_islpy, "find_spec", {"islpy": found}.get)
    module = quick_islpy.version_module()
    assert (module is not None) == made
    if module is not None:
        assert module.VERSION_TEXT == "1.2"
