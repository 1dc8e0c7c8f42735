"""All checks of a kernel, and their verdicts together.

Does: run the checks on one model and turn each decision into a `Proof`.  Does not: decide or word anything itself.
Invariants: every access, pair, read, `Out` argument, division, barrier and loan of the source has a proof; nothing is skipped,
but for the races of threads that may not meet the same barriers: those follow from that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from lend.checks.check_aliases import AliasFinding, check_aliases
from lend.checks.check_arith import ArithFinding, check_arith
from lend.checks.check_barriers import BarrierFinding, check_barriers
from lend.checks.check_bounds import BoundsFinding, check_bounds
from lend.checks.check_init import InitFinding, check_init
from lend.checks.check_races import RaceFinding, check_races
from lend.checks.exit_barriers import unguarded, with_exit_barriers
from lend.checks.team_races import between_blocks, between_threads, of_each_pair
from lend.diagnostics.diagnostic import Diagnostic
from lend.diagnostics.proofs import Proofs, UncheckedBlock
from lend.diagnostics.records import dataclass
from lend.ir import typed
from lend.ir.typed import Value
from lend.model.build import build
from lend.model.records import Model


@dataclass(frozen=True, eq=False)
class Judgement:
    """A kernel's findings; `proofs` in the order of the source; `diagnostics` are the reasons to reject it.

    `kernel`: what was judged, which is the kernel with barriers after some branches and loops (`exit_barriers.py`).
    """

    kernel: typed.Kernel
    model: Model
    bounds: tuple[BoundsFinding, ...]
    races: tuple[RaceFinding, ...]
    init: tuple[InitFinding, ...]
    arith: tuple[ArithFinding, ...]
    barriers: tuple[BarrierFinding, ...]
    aliases: tuple[AliasFinding, ...]
    proofs: Proofs
    diagnostics: tuple[Diagnostic, ...]


def judge(kernel: typed.Kernel, fixed: Mapping[Value, int] | None = None) -> Judgement:
    """The judgement of a kernel. `fixed`: launch constants whose values are known."""
    from lend.checks.explain import Explainer
    from lend.checks.explain_teams import TeamExplainer

    model = build(kernel, fixed)
    missing = unguarded(model)
    if missing and not fixed:
        kernel = with_exit_barriers(kernel, missing)
        model = build(kernel, fixed)
    barriers = check_barriers(model)
    bounds = check_bounds(model)
    races = [*check_races(model), *_team_races(model, barriers)]
    init = check_init(model, bounds)
    arith = check_arith(model)
    aliases = list(check_aliases(model))
    explainer = Explainer(model)
    team_level = TeamExplainer(explainer)
    for finding in aliases:
        explainer.alias(finding)
    for finding in barriers:
        team_level.barrier(finding)
    for finding in _of_each_operation(bounds):
        explainer.bounds(finding)
    for finding in races:
        explainer.race(finding) if finding.among == "iterations" else team_level.race(finding)
    for finding in init:
        explainer.init(finding)
    for finding in arith:
        explainer.arith(finding)
    ordered = sorted(explainer.proofs, key=lambda p: (p.place.line, p.place.column))
    proofs = Proofs(ordered, (UncheckedBlock(block.span, block.reason) for block in kernel.unchecked))
    return Judgement(
        kernel,
        model,
        tuple(bounds),
        tuple(races),
        tuple(init),
        tuple(arith),
        tuple(barriers),
        tuple(aliases),
        proofs,
        tuple(explainer.diagnostics),
    )


def _team_races(model: Model, barriers: list[BarrierFinding]) -> Iterator[RaceFinding]:
    """The races of blocks and their threads."""
    parting = {finding.barrier.scope.team for finding in barriers if finding.decision.kind != "never"}
    for team in model.teams:
        if team.number not in parting:
            yield from of_each_pair(between_threads(model, team))
    for region in model.regions:
        if isinstance(region.operation, typed.Blocks):
            yield from of_each_pair(between_blocks(model, region))


_RANK = {"never": 0, "when": 1, "may": 2, "always": 3}


def _of_each_operation(findings: Iterable[BoundsFinding]) -> list[BoundsFinding]:
    """The worst finding of each access of the source, which stands in the model once for each iteration of an unrolled loop."""
    worst: dict[int, BoundsFinding] = {}
    for finding in findings:
        known = worst.get(id(finding.access.operation))
        if known is None or _RANK[finding.decision.kind] > _RANK[known.decision.kind]:
            worst[id(finding.access.operation)] = finding
    return list(worst.values())
