"""Loops in the walk: sequential ones, and parallel ones, which are the model's regions.

Does: give each loop its counter or thread indices, with what its bounds say.  Does not: follow what it carries (`carried.py`).

Invariants: the facts of a loop hold in each iteration; where its step is not known, or it can be left early, it is not exact.
"""

from __future__ import annotations

from dataclasses import replace

from lend.ir import typed
from lend.ir.typed import Value
from lend.model.carried import Carried, between
from lend.model.evaluate import LARGEST_SIZE
from lend.model.linear import (
    TRUE,
    Formula,
    Linear,
    Unknown,
    at_least,
    both,
    either,
    equal,
)
from lend.model.records import THREADS, Division, RegionModel

LARGEST_COUNT = 1 << 64
"""No loop over 64-bit integers has more iterations."""


def shown(index: Value, otherwise: str) -> str:
    """What messages call an index: the user's name, but for `_`."""
    return index.name if index.name and index.name.strip("_") else otherwise


class Loops(Carried):
    """Sequential and parallel loops."""

    # -------------------------------------------------------------------------------------------------------------- sequential

    def for_loop(self, operation: typed.For) -> None:
        """A sequential loop: its counter m is 0, 1, … and the index `lower + m · step`."""
        lower, upper = self.number(operation.extent.lower), self.number(operation.extent.upper)
        step = self.number(operation.extent.step).value
        index = operation.body.parameters[0]
        if operation.site is not None:
            zero = equal(self.number(operation.extent.step), Linear.constant(0))
            self.model.divisions.append(Division(operation, zero, self.here(), self.region))
        saved_region = self.in_region
        counter = self.fresh("m", 0, LARGEST_SIZE * 4)
        if self.region is None:
            self.model.counters.add(counter)
        m = Linear.of(counter)
        if step:
            position = lower.add(m.scale(step))
            fact = at_least(upper, position.plus(1)) if step > 0 else at_least(position, upper.plus(1))
            following = position.plus(step)
            again = at_least(upper, following.plus(1)) if step > 0 else at_least(following, upper.plus(1))
            self.numbers[index] = position
            trips = self.count(lower, upper, step)
        else:
            self.numbers[index] = self.bounded_by(
                self.fresh(index.name or "i", *between(self.interval(lower), self.interval(upper)), free=True), lower, upper
            )
            fact, trips, again = Unknown(), None, TRUE
        exact = bool(step) and not operation.stops
        place = (*self.scope.order, self.numbered())
        scope = replace(
            self.controlled(self.scope.given(fact), operation, place, fact, exact),
            counters=(*self.scope.counters, counter),
            exact=self.scope.exact and exact,
            order=(*place, counter),
        )
        if not exact:
            scope = replace(scope, unsure=(*scope.unsure, scope.order))
        self.loop_body(
            operation.results,
            operation.inits,
            operation.body,
            operation.body.parameters[1:],
            scope,
            m if exact else None,
            trips if exact else None,
            operation.stops,
            again=again,
        )
        self.in_region = saved_region

    def while_loop(self, operation: typed.While) -> None:
        """A loop of unknown length: its condition holds at the start of each iteration."""
        counter = self.fresh("w", 0, LARGEST_SIZE * 4)
        place = (*self.scope.order, self.numbered())
        scope = self.controlled(self.scope, operation, place, Unknown())
        scope = replace(scope, counters=(*self.scope.counters, counter), exact=False, order=(*place, counter))
        scope = replace(scope, unsure=(*scope.unsure, scope.order))

        def enter(carried: tuple[Value, ...]) -> Formula:
            for parameter, value in zip(operation.condition.parameters, carried, strict=True):
                self.alias(parameter, value)
            for inner in operation.condition.operations:
                self.visit(inner)
            return self.condition(operation.condition.yields[0])

        self.loop_body(
            operation.results,
            operation.inits,
            operation.body,
            operation.body.parameters,
            scope,
            None,
            None,
            operation.stops,
            enter,
        )

    # ---------------------------------------------------------------------------------------------------------------- parallel

    def iteration_name(self, hint: str, lower: Linear, upper: Linear, step: int) -> str:
        """A count of iterations. Its range may lean on the moderate size of scalars that bound it; its definition does not."""
        _, high = self.interval(upper.sub(lower) if step > 0 else lower.sub(upper))
        leans = self.leans(lower, upper)
        name = self.fresh(hint, 0, LARGEST_COUNT if leans else max(high, 0))
        if leans:
            self.names.ranges[name] = (0, max(high, 0))
            self.leaning[name] = leans
            self.scalars.add(name)
        return name

    def inside_extent(self, index: Linear, lower: Linear, upper: Linear) -> Formula:
        """What is known of an index whose step is not: it lies between the bounds, on whichever side it walks."""
        forwards = both(at_least(index, lower), at_least(upper, index.plus(1)))
        return either(forwards, both(at_least(lower, index), at_least(index, upper.plus(1))))

    def parallel(self, operation: typed.Parallel | typed.Blocks) -> None:
        """A parallel loop, or a loop over blocks: a region of the model."""
        number = len(self.model.regions)
        threads: list[str] = []
        facts: Formula = TRUE
        indices: list[Linear] = []
        exact = True
        steps: list[tuple[Linear, Linear, int | None]] = []
        for extent in operation.box:
            steps.append((self.number(extent.lower), self.number(extent.upper), self.number(extent.step).value))
        if operation.site is not None:
            for extent in operation.box:
                step = self.number(extent.step)
                if step.value is None:
                    self.model.divisions.append(Division(operation, equal(step, Linear.constant(0)), self.here(), None))
                    self.nonlinear.update(step.names())
        self.in_region, self.region = True, number
        for (lower, upper, step), parameter in zip(steps, operation.body.parameters, strict=False):
            if step:
                name = self.iteration_name(parameter.name or "i", lower, upper, step)
                index = lower.add(Linear.of(name).scale(step))
                facts = both(facts, at_least(upper, index.plus(1)) if step > 0 else at_least(index, upper.plus(1)))
            else:  # iterations have different indices, whatever the step is
                name = self.fresh(parameter.name or "i", *between(self.interval(lower), self.interval(upper)))
                index = self.bounded_by(name, lower, upper)
                facts = both(facts, self.inside_extent(index, lower, upper))
                exact = False
            threads.append(name)
            self.numbers[parameter] = index
            self.model.indices[name] = shown(parameter, "block" if isinstance(operation, typed.Blocks) else "i"), index
            indices.append(index)
        for parameter in operation.body.parameters[len(indices) :]:
            self.unknown(parameter)
        scope = replace(
            self.scope.given(facts),
            threads=tuple(threads),
            exact=self.scope.exact and exact,
            order=(*self.scope.order, self.numbered(), THREADS),
        )
        if not exact:
            scope = replace(scope, unsure=(*scope.unsure, scope.order))
        self.model.regions.append(RegionModel(operation, number, scope, tuple(indices)))
        self.inside(scope, operation.body.operations)
        self.in_region, self.region = False, None
        for result in operation.results:
            self.unknown(result)
