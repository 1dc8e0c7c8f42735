"""The `lend` command.

Does: read the command line and call the subcommand asked for.  Does not: do the work of any.
Invariants: a subcommand's module is imported only when it is asked for, so that `lend --help` needs no extra.

Example: `lend demo --out pictures`
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from lend import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `arguments` (the process's own if None); the result is the exit status."""
    options = command_line().parse_args(arguments)
    from lend.cli import demo  # not for `lend --help`

    return demo.main(options.out, quick=options.quick)


def command_line() -> argparse.ArgumentParser:
    """What `lend` understands."""
    parser = argparse.ArgumentParser(prog="lend", description="Typed Python kernels, compiled, with borrows in their signatures.")
    parser.add_argument("--version", action="version", version=f"lend {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    demo = commands.add_parser(
        "demo",
        help="filter a photograph and heat a plate, compare with NumPy and SciPy, write the pictures",
        description="Filters a photograph and heats a plate with lend's kernels, compares every result and time with NumPy and "
        "SciPy, and writes the pictures. The exit status is 1 if a result differs.",
    )
    demo.add_argument("--out", type=Path, default=Path("lend-demo"), help="folder for the pictures (default: %(default)s)")
    demo.add_argument("--quick", action="store_true", help="time each kernel once, on a small plate")
    return parser
