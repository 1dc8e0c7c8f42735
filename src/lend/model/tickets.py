"""Tickets: what additions to a counter give, which is distinct as long as nothing else is done to the counter.

Does: find the results of atomic additions that are tickets, and keep them as loads of which equal places hold distinct values.
Does not: bound them, or decide races.

Invariants: every access of the counter in its region is an atomic addition of a positive constant, and is known to lie inside the
array (one that fails gives 0, and so may another); the counter cannot run through all its values and begin again while the region
runs: it has 64 bits, or it belongs to one block, whose threads add to it outside of loops.

Example: `k = count.add(0, 1)`, `if k < N: y[k] = x[i]`.
"""

from __future__ import annotations

from lend.ir import typed
from lend.ir.typed import Value
from lend.model.linear import Linear
from lend.model.loads import IndexLoad
from lend.model.records import Access, Model

LARGEST_STEP = 1 << 10
"""An addition of more is not taken as a ticket."""

MOST_ADDITIONS = 1 << 10
"""Additions in the text of one block's threads to a counter of 32 bits."""


def keep_tickets(model: Model, inside: dict[Access, str]) -> None:
    """Keep what is known of tickets. `inside`: additions that are known to lie in bounds, and the names of their results."""
    for access, name in inside.items():
        if access.element is not None and _counts(model, access, inside):
            kind = "block ticket" if access.root in model.shared else "ticket"
            model.loads[name] = IndexLoad(access.root, kind, access.element)


def _counts(model: Model, access: Access, inside: dict[Access, str]) -> bool:
    """Whether nothing but additions is done to the array in this region."""
    touching = [
        other
        for other in model.accesses
        if other.region == access.region
        and not isinstance(other.operation, typed.View)
        and not model.aliases.apart(other.root, access.root, False)
    ]
    if model.aliases.base[access.root] in model.aliases.of_iteration:
        return False  # one of several counters
    if not all(other in inside for other in touching):
        return False
    if bits_of(access.root) == 64:
        return True
    return access.root in model.shared and len(touching) <= MOST_ADDITIONS and not any(_in_a_loop(model, a) for a in touching)


def _in_a_loop(model: Model, access: Access) -> bool:
    """Whether a thread may come here more than once."""
    team = model.teams[access.scope.team] if access.scope.team is not None else None
    return team is None or access.scope.counters != team.scope.counters


def is_addition(operation: typed.Atomic, step: Linear | None) -> bool:
    """Whether an operation adds a positive constant to an integer."""
    if operation.operator != "add" or operation.site is None or step is None or step.value is None:
        return False
    return operation.result.scalar.is_integer and 0 < step.value <= LARGEST_STEP


def bits_of(array: Value) -> int:
    """The width of an array's elements."""
    element = array.array.element
    return getattr(element, "bits", 0)
