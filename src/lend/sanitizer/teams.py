"""Runs the blocks of a team-level loop, and the threads of a block, in an order that nobody can foresee.

Does: interleave threads between barriers, and blocks with each other; see that all threads of a block meet the same barriers, and
all lanes of a sub-group the same operations; compute sub-group operations.  Does not: look at accesses (`judge.py`).
Invariants: a barrier is met if all threads of the block stand at the same one, in the same iterations of the loops around it;
where that cannot come about, it is reported and the run ends. Everything random comes from the run's own generator.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol

from lend.ir import typed
from lend.language.reduction import Accumulator, combine
from lend.sanitizer.memory import Actor, Bounds, Team
from lend.sanitizer.program import Place

Values = tuple[Any, ...]
Event = tuple[Any, ...] | None
"""What a thread stops at: ("sync", place, context), ("subgroup", place, context, value, lane), or None, just before an atomic."""

Thread = Generator[Event, Any, Values]
Block = Generator[None, None, Values]

ATOMIC_PAUSE = 4
"""Of so many times that a thread stops before an atomic, one lets another block go on."""


class Watcher(Protocol):
    """Who is told of barriers that are not met."""

    places: list[Place]

    def divergent(self, waiting: Actor, at: int, other: Actor, other_at: int | None, loop: int) -> Any:
        """`other` stands at another place, or has ended (None), in the `threads` loop at `loop`. Does not return."""


def reduced(operators: Sequence[typed.Reduction], inits: Sequence[Values], contributions: Sequence[Values]) -> Values:
    """The results of reductions, from what each iteration contributes, in order of position."""
    out: list[Any] = []
    start = 0
    for reduction, init in zip(operators, inits, strict=True):
        end = start + len(init)
        accumulator = Accumulator(reduction.operator, [value.scalar for value in reduction.inits], init)
        for values in contributions:
            accumulator.add(*values[start:end])
        out += accumulator.result()
        start = end
    return tuple(out)


def identities(operators: Sequence[typed.Reduction]) -> Values:
    """What the reductions' values are at the start of an iteration."""
    found: list[Any] = []
    for reduction in operators:
        found += Accumulator(reduction.operator, [value.scalar for value in reduction.inits], ()).identity
    return tuple(found)


def positions(box: Sequence[Bounds]) -> list[tuple[int, ...]]:
    """The iterations of a box in row-major order."""
    return list(itertools.product(*(range(*bounds) for bounds in box)))


# -------------------------------------------------------------------------------------------------------- blocks


def run_blocks(
    rng: random.Random,
    iterations: Sequence[tuple[int, ...]],
    start: Callable[[Actor, tuple[int, ...]], Block],
) -> list[Values]:
    """Run all blocks, several of them at a time, and give what each yields, in order of position."""
    order = list(range(len(iterations)))
    rng.shuffle(order)
    together = rng.choice((1, 2, len(order) or 1))
    results: list[Values] = [()] * len(order)
    running: list[tuple[int, Block]] = []
    while order or running:
        while order and len(running) < together:
            position = order.pop()
            indices = iterations[position]
            running.append((position, start(Actor(Team(indices), (), -1), indices)))
        at = rng.randrange(len(running))
        position, block = running[at]
        try:
            next(block)
        except StopIteration as end:
            results[position] = end.value
            running[at] = running[-1]
            running.pop()
    return results


# ------------------------------------------------------------------------------------------------------- threads


