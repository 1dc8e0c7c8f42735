"""Which array sizes of a kernel are known before its body starts.

Does: find, for every array value and dimension, the number, the dim or the parameter's size that it always equals, through calls,
branches and loops that carry or swap arrays (a fixpoint).
Does not: follow sizes that are computed on the way.
Invariants: a size is known only if every array that the value can be has it.

Example: in `u, v = v, u` of two borrows of size N, both have size N after any number of rounds.
"""

from __future__ import annotations

from collections.abc import Iterable

from lend.ir.typed import Allocate, Call, For, If, Kernel, Local, Operation, Region, Value, While
from lend.language.types import ArrayType
from lend.plan.cost import ArraySize

KnownSize = int | Value | ArraySize | None
"""A number, a dim of the kernel, a size of one of its parameters; None for all else."""
Shapes = dict[Value, tuple[KnownSize, ...]]


class _Finder:
    """One fixpoint computation. A value without a shape has not been reached yet."""

    def __init__(self, kernel: Kernel) -> None:
        self.dims = frozenset(kernel.dims)
        self.shapes: Shapes = {}
        self.changed = True

    def known(self, size: Value | int) -> KnownSize:
        return size if isinstance(size, int) or size in self.dims else None

    def join(self, value: Value, shape: tuple[KnownSize, ...]) -> None:
        old = self.shapes.get(value, shape)
        new = tuple(a if a == b else None for a, b in zip(old, shape, strict=True))
        if self.shapes.get(value) != new:
            self.shapes[value] = new
            self.changed = True

    def flow(self, sources: Iterable[Value], targets: Iterable[Value]) -> None:
        for source, target in zip(sources, targets, strict=True):
            if isinstance(target.type, ArrayType) and source in self.shapes:
                self.join(target, self.shapes[source])

    def region(self, region: Region) -> None:
        for operation in region.operations:
            self.operation(operation)

    def operation(self, operation: Operation) -> None:
        match operation:
            case Allocate(result=result, sizes=sizes) | Local(result=result, sizes=sizes):
                self.join(result, tuple(self.known(size) for size in sizes))
            case If(results=results, then=then, orelse=orelse):
                for branch in (then, orelse):
                    self.region(branch)
                    self.flow(branch.yields, results)
            case Call(results=results, arguments=arguments, body=body):
                self.flow(arguments, body.parameters)
                self.region(body)
                self.flow(body.yields, results)
            case For(results=results, inits=inits, body=body, stops=stops):
                self.flow(inits, body.parameters[1:])
                self.flow(inits, results)
                self.region(body)
                self.flow(body.yields[1 if stops else 0 :], body.parameters[1:])
                self.flow(body.yields[1 if stops else 0 :], results)
            case While(results=results, inits=inits, condition=condition, body=body, stops=stops):
                for source in (inits, body.yields[1 if stops else 0 :]):
                    for target in (condition.parameters, body.parameters, results):
                        self.flow(source, target)
                self.region(condition)
                self.region(body)
            case _:
                for inner in operation.regions:
                    self.region(inner)
                for result in operation.results:  # views and reshapes
                    if isinstance(result.type, ArrayType):
                        self.join(result, (None,) * result.type.dimensions)


def find_shapes(kernel: Kernel) -> Shapes:
    """The known sizes of every array value of `kernel`."""
    finder = _Finder(kernel)
    for parameter in kernel.parameters:
        if isinstance(parameter.value.type, ArrayType):
            declared = dict(enumerate(finder.known(size) for size in parameter.sizes))
            own = [ArraySize(parameter.value, k) for k in range(parameter.value.type.dimensions)]
            finder.join(parameter.value, tuple(own[k] if declared.get(k) is None else declared[k] for k in range(len(own))))
    while finder.changed:
        finder.changed = False
        finder.region(kernel.body)
    return finder.shapes
