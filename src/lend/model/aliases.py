"""Which array values may be the same memory.

Does: follow arrays through views, branches, loops and calls to the arguments and temporaries they may be.
Does not: compare elements of one array.
Invariants: arguments lent exclusively are disjoint from all others (the call saw to it), and so is each temporary; two
loop-carried arrays are disjoint if they are before the loop and stay so in an iteration that begins with them disjoint. Inside a
parallel loop what a branch yields or a loop carries may be another array in each iteration: `overlap` speaks of one, `apart` and
`comparable` of two.
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
        self.partial: set[Value] = set()  # what may be a part of an array
        self.of_iteration: set[Value] = set()  # one of several, inside parallel loops
        self.of_thread: set[Value] = set()  # and in threads of a block
        for parameter in kernel.parameters:
            if isinstance(parameter.value.type, ArrayType):
                self._root(parameter.value)
        changed = True
        refuted: set[frozenset[Value]] = set()
        while changed:
            before = dict(self.roots), set(refuted), len(self.partial)
            self.disjoint = set()  # found anew: what was disjoint in an earlier round may not be
            self._region(kernel.body, refuted)
            changed = (self.roots, refuted, len(self.partial)) != before
        self._merged(kernel.body, False, False)

    def apart(self, a: Value, b: Value, threads: bool) -> bool:
        """Whether array values of two iterations of a parallel loop (or of two `threads` of one block) share no memory."""
        x, y = self.base[a], self.base[b]
        varying = self.of_thread if threads else self.of_iteration
        if x in varying or y in varying:  # `p, q = q, p` under a condition: one's p may be another's q
            return not self._share(x, y)
        return not self.overlap(a, b)

    def comparable(self, a: Value, b: Value, threads: bool) -> bool:
        """Whether equal subscripts, and only these, may be one element, in two iterations of a parallel loop, or threads."""
        if self.one(a, b, threads):
            return True
        varying = self.of_thread if threads else self.of_iteration
        merged = self.base[a] in varying or self.base[b] in varying
        return merged and not {a, b} & self.partial and a.array.dimensions == b.array.dimensions

    def one(self, a: Value, b: Value, threads: bool) -> bool:
        """Whether they are one array in all iterations of a parallel loop, or all threads."""
        return a is b and self.base[a] not in (self.of_thread if threads else self.of_iteration)

    def only_of(self, value: Value, arrays: set[Value]) -> bool:
        """Whether an array value always is one of these, or a part of one."""
        base = self.base[value]
        origins = self.roots[base] - {base}
        return base in arrays or (bool(origins) and origins <= arrays)

    def overlap(self, a: Value, b: Value) -> bool:
        """Whether two array values may share memory, in one iteration of all loops around them."""
        x, y = self.base[a], self.base[b]
        if x is y:
            return True
        if frozenset((x, y)) in self.disjoint:
            return False
        return self._share(x, y)

    def _share(self, x: Value, y: Value) -> bool:
        if x is y:
            return True
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
        if other in self.partial:
            self.partial.add(value)

    def _join(self, value: Value, others: list[Value]) -> None:
        known = frozenset(r for other in others if other in self.base for r in self.roots[self.base[other]])  # may hold `value`
        self.base[value] = value
        if any(other in self.partial for other in others):
            self.partial.add(value)
        self.roots[value] = self.roots.get(value, frozenset()) | known

    def _region(self, region: Region, refuted: set[frozenset[Value]]) -> None:
        for operation in region.operations:
            match operation:
                case typed.Allocate() | typed.Local() | typed.Shared():
                    self._root(operation.result)
                case typed.View() | typed.Reshape():
                    self._same(operation.result, operation.array)
                    self.partial.add(operation.result)
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
                case typed.Parallel() | typed.Blocks() | typed.Threads():
                    self._region(operation.body, refuted)
                case _:
                    pass

    def _merged(self, region: Region, iteration: bool, thread: bool) -> None:
        """Find the array values that are one of several inside parallel loops, and among threads."""
        for operation in region.operations:
            merging = isinstance(operation, typed.If | typed.For | typed.While)
            values = [*operation.results, *(p for inner in operation.regions for p in inner.parameters)] if merging else []
            arrays = [value for value in values if isinstance(value.type, ArrayType)]
            self.of_iteration.update(arrays if iteration else ())
            self.of_thread.update(arrays if thread else ())
            parallel, threads = isinstance(operation, typed.Parallel | typed.Blocks), isinstance(operation, typed.Threads)
            for inner in operation.regions:
                self._merged(inner, iteration or parallel, thread or threads)

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
