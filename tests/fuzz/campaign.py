"""Long runs: `python -m tests.fuzz.campaign N [--seed S] [--only expressions|kernels]` checks N programs of each kind.

Does: go on after a finding; print each one reduced, with its seed.  Does not: use Hypothesis, so that a run is fast and repeats.
"""

from __future__ import annotations

import argparse
import collections
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from choices import seeded
from expression_check import Tally, check, expressions, smallest
from oracle import Finding


def expression_campaign(first: int, count: int, until: float) -> list[str]:
    """Check kernels of eight expressions."""
    found: list[str] = []
    tally = Tally()
    done = 0
    for seed in range(first, first + count):
        if time.monotonic() > until:
            break
        done += 1
        nodes = expressions(seeded(f"expressions {seed}"), 8, 4)
        try:
            check(list(nodes), seed, tally)
        except Finding as finding:
            least = smallest(nodes, seed)
            text = (
                f"seed {seed}: {least[0].text} ({least[0].type})\n  {least[1]}" if least else f"seed {seed}, not alone: {finding}"
            )
            found.append(text)
            print(text, flush=True)
    print(
        f"{done} kernels, {tally.accepted} expressions accepted, {tally.refused} refused, {tally.numpy} compared with NumPy too"
    )
    return found


def kernel_campaign(first: int, count: int, until: float) -> list[str]:
    """Check whole kernels."""
    from kernel_check import check_seed, reduced_finding

    found: list[str] = []
    outcomes: collections.Counter[str] = collections.Counter()
    for seed in range(first, first + count):
        if time.monotonic() > until:
            break
        try:
            outcomes[check_seed(seed)] += 1
        except Finding as finding:
            outcomes["failed"] += 1
            text = f"seed {seed}: {finding.kind}\n{reduced_finding(seed, finding)}"
            found.append(text)
            print(text, flush=True)
    print(dict(outcomes))
    return found


def main() -> int:
    """Run, and say how many findings there were."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=500.0)
    parser.add_argument("--only", choices=("expressions", "kernels"))
    options = parser.parse_args()
    until = time.monotonic() + options.seconds
    found: list[str] = []
    if options.only != "kernels":
        found += expression_campaign(options.seed, options.count, until)
    if options.only != "expressions":
        found += kernel_campaign(options.seed, options.count, until)
    print(f"{len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
