"""Words for what goes wrong between threads of a block, between blocks, and at barriers.

Does: turn findings of team level into proofs and messages, in the manner of `explain.py`.  Does not: decide.
Invariants: a refusal names the two threads and the element, or the branch that parts them and the value it depends on.
"""

from __future__ import annotations

from lend.checks import advice
from lend.checks.check_barriers import OTHER, BarrierFinding
from lend.checks.check_races import SECOND, RaceFinding
from lend.checks.explain import RACING, Explainer, Sample
from lend.checks.places import target
from lend.diagnostics.diagnostic import Diagnostic, Label
from lend.diagnostics.proofs import VerdictName, Witness
from lend.ir import typed
from lend.model.phases import phases_of
from lend.model.records import Access, Barrier

_CODES = {("threads", True): "L0312", ("blocks", True): "L0313", ("threads", False): "L0314", ("blocks", False): "L0315"}


class TeamExplainer:
    """Adds to what an explainer collects."""

    def __init__(self, explainer: Explainer) -> None:
        self.explainer = explainer
        self.model = explainer.model
        self.places = explainer.places
        self._told: dict[tuple[object, ...], tuple[int, int]] = {}  # strength and position of the race that was told

    # ---------------------------------------------------------------------------------------------------------------- barriers

    def barrier(self, finding: BarrierFinding) -> None:
        """A place where threads wait for each other."""
        operation, decision = finding.barrier.operation, finding.decision
        if isinstance(operation, typed.Sync) and operation.inserted:
            return
        subject = "the block" if finding.barrier.of_block else "a sub-group"
        verdict: VerdictName = "unproved" if decision.kind == "may" else self.explainer.verdict(decision)
        self.explainer.prove("barrier", verdict, operation.span, subject, decision, self.parted(finding))
        if decision.kind != "never" and self.explainer.once("L0350", operation.span):
            self.divergent(finding)

    def parted(self, finding: BarrierFinding) -> Witness | None:
        """A thread that comes to a barrier, and one that does not."""
        sample = finding.decision.sample
        if sample is None:
            return None
        scope = finding.barrier.scope
        threads = self.explainer.indices(scope, sample), self.explainer.indices(scope, sample, OTHER)
        return Witness(self.explainer.sizes(sample), threads)

    def divergent(self, finding: BarrierFinding) -> None:
        """A barrier that not all threads meet."""
        operation, control = finding.barrier.operation, finding.control
        who = "threads of a block" if finding.barrier.of_block else "threads of a sub-group"
        word = "barrier" if isinstance(operation, typed.Sync) or operation.operator == "sync" else "operation"
        labels: tuple[Label, ...] = ()
        text = f"not all {who} get here together"
        if control is not None:
            what = "this condition" if isinstance(control.operation, typed.If) else "this loop"
            why = f": {finding.cause.text}" if finding.cause is not None else ""
            where = control.operation.span
            labels = (Label(where, f"{what} is not the same for all {who}{why}"),)
            if finding.cause is not None and finding.cause.span.line != where.line:
                labels = (*labels, Label(finding.cause.span, "here"))
        witness = self.parted(finding)
        if witness is not None:
            one, other = (Witness((), (thread,)).threads_text for thread in witness.threads)
            text = f"{one} gets here, but {other} may not{witness.sizes_text}"
        self.explainer.diagnostics.append(
            Diagnostic(
                "L0350",
                f"{who} may not all meet this {word}",
                Label(operation.span, text),
                labels,
                (),
                self.meeting_fix(finding),
            )
        )

    def meeting_fix(self, finding: BarrierFinding) -> str:
        """How all threads come to a barrier."""
        if finding.control is not None and not isinstance(finding.control.operation, typed.If):
            return "let all threads make the same number of iterations, and guard what they do in them"
        what = "the barrier" if isinstance(finding.barrier.operation, typed.Sync) else "the operation"
        return f"take {what} out of the condition: end the `if` before it, and begin another one after it"

    # ------------------------------------------------------------------------------------------------------------------- races

    def race(self, finding: RaceFinding) -> None:
        """A pair of accesses of two threads of a block, or of two blocks."""
        first, second, decision = finding.first, finding.second, finding.decision
        swapped = second.writes and not first.writes
        if swapped:
            first, second = second, first
        explainer = self.explainer
        kinds = f"{explainer.kind(first)}/{explainer.kind(second)}, {RACING[finding.among]}"
        subject = f"{self.places.array(first.root)} ({kinds})"
        place = first.operation.span
        if first.operation.site is None or second.operation.site is None:
            explainer.assumed("race", place, subject)
            return
        verdict: VerdictName = "unproved" if decision.kind == "may" else explainer.verdict(decision)
        explainer.prove("race", verdict, place, subject, decision, self.race_witness(finding))
        if verdict not in ("refuted", "unproved"):
            return
        certain = verdict == "refuted"
        strength = (4 if finding.among == "threads" else 0) + (2 if certain else 0) + (1 if second.writes else 0)
        key = (first.region, first.root)
        told = self._told.get(key)
        if told is not None and told[0] >= strength:
            return
        diagnostic = self.meeting(finding, swapped, certain)
        if told is None:
            self._told[key] = strength, len(explainer.diagnostics)
            explainer.raced.add(first.root)
            explainer.diagnostics.append(diagnostic)
        else:
            self._told[key] = strength, told[1]
            explainer.diagnostics[told[1]] = diagnostic

    def meeting(self, finding: RaceFinding, swapped: bool, certain: bool) -> Diagnostic:
        """Two threads or blocks that meet in one element, or may do so."""
        first, second = (finding.second, finding.first) if swapped else (finding.first, finding.second)
        name = self.places.array(first.root)
        place, other = target(first.operation.span), target(second.operation.span)
        labels = [] if other == place else [Label(other, f"also {'written' if second.writes else 'read'} here")]
        who, explainer = RACING[finding.among], self.explainer
        sample = finding.decision.sample
        text = explainer.both_touch(finding, swapped, sample, "" if certain else "may ") if sample is not None else ""
        unknown = self.explainer.run_time_value(first, second)
        if not certain:
            reason = f"`{unknown}` is known at run time only" if unknown else explainer.one_array(finding, finding.among[:-1])
            reason = reason or finding.decision.reason
            text = f"{text}: {reason}" if text else reason or f"two {who} may meet in one element"
        if finding.among == "threads":
            labels.append(self.between(finding))
        else:
            assert first.region is not None
            labels.append(Label(self.model.regions[first.region].operation.span, "blocks run in no order, barriers or not"))
        message = f"{who} race on `{name}`" if certain else f"{who} are not shown to be independent: `{name}`"
        code = _CODES[finding.among, certain]
        fix = self.fix(finding, first, second)
        return Diagnostic(code, message, Label(place, text), (*labels, *self.explainer.called(first)), (), fix)

    def between(self, finding: RaceFinding) -> Label:
        """The barrier after which both happen."""
        team = self.model.teams[finding.first.scope.team or 0]
        number = (finding.decision.sample or {}).get("phase0", -1)
        phases = phases_of(self.model, team, team.part is not None)
        if 0 <= number < len(phases.barriers):
            barrier = phases.barriers[number]
            return Label(barrier.operation.span, self.after(barrier))
        return Label(team.operation.span, "no barrier lies between, from the start of these threads on")

    def after(self, barrier: Barrier) -> str:
        """That two accesses come after a barrier, and before the next."""
        if isinstance(barrier.operation, typed.Sync) and barrier.operation.inserted:
            return "after this, no barrier lies between"
        return "after this barrier, none lies between"

    def two(self, finding: RaceFinding, sample: Sample) -> tuple[tuple[tuple[str, int], ...], tuple[tuple[str, int], ...]]:
        """The indices of both threads."""
        indices = self.explainer.indices
        return indices(finding.first.scope, sample), indices(finding.second.scope, sample, SECOND)

    def race_witness(self, finding: RaceFinding) -> Witness | None:
        """A witness of two threads that meet."""
        sample = finding.decision.sample
        if sample is None:
            return None
        return Witness(self.explainer.sizes(sample), tuple(sorted(self.two(finding, sample))), self.explainer.element(sample))

    def fix(self, finding: RaceFinding, first: Access, second: Access) -> str | None:
        """How threads keep apart, or who comes first."""
        name = self.places.array(first.root)
        same = target(first.operation.span) == target(second.operation.span)
        if self.explainer.run_time_value(first, second):
            atomic = advice.atomic_fix(self.places, first)
            if atomic is not None or first.root not in self.model.shared:
                return atomic or advice.race_fix(self.places, first, second)
        if finding.among == "threads":
            if same:
                return f"let one thread write (`if {self.thread_name(first)} == 0:`), or give each thread an element of its own"
            return "put `lend.sync()` between the two"
        atomic = advice.atomic_fix(self.places, first) if same else None
        return f"give each block its own part of `{name}`" + (f", or {atomic}" if atomic is not None else "")

    def thread_name(self, access: Access) -> str:
        """The first index of a thread."""
        count = len(self.model.regions[access.region or 0].scope.threads)
        return self.model.indices[access.scope.threads[count]][0]
