"""No defective team kernel runs, and the dynamic judge sees what is wrong with each."""

from __future__ import annotations

import pytest

import lend

from . import attacks_barriers, attacks_groups, attacks_order, attacks_subscripts  # noqa: F401 (they fill the table)
from .attacks import ATTACKS

OPEN: dict[str, str] = {}
"""Those that are accepted, and why."""


@pytest.mark.parametrize("name", ATTACKS)
def test_the_judge_sees_the_defect(name: str) -> None:
    found = ATTACKS[name]
    report = lend.sanitize(found.function, runs=6)(*found.arguments())
    assert found.kind in {finding.kind for finding in report.findings}, str(report)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.xfail(reason=OPEN[name])) if name in OPEN else name for name in ATTACKS],
)
def test_the_kernel_does_not_run(name: str) -> None:
    found = ATTACKS[name]
    with pytest.raises((lend.CompileError, lend.ContractError)) as refused:
        lend.kernel(found.function)(*found.arguments())
    if isinstance(refused.value, lend.CompileError):
        assert all(diagnostic.code.startswith("L03") for diagnostic in refused.value.diagnostics)
