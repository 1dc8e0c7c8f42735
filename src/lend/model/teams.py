"""Blocks of threads in the walk: their threads, the barriers they meet, and loops that are unrolled for them.

Does: give each run of a block's threads its names, and note which values are the same in all of them.  Does not: order accesses
(`phases.py`), or decide whether all threads meet the same barriers (`check_barriers.py`).

Invariants: a held name stands for one value in all threads of a run; a loop is unrolled only if each of its iterations is known
to happen, and then nothing is left of it but its iterations, one after the other.

Example: `s = 16`, `while s > 0: ...; s //= 2` becomes five iterations, in which s is 16, 8, 4, 2 and 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from lend.ir import typed
from lend.ir.typed import Operation, Value
from lend.language.types import ArrayType
from lend.model.evaluate import I128
from lend.model.linear import FALSE, TRUE, Formula, Linear
from lend.model.loops import Loops, shown
from lend.model.records import TEAM, THREADS, Barrier, Team
from lend.model.uniform import divergence
from lend.model.unroll import is_linear
from lend.model.views import View

MOST_UNROLLED = 64
"""Iterations of a loop that is unrolled."""

MOST_VISITS = 1024
"""Iterations of all loops of a kernel that are unrolled."""

MOST_ACCESSES = 2048
"""Accesses of a kernel's model that unrolling may lead to."""


