"""Which memory each array value can be a view of, for LLVM's alias analysis.

Does: compute for every array value of a kernel its *roots*: the parameters, temporaries and local arrays it may come from.
Does not: emit anything (`aliases.py` does).
Invariants: a value's set holds every root it can have at run time, through views, branches, calls and loops that swap arrays
(a fixpoint); roots themselves are pairwise disjoint: the call checked that for borrows of which one is exclusive, and reads of
two shared borrows never conflict. Two temporaries of one `Allocate` in a loop share a root.
"""

from __future__ import annotations

from collections.abc import Iterable

from lend.ir.typed import Allocate, Call, For, If, Kernel, Local, Operation, Region, Reshape, Value, View, While
from lend.language.types import ArrayType

Roots = dict[Value, frozenset[int]]


class _Finder:
    """One fixpoint computation."""

    def __init__(self) -> None:
        self.roots: Roots = {}
        self.changed = True
        self._numbers: dict[Value, int] = {}

    def root(self, value: Value) -> None:
        number = self._numbers.setdefault(value, len(self._numbers))
        self.add(value, frozenset((number,)))

    def add(self, value: Value, roots: frozenset[int]) -> None:
        old = self.roots.get(value, frozenset())
        if not roots <= old:
            self.roots[value] = old | roots
            self.changed = True

    def flow(self, sources: Iterable[Value], targets: Iterable[Value]) -> None:
        for source, target in zip(sources, targets, strict=True):
            if isinstance(target.type, ArrayType):
                self.add(target, self.roots.get(source, frozenset()))

    def region(self, region: Region) -> None:
        for operation in region.operations:
            self.operation(operation)

    def operation(self, operation: Operation) -> None:
        match operation:
            case Allocate(result=result) | Local(result=result):
                self.root(result)
            case View(result=result, array=array) | Reshape(result=result, array=array):
                self.flow([array], [result])
            case If(results=results, then=then, orelse=orelse):
                for branch in (then, orelse):
                    self.region(branch)
                    self.flow(branch.yields, results)
            case Call(results=results, arguments=arguments, body=body):
                self.flow(arguments, body.parameters)
                self.region(body)
                self.flow(body.yields, results)
            case For(results=results, inits=inits, body=body, stops=stops):
                carried, next_carried = body.parameters[1:], body.yields[1 if stops else 0 :]
                self.flow(inits, carried)
                self.region(body)
                self.flow(next_carried, carried)
                self.flow(carried, results)
                self.flow(next_carried, results)
            case While(results=results, inits=inits, condition=condition, body=body, stops=stops):
                next_carried = body.yields[1 if stops else 0 :]
                for source in (inits, next_carried):
                    for target in (condition.parameters, body.parameters, results):
                        self.flow(source, target)
                self.region(condition)
                self.region(body)
            case _:
                for inner in operation.regions:
                    self.region(inner)


def find_roots(kernel: Kernel) -> Roots:
    """The roots of every array value of `kernel`, as numbers."""
    finder = _Finder()
    for parameter in kernel.parameters:
        if isinstance(parameter.value.type, ArrayType):
            finder.root(parameter.value)
    while finder.changed:
        finder.changed = False
        finder.region(kernel.body)
    return finder.roots
