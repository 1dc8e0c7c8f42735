"""`lend check FILE`: the verdicts of every kernel of a file.

Does: have the file imported in a process of its own, lay the report out and decide the exit status.  Does not: judge kernels.

Example: `lend check heat.py --require proved --html heat.html`
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from lend.cli.check.report import Report, unmet

ACCEPTED, REFUSED, FAILED = 0, 1, 2


def main(file: Path, *, as_json: bool = False, require: str | None = None, html: Path | None = None) -> int:
    """Check a file. 0: all is accepted; 1: a kernel is refused, or `require` is not met; 2: the file cannot be imported."""
    if not file.is_file():
        print(f"lend check: there is no file {file}", file=sys.stderr)
        return FAILED
    report = collected(file)
    if isinstance(report, str):
        print(f"lend check: {report}", file=sys.stderr)
        return FAILED
    if html is not None:
        from lend.cli.check.page import page

        try:
            html.write_text(page(report, Path(report["file"]).read_text(encoding="utf-8"), str(file)), encoding="utf-8")
        except OSError as error:
            print(f"lend check: {html} cannot be written: {error.strerror}", file=sys.stderr)
            return FAILED
    if as_json:
        print(json.dumps(report, indent=2))
    else:
        from lend.cli.check.text import text

        print(text(report, str(file), require, colour=_wants_colour()))
    ended = report["ended"]
    if ended is not None and ended["traceback"] is not None:
        print(ended["traceback"], end="", file=sys.stderr)
    return _status(report, require)


def collected(file: Path) -> Report | str:
    """The report on a file; a sentence where the process that imports it dies."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "report.json"
        command = [sys.executable, "-P", "-m", "lend.cli.check.collect", str(file.resolve()), str(target)]
        sys.stdout.flush()
        done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL)
        if target.exists():
            report: Report = json.loads(target.read_text(encoding="utf-8"))
            return report
    if done.returncode < 0:
        return f"the process that imported {file} was ended by {signal.Signals(-done.returncode).name}"
    return f"the process that imported {file} ended with status {done.returncode}"


def _status(report: Report, require: str | None) -> int:
    ended = report["ended"]
    if ended is not None and ended["kind"] != "refused":
        return FAILED
    if ended is not None or report["diagnostics"] or any(entry["status"] == "refused" for entry in report["kernels"]):
        return REFUSED
    return REFUSED if require is not None and any(map(unmet, report["kernels"])) else ACCEPTED


def _wants_colour() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
