"""`lend demo`: a photograph through three kernels, and heat through a plate, checked and timed against NumPy and SciPy.

Does: run the cases, show progress, print the table, write the pictures.  Does not: compute (`kernels.py`, `reference.py`).
Invariants: importing this module needs no extra; `main` says in one sentence how to install what is missing.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

EXTRA = ("matplotlib", "rich", "scipy")


def main(out: Path, *, quick: bool) -> int:
    """Run the demo and write its pictures into `out`; 0 if every result agrees, 1 if not, 2 if the extra is missing."""
    missing = [name for name in EXTRA if find_spec(name) is None]
    if missing:
        print(f"lend demo needs {' and '.join(missing)}: pip install 'lend[demo]'", file=sys.stderr)
        return 2

    from lend.cli.demo.cases import Outcome, cases, photograph
    from lend.cli.demo.report import progress_bar, show_table, write_pictures

    picture = photograph()
    rounds = 1 if quick else 5
    outcomes: list[Outcome] = []
    with progress_bar() as step:
        for case in cases(picture, plate_size=66 if quick else 130):
            outcomes.append(case.run(rounds, lambda text, done, title=case.title: step(f"{title}: {text}", done)))
    show_table(outcomes, rounds)
    paths = write_pictures(out, picture, outcomes)
    print(f"Pictures: {', '.join(str(path) for path in paths)}")
    return 0 if all(outcome.agrees for outcome in outcomes) else 1
