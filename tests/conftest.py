"""What all tests share: the target under test, and a thread count that is put back."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


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
