"""`lend bench`: lend beside C++ with OpenMP, Numba, Taichi, Warp and NumPy, on this machine.

Does: find the benchmark suite and hand the command line over.  Does not: measure; the suite is the folder `benchmarks` of the
repository, a program of its own whose kernels are written in several languages, which an installed lend carries along as data.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FOLDERS = (Path(__file__).parent / "carried", Path(__file__).resolve().parents[3])
"""Where the suite may lie: in an installed lend, in a checkout."""


def main(arguments: Sequence[str]) -> int:
    """Run the suite with these arguments. 2 if it is not there."""
    for folder in FOLDERS:
        if (folder / "benchmarks" / "__main__.py").is_file():
            if str(folder) not in sys.path:
                sys.path.insert(0, str(folder))
            suite: Any = importlib.import_module("benchmarks.__main__")
            return suite.main(arguments)
    print("lend bench: the benchmark suite does not come with this installation; it is in lend's repository", file=sys.stderr)
    return 2
