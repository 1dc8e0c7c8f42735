"""The name of this machine, for tables of times.

Does: say processor, cores and versions in words.  Does not: measure.
"""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from lend.diagnostics.words import counted
from lend.runtime.settings import available_processors


def processor() -> str:
    """The processor's name as the system gives it, `AMD EPYC` for instance."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() in ("model name", "Model", "Hardware") and value.strip():
                return value.strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def machine() -> str:
    """One line: processor, cores, system."""
    return f"{processor()}, {counted(available_processors(), 'core')}, {platform.system()} {platform.machine()}"


def software() -> str:
    """One line: the versions of Python and of the libraries that a table compares."""
    parts = [f"Python {platform.python_version()}"]
    for name, package in (("lend", "lend"), ("NumPy", "numpy"), ("SciPy", "scipy"), ("Numba", "numba")):
        try:
            parts.append(f"{name} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(parts)
