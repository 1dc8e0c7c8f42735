"""Copies that nobody could tell from what they were copied from.

Does: where a temporary is a copy of an array, and neither of them is written afterwards, let the array stand for it, and leave
out the copying.
Does not: look at copies in another layout or of sizes that are not plainly the array's own.
Invariants: whatever reads the copy finds the elements that the array had when it would have been copied; what a kernel returns is
no copy that was left out, since it belongs to the caller.

Example: `lend.as_unique(places, N)` copies `places`, in case it is written later; mostly it is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from lend.ir import typed
from lend.ir.typed import Operation, Parallel, Region, Value
from lend.language.types import ArrayType, Layout
from lend.model.aliases import Aliases

_READS = (typed.Load, typed.Size, typed.View, typed.Reshape, typed.Distinct, typed.Require)
"""What may be done with an array without writing it; regions pass it on."""


@dataclass(frozen=True, eq=False)
class _Copy:
    """A temporary, the array that the loop copies into it, and where."""

    own: Value
    source: Value
    made: typed.Allocate
    loop: Parallel
    position: int
    loops: tuple[Operation, ...]


@dataclass(frozen=True, eq=False)
class _Write:
    """An operation that may write an array."""

    array: Value
    position: int
    loops: tuple[Operation, ...]
    within: Parallel | None


class _Walk:
    """What a kernel makes, copies and writes, in the order of its text."""

    def __init__(self, kernel: typed.Kernel) -> None:
        self.constants: dict[Value, Any] = {}
        self.shapes: dict[Value, tuple[Value | int, ...]] = {}
        self.made_in: dict[Value, tuple[Operation, ...]] = {}
        self.copies: list[_Copy] = []
        self.writes: list[_Write] = []
        self._position = 0
        for parameter in kernel.parameters:
            if isinstance(parameter.value.type, ArrayType):
                self.shapes[parameter.value] = parameter.sizes
        self._region(kernel.body, ())

    def _region(self, region: Region, loops: tuple[Operation, ...]) -> None:
        for operation in region.operations:
            self._operation(operation, region, loops)

    def _operation(self, operation: Operation, region: Region, loops: tuple[Operation, ...]) -> None:
        self._position += 1
        match operation:
            case typed.Constant():
                self.constants[operation.result] = operation.value
            case typed.Allocate():
                self.shapes[operation.result] = operation.sizes
                self.made_in[operation.result] = loops
            case Parallel():
                self._copy(operation, region, loops)
                self._written(operation.body, loops, operation)
            case typed.Blocks():
                self._written(operation.body, loops, None)
            case typed.Call():
                for parameter, argument in zip(operation.body.parameters, operation.arguments, strict=True):
                    if argument in self.shapes:
                        self.shapes[parameter] = self.shapes[argument]
                self._region(operation.body, loops)
            case typed.For() | typed.While():
                for inner in operation.regions:
                    self._region(inner, (*loops, operation))
            case typed.If():
                for inner in operation.regions:
                    self._region(inner, loops)
            case _:
                self._write(operation, loops, None)

    def _written(self, region: Region, loops: tuple[Operation, ...], within: Parallel | None) -> None:
        for operation in region.operations:
            if not operation.regions:
                self._write(operation, loops, within)
            for inner in operation.regions:
                self._written(inner, loops, within)

    def _write(self, operation: Operation, loops: tuple[Operation, ...], within: Parallel | None) -> None:
        if isinstance(operation, _READS):
            return
        for value in operation.operands:
            if isinstance(value.type, ArrayType):
                self.writes.append(_Write(value, self._position, loops, within))

    def _copy(self, loop: Parallel, region: Region, loops: tuple[Operation, ...]) -> None:
        """Note a loop that copies an array whole into a temporary of the same region."""
        pair = _copied(loop)
        if pair is None:
            return
        own, source = pair
        made = next((o for o in region.operations if isinstance(o, typed.Allocate) and o.result is own), None)
        alike = own.array.element is source.array.element and own.array.layout is source.array.layout is Layout.C
        if made is None or not alike or source not in self.shapes or not self._same(self.shapes[source], made.sizes):
            return
        bounds = [(self.constants.get(extent.lower), self.constants.get(extent.step)) for extent in loop.box]
        if all(bound == (0, 1) for bound in bounds) and self._same(made.sizes, tuple(extent.upper for extent in loop.box)):
            self.copies.append(_Copy(own, source, made, loop, self._position, loops))

    def _same(self, sizes: tuple[Value | int, ...], others: tuple[Value | int, ...]) -> bool:
        """Whether sizes are plainly equal."""
        return len(sizes) == len(others) and all(self._plain(a) == self._plain(b) for a, b in zip(sizes, others, strict=True))

    def _plain(self, size: Value | int) -> Value | int:
        return self.constants.get(size, size) if isinstance(size, Value) else size


def without_copies(kernel: typed.Kernel) -> typed.Kernel:
    """The kernel without the copies that need not be made."""
    found = _Walk(kernel)
    if not found.copies:
        return kernel
    aliases = Aliases(kernel)
    body = kernel.body
    gone: set[Value] = set()
    for copy in found.copies:
        if copy.source not in gone and _superfluous(kernel, copy, found, aliases):  # of several in a row, one at a time
            body = _Replacer(copy).region(body)
            gone.add(copy.own)
    return replace(kernel, body=body)


def _superfluous(kernel: typed.Kernel, copy: _Copy, found: _Walk, aliases: Aliases) -> bool:
    """Whether nothing that is written, or returned, can tell the copy from its source."""

    def roots(value: Value) -> frozenset[Value]:
        return aliases.roots[aliases.base[value]]

    if any(copy.own in roots(value) for value in kernel.body.yields if isinstance(value.type, ArrayType)):
        return False
    sources = roots(copy.source)
    for write in found.writes:
        if copy.own in roots(write.array) and write.within is not copy.loop:
            return False
        if sources.isdisjoint(roots(write.array)):
            continue
        again = [loop for loop in copy.loops if loop in write.loops]  # where the copy lives when the array is written again
        fresh = all(loop in found.made_in.get(root, ()) for loop in again for root in sources)
        if write.position >= copy.position or not fresh:
            return False
    return True


def _copied(loop: Parallel) -> tuple[Value, Value] | None:
    """The temporary and the array, if a loop does nothing but `own[i, …] = source[i, …]`, which cannot fail."""
    if loop.reductions or len(loop.body.operations) != 2:
        return None
    load, store = loop.body.operations
    if not isinstance(load, typed.Load) or not isinstance(store, typed.Store):
        return None
    plain = load.site is None and store.site is None and load.path == store.path == ()
    indices = loop.body.parameters
    if plain and store.value is load.result and load.indices == store.indices == indices and load.array is not store.array:
        return store.array, load.array
    return None


class _Replacer:
    """Leaves a copy out, and lets its source stand for it."""

    def __init__(self, copy: _Copy) -> None:
        self._copy = copy

    def region(self, region: Region) -> Region:
        """A region; the same one if nothing changes."""
        operations = tuple(self._operations(region.operations))
        yields = tuple(self._value(value) for value in region.yields)
        same = len(operations) == len(region.operations) and all(
            a is b for a, b in zip(operations, region.operations, strict=True)
        )
        return region if same and yields == region.yields else Region(region.parameters, operations, yields)

    def _operations(self, operations: tuple[Operation, ...]) -> Iterator[Operation]:
        for operation in operations:
            if operation is not self._copy.made and operation is not self._copy.loop:
                yield self._operation(operation)

    def _operation(self, operation: Operation) -> Operation:
        changes: dict[str, Any] = {}
        for field in fields(operation):
            old = getattr(operation, field.name)
            new = self._part(old)
            if new is not old and new != old:
                changes[field.name] = new
        return replace(operation, **changes) if changes else operation

    def _part(self, part: Any) -> Any:
        if isinstance(part, Value):
            return self._value(part)
        if isinstance(part, Region):
            return self.region(part)
        if isinstance(part, tuple):
            return tuple(self._part(item) for item in part)  # pyright: ignore[reportUnknownVariableType]
        return part

    def _value(self, value: Value) -> Value:
        return self._copy.source if value is self._copy.own else value
