"""Whether an array is written whole at a point of the host level, under whichever name.

Does: follow arrays through branches, loops and reshapes to what they are made from.  Does not: look inside parallel loops.

Invariants: nothing takes content away, so that what is whole once stays whole. Arrays that loops carry are whole in every
iteration if they are before the loop and at the end of an iteration that begins with them whole: the greatest set of arrays that
keeps this up.

Example: `u, t = t, u` at the end of each step, where both were written before the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from lend.checks.decide import Decision
from lend.ir.typed import Value
from lend.language.types import scalars_of
from lend.model.linear import Linear
from lend.model.records import Access, Dimension, Model, Scope

Path = tuple[int, ...]
"""The way to a scalar of a record."""

Covered = Callable[[Access, list[Access]], Decision]
"""Whether every instance of a read is covered by one of some writes."""


class Content:
    """The answers for one kernel: `tracked` are the arrays that begin without content, `writes` those that are sure."""

    def __init__(self, model: Model, tracked: set[Value], writes: Sequence[Access], covered: Covered) -> None:
        self.model = model
        self.tracked = tracked
        self.writes = writes
        self.covered = covered
        self.assumptions: set[str] = set()  # on which all answers so far rest
        self.born = {(root, path) for root in model.births if self.empty(root) for path in scalars_of(root.array.element)}
        failing = set(self.born)
        while failing:
            failing = {born for born in self.born if not self._kept(*born)}
            self.born -= failing

    def empty(self, root: Value) -> bool:
        """Whether an array may be one that begins without content."""
        base = self.model.aliases.base.get(root)
        return base is None or bool(self.model.aliases.roots[base] & self.tracked)

    def known(self, root: Value) -> bool:
        """Whether the writes of an array under this name are all that gives it content since it has the name."""
        return root in self.tracked or root in self.model.births

    def whole(self, root: Value, path: Path, scope: Scope) -> Decision:
        """Whether a scalar of each element of an array has been written when a place is reached."""
        while root in self.model.reshaped:
            root = self.model.reshaped[root]
        if (root, path) in self.born or not self.empty(root):
            return Decision("never", assumptions=tuple(sorted(self.assumptions)))
        if not self.known(root):
            return Decision("may", "it is reached under another name than it is written in")
        shape = self.model.shapes[root]
        names = self.model.space.element_names(len(shape))
        element = tuple(map(Linear.of, names))
        bounds = tuple(Dimension(k, index, size) for k, (index, size) in enumerate(zip(element, shape, strict=True)))
        read = Access(cast(Any, None), False, root, element, bounds, scope, None, path)
        decision = self.covered(read, [w for w in self.writes if w.root is root and w.within == path])
        if decision.kind == "never":
            self.assumptions.update(decision.assumptions)
        return decision

    def _kept(self, root: Value, path: Path) -> bool:
        return all(self.whole(source.root, path, scope).kind == "never" for source, scope in self.model.births[root].sources)
