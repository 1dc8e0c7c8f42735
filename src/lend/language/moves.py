"""What the compiler tells the runtime of an array lent for writing: which elements may be written, and whether it is read.

Does: hold it.  Does not: find it out (`checks/moves.py`), or evaluate it for a call (`runtime/moves.py`).
"""

from __future__ import annotations

from typing import NamedTuple

Place = tuple[bool, int]
"""Where a value stands in a binding: among the sizes (True) or the leaves, and its position there."""

Sum = tuple[int, tuple[tuple[bool, int, int], ...]]
"""A number, and places of a binding with the factors of what stands there."""

Bound = tuple[tuple[tuple[tuple[bool, Sum], ...], Sum], ...]
"""Conditions (of which each sum is zero, or at least zero) and the bound if they hold; if none do, nothing is written."""


class Move(NamedTuple):
    """One argument. `needed`: whether the kernel may use what it held before; `bounds`: the first and last element that may be
    written, by dimension; `moderate`: the scalars that all this supposes to be no larger than an array may be.
    """

    needed: bool
    bounds: tuple[tuple[Bound, Bound], ...]
    moderate: tuple[Place, ...]
