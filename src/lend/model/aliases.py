"""Which array values may be the same memory.

Does: follow arrays through views, branches, loops and calls to the arguments and temporaries they may be.
Does not: compare elements of one array.
Invariants: arguments lent exclusively are disjoint from all others (the call saw to it), and so is each temporary; two
loop-carried arrays are disjoint if they are before the loop and stay so in an iteration that begins with them disjoint.
"""

from __future__ import annotations

from lend.ir import typed
from lend.ir.typed import Region, Value
from lend.language.types import ArrayType, Borrow


class Aliases:
    """The answers for one kernel."""

    def __init__(self, kernel: typed.Kernel) -> None:
        self.base: dict[Value, Value] = {}
        self.roots: dict[Value, frozenset[Value]] = {}
        self.disjoint: set[frozenset[Value]] = set()
        for parameter in kernel.parameters:
            if isinstance(parameter.value.type, ArrayType):
                self._root(parameter.value)
        changed = True
        refuted: set[frozenset[Value]] = set()
        while changed:
            before = dict(self.roots), set(refuted)
            self.disjoint = set()  # found anew: what was disjoint in an earlier round may not be
            self._region(kernel.body, refuted)
            changed = (self.roots, refuted) != before

    def overlap(self, a: Value, b: Value) -> bool:
        """Whether two array values may share memory."""
        x, y = self.base[a], self.base[b]
        if x is y:
            return True
        if frozenset((x, y)) in self.disjoint:
            return False
        shared = self.roots[x] & self.roots[y]
        if shared:
            return True
        # Two arguments that are only read may be the same array.
        return all(r.array.borrow is Borrow.REF for r in (*self.roots[x], *self.roots[y]))

    def _root(self, value: Value) -> None:
        self.base.setdefault(value, value)
        self.roots.setdefault(value, frozenset((value,)))

    def _same(self, value: Value, other: Value) -> None:
        self.base[value] = self.base[other]
        self.roots[value] = self.roots[self.base[other]]

    def _join(self, value: Value, others: list[Value]) -> None:
        known = frozenset(r for other in others if other in self.base for r in self.roots[self.base[other]])  # may hold `value`
        self.base[value] = value
        self.roots[value] = self.roots.get(value, frozenset()) | known

    def _region(self, region: Region, refuted: set[frozenset[Value]]) -> None:
        for operation in region.operations:
            match operation:
                case typed.Allocate() | typed.Local():
                    self._root(operation.result)
                case typed.View() | typed.Reshape():
                    self._same(operation.result, operation.array)
                case typed.If():
                    self._region(operation.then, refuted)
                    self._region(operation.orelse, refuted)
                    self._merge(operation.results, [operation.then.yields, operation.orelse.yields])
                case typed.Call():
                    for parameter, argument in zip(operation.body.parameters, operation.arguments, strict=True):
                        if isinstance(parameter.type, ArrayType):
                            self._same(parameter, argument)
                    self._region(operation.body, refuted)
                    for result, value in zip(operation.results, operation.body.yields, strict=True):
                        if isinstance(result.type, ArrayType):
                            self._same(result, value)
                case typed.For():
                    self._loop(operation, operation.body.parameters[1:], refuted)
                case typed.While():
                    for parameter, other in zip(operation.condition.parameters, operation.body.parameters, strict=True):
                        if isinstance(parameter.type, ArrayType):
                            self._join(parameter, [other])
                    self._region(operation.condition, refuted)
                    self._loop(operation, operation.body.parameters, refuted)
                case typed.Parallel():
                    self._region(operation.body, refuted)
                case _:
                    pass

    def _merge(self, results: tuple[Value, ...], paths: list[tuple[Value, ...]]) -> None:
        arrays = [k for k, result in enumerate(results) if isinstance(result.type, ArrayType)]
        for k in arrays:
            self._join(results[k], [path[k] for path in paths])
        for i in arrays:
            for j in arrays:
                if i < j and all(not self.overlap(path[i], path[j]) for path in paths):
                    self.disjoint.add(frozenset((results[i], results[j])))

    def _loop(self, operation: typed.For | typed.While, carried: tuple[Value, ...], refuted: set[frozenset[Value]]) -> None:
        yields = operation.body.yields[1:] if operation.stops else operation.body.yields
        arrays = [k for k, parameter in enumerate(carried) if isinstance(parameter.type, ArrayType)]
        for k in arrays:
            self._join(carried[k], [operation.inits[k], yields[k]])
            self._join(operation.results[k], [operation.inits[k], yields[k]])
        pairs = [(i, j) for i in arrays for j in arrays if i < j]
        for i, j in pairs:
            inside = frozenset((carried[i], carried[j]))
            if inside not in refuted and not self.overlap(operation.inits[i], operation.inits[j]):
                self.disjoint.add(inside)
                self.disjoint.add(frozenset((operation.results[i], operation.results[j])))
        self._region(operation.body, refuted)
        for i, j in pairs:
            inside = frozenset((carried[i], carried[j]))
            if inside in self.disjoint and self.overlap(yields[i], yields[j]):
                refuted.add(inside)
                refuted.add(frozenset((operation.results[i], operation.results[j])))
                self.disjoint -= refuted
