"""Everything beside a kernel itself that decides what is made of it: lend, Python, the libraries, the processor, settings.

Does: describe it, as a part of every key of the cache.  Does not: load the libraries.
Invariants: whoever changes a file of lend, or installs another version of what it is built on, gets other keys.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import fields
from functools import cache, lru_cache
from importlib.util import find_spec

import numpy as np

from lend.runtime.settings import Settings
from lend.runtime.store import digest
from lend.targets.cpu.processor import identity

FORMAT = 1
"""The version of what is written into entries."""

_HARMLESS = frozenset(("device", "threads", "cache_dir", "cache", "cache_limit", "dump", "verify", "native"))
"""Settings that change no code. Others do, until someone has shown that they do not."""

_LIBRARIES = (".so", ".dylib", ".pyd", ".dll")


def environment(settings: Settings) -> bytes:
    """A digest of all of it. Raises OSError where lend's own files cannot be looked at: then nothing can be kept."""
    return digest(repr((_process(), _decisive(settings))).encode())


@lru_cache(maxsize=8)
def _decisive(settings: Settings) -> list[tuple[str, str]]:
    names = sorted(field.name for field in fields(settings))
    return [(name, repr(getattr(settings, name))) for name in names if name not in _HARMLESS]


@cache
def _process() -> bytes:
    """What cannot change while this process runs."""
    parts = (
        FORMAT,
        own_files(),
        sys.version,
        sys.implementation.cache_tag,
        np.__version__,
        library("llvmlite"),
        library("islpy"),
        identity(),
    )
    return digest(repr(parts).encode())


def own_files() -> list[tuple[str, int, int]]:
    """lend's own source files, with sizes and times."""
    return sorted(_sources(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), ""))


def _sources(folder: str, name: str) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                status = entry.stat()
                yield f"{name}/{entry.name}", status.st_size, status.st_mtime_ns
            elif entry.name != "__pycache__" and entry.is_dir():
                yield from _sources(entry.path, f"{name}/{entry.name}")


def library(package: str) -> tuple[str, ...]:
    """A compiled library's version and the sizes of its files, without loading it."""
    try:
        spec = find_spec(package)
    except ValueError:  # something else has that name
        spec = None
    if spec is None or not spec.submodule_search_locations:
        return (package, "none")
    folder = spec.submodule_search_locations[0]
    found = [package]
    for name in ("_version.py", "version.py"):
        try:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                found.append(file.read())
        except OSError:
            continue
    for inner in (folder, os.path.join(folder, "binding")):
        if os.path.isdir(inner):
            with os.scandir(inner) as entries:
                found += sorted(f"{entry.name} {entry.stat().st_size}" for entry in entries if entry.name.endswith(_LIBRARIES))
    return tuple(found)
