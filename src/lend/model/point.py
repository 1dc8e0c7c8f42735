"""A point of the walk through a kernel: the scope there, its static order, and what is known.

Does: hold what the walk has made so far, and answer what the facts at this point imply.  Does not: say what an operation
does, which the classes made from this one do.

Invariants: names made at host level are launch constants: they do not change while a region runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from lend.ir import typed
from lend.ir.typed import Value
from lend.model.aliases import Aliases
from lend.model.evaluate import LARGEST_SIZE, Evaluator
from lend.model.linear import Formula, Linear, both, is_known, names_of, negate
from lend.model.records import Control, Model, Order, Scope
from lend.model.relevance import relevant
from lend.model.sets import Space


class Point(Evaluator):
    """The walk's state."""

    def __init__(self, kernel: typed.Kernel, fixed: Mapping[Value, int] | None) -> None:
        super().__init__(fixed)
        self.kernel = kernel
        self.space = Space(self.names)
        self.model = Model(kernel, self.space, self, Aliases(kernel))
        self.scope = Scope()
        self.region: int | None = None
        self.position = 0
        self.relevant = relevant(kernel)

    def visit(self, operation: typed.Operation) -> None:
        """One operation (`build.py`)."""
        raise NotImplementedError

    def known(self, formula: Formula) -> bool:
        """Whether the facts here imply a formula. What that rests on is in `relied` until the next question."""
        shown = self.space.empty([both(self.scope.facts, negate(formula))], [])
        self.relied = ()
        if shown:
            self.asked = True
            closure = self.space.closure({*names_of(self.scope.facts), *names_of(formula)})
            self.relied = self.rests_on(closure, (self.scope.facts, formula))
        return shown

    def facts(self) -> Formula:
        """What holds at this point."""
        return self.scope.facts

    def bounded(self, expression: Linear) -> bool:
        """A free name of great range that no fact mentions stays unbounded: there is no need to ask."""
        mentioned = set(names_of(self.scope.facts))
        for name in expression.names():
            low, high = self.names.ranges[name]
            if name in self.names.free and high - low > LARGEST_SIZE and name not in mentioned:
                return False
        return True

    def loops(self) -> tuple[str, ...]:
        """The counters of the loops around this point, and the indices of the region."""
        return (*self.scope.counters, *self.scope.threads)

    def numbered(self) -> int:
        """The next static position."""
        self.position += 1
        return self.position

    def determined(self, formula: Formula) -> bool:
        """Whether sizes, scalars, indices and counters decide a condition, as far as is known, and no data."""
        return is_known(formula) and not set(self.space.closure(names_of(formula))) & self.names.opaque

    def controlled(
        self, scope: Scope, operation: typed.If | typed.For | typed.While, place: Order, fact: Formula, exact: bool = True
    ) -> Scope:
        """The scope inside a branch or a loop, which threads of a block remember."""
        if scope.team is None:
            return scope
        opaque = not (exact and self.determined(fact))
        return replace(scope, controls=(*scope.controls, Control(operation, place, fact, opaque)))

    def mark(self) -> tuple[int, ...]:
        """How much the model holds now."""
        return tuple(map(len, self._kept()))

    def roll_back(self, mark: tuple[int, ...]) -> None:
        """Forget what has come into the model since then: it is to be visited again."""
        for kept, length in zip(self._kept(), mark, strict=True):
            del kept[length:]
        for joint in list(self.model.joint_writes)[mark[-1] :]:
            del self.model.joint_writes[joint]

    def _kept(self) -> tuple[list[Any], ...]:
        model = self.model
        return (
            model.accesses,
            model.divisions,
            model.regions,
            model.lendings,
            model.teams,
            model.barriers,
            list(model.joint_writes),
        )

    def here(self) -> Scope:
        """The scope of an access at this point."""
        return replace(self.scope, order=(*self.scope.order, self.numbered()))

    def inside(self, scope: Scope, operations: Iterable[typed.Operation]) -> Scope:
        """Visit operations in another scope. Where that ends."""
        saved, self.scope = self.scope, scope
        for operation in operations:
            self.visit(operation)
        end, self.scope = self.here(), saved
        return end
