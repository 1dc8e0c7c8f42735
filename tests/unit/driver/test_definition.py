"""What is found out when a kernel is defined is not found out again by its first call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lend
from lend import Mut, comptime, f64
from lend.checks import judge as judging
from lend.dims import N

SCALE = 2.0


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of kernels that are judged, each time one is."""
    names: list[str] = []
    original = judging.judge

    def judge(kernel: Any, fixed: Any = None) -> Any:
        names.append(kernel.name)
        return original(kernel, fixed)

    monkeypatch.setattr(judging, "judge", judge)
    return names


def test_the_first_call_uses_the_proofs_of_the_definition(judged: list[str]) -> None:
    @lend.kernel
    def scaled(x: Mut[f64, N]):
        for i in lend.grid(N):
            x[i] *= 2.0

    x = np.ones(3)
    scaled(x)
    scaled(x)
    assert x.tolist() == [4.0] * 3
    assert judged == ["scaled"]


def test_other_types_are_judged_by_themselves(judged: list[str]) -> None:
    @lend.kernel
    def raised(x: Mut[f64, N], by: comptime[int] = 1):
        for i in lend.grid(N):
            x[i] += by

    x = np.ones(6)
    raised(x[::2], by=3)
    raised(x)
    assert x.tolist() == [5.0, 2.0, 5.0, 2.0, 5.0, 2.0]
    assert judged == ["raised", "raised"]  # for the definition, which the second call uses, and for the first call


def test_a_captured_value_that_has_changed_since_the_definition_counts(
    judged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    @lend.kernel
    def scaled(x: Mut[f64, N]):
        for i in lend.grid(N):
            x[i] *= SCALE

    monkeypatch.setitem(globals(), "SCALE", 3.0)
    x = np.ones(2)
    scaled(x)
    assert x.tolist() == [3.0, 3.0]
    assert judged == ["scaled", "scaled"]
