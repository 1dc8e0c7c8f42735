"""All checks of a kernel, and their verdicts together.

Does: run the checks on one model and turn each decision into a `Proof`.  Does not: decide or word anything itself.
Invariants: every access, pair, read, `Out` argument and division of the model has exactly one proof; nothing is skipped.
"""

from __future__ import annotations

from collections.abc import Mapping

from lend.checks.check_arith import ArithFinding, check_arith
from lend.checks.check_bounds import BoundsFinding, check_bounds
from lend.checks.check_init import InitFinding, check_init
from lend.checks.check_races import RaceFinding, check_races
from lend.diagnostics.diagnostic import Diagnostic
from lend.diagnostics.proofs import Proofs, UncheckedBlock
from lend.diagnostics.records import dataclass
from lend.ir import typed
from lend.ir.typed import Value
from lend.model.build import Model, build


@dataclass(frozen=True, eq=False)
class Judgement:
    """A kernel's findings; `proofs` in the order of the source; `diagnostics` are the reasons to reject it."""

    model: Model
    bounds: tuple[BoundsFinding, ...]
    races: tuple[RaceFinding, ...]
    init: tuple[InitFinding, ...]
    arith: tuple[ArithFinding, ...]
    proofs: Proofs
    diagnostics: tuple[Diagnostic, ...]


def judge(kernel: typed.Kernel, fixed: Mapping[Value, int] | None = None) -> Judgement:
    """The judgement of a kernel. `fixed`: launch constants whose values are known."""
    from lend.checks.explain import Explainer

    model = build(kernel, fixed)
    bounds = check_bounds(model)
    races = check_races(model)
    init = check_init(model, bounds)
    arith = check_arith(model)
    explainer = Explainer(model)
    for finding in bounds:
        explainer.bounds(finding)
    for finding in races:
        explainer.race(finding)
    for finding in init:
        explainer.init(finding)
    for finding in arith:
        explainer.arith(finding)
    ordered = sorted(explainer.proofs, key=lambda p: (p.place.line, p.place.column))
    proofs = Proofs(ordered, (UncheckedBlock(block.span, block.reason) for block in kernel.unchecked))
    return Judgement(model, tuple(bounds), tuple(races), tuple(init), tuple(arith), proofs, tuple(explainer.diagnostics))
