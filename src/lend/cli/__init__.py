"""The `lend` command.

Does: read the command line and call the subcommand asked for.  Does not: do the work of any.
Invariants: a subcommand's module is imported only when it is asked for, so that `lend --help` needs no extra.

Example: `lend demo --out pictures`
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from lend import __version__

STOPPED_READING = 141
"""The status that shells give a program whose output nobody reads any more, as in `lend explain | head`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `arguments` (the process's own if None); the result is the exit status."""
    try:
        status = run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more when it ends
        return STOPPED_READING
    return status


def run(arguments: Sequence[str] | None) -> int:
    """Run a command line."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["bench"] and "--compile" not in given:
        from lend.cli import suite

        return suite.main(given[1:])
    parser = command_line()
    options = parser.parse_args(given)
    if options.command is None:
        parser.print_help()
        return 2
    if options.command == "check":
        from lend.cli import check

        return check.main(options.file, as_json=options.json, require=options.require, html=options.html)
    if options.command == "explain":
        from lend.cli import explain

        return explain.main(options.code)
    if options.command == "bench":
        from lend.cli import bench

        return bench.main(options.file, options.repeat)
    if options.command == "inspect":
        from lend.cli import inspect

        return inspect.main(options.place, options.target, options.emit)
    if options.command == "devices":
        from lend.cli import devices

        return devices.main()
    if options.command == "cache":
        from lend.cli import cache

        return cache.main(options.clear)
    from lend.cli import demo  # not for `lend --help`

    return demo.main(options.out, quick=options.quick)


def command_line() -> argparse.ArgumentParser:
    """What `lend` understands."""
    parser = argparse.ArgumentParser(prog="lend", description="Typed Python kernels, compiled, with borrows in their signatures.")
    parser.add_argument("--version", action="version", version=f"lend {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    demo = commands.add_parser(
        "demo",
        help="filter a photograph and heat a plate, compare with NumPy and SciPy, write the pictures",
        description="Filters a photograph and heats a plate with lend's kernels, compares every result and time with NumPy and "
        "SciPy, and writes the pictures. The exit status is 1 if a result differs.",
    )
    demo.add_argument("--out", type=Path, default=Path("lend-demo"), help="folder for the pictures (default: %(default)s)")
    demo.add_argument("--quick", action="store_true", help="time each kernel once, on a small plate")
    _describe_check(
        commands.add_parser(
            "check",
            help="show what is proved of every kernel of a file",
            description="Imports a file in a process of its own and shows what is proved of each kernel and what is not, with "
            "reasons. The exit status is 0 if every kernel is accepted, 1 if one is refused or a requirement is not met, and 2 "
            "if the file cannot be imported.",
        )
    )
    bench = commands.add_parser(
        "bench",
        help="time lend beside C++ with OpenMP, Numba, Taichi, Warp and NumPy; with --compile, time compilation",
        description="Without --compile: runs the benchmark suite (`lend bench --help` has its options). With it: compiles the "
        "kernels of a file several times, or some that come with lend, and prints the processor time of each step. Kernels are "
        "compiled for the types that the file calls them with, else for those of their signatures.",
    )
    bench.add_argument("--compile", action="store_true", required=True, help="measure compilation")
    bench.add_argument("--repeat", type=int, default=5, metavar="N", help="compilations of each kernel (default: %(default)s)")
    bench.add_argument("file", nargs="?", type=Path, metavar="FILE", help="a Python file")
    explain = commands.add_parser(
        "explain",
        help="say what an error code stands for, with an example and the ways out",
        description="Prints the page of an error code; without one, the list of codes.",
    )
    inspect = commands.add_parser(
        "inspect",
        help="show the code of a kernel for a target, whether or not such a device is here",
        description="Imports a file and prints the code of its kernels, for the types that the file calls them with, else for "
        "those of their signatures.",
    )
    inspect.add_argument("place", metavar="FILE[:KERNEL]", help="a Python file, and the name of one of its kernels")
    inspect.add_argument(
        "--target", default="cpu", metavar="TARGET", help="cpu, opencl, cuda:sm_90, hip:gfx942, ... (default: cpu)"
    )
    inspect.add_argument(
        "--emit",
        default="asm",
        choices=["asm", "llvm", "ir", "typed", "plan", "resources"],
        help="the form: machine code, LLVM IR after or before optimisation, lend's own trees, registers and memory "
        "(default: asm)",
    )
    commands.add_parser(
        "devices",
        help="list the devices that kernels can run on, and say of the others why not",
        description="Lists the processor and the devices that kernels can run on, and for each kind that is missing the reason.",
    )
    cache = commands.add_parser(
        "cache",
        help="show where compiled kernels are kept, or remove them",
        description="Shows the folder of compiled kernels and its size. It can be removed at any time: what is missing "
        "is compiled again.",
    )
    cache.add_argument("--clear", action="store_true", help="remove all of them")
    explain.add_argument("code", nargs="?", metavar="CODE", help="such as L0301")
    return parser


def _describe_check(check: argparse.ArgumentParser) -> None:
    check.add_argument("file", type=Path, metavar="FILE", help="a Python file")
    check.add_argument("--json", action="store_true", help="print the report as JSON, for editors (docs/check.md)")
    check.add_argument("--require", choices=["proved"], help="fail if any access or division keeps a test at run time")
    check.add_argument("--html", type=Path, metavar="OUT", help="write a page: the source, each access with its verdict")
