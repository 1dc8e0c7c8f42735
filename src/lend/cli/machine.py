"""The name of this machine, for tables of times.

Does: say processor, cores and threads in words.  Does not: measure.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path

from lend.diagnostics.words import counted


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


def cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def threads() -> int:
    """The number of threads that kernels run on."""
    import lend

    return lend.config.threads


def machine() -> str:
    """One line: processor, cores, system."""
    count = cores()
    return f"{processor()}, {counted(count, 'core')}, {platform.system()} {platform.machine()}"


def software() -> str:
    """One line: the versions of Python and of the libraries that a table compares."""
    from importlib.metadata import PackageNotFoundError, version

    parts = [f"Python {platform.python_version()}"]
    for name, package in (("lend", "lend"), ("NumPy", "numpy"), ("SciPy", "scipy"), ("Numba", "numba")):
        try:
            parts.append(f"{name} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(parts)
