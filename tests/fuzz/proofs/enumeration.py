"""Runs a scheduled kernel for given sizes and writes down every access: what races, reads nothing, or leaves its array.

Does: run the tree that `schedule` made, printed back as Python, on arrays that know who touched which element.
Does not: use anything of the model: an element's history is all there is.
Invariants: goes on after a fault as compiled code does (a failed read gives 0, a failed write is skipped); an access that has
lost its check and leaves its array is an error, as is a division that has lost its check and divides by zero; so are two
iterations of one loop at one element, one of them writing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from lend.diagnostics.spans import Source
from lend.ir import typed
from lend.language.arithmetic import binary_function, fault_of
from lend.lower import plain_expressions, plain_python
from lend.lower.plain_run import Run

STEPS = 20_000
"""Accesses in one run; what takes more is not looked at further."""


class TooLong(Exception):
    """The run takes too many steps."""


class Untested(Exception):
    """An operation that has lost its test meets what it was tested for."""


class Refusal(Exception):
    """A contract, or the condition of a launch, does not hold."""


class Ended(Exception):
    """A fault at host level, or one of a region that has ended."""


@dataclass
class Memory:
    """The elements of an array, and who has touched them."""

    name: str
    values: list[Any]
    written: list[bool]
    writers: dict[int, tuple[int, ...]] = field(default_factory=dict)
    readers: dict[int, set[tuple[int, ...]]] = field(default_factory=dict)


class Traced:
    """A strided view of a memory."""

    def __init__(self, memory: Memory, shape: tuple[int, ...], strides: tuple[int, ...] | None = None, start: int = 0) -> None:
        self.memory = memory
        self.shape = shape
        self.start = start
        if strides is None:
            strides = tuple(math.prod(shape[k + 1 :]) for k in range(len(shape)))
        self.strides = strides

    def at(self, indices: Sequence[int]) -> int:
        """The place of an element in the memory."""
        return self.start + sum(i * s for i, s in zip(indices, self.strides, strict=True))


def array(name: str, shape: tuple[int, ...], values: Sequence[Any] | None) -> Traced:
    """An argument; without values it is one that has to be written."""
    count = math.prod(shape)
    return Traced(Memory(name, list(values) if values is not None else [0] * count, [values is not None] * count), shape)


@dataclass(frozen=True)
class Error:
    """Something that an accepted kernel must not do."""

    kind: str  # "race", "uninitialised", "outside", "unwritten"
    text: str


class Trace(Run):
    """One run. `errors` are what it did wrong; `faults` how many checks failed."""

    kernel: typed.Kernel
    everything: bool  # record errors of kernels that still have all their checks, too

    def __init__(self, sites: Any, fault: Any) -> None:
        super().__init__(sites, fault)
        self.errors: list[Error] = []
        self.faults = 0
        self.steps = 0
        self.touched: list[Memory] = []
        self.checked_sites = len(self.kernel.sites)
        self.empty = {o.extent_site for o in operations(self.kernel.body) if isinstance(o, typed.Allocate) and not o.zeroed}

    # ------------------------------------------------------------------------------------------------------ checks

    def fail(self, site: int, dimension: int = 0, index: int = 0, size: int = 0) -> Any:
        """A failed check: at host level the end; in a region it is noted, and the thread goes on."""
        if site >= self.checked_sites:
            where = self.sites[site].span
            self.errors.append(Error("outside", f"line {where.line}: index {index} of size {size}, thread {self.thread}"))
        self.faults += 1
        if self.thread is None:
            if site < self.checked_sites and self.sites[site].kind == "contract":
                raise Refusal
            raise Ended

    def step(self) -> None:
        """Count."""
        self.steps += 1
        if self.steps > STEPS:
            raise TooLong

    def holds(self, site: int, target: Any, indices: tuple[int, ...]) -> bool:
        """Whether indices lie inside; if not, the check has failed."""
        self.step()
        for dimension, (index, size) in enumerate(zip(indices, target.shape, strict=True)):
            if not 0 <= index < size:
                self.fail(site, dimension, index, size)
                return False
        return True

    # ---------------------------------------------------------------------------------------------------- accesses

    def load(self, array: Any, site: int, *indices: int) -> Any:
        """Read an element."""
        if not self.holds(site, array, indices):
            return 0
        memory, at = array.memory, array.at(indices)
        if not memory.written[at] and not self.faults:
            self.errors.append(Error("uninitialised", f"{memory.name} element {at} of {array.shape} in thread {self.thread}"))
        if self.thread is not None:
            self.touch(memory)
            if memory.writers.get(at, self.thread) != self.thread:
                self.errors.append(Error("race", f"{memory.name} element {at}: {memory.writers[at]} writes, {self.thread} reads"))
            memory.readers.setdefault(at, set()).add(self.thread)
        return memory.values[at]

    def load_1d(self, array: Any, site: int, index: int) -> Any:
        """Read an element."""
        return self.load(array, site, index)

    def store(self, value: Any, array: Any, site: int, *indices: int) -> None:
        """Write an element."""
        if not self.holds(site, array, indices):
            return
        memory, at = array.memory, array.at(indices)
        memory.values[at] = value
        memory.written[at] = True
        if self.thread is not None:
            self.touch(memory)
            others = {memory.writers.get(at, self.thread), *memory.readers.get(at, ())} - {self.thread}
            if others:
                self.errors.append(Error("race", f"{memory.name} element {at}: {self.thread} writes, {others} too or read"))
            memory.writers[at] = self.thread

    def touch(self, memory: Memory) -> None:
        """Remember to forget it when the region ends."""
        if not memory.writers and not memory.readers:
            self.touched.append(memory)

    def view(self, array: Any, site: int, *parts: Any) -> Any:
        """A sub-view; empty if its check fails."""
        shape, strides, start = [], [], array.start
        outside = False
        for dimension, (part, size, stride) in enumerate(zip(parts, array.shape, array.strides, strict=True)):
            lower, upper, step = (part, part + 1, 0) if isinstance(part, int) else part
            some = lower < upper
            if some and not (0 <= lower and upper <= size):
                if not outside:
                    self.fail(site, dimension, lower, size)
                outside = True
            start += lower * stride if some else 0
            if step:
                shape.append(max(0, -((lower - upper) // step)))
                strides.append(stride * step)
        shape = [0] * len(shape) if outside else shape
        return Traced(array.memory, tuple(shape), tuple(strides), start)

    def reshape(self, array: Any, shape_site: int, view_site: int, *sizes: int) -> Any:
        """Other sizes."""
        if min(sizes) < 0 or math.prod(sizes) != math.prod(array.shape):
            self.fail(shape_site)
        return Traced(array.memory, tuple(sizes), None, array.start)

    def allocate(self, dtype: Any, extent_site: int, memory_site: int, *sizes: int) -> Any:
        """A temporary."""
        if any(size < 0 for size in sizes):
            self.fail(extent_site)
        count = math.prod(sizes)
        return Traced(Memory("a temporary", [0] * count, [extent_site not in self.empty] * count), tuple(sizes))

    def local(self, dtype: Any, *sizes: int) -> Any:  # type: ignore[override]
        """A private array."""
        count = math.prod(sizes)
        return Traced(Memory("a local array", [0] * count, [False] * count), tuple(sizes))

    # ------------------------------------------------------------------------------------------------------ control

    def checked(self, operator: str, type: Any) -> Callable[[int, int, int], int]:
        """Division; by zero it gives 0."""
        operation = binary_function(operator, type)

        def checked(left: int, right: int, site: int) -> int:
            if fault_of(operator, type, right) is not None:
                self.fail(site)
                return 0
            return operation(left, right)

        return checked

    def range(self, site: int, lower: int, upper: int, step: int) -> range:
        """A loop's range."""
        if step == 0:
            self.fail(site)
            return range(0)
        return range(lower, upper, step)

    def grid(self, site: int | None, accumulators: Any, *box: Any) -> Iterator[Any]:
        """A parallel loop: forget who touched what, before and after."""
        if site is not None and any(step == 0 for _, _, step in box):
            self.fail(site)
        start: tuple[Any, ...] = sum((accumulator.identity for accumulator in accumulators), ())
        single = len(box) + len(start) == 1
        for indices in itertools.product(*(range(*bounds) for bounds in box)):
            self.step()
            self.thread = indices
            yield indices[0] if single else indices + start
        self.thread = None
        for memory in self.touched:
            memory.writers.clear()
            memory.readers.clear()
        self.touched.clear()
        if self.faults:
            raise Ended


