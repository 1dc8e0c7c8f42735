"""Integer sets made from formulas are those that the library reads from the formulas' text."""

from __future__ import annotations

import random
from collections.abc import Sequence

import islpy as isl
import pytest

from lend.model.evaluate import Names
from lend.model.linear import FALSE, TRUE, All, Any_, AtLeastZero, Formula, Linear, Zero
from lend.model.narrowing import narrowed
from lend.model.sets import Space

NAMES = ("n_1", "m_2", "i_3", "j_4", "k_5")
HUGE = 1 << 70


def text(formula: Formula) -> str:
    """A formula as the library writes it."""
    match formula:
        case AtLeastZero():
            return f"{formula.expression} >= 0"
        case Zero():
            return f"{formula.expression} = 0"
        case All():
            return "(" + " and ".join(map(text, formula.parts)) + ")" if formula.parts else "true"
        case Any_():
            return "(" + " or ".join(map(text, formula.parts)) + ")" if formula.parts else "false"
        case _:
            raise AssertionError(formula)


def random_formula(rng: random.Random, depth: int) -> Formula:
    """A formula over NAMES."""
    kind = rng.randrange(6) if depth else 5
    if kind < 4:
        parts = tuple(random_formula(rng, depth - 1) for _ in range(rng.randrange(4)))
        return All(parts) if kind < 2 else Any_(parts)
    terms = tuple(sorted((n, rng.choice((-3, -1, 1, 2))) for n in rng.sample(NAMES, rng.randrange(1, 4))))
    offset = rng.choice((-7, -1, 0, 1, 5, HUGE, -HUGE))
    return rng.choice((AtLeastZero, AtLeastZero, Zero))(Linear(terms, offset))


def made(space: Space, formulas: Sequence[Formula]) -> isl.Set:
    """`[n, m] -> { [i, j] : exists k: formulas }`."""
    return space.made(("m_2", "n_1"), ("i_3", "j_4"), tuple(formulas), ("k_5",))


@pytest.mark.parametrize("seed", range(60))
def test_a_formula_and_its_text_are_the_same_set(seed: int) -> None:
    rng = random.Random(seed)
    space = Space(Names())
    formulas = [random_formula(rng, 3) for _ in range(rng.randrange(1, 4))]
    want = isl.Set(f"[m_2, n_1] -> {{ [i_3, j_4] : exists k_5 : {text(All(tuple(formulas)))} }}", space.context)
    assert made(space, formulas).is_equal(want)


@pytest.mark.parametrize("seed", range(200))
def test_conjuncts_without_alternatives_that_others_rule_out_are_the_same_set(seed: int) -> None:
    rng = random.Random(f"narrowed {seed}")
    space = Space(Names())
    sums = [Linear((("i_3", 1), ("j_4", -1)), 0), Linear((("i_3", -1), ("j_4", 1)), 0), Linear((("n_1", 1),), 0)]

    def comparison() -> Formula:
        return rng.choice((AtLeastZero, Zero))(rng.choice(sums).plus(rng.randrange(-2, 3)))

    formulas: list[Formula] = [comparison() for _ in range(rng.randrange(3))]
    for _ in range(4):
        formulas.append(Any_(tuple(All(tuple(comparison() for _ in range(rng.randrange(1, 3)))) for _ in range(3))))
    assert made(space, narrowed(formulas)).is_equal(made(space, formulas))


def test_one_alternative_that_is_ruled_out_may_rule_out_others() -> None:
    apart = Linear((("i_3", 1), ("j_4", -1)), 0)
    n = Linear((("n_1", 1),), 0)
    formulas = [Zero(apart), Any_((AtLeastZero(apart.plus(-1)), AtLeastZero(n.plus(-5)))), Any_((Zero(n), Zero(apart)))]
    assert narrowed(formulas) == [Zero(apart), AtLeastZero(n.plus(-5))]


def test_no_constraints_are_all_points_and_false_is_none() -> None:
    space = Space(Names())
    assert made(space, [TRUE]).is_equal(isl.Set("[m_2, n_1] -> { [i_3, j_4] }", space.context))
    assert made(space, []).is_equal(made(space, [TRUE]))
    assert made(space, [FALSE]).is_empty()


def test_parameters_and_dimensions_have_their_names() -> None:
    found = made(Space(Names()), [AtLeastZero(Linear((("i_3", 1), ("n_1", -2)), 3))])
    assert [found.get_dim_name(isl.dim_type.param, k) for k in range(2)] == ["m_2", "n_1"]
    assert [found.get_dim_name(isl.dim_type.set, k) for k in range(2)] == ["i_3", "j_4"]


def named(*names: str) -> Space:
    """A space that knows these names; the first is a launch constant."""
    known = Names()
    for name in names:
        known.definitions[name] = TRUE
        known.made_in[name] = ()
    known.launch[names[0]] = None
    return Space(known)


def between(low: int, name: str, high: int) -> Formula:
    return All((AtLeastZero(Linear(((name, 1),), -low)), AtLeastZero(Linear(((name, -1),), high))))


def test_what_shares_no_name_with_a_question_changes_nothing_unless_it_cannot_be() -> None:
    space = named("n_1", "i_2", "j_3", "k_4")
    below = AtLeastZero(Linear((("i_2", -1), ("n_1", 1)), -1))
    plain = space.set(["i_2"], [between(0, "i_2", 9), below])
    apart = Any_((All((between(0, "j_3", 5), Zero(Linear((("j_3", 1), ("k_4", -2)), 0)))), between(7, "j_3", 8)))
    assert space.set(["i_2"], [between(0, "i_2", 9), below, apart]).is_equal(plain)
    assert not plain.is_empty()
    odd = All((between(3, "j_3", 3), Zero(Linear((("j_3", 1), ("k_4", -2)), 0))))  # 3 == 2 k
    assert space.set(["i_2"], [between(0, "i_2", 9), below, odd]).is_empty()


@pytest.mark.parametrize("seed", range(60))
def test_a_question_is_the_same_set_in_parts(seed: int) -> None:
    rng = random.Random(seed)
    space = named("n_1", "m_2", "i_3", "j_4", "k_5")
    formulas = [random_formula(rng, 2) for _ in range(rng.randrange(1, 6))]
    want = isl.Set(f"[n_1] -> {{ [i_3] : exists m_2, j_4, k_5 : {text(All(tuple(formulas)))} }}", space.context)
    found = space.set(["i_3"], formulas)
    if not found.find_dim_by_name(isl.dim_type.param, "n_1") < 0:
        assert found.is_equal(want)
    else:
        assert found.align_params(want.get_space()).is_equal(want)
