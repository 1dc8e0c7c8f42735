"""What lend says about how a kernel runs, and why: the answer of `kernel.explain`.

Does: hold it, as fields for programs and as sentences for people, and print it.
Does not: decide (`plan/`), or choose words (`plan/report.py`).

Example: `print(kernel.explain(*args))`; `kernel.explain(*args).loops[0].vector.elements`.
"""

from __future__ import annotations

from typing import Literal

from lend.diagnostics.records import dataclass
from lend.diagnostics.spans import Span

PatternName = Literal["shared", "neighbouring", "turned", "strided", "gathered"]
"""How iterations that lie side by side access memory: one element for all, elements side by side, elements at even distances,
elements anywhere."""

ObstacleKind = Literal[
    "check",  # an access or a division keeps its test
    "cost",  # vectors would cost more than they gain
    "complex",  # complex numbers
    "local",  # a private array
    "view",  # a part of an array, which moves from iteration to iteration
    "step",  # a step that is no constant
    "atomic",  # an atomic operation
    "team",  # a loop over blocks of threads
    "unchecked",  # iterations are independent only by the word of `lend.unchecked`
    "size",  # the body is too long, or nothing fits it
]

Sentence = tuple[str, str]
"""A topic in one word, and what is said of it."""


@dataclass(frozen=True)
class Vector:
    """`elements` iterations that differ in `index` are one vector (1: no vectors), and `side_by_side` of them run together."""

    index: str
    elements: int
    side_by_side: int


@dataclass(frozen=True)
class MemoryAccess:
    """A read or a write. `text`: as written; `pattern`: of iterations side by side; `advice`: what would make it faster."""

    array: str
    text: str
    place: Span
    writes: bool
    pattern: PatternName
    advice: str = ""


@dataclass(frozen=True)
class Obstacle:
    """Why a loop has no vectors of lend's, what stands in the way, and what would remove it; empty if nothing is known."""

    kind: ObstacleKind
    place: Span
    reason: str
    advice: str = ""


@dataclass(frozen=True)
class Streaming:
    """`stores` go past the caches in launches of `from_iterations` or more. `used`: in this call; None if that is not known."""

    stores: tuple[str, ...]
    from_iterations: int
    used: bool | None = None


@dataclass(frozen=True)
class Threads:
    """`available` to a launch; up to `alone` iterations run on the calling thread; `pieces` of this call. None: not known."""

    available: int
    alone: int | None
    pieces: int | None


@dataclass(frozen=True)
class SequentialLoop:
    """A loop that keeps its order. `carries`: what goes from step to step; `even`: neighbours run it equally often."""

    place: Span
    text: str
    carries: tuple[str, ...]
    even: bool = True


@dataclass(frozen=True)
class LoopReport:
    """A parallel loop: its place, its header, and how it runs.

    indices: the loop's. iterations: of this call, if they are known. vector: None if lend lays out no vectors, and then
    `obstacle` says why. rows: of other indices than the vector's, how many iterations run side by side. order: indices,
    outermost first. streaming: None if no store goes past the caches, and then `unstreamed` says why. reduces: names of
    reductions. inside: loops in the body. condition: what must hold of a launch for the version without tests to run, if there
    are two; holds: in this call, None if that is not known. sentences: in words.
    """

    place: Span
    text: str
    indices: tuple[str, ...]
    iterations: int | None
    vector: Vector | None
    rows: tuple[tuple[str, int], ...]
    order: tuple[str, ...]
    obstacle: Obstacle | None
    accesses: tuple[MemoryAccess, ...]
    streaming: Streaming | None
    unstreamed: str
    threads: Threads
    reduces: tuple[str, ...]
    inside: tuple[SequentialLoop, ...]
    condition: str | None
    holds: bool | None
    sentences: tuple[Sentence, ...]

    @property
    def line(self) -> int:
        """Where it stands."""
        return self.place.line

    @property
    def advice(self) -> tuple[str, ...]:
        """What would make it faster."""
        found = [access.advice for access in self.accesses]
        return tuple(dict.fromkeys(filter(None, [self.obstacle.advice if self.obstacle else "", *found])))

    def __str__(self) -> str:
        return _entry(self.place, self.text, self.sentences)


@dataclass(frozen=True)
class HostLoopReport:
    """A sequential loop of the host level.

    parallel: how many parallel loops stand in it. waves: whether several of its steps may run at a time, row by row, if its
    arrays exceed `from_bytes`; `used`: whether they do in this call, None if that is not known. reason: why not.
    """

    place: Span
    text: str
    parallel: int
    waves: bool
    from_bytes: int | None
    used: bool | None
    reason: str
    sentences: tuple[Sentence, ...]

    @property
    def line(self) -> int:
        """Where it stands."""
        return self.place.line

    def __str__(self) -> str:
        return _entry(self.place, self.text, self.sentences)


@dataclass(frozen=True)
class Explanation:
    """How a kernel runs. `loops`: its parallel loops, those with the most work first; `host`: sequential loops around or beside
    them, in the order of the text; `sizes`: of the call that was asked about."""

    kernel: str
    sizes: tuple[tuple[str, int], ...]
    threads: int
    loops: tuple[LoopReport, ...]
    host: tuple[HostLoopReport, ...]

    def __str__(self) -> str:
        sizes = ", ".join(f"{name}={value}" for name, value in self.sizes)
        many = f"up to {self.threads} threads" if self.threads > 1 else "one thread"
        head = f"{self.kernel}{' with ' + sizes if sizes else ''}, on {many}"
        entries = [*map(str, self.loops), *map(str, self.host)]
        return "\n\n".join([head, *(entries or ["nothing in it is a loop"])])

    def __repr__(self) -> str:
        return str(self)


def _entry(place: Span, text: str, sentences: tuple[Sentence, ...]) -> str:
    return "\n".join([f"line {place.line}: {text}", *(f"  {topic}: {words}" for topic, words in sentences)])