class ThreadsRun:
    """One `threads` loop of one block."""

    def __init__(self, watcher: Watcher, rng: random.Random, place: int, block: Actor) -> None:
        operation = watcher.places[place].operation
        assert isinstance(operation, typed.Threads)
        self.watcher = watcher
        self.rng = rng
        self.place = place
        self.reductions = operation.reductions
        self.team = block.team
        self.actors = [
            Actor(self.team, indices, number) for number, indices in enumerate(itertools.product(*map(range, operation.sizes)))
        ]
        self.results: list[Values | None] = [None] * math.prod(operation.sizes)

    def plain(self, body: Callable[..., Values]) -> None:
        """Threads that meet nothing: one after another."""
        start = identities(self.reductions)
        order = list(self.actors)
        self.rng.shuffle(order)
        for actor in order:
            self.results[actor.number] = body(actor, *actor.indices, *start)

    def waiting(self, body: Callable[..., Thread]) -> Generator[None, None, None]:
        """Threads that meet barriers."""
        rng, start = self.rng, identities(self.reductions)
        self.threads = [body(actor, *actor.indices, *start) for actor in self.actors]
        self.answers: list[Any] = [None] * len(self.threads)
        self.events: dict[int, tuple[Any, ...]] = {}
        self.running = list(range(len(self.threads)))
        while True:
            while self.running:
                at = rng.randrange(len(self.running))
                number = self.running[at]
                answer, self.answers[number] = self.answers[number], None
                event: Event = ("end",)
                try:
                    event = self.threads[number].send(answer)
                except StopIteration as end:
                    self.results[number] = end.value
                if event is None:
                    if rng.randrange(ATOMIC_PAUSE) == 0:
                        yield
                    continue
                self.running[at] = self.running[-1]
                self.running.pop()
                if event[0] != "end":
                    self.events[number] = event
                if event[0] == "subgroup":
                    self.meet_lanes(number)
            if not self.events:
                return
            self.meet_barrier()

    def meet_barrier(self) -> None:
        """All threads stand somewhere: at one barrier, or not."""
        first, event = min(self.events.items())
        for number in range(len(self.actors)):
            other = self.events.get(number)
            if event[0] == "sync" and (other is None or other[:3] != event[:3]):
                self.apart(first, number)
        if event[0] == "subgroup":  # its sub-group is not all here, or it would not stand there
            size = self.size_of(event)
            lanes = range(first // size * size, first // size * size + size)
            self.apart(first, next(lane for lane in lanes if self.events.get(lane, ())[:3] != event[:3]))
        self.team.phase += 1
        for actor in self.actors:
            actor.clock, actor.seen = 0, None
        self.running = list(self.events)
        self.events.clear()

    def apart(self, number: int, other: int) -> None:
        """Two threads that do not meet."""
        event = self.events.get(other)
        self.watcher.divergent(
            self.actors[number], self.events[number][1], self.actors[other], None if event is None else event[1], self.place
        )

    # --------------------------------------------------------------------------------------------- sub-groups

    def size_of(self, event: tuple[Any, ...]) -> int:
        return self.subgroup(event[1]).size

    def subgroup(self, at: int) -> typed.Subgroup:
        """The operation at a place."""
        operation = self.watcher.places[at].operation
        assert isinstance(operation, typed.Subgroup)
        return operation

    def meet_lanes(self, number: int) -> None:
        """A thread has come to a sub-group operation; if all lanes have, they go on."""
        event = self.events[number]
        size = self.size_of(event)
        lanes = range(number // size * size, number // size * size + size)
        if any(self.events.get(lane, ())[:3] != event[:3] for lane in lanes):
            return
        operation = self.subgroup(event[1])
        events = [self.events.pop(lane) for lane in lanes]
        if operation.operator == "sync":
            self.synchronise(lanes)
        answers = subgroup_results(operation, [e[3] for e in events], [e[4] for e in events])
        for lane, answer in zip(lanes, answers, strict=True):
            self.answers[lane] = answer
        self.running += lanes

    def synchronise(self, lanes: range) -> None:
        """What each lane has done before, or has waited for, is before what any does from now on."""
        seen = [0] * len(self.actors)
        for lane in lanes:
            actor = self.actors[lane]
            actor.clock += 1
            if actor.seen is not None:
                seen = list(map(max, seen, actor.seen))
        for lane in lanes:
            seen[lane] = self.actors[lane].clock
        for lane in lanes:
            self.actors[lane].seen = list(seen)


def subgroup_results(operation: typed.Subgroup, values: Sequence[Any], lanes: Sequence[Any]) -> list[Any]:
    """What each lane gets from a sub-group operation (see `ir.typed.Subgroup`)."""
    size, operator = operation.size, operation.operator
    if operator == "sync":
        return [None] * size
    if operator == "ballot":
        return [sum(1 << lane for lane, value in enumerate(values) if value)] * size
    if operator.startswith("shuffle"):
        found = [_named_lane(operator, own, told) for own, told in enumerate(lanes)]
        return [values[lane] if 0 <= lane < size else values[own] for own, lane in enumerate(found)]
    assert operation.value is not None
    kind, _, name = operator.partition("_")
    types = (operation.value.scalar,)
    if kind == "scan":
        combined = itertools.accumulate(((v,) for v in values), lambda left, right: combine(name, types, left, right))
        return [value for (value,) in combined]
    parts = [(value,) for value in values]
    while len(parts) > 1:
        half = len(parts) // 2
        parts = [combine(name, types, parts[k], parts[k + half]) for k in range(half)]
    return [parts[0][0]] * size


def _named_lane(operator: str, own: int, told: int) -> int:
    """The lane that a shuffle reads, if there is such a lane."""
    match operator:
        case "shuffle":
            return told
        case "shuffle_xor":
            return own ^ told
        case "shuffle_up":
            return own - told
        case _:
            return own + told
