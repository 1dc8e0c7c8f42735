"""Which operations of a loop over threads all threads of a launch's block run, those without work too.

Does: find what holds a barrier or an operation of a sub-group, and all that decides the way there.
Does not: ask whether threads agree on it (`checks/check_barriers.py` does).
Invariants: what decides is the same in all threads of the loop, so that a thread that runs it with another's indices finds the
same, touches only what that thread touches, and goes the same way. Everything else is left to threads that have work.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from lend.ir import typed
from lend.ir.typed import Operation, Region, Value
from lend.model.uniform import divergence


def waits(operation: Operation) -> bool:
    """Whether there is something in an operation that several threads have to meet at."""
    if isinstance(operation, typed.Sync | typed.Subgroup):
        return True
    return any(waits(inner) for region in operation.regions for inner in region.operations)


class Meetings:
    """What is found in one loop over threads; nothing for None."""

    def __init__(self, threads: typed.Threads | None) -> None:
        self._decides: set[Value] = set()
        self._split: set[int] = set()
        self._apart: set[int] = set()
        self._threads = threads
        if threads is None:
            return
        self._makers: dict[Value, Operation] = {}
        self._parameters: dict[Value, list[Value]] = {}
        self._index(threads.body)
        for operation in _all(threads.body):
            if operation.regions and waits(operation):
                self._take(operation)

    def by_all(self, operation: Operation) -> bool:
        """Whether threads without work run an operation, or, if it has regions, go through it."""
        if isinstance(operation, typed.Sync | typed.Subgroup | typed.Local) or id(operation) in self._split:
            return True
        return not operation.regions and any(result in self._decides for result in operation.results)

    def apart(self, operation: typed.Subgroup) -> bool:
        """Whether sub-groups may get to an operation on their own."""
        threads = self._threads
        assert threads is not None
        if not self._apart:
            controls = divergence(threads, threads.body).controls
            self._apart = {0, *_inside(threads.body, controls.keys())}
        return id(operation) in self._apart

    def _index(self, region: Region) -> None:
        """Where values come from."""
        for operation in region.operations:
            for result in operation.results:
                self._makers[result] = operation
            match operation:
                case typed.For(extent=extent, inits=inits, body=body, stops=stops):
                    self._parameters[body.parameters[0]] = [extent.lower, extent.upper, extent.step]
                    self._carried(body.parameters[1:], inits, body.yields[1 if stops else 0 :])
                case typed.While(inits=inits, condition=condition, body=body, stops=stops):
                    following = body.yields[1 if stops else 0 :]
                    self._carried(condition.parameters, inits, following)
                    self._carried(body.parameters, inits, following)
                case typed.Call(arguments=arguments, body=body):
                    self._carried(body.parameters, arguments, arguments)
                case _:
                    pass
            for inner in operation.regions:
                self._index(inner)

    def _carried(self, parameters: tuple[Value, ...], inits: tuple[Value, ...], following: tuple[Value, ...]) -> None:
        for parameter, init, value in zip(parameters, inits, following, strict=True):
            self._parameters[parameter] = [init, value]

    def _take(self, operation: Operation) -> None:
        """All threads go through an operation with regions: what decides the way is needed."""
        if id(operation) in self._split:
            return
        self._split.add(id(operation))
        match operation:
            case typed.If(condition=condition):
                self._need(condition)
            case typed.For(extent=extent, body=body, stops=stops):
                self._need(extent.lower, extent.upper, extent.step, *body.yields[: 1 if stops else 0])
            case typed.While(condition=condition, body=body, stops=stops):
                self._need(condition.yields[0], *body.yields[: 1 if stops else 0])
            case _:
                pass

    def _need(self, *values: Value) -> None:
        """Values that all threads work out."""
        waiting = list(values)
        while waiting:
            value = waiting.pop()
            if value in self._decides:
                continue
            self._decides.add(value)
            if value in self._parameters:
                waiting += self._parameters[value]
            maker = self._makers.get(value)
            if maker is None:
                continue
            if not maker.regions:
                waiting += maker.operands
                continue
            self._take(maker)
            position = maker.results.index(value)
            match maker:
                case typed.If(then=then, orelse=orelse):
                    waiting += [then.yields[position], orelse.yields[position]]
                case typed.For(inits=inits, body=body, stops=stops) | typed.While(inits=inits, body=body, stops=stops):
                    waiting += [inits[position], body.yields[position + (1 if stops else 0)]]
                case _:
                    waiting.append(maker.regions[0].yields[position])


def _all(region: Region) -> Iterator[Operation]:
    for operation in region.operations:
        yield operation
        for inner in operation.regions:
            yield from _all(inner)


def _inside(region: Region, controls: Container[int]) -> Iterator[int]:
    """The operations of sub-groups under branches and loops whose threads may part."""
    for operation in region.operations:
        for inner in operation.regions:
            if id(operation) in controls:
                yield from (id(o) for o in _all(inner) if isinstance(o, typed.Subgroup))
            else:
                yield from _inside(inner, controls)
