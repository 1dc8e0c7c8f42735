"""A contender's process: `python -m benchmarks.worker CONTENDER [LIBRARIES]`, driven by lines of JSON.

Does: make a case's arguments, bind the contender's function to them, run it once and compare, then time samples as told.
Does not: choose what to measure, or know of the other contenders.
Invariants: needs nothing but NumPy and the contender's own library, so that any interpreter which has those can run it. What
libraries print does not reach the protocol.

Commands: `{"do": "prepare", "case": …, "extents": […], "reference": PATH, "save": BOOL}`, `{"do": "time", "samples": N}`.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cases import Case, cases, footprint
from benchmarks.memory import empty
from benchmarks.timing import LONG_CALL, calls_for, loop


class Bound:
    """A function and its arguments. `seconds(calls)` runs it; `returned()` is what it returned when it last ran."""

    def __init__(self, case: Case, language: str, arguments: tuple[Any, ...]) -> None:
        self.function: Callable[..., Any] = getattr(case.module(language), case.name)
        self.arguments = arguments

    def once(self) -> list[float]:
        """Run it, and return what it returns."""
        value = self.function(*self.arguments)
        if value is None:
            return []
        return [float(item) for item in value] if isinstance(value, tuple) else [float(value)]

    def seconds(self, calls: int) -> float:
        """The time of a loop of calls in Python."""
        return loop(self.function, self.arguments, calls)


class BoundCpp(Bound):
    """A C++ function: the loop and the clock are in C++ too (`cpp_entry.h`)."""

    def __init__(self, case: Case, libraries: str, arguments: tuple[Any, ...]) -> None:
        library = ctypes.CDLL(str(Path(libraries) / f"{case.family}.so"))
        self.entry = getattr(library, f"bench_{case.name}")
        self.entry.restype = ctypes.c_double
        self.entry.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p]
        sizes = tuple(arguments[position].shape[axis] for position, axis in case.cpp_sizes)
        self.arguments = (*arguments, *sizes)
        self.words = np.zeros(len(self.arguments), np.int64)
        for number, argument in enumerate(self.arguments):
            if isinstance(argument, np.ndarray):
                self.words[number] = argument.ctypes.data
            elif isinstance(argument, float):
                self.words[number : number + 1].view(np.float64)[0] = argument
            else:
                self.words[number] = argument
        self.result = np.zeros(1, case.returns or np.float64)
        self.returns = case.returns is not None

    def seconds(self, calls: int) -> float:
        return self.entry(self.words.ctypes.data, calls, self.result.ctypes.data)

    def once(self) -> list[float]:
        self.seconds(1)
        if not self.returns:
            return []
        value = self.result[0]
        return [float(value[name]) for name in value.dtype.names] if value.dtype.names else [float(value)]


def start(contender: str) -> tuple[str, Callable[[Case, tuple[Any, ...]], Bound]]:
    """Load the contender's library: the name and version for the table, and how to bind a case to arguments."""
    threads = int(os.environ["LEND_THREADS"])
    if contender == "cpp":
        return "", lambda case, arguments: BoundCpp(case, sys.argv[2], arguments)
    if contender == "taichi":
        import taichi as ti

        ti.init(
            arch=ti.cpu, cpu_max_num_threads=threads, default_fp=ti.f64, fast_math=False, offline_cache=False, log_level=ti.ERROR
        )
    if contender == "warp":
        import warp as wp

        wp.config.quiet = True
        wp.init()
        wp.set_device("cpu")

        def bind(case: Case, arguments: tuple[Any, ...]) -> Bound:
            lent = tuple(
                wp.array(argument, copy=False, device="cpu") if isinstance(argument, np.ndarray) else argument
                for argument in arguments
            )
            for given, taken in zip(arguments, lent, strict=True):
                if isinstance(given, np.ndarray) and taken.ptr != given.ctypes.data:
                    raise RuntimeError("Warp copied an array")
            return Bound(case, "warp", lent)

        return f"Warp {version('warp-lang')}", bind
    names = {"lend": "lend", "numpy": "NumPy", "numba": "Numba", "taichi": "Taichi"}
    __import__(contender)
    return f"{names[contender]} {version(contender)}", lambda case, arguments: Bound(case, contender, arguments)


class Worker:
    """The case in hand, and what may be done with it."""

    def __init__(self, bind: Callable[[Case, tuple[Any, ...]], Bound]) -> None:
        self.bind = bind
        self.cases = {case.name: case for case in cases()}
        self.bound: Bound | None = None
        self.calls, self.call_seconds = 1, 0.0

    def prepare(self, case: str, extents: list[int], reference: str, save: bool) -> dict[str, Any]:
        """Run the case once; write its outcome to the file `reference`, or compare it with what is there. Then calibrate."""
        self.bound = None
        found = self.cases[case]
        arguments = found.make(tuple(extents), empty)
        try:
            bound = self.bind(found, arguments)
        except AttributeError as error:
            if found.name in str(error):
                return {"absent": True}
            raise
        results = {"returned": np.array(bound.once())}
        results |= {str(position): arguments[position] for position in found.outputs}
        if save:
            np.savez(reference, **results)
        else:
            wrong = disagreement(found, results, reference)
            if wrong:
                return {"wrong": wrong}
        self.bound = bound
        first = [bound.seconds(1) for _ in range(2)]  # lend compiles its entry point at the second call
        if min(first) > LONG_CALL:
            self.calls, taken = 1, min(first)
        else:
            bound.seconds(2)
            self.calls, taken = calls_for(bound.seconds)
        self.call_seconds = taken / self.calls
        return {"calls": self.calls, "seconds": self.call_seconds, "bytes": footprint(arguments)}

    def time(self, samples: int) -> dict[str, Any]:
        """Seconds per call of some samples, after one that does not count."""
        assert self.bound is not None
        long = self.call_seconds > LONG_CALL
        if not long:
            self.bound.seconds(self.calls)
        return {"times": [self.bound.seconds(self.calls) / self.calls for _ in range(1 if long else samples)]}


def disagreement(case: Case, results: dict[str, Any], reference: str) -> str:
    """What differs from the reference by more than the case's tolerance; empty if nothing does."""
    with np.load(reference) as expected:
        for name, found in results.items():
            wanted = expected[name]
            if found.size == 0:
                continue
            close = np.isclose(found, wanted, rtol=case.rtol, atol=case.atol)
            if close.mean() < case.share:
                where = int(np.argmin(close))
                return f"{name}: {found.flat[where]} instead of {wanted.flat[where]} ({1 - close.mean():.1%} differ)"
    return ""


def main() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: a stopped process would outlive its parent
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def answer(value: dict[str, Any]) -> None:
        answers.write(json.dumps(value) + "\n")

    try:
        label, bind = start(sys.argv[1])
        worker = Worker(bind)
    except Exception as error:
        answer({"failed": f"{type(error).__name__}: {error}"})
        return
    answer({"label": label})
    for line in sys.stdin:
        command = json.loads(line)
        do = command.pop("do")
        try:
            answer(worker.prepare(**command) if do == "prepare" else worker.time(**command))
        except Exception as error:
            answer({"failed": f"{type(error).__name__}: {error}".splitlines()[0][:300]})


if __name__ == "__main__":
    main()