def operations(region: typed.Region) -> Iterator[typed.Operation]:
    """All operations, those inside others too."""
    for operation in region.operations:
        yield operation
        for inner in operation.regions:
            yield from operations(inner)


def untested(operator: str, type: Any) -> Callable[[Any, Any], Any]:
    """An operation without a test, which says so where it would have failed."""
    operation = binary_function(operator, type)

    def operate(left: Any, right: Any) -> Any:
        if fault_of(operator, type, right) is not None:
            raise Untested(f"{left} {operator} {right}")
        return operation(left, right)

    return operate


class Enumerated:
    """A scheduled kernel as a Python function on traced arrays."""

    def __init__(self, kernel: typed.Kernel, source: Source) -> None:
        self.kernel = kernel
        self.traces: list[Trace] = []
        traces = self.traces

        class Here(Trace):
            def __init__(self, sites: Any, fault: Any, *_: Any) -> None:
                self.kernel = kernel
                super().__init__(sites, fault)
                traces.append(self)

        self.run_type = Here
        with mock.patch.object(plain_expressions, "binary_function", untested):
            self.function = plain_python.plain_function(kernel, source)

    def run(self, dims: Sequence[int], leaves: Sequence[Any], outs: Sequence[Traced]) -> tuple[str, list[Error]]:
        """How it ended ("done", "faults", "refused", "too long") and what was wrong."""
        self.traces.clear()
        original, plain_python.Run = plain_python.Run, self.run_type  # type: ignore[misc]
        try:
            self.function(dims, leaves, lambda *_: AssertionError())
            how = "done"
        except Ended:
            how = "faults"
        except Refusal:
            how = "refused"
        except TooLong:
            how = "too long"
        except Untested as error:
            how = "untested"
            self.traces[0].errors.append(Error("arithmetic fault", f"without a test: {error}"))
        finally:
            plain_python.Run = original  # type: ignore[misc]
        errors = list(self.traces[0].errors) if self.traces else []
        if how == "done":
            for out in outs:
                if not all(out.memory.written):
                    errors.append(Error("unwritten", f"{out.memory.name} element {out.memory.written.index(False)}"))
        return how, errors
