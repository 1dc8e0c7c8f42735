"""Barriers: all threads of a block meet the same ones; those of a sub-group meet its own.

Does: decide each barrier of the model, and find the branch or loop that may part the threads.  Does not: word messages.
Invariants: a barrier is proved only if each branch and loop around it is taken by all threads together: because its condition is
the same for all (`model/uniform.py`), or because numbers say so (`if t < 32` of 32 threads). What a proof rests on holds for the
phases too, which count on the same branches and loops (`model/phases.py`).
"""

from __future__ import annotations

from dataclasses import replace

from lend.checks.decide import Decision, decide
from lend.diagnostics.records import dataclass
from lend.ir import typed
from lend.model.linear import Formula, Linear, both, equal, is_known, names_of, negate, rename
from lend.model.records import Barrier, Control, Model, Team
from lend.model.uniform import Cause

OTHER = "_b"
"""The suffix of the names of the thread that does not come."""


@dataclass(frozen=True, eq=False)
class BarrierFinding:
    """The decision about one barrier; where it is not proved, the branch or loop that parts the threads, and why it does."""

    barrier: Barrier
    decision: Decision
    control: Control | None = None
    cause: Cause | None = None


def check_barriers(model: Model) -> list[BarrierFinding]:
    """A finding for each barrier of the source; if a loop around it is unrolled, for the worst of its iterations."""
    found: dict[int, BarrierFinding] = {}
    for barrier in model.barriers:
        finding = _barrier(model, barrier)
        known = found.get(id(barrier.operation), finding)
        if known.decision.kind == finding.decision.kind == "never":
            rests = {*known.decision.assumptions, *finding.decision.assumptions}
            known = replace(known, decision=Decision("never", assumptions=tuple(sorted(rests))))
        elif known.decision.kind == "never":
            known = finding
        found[id(barrier.operation)] = known
    return list(found.values())


def _barrier(model: Model, barrier: Barrier) -> BarrierFinding:
    assert barrier.scope.team is not None
    team = model.teams[barrier.scope.team]
    causes = model.divergences[id(team.operation)].controls
    parting = [control for control in barrier.scope.controls if id(control.operation) in causes]
    for control in parting:
        if control.opaque:
            return BarrierFinding(barrier, Decision("may", _REASON), control, causes[id(control.operation)])
    for control in parting:
        decision = _together(model, team, barrier, control)
        if decision.kind != "never":
            return BarrierFinding(barrier, decision, control, causes[id(control.operation)])
    unguarded = [c for c in barrier.scope.controls if c.opaque and barrier.of_block and id(c.operation) not in model.closed]
    if unguarded:  # what comes after it would not be known to come after the barrier
        return BarrierFinding(barrier, Decision("may", "no barrier follows this branch or loop"), unguarded[0])
    return BarrierFinding(barrier, Decision("never", assumptions=_assumptions(model, barrier)))


def _assumptions(model: Model, barrier: Barrier) -> tuple[str, ...]:
    """What the branches and loops around a barrier rest on: where `k + t < k + 40` wraps for some threads, these part."""
    facts = [control.fact for control in barrier.scope.controls]
    names = {name for fact in facts for name in names_of(fact)}
    defined = model.space.names.definitions
    return model.evaluator.rests_on(model.space.closure(n for n in names if n in defined), facts)


_REASON = "threads of a block may part here"


def _together(model: Model, team: Team, barrier: Barrier, control: Control) -> Decision:
    """Whether a thread that takes this branch, or this iteration, implies that all do: of its block, or of its sub-group."""
    space = model.space
    outer: Formula = team.scope.facts
    for around in barrier.scope.controls:  # the controls around this one are decided on their own
        if around is control:
            break
        outer = both(outer, around.fact) if not around.opaque else outer
    held = team.held | {step for step in barrier.scope.order if isinstance(step, str)}
    with space.holding(held):
        names = {*names_of(control.fact), *names_of(outer), *team.scope.threads}
        part: Linear | None = None
        if not barrier.of_block:
            assert isinstance(barrier.operation, typed.Subgroup)
            part = team.parts[barrier.operation.size]
            names.update(part.names())
        renaming = space.copy(space.closure(names), OTHER)
        # The other thread is one that has come as far as here.
        parted = both(both(outer, control.fact), both(rename(outer, renaming), negate(rename(control.fact, renaming))))
        if part is not None:
            parted = both(parted, equal(part, part.rename(renaming)))
        own = [name for name in team.scope.threads if name in renaming]
        blocks = [name for name in team.scope.threads if name not in renaming]
        exact = barrier.scope.exact and is_known(barrier.scope.facts)
        decision = decide(model, [parted], (*blocks, *own, *(renaming[n] for n in own)), exact, (OTHER,))
    return replace(decision, kind="may", reason=_REASON) if decision.kind == "when" else decision
