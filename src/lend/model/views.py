"""Arrays as parts of other arrays: where each element of a view lies in the array that it was made from.

Does: compose views, and find an element's place in the root.  Does not: check bounds, or look at the program.

Invariants: a view whose `origin` is None may lie anywhere in its root.
"""

from __future__ import annotations

from lend.diagnostics.records import dataclass
from lend.ir.typed import Value
from lend.model.linear import Linear
from lend.model.records import Access


@dataclass(frozen=True)
class View:
    """What an array value is: a root and, per root dimension, its subscript as a function of the view's own (`slots`)."""

    root: Value
    shape: tuple[Linear, ...]
    origin: tuple[Linear, ...] | None  # None: the mapping is not linear
    strides: tuple[tuple[int, int] | None, ...] = ()  # per root dimension: the view dimension that moves it, and by how much
    through: tuple[Access, ...] = ()


def whole(root: Value, shape: tuple[Linear, ...]) -> View:
    """An array as a view of itself."""
    zero = Linear.constant(0)
    return View(root, shape, tuple(zero for _ in shape), tuple((k, 1) for k in range(len(shape))))


def locate(view: View, subscripts: tuple[Linear, ...]) -> tuple[Linear, ...] | None:
    """An element of a view in its root's dimensions."""
    if view.origin is None:
        return None
    return tuple(
        start if move is None else start.add(subscripts[move[0]], move[1])
        for start, move in zip(view.origin, view.strides, strict=True)
    )


def compose(base: View, shape: tuple[Linear, ...], starts: list[Linear], moves: list[tuple[int, int] | None]) -> View:
    """A view of a view."""
    assert base.origin is not None
    origin: list[Linear] = []
    strides: list[tuple[int, int] | None] = []
    for start, move in zip(base.origin, base.strides, strict=True):
        if move is None:
            origin.append(start)
            strides.append(None)
            continue
        inner, factor = move
        origin.append(start.add(starts[inner], factor))
        following = moves[inner]
        strides.append(None if following is None else (following[0], following[1] * factor))
    return View(base.root, shape, tuple(origin), tuple(strides))
