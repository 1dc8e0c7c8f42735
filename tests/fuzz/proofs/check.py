"""Judges generated kernels and enumerates what they do.

Does: run a kernel's scheduled tree for small sizes and compare what happens with what was proved.  Does not: generate.
Invariants: whatever is unsound is a `Finding`; false alarms are counted with their reasons.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from choices import seeded
from oracle import Finding, Refused, define, judged

import lend
from lend.diagnostics.proofs import Proofs
from lend.driver import definition as definitions
from lend.driver.pipeline import Compilation
from lend.driver.pipeline import run as run_pipeline

from . import enumeration, kernels
from .renamings import Renamings


@dataclass
class Outcome:
    """What became of a kernel."""

    kind: str  # "accepted", "refused" (with reason to), "false alarm", "invalid"
    reason: str = ""
    seconds: float = 0.0  # of judging
    runs: int = 0
    checked: int = 0  # affine accesses that keep a check, in an affine kernel that never leaves its arrays
    affine: bool = False


def judge(source: str) -> tuple[Compilation, list[Any], float]:
    """A kernel's compilation up to its schedule, the proofs' refusals, and the seconds of judging."""
    with unjudged():
        kernel = judged(lambda: define(source)["kernel"], "at definition")
    compilation = kernel._definition.compilation(*kernel._definition.known_types())
    judged(lambda: run_pipeline(compilation, until="typecheck"), "in typecheck")
    started = time.process_time()
    try:
        judged(lambda: run_pipeline(compilation, until="schedule"), "in the proofs")
        return compilation, [], time.process_time() - started
    except Refused as refused:
        return compilation, list(refused.diagnostics), time.process_time() - started


@contextmanager
def unjudged() -> Iterator[None]:
    """Kernels are not judged when they are defined: they are soon after."""
    original = definitions._judge
    definitions._judge = lambda *_: definitions._Judged([], Proofs(), None)
    try:
        yield
    finally:
        definitions._judge = original


CASES = [(n, m) for n in range(7) for m in range(7)]


def environment(n: int, m: int, rng: random.Random) -> tuple[int, int]:
    """Values for k and c."""
    return rng.choice((0, 1, 2, 3, -1, n, n - 1, m, 5)), rng.choice((0, 1, 2, 3, -1))


def arguments(compilation: Compilation, n: int, m: int, k: int, c: int, rng: random.Random) -> tuple[list[Any], list[Any]]:
    """Leaves, and those that have to be written whole."""
    leaves: list[Any] = []
    outs: list[Any] = []
    for parameter in compilation.kernel.parameters:
        if parameter.name in ("k", "c"):
            leaves.append(k if parameter.name == "k" else c)
            continue
        if parameter.name == "b":
            leaves.append(rng.random() < 0.5)
            continue
        sizes = {"N": n, "M": m}
        shape = tuple(eval(s, sizes) for s in kernels.ARRAYS[parameter.name])
        count = int(np.prod(shape))
        out = parameter.value.array.borrow.name == "OUT"
        if parameter.name == "q":
            values: Any = [rng.randrange(-1, n + 1) if rng.random() < 0.2 else rng.randrange(max(n, 1)) for _ in range(count)]
        else:
            values = None if out else [float(rng.choice((-1, 0, 1))) for _ in range(count)]
        made = enumeration.array(parameter.name, shape, values)
        leaves.append(made)
        if out:
            outs.append(made)
    return leaves, outs


def enumerated(
    compilation: Compilation, kernel: Any, source: str, cases: list[tuple[int, int]], seed: Any
) -> tuple[dict[str, int], list[tuple[Any, Any]]]:
    """How runs ended, and what was wrong in them."""
    rng = random.Random(f"values {seed}")
    runner = enumeration.Enumerated(kernel, compilation.captured.source)
    ends: dict[str, int] = {}
    wrong: list[tuple[Any, Any]] = []
    contracts = [line.strip()[7:] for line in source.splitlines() if line.startswith("    assert ")]
    names = [d.name for d in kernel.dims]
    for n, m in cases:
        for _ in range(2):
            k, c = environment(n, m, rng)
            if not all(eval(contract, {"N": n, "M": m, "k": k, "c": c}) for contract in contracts):
                continue
            leaves, outs = arguments(compilation, n, m, k, c, rng)
            dims = [{"N": n, "M": m}[name] for name in names]
            proofs = getattr(compilation, "launch_proofs", None)
            if proofs is not None and kernel is compilation.scheduled:
                try:
                    proofs.require(SimpleNamespace(dims=dims, leaves=leaves))
                except lend.ContractError:
                    ends["refused"] = ends.get("refused", 0) + 1
                    continue
            how, errors = runner.run(dims, leaves, outs)
            ends[how] = ends.get(how, 0) + 1
            if errors:
                wrong.append((f"N={n} M={m} k={k} c={c}", errors))
    return ends, wrong


def check(source: str, seed: Any, cases: list[tuple[int, int]], affine: bool) -> Outcome:
    """Judge and enumerate. Raises Finding for an unsound verdict."""
    try:
        compilation, diagnostics, seconds = judge(source)
    except Refused as refused:
        return Outcome("invalid", refused.message.splitlines()[0])
    if not diagnostics:
        ends, wrong = enumerated(compilation, compilation.scheduled, source, cases, seed)
        if wrong:
            case, errors = wrong[0]
            raise Finding(f"accepted, but {errors[0].kind}", f"{case}: {errors[0].text}")
        outcome = Outcome("accepted", "", seconds, sum(ends.values()), affine=affine)
        if affine and not ends.get("faults"):
            outcome.checked = sum(p.verdict == "checked" for p in compilation.judgement.proofs if p.obligation == "bounds")
        if affine and ends.get("refused") and not ends.get("done"):
            outcome.reason = "always refused at launch"
        return outcome
    codes = sorted({d.code for d in diagnostics})
    larger = [*cases, *((n, m) for n in (8, 12) for m in (3, 8, 12))]
    ends, wrong = enumerated(compilation, compilation.kernel, source, larger, seed)
    if not wrong and not ends.get("faults") and ends.get("done"):
        text = "; ".join(f"{d.code} {d.primary.text}" for d in diagnostics[:1])
        return Outcome("false alarm", text, seconds, sum(ends.values()), affine=affine)
    return Outcome("refused", " ".join(codes), seconds, sum(ends.values()), affine=affine)


def generated(seed: int) -> tuple[str, bool]:
    """The program of a seed, and whether it is affine. Every eighth exchanges names of arrays."""
    made = (Renamings if seed % 8 == 7 else kernels.Kernels)(seeded(f"proofs {seed}"))
    return made.program(), made.affine


CANARY = -7.25
MARGIN = 64


def compiled(source: str, seed: Any, sizes: list[tuple[int, int]]) -> str:
    """Run an accepted kernel compiled and in plain Python, between canaries: both leave the same, and only there."""
    kernel = define(source)["kernel"]
    rng = random.Random(f"compiled {seed}")
    ends: set[str] = set()
    for n, m in sizes:
        k, c = environment(n, m, rng)
        flag = rng.random() < 0.5
        data = np.random.default_rng(rng.randrange(2**31))
        before = {name: values_of(name, n, m, data) for name in kernel.__wrapped__.__code__.co_varnames if name in kernels.ARRAYS}
        results: list[tuple[str, dict[str, np.ndarray]]] = []
        for run in (kernel, kernel.py):
            buffers = {name: fenced(values) for name, values in before.items()}
            inner = {name: b[MARGIN : b.size - MARGIN].reshape(before[name].shape) for name, b in buffers.items()}
            try:
                run(**inner, k=k, c=c, b=flag)
                end = "done"
            except (lend.BoundsError, lend.ArithmeticFault, lend.ContractError, lend.ShapeError) as error:
                end = "fault" if not isinstance(error, lend.ContractError) else "refused"
            for name, buffer in buffers.items():
                fence = CANARY if buffer.dtype == np.float64 else -7
                if not ((buffer[:MARGIN] == fence).all() and (buffer[buffer.size - MARGIN :] == fence).all()):
                    raise Finding("written outside", f"{name} with N={n} M={m} k={k} c={c} b={flag}")
            results.append((end, inner))
        (end, machine), (plain, python) = results
        ends.add(end)
        if end == "refused":
            continue  # by the condition of a launch, which plain Python does not have
        if end != plain:
            raise Finding(f"{end} instead of {plain}", f"with N={n} M={m} k={k} c={c} b={flag}")
        for name in machine:
            if end == "done" and not np.array_equal(machine[name], python[name]):
                raise Finding(
                    "other values", f"{name} with N={n} M={m} k={k} c={c} b={flag}: {machine[name]} instead of {python[name]}"
                )
    return " ".join(sorted(ends))


def values_of(name: str, n: int, m: int, data: np.random.Generator) -> np.ndarray:
    """An argument's values."""
    shape = tuple(eval(s, {"N": n, "M": m}) for s in kernels.ARRAYS[name])
    if name == "q":
        return data.integers(0, max(n, 1), shape)
    return data.integers(-1, 2, shape).astype(np.float64)


def fenced(values: np.ndarray) -> np.ndarray:
    """The values between canaries, flat."""
    fence = np.full(MARGIN, CANARY if values.dtype == np.float64 else -7, values.dtype)
    return np.concatenate([fence, values.ravel(), fence])
