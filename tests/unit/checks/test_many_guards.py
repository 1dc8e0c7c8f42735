"""Many accesses of the same elements under different guards: judged without the guards where those are not needed."""

from __future__ import annotations

import linecache
from typing import Any

import pytest

import lend
from lend import Mut, Ref, f64
from lend.checks import check_bounds, check_races, team_races
from lend.dims import N

GUARDS = 12


GRID = "def many(x: Ref[f64, N], y: Mut[f64, N]):\n    for i in lend.grid(N):\n"
TEAM = """def many(x: Ref[f64, N], y: Mut[f64, N]):
    for _ in lend.blocks(1):
        s = lend.shared(f64, 64)
        for t in lend.threads(16):
            for k in range(4):
                s[16 * k + t] = 0.0
            lend.sync()
"""


def kernel(line: str, head: str = GRID) -> Any:
    """A kernel with `line` for each of many numbers k."""
    text = head + "".join(line.replace("K", str(k)) for k in range(GUARDS))
    name = f"<guards {len(linecache.cache)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    names: dict[str, Any] = {"lend": lend, "Mut": Mut, "Ref": Ref, "f64": f64, "N": N}
    exec(compile(text, name, "exec"), names)
    return lend.kernel(names["many"])


def test_guards_that_are_not_needed_are_not_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = counted(monkeypatch, check_races)
    found = kernel("        if i + K < N:\n            y[i] += x[i + K]\n")
    assert {p.verdict for p in found.proofs() if p.obligation == "race"} == {"proved"}
    assert len(asked) < 2 * GUARDS  # of about GUARDS ** 2 pairs


def test_guards_that_are_needed_count() -> None:
    found = kernel("        if i == 2 * K:\n            y[K] = x[i]\n")
    assert {p.verdict for p in found.proofs() if p.obligation == "race"} == {"proved"}


def test_no_guard_hides_a_race() -> None:
    with pytest.raises(lend.CompileError, match="L0310"):
        kernel("        if i >= K:\n            y[i // 2] = x[i]\n")


def counted(monkeypatch: pytest.MonkeyPatch, module: Any) -> list[int]:
    """One entry for each question that a check asks from now on."""
    asked: list[int] = []
    original = module.decide
    monkeypatch.setattr(module, "decide", lambda *a, **k: (asked.append(1), original(*a, **k))[1])
    return asked


def test_bounds_that_hold_everywhere_are_asked_about_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = counted(monkeypatch, check_bounds)
    found = kernel("        if x[i] > K:\n            y[i] = x[i]\n")
    assert {p.verdict for p in found.proofs() if p.obligation == "bounds"} == {"proved"}
    assert len(asked) == 1  # x and y have one size


def test_bounds_that_need_their_guards_are_proved_with_them() -> None:
    found = kernel("        if i + 3 < N - K:\n            y[i] += x[i + 3]\n")
    assert {p.verdict for p in found.proofs() if p.obligation == "bounds"} == {"proved"}


def test_no_guard_hides_an_access_outside() -> None:
    guarded = GRID + "        if i + 3 < N:\n            y[i] = x[i + 3]\n" * 6
    with pytest.raises(lend.CompileError, match="L0301"):
        kernel("        if i > K:\n            y[i] = x[i + 3]\n", guarded)


def test_threads_that_never_meet_are_asked_about_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = counted(monkeypatch, team_races)
    found = kernel("            if t < K:\n                s[2 * t] = s[2 * t + 1]\n            lend.sync()\n", TEAM)
    assert {p.verdict for p in found.proofs() if p.obligation == "race"} == {"proved"}
    assert len(asked) < GUARDS


def test_threads_that_meet_but_for_their_guards_are_proved_with_these() -> None:
    found = kernel("            if t < K:\n                s[t] = s[t + K]\n            lend.sync()\n", TEAM)
    assert {p.verdict for p in found.proofs() if p.obligation == "race"} == {"proved"}


def test_one_visit_whose_guard_lets_threads_meet_is_refused() -> None:
    line = "            if t < K:\n                s[t] = s[t + 4]\n            lend.sync()\n"
    with pytest.raises(lend.CompileError, match="L0312"):
        kernel(line, TEAM)
