"""Frozen classes made quickly: the same as Python's own."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, field, fields, replace
from typing import Any, ClassVar

import pytest

from lend.diagnostics.records import dataclass as ours

RAN: list[str] = []


def classes(dataclass: Any) -> tuple[Any, ...]:
    """The same classes by either decorator."""

    @dataclass(frozen=True)
    class Point:
        """A point."""

        x: int
        y: int = 2

    @dataclass(frozen=True, eq=False)
    class Node:
        name: str
        items: list[int] = field(default_factory=list)
        hidden: int = field(default=3, repr=False)
        made: str = field(init=False, default="")

        def __post_init__(self) -> None:
            object.__setattr__(self, "made", self.name * 2)

    @dataclass(frozen=True)
    class Child(Point):
        z: int = field(default=9, compare=False)
        kinds: ClassVar[int] = 4

        def __repr__(self) -> str:
            return "child"

    @dataclass(frozen=True)
    class Empty:
        pass

    @dataclass
    class Open:
        value: int

    return Point, Node, Child, Empty, Open


Point, Node, Child, Empty, Open = classes(ours)


@dataclasses.dataclass(frozen=True)
class Plain:
    a: int


@ours(frozen=True)
class Pickled:
    """At the top of a module, where pickle finds it."""

    a: int
    b: tuple[int, ...] = ()


def outcome(run: Any) -> str:
    try:
        return repr(run()).replace("classes.<locals>.", "")
    except Exception as error:
        return f"{type(error).__name__}: {error}".replace("classes.<locals>.", "")


ACTIONS = [
    lambda P, N, C, E, F: P(1),
    lambda P, N, C, E, F: P(x=1, y=5),
    lambda P, N, C, E, F: P(),
    lambda P, N, C, E, F: P(1, 2, 3),
    lambda P, N, C, E, F: P(1, w=3),
    lambda P, N, C, E, F: (P(1) == P(1, 2), P(1) == P(2), P(1) == (1, 2), hash(P(1)) == hash(P(1)), {P(1): 3}[P(1)]),
    lambda P, N, C, E, F: setattr(P(1), "x", 3),
    lambda P, N, C, E, F: delattr(P(1), "x"),
    lambda P, N, C, E, F: setattr(P(1), "other", 3),
    lambda P, N, C, E, F: N("n"),
    lambda P, N, C, E, F: (N("n").items is N("n").items, N("n") == N("n"), N("n").hidden, N("ab", [1], 4)),
    lambda P, N, C, E, F: N("n", made="x"),
    lambda P, N, C, E, F: C(1, 2, 3),
    lambda P, N, C, E, F: (C(1, 2, 3) == C(1, 2, 4), hash(C(1, 2, 3)) == hash(C(1, 2, 4)), C(1) == P(1), C.kinds),
    lambda P, N, C, E, F: (E(), E() == E(), hash(E()) == hash(E())),
    lambda P, N, C, E, F: replace(P(1), y=7),
    lambda P, N, C, E, F: replace(P(1), w=7),
    lambda P, N, C, E, F: [(f.name, f.type, f.default, f.init) for f in fields(C)],
    lambda P, N, C, E, F: [(f.name, f.type) for f in fields(N)],
    lambda P, N, C, E, F: dataclasses.asdict(P(1)),
    lambda P, N, C, E, F: (P.__match_args__, C.__match_args__, N.__match_args__, P.__doc__, P.__annotations__),
    lambda P, N, C, E, F: copy.copy(P(1)) == copy.deepcopy(P(1)),
    lambda P, N, C, E, F: (F(3), F(3) == F(3)),
    lambda P, N, C, E, F: hash(F(3)),
    lambda P, N, C, E, F: P.y,
    lambda P, N, C, E, F: hasattr(P, "x"),
]


@pytest.mark.parametrize("number", range(len(ACTIONS)))
def test_a_class_is_what_pythons_own_would_be(number: int) -> None:
    action = ACTIONS[number]
    theirs = classes(dataclasses.dataclass)
    assert outcome(lambda: action(Point, Node, Child, Empty, Open)) == outcome(lambda: action(*theirs))


def test_patterns_match() -> None:
    match Child(1, 2, 3):
        case Point(x, y):
            assert (x, y) == (1, 2)


def test_pickling() -> None:
    assert pickle.loads(pickle.dumps(Pickled(1, (2, 3)))) == Pickled(1, (2, 3))
    with pytest.raises(FrozenInstanceError):
        pickle.loads(pickle.dumps(Pickled(1))).a = 3


def test_something_that_contains_itself_prints() -> None:
    items: list[Any] = []
    node = Node("n", items)
    items.append(node)
    assert repr(node).count("...") == 1
