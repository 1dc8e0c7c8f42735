"""Which memory each array value can be a view of, for LLVM's alias analysis.

Does: compute for every array value of a kernel its *roots*: the parameters, temporaries and local arrays it may come from.
Does not: emit anything (`aliases.py` does).
Invariants: a value's set holds every root it can have at run time, through views, branches, calls and loops that swap arrays
(a fixpoint); roots themselves are pairwise disjoint: the call checked that for borrows of which one is exclusive, and reads of
two shared borrows never conflict. Two temporaries of one `Allocate` in a loop share a root.
"""

from __future__ import annotations

from lend.diagnostics.errors import InternalError
from lend.ir.typed import Allocate, Kernel, Local, Operation, Reshape, Shared, Value, View
from lend.language.types import ArrayType
from lend.lower.array_flow import ArrayFlow

Roots = dict[Value, frozenset[int]]


class _Finder(ArrayFlow):
    """One fixpoint computation."""

    def __init__(self) -> None:
        super().__init__()
        self.roots: Roots = {}
        self._numbers: dict[Value, int] = {}

    def root(self, value: Value) -> None:
        """A value that is a root."""
        self._add(value, frozenset((self._numbers.setdefault(value, len(self._numbers)),)))

    def become(self, target: Value, source: Value) -> None:
        self._add(target, self.roots.get(source, frozenset()))

    def made(self, operation: Operation) -> None:
        match operation:
            case Allocate(result=result) | Local(result=result) | Shared(result=result):
                self.root(result)
            case View(result=result, array=array) | Reshape(result=result, array=array):
                self.become(result, array)
            case _:
                raise InternalError("an operation that makes arrays in a way of its own", operation.span)

    def _add(self, value: Value, roots: frozenset[int]) -> None:
        old = self.roots.get(value, frozenset())
        if not roots <= old:
            self.roots[value] = old | roots
            self.changed = True


def find_roots(kernel: Kernel) -> Roots:
    """The roots of every array value of `kernel`, as numbers."""
    finder = _Finder()
    for parameter in kernel.parameters:
        if isinstance(parameter.value.type, ArrayType):
            finder.root(parameter.value)
    finder.solve(kernel)
    return finder.roots