class Teams(Loops):
    """The threads of blocks."""

    def __init__(self, kernel: typed.Kernel, fixed: Mapping[Value, int] | None) -> None:
        super().__init__(kernel, fixed)
        self.visits = 0  # iterations unrolled so far
        self.unrolling = 0  # loops around this point that are being unrolled

    # ----------------------------------------------------------------------------------------------------------------- threads

    def threads(self, operation: typed.Threads) -> None:
        """The threads of a block, from the barrier before them to the one after."""
        assert self.region is not None
        held = set(self.names.definitions)
        names: list[str] = []
        lane = Linear.constant(0)
        for parameter, size in zip(operation.body.parameters, operation.sizes, strict=False):
            name = self.fresh(parameter.name or "t", 0, size - 1)
            names.append(name)
            self.numbers[parameter] = Linear.of(name)
            self.model.indices[name] = shown(parameter, "t"), Linear.of(name)
            lane = lane.scale(size).add(Linear.of(name))
        for parameter in operation.body.parameters[len(names) :]:
            self.unknown(parameter)
        number = len(self.model.teams)
        scope = replace(
            self.scope,
            threads=(*self.scope.threads, *names),
            order=(*self.scope.order, self.numbered(), TEAM),
            team=number,
        )
        self.model.teams.append(Team(operation, number, self.region, scope, held, lane))
        if id(operation) not in self.model.divergences:
            self.model.divergences[id(operation)] = divergence(operation, self.model.regions[self.region].operation.body)
            for inner in (operation, *inside_of(operation)):
                for region in inner.regions:
                    followed = zip(region.operations, region.operations[1:], strict=False)
                    self.model.closed.update(id(a) for a, b in followed if isinstance(b, typed.Sync))
        self.inside(scope, operation.body.operations)
        for result in operation.results:
            self.unknown(result)

    def barrier(self, operation: typed.Sync | typed.Subgroup) -> None:
        """A place where threads wait for each other."""
        assert self.scope.team is not None
        self.model.barriers.append(Barrier(operation, self.here()))
        if isinstance(operation, typed.Subgroup):
            team = self.model.teams[self.scope.team]
            if operation.size not in team.parts:
                part = self.quotient(team.lane, Linear.constant(operation.size), I128)
                assert part is not None
                team.parts[operation.size] = part
            if operation.operator == "sync":
                team.ordered.add(operation.size)
            for result in operation.results:
                self.unknown(result)

    def load(self, operation: typed.Load) -> None:
        """A load; of an array that nobody writes at this time, which the race proof says."""
        before = len(self.names.made)
        super().load(operation)
        self.name_condition(operation)
        self.hold(operation, before)

    def hold(self, operation: typed.Operation, before: int) -> None:
        """The names that an operation has made are held if its results are the same in all threads, and it is done once only."""
        team = self.model.teams[self.scope.team] if self.scope.team is not None else None
        if team is None or len(self.names.made) == before:
            return
        if not any(result in self.model.divergences[id(team.operation)].values for result in operation.results):
            names = team.held if self.scope.counters == team.scope.counters else team.together
            names.update(self.names.made[before:])

    def followed(self, value: Value) -> bool:
        """In blocks, of whole tiles that each block makes once, and where all threads mean the same one."""
        if self.region is None:
            return True
        if self.unrolling:  # one value is several arrays, one after the other
            return False
        aliases = self.model.aliases
        base = aliases.base[value]
        tiles = aliases.roots[base] - {base}
        if not tiles or not tiles <= self.model.shared or value in aliases.partial:
            return False
        for tile in tiles:
            made = self.model.made_at[tile]
            if any(isinstance(step, str) for step in made[made.index(THREADS) + 1 :]):  # a loop gives it no content again
                return False
        team = None if self.scope.team is None else self.model.teams[self.scope.team]
        return team is None or value not in self.model.divergences[id(team.operation)].values

    # --------------------------------------------------------------------------------------------------------------- unrolling

    def unrolled(self, operation: typed.For | typed.While) -> bool:
        """Visit a loop of a block iteration by iteration, if that tells more and can be done. Whether it was."""
        if self.region is None or not isinstance(self.model.regions[self.region].operation, typed.Blocks) or self.ideal:
            return False
        inner = list(inside_of(operation))
        if operation.stops or any(isinstance(o, typed.Shared | typed.Local) for o in inner):
            return False
        indices = self.indices_of(operation) if isinstance(operation, typed.For) else None
        if isinstance(operation, typed.For) and indices is None:
            return False
        defined = {v for o in inner for v in (*o.results, *(p for region in o.regions for p in region.parameters))}
        saved, mark = self.scope, self.mark()
        carried = [self.state(value) for value in operation.inits]
        self.unrolling += 1
        try:
            for number in range(MOST_UNROLLED + 1):
                if self.over(operation, indices, number, carried):
                    for result, state in zip(operation.results, carried, strict=True):
                        self.become(result, state)
                    return True
                self.once_more(operation, indices, number, carried)
                carried = [self.state(value) for value in operation.body.yields]
                self.forget(defined)
        except _Undecided:
            pass
        finally:
            self.unrolling -= 1
        self.forget(defined)
        self.scope = saved  # what was visited in vain counts: the next loop does not try as long
        self.roll_back(mark)
        return False

    def indices_of(self, operation: typed.For) -> range | None:
        """The indices of a loop, if they are numbers and it is worth knowing them one by one."""
        bounds = [self.number(v).value for v in (operation.extent.lower, operation.extent.upper, operation.extent.step)]
        lower, upper, step = bounds
        if lower is None or upper is None or not step or is_linear(operation, self.relevant):
            return None
        indices = range(lower, upper, step)
        return indices if len(indices) <= MOST_UNROLLED else None

    def over(self, operation: typed.For | typed.While, indices: range | None, number: int, carried: list[State]) -> bool:
        """Whether the loop has ended after so many iterations. Raises _Undecided."""
        if indices is not None:
            return number == len(indices)
        assert isinstance(operation, typed.While)
        for parameter, state in zip(operation.condition.parameters, carried, strict=True):
            self.become(parameter, state)
        for inner in operation.condition.operations:
            self.visit(inner)
        condition = self.condition(operation.condition.yields[0])
        if condition not in (TRUE, FALSE):
            raise _Undecided
        return condition == FALSE

    def once_more(self, operation: typed.For | typed.While, indices: range | None, number: int, carried: list[State]) -> None:
        """Visit the body for one iteration. Raises _Undecided if there have been too many."""
        if number == MOST_UNROLLED or self.visits == MOST_VISITS or len(self.model.accesses) > MOST_ACCESSES:
            raise _Undecided
        self.visits += 1
        parameters = operation.body.parameters
        if indices is not None:
            self.numbers[parameters[0]] = Linear.constant(indices[number])
            parameters = parameters[1:]
        for parameter, state in zip(parameters, carried, strict=True):
            self.become(parameter, state)
        for inner in operation.body.operations:
            self.visit(inner)

    def state(self, value: Value) -> State:
        """What a value is here."""
        if isinstance(value.type, ArrayType):
            return self.view_of(value)
        if value.type.kind == "bool":
            return self.condition(value)
        return self.number(value) if value.type.is_integer and value in self.relevant else None

    def become(self, value: Value, state: State) -> None:
        """Say what a value is."""
        if isinstance(state, View):
            self.views[value] = state
        elif isinstance(state, Linear):
            self.numbers[value] = state
        elif state is not None:
            self.conditions[value] = state

    def forget(self, values: set[Value]) -> None:
        """In another iteration they are others."""
        for value in values:
            self.numbers.pop(value, None)
            self.conditions.pop(value, None)
            self.views.pop(value, None)


class _Undecided(Exception):
    """A loop is not unrolled."""


State = Linear | Formula | View | None
"""What is known of a carried value: an integer, a condition, an array; of others nothing is kept."""


def inside_of(operation: Operation) -> Iterator[Operation]:
    """All operations in its regions."""
    for region in operation.regions:
        for inner in region.operations:
            yield inner
            yield from inside_of(inner)
