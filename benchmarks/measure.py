"""Times contenders in turn, so that what slows the machine slows all of them.

A sample is as many calls as take about two milliseconds. In each round every contender gives one sample, in an order that
rotates; a time is the quickest of the rounds', the one that other work on the machine has disturbed least, and a ratio is that of
two such times.

With several threads, each sample comes after a pause, in which the threads of the contender before go to sleep (those of LLVM's
OpenMP spin for 200 ms). A first sample, which wakes the contender's own threads and warms the caches, does not count.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter, sleep

SAMPLE_SECONDS = 2e-3
PAUSE_SECONDS = 0.22


def sample(run: Callable[[], object], calls: int) -> float:
    """Seconds of one call, over `calls` of them."""
    start = perf_counter()
    for _ in range(calls):
        run()
    return (perf_counter() - start) / calls


def calls_for(run: Callable[[], object]) -> int:
    """How many calls make a sample; warms up on the way (lend and Numba compile at the first calls)."""
    for _ in range(3):
        run()
    calls = 1
    while (seconds := sample(run, calls) * calls) < SAMPLE_SECONDS and calls < 1 << 20:
        calls = max(2 * calls, int(calls * SAMPLE_SECONDS / max(seconds, 1e-9)))
    return calls


def interleaved(contenders: dict[str, Callable[[], object]], rounds: int, threads: int) -> dict[str, list[float]]:
    """Each contender's seconds per call, round by round."""
    calls = {name: calls_for(run) for name, run in contenders.items()}
    times: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    for number in range(rounds):
        start = number % len(names)
        for name in names[start:] + names[:start]:
            if threads > 1:
                sleep(PAUSE_SECONDS)
            sample(contenders[name], calls[name])
            times[name].append(sample(contenders[name], calls[name]))
    return times


def ratio(times: dict[str, list[float]], name: str, base: str) -> float:
    """How many times longer `name` takes than `base`."""
    return min(times[name]) / min(times[base])


def seconds(value: float) -> str:
    """A time in the unit that suits it, with three digits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"
