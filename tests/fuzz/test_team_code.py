"""Generated team kernels that the proofs accept: compiled code does what plain Python does, to the bit, faults included."""

from __future__ import annotations

import collections
import itertools
import linecache
import random
from typing import Any

import numpy as np
import pytest
from choices import seeded
from oracle import Finding
from team_code_source import TeamCode
from team_exchange_source import TeamExchanges

import lend
from lend.schedule import lockstep

from .teams.check import generated, sizes_of, values_for

EACH = 12
LARGEST = 13
_numbers = itertools.count()


def defined(source: str) -> Any:
    """The kernel of a source text, under the mode whose bits plain Python has."""
    file = f"<team {next(_numbers)}>"
    source = source.replace("@lend.kernel\n", '@lend.kernel(math="strict")\n')
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    names: dict[str, Any] = {"__name__": "teams"}
    exec(compile(source, file, "exec"), names)
    return names["kernel"]


def outcome(run: Any, values: dict[str, Any]) -> tuple[str, dict[str, bytes]]:
    """What a run raises, and the arrays after one that raises nothing."""
    given = {name: v.copy() if isinstance(v, np.ndarray) else v for name, v in values.items() if name != "N"}
    try:
        run(**given)
    except lend.LendError as error:
        return f"{type(error).__name__} {str(error).splitlines()[0]}", {}
    return "", {name: v.tobytes() for name, v in given.items() if isinstance(v, np.ndarray)}


def compared(source: str, seed: int) -> str:
    """Run a kernel in both ways. Raises Finding where they differ."""
    try:
        kernel = defined(source)
    except lend.CompileError:
        return "refused"
    rng = random.Random(seed)
    for size in sizes_of(source, LARGEST)[:6]:
        values = values_for(size, rng)
        lend.config.threads = 1 + size % 3
        compiled = outcome(kernel, values)
        if compiled[0].startswith("ContractError"):  # plain Python knows no conditions of a launch
            continue
        plain = outcome(kernel.py, values)
        if compiled != plain:
            arrays = [name for name in plain[1] if compiled[1].get(name) != plain[1][name]]
            raise Finding("differs", f"seed {seed}, N={size}: {compiled[0]!r} and {plain[0]!r}, {arrays}\n{source}")
    return "accepted"


@pytest.mark.parametrize("part", range(3))
def test_compiled_teams_do_what_plain_python_does(part: int) -> None:
    counts = collections.Counter(compared(generated(seed), seed) for seed in range(part * EACH, (part + 1) * EACH))
    assert counts["accepted"] > EACH // 8, counts


CASES = ((1, 2, 0), (3, 40, 5), (2, 131, -1))
"""N, M and h."""


def run_of(run: Any, x: np.ndarray, o: np.ndarray, h: int) -> tuple[str, Any, np.ndarray]:
    """What a run raises, gives and leaves."""
    o = o.copy()
    try:
        return "", run(x, o, h), o
    except lend.LendError as error:
        return f"{type(error).__name__} {str(error).splitlines()[0]}", None, np.zeros(0)


def compared_code(seed: int, made: TeamCode | None = None) -> str:
    """Run a kernel in both ways. Raises Finding where they differ; of NaN the bits do not count."""
    made = made or TeamCode(seeded(f"team code {seed}"))
    source = made.program()
    try:
        kernel = defined(source)
    except lend.CompileError:
        return "refused"
    rng = np.random.default_rng(seed)
    for rows, columns, h in CASES:
        x, o = rng.standard_normal((rows, columns)), rng.standard_normal(rows * made.threads)
        lend.config.threads = 1 + seed % 3
        compiled = run_of(kernel, x, o, h)
        if compiled[0].startswith("ContractError"):
            continue
        plain = run_of(kernel.py, x, o, h)
        same = compiled[0] == plain[0] and np.array_equal(compiled[2], plain[2], equal_nan=True)
        if not same or not (compiled[1] == plain[1] or compiled[1] != compiled[1]):
            raise Finding("differs", f"seed {seed}, {rows, columns, h}: {compiled[:2]} and {plain[:2]}\n{source}")
    return "accepted"


@pytest.mark.parametrize("part", range(3))
def test_guards_loops_and_kept_values(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lockstep, "LEAST_THREADS", 2 if part else 32)
    counts = collections.Counter(map(compared_code, range(part * 5, (part + 1) * 5)))
    assert counts["accepted"] >= 4, counts


@pytest.mark.parametrize("part", range(3))
def test_names_that_change_places_and_threads_that_go_apart(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lockstep, "LEAST_THREADS", 2 if part else 32)
    seeds = range(part * 4, (part + 1) * 4)
    counts = collections.Counter(compared_code(seed, TeamExchanges(seeded(f"team exchanges {seed}"))) for seed in seeds)
    assert counts["accepted"] >= 2, counts
