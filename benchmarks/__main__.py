"""`python -m benchmarks`: the table of times and ratios as Markdown, with the machine's name."""

from __future__ import annotations

import argparse
import os
import sys
from importlib.util import find_spec


def main() -> int:
    """Measure and print; 1 if a contender's result is wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("cases", nargs="*", help="names of the cases to run (default: all)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="threads for every contender")
    parser.add_argument("--rounds", type=int, default=25)
    options = parser.parse_args()
    for variable in ("LEND_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):  # before the libraries are loaded
        os.environ[variable] = str(options.threads)

    from benchmarks import native
    from benchmarks.cases import CASES
    from benchmarks.measure import interleaved, ratio, seconds
    from lend.cli.machine import machine, software
    from lend.diagnostics.words import counted

    families = native.compilers()
    libraries = {family: built for family, name in families.items() if (built := native.compile_native(name)) is not None}
    numba = find_spec("numba") is not None
    others = ["NumPy", *libraries, *(["Numba"] if numba else []), "unchecked"]

    print(f"| kernel | size | lend | {' | '.join(others)} |")
    print(f"|---|---|---|{'---|' * len(others)}")
    status = 0
    for case in CASES:
        if options.cases and case.name not in options.cases:
            continue
        for label, number in case.sizes:
            arguments = case.arguments(number)
            calls = case.contenders(arguments, libraries, numba=numba)
            wrong = case.disagreeing(calls, arguments)
            if wrong:
                status = 1
                print(f"{case.name} {label}: wrong results from {', '.join(wrong)}", file=sys.stderr)
            times = interleaved(calls, options.rounds, options.threads)
            cells = [f"{ratio(times, name, 'lend'):.2f}" if name in times else "" for name in others]
            print(f"| {case.name} | {label} | {seconds(min(times['lend']))} | {' | '.join(cells)} |", flush=True)
    used = [native.version(families[family]) for family in libraries]
    print(f"\n{machine()}, {counted(options.threads, 'thread')}; {'; '.join([software(), *used])}.")
    return status


if __name__ == "__main__":
    sys.exit(main())
