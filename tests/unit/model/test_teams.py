"""The model of blocks of threads: bits, phases, what is the same for all threads, and which loops are unrolled."""

from __future__ import annotations

import random
from typing import Any, Literal

import pytest

import lend
from lend import Mut, Ref, f64, i32
from lend.dims import N
from lend.driver.pipeline import run
from lend.language.types import I64
from lend.model.bits import bitwise, mask
from lend.model.build import build
from lend.model.evaluate import Evaluator
from lend.model.linear import Linear, equal
from lend.model.phases import START, Phases, before
from lend.model.records import Model
from lend.model.sets import Space, interval_of


def model_of(kernel: Any) -> Model:
    """The model of a kernel for its signature's types."""
    known = kernel._definition.known_types()
    return build(run(kernel._definition.compilation(*known), until="check").kernel)


def value_of(evaluator: Evaluator, found: Linear, name: str, value: int) -> int:
    """An expression's value where a name has one: its only one."""
    space = Space(evaluator.names)
    evaluator.names.definitions.setdefault("it", equal(Linear.of("it"), found))
    evaluator.names.made_in.setdefault("it", ())
    answer = interval_of(space.set(["it"], [equal(Linear.of(name), Linear.constant(value))]))
    assert answer is not None and answer[0] is not None and answer[0] == answer[1]
    return answer[0]


@pytest.mark.parametrize("operator", ["and", "or", "xor"])
def test_bits_of_a_number_and_a_constant(operator):
    exact = {"and": int.__and__, "or": int.__or__, "xor": int.__xor__}[operator]
    rng = random.Random(operator)
    for _ in range(12):
        evaluator = Evaluator()
        evaluator.in_region = True
        x, constant = evaluator.fresh("x", 0, 100), rng.choice((1, 2, 3, 4, 5, 8, 12, 64, 96, 130))
        found = bitwise(evaluator, operator, Linear.constant(constant), Linear.of(x), I64)
        assert found is not None
        value = rng.randrange(101)
        assert value_of(evaluator, found, x, value) == exact(value, constant), (value, constant)


def test_bits_of_numbers_that_may_be_negative_are_not_known():
    evaluator = Evaluator()
    evaluator.in_region = True
    x = Linear.of(evaluator.fresh("x", -1, 100))
    assert bitwise(evaluator, "xor", x, Linear.constant(4), I64) is None
    found = mask(evaluator, x, Linear.constant(5), I64)
    assert found is not None and set(found.names()) <= evaluator.names.free


def test_the_ways_in_which_one_place_comes_before_another():
    assert [(w.depth, w.common, w.earlier) for w in before((1, "k", 2), (1, "k", 5))] == [(1, (), "k"), (2, ("k",), None)]
    assert [w.earlier for w in before((1, "k", 5), (1, "k", 2))] == ["k"]
    assert [w.depth for w in before((1,), (2, "k", 0))] == [0]
    assert not list(before((2, "k", 0), (1,)))


def test_phases_of_a_loop_with_one_barrier():
    @lend.kernel
    def kernel(x: Mut[f64, N, Literal[8]], steps: i32):
        for b in lend.blocks(N):
            for t in lend.threads(8):
                for _k in range(steps):
                    x[b, t] += 1.0
                    lend.sync()
                x[b, t] += 2.0

    model = model_of(kernel)
    (team,) = model.teams
    phases = Phases(model, team)
    inside, _, after, _ = (a for a in model.accesses if a.scope.team is not None)
    assert {p.number for p in phases.of(inside.scope)[0]} == {START, 0}
    assert {p.number for p in phases.of(after.scope)[0]} == {START, 0}
    assert not phases.lost


def test_phases_of_straight_code_are_single():
    @lend.kernel
    def kernel(x: Mut[f64, N, Literal[8]]):
        for b in lend.blocks(N):
            for t in lend.threads(8):
                x[b, t] += 1.0
                lend.sync()
                x[b, t] += 2.0
                lend.sync()
                x[b, t] += 3.0

    model = model_of(kernel)
    phases = Phases(model, model.teams[0])
    found = [[p.number for p in phases.of(a.scope)[0]] for a in model.accesses if a.writes]
    assert found == [[START], [0], [1]]


