"""How arrays pass from value to value: through calls, branches and loops that carry or swap them.

Does: run an analysis of array values to its fixpoint.  Does not: know what is analysed (`roots.py`, `shapes.py`).
Invariants: what is learnt of a value only grows (`changed` says so), so that the end is reached, in whatever order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from lend.ir.typed import Call, For, If, Kernel, Operation, Region, Value, While
from lend.language.types import ArrayType


class ArrayFlow(ABC):
    """One fixpoint computation."""

    def __init__(self) -> None:
        self.changed = False

    @abstractmethod
    def made(self, operation: Operation) -> None:
        """Learn from an operation that makes arrays: an allocation, a local array, a view, a reshape."""

    @abstractmethod
    def become(self, target: Value, source: Value) -> None:
        """Learn that the array `target` may be what the array `source` is."""

    def solve(self, kernel: Kernel) -> None:
        """Learn all there is to learn from the kernel's body."""
        self.changed = True
        while self.changed:
            self.changed = False
            self._region(kernel.body)

    def _flow(self, sources: Iterable[Value], targets: Iterable[Value]) -> None:
        for source, target in zip(sources, targets, strict=True):
            if isinstance(target.type, ArrayType):
                self.become(target, source)

    def _region(self, region: Region) -> None:
        for operation in region.operations:
            self._operation(operation)

    def _operation(self, operation: Operation) -> None:
        match operation:
            case If(results=results, then=then, orelse=orelse):
                for branch in (then, orelse):
                    self._region(branch)
                    self._flow(branch.yields, results)
            case Call(results=results, arguments=arguments, body=body):
                self._flow(arguments, body.parameters)
                self._region(body)
                self._flow(body.yields, results)
            case For(results=results, inits=inits, body=body, stops=stops):
                self._region(body)
                for source in (inits, body.yields[1 if stops else 0 :]):
                    for target in (body.parameters[1:], results):
                        self._flow(source, target)
            case While(results=results, inits=inits, condition=condition, body=body, stops=stops):
                self._region(condition)
                self._region(body)
                for source in (inits, body.yields[1 if stops else 0 :]):
                    for target in (condition.parameters, body.parameters, results):
                        self._flow(source, target)
            case _:
                for inner in operation.regions:
                    self._region(inner)
                if any(isinstance(result.type, ArrayType) for result in operation.results):
                    self.made(operation)
