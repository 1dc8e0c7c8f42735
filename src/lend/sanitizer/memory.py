"""Shadow memory: arrays whose elements know whether they were written, and who touched them last.

Does: hold elements as Python values, make views and reshaped views of them, decide whether two accesses race.
Does not: test subscripts or word anything (`judge.py`).
Invariants: a place is one scalar of one element (a record has several). What is kept of the reads of a place is enough to find a
race if there is one: readers of two blocks, and of the present phase two threads, or all of them where sub-groups synchronise.

Two accesses of one parallel loop race if they are of two iterations or two blocks; of two threads of one block, if no barrier
lies between. Barriers of the block are counted ("phases"); for those of sub-groups each thread knows how many of its neighbours'
it has waited for, directly or not (vector clocks; Lamport, Communications of the ACM 21, 1978; Mattern 1989).

Example: `Array(memory, (2, 3)).view([(0, 2, 1), 1])` is the second column.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lend.language.dtypes import numpy_dtype
from lend.language.types import BF16, BOOL_, ElementType, ScalarType, StructType

AnyArray = np.ndarray[Any, Any]
Bounds = tuple[int, int, int]


class Team:
    """A block of threads, or one iteration of a grid: `phase` counts the barriers that its threads have passed."""

    __slots__ = ("indices", "phase")

    def __init__(self, indices: tuple[int, ...]) -> None:
        self.indices = indices
        self.phase = 0


class Actor:
    """Who does something in a parallel loop: a thread, block-level code, or an iteration of a grid.

    `number`: among the threads of its team. `clock`: how many sub-group barriers it has passed in this phase; `seen`: how many of
    each thread's it has waited for, None if none.
    """

    __slots__ = ("clock", "indices", "number", "seen", "team")

    def __init__(self, team: Team, indices: tuple[int, ...] = (), number: int = 0) -> None:
        self.team = team
        self.indices = indices
        self.number = number
        self.clock = 0
        self.seen: list[int] | None = None


class Access(NamedTuple):
    """Who touched a place, in which phase, and by which operation (its number in the program)."""

    actor: Actor
    phase: int
    clock: int
    operation: int
    indices: tuple[int, ...]


def races(old: Access, actor: Actor) -> bool:
    """Whether nothing orders an earlier access of this loop before what `actor` does now."""
    other = old.actor
    if other is actor:
        return False
    if other.team is not actor.team:
        return True
    if old.phase != actor.team.phase:
        return False
    return actor.seen is None or actor.seen[other.number] <= old.clock


class Memory:
    """The elements of one array, flat in row-major order, and their shadow.

    name: as the user knows it. written: one flag for each place. private: one thread's own, which nobody else can reach.
    """

    __slots__ = ("name", "private", "reads", "values", "writes", "written")

    def __init__(self, name: str | None, values: list[Any], written: bool, private: bool = False) -> None:
        self.name = name
        self.private = private
        self.values = values
        self.written = bytearray((b"\1" if written else b"\0") * len(values))
        self.writes: dict[int, Access] = {}
        self.reads: dict[int, list[Access]] = {}

    def forget(self) -> None:
        """The loop is over: what follows is ordered after all of it."""
        self.writes.clear()
        self.reads.clear()

    def note_read(self, place: int, access: Access, exact: bool) -> None:
        """Keep a read, and what is still needed of those before it. `exact`: all threads of this phase."""
        readers = self.reads.get(place)
        if readers is None:
            self.reads[place] = [access]
            return
        actor = access.actor
        team, phase = actor.team, access.phase
        same = [r for r in readers if r.actor.team is team and r.phase == phase and r.actor is not actor]
        others = [r for r in readers if r.actor.team is not team]
        if not exact:
            del same[1:]
        del others[1:]
        self.reads[place] = [*others, *same, access]


class Array:
    """A view of a memory: sizes, strides in places, the place of its first element.

    `origin` is the caller's array that it shows, if it is one of an argument.
    """

    __slots__ = ("memory", "origin", "shape", "start", "strides")

    def __init__(
        self,
        memory: Memory,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        start: int = 0,
        origin: AnyArray | None = None,
    ) -> None:
        self.memory = memory
        self.shape = shape
        self.strides = strides
        self.start = start
        self.origin = origin

    def places(self) -> list[int]:
        """The places of all elements in row-major order (of a record its first)."""
        found = [self.start]
        for size, stride in zip(self.shape, self.strides, strict=True):
            found = [place + k * stride for place in found for k in range(size)]
        return found

    def view(self, parts: Sequence[int | Bounds]) -> Array:
        """A sub-view; each part lies inside."""
        shape: list[int] = []
        strides: list[int] = []
        key: list[int | slice] = []
        start = self.start
        for part, stride in zip(parts, self.strides, strict=True):
            if isinstance(part, int):
                start += part * stride
                key.append(part)
                continue
            lower, upper, step = part
            size = max(0, -((lower - upper) // step))
            start += lower * stride if size else 0
            shape.append(size)
            strides.append(stride * step)
            key.append(slice(lower, upper, step) if size else slice(0, 0))
        origin = None if self.origin is None else self.origin[tuple(key)]
        return Array(self.memory, tuple(shape), tuple(strides), start, origin)

    def in_order(self, width: int) -> bool:
        """Whether the elements, `width` places each, lie in row-major order without gaps."""
        expected = width
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size > 1 and stride != expected:
                return 0 in self.shape
            expected *= size
        return True

    def reshaped(self, sizes: tuple[int, ...], width: int) -> Array:
        """The same elements in other sizes."""
        origin = None if self.origin is None else self.origin.reshape(sizes)
        return Array(self.memory, sizes, row_major(sizes, width), self.start, origin)


def row_major(sizes: Sequence[int], width: int) -> tuple[int, ...]:
    """The strides of an array without gaps whose elements are `width` places."""
    return tuple(width * math.prod(sizes[k + 1 :]) for k in range(len(sizes)))


# ------------------------------------------------------------------------------------------------------ elements


def scalars_of(element: ElementType) -> list[tuple[tuple[str, ...], ScalarType]]:
    """The scalars of an element, with the names of the fields that lead to each."""
    if isinstance(element, ScalarType):
        return [((), element)]
    return [((name, *path), scalar) for name, member in element.fields for path, scalar in scalars_of(member)]


def width_of(element: ElementType) -> int:
    """How many places an element takes."""
    return len(scalars_of(element))


def place_in(element: ElementType, path: Sequence[int]) -> int:
    """Where in an element the scalar at `path` (positions of fields) lies."""
    place = 0
    for position in path:
        assert isinstance(element, StructType)
        place += sum(width_of(member) for _, member in element.fields[:position])
        element = element.fields[position][1]
    return place


def zero_of(element: ElementType) -> list[Any]:
    """The scalars of an element of zeros."""
    zeros = {"bool": False, "float": 0.0, "complex": 0j}
    return [zeros.get(scalar.kind, 0) for _, scalar in scalars_of(element)]


def lent(array: AnyArray, element: ElementType, name: str, written: bool) -> Array:
    """A memory with the content of an argument."""
    parts = scalars_of(element)
    values: list[Any] = [None] * (array.size * len(parts))
    for position, (path, scalar) in enumerate(parts):
        values[position :: len(parts)] = _read(_field(array, path), scalar)
    return Array(Memory(name, values, written), array.shape, row_major(array.shape, len(parts)), 0, array)


def give_back(view: Array, array: AnyArray, element: ElementType) -> None:
    """Store the elements of a view in an array of the same shape."""
    parts = scalars_of(element)
    places = view.places()
    for position, (path, scalar) in enumerate(parts):
        values = [view.memory.values[place + position] for place in places]
        dtype: Any = np.float32 if scalar is BF16 else numpy_dtype(scalar)
        made: AnyArray = np.array(values, dtype).reshape(view.shape)
        _field(array, path)[...] = made


def _field(array: AnyArray, path: Sequence[str]) -> AnyArray:
    for name in path:
        array = array[..., int(name)] if name.isdigit() else array[name]  # an item of a vector is called by its place
    return array


def _read(array: AnyArray, scalar: ScalarType) -> list[Any]:
    flat = np.ascontiguousarray(array).reshape(-1)
    if scalar is BOOL_:
        flat = flat.view(np.uint8) != 0  # a byte may be 2
    elif scalar is BF16:
        flat = flat.astype(np.float32)
    values: list[Any] = flat.tolist()
    return values
