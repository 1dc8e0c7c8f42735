"""Samples: as many calls as take long enough for a clock.

A sample is a loop of calls between two readings of a monotonic clock, at least `SAMPLE_SECONDS` long. Where the environment says
`LEND_BENCH_CLOCK=processor`, the clock is the process's processor time instead, which other processes disturb less.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import repeat
from time import perf_counter, process_time
from typing import Any

SAMPLE_SECONDS = 1e-3
CLOCK = "LEND_BENCH_CLOCK"
LONG_CALL = 0.3
"""Seconds of a call that is a sample, and its own warming up."""


now = process_time if os.environ.get(CLOCK) == "processor" else perf_counter


def loop(function: Callable[..., Any], arguments: tuple[Any, ...], calls: int) -> float:
    """Seconds of `calls` calls in a row, what it costs to call included."""
    start = now()
    for _ in repeat(None, calls):
        function(*arguments)
    return now() - start


def calls_for(seconds: Callable[[int], float], at_least: float = SAMPLE_SECONDS) -> tuple[int, float]:
    """How many calls make a sample, and what the last one took; warms up on the way. `seconds(calls)` takes one."""
    calls = 1
    while (taken := seconds(calls)) < at_least and calls < 1 << 22:
        calls = max(2 * calls, int(1.1 * calls * at_least / max(taken, 1e-9)))
    return calls, taken


def interleaved(contenders: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Each function's seconds per call, round by round, in one process."""
    calls = {name: calls_for(lambda number, run=run: loop(run, (), number))[0] for name, run in contenders.items()}
    times: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    for number in range(rounds):
        start = number % len(names)
        for name in names[start:] + names[:start]:
            times[name].append(loop(contenders[name], (), calls[name]) / calls[name])
    return times


def in_words(seconds: float) -> str:
    """A time in the unit that suits it, with three digits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
