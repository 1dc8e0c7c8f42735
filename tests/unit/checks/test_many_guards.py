"""Many accesses of the same elements under different guards: judged without the guards where those are not needed."""

from __future__ import annotations

import linecache
from typing import Any

import pytest

import lend
from lend import Mut, Ref, f64
from lend.checks import check_races
from lend.dims import N

GUARDS = 12


def kernel(line: str) -> Any:
    """A kernel with `line` for each of many numbers k."""
    text = "def many(x: Ref[f64, N], y: Mut[f64, N]):\n    for i in lend.grid(N):\n"
    text += "".join(line.replace("K", str(k)) for k in range(GUARDS))
    name = f"<guards {len(linecache.cache)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    names: dict[str, Any] = {"lend": lend, "Mut": Mut, "Ref": Ref, "f64": f64, "N": N}
    exec(compile(text, name, "exec"), names)
    return lend.kernel(names["many"])


def test_guards_that_are_not_needed_are_not_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    original = check_races.decide
    monkeypatch.setattr(check_races, "decide", lambda *a, **k: (asked.append(1), original(*a, **k))[1])
    found = kernel("        if i + K < N:\n            y[i] += x[i + K]\n")
    assert {p.verdict for p in found.proofs() if p.obligation == "race"} == {"proved"}
    assert len(asked) < 2 * GUARDS  # of about GUARDS ** 2 pairs


def test_guards_that_are_needed_count() -> None:
    found = kernel("        if i == 2 * K:\n            y[K] = x[i]\n")
    assert {p.verdict for p in found.proofs() if p.obligation == "race"} == {"proved"}


def test_no_guard_hides_a_race() -> None:
    with pytest.raises(lend.CompileError, match="L0310"):
        kernel("        if i >= K:\n            y[i // 2] = x[i]\n")
