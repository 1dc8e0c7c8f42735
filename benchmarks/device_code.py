"""Code for devices that need not be here: every kernel of `tests/run`, the examples and `lend.algorithms`, to the last byte
before its launch.

    python -m benchmarks.device_code [--targets cuda:sm_90,hip:gfx90a] [--elements 4] [--jobs 4] [--all] [--known FILE]
                                     [pytest's arguments]

Runs the tests on the processor, keeps their kernels (`--all`: for all types they are called with, else for the first), and
compiles, assembles and links each for each target, with one process for each of `--jobs` (as many as there are processors). Says
every few seconds how far it is; then prints, by target, how many kernels have code and how many registers they take, which are
refused and in which words, and which fail. A part of it is had by pytest's arguments: `-k stencil`, or `--collect-only` for the
kernels that need no calls to have types. `--known` names a file of what is known already, to which each outcome is added as it
comes: a run that was interrupted goes on where it was, and code that has not changed is not made again. The exit status is 1 if a
kernel fails.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from benchmarks.run_kernels import compilations
from lend.diagnostics.errors import InternalError, LendError
from lend.driver.inspected import DeviceLowered, named_target
from lend.driver.pipeline import Compilation, run

TARGETS = ("cuda:sm_75", "cuda:sm_90", "cuda:sm_120", "hip:gfx90a", "hip:gfx942", "hip:gfx1100")
SECONDS_BETWEEN_LINES = 15


@dataclass
class Outcome:
    """What became of one kernel on one target. kind: "linked", "refused" (lend says why) or "failed"."""

    kernel: str
    target: str
    kind: str
    why: str = ""
    registers: list[int] = field(default_factory=list[int])
    spilling: int = 0
    seconds: float = 0.0
    key: str = ""


_found: list[Compilation] = []
"""The kernels; workers are forks and have them."""
_targets: tuple[str, ...] = TARGETS
_elements = 1
"""For each thread."""
_known: dict[str, Outcome] = {}
"""By key: a digest of everything that decides the code."""


def outcomes(number: int) -> list[Outcome]:
    """One kernel on all targets. The steps before the last two are the same for all of them."""
    compilation = _found[number].fresh()
    name = f"{Path(compilation.tree.span.source.filename).stem}.{compilation.signature.kernel}"
    started = time.perf_counter()
    try:
        run(compilation, until="schedule")
    except LendError as error:
        kind = "failed" if isinstance(error, InternalError) else "refused"  # as on the processor
        return [Outcome(name, target, kind, _reason(error)) for target in _targets]
    compilation.elements = _elements
    compilation.times["schedule"] = time.perf_counter() - started
    return [_outcome(compilation, name, target) for target in _targets]


def _outcome(compilation: Compilation, name: str, target: str) -> Outcome:
    found = named_target(target)
    assert found is not None
    started, key = time.perf_counter(), ""
    try:
        lowered = DeviceLowered(compilation, found)
        key = hashlib.sha256(f"{found.key}\n{lowered.ir}".encode()).hexdigest()
        if key in _known:
            return replace(_known[key], kernel=name, target=target, seconds=0.0)
        taken = lowered.resources
    except InternalError as error:
        kind, why, taken = "failed", _reason(error), ()
    except LendError as error:
        kind, why, taken = "refused", _reason(error), ()
    except Exception as error:  # a row of the table that counts as failed, so that the other kernels still get theirs
        kind, why, taken = "failed", f"{type(error).__name__}: {error}", ()
    else:
        kind, why = "linked", ""
    spilling = sum(each.spilled > 0 for each in taken)
    seconds = time.perf_counter() - started
    return Outcome(name, target, kind, why, [each.registers for each in taken], spilling, seconds, key)


def _reason(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def all_outcomes(
    found: list[Compilation], targets: tuple[str, ...], jobs: int, known: Path | None, elements: int = 1
) -> list[Outcome]:
    """What becomes of all kernels; lines on standard error say how far it is."""
    global _found, _targets, _elements
    _found, _targets, _elements = found, targets, elements
    if known is not None and known.is_file():
        lines = [Outcome(**json.loads(line)) for line in known.read_text().splitlines()]
        _known.update({each.key: each for each in lines if each.key})
    started = last = time.monotonic()
    done: list[Outcome] = []
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        for number, some in enumerate(pool.imap_unordered(outcomes, range(len(found))), 1):
            done += some
            if known is not None:
                with known.open("a") as file:
                    file.writelines(f"{json.dumps(asdict(each))}\n" for each in some if each.seconds)
            now = time.monotonic()
            if now - last > SECONDS_BETWEEN_LINES or number == len(found):
                last = now
                bad = sum(each.kind != "linked" for each in done)
                print(f"{number} of {len(found)} kernels, {now - started:.0f} s, {bad} without code", file=sys.stderr, flush=True)
    return done


def table(done: list[Outcome], targets: tuple[str, ...]) -> Iterator[str]:
    """The lines that are printed."""
    yield f"{'target':<12} {'kernels':>8} {'linked':>7} {'refused':>8} {'failed':>7}   registers"
    for target in targets:
        own = [each for each in done if each.target == target]
        counts = [sum(each.kind == kind for each in own) for kind in ("linked", "refused", "failed")]
        registers = [number for each in own for number in each.registers] or [0]
        spilling = sum(each.spilling for each in own)
        most = f"{len(registers)} loops: median {statistics.median(registers):.0f}, most {max(registers)}; {spilling} spill"
        yield f"{target:<12} {len(own):>8} {counts[0]:>7} {counts[1]:>8} {counts[2]:>7}   {most}"
    for kind in ("refused", "failed"):
        reasons: dict[str, dict[str, list[str]]] = {}
        for each in done:
            if each.kind == kind:
                reasons.setdefault(each.why, {}).setdefault(each.kernel, []).append(each.target)
        for why, kernels in reasons.items():
            yield f"\n{kind}: {why}"
            for kernel, where in sorted(kernels.items()):
                yield f"    {kernel} ({'all targets' if len(where) >= len(targets) else ', '.join(where)})"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.device_code")
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--known", type=Path)
    parser.add_argument("--elements", type=int, default=1, choices=(1, 2, 4, 8, 16))
    options, rest = parser.parse_known_args(arguments)
    targets = tuple(options.targets.split(","))
    found, status = compilations(rest, every=options.all, library=True, examples=True)
    print(f"{len(found)} kernels for {len(targets)} targets, {options.jobs} at a time", file=sys.stderr, flush=True)
    done = all_outcomes(found, targets, options.jobs, options.known, options.elements)
    print(*table(done, targets), sep="\n")
    return 1 if status or any(each.kind == "failed" for each in done) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
