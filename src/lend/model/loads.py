"""What index types say of values that are loaded from them.

Does: relate loaded values to each other: distinct elements of a `Unique` array are distinct, those of an `Offsets` array do not
decrease, tickets of one counter (`tickets.py`) differ.  Does not: bound single values (`arrays.py` does when it meets the load).
Invariants: only loads that are known to succeed are kept here; a failed read gives 0, of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterable

from lend.diagnostics.records import dataclass
from lend.ir.typed import Value
from lend.model.linear import All, Formula, Linear, at_least, both, either, equal, negate
from lend.model.sets import Space


@dataclass(frozen=True)
class IndexLoad:
    """A value loaded from an array of an index type, or a ticket: which array, which kind, where."""

    root: Value
    kind: str
    element: tuple[Linear, ...]


def relations(space: Space, loads: dict[str, IndexLoad], mentioned: Iterable[str], copies: Iterable[str] = ()) -> list[Formula]:
    """What is known of the loaded values among the mentioned names; names that end in one of `copies` are another instance's."""
    names = set(mentioned)
    found: list[tuple[Linear, IndexLoad]] = []
    for suffix in ("", *copies):
        if suffix:
            own = {n.removesuffix(suffix) for n in names if n.endswith(suffix)}
        else:
            own = {n for n in names if not n.endswith(tuple(copies))}
        for name in space.closure(n for n in own if n in space.names.definitions):
            load = loads.get(name)
            if load is not None:
                used = space.closure([name, *(n for e in load.element for n in e.names())])
                renaming = space.copy(used, suffix) if suffix else {}
                element = tuple(e.rename(renaming) for e in load.element)
                found.append((Linear.of(renaming.get(name, name)), IndexLoad(load.root, load.kind, element)))
    result: list[Formula] = []
    for position, (value, load) in enumerate(found):
        for other, another in found[position + 1 :]:
            # Where nothing is held, two blocks may be asked about, whose shared counters are two.
            apart = load.kind == "block ticket" and not space.held
            if load.root is another.root and value != other and not apart:
                result += _related(load.kind, value, load.element, other, another.element)
    return result


def _related(kind: str, a: Linear, at_a: tuple[Linear, ...], b: Linear, at_b: tuple[Linear, ...]) -> list[Formula]:
    same: Formula = All(())
    for x, y in zip(at_a, at_b, strict=True):
        same = both(same, equal(x, y))
    if kind == "offsets":  # one condition of three cases: what a question falls apart into is their product
        (p,), (q,) = at_a, at_b
        before, after = both(at_least(q, p.plus(1)), at_least(b, a)), both(at_least(p, q.plus(1)), at_least(a, b))
        return [either(both(same, equal(a, b)), either(before, after))]
    if kind in ("ticket", "block ticket"):
        return [either(negate(same), negate(equal(a, b)))]
    if kind == "unique":
        return [either(both(same, equal(a, b)), both(negate(same), negate(equal(a, b))))]
    return [either(negate(same), equal(a, b))]