def count(kernel: Any) -> int:
    """How many stores the model has."""
    return sum(a.writes for a in model_of(kernel).accesses)


def test_loops_are_unrolled_where_that_tells_more():
    @lend.kernel
    def linear(x: Mut[f64, N, Literal[8]]):
        for b in lend.blocks(N):
            for t in lend.threads(8):
                for k in range(8):
                    if k < t:
                        x[b, t] += 1.0

    @lend.kernel
    def powers(x: Mut[f64, N, Literal[8]]):
        for b in lend.blocks(N):
            for t in lend.threads(8):
                for k in range(3):
                    if t % (1 << k) == 0:
                        x[b, t] += 1.0

    @lend.kernel
    def halves(x: Mut[f64, N, Literal[8]]):
        for b in lend.blocks(N):
            for t in lend.threads(8):
                s = 8
                while s > 0:
                    if t < s:
                        x[b, t] += 1.0
                    s //= 2

    @lend.kernel
    def too_many(x: Mut[f64, N, Literal[8]]):
        for b in lend.blocks(N):
            for t in lend.threads(8):
                s = 0
                while s < 100:
                    if t < s:
                        x[b, t] += 1.0
                    s += 1

    assert [count(k) for k in (linear, powers, halves, too_many)] == [1, 3, 4, 1]


def test_an_unrolled_loop_leaves_its_last_values():
    @lend.kernel
    def kernel(x: Mut[f64, N, Literal[64]]):
        for b in lend.blocks(N):
            for t in lend.threads(8):
                s = 1
                n = 0
                while s < 8:
                    s *= 2
                    n += 1
                x[b, s * t + n] = 1.0

    assert {p.verdict for p in kernel.proofs()} == {"proved"}


def test_what_is_the_same_for_all_threads():
    @lend.kernel
    def kernel(x: Ref[i32, N, Literal[8]], y: Mut[i32, N, Literal[8]], a: i32):
        for b in lend.blocks(N):
            for t in lend.threads(8):
                same = x[b, 0] + a
                own = x[b, t] + a
                merged = same if a > 3 else a
                parted = same if t > 3 else a
                y[b, t] = same + own + merged + parted

    model = model_of(kernel)
    (found,) = model.divergences.values()
    names = {value.name for value in found.values}
    assert {"own", "parted", "t"} <= names and not {"same", "merged", "a", "b"} & names


def test_phases_are_those_of_a_run():
    @lend.kernel
    def kernel(x: Mut[f64, N, Literal[8]], steps: i32):
        for b in lend.blocks(N):
            for t in lend.threads(8):
                for i in range(steps):
                    if i % 2 == 0:
                        lend.sync()
                    x[b, t] = 1.0
                    for j in range(i):
                        if j % 3 == 1:
                            lend.sync()
                        x[b, t] = 2.0
                    x[b, t] = 3.0
                x[b, t] = 4.0

    expected: dict[tuple[int, ...], tuple[int, ...]] = {}
    steps, last = 6, (START, 0, 0)
    for i in range(steps):
        last = (0, i, 0) if i % 2 == 0 else last
        expected[0, i] = last
        for j in range(i):
            last = (1, i, j) if j % 3 == 1 else last
            expected[1, i, j] = last
        expected[2, i] = last
    expected[3,] = last

    model = model_of(kernel)
    (team,) = model.teams
    phases = Phases(model, team)
    writes = [a for a in model.accesses if a.writes]
    scalar = next(n for n, v in model.space.names.launch.items() if v is not None and v.name == "steps")
    for (number, *counters), phase in expected.items():
        scope = writes[number].scope
        here = [equal(Linear.of(scalar), Linear.constant(steps))]
        here += [equal(Linear.of(n), Linear.constant(c)) for n, c in zip(phases.counters(scope.order), counters, strict=True)]
        formula = phases.formula(phases.of(scope)[0])
        assert not phases.lost
        found = [interval_of(model.space.set([slot], [*here, formula])) for slot in phases.slots]
        assert found == [(value, value) for value in phase], (number, counters)
