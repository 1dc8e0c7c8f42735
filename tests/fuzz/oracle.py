"""Runs generated programs compiled and as plain Python, and says what is wrong with them.

Does: define kernels from source text, judge refusals, compare results and faults.  Does not: generate.
Invariants: whatever is no `Refused` and no agreement is a `Finding`.
"""

from __future__ import annotations

import itertools
import linecache
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from values import canonical, differing

import lend

_numbers = itertools.count()


class Finding(AssertionError):
    """Something that must not be: `kind` says which sort, for reducing a program without changing its fault."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind = kind


@dataclass(frozen=True)
class Refused(Exception):
    """A program that lend refuses properly. `lines`: those its diagnostics point at."""

    lines: tuple[int, ...]
    message: str
    diagnostics: tuple[Any, ...] = ()


def define(source: str) -> dict[str, Any]:
    """The names that a module's source text defines."""
    file = f"<fuzz {next(_numbers)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    namespace: dict[str, Any] = {"__name__": __name__}
    try:
        exec(compile(source, file, "exec"), namespace)
    finally:
        if len(linecache.cache) > 400:
            for name in [n for n in linecache.cache if n.startswith("<fuzz ")][:-50]:
                del linecache.cache[name]
    return namespace


def judged(step: Callable[[], Any], what: str) -> Any:
    """The value of a step of compilation. Raises Refused for a proper refusal, and Finding for any other exception."""
    try:
        return step()
    except lend.CompileError as error:
        text = str(error)
        lines: list[int] = []
        for diagnostic in error.diagnostics:
            if not re.fullmatch(r"L\d{4}", diagnostic.code) or not diagnostic.message:
                raise Finding("diagnostic without code or sentence", text) from error
            lines.append(diagnostic.primary.span.line)
        if not lines or "Traceback" in text or "LLVM" in text or not all(line > 0 for line in lines):
            raise Finding("improper diagnostic", text) from error
        raise Refused(tuple(lines), text, tuple(error.diagnostics)) from None
    except lend.LendError:
        raise
    except Exception as error:
        raise Finding(f"{type(error).__name__} {what}", str(error)[:3000]) from error


@dataclass
class Run:
    """What a call left: the arrays, the result, or the fault."""

    arrays: list[np.ndarray]
    result: Any
    fault: tuple[Any, ...] | None


FAULT_ATTRIBUTES = ("kernel", "line", "thread", "array", "dimension", "index", "size")


LAYOUTS = ("C", "strided", "reversed", "F")


def copied(array: np.ndarray, layout: str) -> np.ndarray:
    """The array in other memory."""
    match layout:
        case "strided":
            fresh = np.zeros([2 * size for size in array.shape], array.dtype)[tuple(slice(None, None, 2) for _ in array.shape)]
        case "reversed":
            fresh = np.zeros(array.shape, array.dtype)[::-1]
        case _:
            fresh = np.zeros(array.shape, array.dtype, order="F" if layout == "F" else "C")
    fresh[...] = array
    return fresh


def call(function: Callable[..., Any], arguments: Sequence[Any], what: str, layout: str = "C") -> Run:
    """Call with copies of the arguments."""
    given = [copied(a, layout) if isinstance(a, np.ndarray) else a for a in arguments]
    arrays = [a for a in given if isinstance(a, np.ndarray)]
    try:
        return Run(arrays, judged(lambda: function(*given), what), None)
    except (lend.BoundsError, lend.ArithmeticFault) as error:
        fault = (type(error).__name__, *(getattr(error, name, None) for name in FAULT_ATTRIBUTES), str(error))
        return Run(arrays, None, fault)


def compare(got: Run, want: Run, what: str, ulps: Sequence[float] | None = None) -> None:
    """Raise Finding unless both runs left the same: the fault, or arrays and results to the bit."""
    if got.fault != want.fault:
        raise Finding(f"other fault, {what}", f"{got.fault}\ninstead of\n{want.fault}")
    if got.fault is not None:
        return
    for number, (a, b) in enumerate(zip(got.arrays, want.arrays, strict=True)):
        unequal = differing(a, b, ulps[number] if ulps else 0.0)
        if unequal.any():
            at = tuple(int(k[0]) for k in np.nonzero(unequal))
            raise Finding(f"other values, {what}", f"array {number} at {at}: {a[at]!r} instead of {b[at]!r}")
    if not same_result(got.result, want.result):
        raise Finding(f"other result, {what}", f"{got.result!r} instead of {want.result!r}")


def same_result(a: Any, b: Any) -> bool:
    """Equal types and bits; NaN equals NaN."""
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same_result, a, b))
    if isinstance(a, float):
        return (a != a and b != b) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    if isinstance(a, np.ndarray):
        return a.shape == b.shape and a.dtype == b.dtype and np.array_equal(canonical(a), canonical(b))
    return bool(a == b) or (a != a and b != b)


def reduced(source: str, fails: Callable[[str], Any], steps: int = 150) -> str:
    """The source with as many lines (and the blocks they open) taken away as keep `fails` truthy."""
    lines = source.splitlines()
    changed = True
    while changed and steps > 0:
        changed = False
        number = len(lines) - 1
        while number >= 0 and steps > 0:
            line = lines[number]
            indent = len(line) - len(line.lstrip())
            if indent == 0:
                number -= 1
                continue
            end = number + 1
            while end < len(lines) and len(lines[end]) - len(lines[end].lstrip()) > indent:
                end += 1
            attempts = [lines[:number] + lines[end:]]
            if end > number + 1:  # without the header, or with an empty block
                step = len(lines[number + 1]) - len(lines[number + 1].lstrip()) - indent
                attempts.append(lines[:number] + [inner[step:] for inner in lines[number + 1 : end]] + lines[end:])
            for attempt in attempts:
                steps -= 1
                if fails("\n".join(attempt) + "\n"):
                    lines, changed = attempt, True
                    break
            number -= 1
    return "\n".join(lines) + "\n"
