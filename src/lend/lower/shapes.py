"""Which array sizes of a kernel are known before its body starts.

Does: find, for every array value and dimension, the number, the dim or the parameter's size that it always equals, through calls,
branches and loops that carry or swap arrays (a fixpoint).
Does not: follow sizes that are computed on the way.
Invariants: a size is known only if every array that the value can be has it.

Example: in `u, v = v, u` of two borrows of size N, both have size N after any number of rounds.
"""

from __future__ import annotations

from lend.ir.typed import Allocate, Kernel, Local, Operation, Shared, Value
from lend.language.types import ArrayType
from lend.lower.array_flow import ArrayFlow
from lend.plan.cost import ArraySize

KnownSize = int | Value | ArraySize | None
"""A number, a dim of the kernel, a size of one of its parameters; None for all else."""
Shapes = dict[Value, tuple[KnownSize, ...]]


class _Finder(ArrayFlow):
    """One fixpoint computation. A value without a shape has not been reached yet."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self.dims = frozenset(kernel.dims)
        self.shapes: Shapes = {}

    def known(self, size: Value | int) -> KnownSize:
        """A size that is known before the body starts."""
        return size if isinstance(size, int) or size in self.dims else None

    def join(self, value: Value, shape: tuple[KnownSize, ...]) -> None:
        """A shape that a value may have."""
        old = self.shapes.get(value, shape)
        new = tuple(a if a == b else None for a, b in zip(old, shape, strict=True))
        if self.shapes.get(value) != new:
            self.shapes[value] = new
            self.changed = True

    def become(self, target: Value, source: Value) -> None:
        if source in self.shapes:
            self.join(target, self.shapes[source])

    def made(self, operation: Operation) -> None:
        match operation:
            case Allocate(result=result, sizes=sizes) | Local(result=result, sizes=sizes) | Shared(result=result, sizes=sizes):
                self.join(result, tuple(self.known(size) for size in sizes))
            case _:  # views and reshapes
                for result in operation.results:
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
    finder.solve(kernel)
    return finder.shapes
