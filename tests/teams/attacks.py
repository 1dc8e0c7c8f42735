"""Team kernels that are wrong in ways that a check may overlook, each with arguments on which a run goes wrong.

Does: hold the table, which the modules `attacks_*.py` fill.  Does not: judge (`test_attacks.py`).
Invariants: each is defective; where one reason could hide another, there is only one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Attack:
    """A defective kernel, positional arguments that show it, and what is wrong."""

    function: Callable[..., Any]
    arguments: Callable[[], tuple[Any, ...]]
    kind: str  # in words of `Finding.kind`; more may come of it


ATTACKS: dict[str, Attack] = {}


def attack(kind: str, arguments: Callable[[], tuple[Any, ...]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function into `ATTACKS`."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        ATTACKS[function.__name__] = Attack(function, arguments, kind)
        return function

    return enter


def zeros(*sizes: int) -> Callable[[], tuple[Any, ...]]:
    """Arrays of zeros, one for each size."""
    return lambda: tuple(np.zeros(size) for size in sizes)
