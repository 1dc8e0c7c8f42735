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


@st.composite
def choices(draw: Any) -> Choices:
    """Decisions that Hypothesis takes."""
    return Choices(lambda bound: draw(st.integers(0, bound - 1)))
