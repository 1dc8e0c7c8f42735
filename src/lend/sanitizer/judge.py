"""The dynamic judge: runs a program on shadow memory and notes what it must not do.

Does: test every access, division, step and slice; know who touched which element, and what was never written; run parallel loops
in an order of its own.  Does not: word findings (`findings.py`), or know the proofs: it reads nothing but the typed tree.
Invariants: goes on after a finding as compiled code does (a read that fails gives 0, a write is skipped), so that one run finds
several; a failed check ends the run at the end of its loop, as it ends a kernel. Everything random comes from one generator, so
that a seed names a run.

Example: `Judge(program, kernel, random.Random(0), steps).run(dims, leaves)` gives what the kernel yields; then look at `.seen`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Generator, Sequence
from typing import Any, NoReturn

from lend.diagnostics.records import dataclass
from lend.diagnostics.sites import Site
from lend.ir import typed
from lend.language.arithmetic import binary_function
from lend.language.types import Borrow, ElementType
from lend.runtime.faults import Fault, fault_error
from lend.sanitizer import teams
from lend.sanitizer.memory import Access, Actor, Array, Bounds, Memory, Team, races, row_major, width_of, zero_of
from lend.sanitizer.program import Place, Program
from lend.sanitizer.report import Kind

LARGEST = (1 << 63) - 1
ARITHMETIC = ("division", "shift", "exponent", "step")


class Ended(Exception):
    """The run cannot go on: a check failed at host level or in a loop that is over, threads wait for ever, or it is too long."""


@dataclass(frozen=True, eq=False)
class Seen:
    """Something found: the operation's number, who was there, the element; for races and barriers the same of the other end.

    detail: which kind of race ("threads", "blocks", "iterations") and whether the other end writes; dimension and size of a bad
    index.
    """

    kind: Kind
    at: int
    actor: Actor | None
    array: str | None = None
    indices: tuple[int, ...] = ()
    other: Access | None = None
    detail: tuple[Any, ...] = ()


class Judge:
    """One run of one kernel."""

    def __init__(self, program: Program, kernel: typed.Kernel, rng: random.Random, steps: int) -> None:
        self.program = program
        self.places: list[Place] = program.places
        self.kernel = kernel
        self.rng = rng
        self.left = steps
        self.seen: dict[tuple[Any, ...], Seen] = {}
        self.failed = False
        self.touched: list[Memory] = []
        self.shared_memory: dict[tuple[Team, int], Array] = {}
        self.exact = any(isinstance(p.operation, typed.Subgroup) and p.operation.operator == "sync" for p in self.places)

    def run(self, dims: Sequence[int], leaves: Sequence[Any]) -> tuple[Any, ...]:
        """What the kernel yields. Raises Ended after a finding that ends it, and what a call raises for a false contract."""
        names = ("load", "store", "atomic", "checked", "steps", "again", "view", "reshape", "allocate", "local", "shared")
        names += ("distinct", "require", "grid", "blocks", "threads")
        function = self.program.bind({name: getattr(self, name) for name in names})
        return function(*dims, *leaves)

    def note(self, seen: Seen) -> None:
        """Keep a finding, if it is the first of its kind at its places."""
        other = None if seen.other is None else seen.other.operation
        self.seen.setdefault((seen.kind, frozenset((seen.at, other)), seen.array), seen)

    def fail(self, seen: Seen) -> None:
        """A check that ends the kernel: at host level now, in a loop when it is over."""
        self.note(seen)
        self.failed = True
        if seen.actor is None:
            raise Ended

    def count(self, at: int, actor: Actor | None) -> None:
        """One more step."""
        self.left -= 1
        if self.left < 0:
            self.note(Seen("stuck", at, actor))
            raise Ended

    # ------------------------------------------------------------------------------------------------- elements

    def place(self, actor: Actor | None, at: int, array: Array, offset: int, indices: tuple[int, ...]) -> int | None:
        """Where in its memory an element lies; None, with a finding, if it lies outside its array."""
        self.count(at, actor)
        place = array.start + offset
        for dimension, index in enumerate(indices):
            if not 0 <= index < array.shape[dimension]:
                self.fail(Seen("bounds", at, actor, self.name(at, array), indices, None, (dimension, array.shape[dimension])))
                return None
            place += index * array.strides[dimension]
        return place

    def name(self, at: int, array: Array) -> str:
        """What the user calls an array at an operation."""
        value: Any = getattr(self.places[at].operation, "array", None)
        return (None if value is None else value.name) or array.memory.name or "a temporary array"

    def load(self, actor: Actor | None, at: int, array: Array, offset: int, indices: tuple[int, ...]) -> Any:
        """Read an element."""
        place = self.place(actor, at, array, offset, indices)
        if place is None:
            return zero_of(self.element(at))[offset]
        memory = array.memory
        if not memory.written[place]:
            self.note(Seen("init", at, actor, self.name(at, array), indices))
        if actor is not None and not memory.private:
            access = Access(actor, actor.team.phase, actor.clock, at, indices)
            write = memory.writes.get(place)
            if write is not None:
                if races(write, actor):
                    self.race(access, write, True, self.name(at, array))
            elif not memory.reads and not memory.writes:
                self.touched.append(memory)
            memory.note_read(place, access, self.exact)
        return memory.values[place]

    def store(self, actor: Actor | None, at: int, value: Any, array: Array, offset: int, indices: tuple[int, ...]) -> None:
        """Write an element."""
        place = self.place(actor, at, array, offset, indices)
        if place is None:
            return
        memory = array.memory
        if actor is not None and not memory.private:
            access = Access(actor, actor.team.phase, actor.clock, at, indices)
            if not memory.reads and not memory.writes:
                self.touched.append(memory)
            write = memory.writes.get(place)
            if write is not None and races(write, actor):
                self.race(access, write, True, self.name(at, array))
            for read in memory.reads.pop(place, ()):
                if races(read, actor):
                    self.race(access, read, False, self.name(at, array))
            memory.writes[place] = access
        memory.values[place] = value
        memory.written[place] = 1

    def race(self, now: Access, old: Access, old_writes: bool, name: str) -> None:
        """Two accesses that nothing orders."""
        if now.actor.team is old.actor.team:
            between = "threads"
        else:
            between = "iterations" if isinstance(self.loop, typed.Parallel) else "blocks"
        self.note(Seen("race", now.operation, now.actor, name, now.indices, old, (between, old_writes)))

    def atomic(
        self, actor: Actor | None, at: int, value: Any, expected: Any, array: Array, offset: int, indices: tuple[int, ...]
    ) -> Any:
        """One indivisible operation; it races with no other."""
        operation = self.places[at].operation
        assert isinstance(operation, typed.Atomic)
        scalar = operation.result.scalar
        place = self.place(actor, at, array, offset, indices)
        if place is None:
            return zero_of(scalar)[0]
        memory, operator = array.memory, operation.operator
        if not memory.written[place] and operator != "store":
            self.note(Seen("init", at, actor, self.name(at, array), indices))
        memory.written[place] = 1
        old = memory.values[place]
        if operator in ("exchange", "store"):
            memory.values[place] = value
        elif operator == "compare_exchange":
            if repr(old) == repr(expected):  # bitwise: 0.0 is not -0.0, NaN is NaN
                memory.values[place] = value
        elif operator != "load":
            memory.values[place] = binary_function(operator, scalar)(old, value)
        return old

    def element(self, at: int) -> ElementType:
        """The element type of the array that an operation accesses."""
        value: Any = getattr(self.places[at].operation, "array")  # noqa: B009 (only some operations have one)
        return value.array.element

    # -------------------------------------------------------------------------------------- arithmetic and loops

    def checked(self, actor: Actor | None, at: int, function: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
        """An integer operation that can fail: a division, a shift, a power."""
        operator: str = getattr(self.places[at].operation, "operator")  # noqa: B009
        if right == 0 if operator in ("floordiv", "mod") else right < 0:
            self.fail(Seen("arith", at, actor, None, (), None, (operator, right)))
            return 0
        return function(left, right)

    def steps(self, actor: Actor | None, at: int, lower: int, upper: int, step: int) -> range:
        """The range of a loop whose step may be zero."""
        if step == 0:
            self.fail(Seen("arith", at, actor, None, (), None, ("step", 0)))
            return range(0)
        return range(lower, upper, step)

    def again(self, actor: Actor | None, at: int) -> None:
        """A `while` loop goes on."""
        self.count(at, actor)

    # --------------------------------------------------------------------------------------------------- arrays

    def view(self, actor: Actor | None, at: int, array: Array, parts: tuple[int | Bounds, ...]) -> Array:
        """A sub-view; empty after a finding."""
        for dimension, (part, size) in enumerate(zip(parts, array.shape, strict=True)):
            lower, upper = (part, part + 1) if isinstance(part, int) else part[:2]
            if lower < upper and (lower < 0 or upper > size):
                index = upper if lower >= 0 and not isinstance(part, int) else lower
                self.fail(Seen("bounds", at, actor, self.name(at, array), (index,), None, (dimension, size)))
                kept = tuple(0 for part in parts if not isinstance(part, int))
                return Array(array.memory, kept, kept, array.start)
        return array.view(parts)

    def reshape(self, at: int, array: Array, sizes: tuple[int, ...]) -> Array:
        """Other sizes."""
        operation = self.places[at].operation
        assert isinstance(operation, typed.Reshape)
        asked, size = LARGEST if min(sizes) < 0 else math.prod(sizes), math.prod(array.shape)
        if asked != size:
            self.refuse(operation.shape_site, min(asked, LARGEST), size)
        width = width_of(operation.result.array.element)
        if not array.in_order(width):
            self.refuse(operation.view_site)
        return array.reshaped(sizes, width)

    def allocate(self, at: int, sizes: tuple[int, ...]) -> Array:
        """A temporary of the host level."""
        operation = self.places[at].operation
        assert isinstance(operation, typed.Allocate)
        for size in sizes:
            if size < 0:
                self.refuse(operation.extent_site, size)
        if math.prod(sizes) > self.left:
            self.refuse(operation.memory_site, 0, math.prod(sizes) * width_of(operation.result.array.element) * 8)
        return self.made(operation.result, sizes, operation.zeroed)

    def local(self, at: int) -> Array:
        """A private array: zeroed, but nobody may count on it."""
        operation = self.places[at].operation
        assert isinstance(operation, typed.Local)
        return self.made(operation.result, operation.sizes, False, private=True)

    def made(self, value: typed.Value, sizes: tuple[int, ...], written: bool, private: bool = False) -> Array:
        """A new array of zeros."""
        element = value.array.element
        zeros = zero_of(element) * math.prod(sizes)
        return Array(Memory(value.name, zeros, written, private), sizes, row_major(sizes, width_of(element)))

    def shared(self, actor: Actor, at: int) -> Array:
        """A block's array: the same memory each time it is reached, and nothing in it counts; atomic ones are zeroed."""
        operation = self.places[at].operation
        assert isinstance(operation, typed.Shared)
        array = self.shared_memory.get((actor.team, at))
        atomic = operation.result.array.borrow is Borrow.ATOMIC
        if array is None:
            array = self.shared_memory[actor.team, at] = self.made(operation.result, operation.sizes, atomic)
        elif atomic:
            array.memory.values[:] = zero_of(operation.result.array.element) * math.prod(operation.sizes)
        else:
            array.memory.written[:] = bytes(len(array.memory.written))
        return array

    def distinct(self, actor: Actor | None, at: int, array: Array, bound: int) -> bool:
        """Whether the elements of a row lie below a bound and differ."""
        found = [self.load(actor, at, array, 0, (index,)) for index in range(array.shape[0])]
        return all(0 <= value < bound for value in found) and len(set(found)) == len(found)

    def require(self, site: int, condition: bool, index: int, size: int) -> None:
        """What ends a kernel with an exception if it does not hold."""
        if not condition:
            self.refuse(site, index, size)

    def refuse(self, site: int, value: int = 0, size: int = 0) -> NoReturn:
        """Raise what a call raises."""
        found: Site = self.kernel.sites[site]
        raise fault_error(self.kernel.name, Fault(found, None, 0, value, size))

    # ------------------------------------------------------------------------------------------- parallel loops

    loop: typed.Parallel | typed.Blocks | None = None

    def enter(self, at: int, box: Sequence[Bounds]) -> list[tuple[int, ...]]:
        """A parallel loop begins: its iterations."""
        operation = self.places[at].operation
        assert isinstance(operation, typed.Parallel | typed.Blocks)
        self.loop = operation
        if any(step == 0 for _, _, step in box):
            self.fail(Seen("arith", at, None, None, (), None, ("step", 0)))
        if math.prod(len(range(*bounds)) for bounds in box) > self.left:
            self.left = 0
            self.count(at, None)
        return teams.positions(box)

    def leave(self) -> None:
        """It is over: what follows is ordered after it."""
        for memory in self.touched:
            memory.forget()
        self.touched.clear()
        self.shared_memory.clear()
        if self.failed:
            raise Ended

    def grid(self, at: int, box: Sequence[Bounds], body: Callable[..., teams.Values], inits: Any) -> teams.Values:
        """The iterations of a grid, shuffled."""
        iterations = self.enter(at, box)
        assert self.loop is not None
        reductions, results = self.loop.reductions, [()] * len(iterations)
        start = teams.identities(reductions)
        order = list(range(len(iterations)))
        self.rng.shuffle(order)
        for position in order:
            self.count(at, None)
            indices = iterations[position]
            results[position] = body(Actor(Team(indices)), *indices, *start)
        self.leave()
        return teams.reduced(reductions, inits, results)

    def blocks(self, at: int, box: Sequence[Bounds], body: Callable[..., teams.Block], inits: Any) -> teams.Values:
        """Blocks of threads."""
        iterations = self.enter(at, box)
        assert self.loop is not None
        reductions = self.loop.reductions
        start = teams.identities(reductions)
        results = teams.run_blocks(self.rng, iterations, lambda actor, indices: body(actor, *indices, *start))
        self.leave()
        return teams.reduced(reductions, inits, results)

    def threads(
        self, block: Actor, at: int, body: Callable[..., Any], waits: bool, inits: Any
    ) -> Generator[None, None, teams.Values]:
        """The threads of a block; before and after them is a barrier."""
        team = teams.ThreadsRun(self, self.rng, at, block)
        self.count(at, block)
        block.team.phase += 1
        if waits:
            yield from team.waiting(body)
        else:
            team.plain(body)
        block.team.phase += 1
        return teams.reduced(team.reductions, inits, [values for values in team.results if values is not None])

    def divergent(self, waiting: Actor, at: int, other: Actor, other_at: int | None, loop: int) -> NoReturn:
        """A barrier that not all threads meet. `loop`: the `threads` loop."""
        operation = loop if other_at is None else other_at
        self.note(Seen("barrier", at, waiting, None, (), Access(other, 0, 0, operation, ()), (other_at is None,)))
        raise Ended
