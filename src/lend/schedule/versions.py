"""What verdicts are worth: checks go where they are proved, and regions have two versions where that depends on the launch.

Does: rewrite the typed tree: proved accesses lose their site; a region whose bounds are a launch condition stands twice, under a
comparison of sizes and scalars; a race that is a launch condition, and what barriers rest on, become requirements before their
region; regions whose iterations are proved independent are marked; temporaries that are proved to be written before they are
read need not begin with zeros.
Does not: decide anything.

Invariants:
- An access keeps its check unless its finding says that it never fails, for this launch.
- A condition is evaluated just before its region, from values that are visible there; what is not visible is taken at its worst.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lend.checks.check_aliases import AliasFinding
from lend.checks.check_races import RaceFinding
from lend.checks.check_revisits import writes_are_final
from lend.checks.decide import Decision
from lend.checks.judge import Judgement
from lend.checks.reach import Reach
from lend.diagnostics.records import dataclass
from lend.diagnostics.sites import Site
from lend.ir import typed
from lend.ir.clone import clone_region
from lend.ir.typed import Operation, Region, Value
from lend.language.abi import MAX_SIZE
from lend.model.linear import Formula
from lend.model.records import Model
from lend.schedule.conditions import ConditionWriter
from lend.schedule.content import written_first
from lend.schedule.innermost import innermost, integer_constants
from lend.schedule.reaches import ReachWriter


def schedule(kernel: typed.Kernel, judgement: Judgement, judged_again: bool = False) -> typed.Kernel:
    """The kernel without the checks that its judgement makes superfluous. `judged_again`: before each run, for its values."""
    scheduler = Scheduler(kernel, judgement, judged_again)
    visible = [*kernel.dims, *(p.value for p in kernel.parameters)]
    body = scheduler.region(kernel.body, visible)
    body = replace(body, operations=(*scheduler.requirements(visible), *body.operations))
    return replace(kernel, body=body, sites=tuple(scheduler.sites))


@dataclass(frozen=True)
class _Need:
    """What an operation without a check takes."""

    decision: Decision
    region: int | None
    reach: Reach | None = None


class Scheduler:
    """Rewrites one kernel."""

    def __init__(self, kernel: typed.Kernel, judgement: Judgement, judged_again: bool) -> None:
        self.kernel = kernel
        self.judgement = judgement
        self.model: Model = judgement.model
        self.sites: list[Site] = list(kernel.sites)
        self.safe: set[int] = set()  # operations (by identity) whose check goes
        self.conditional: dict[int, list[Decision]] = {}  # region number -> what its fast version needs
        self.fast: dict[int, set[int]] = {}  # region number -> operations whose check goes in the fast version
        self.reaches: dict[int, list[Reach]] = {}  # and where subscripts that are not decided must stay inside
        self.races: dict[int, list[Decision]] = {}
        self.findings: dict[int, RaceFinding] = {}  # by the identity of their decisions
        self.loans: dict[int, list[AliasFinding]] = {}  # by the identity of calls: those that must be looked at
        self.meetings: set[int] = set()  # the decisions (by identity) about barriers
        self.constants = integer_constants(kernel.body)
        self.unproved: set[int | None] = set()  # numbers of regions whose iterations may depend on each other
        self.written_first = frozenset[Value]() if judged_again else written_first(kernel, judgement)
        self._sort(judged_again)

    def _sort(self, judged_again: bool) -> None:
        by_operation: dict[int, list[_Need]] = {}
        for finding in self.judgement.bounds:
            need = _Need(finding.decision, finding.access.region, finding.reach)
            by_operation.setdefault(id(finding.access.operation), []).append(need)
        for finding in self.judgement.arith:
            need = _Need(finding.decision, finding.division.region)
            by_operation.setdefault(id(finding.division.operation), []).append(need)
        for operation, found in by_operation.items():
            needs = [need for need in found if need.decision.kind != "never" or self.scalars(need.decision)]
            if not needs:
                self.safe.add(operation)
                continue
            region = found[0].region
            if region is not None and all(need.decision.kind in ("never", "when") or need.reach is not None for need in needs):
                self.fast.setdefault(region, set()).add(operation)
                self.conditional.setdefault(region, []).extend(need.decision for need in needs)
                self.reaches.setdefault(region, []).extend(need.reach for need in needs if need.reach is not None)
        for found in self.judgement.init:
            if found.read is not None and found.read.region is not None and self.scalars(found.decision):
                self.races.setdefault(found.read.region, []).append(found.decision)
        for loans in self.judgement.aliases:
            conditional = loans.decision.kind == "when" or (loans.decision.kind == "never" and self.scalars(loans.decision))
            if conditional and not loans.first.assumed:
                self.loans.setdefault(id(loans.lending.operation), []).append(loans)
        rests: set[tuple[int, tuple[str, ...]]] = set()
        for finding in self.judgement.barriers:
            region = self.model.teams[finding.barrier.scope.team or 0].region
            names = tuple(self.scalars(finding.decision))
            if names and (region, names) not in rests:
                rests.add((region, names))
                self.races.setdefault(region, []).append(finding.decision)
                self.meetings.add(id(finding.decision))
        for finding in self.judgement.races:
            assumed = finding.first.operation.site is None or finding.second.operation.site is None
            decision, region = finding.decision, finding.first.region
            conditional = decision.kind == "when" or (decision.kind == "never" and self.scalars(decision))
            if conditional and not assumed and region is not None:  # what is undecided waits for the values of a call
                self.races.setdefault(region, []).append(decision)
                self.findings[id(decision)] = finding
            # A promise in `unchecked` is enough to run iterations on several threads, but code does not rest on it: on one
            # thread, a kernel whose promise is wrong still does what its text says, and that is how such a mistake is found.
            promised = assumed and (decision.kind != "never" or conditional)
            if promised or (decision.kind not in ("never", "when") and not judged_again):
                self.unproved.add(region)

    def scalars(self, decision: Decision) -> list[str]:
        """The scalars on whose moderate size a decision rests; sizes of arrays are limited by the call."""
        launch = self.model.space.names.launch
        return [name for name in decision.assumptions if launch.get(name) not in self.model.sizes]

    # ------------------------------------------------------------------------------------------------------------ rewriting

    def region(self, region: Region, visible: list[Value]) -> Region:
        """A host-level region; `visible` grows as it is walked."""
        seen = [*visible, *region.parameters]
        operations: list[Operation] = []
        for operation in region.operations:
            operations += self.host(operation, seen)
            seen += operations[-1].results
        return Region(region.parameters, tuple(operations), region.yields)

    def host(self, operation: Operation, seen: list[Value]) -> list[Operation]:
        """A host-level operation."""
        match operation:
            case typed.Parallel() | typed.Blocks():
                return self.parallel(operation, seen)
            case typed.Allocate():
                return [replace(operation, zeroed=not operation.assumed and operation.result not in self.written_first)]
            case typed.If():
                return [replace(operation, then=self.region(operation.then, seen), orelse=self.region(operation.orelse, seen))]
            case typed.Call():
                return [*self.apart(operation, seen), replace(operation, body=self.region(operation.body, seen))]
            case typed.For():
                return [replace(operation, body=self.region(operation.body, seen))]
            case typed.While():
                return [
                    replace(operation, condition=self.region(operation.condition, seen), body=self.region(operation.body, seen))
                ]
            case _:
                return [self.unchecked(operation, self.safe)]

    def apart(self, operation: typed.Call, seen: list[Value]) -> list[Operation]:
        """The requirements that a called kernel's loans do not overlap."""
        from lend.checks.explain import Explainer

        before: list[Operation] = []
        writer = ConditionWriter(self.model, seen, operation.span, before)
        for finding in self.loans.get(id(operation), []):
            condition = writer.condition([finding.decision], self.assumptions([finding.decision]))
            self.sites.append(Site("alias", operation.span, text=Explainer(self.model).launch_alias(finding)))
            before.append(typed.Require(operation.span, condition, len(self.sites) - 1))
        return before

    def parallel(self, operation: typed.Parallel | typed.Blocks, seen: list[Value]) -> list[Operation]:
        """A parallel loop, or one over blocks of threads: requirements for its races, then one or two versions."""
        number = next(r.number for r in self.model.regions if r.operation is operation)
        before: list[Operation] = []
        writer = ConditionWriter(self.model, seen, operation.span, before)
        for decision in self.races.get(number, []):
            condition = writer.condition([decision], self.assumptions([decision]))
            self.sites.append(Site("race", operation.span, text=self.text(decision)))
            before.append(typed.Require(operation.span, condition, len(self.sites) - 1))
        if number not in self.unproved:
            operation = self.independent(operation, number)
        slow = replace(operation, body=self.body(operation.body, self.safe))
        fast_operations = self.fast.get(number)
        if not fast_operations:
            return [*before, slow]
        decisions = self.conditional[number]
        condition = writer.condition([d for d in decisions if d.kind == "when"], self.assumptions(decisions))
        condition = ReachWriter(writer, seen).all_of(condition, self.reaches.get(number, []))
        mapping: dict[Value, Value] = {}
        fast = replace(
            operation,
            results=tuple(Value(r.type, r.span, r.name) for r in operation.results),
            body=clone_region(self.body(operation.body, self.safe | fast_operations), mapping),
        )
        slow = replace(slow, fallback=True, results=tuple(Value(r.type, r.span, r.name) for r in operation.results))
        then, orelse = Region((), (fast,), fast.results), Region((), (slow,), slow.results)
        return [*before, typed.If(operation.span, operation.results, condition, then, orelse)]

    def independent(self, operation: typed.Parallel | typed.Blocks, number: int) -> typed.Parallel | typed.Blocks:
        """A loop whose iterations are proved to be independent."""
        if isinstance(operation, typed.Blocks):
            return replace(operation, independent=True)
        final = innermost(operation, self.constants) and writes_are_final(self.model, number)
        return replace(operation, independent=True, final_writes=final)

    def requirements(self, visible: list[Value]) -> list[Operation]:
        """What the proofs of initialisation rest on, tested when the kernel starts."""
        shown = [finding.decision for finding in self.judgement.init if finding.decision.kind == "never"]
        names = dict.fromkeys(name for decision in shown for name in self.scalars(decision))
        if not names:
            return []
        span = self.kernel.span
        operations: list[Operation] = []
        writer = ConditionWriter(self.model, visible, span, operations)
        condition = writer.condition([], [self.model.evaluator.assumptions[name] for name in names])
        values = [value for name in names if (value := self.model.space.names.launch.get(name)) is not None]
        names_text = " and ".join(value.name or "a scalar" for value in values)
        text = f"what this kernel writes is known only while {names_text} lies between -{MAX_SIZE} and {MAX_SIZE}"
        self.sites.append(Site("launch", span, text=text))
        operations.append(typed.Require(span, condition, len(self.sites) - 1))
        return operations

    def assumptions(self, decisions: Sequence[Decision]) -> list[Formula]:
        """The assumptions about scalars that decisions rest on."""
        names = dict.fromkeys(name for decision in decisions for name in self.scalars(decision))
        return [self.model.evaluator.assumptions[name] for name in names]

    def text(self, decision: Decision) -> str:
        """What is wrong where a condition does not hold, in the user's names."""
        from lend.checks.explain import Explainer

        explainer = Explainer(self.model)
        finding = self.findings.get(id(decision))
        if finding is not None:
            return explainer.launch_race(finding)
        if id(decision) in self.meetings:
            return f"threads of a block are shown to meet the same barriers only if {explainer.condition(decision)}"
        return f"the iterations of this loop are independent only if {explainer.condition(decision)}"

    def body(self, region: Region, safe: set[int]) -> Region:
        """A region's body without the checks of `safe` operations."""
        return Region(region.parameters, tuple(self.inner(operation, safe) for operation in region.operations), region.yields)

    def inner(self, operation: Operation, safe: set[int]) -> Operation:
        """An operation inside a parallel loop."""
        match operation:
            case typed.If():
                return replace(operation, then=self.body(operation.then, safe), orelse=self.body(operation.orelse, safe))
            case typed.For():
                operation = self.unchecked(operation, safe)
                assert isinstance(operation, typed.For)
                return replace(operation, body=self.body(operation.body, safe))
            case typed.Call() | typed.Threads():
                return replace(operation, body=self.body(operation.body, safe))
            case typed.While():
                return replace(operation, condition=self.body(operation.condition, safe), body=self.body(operation.body, safe))
            case _:
                return self.unchecked(operation, safe)

    def unchecked(self, operation: Any, safe: set[int]) -> Operation:
        """An operation without its check, if it is safe."""
        tested = typed.Load | typed.Store | typed.Atomic | typed.View | typed.Binary | typed.For
        if id(operation) in safe and isinstance(operation, tested):
            return replace(operation, site=None)
        return operation
