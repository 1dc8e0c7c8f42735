"""Races by shadow memory against all pairs of accesses and the order that barriers make."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

from lend.language.types import F64
from lend.sanitizer.judge import Judge
from lend.sanitizer.memory import Actor, Array, Memory, Team
from lend.sanitizer.teams import ThreadsRun

THREADS, PLACES = 4, 2


class Everything:
    """All accesses of a run, and for each thread what it knows to be over: the slow way."""

    def __init__(self) -> None:
        self.accesses: list[tuple[int, tuple[int, int], int, int, bool]] = []  # team, thread, its time, place, writes
        self.known: dict[tuple[int, int], dict[tuple[int, int], int]] = {}
        self.times: dict[tuple[int, int], int] = {}

    def access(self, who: tuple[int, int], place: int, writes: bool) -> None:
        self.times[who] = self.times.get(who, 0) + 1
        self.known.setdefault(who, {})[who] = self.times[who]
        for other, when, at, other_writes in [(w, n, p, x) for _, w, n, p, x in self.accesses]:
            if at == place and other != who and (writes or other_writes) and self.known[who].get(other, 0) < when:
                self.raced.add(place)
        self.accesses.append((who[0], who, self.times[who], place, writes))

    raced: set[int]

    def meet(self, group: list[tuple[int, int]]) -> None:
        """Each knows what all of them know."""
        joined: dict[tuple[int, int], int] = {}
        for who in group:
            for other, when in self.known.get(who, {}).items():
                joined[other] = max(joined.get(other, 0), when)
        for who in group:
            self.known[who] = dict(joined)


@pytest.mark.parametrize("part", range(4))
def test_a_race_is_found_where_there_is_one_and_nowhere_else(part: int) -> None:
    outcomes: set[int] = set()
    for seed in range(300 * part, 300 * part + 300):
        rng = random.Random(seed)
        teams = [Team((k,)) for k in range(rng.choice((1, 1, 2)))]
        actors = {(k, n): Actor(team, (n,), n) for k, team in enumerate(teams) for n in range(THREADS)}
        slow, judge = Everything(), judge_for(rng)
        slow.raced = set()
        array = Array(Memory("s", [0.0] * PLACES, True), (PLACES,), (1,))
        found: set[int] = set()
        write_rate = rng.choice((0.1, 0.3, 0.6))
        for _ in range(rng.choice((5, 12, 30))):
            what = rng.random()
            team = rng.randrange(len(teams))
            everyone = [(team, n) for n in range(THREADS)]
            if what < 0.12:
                barrier(teams[team], [actors[who] for who in everyone])
                slow.meet(everyone)
            elif what < 0.4 and judge.exact:
                size = rng.choice((2, 2, 4))
                first = rng.randrange(THREADS // size) * size
                lanes = everyone[first : first + size]
                run = SimpleNamespace(actors=[actors[who] for who in everyone])
                ThreadsRun.synchronise(run, range(first, first + size))  # type: ignore[arg-type]
                slow.meet(lanes)
            else:
                who, place, writes = (team, rng.randrange(THREADS)), rng.randrange(PLACES), rng.random() < write_rate
                slow.access(who, place, writes)
                judge.seen.clear()
                if writes:
                    judge.store(actors[who], 0, 1.0, array, 0, (place,))
                else:
                    judge.load(actors[who], 0, array, 0, (place,))
                found.update(seen.indices[0] for seen in judge.seen.values())
        assert found == slow.raced, seed
        outcomes.add(len(found))
    assert outcomes == {0, 1, 2}


def judge_for(rng: random.Random) -> Judge:
    """A judge that is told of accesses one by one."""
    operation: Any = SimpleNamespace(array=SimpleNamespace(name="s", array=SimpleNamespace(element=F64)))
    made = Judge(SimpleNamespace(places=[SimpleNamespace(operation=operation)]), None, rng, 10**9)  # type: ignore[arg-type]
    made.exact = rng.random() < 0.5  # sub-groups synchronise, or do not
    return made


def barrier(team: Team, actors: list[Actor]) -> None:
    team.phase += 1
    for actor in actors:
        actor.clock, actor.seen = 0, None


def test_a_view_of_a_view_reaches_the_same_places() -> None:
    array = Array(Memory("x", list(range(24)), True), (4, 6), (6, 1))
    part = array.view([(1, 4, 2), (0, 6, 3)])
    assert part.shape == (2, 2) and [array.memory.values[p] for p in part.places()] == [6, 9, 18, 21]
    assert [array.memory.values[p] for p in part.view([1, (0, 2, 1)]).places()] == [18, 21]
    assert not part.in_order(1) and array.in_order(1) and array.view([(1, 3, 1), (0, 6, 1)]).in_order(1)
    assert array.view([(3, 1, 1), (0, 6, 1)]).shape == (0, 6)
