"""The lines of a file that a function stands in, and a fingerprint of its code, without a parse.

Does: find the lines by the code object's own places.  Does not: cut exactly: lines that follow may be among them.
Invariants: everything of the function that has a meaning stands in the excerpt; equal excerpts with equal fingerprints, by equal
names, are the same function, wherever in its file it stands.
"""

from __future__ import annotations

from functools import lru_cache
from types import CodeType
from typing import Any

from lend.diagnostics.records import dataclass
from lend.diagnostics.spans import Source


@dataclass(frozen=True, eq=False)
class Excerpt:
    """`text`: lines `first` to `last` (from 1) of the file. `code`: what was compiled of them, and where on the first line."""

    text: str
    first: int
    last: int
    code: tuple[Any, ...]


def excerpt(source: Source, code: CodeType) -> Excerpt:
    """The excerpt of a function."""
    lines, first = _lines(source), code.co_firstlineno
    last = min(max(_last_line(code), first), len(lines))
    if first > last:
        return Excerpt("", first, first, _fingerprint(code))
    # What follows further in than the first line is the function's too: it may stand for no instruction.
    margin = _indentation(lines[first - 1])
    while last < len(lines) and (not lines[last].strip() or _indentation(lines[last]) > margin):
        last += 1
    while last > first and not lines[last - 1].strip():
        last -= 1
    return Excerpt("\n".join(lines[first - 1 : last]), first, last, _fingerprint(code))


@lru_cache(maxsize=8)
def _lines(source: Source) -> list[str]:
    return source.text.split("\n")


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _last_line(code: CodeType) -> int:
    ends = [end for _, end, _, _ in code.co_positions() if end is not None]
    inner = [_last_line(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return max([code.co_firstlineno, *ends, *inner])


def _fingerprint(code: CodeType) -> tuple[Any, ...]:
    """What the code does; of several lambdas on a line, which one it is."""
    constants = tuple(
        _fingerprint(constant) if isinstance(constant, CodeType) else (type(constant).__name__, _text(constant))
        for constant in code.co_consts
    )
    columns = [column for line, _, column, _ in code.co_positions() if line is not None and column]
    return (
        code.co_code,
        constants,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_argcount,
        code.co_kwonlyargcount,
        code.co_flags,
        min(columns, default=0) if code.co_name == "<lambda>" else 0,
    )


def _text(constant: object) -> str:
    """A constant as text; sets have no order of their own."""
    return repr(sorted(map(repr, constant))) if isinstance(constant, frozenset) else repr(constant)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
