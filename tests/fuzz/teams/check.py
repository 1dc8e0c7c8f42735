"""Judges generated team kernels by the proofs and by the dynamic judge, and compares.

Does: run each kernel under the judge for all small sizes and several orders; say what the proofs accept and the judge finds.
Does not: generate.
Invariants: whatever is unsound is a `Finding`; false alarms (refused, and the judge finds nothing at any size) are counted.
"""

from __future__ import annotations

import random
import re
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
from lend.ir import typed
from lend.language.types import ArrayType, Borrow
from lend.sanitizer.findings import finding, unwritten
from lend.sanitizer.judge import Ended, Judge
from lend.sanitizer.memory import Array, lent
from lend.sanitizer.program import Program, program
from lend.sanitizer.report import Finding as Found

from .conditions import ConditionKernels
from .exchanges import ExchangeKernels
from .kernels import TeamKernels
from .tiles import TileKernels

STEPS = 20_000
"""Accesses of one run; what takes more is not looked at further."""


@dataclass
class Outcome:
    """What became of a kernel: "accepted", "refused", "false alarm", "invalid"; why; seconds of judging; runs of the judge."""

    kind: str
    reason: str = ""
    seconds: float = 0.0
    runs: int = 0
    affine: bool = False  # for the tally: none is known to be
    checked: int = 0


@contextmanager
def unjudged() -> Iterator[None]:
    """Kernels are not judged when they are defined: they are soon after."""
    original = definitions._judge
    definitions._judge = lambda *_: definitions._Judged([], Proofs(), None)
    try:
        yield
    finally:
        definitions._judge = original


class Judged:
    """A kernel's typed tree and its scheduled tree, each as a program of the judge."""

    def __init__(self, source: str) -> None:
        with unjudged():
            kernel = judged(lambda: define(source)["kernel"], "at definition")
        self.compilation: Compilation = kernel._definition.compilation(*kernel._definition.known_types())
        judged(lambda: run_pipeline(self.compilation, until="typecheck"), "in typecheck")
        self.kernel = self.compilation.kernel
        self.refusals: list[Any] = []
        started = time.process_time()
        try:
            judged(lambda: run_pipeline(self.compilation, until="schedule"), "in the proofs")
        except Refused as refused:
            self.refusals = list(refused.diagnostics)
        self.seconds = time.process_time() - started
        self.typed = program(self.kernel)
        self.scheduled = program(self.compilation.scheduled) if self.compilation.scheduled is not None else None

    def findings(self, made: Program, kernel: typed.Kernel, values: dict[str, Any], seed: int) -> list[Found]:
        """What one run finds. Raises ContractError where the kernel refuses the values."""
        leaves = [leaf(parameter, values[parameter.name]) for parameter in kernel.parameters]
        judge = Judge(made, kernel, random.Random(seed), STEPS)
        ended = False
        try:
            judge.run([values[dim.name] for dim in kernel.dims], leaves)
        except Ended:
            ended = True
        found = [finding(seen, made.places, 0) for seen in judge.seen.values()]
        if not ended:
            for parameter, made_leaf in zip(kernel.parameters, leaves, strict=True):
                if isinstance(made_leaf, Array) and parameter.value.array.borrow is Borrow.OUT:
                    if not all(made_leaf.memory.written):
                        found.append(unwritten(parameter, (made_leaf.memory.written.index(0),), 0))
        return found


def leaf(parameter: typed.Parameter, value: Any) -> Any:
    """An argument of a run."""
    type = parameter.value.type
    if isinstance(type, ArrayType):
        return lent(value, type.element, parameter.name, type.borrow is not Borrow.OUT)
    return value


def values_for(size: int, rng: random.Random) -> dict[str, Any]:
    """The arguments of the generated kernels."""
    return {
        "x": np.array([float(rng.choice((-1, 0, 1, 2))) for _ in range(size)]),
        "q": np.array([rng.choice((0, 1, 2, size - 1)) for _ in range(size)], np.int64),
        "y": np.array([float(rng.choice((-1, 0, 1))) for _ in range(size)]),
        "o": np.zeros(size),
        "h": np.zeros(4, np.int32),
        "z": np.array([[float(rng.choice((-1, 0, 1))) for _ in range(size)] for _ in range(size)]).reshape(size, size),
        "w": np.zeros((size, size)),
        "k": rng.choice((0, 1, 2, 3, -1)),
        "f": rng.random() < 0.5,
        "N": size,
    }


