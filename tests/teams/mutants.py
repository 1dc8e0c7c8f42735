"""Kernels with one barrier taken away, moved, or left to one thread.

Does: change the source text of a kernel, one barrier at a time.  Does not: judge.
Invariants: each mutant is a program; the order is that of the barriers in the source, and of `WAYS`.

Example: `mutants(CASES["transpose"].function)` gives four, of its one barrier.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

WAYS = ("removed", "earlier", "later", "for one thread")


@dataclass(frozen=True)
class Mutant:
    """A changed kernel: which barrier (its line in the function, from 1), what became of it, the function's source."""

    line: int
    way: str
    source: str


def source_of(function: Callable[..., Any]) -> list[str]:
    """The lines of a kernel, from `def` on."""
    lines = textwrap.dedent(inspect.getsource(function)).splitlines()
    return lines[next(k for k, line in enumerate(lines) if line.startswith("def ")) :]


def mutants(function: Callable[..., Any]) -> Iterator[Mutant]:
    """All mutants of a kernel."""
    lines = source_of(function)
    for at, line in enumerate(lines):
        if line.strip() != "lend.sync()":
            continue
        for way in WAYS:
            changed = _changed(lines, at, way)
            if changed is not None:
                yield Mutant(at + 1, way, "\n".join(changed) + "\n")


def _changed(lines: list[str], at: int, way: str) -> list[str] | None:
    """The lines with the barrier at `at` changed; None where there is nothing to change."""
    indent = _indent(lines[at])
    blank = " " * indent
    if way == "removed":
        return [*lines[:at], blank + "pass", *lines[at + 1 :]]
    if way == "for one thread":
        thread = next(found[1] for line in lines[at::-1] if (found := re.match(r" *for (\w+).* in lend\.threads", line)))
        return [*lines[:at], f"{blank}if {thread} == 0:", f"{blank}    lend.sync()", *lines[at + 1 :]]
    if way == "earlier":
        before = next((k for k in range(at - 1, 0, -1) if _indent(lines[k]) <= indent), 0)
        while _indent(lines[before]) == indent and lines[before].lstrip().startswith(("else", "elif")):
            before = next(k for k in range(before - 1, 0, -1) if _indent(lines[k]) == indent)
        if _indent(lines[before]) < indent:
            return None
        return [*lines[:before], lines[at], *lines[before:at], *lines[at + 1 :]]
    after = at + 1
    if after >= len(lines) or _indent(lines[after]) != indent:
        return None
    end = after + 1
    while end < len(lines) and (_indent(lines[end]) > indent or lines[end].startswith((blank + "else", blank + "elif"))):
        end += 1
    return [*lines[:at], *lines[after:end], lines[at], *lines[end:]]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
