"""Which parallel loops a device may run with several neighbouring iterations in each thread, in lockstep: packs.

Does: say for a loop whether it can be so written, which accesses of a pack lie beside each other in memory, and what must be a
multiple of what at the launch for these to be accesses of up to 16 bytes.
Does not: write code (`lower/device/packs.py`).
Invariants: only loops whose iterations are proved independent and which keep no check; within each iteration operations keep
their order, so packs change no result. A pack begins at an index that is a multiple of its length, so that where an access of
constant distance from the index lies is known.

Example: four elements for each thread of `for i, j in grid(N, M): v[i, j] = u[i, j] + u[i, j + 1]` make one load and one store of
16 bytes of f32 wherever rows of both arrays begin at multiples of 16 bytes, and four loads of `u[i, j + 1]`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum, auto

from lend.diagnostics.records import dataclass
from lend.ir import typed
from lend.ir.typed import Load, Operation, Parallel, Region, Store, Value
from lend.language.types import Layout, ScalarType, size_of
from lend.plan.variation import Variations

WIDEST = 16
"""Bytes of the widest access of a thread."""
MOST_OPERATIONS = 2048
"""Of a pack: its body is written once for each element."""


@dataclass(frozen=True, eq=False)
class Packs:
    """How many iterations a thread runs; where the first element of each access lies that has the others beside it, counted in
    elements modulo their number; and along which dimension of which captured arrays such accesses go."""

    elements: int
    variations: Variations
    places: Mapping[Operation, int]
    arrays: tuple[tuple[Value, int], ...]

    def shared(self, value: Value) -> bool:
        """Whether a value is the same for all iterations of a pack that run an operation together."""
        return self.variations.of(value)[-1] == 0

    def unit(self, size: int) -> int:
        """What the start of each row is a multiple of at the launch, in bytes, for elements of that size."""
        return min(WIDEST, self.elements * size)

    def alignment(self, operation: Operation, element: int, size: int) -> int:
        """What the address of one element of an access is a multiple of, in bytes; 1 if that is not known."""
        place = self.places.get(operation)
        if place is None:
            return 1
        offset = (place + element) * size % self.unit(size)
        return offset & -offset or self.unit(size)


class Unpacked(Enum):
    """What keeps a loop at one element for each thread."""

    ONE = auto()  # more were not asked for
    ORDER = auto()  # its iterations are not proved independent
    REDUCTION = auto()
    CHECK = auto()  # an operation keeps its test
    STEP = auto()  # the last dimension has a step other than 1
    LOOP = auto()  # a loop inside that runs differently often, or carries arrays
    OPERATION = auto()  # one that is not written for packs
    SIZE = auto()  # too much text
    NOWHERE = auto()  # no access has its elements side by side


def find_packs(parallel: Parallel, constants: dict[Value, int], captures: tuple[Value, ...], elements: int) -> Packs | Unpacked:
    """The packs of a loop of `elements` iterations, or why there are none."""
    if elements == 1:
        return Unpacked.ONE
    if parallel.reductions:
        return Unpacked.REDUCTION
    if parallel.team or parallel.fallback or not parallel.independent:
        return Unpacked.ORDER
    if constants.get(parallel.box[-1].step) != 1:
        return Unpacked.STEP
    variations = Variations(parallel, constants)
    for operation in _operations(parallel.body):
        why = _refused(operation, variations)
        if why is not None:
            return why
    if elements * sum(1 for _ in _operations(parallel.body)) > MOST_OPERATIONS:
        return Unpacked.SIZE
    finder = _Finder(variations, elements, captures, parallel)
    if not finder.places:
        return Unpacked.NOWHERE
    return Packs(elements, variations, finder.places, tuple(finder.arrays))


def _operations(region: Region) -> Iterator[Operation]:
    for operation in region.operations:
        yield operation
        for inner in operation.regions:
            yield from _operations(inner)


def _refused(operation: Operation, variations: Variations) -> Unpacked | None:
    """Why an operation keeps its loop from having packs, if it does."""
    if getattr(operation, "site", None) is not None:
        return Unpacked.CHECK
    match operation:
        case typed.While():
            return Unpacked.LOOP
        case typed.For():
            arrays = any(not isinstance(value.type, ScalarType) for value in operation.results)
            return Unpacked.LOOP if arrays or variations.ends(operation)[-1] != 0 else None
        case typed.Local() | typed.Atomic() | typed.Reshape() | typed.Allocate() | typed.Distinct() | typed.Require():
            return Unpacked.OPERATION
        case typed.Parallel() | typed.Blocks() | typed.Threads() | typed.Shared() | typed.Sync() | typed.Subgroup():
            return Unpacked.OPERATION
        case _:
            return None


class _Finder:
    """Accesses whose elements lie side by side, and where the first of them lies.

    Places are counted modulo the number of elements of a pack, a power of two: sums and products that wrap are right. The first
    index of a pack is 0 there.
    """

    def __init__(self, variations: Variations, elements: int, captures: tuple[Value, ...], parallel: Parallel) -> None:
        self._variations = variations
        self._elements = elements
        self._places: dict[Value, int] = {parallel.body.parameters[len(parallel.box) - 1]: 0}
        self._arrays = {value: value for value in captures if not isinstance(value.type, ScalarType)}
        self.places: dict[Operation, int] = {}
        self.arrays: dict[tuple[Value, int], None] = {}
        self._region(parallel.body)

    def _region(self, region: Region) -> None:
        for operation in region.operations:
            if isinstance(operation, Load | Store):
                self._access(operation)
            elif isinstance(operation, typed.Call):
                for parameter, argument in zip(operation.body.parameters, operation.arguments, strict=True):
                    if argument in self._arrays:
                        self._arrays[parameter] = self._arrays[argument]
                    else:
                        self._note(parameter, self._place(argument))
            for inner in operation.regions:
                self._region(inner)
            self._arithmetic(operation)

    def _note(self, value: Value, place: int | None) -> None:
        if place is not None:
            self._places[value] = place % self._elements

    def _place(self, value: Value) -> int | None:
        return self._places.get(value, self._variations.constant(value))

    def _arithmetic(self, operation: Operation) -> None:
        """Places of the results of 64-bit arithmetic."""
        match operation:
            case typed.Binary(operator="add" | "sub" | "mul" as operator, result=result, left=left, right=right):
                a, b = self._place(left), self._place(right)
                if _wide(result) and a is not None and b is not None:
                    self._note(result, a + b if operator == "add" else a - b if operator == "sub" else a * b)
            case typed.Unary(operator="neg", result=result, operand=operand):
                place = self._place(operand)
                if _wide(result) and place is not None:
                    self._note(result, -place)
            case typed.Cast(result=result, operand=operand):
                if _wide(result) and _wide(operand):
                    self._note(result, self._place(operand))
            case typed.Call(results=results, body=body):
                for result, value in zip(results, body.yields, strict=True):
                    self._note(result, self._place(value))
            case _:
                pass

    def _access(self, operation: Load | Store) -> None:
        root = self._arrays.get(operation.array)
        if root is None or operation.path:
            return
        type = root.array
        if not isinstance(type.element, ScalarType) or type.layout not in (Layout.C, Layout.F):
            return
        along = type.dimensions - 1 if type.layout is Layout.C else 0
        steps = [self._variations.of(index)[-1] for index in operation.indices]
        place = self._place(operation.indices[along])
        if place is None or steps != [int(dimension == along) for dimension in range(type.dimensions)]:
            return
        if size_of(type.element) < WIDEST:
            self.places[operation] = place
            self.arrays[root, along] = None


def _wide(value: Value) -> bool:
    return isinstance(value.type, ScalarType) and value.type.is_integer and value.type.bits == 64
