"""What a model consists of: accesses, divisions, regions, and where in the kernel each instance happens.

Does: the records.  Does not: make them (`build.py`).

Invariants:
- An access's `scope` holds in each of its instances; `exact` says that the scope and the subscripts are all there is to know: the
  instances of the scope are exactly those that happen.
- Facts never come from run-time checks.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from lend.diagnostics.records import dataclass
from lend.ir import typed
from lend.ir.typed import Value
from lend.model.aliases import Aliases
from lend.model.evaluate import Evaluator
from lend.model.linear import TRUE, Formula, Linear, both, is_known
from lend.model.loads import IndexLoad
from lend.model.sets import Space
from lend.model.uniform import Divergence

if TYPE_CHECKING:
    from lend.model.views import View

THREADS = "@threads"
"""In an order, the step into a region: what follows is ordered within one iteration only."""

TEAM = "@team"
"""In an order, the step into the threads of a block: what follows is ordered within one thread, and by the barriers it meets."""

Order = tuple[int | str, ...]
"""Where something stands: static positions, counters of the loops around it, and the steps into regions."""


@dataclass(frozen=True, eq=False)
class Control:
    """A branch or a loop around a place in a thread of a block.

    `place`: the order of its arm, or of the whole loop. `fact`: what holds inside. `opaque`: data decide it, or what is
    not known here.
    """

    operation: typed.If | typed.For | typed.While
    place: Order
    fact: Formula
    opaque: bool


@dataclass(frozen=True)
class Scope:
    """Where in the kernel an instance happens: thread indices, loop counters, facts; `exact` as in the module's page."""

    threads: tuple[str, ...] = ()
    counters: tuple[str, ...] = ()
    facts: Formula = TRUE
    exact: bool = True
    order: Order = ()
    unsure: tuple[Order, ...] = ()  # orders of the branches and loops that may not happen as the facts say
    team: int | None = None  # in threads of a block: the number of their `Team`
    controls: tuple[Control, ...] = ()  # the branches and loops around it, inside these threads

    def given(self, fact: Formula) -> Scope:
        """The scope where a fact holds too."""
        unsure = self.unsure if is_known(fact) else (*self.unsure, self.order)
        return replace(self, facts=both(self.facts, fact), unsure=unsure)


@dataclass(frozen=True)
class Dimension:
    """One subscript: `0 <= index < size`; for a slice bound `exclusive` is false: `0 <= index <= size`."""

    number: int
    index: Linear
    size: Linear


@dataclass(frozen=True, eq=False)
class Access:
    """One load, store or view of the source. `element` are the subscripts in the root's own dimensions."""

    operation: typed.Load | typed.Store | typed.View | typed.Atomic
    writes: bool  # not of atomic operations, which do not race
    root: Value
    element: tuple[Linear, ...] | None
    bounds: tuple[Dimension, ...]
    scope: Scope
    region: int | None
    within: tuple[int, ...] = ()  # fields of a record
    through: tuple[Access, ...] = ()  # views made in the region: if the check of one fails, the array is empty


@dataclass(frozen=True, eq=False)
class Division:
    """An operation that must not meet a zero (or negative) operand."""

    operation: typed.Binary | typed.For | typed.Parallel | typed.Blocks
    bad: Formula
    scope: Scope
    region: int | None


@dataclass(frozen=True, eq=False)
class Lending:
    """A call of another kernel, and what each of its loans is a view of."""

    operation: typed.Call
    views: tuple[View, ...]
    scope: Scope


@dataclass(frozen=True, eq=False)
class RegionModel:
    """One parallel loop, or a loop over blocks: its indices as names and as linear expressions of the counters `threads`."""

    operation: typed.Parallel | typed.Blocks
    number: int
    scope: Scope
    indices: tuple[Linear, ...]


@dataclass(frozen=True, eq=False)
class Barrier:
    """A place where threads of a block wait for each other: all of them, or those of a sub-group."""

    operation: typed.Sync | typed.Subgroup
    scope: Scope

    @property
    def of_block(self) -> bool:
        """Whether all threads of the block wait here."""
        return isinstance(self.operation, typed.Sync)

    @property
    def orders(self) -> bool:
        """Whether it orders memory: a shuffle of a sub-group, and all but its `sync`, does not."""
        return self.of_block or getattr(self.operation, "operator", None) == "sync"


