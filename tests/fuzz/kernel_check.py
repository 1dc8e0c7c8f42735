"""Whole kernels, compiled on one thread and on three, checked against plain Python.

Does: give them arrays of a size, compare arrays, results and faults to the bit.  Does not: generate them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from choices import Choices, seeded
from kernel_source import Kernels
from oracle import LAYOUTS, Finding, Refused, call, compare, define, judged, reduced
from values import array_of

import lend

SMALL = (64, 1, 0, 3, 63, 65)
LARGE = (2048, 2047, 2049, 4097)


def arguments(names: dict[str, Any], size: int, seed: int) -> list[Any]:
    """The arguments of a generated kernel."""
    record = names["P"].dtype
    p = np.zeros(size, record)
    p["x"], p["n"], p["ok"] = (
        array_of("f64", size, seed, tame=True),
        array_of("i32", size, seed, tame=True),
        array_of("bool_", size, seed) != 0,
    )
    rng = np.random.default_rng(seed)
    return [
        array_of("f64", size, seed + 1, tame=True),
        array_of("i64", size, seed + 2, tame=True),
        array_of("f32", size, seed + 3, tame=True),
        array_of("i32", size * 3, seed + 4, tame=True).reshape(size, 3),
        array_of("u8", size, seed + 5, tame=True),
        array_of("f64", size, seed + 6, tame=True),
        array_of("i64", size, seed + 7, tame=True),
        array_of("f32", size * 3, seed + 8, tame=True).reshape(size, 3),
        array_of("bool_", size, seed + 9).view(np.uint8) != 0,
        p,
        int(rng.integers(-3, 12)),
        float(rng.choice([0.0, 1.5, -2.25, np.nan, 1e9])),
        int(rng.integers(-3, 9)),
    ]


def check(source: str, sizes: tuple[int, ...], seed: int) -> str:
    """ "accepted", "faults" or "refused". Raises Finding where compiled code and plain Python disagree."""
    before = lend.config.threads, lend.config.verify
    lend.config.verify = True
    outcome = "accepted"
    try:
        names = judged(lambda: define(source), "at definition")
        kernel = names["kernel"]
        layout = LAYOUTS[seed % 7 % len(LAYOUTS)]
        for size in sizes:
            given = arguments(names, size, seed)
            runs = []
            for threads in (1, 3):
                lend.config.threads = threads
                runs.append(call(kernel, given, f"compiled, {threads} threads", layout))
            plain = call(kernel.py, given, "in plain Python", layout)
            if '@lend.kernel(math="strict")\ndef kernel(' in source:
                compare(runs[0], plain, "compiled and plain Python")
            compare(runs[1], runs[0], "on 3 threads and on 1")
            if plain.fault is not None:
                outcome = "faults"
    except Refused as refusal:
        lines = source.count("\n")
        if any(line > lines for line in refusal.lines):
            raise Finding("a diagnostic at another line", refusal.message) from None
        return "refused"
    finally:
        lend.config.threads, lend.config.verify = before
    return outcome


def sizes_for(choices: Choices) -> tuple[int, ...]:
    """One small size, and now and then a large one."""
    small = (choices.pick(SMALL),)
    return (*small, choices.pick(LARGE)) if choices.chance(30) else small


def generated(choices: Choices) -> tuple[str, tuple[int, ...]]:
    """A program and the sizes to run it with."""
    sizes = sizes_for(choices)
    return Kernels(choices).program(), sizes


def check_seed(seed: int) -> str:
    """Generate the program of a seed and check it."""
    source, sizes = generated(seeded(f"kernels {seed}"))
    return check(source, sizes, seed)


def reduced_finding(seed: int, finding: Finding) -> str:
    """The program of a seed with what does not matter for its finding taken away."""
    return reduced_program(*generated(seeded(f"kernels {seed}")), seed, finding)


def reduced_program(source: str, sizes: tuple[int, ...], seed: int, finding: Finding) -> str:
    """A program with what does not matter for its finding taken away."""
    last = [str(finding)]

    def fails(text: str) -> bool:
        try:
            check(text, sizes, seed)
        except Finding as found:
            if found.kind == finding.kind:
                last.append(str(found))
                return True
        except Exception:
            return False
        return False

    text = reduced(source, fails)
    return f"{text}sizes {sizes}: {last[-1]}"
