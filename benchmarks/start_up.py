"""How long a fresh process takes to its first result: from the start of Python to the end of one call of saxpy.

    python -m benchmarks.start_up [--repeat 9] [--numba-python ~/other/bin/python]

Runs each program in processes of its own, interleaved, and prints medians: NumPy's import alone; lend with nothing on disk, and
with its cache; Numba's `parallel=True`, and with `cache=True` as well. Numba may lie in another environment.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from lend.cli.machine import machine, software

END = """
import os
assert y[3] == 7.0
os._exit(0)  # the end of the process is not the question
"""

NUMPY = """
import numpy
import os
os._exit(0)
"""

LEND = """
import numpy as np
import lend
from lend import Mut, Ref, f32
from lend.dims import N

@lend.kernel
def saxpy(a: f32, x: Ref[f32, N], y: Mut[f32, N]):
    for i in lend.grid(N):
        y[i] += a * x[i]

x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
saxpy(2.0, x, y)
"""

NUMBA = """
import numpy as np
import numba

@numba.njit(parallel=True{more})
def saxpy(a, x, y):
    for i in numba.prange(x.size):
        y[i] += a * x[i]

x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
saxpy(np.float32(2.0), x, y)
"""


@dataclass
class Program:
    """A program, the Python that runs it, and whether it starts with what earlier runs have kept."""

    name: str
    text: str
    python: str
    warm: bool


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.start_up")
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--numba-python", default=sys.executable, help="a Python that has Numba")
    options = parser.parse_args(arguments)
    programs = [
        Program("NumPy's import", NUMPY, sys.executable, True),
        Program("lend, nothing kept", LEND + END, sys.executable, False),
        Program("lend, kept", LEND + END, sys.executable, True),
    ]
    if subprocess.run([options.numba_python, "-c", "import numba"], capture_output=True, check=False).returncode == 0:
        programs += [
            Program("Numba parallel=True", NUMBA.format(more="") + END, options.numba_python, False),
            Program("Numba cache=True", NUMBA.format(more=", cache=True") + END, options.numba_python, True),
        ]
    print(f"{machine()}\n{software()}\nmilliseconds from the start of Python, median of {options.repeat} processes\n")
    times = measure(programs, options.repeat)
    for program in programs:
        found = [1e3 * seconds for seconds in times[program.name]]
        print(f"{program.name:<22}{statistics.median(found):8.0f}  ({min(found):.0f} to {max(found):.0f})")
    report({name: 1e3 * statistics.median(found) for name, found in times.items()})
    return 0


def measure(programs: list[Program], repeat: int) -> dict[str, list[float]]:
    """Seconds of each program's processes. A first run, which fills caches and compiles Python's modules, is left out."""
    times: dict[str, list[float]] = {program.name: [] for program in programs}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, program in enumerate(programs):
            (folder / f"program{number}.py").write_text(program.text)
        for turn in range(repeat + 1):
            for number, program in enumerate(programs):
                kept = folder / (f"kept{number}" if program.warm else f"kept{number}.{turn}")
                seconds = run(program.python, folder / f"program{number}.py", kept, folder / "bytecode")
                if turn:
                    times[program.name].append(seconds)
    return times


def run(python: str, program: Path, kept: Path, bytecode: Path) -> float:
    """Seconds of one process."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LEND_", "PYTHONDONTWRITE"))}
    environment |= {"LEND_CACHE_DIR": str(kept), "NUMBA_CACHE_DIR": str(kept), "PYTHONPYCACHEPREFIX": str(bytecode)}
    started = time.perf_counter()
    subprocess.run([python, str(program)], env=environment, check=True)
    return time.perf_counter() - started


def report(medians: dict[str, float]) -> None:
    """What is to be compared."""
    cold, warm, numpy = (medians[name] for name in ("lend, nothing kept", "lend, kept", "NumPy's import"))
    print(f"\nlend, kept, takes {warm - numpy:.0f} ms longer than NumPy's import")
    if "Numba cache=True" in medians:
        print(f"lend, kept, takes {warm / medians['Numba cache=True']:.2f} of Numba's cache=True")
        print(f"lend, nothing kept, takes {cold / medians['Numba parallel=True']:.2f} of Numba's parallel=True")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
