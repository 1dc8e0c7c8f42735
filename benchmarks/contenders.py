"""Who takes part: one process for each contender, with threads and libraries of its own.

Does: find contenders, start their processes, stop and continue them so that only the one being timed runs.
Does not: decide what is timed (`rounds.py`).
Invariants: a contender that is not there is left out with a line that says why; nothing here raises for it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import compiling

ROOT = Path(__file__).resolve().parents[1]
LIBRARIES = ("lend", "NumPy", "Numba", "Taichi", "Warp")
THREAD_VARIABLES = ("LEND_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
START_SECONDS = 120.0
ALONE = "lend, one thread"
"""The name of lend's second process, which Warp is compared with: on CPUs Warp has one thread."""


class Lost(Exception):
    """A contender's process has died."""


@dataclass
class Contender:
    """A process and the name under which its times stand."""

    name: str
    process: subprocess.Popen[str]
    label: str = ""
    timed: bool = True  # else it only gives the reference
    folder: tempfile.TemporaryDirectory[str] | None = None  # of its libraries
    stopped: bool = field(default=False)

    def ask(self, **command: Any) -> dict[str, Any]:
        """Send a command, wait for the answer; the process runs only meanwhile."""
        assert self.process.stdin and self.process.stdout
        try:
            self.go_on()
            self.process.stdin.write(json.dumps(command) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise Lost(f"{self.name}'s process ended with status {self.process.wait()}")
        self.pause()
        return json.loads(line)

    def pause(self) -> None:
        """Stop all of its threads, the spinning ones too."""
        self.process.send_signal(signal.SIGSTOP)
        self.stopped = True

    def go_on(self) -> None:
        if self.stopped:
            self.process.send_signal(signal.SIGCONT)
            self.stopped = False

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                stream.close()
        if self.folder:
            self.folder.cleanup()


def start(wanted: Sequence[str], families: Sequence[str], threads: int, pythons: dict[str, str]) -> list[Contender]:
    """The contenders of `wanted` that are there. `pythons`: an interpreter by lower-case name, where not this one."""
    found: list[Contender] = []
    for name in LIBRARIES:
        if name in wanted or name == "NumPy":  # NumPy's results are the reference
            for contender in _started(name, name.lower(), threads, pythons, []):
                contender.timed = name in wanted
                found.append(contender)
    if "C++" in wanted:
        for family, compiler in compiling.compilers().items():
            folder = tempfile.TemporaryDirectory(prefix="lend-bench-")
            problem = compiling.build(compiler, families, Path(folder.name))
            if problem:
                _leave_out(compiler, problem)
                continue
            for contender in _started(family, "cpp", threads, pythons, [folder.name]):
                contender.label, contender.folder = compiling.version(compiler), folder
                found.append(contender)
        if not any(contender.name in ("clang++", "g++") for contender in found):
            _leave_out("C++", "no compiler was found")
    if threads > 1 and any(contender.name == "Warp" for contender in found) and "lend" in wanted:
        found += _started(ALONE, "lend", 1, pythons, [])
    return found


def _started(name: str, contender: str, threads: int, pythons: dict[str, str], arguments: list[str]) -> list[Contender]:
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads)), "PYTHONPATH": path}
    process = subprocess.Popen(
        [pythons.get(contender, sys.executable), "-m", "benchmarks.worker", contender, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
        cwd=ROOT,
    )
    made = Contender(name, process)
    assert process.stdout
    line = process.stdout.readline()
    hello: dict[str, Any] = json.loads(line) if line else {"failed": "its process ended at once"}
    if "failed" in hello:
        made.end()
        _leave_out(name, hello["failed"])
        return []
    made.label = hello["label"]
    made.pause()
    return [made]


def _leave_out(name: str, why: str) -> None:
    print(f"{name} is left out: {why}", file=sys.stderr)
