"""Programs and libraries of the vendors that write code for devices: where they are.

Does: look in the places where packages of PyPI, a vendor's installer and Linux distributions put them.
Does not: install anything; what is not there is an error that says what to install.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

from lend.diagnostics.errors import DeviceError, InternalError


def package_folders(package: str) -> list[Path]:
    """Where the files of an installed package are, without importing it; none if it is not installed."""
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return []
    return [Path(place) for place in (spec.submodule_search_locations or ())] if spec is not None else []


def toolkit_folders(*variables: str) -> list[Path]:
    """What environment variables name."""
    return [Path(os.environ[name]) for name in variables if os.environ.get(name)]


def first_file(candidates: Iterable[Path]) -> Path | None:
    """The first that is a file."""
    return next((path for path in candidates if path.is_file()), None)


def program(name: str, candidates: Iterable[Path]) -> str | None:
    """The first candidate that can be run, or the program of that name on the path."""
    found = next((path for path in candidates if path.is_file() and os.access(path, os.X_OK)), None)
    return str(found) if found is not None else shutil.which(name)


def convert(command: Sequence[str], content: bytes, suffix: str) -> tuple[bytes, str]:
    """Run a vendor's program over a file; gives the file it writes and what it prints. `{in}` and `{out}` stand for the two."""
    with tempfile.TemporaryDirectory(prefix="lend") as folder:
        source, target = Path(folder, f"code{suffix}"), Path(folder, "code.out")
        source.write_bytes(content)
        arguments = [part.format_map({"in": source, "out": target}) for part in command]
        try:
            done = subprocess.run(arguments, capture_output=True, text=True, errors="replace", check=False)
        except OSError as error:
            raise DeviceError(f"{Path(arguments[0]).name} cannot be run: {error.strerror}") from None
        if done.returncode or not target.is_file():
            raise InternalError(f"{Path(arguments[0]).name} refuses what lend has written: {done.stderr.strip()[:400]}")
        return target.read_bytes(), done.stdout + done.stderr


PYTHON = sys.executable
