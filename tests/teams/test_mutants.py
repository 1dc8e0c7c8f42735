"""Each barrier of our kernels taken away, moved, or left to one thread: the proofs and the dynamic judge say the same of it.

`table.txt` has what each says; `pytest tests/teams/test_mutants.py --bless` writes it anew.
"""

from __future__ import annotations

import itertools
import linecache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lend

from . import kernels
from .kernels import CASES
from .mutants import Mutant, mutants, source_of

TABLE = Path(__file__).parent / "table.txt"
_numbers = itertools.count()


def defined(source: str, name: str) -> Any:
    """The function of a source text, among the names of `kernels.py`."""
    file = f"<mutant {next(_numbers)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    namespace = dict(vars(kernels))
    exec(compile(source, file, "exec"), namespace)
    return namespace[name]


def proved(function: Any) -> str:
    """What the proofs say: "accepted", or the codes of the refusal."""
    try:
        lend.kernel(function)
    except lend.CompileError as error:
        return " ".join(sorted({d.code for d in error.diagnostics}))
    return "accepted"


def judged(function: Any, arguments: dict[str, Any]) -> str:
    """What the judge finds: "nothing", or the kinds."""
    report = lend.sanitize(function, runs=4)(**arguments)
    return " ".join(sorted({finding.kind for finding in report.findings})) or "nothing"


def verdicts(name: str, mutant: Mutant) -> str:
    """A line of the table."""
    function = defined(mutant.source, name)
    arguments = CASES[name].arguments(np.random.default_rng(0))
    return f"{name}:{mutant.line} {mutant.way}: proofs {proved(function)}; judge {judged(function, arguments)}"


def table_of(name: str) -> list[str]:
    """The table's lines about a kernel."""
    return [line for line in TABLE.read_text(encoding="utf-8").splitlines() if line.startswith(f"{name}:")]


@pytest.mark.parametrize("name", CASES)
def test_proofs_and_judge_agree_on_each_mutant(name: str, request: pytest.FixtureRequest) -> None:
    found = [verdicts(name, mutant) for mutant in mutants(CASES[name].function)]
    if request.config.getoption("--bless", default=False):
        others = [line for line in TABLE.read_text(encoding="utf-8").splitlines() if line and not line.startswith(f"{name}:")]
        order = list(CASES)
        lines = sorted([*others, *found], key=lambda line: order.index(line.split(":")[0]))
        TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    for line in found:
        accepted, clean = "proofs accepted" in line, line.endswith("judge nothing")
        assert accepted == clean, line
    assert found == table_of(name)


def test_there_are_mutants_of_all_kinds() -> None:
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    assert len({line.split(":")[0] for line in lines}) >= 25
    for word in ("removed", "earlier", "later", "one thread", "L0312", "L0350", "judge race", "barrier", "proofs accepted"):
        assert any(word in line for line in lines), word


def test_a_mutant_differs_from_its_kernel_in_the_barrier_alone() -> None:
    for case in CASES.values():
        whole = sorted(line.strip() for line in source_of(case.function) if "lend.sync()" not in line)
        for mutant in mutants(case.function):
            others = sorted(line.strip() for line in mutant.source.splitlines() if "lend.sync()" not in line)
            extra = [line for line in others if line not in whole]
            assert mutant.way == "for one thread" or extra in ([], ["pass"])
