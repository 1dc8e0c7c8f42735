"""Where generated programs take their decisions from: Hypothesis in tests, a seeded generator in long campaigns."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Choices:
    """Decisions, each a number below a bound. The first of several is the simplest."""

    def __init__(self, below: Callable[[int], int]) -> None:
        self.below = below

    def pick(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[self.below(len(options))]

    def often(self, options: Sequence[tuple[int, T]]) -> T:
        """One of (weight, option)."""
        number = self.below(sum(weight for weight, _ in options))
        for weight, option in options:
            number -= weight
            if number < 0:
                return option
        raise AssertionError

    def chance(self, percent: int) -> bool:
        """True in so many of a hundred cases."""
        return self.below(100) >= 100 - percent


def seeded(seed: Any) -> Choices:
    """Decisions that depend on a seed only."""
    return Choices(random.Random(str(seed)).randrange)


FROM_HYPOTHESIS = 400
"""So many decisions Hypothesis takes itself; it drops programs that need many more."""


@st.composite
def choices(draw: Any) -> Choices:
    """Decisions that Hypothesis takes, one by one at first, and the rest by a seed."""
    rest = random.Random(draw(st.integers(0, 2**32 - 1)))
    taken = 0

    def below(bound: int) -> int:
        nonlocal taken
        taken += 1
        return draw(st.integers(0, bound - 1)) if taken <= FROM_HYPOTHESIS else rest.randrange(bound)

    return Choices(below)
