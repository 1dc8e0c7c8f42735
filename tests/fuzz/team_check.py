"""Runs generated team kernels compiled, on one thread and on two, and as plain Python: all leave the same bits.

Does: define, call, compare, reduce.  Does not: generate.
Invariants: a refused kernel is counted, never an error: what proofs accept is not the matter here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from choices import Choices, seeded
from oracle import Finding, Refused, call, compare, define, judged, reduced
from team_source import TeamSource

import lend


def generated(decisions: Choices) -> tuple[str, int]:
    """A program, and the size of its blocks."""
    source = TeamSource(decisions)
    return source.program(), source.threads


def of_seed(seed: int) -> tuple[str, int]:
    """The program of a seed, and the size of its blocks."""
    return generated(seeded(f"team values {seed}"))


def check(source: str, threads: int, seed: int) -> str:
    """ "accepted" or "refused". Raises Finding where compiled code and plain Python differ."""
    try:
        kernel = judged(lambda: define(source)["kernel"], "at definition")
    except Refused:
        return "refused"
    rng = np.random.default_rng(seed)
    for blocks, n in ((3, 2), (1, 0), (4, 3)):
        arguments: list[Any] = [
            rng.integers(-2, 4, (blocks, threads)).astype(np.float32),
            rng.integers(-5, 9, (blocks, threads)),
            rng.integers(-2, 3, (blocks, threads)).astype(np.float64),
            rng.integers(0, 9, 4),
            n,
            float(rng.integers(0, 3)),
        ]
        want = call(kernel.py, arguments, "in plain Python")
        before = lend.config.threads
        for number in (1, 2):
            lend.config.threads = number
            try:
                compare(call(kernel, arguments, "compiled"), want, f"{number} threads, {blocks} blocks, n={n}")
            finally:
                lend.config.threads = before
    return "accepted"


def reduced_program(source: str, threads: int, seed: int, finding: Finding) -> str:
    """The program with what does not matter taken away, and what is then wrong."""
    last = [str(finding)]

    def fails(text: str) -> bool:
        try:
            check(text, threads, seed)
        except Finding as found:
            if found.kind.split(",")[0] == finding.kind.split(",")[0]:
                last[0] = str(found)
                return True
        except Exception:
            return False
        return False

    return f"{reduced(source, fails)}\n{last[0]}"
