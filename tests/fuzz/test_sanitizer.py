"""The dynamic judge on generated kernels: results as plain Python's to the bit, findings as enumeration's."""

from __future__ import annotations

import collections
import random
from typing import Any

import numpy as np
import pytest
from choices import seeded
from kernel_check import arguments
from kernel_source import Kernels
from oracle import LAYOUTS, Finding, Refused, call, compare, copied, define, judged, reduced, same_result

import lend
from lend.driver.pipeline import run as run_pipeline
from lend.sanitizer.findings import finding
from lend.sanitizer.judge import Ended, Judge
from lend.sanitizer.memory import lent
from lend.sanitizer.program import program

from .proofs import check as proofs

EACH = 25


@pytest.mark.parametrize("part", range(3))
def test_results_are_those_of_plain_python(part: int) -> None:
    counts: collections.Counter[str] = collections.Counter()
    for seed in range(part * EACH, (part + 1) * EACH):
        source = Kernels(seeded(f"judge {seed}")).program()
        try:
            counts[agreement(source, seed)] += 1
        except Refused:
            counts["refused"] += 1
        except Finding as found:
            raise Finding(found.kind, f"seed {seed}\n{reduced(source, lambda text: fails(text, seed))}\n{found}") from found
    assert counts["clean"] > EACH // 3, counts


def fails(source: str, seed: int) -> bool:
    try:
        agreement(source, seed)
    except Finding:
        return True
    except Exception:
        return False
    return False


def agreement(source: str, seed: int) -> str:
    """Run a kernel in plain Python and under the judge."""
    names = judged(lambda: define(source), "at definition")
    kernel, outcome = names["kernel"], "clean"
    layout = LAYOUTS[seed % len(LAYOUTS)]
    for size in (3, 0, 17):
        given = arguments(names, size, seed)
        plain = call(kernel.py, given, "in plain Python", layout)
        copies = [copied(a, layout) if isinstance(a, np.ndarray) else a for a in given]
        report = lend.sanitize(kernel, seed=seed, runs=2)(*copies)
        kinds = {f.kind for f in report.findings}
        if plain.fault is not None:
            if not kinds & {"bounds", "arith"}:
                raise Finding("a fault that the judge misses", f"{plain.fault}\n{report}")
            outcome = "faults"
            continue
        if kinds:
            raise Finding("found in an accepted kernel", str(report))
        got = type(plain)([a for a in copies if isinstance(a, np.ndarray)], report.result, None)
        if not same_result(got.result, plain.result):
            raise Finding("other result", f"{got.result} instead of {plain.result}")
        compare(got, plain, "under the judge and in plain Python")
    return outcome


# ------------------------------------------------------------------------------------------------------- enumeration

KINDS = {"race": "race", "uninitialised": "init", "unwritten": "init"}


@pytest.mark.parametrize("part", range(3))
def test_findings_are_those_of_enumeration(part: int) -> None:
    seen: collections.Counter[str] = collections.Counter()
    for seed in range(5000 + part * EACH, 5000 + (part + 1) * EACH):
        source, _ = proofs.generated(seed)
        with proofs.unjudged():
            try:
                kernel = judged(lambda text=source: define(text)["kernel"], "at definition")
                compilation = kernel._definition.compilation(*kernel._definition.known_types())
                judged(lambda made=compilation: run_pipeline(made, until="typecheck"), "in typecheck")
            except Refused:
                continue
        for n, m in ((0, 1), (1, 2), (3, 2), (4, 5)):
            how, errors, kinds = both(compilation, source, n, m, seed)
            if how == "done":
                assert kinds == {KINDS[e.kind] for e in errors}, f"seed {seed} N={n} M={m}: {errors}\n{source}"
                seen.update(kinds or {"clean"})
            elif how == "faults":
                assert kinds & {"bounds", "arith"}, f"seed {seed} N={n} M={m}\n{source}"
                seen["faults"] += 1
    assert all(seen[kind] for kind in ("race", "init", "clean", "faults")), seen


def both(compilation: Any, source: str, n: int, m: int, seed: int) -> tuple[str, list[Any], set[str]]:
    """How enumeration ended, what it found, and what the judge finds on the same arguments."""
    rng = random.Random(f"judge {seed} {n} {m}")
    k, c = proofs.environment(n, m, rng)
    leaves, outs = proofs.arguments(compilation, n, m, k, c, rng)
    kernel = compilation.kernel
    shadows: list[Any] = []
    for parameter, leaf in zip(kernel.parameters, leaves, strict=True):
        if not hasattr(leaf, "memory"):
            shadows.append(leaf)
            continue
        element = parameter.value.array.element
        values = np.array(leaf.memory.values, np.int64 if element is lend.i64 or element.name == "i64" else np.float64)
        shadows.append(lent(values.reshape(leaf.shape), element, parameter.name, all(leaf.memory.written)))
    dims = [{"N": n, "M": m}[d.name] for d in kernel.dims]
    how, errors = proofs.enumeration.Enumerated(kernel, compilation.captured.source).run(dims, leaves, outs)
    made = program(kernel)
    judge = Judge(made, kernel, random.Random(seed), 20_000)
    ended = False
    try:
        judge.run(dims, shadows)
    except (Ended, lend.LendError):
        ended = True
    kinds = {finding(seen, made.places, 0).kind for seen in judge.seen.values()}
    if not ended:
        for parameter, shadow in zip(kernel.parameters, shadows, strict=True):
            if hasattr(shadow, "memory") and parameter.value.array.borrow.name == "OUT" and not all(shadow.memory.written):
                kinds.add("init")
    if how == "faults" and ended and not kinds:
        kinds.add("bounds")  # a size or a contract: the judge raises what the call raises
    return how, errors, kinds