def sizes_of(source: str, largest: int) -> list[int]:
    """All small sizes that the contract allows."""
    if "@lend.kernel\ndef kernel(x: Ref[f64, N], z:" in source:
        return list(range(largest // 2 + 1))
    for line in source.splitlines():
        if line.strip().startswith("assert N % "):
            step = int(line.split("%")[1].split("==")[0])
            return [n * step for n in range(max(2, largest // step) + 1)]
    return list(range(largest + 1))


def check(source: str, seed: Any, largest: int = 13, runs: int = 2) -> Outcome:
    """Judge a kernel in both ways. Raises Finding for an unsound verdict."""
    try:
        both = Judged(source)
    except Refused as refused:
        return Outcome("invalid", refused.message.splitlines()[0])
    rng = random.Random(f"values {seed}")
    done = 0
    defects: list[str] = []
    sizes = sizes_of(source, largest)
    if both.compilation.launch_proofs is not None:  # each is judged anew
        sizes, runs = sizes[1:4], 1
    for size in sizes:
        for run in range(runs):
            values = values_for(size, rng)
            if both.scheduled is not None and not allowed(both, values, run):
                continue
            found = both.findings(both.typed, both.kernel, values, run)
            done += 1
            defects += [f"{f.kind} with N={size} k={values['k']} f={values['f']}: {f}" for f in found]
            if both.scheduled is not None and (wrong := unexcused(found)):
                raise Finding(f"accepted, but {wrong[0].kind}", f"N={size} k={values['k']} f={values['f']}: {wrong[0]}")
        if defects and both.scheduled is None:
            break
    if both.scheduled is None and not defects:  # perhaps of other sizes, or other data
        for size in [*sizes_of(source, 22), *sizes_of(source, 9)] * 2:
            values = values_for(size, rng)
            defects += map(str, both.findings(both.typed, both.kernel, values, size))
    if both.scheduled is not None:
        if deterministic(source) and str(seed)[-1] in "05":
            compiled(source, seed, (0, 1, 2, 5))
        return Outcome("accepted", "", both.seconds, done)
    if defects:
        return Outcome("refused", " ".join(sorted({d.code for d in both.refusals})), both.seconds, done)
    text = "; ".join(f"{d.code} {d.message}: {d.primary.text}" for d in both.refusals[:1])
    return Outcome("false alarm", text, both.seconds, done)


def unexcused(found: list[Found]) -> list[Found]:
    """What an accepted kernel must not do, even if a check has failed: what a check skips was not written, and that is all."""
    failed = any(f.kind in ("bounds", "arith", "stuck") for f in found)
    return [f for f in found if f.kind in ("race", "barrier") or not failed]


def allowed(both: Judged, values: dict[str, Any], run: int) -> bool:
    """Whether an accepted kernel takes these values. Raises Finding if its scheduled tree lacks a check that it needs."""
    kernel = both.compilation.scheduled
    assert kernel is not None and both.scheduled is not None
    proofs = both.compilation.launch_proofs
    if proofs is not None:
        leaves = [values[parameter.name] for parameter in kernel.parameters]
        try:
            proofs.require(SimpleNamespace(dims=[values[dim.name] for dim in kernel.dims], leaves=leaves))
        except lend.ContractError:
            return False
    try:
        found = both.findings(both.scheduled, kernel, values, run)
    except lend.ContractError:
        return False
    for one in found:
        if one.kind in ("bounds", "arith") and unguarded(both, one):
            raise Finding(f"accepted, but {one.kind}, and the check is gone", str(one))
    return True


def deterministic(source: str) -> bool:
    """Whether results do not depend on who comes first at an atomic: nothing that one gives is used, and no array is changed by
    two kinds of operations, which do not commute."""
    used = re.search(r"= i64\(\w+\.\w+\(", source) is not None
    for name in ("a", "h"):
        added = {"add"} if re.search(rf"\b{name}\[.*\] \+= ", source) else set[str]()
        used = used or len(added | set(re.findall(rf"\b{name}\.(\w+)\(", source))) > 1
    return not used and "v += f64(" not in source.replace("v += f64(t)", "") and ".load(" not in source


def compiled(source: str, seed: Any, sizes: tuple[int, ...]) -> None:
    """Run an accepted kernel compiled, in plain Python and under the judge: all leave the same."""
    kernel = define(source)["kernel"]
    rng = random.Random(f"compiled {seed}")
    step = min(n for n in sizes_of(source, 8) if n)
    for size in (step * n if step > 1 else n for n in sizes):
        code = kernel.__wrapped__.__code__
        names = code.co_varnames[: code.co_argcount]
        given = {name: value for name, value in values_for(size, rng).items() if name in names}
        runs: list[dict[str, np.ndarray]] = []
        for run in (kernel, kernel.py, lend.sanitize(kernel, runs=1, steps=100 * STEPS)):
            arrays = {name: np.copy(value) if isinstance(value, np.ndarray) else value for name, value in given.items()}
            try:
                report = run(**arrays)
            except (lend.BoundsError, lend.ArithmeticFault, lend.ContractError):
                break
            if report is not None and not report.ok:
                raise Finding("found in a kernel that runs", f"N={size} {given}\n{report}")
            runs.append({name: value for name, value in arrays.items() if isinstance(value, np.ndarray)})
        else:
            for other, how in ((runs[1], "in plain Python"), (runs[2], "under the judge")):
                for name, value in runs[0].items():
                    if not np.array_equal(value, other[name], equal_nan=value.dtype.kind == "f"):
                        text = f"{name} with N={size} {given}\n{value}\ninstead of\n{other[name]}"
                        raise Finding(f"compiled code computes other values than {how}", text)


def unguarded(both: Judged, found: Found) -> bool:
    """Whether an operation that fails has no check left in the scheduled tree."""
    assert both.compilation.scheduled is not None
    span = found.diagnostic.primary.span
    here = [operation for operation in operations(both.compilation.scheduled.body) if operation.span == span]
    return not any(getattr(operation, "site", None) is not None for operation in here)


def operations(region: typed.Region) -> Iterator[typed.Operation]:
    """All operations, those inside others too."""
    for operation in region.operations:
        yield operation
        for inner in operation.regions:
            yield from operations(inner)


def generated(seed: int) -> str:
    """The program of a seed: every fourth is one of tiles, every eighth one of conditions, and one of exchanges."""
    others = {1: ExchangeKernels, 3: TileKernels, 5: ConditionKernels, 7: TileKernels}
    made = others.get(seed % 8, TeamKernels)
    return made(seeded(f"teams {seed}")).program()
