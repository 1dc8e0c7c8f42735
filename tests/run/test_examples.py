"""Every program in `examples/` runs, agrees with NumPy and prints one line."""

from pathlib import Path

import pytest
from scripts import run_python

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


def test_there_are_examples():
    assert len(EXAMPLES) >= 7


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path):
    done = run_python([path])
    assert len(done.stdout.strip().splitlines()) == 1, done.stdout
    assert done.stdout.startswith(path.stem), done.stdout
    assert done.stderr == ""