@dataclass(eq=False)
class Team:
    """One run of the threads of a block, between two barriers of its own.

    `scope`: inside it; `held`: names that stand for the same in all threads; `together`: those that do in the same iteration of
    the loops around them; `lane`: a thread's position in the block, by rows;
    `parts`: for each size of a sub-group that waits, the number of a thread's; `ordered`: the sizes whose barriers order memory.
    """

    operation: typed.Threads
    number: int
    region: int
    scope: Scope
    held: set[str]
    lane: Linear
    together: set[str] = field(default_factory=set[str])
    parts: dict[int, Linear] = field(default_factory=dict[int, Linear])
    ordered: set[int] = field(default_factory=set[int])

    @property
    def part(self) -> Linear | None:
        """The number of a thread's smallest sub-group whose barriers order memory: each larger one holds it whole."""
        return self.parts[min(self.ordered)] if self.ordered else None


@dataclass(frozen=True)
class Birth:
    """An array value that is one of several: what it is made from, and where that is looked at.

    `merge`: the branch, the start of a loop's iterations or its end that makes it, with others: of these, sources in the same
    place are taken together. `in_block`: of tiles, in a block or its threads, which all mean the same one in the same iteration
    of the loops around; but in two iterations it may be two.
    """

    sources: tuple[tuple[View, Scope], ...]
    merge: tuple[int, str]
    in_block: bool = False


@dataclass
class Model:
    """A kernel's accesses and divisions, its regions, and the names they are about."""

    kernel: typed.Kernel
    space: Space
    evaluator: Evaluator
    aliases: Aliases
    context: Formula = TRUE  # what holds when the kernel starts
    ending: Formula = TRUE  # what holds when it ends without a fault
    regions: list[RegionModel] = field(default_factory=list[RegionModel])
    accesses: list[Access] = field(default_factory=list[Access])
    divisions: list[Division] = field(default_factory=list[Division])
    lendings: list[Lending] = field(default_factory=list[Lending])
    teams: list[Team] = field(default_factory=list[Team])
    barriers: list[Barrier] = field(default_factory=list[Barrier])
    divergences: dict[int, Divergence] = field(default_factory=dict[int, Divergence])  # by the identity of a `Threads`
    phases: dict[tuple[int, bool], object] = field(default_factory=dict[tuple[int, bool], object])  # see `phases.py`
    closed: set[int] = field(default_factory=set[int])  # operations (by identity) in threads that a barrier follows
    joint_writes: dict[Access, tuple[Access, ...]] = field(default_factory=dict["Access", "tuple[Access, ...]"])
    loads: dict[str, IndexLoad] = field(default_factory=dict[str, IndexLoad])
    counters: set[str] = field(default_factory=set[str])  # of sequential loops at host level
    sizes: set[Value] = field(default_factory=set[Value])  # sizes of arguments, derived ones too: the call limits them
    private: set[Value] = field(default_factory=set[Value])  # arrays of one iteration's own
    shared: set[Value] = field(default_factory=set[Value])  # arrays of one block's own
    indices: dict[str, tuple[str, Linear]] = field(default_factory=dict[str, "tuple[str, Linear]"])  # names of iterations
    unwritten: set[Value] = field(default_factory=set[Value])  # temporaries and local arrays that begin without content
    made_at: dict[Value, tuple[int | str, ...]] = field(default_factory=dict[Value, "tuple[int | str, ...]"])  # and where they do
    births: dict[Value, Birth] = field(default_factory=dict[Value, Birth])  # at host level, and of tiles in blocks, by root
    reshaped: dict[Value, Value] = field(default_factory=dict[Value, Value])  # roots that are another root in other sizes
    end: Scope = field(default_factory=Scope)  # where the kernel returns
    returned: list[Value] = field(default_factory=list[Value])  # temporaries
    shapes: dict[Value, tuple[Linear, ...]] = field(default_factory=dict[Value, tuple[Linear, ...]])
