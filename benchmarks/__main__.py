"""`python -m benchmarks` (or `lend bench`): lend beside C++ with OpenMP, Numba, Taichi, Warp and NumPy.

Does: read the command line, run the rounds, print the table, write JSON, the plot and the README's part.
Does not: measure (`rounds.py`), or word (`report.py`).
Invariants: the exit status is 1 if a contender's result is wrong or lend has failed, and only then.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import contenders, report
from benchmarks.cases import Case, cases
from benchmarks.rounds import Row, measure
from benchmarks.timing import CLOCK

EVERYONE = ("lend", "C++", "Numba", "Taichi", "Warp", "NumPy")
QUICK_ROUNDS = 7


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suite."""
    parser = command_line()
    options = parser.parse_args(arguments)
    if options.read:
        results = report.Results.from_json(json.loads(options.read.read_text(encoding="utf-8")))
        print(report.page(results))
        return publish(results, options)
    if options.clock == "processor" and options.threads != 1:
        parser.error("processor time says something of one thread only: --threads 1")
    os.environ[CLOCK] = options.clock
    known = cases()
    chosen = [case for case in known if not options.kernels or case.name in options.kernels or case.family in options.kernels]
    unknown = [name for name in options.kernels if name not in {part for case in known for part in (case.name, case.family)}]
    if unknown:
        parser.error(f"no kernel or family {', '.join(unknown)}; there are {', '.join(case.name for case in known)}")
    if options.list:
        for case in chosen:
            print(f"{case.family}: {case.name} at {', '.join(size.label for size in case.sizes)}")
        return 0
    results, wrong = run(chosen, options)
    print("\n" + "\n\n".join([report.summary(results), report.losses(results), report.footer(results)]))
    return publish(results, options) or int(wrong)


def names(text: str) -> list[str]:
    """What stands between commas."""
    return [name for name in text.split(",") if name]


def command_line() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(prog="lend bench", description=__doc__ and __doc__.partition("\n")[0])
    parser.add_argument("--kernels", type=names, default=[], metavar="A,B", help="kernels or families to run (default: all)")
    parser.add_argument("--contenders", type=names, default=list(EVERYONE), metavar="A,B", help=f"of {', '.join(EVERYONE)}")
    available = len(os.sched_getaffinity(0))
    parser.add_argument("--threads", type=int, default=available, metavar="N", help="threads for everyone (default: all cores)")
    parser.add_argument(
        "--clock",
        choices=["wall", "processor"],
        default="wall",
        help="processor: count the processes' processor time, for a busy machine and one thread (default: %(default)s)",
    )
    parser.add_argument("--rounds", type=int, metavar="N", help=f"rounds (default: 25, with --quick {QUICK_ROUNDS})")
    parser.add_argument("--quick", action="store_true", help="the first size of each kernel only, few rounds")
    parser.add_argument("--size", choices=["small", "large"], help="each kernel's first or last size only")
    parser.add_argument("--list", action="store_true", help="list the kernels and their sizes, and run nothing")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every time of every round")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the ratios (.svg, .png, …; needs matplotlib)")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write means, table and machine")
    parser.add_argument("--into", type=Path, metavar="PAGE", help="put them between the marks `table: benchmarks` of a page")
    parser.add_argument("--read", type=Path, metavar="FILE", help="measure nothing, report what --json wrote")
    for library in ("lend", "numba", "taichi", "warp"):
        parser.add_argument(f"--{library}-python", metavar="PATH", help=f"the interpreter that has {library}, if not this one")
    return parser


def run(chosen: Sequence[Case], options: argparse.Namespace) -> tuple[report.Results, bool]:
    """Measure and print row by row. True with it if a result was wrong."""
    pythons = {name: path for name in ("lend", "numba", "taichi", "warp") if (path := getattr(options, f"{name}_python"))}
    wanted = [name for name in EVERYONE if name.lower() in [given.lower() for given in options.contenders]]
    rounds = options.rounds or (QUICK_ROUNDS if options.quick else 25)
    taking_part = contenders.start(wanted, list(dict.fromkeys(case.family for case in chosen)), options.threads, pythons)
    rows: list[Row] = []
    columns = [name for name in EVERYONE[1:] if name in wanted]
    print(f"{report.heading(columns)}\n|---|---|---|---|{'---|' * len(columns)}", flush=True)
    try:
        for case in chosen:
            for size in sizes(case, options):
                rows.append(measure(case, size, [one for one in taking_part if one.process.poll() is None], rounds))
                print(report.line(rows[-1], columns), flush=True)
    finally:
        for contender in taking_part:
            contender.end()
    software = ", ".join(dict.fromkeys(one.label for one in taking_part))
    wrong = any(note.startswith(("wrong", "failed")) for row in rows for note in row.notes.values())
    where = machine() + (", processor time" if options.clock == "processor" else "")
    return report.Results(rows, where, software, options.threads, cache_bytes()), wrong


def sizes(case: Case, options: argparse.Namespace):
    """The sizes of a case that are asked for."""
    if options.quick or options.size == "small":
        return case.sizes[:1]
    return case.sizes[-1:] if options.size == "large" else case.sizes


def publish(results: report.Results, options: argparse.Namespace) -> int:
    """Write what was asked for."""
    if options.json:
        options.json.write_text(json.dumps(results.as_json()) + "\n", encoding="utf-8")
    drawn = bool(options.plot) and report.plot(results, options.plot)

    def seen_from(page: Path) -> str:
        picture = os.path.relpath(options.plot, page.parent) if drawn else None
        return report.page(results, picture)

    if options.markdown:
        options.markdown.write_text(seen_from(options.markdown), encoding="utf-8")
    return _insert(options.into, seen_from(options.into)) if options.into else 0


def _insert(page: Path, text: str) -> int:
    """Replace what stands between the marks."""
    before = page.read_text(encoding="utf-8")
    marks = re.compile(r"(<!-- table: benchmarks -->\n).*?(<!-- end: benchmarks -->)", re.DOTALL)
    if not marks.search(before):
        print(f"{page} has no marks `<!-- table: benchmarks -->` and `<!-- end: benchmarks -->`", file=sys.stderr)
        return 2
    page.write_text(marks.sub(lambda found: f"{found[1]}{text}{found[2]}", before), encoding="utf-8")
    return 0


def machine() -> str:
    """Processor, cores, system."""
    from lend.cli import machine as ours

    return ours.machine()


def cache_bytes() -> int:
    """The size of the last-level cache; 32 MiB where the system does not say."""
    found = 0
    for size in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = size.read_text().strip()
        if text.endswith("K"):
            found = max(found, int(text[:-1]) << 10)
    return found or 32 << 20


if __name__ == "__main__":
    sys.exit(main())
