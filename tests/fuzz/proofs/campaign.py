"""Long runs: `python -m tests.fuzz.proofs.campaign N [--seed S] [--seconds T]` judges and enumerates N kernels.

Does: go on after a finding, an exception, a crash or a hang of the process that judges, and say how far it is; print each finding
reduced, false alarms by reason, and the slowest kernels.
Does not: compile.
Invariants: every seed of the run is judged, or named as one that could not be.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import multiprocessing
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from oracle import Finding, reduced
from tests.fuzz.proofs.check import CASES, Outcome, check, generated

EACH = 100
"""Kernels that one process judges before the next takes over."""

PATIENCE = 600.0
"""Seconds without a word from a process after which it is given up."""


def reduced_finding(source: str, seed: int, affine: bool, finding: Finding) -> str:
    """The program with what does not matter taken away."""
    last = [str(finding)]

    def fails(text: str) -> bool:
        try:
            check(text, seed, CASES, affine)
        except Finding as found:
            if found.kind == finding.kind:
                last.append(str(found))
                return True
        except Exception:
            return False
        return False

    return f"{reduced(source, fails)}{last[-1]}"


def judged(seeds: range, connection: Connection) -> None:
    """Judge kernels, and tell of each."""
    faulthandler.enable()
    for seed in seeds:
        source, affine = generated(seed)
        try:
            connection.send((seed, check(source, seed, CASES, affine)))
        except Finding as finding:
            connection.send((seed, f"{finding.kind}\n{reduced_finding(source, seed, affine, finding)}"))
        except Exception:  # a defect of lend, or of the enumeration: a finding like any other
            connection.send((seed, f"exception\n{source}{traceback.format_exc()}"))
    connection.close()


def outcomes(
    seeds: range,
    until: float,
    judge: Callable[[range, Connection], None] = judged,
    source: Callable[[int], str] = lambda seed: generated(seed)[0],
) -> Iterator[tuple[int, Outcome | str]]:
    """What became of each kernel, in processes of their own; text is a finding."""
    context = multiprocessing.get_context("spawn")
    at = seeds.start
    while at < seeds.stop and time.monotonic() < until:
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=judge, args=(range(at, min(at + EACH, seeds.stop)), there))
        process.start()
        there.close()
        last = min(at + EACH, seeds.stop)
        while at < last and time.monotonic() < until:
            try:
                if not here.poll(PATIENCE):
                    yield at, f"hang\n{source(at)}no answer in {PATIENCE:.0f} s"
                    at += 1
                    break
                yield here.recv()
                at += 1
            except EOFError:
                process.join()
                yield at, f"crash\n{source(at)}{death(process.exitcode)}"
                at += 1
                break
        process.kill()
        process.join()


def death(code: int | None) -> str:
    """How a process ended, in words."""
    return f"died of {signal.Signals(-code).name}" if code is not None and code < 0 else f"ended with {code}"


class Tally:
    """The figures of a run."""

    def __init__(self, show: int) -> None:
        self.show = show
        self.kinds: collections.Counter[str] = collections.Counter()
        self.reasons: collections.Counter[str] = collections.Counter()
        self.kept: collections.Counter[str] = collections.Counter()
        self.findings: collections.Counter[str] = collections.Counter()
        self.slowest: list[tuple[float, int]] = []
        self.runs = self.done = self.shown = 0

    def add(self, seed: int, outcome: Outcome | str) -> None:
        """One more kernel."""
        self.done += 1
        if isinstance(outcome, str):
            self.findings[outcome.split("\n", 1)[0]] += 1
            print(f"--- seed {seed}: {outcome}", flush=True)
            return
        self.kinds[outcome.kind + (" affine" if outcome.affine else "")] += 1
        self.runs += outcome.runs
        self.slowest = sorted([*self.slowest, (outcome.seconds, seed)], reverse=True)[:5]
        if outcome.kind in ("false alarm", "invalid"):
            self.reasons[f"{outcome.kind}{' affine' if outcome.affine else ''}: {outcome.reason[:150]}"] += 1
        if outcome.checked or (outcome.kind == "accepted" and outcome.reason):
            self.kept[outcome.reason or "checks kept in a clean affine kernel"] += 1
        if outcome.affine and (outcome.kind == "false alarm" or outcome.checked) and self.shown < self.show:
            self.shown += 1
            body = generated(seed)[0].split("@lend.kernel")[1]
            print(f"--- seed {seed}: {outcome.kind} {outcome.reason} checked={outcome.checked}\n{body}", flush=True)

    def line(self) -> str:
        """The figures in one line."""
        alarms = sum(count for kind, count in self.kinds.items() if kind.startswith("false alarm"))
        findings = f"{sum(self.findings.values())} findings {dict(self.findings) or ''}".strip()
        rate = f"{alarms / max(self.done, 1):.2%} false alarms"
        return f"{self.done} kernels, {self.runs} runs, {findings}, {rate}: {dict(self.kinds)} {dict(self.kept)}"


def main() -> int:
    """Run, and say how many findings there were."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=500.0)
    parser.add_argument("--show", type=int, default=0, help="print so many false alarms of affine kernels")
    options = parser.parse_args()
    tally = Tally(options.show)
    for seed, outcome in outcomes(range(options.seed, options.seed + options.count), time.monotonic() + options.seconds):
        tally.add(seed, outcome)
        if tally.done % EACH == 0:
            print(f"at seed {seed}: {tally.line()}", flush=True)
    print(tally.line())
    for reason, count in tally.reasons.most_common(25):
        print(f"{count:6} {reason}")
    print("slowest:", ", ".join(f"{s:.2f} s (seed {n})" for s, n in tally.slowest), flush=True)
    return 1 if tally.findings else 0


if __name__ == "__main__":
    sys.exit(main())
