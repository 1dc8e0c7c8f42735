"""The threads of a block in plain Python: coroutines that wait for each other.

Does: run them in turns, from one place where they wait to the next; exchange the values of sub-groups; say where threads
wait that will never meet.  Does not: run threads that do not wait (`plain_run.py`).
Invariants: between two places threads run one after the other, in row-major order; a barrier opens when all threads of the block
are at it, an operation of a sub-group when all threads of that are.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from lend.diagnostics.errors import ContractError
from lend.ir import typed
from lend.language.arithmetic import binary_function
from lend.language.reduction import combine
from lend.language.types import ScalarType

if TYPE_CHECKING:
    from lend.lower.plain_run import Run

Coroutine = Generator[tuple[Any, ...], Any, Any]
Place = tuple[int, ...]


class Schedule:
    """The threads of one block: where each waits, with what, and what it has given at its end."""

    def __init__(self, run: Run, block: Place, places: Sequence[Place], coroutines: Sequence[Coroutine]) -> None:
        self.state = run
        self.block = block
        self.places = places
        self.coroutines = coroutines
        self.waiting: list[tuple[Any, ...] | None] = [None] * len(coroutines)  # None: at its end
        self.given: list[Any] = [None] * len(coroutines)

    def run(self) -> list[Any]:
        """What each thread gives at its end. Raises ContractError if threads wait in places that not all of them get to."""
        ready: list[tuple[int, Any]] = [(thread, None) for thread in range(len(self.coroutines))]
        while ready:
            for thread, value in ready:
                self.resume(thread, value)
            ready = self.met()
        return self.given

    def resume(self, thread: int, value: Any) -> None:
        """Let a thread run until it waits or ends."""
        self.state.thread = self.block + self.places[thread]
        try:
            self.waiting[thread] = self.coroutines[thread].send(value)
        except StopIteration as end:
            self.waiting[thread], self.given[thread] = None, end.value

    def operation(self, thread: int) -> typed.Sync | typed.Subgroup | None:
        """Where a thread waits; None at its end."""
        waits = self.waiting[thread]
        if waits is None:
            return None
        number: int = waits[0]
        return self.state.meetings[number]

    def met(self) -> list[tuple[int, Any]]:
        """The threads that go on, with what they get there."""
        ready: list[tuple[int, Any]] = []
        for thread in range(len(self.coroutines)):
            operation = self.operation(thread)
            if isinstance(operation, typed.Subgroup) and thread % operation.size == 0:
                group = range(thread, thread + operation.size)
                if all(self.operation(other) is operation for other in group):
                    ready += zip(group, self.exchange(operation, group), strict=True)
        if ready:
            return ready
        first = self.operation(0)
        others = [thread for thread in range(len(self.coroutines)) if self.operation(thread) is not first]
        if others:
            self.refuse(others)
        return [] if first is None else [(thread, None) for thread in range(len(self.coroutines))]

    def exchange(self, operation: typed.Subgroup, group: range) -> list[Any]:
        """The results of an operation for the threads of a sub-group."""
        given = [waits for thread in group if (waits := self.waiting[thread]) is not None]
        if operation.value is None:
            return [None] * len(group)
        values = [waits[1] for waits in given]
        lanes = [waits[2] if len(waits) > 2 else 0 for waits in given]
        return subgroup_results(operation.operator, operation.value.scalar, values, lanes)

    def refuse(self, others: list[int]) -> NoReturn:
        """Not all threads wait in one place."""
        other, first = others[0], 0
        for thread in range(len(self.coroutines)):  # of a sub-group, if that is what does not meet
            operation = self.operation(thread)
            if isinstance(operation, typed.Subgroup):
                group = range(thread - thread % operation.size, thread - thread % operation.size + operation.size)
                apart = next((t for t in group if self.operation(t) is not operation), None)
                if apart is not None:
                    first, other = thread, apart
                    break
        lines = "; ".join(f"thread {self.name(thread)} {self.place(thread)}" for thread in (first, other))
        raise ContractError(f"a barrier that not all threads of a block meet: {lines}")

    def name(self, thread: int) -> str:
        """A thread for a message."""
        return ", ".join(map(str, self.places[thread]))

    def place(self, thread: int) -> str:
        """Where a thread is, for a message."""
        operation = self.operation(thread)
        if operation is None:
            return "is at its end"
        span = operation.span
        return f"waits at {span.source.filename}:{span.line}: {span.text}"


def subgroup_results(operator: str, type: ScalarType, values: list[Any], lanes: list[int]) -> list[Any]:
    """What each lane gets of an operation on the lanes' `values`; `lanes` is what each says to a shuffle."""
    size = len(values)
    if operator == "ballot":
        bits = sum(1 << lane for lane, value in enumerate(values) if value)
        return [bits] * size
    word, _, rest = operator.partition("_")
    if word == "shuffle":
        chosen = [source_lane(rest, lane, told) for lane, told in enumerate(lanes)]
        return [values[source] if 0 <= source < size else values[lane] for lane, source in enumerate(chosen)]
    if word == "scan":
        out: list[Any] = values[:1]
        for value in values[1:]:
            out.append(combine(rest, (type,), (out[-1],), (value,))[0])
        return out
    folded = list(values)
    while size > 1:
        size //= 2
        folded = [combine(rest, (type,), (folded[lane],), (folded[lane + size],))[0] for lane in range(size)]
    return folded * len(values)


def source_lane(kind: str, lane: int, told: int) -> int:
    """The lane that a shuffle reads."""
    match kind:
        case "xor":
            return lane ^ told
        case "up":
            return lane - told
        case "down":
            return lane + told
        case _:
            return told


def atomic_change(operator: typed.AtomicOperator, type: ScalarType) -> Callable[..., Any]:
    """The new element of (the old one, what is expected, the value); None if it stays."""

    def nothing(old: Any) -> None:
        del old

    def exchange(old: Any, value: Any) -> Any:
        del old
        return value

    def compare(old: Any, expected: Any, value: Any) -> Any:
        return value if bits(type, old) == bits(type, expected) else None

    match operator:
        case "load":
            return nothing
        case "store" | "exchange":
            return exchange
        case "compare_exchange":
            return compare
        case _:
            return binary_function(operator, type)


def bits(type: ScalarType, value: Any) -> Any:
    """What makes two elements bitwise equal."""
    if type.is_float:
        return struct.pack("<f" if type.bits == 32 else "<d", value)
    return value
