"""Integer sets made from formulas are those that the library reads from the formulas' text."""

from __future__ import annotations

import random
from collections.abc import Sequence

import islpy as isl
import pytest

from lend.model.evaluate import Names
from lend.model.linear import FALSE, TRUE, All, Any_, AtLeastZero, Formula, Linear, Zero
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


def test_no_constraints_are_all_points_and_false_is_none() -> None:
    space = Space(Names())
    assert made(space, [TRUE]).is_equal(isl.Set("[m_2, n_1] -> { [i_3, j_4] }", space.context))
    assert made(space, []).is_equal(made(space, [TRUE]))
    assert made(space, [FALSE]).is_empty()


def test_parameters_and_dimensions_have_their_names() -> None:
    found = made(Space(Names()), [AtLeastZero(Linear((("i_3", 1), ("n_1", -2)), 3))])
    assert [found.get_dim_name(isl.dim_type.param, k) for k in range(2)] == ["m_2", "n_1"]
    assert [found.get_dim_name(isl.dim_type.set, k) for k in range(2)] == ["i_3", "j_4"]
