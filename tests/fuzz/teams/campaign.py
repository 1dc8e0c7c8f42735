"""Long runs: `python -m tests.fuzz.teams.campaign N [--seed S] [--seconds T]` judges N team kernels in both ways.

Does: what `tests.fuzz.proofs.campaign` does, for team kernels.  Does not: compile.
Invariants: every seed of the run is judged, or named as one that could not be.
"""

from __future__ import annotations

import argparse
import faulthandler
import sys
import time
import traceback
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from oracle import Finding, reduced
from tests.fuzz.proofs.campaign import EACH, Tally, outcomes
from tests.fuzz.teams.check import check, generated


def reduced_finding(source: str, seed: int, finding: Finding) -> str:
    """The program with what does not matter taken away."""
    last = [str(finding)]

    def fails(text: str) -> bool:
        try:
            check(text, seed)
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
        source = generated(seed)
        try:
            connection.send((seed, check(source, seed)))
        except Finding as finding:
            connection.send((seed, f"{finding.kind}\n{reduced_finding(source, seed, finding)}"))
        except Exception:  # a defect of lend, or of the judge: a finding like any other
            connection.send((seed, f"exception\n{source}{traceback.format_exc()}"))
    connection.close()


def main() -> int:
    """Run, and say how many findings there were."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=500.0)
    parser.add_argument("--show", type=int, default=0, help="print so many false alarms")
    options = parser.parse_args()
    tally = Tally(0)
    shown = 0
    seeds = range(options.seed, options.seed + options.count)
    for seed, outcome in outcomes(seeds, time.monotonic() + options.seconds, judged, generated):
        tally.add(seed, outcome)
        if not isinstance(outcome, str) and outcome.kind == "false alarm" and shown < options.show:
            shown += 1
            print(f"--- seed {seed}: false alarm {outcome.reason}\n{generated(seed).split('@lend.kernel')[1]}", flush=True)
        if tally.done % EACH == 0:
            print(f"at seed {seed}: {tally.line()}", flush=True)
    print(tally.line())
    for reason, count in tally.reasons.most_common(25):
        print(f"{count:6} {reason}")
    print("slowest:", ", ".join(f"{s:.2f} s (seed {n})" for s, n in tally.slowest), flush=True)
    return 1 if tally.findings else 0


if __name__ == "__main__":
    sys.exit(main())
