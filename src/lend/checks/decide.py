"""From a set of bad instances to a verdict.

Does: tell proved, refuted, conditional and undecided apart, and find a witness.  Does not: build the sets.
Invariants: a set that may be too large never refutes; a set that may be too small never proves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lend.diagnostics.records import dataclass
from lend.model.linear import All, Direction, Formula, names_of
from lend.model.loads import relations
from lend.model.records import Model
from lend.model.sets import OverBudget, at_least_set, only_over, parameters_of, sample_of

LARGE = 1 << 20
"""Sizes from here on count as "sufficiently large"."""


@dataclass(frozen=True)
class Decision:
    """What is known of an obligation.

    kind: "never" fails; "always" fails for all large sizes; "when": fails exactly for the launch constants in `bad`, among those
    in `context` (so that `good` is the rest; `known` is what a message need not say of it); "may": nothing was shown, for
    `reason`. assumptions: names of launch constants on whose moderate size all this rests.
    sample: an instance that fails (names and values), for "always" and "when".
    """

    kind: str
    reason: str = ""
    good: Any = None
    bad: Any = None
    context: Any = None
    known: Any = None
    assumptions: tuple[str, ...] = ()
    sample: dict[str, int] | None = None


def decide(model: Model, bad: Sequence[Formula], tuple_names: Sequence[str], exact: bool, copies: Sequence[str] = ()) -> Decision:
    """Decide whether the instances described by `bad` (facts included) exist. `exact`: each one that does is a real failure."""
    space = model.space
    mentioned = {n for formula in bad for n in names_of(formula)} | set(tuple_names)
    own = [n[: -len(c)] if n.endswith(c) else n for n in mentioned for c in (copies or ("\0",))]
    closure = space.closure(n for n in own if n in space.names.definitions)
    assumptions = tuple(n for n in closure if n in model.evaluator.assumptions)
    bad = [*bad, *relations(space, model.loads, mentioned, copies)]
    exact = exact and not any(n in space.names.opaque for n in closure)
    try:
        found = space.set(tuple_names, bad, "may", copies)
        truncated = space.truncated
        if space.guarded(found.is_empty):
            sizes = {n for n in assumptions if space.names.launch.get(n) in model.sizes}
            rests = tuple(sorted(sizes | set(model.evaluator.rests_on(closure, bad))))
            return Decision("never", assumptions=_needed(model, bad, tuple_names, copies, rests))
        if not exact or truncated:
            return Decision("may", "it depends on values that are known at run time only", assumptions=assumptions)
        launch = [space.names.definitions[n] for n in closure if n in space.names.launch]
        return space.guarded(lambda: _exact(model, found, launch, assumptions))
    except OverBudget:
        return Decision("may", "the question is too large for the proof budget", assumptions=assumptions)


def rests_on_sizes(model: Model, decision: Decision) -> bool:
    """Proved, on nothing that a question with more facts would not rest on too."""
    launch = model.space.names.launch
    return decision.kind == "never" and all(launch.get(name) in model.sizes for name in decision.assumptions)


def _needed(
    model: Model, bad: Sequence[Formula], tuple_names: Sequence[str], copies: Sequence[str], assumptions: tuple[str, ...]
) -> tuple[str, ...]:
    """The assumptions that emptiness rests on: those about scalars go if the facts that mention them are not needed."""
    space = model.space
    scalars = {n for n in assumptions if space.names.launch.get(n) not in model.sizes}
    if not scalars:
        return assumptions

    def free_of_scalars(formula: Formula) -> bool:
        names = {n[: -len(c)] if n.endswith(c) else n for n in names_of(formula) for c in (copies or ("\0",))}
        return not scalars & set(space.closure(n for n in names if n in space.names.definitions))

    parts = [part for formula in bad for part in (formula.parts if isinstance(formula, All) else (formula,))]
    kept = [part for part in parts if free_of_scalars(part)]
    if len(kept) < len(parts) and space.empty(kept, tuple_names, copies):
        return tuple(n for n in assumptions if n not in scalars)
    return assumptions


def _exact(model: Model, found: Any, launch: Sequence[Formula], assumptions: tuple[str, ...]) -> Decision:
    names = model.space.names
    context = model.space.set([], [model.context, *launch], _MAY).params()
    failing = found.params()
    sample = sample_of(found)
    # Counters of host-level loops, and what is computed from them, are no condition: a run meets all their values.
    entry = {n for n, value in names.launch.items() if n in names.free or value in model.sizes}
    if _fails_when_large(model, context, failing) or (
        not any(names.made_in.get(n) for n in entry.intersection(parameters_of(failing)))  # what a loop reads need not be bad
        and _fails_when_large(model, only_over(context, entry), only_over(failing, entry))
    ):
        return Decision("always", assumptions=assumptions, sample=sample)
    named = {n for n, v in names.launch.items() if n in entry or v is not None or not model.space.varies(n, model.counters)}
    failing, context = only_over(failing, named), only_over(context, named)
    good = context.subtract(failing).coalesce()
    moderate = model.space.set([], [model.evaluator.assumptions[n] for n in assumptions], _MAY).params()  # said beside it
    known = context.intersect(only_over(moderate, named))
    return Decision("when", good=good, bad=failing, context=context, known=known, assumptions=assumptions, sample=sample)


_MAY: Direction = "may"


def _fails_when_large(model: Model, context: Any, failing: Any) -> bool:
    """Whether nothing is good, or no choice of large sizes (with any scalars) is."""
    good = context.subtract(failing)
    if good.is_empty():
        return True
    launch = model.space.names.launch
    for name in (n for n, value in launch.items() if value is not None and value in model.kernel.dims):
        context, good = (at_least_set(s, name, LARGE) for s in (context, good))
    return not context.is_empty() and bool(good.is_empty())
