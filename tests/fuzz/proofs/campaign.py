"""Long runs: `python -m tests.fuzz.proofs.campaign N [--seed S] [--seconds T]` judges and enumerates N kernels.

Does: go on after a finding; print each one reduced, false alarms by reason, and the slowest kernels.
Does not: compile.
"""

from __future__ import annotations

import argparse
import collections
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from oracle import Finding, reduced
from tests.fuzz.proofs.check import CASES, check, generated


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


def main() -> int:
    """Run, and say how many findings there were."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=500.0)
    parser.add_argument("--show", type=int, default=0, help="print so many false alarms of affine kernels")
    options = parser.parse_args()
    until = time.monotonic() + options.seconds
    kinds: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    slowest: list[tuple[float, int]] = []
    found = runs = shown = done = 0
    kept = collections.Counter[str]()
    for seed in range(options.seed, options.seed + options.count):
        if time.monotonic() > until:
            break
        done += 1
        source, affine = generated(seed)
        try:
            outcome = check(source, seed, CASES, affine)
        except Finding as finding:
            found += 1
            print(f"--- seed {seed}: {finding.kind}\n{reduced_finding(source, seed, affine, finding)}", flush=True)
            continue
        kinds[outcome.kind + (" affine" if outcome.affine else "")] += 1
        runs += outcome.runs
        slowest = sorted([*slowest, (outcome.seconds, seed)], reverse=True)[:5]
        if outcome.kind in ("false alarm", "invalid"):
            reasons[f"{outcome.kind}{' affine' if outcome.affine else ''}: {outcome.reason[:150]}"] += 1
        if outcome.checked or (outcome.kind == "accepted" and outcome.reason):
            kept[outcome.reason or "checks kept in a clean affine kernel"] += 1
        if outcome.affine and (outcome.kind == "false alarm" or outcome.checked) and shown < options.show:
            shown += 1
            body = source.split("@lend.kernel")[1]
            print(f"--- seed {seed}: {outcome.kind} {outcome.reason} checked={outcome.checked}\n{body}", flush=True)
    print(f"{done} kernels, {runs} runs, {found} findings: {dict(kinds)} {dict(kept)}")
    for reason, count in reasons.most_common(25):
        print(f"{count:6} {reason}")
    print("slowest:", ", ".join(f"{s:.2f} s (seed {n})" for s, n in slowest))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
