"""What all tests share: the target under test, a thread count that is put back, and `--bless`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

# Tests test the compiler, in this process and in those that it starts; what is kept on disk has tests of its own.
os.environ["LEND_CACHE"] = "0"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--bless` writes down what programs say now as what they must say; read the difference before committing it."""
    parser.addoption("--bless", action="store_true", help="rewrite expected messages in tests/ui and in the documents")


def pytest_configure(config: pytest.Config) -> None:
    """Expectations are never rewritten where nobody reads the difference."""
    if config.getoption("--bless") and os.environ.get("CI"):
        raise pytest.UsageError("--bless is for a person to run, not for CI")


@pytest.fixture(params=["cpu"])
def target(request: pytest.FixtureRequest) -> str:
    """The target that the kernels of `tests/run` run on."""
    return request.param


@pytest.fixture(autouse=True)
def _settings_are_put_back() -> Iterator[None]:
    lend = sys.modules.get("lend")
    if lend is None or not hasattr(lend, "config"):
        yield
        return
    before = lend.config.threads
    yield
    lend.config.threads = before
