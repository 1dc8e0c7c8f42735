"""Words for verdicts: reasons, conditions, witnesses, and the diagnostics of kernels that are rejected.

Does: turn findings into proofs and messages.  Does not: decide, or say what to write instead (`advice.py`).
Invariants: a refusal names the iterations and the element, and at most one fix; of the races of one array in one loop the
strongest is told, and nothing of what follows from it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from lend.checks import advice
from lend.checks.apart import MAY_MEET
from lend.checks.check_aliases import AliasFinding
from lend.checks.check_arith import ArithFinding
from lend.checks.check_bounds import BoundsFinding, outside
from lend.checks.check_init import InitFinding
from lend.checks.check_races import SECOND, RaceFinding, meeting
from lend.checks.decide import Decision
from lend.checks.places import Places, subscripts, target
from lend.diagnostics.diagnostic import Diagnostic, Label
from lend.diagnostics.proofs import ObligationName, Proof, VerdictName, Witness
from lend.diagnostics.spans import Span
from lend.ir import typed
from lend.ir.typed import Value
from lend.language.abi import MAX_SIZE
from lend.language.types import names_along
from lend.model.linear import All, AtLeastZero, Formula, Linear, both, names_of
from lend.model.records import Access, Division, Model, Scope
from lend.model.sets import OverBudget, only_over, parameters_of, sample_of

_WORDS: dict[str, VerdictName] = {"never": "proved", "when": "launch", "may": "checked", "always": "refuted"}

Sample = dict[str, int]

POWER_OF_TWO = f"2**{MAX_SIZE.bit_length() - 1}"
"""The largest size, as users read it."""

LONGEST_CONDITION = 100
"""Characters of a condition that a message still shows."""


RACING = {"threads": "threads of a block", "blocks": "blocks"}
"""Who races at team level, in words."""


_DOES = {"write": "writes", "read": "reads", "atomic": "updates"}
_DONE = {"write": "written", "read": "read", "atomic": "updated"}


class Explainer:
    """Collects proofs and diagnostics of one kernel."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.places = Places(model)
        self.proofs: list[Proof] = []
        self.diagnostics: list[Diagnostic] = []
        self.raced: set[Value] = set()  # arrays of which a race between threads or blocks was told
        self._told: set[tuple[Any, ...]] = set()
        self._overlapping: set[Span] = set()  # calls of kernels that were refused for what they lend
        self._races: dict[tuple[int | None, Value], tuple[int, int]] = {}  # strength and position of the race that was told

    # ----------------------------------------------------------------------------------------------------------- findings

    def bounds(self, finding: BoundsFinding) -> None:
        """A subscript."""
        access, decision = finding.access, finding.decision
        subject = f"{self.places.array(access.root)} ({self.kind(access)})"
        if access.operation.site is None:
            self.assumed("bounds", access.operation.span, subject)
            return
        verdict = self.verdict(decision)
        if finding.reach is not None:
            self.reached(finding, subject)
            return
        self.prove("bounds", verdict, access.operation.span, subject, decision, self.witness(access, decision))
        if verdict != "refuted" or finding.dimension is None:
            return
        if self.once(
            "L0301", access.region, access.root, access.element if access.element is not None else access.operation.span
        ):
            self.outside(finding)

    def reached(self, finding: BoundsFinding, subject: str) -> None:
        """A subscript whose least and greatest value are computed before its loop."""
        access, place = finding.access, finding.access.operation.span
        written = subscripts(place)
        number = finding.dimension.number if finding.dimension is not None else 0
        name = access.operation.array.name or self.places.array(access.root)
        what = f"`{written[number]}`" if written is not None and number < len(written) else "it"
        condition = f"{what} stays inside `{name}`" if finding.dimension is not None else f"`{name}` lies inside its array"
        self.proofs.append(Proof("bounds", "launch", place, subject, "", condition))

    def outside(self, finding: BoundsFinding) -> None:
        """An access that lies outside its array."""
        access, dimension = finding.access, finding.dimension
        assert dimension is not None
        sample = self.instance(access.scope, both(access.scope.facts, outside(dimension))) or finding.decision.sample or {}
        name = access.operation.array.name or self.places.array(access.root)
        index, size = self.value(dimension.index, sample), self.value(dimension.size, sample)
        where = self.who(access, sample)
        several = len(access.bounds) > 1
        if index is None or size is None:
            label = f"{where} reaches outside{self.with_sizes(sample)}"
        elif isinstance(access.operation, typed.View):
            label = f"{where} slices up to {index} where the size is {size - 1}{self.with_sizes(sample)}"
        else:
            numbers = [self.value(d.index, sample) for d in access.bounds]
            element = f"{name}[{', '.join('?' if n is None else str(n) for n in numbers)}]"
            which = f", whose dimension {dimension.number} has size {size}" if several else f", which has size {size}"
            label = f"{where} {_DOES[self.kind(access)]} {element}"
            label += f"{which if index >= 0 else ''}{self.with_sizes(sample)}"
            label += ": subscripts do not count from the end" if index < 0 else ""
        self.refuse(
            "L0301",
            f"`{name}` is {_DONE[self.kind(access)]} outside its bounds",
            target(access.operation.span),
            label,
            labels=self.called(access),
            fix=advice.bounds_fix(self.places, access, dimension, index if index is not None else 0),
        )

    def race(self, finding: RaceFinding) -> None:
        """A pair of accesses of one parallel loop."""
        first, second, decision = finding.first, finding.second, finding.decision
        swapped = second.writes and not first.writes
        if swapped:
            first, second = second, first
        subject = f"{self.places.array(first.root)} ({self.kind(first)}/{self.kind(second)})"
        place = first.operation.span
        if first.operation.site is None or second.operation.site is None:
            self.assumed("race", place, subject)
            return
        verdict: VerdictName = "unproved" if decision.kind == "may" else self.verdict(decision)
        self.prove("race", verdict, place, subject, decision, self.race_witness(finding, decision))
        if verdict not in ("refuted", "unproved"):
            return
        if self.in_refused_call(first):
            return
        strength = (2 if verdict == "refuted" else 0) + (1 if second.writes else 0)
        told = self._races.get((first.region, first.root))
        if told is not None and told[0] >= strength:
            return
        diagnostic = self.meeting(finding, swapped, verdict == "refuted")
        if told is None:
            self._races[first.region, first.root] = strength, len(self.diagnostics)
            self.diagnostics.append(diagnostic)
        else:
            self._races[first.region, first.root] = strength, told[1]
            self.diagnostics[told[1]] = diagnostic

    def meeting(self, finding: RaceFinding, swapped: bool, certain: bool) -> Diagnostic:
        """Two iterations that meet in one element, or may do so."""
        first, second = (finding.second, finding.first) if swapped else (finding.first, finding.second)
        name = self.places.array(first.root)
        place, other = target(first.operation.span), target(second.operation.span)
        assert first.region is not None
        labels = [] if other == place else [Label(other, f"also {'written' if second.writes else 'read'} here")]
        labels.append(Label(self.model.regions[first.region].operation.span, "the iterations of this loop run in parallel"))
        sample = finding.decision.sample or self.possible(finding)
        text = self.both_touch(finding, swapped, sample, "" if certain else "may ") if sample is not None else ""
        unknown = self.run_time_value(first, second)
        if not certain:
            reason = f"`{unknown}` is known at run time only" if unknown else self.one_array(finding, "iteration")
            reason = reason or finding.decision.reason
            if not text:
                text = reason or "two iterations may meet in one element"
            elif unknown:
                text = f"{text}: {reason}"
        return Diagnostic(
            "L0310" if certain else "L0311",
            f"iterations of this loop race on `{name}`"
            if certain
            else f"iterations of this loop are not shown to be independent: `{name}`",
            Label(place, text),
            (*labels, *self.called(first)),
            (),
            advice.race_fix(self.places, first, second),
        )

    def one_array(self, finding: RaceFinding, who: str) -> str | None:
        """Why two names, or two parts of an array, may mean the same elements."""
        first, second = finding.first.root, finding.second.root
        a, b = self.places.array(first), self.places.array(second)
        if a != b and not {first, second} & self.model.aliases.partial:
            return f"what one {who} calls `{a}` may be the array that another calls `{b}`"
        if finding.decision.reason == MAY_MEET:
            return f"another {who} may reach the same elements of `{a}` through another slice or reshape"
        return None

    def both_touch(self, finding: RaceFinding, swapped: bool, sample: Sample, may: str) -> str:
        """`threads i=0 and i=1 both write y[0], with N=2`; of team level `threads (b=0, t=0) and (b=0, t=1) both …`."""
        a, b = self.thread(finding.first, sample), self.thread(finding.second, sample, SECOND)
        first, second = (finding.second, finding.first) if swapped else (finding.first, finding.second)
        numbers = self.element(sample)
        element = f"{self.places.array(first.root)}[{', '.join(map(str, numbers))}]" if numbers else "one element"
        sizes = self.with_sizes(sample)
        in_teams = finding.among != "iterations"
        if second.writes or target(first.operation.span) == target(second.operation.span):
            threads = Witness((), tuple(sorted((a, b)))).threads_text
            if in_teams:
                threads = " and ".join(_bracketed(pair) for pair in sorted((a, b)))
                threads = f"threads {threads}"
            return f"{threads} {may}both write {element}{sizes}"
        writer, reader = (b, a) if swapped else (a, b)
        writes, reads = (f"{may}write", f"{may}read") if may else ("writes", "reads")
        one, other = Witness((), (writer,)).threads_text, Witness((), (reader,)).threads_text
        if in_teams:
            one = f"thread {_bracketed(writer)}"
            other = (
                f"{'thread' if first.scope.team is not None and second.scope.team is not None else 'block'} {_bracketed(reader)}"
            )
        return f"{one} {writes} {element}, which {other} {reads}{sizes}"

    def possible(self, finding: RaceFinding) -> Sample | None:
        """Two iterations that could meet, as far as is known."""
        first, second = finding.first, finding.second
        if first.element is None or second.element is None:
            return None
        if not self.model.aliases.comparable(first.root, second.root, False):
            return None
        space = self.model.space
        try:
            meet, names = meeting(self.model, finding.first, finding.second)
            found = space.set(names, [meet], "may", (SECOND,))
            return space.guarded(lambda: sample_of(found))
        except OverBudget:
            return None

    def run_time_value(self, *accesses: Access) -> str | None:
        """What makes an element unknown, as written."""
        for access in accesses:
            for expression in access.element or ():
                value = self.places.unknown(expression)
                if value is not None:
                    return value.span.text if self.places.load_of(value) is not None else value.name or value.span.text
        return None

    def init(self, finding: InitFinding) -> None:
        """A read of an array without content, or the coverage of an `Out`."""
        name, decision = self.places.array(finding.root), finding.decision
        place = finding.read.operation.span if finding.read is not None else finding.root.span
        subject = f"{name} ({'read' if finding.read is not None else 'written whole'})"
        if finding.read is not None and finding.read.operation.site is None:
            self.assumed("init", place, subject)
            return
        verdict: VerdictName = "proved" if decision.kind == "never" else "unproved"
        self.prove("init", verdict, place, subject, decision, None)
        # Before the values of a call are known, one refusal of an array is enough.
        followed = not self.model.evaluator.fixed and (
            finding.root in self.raced or any(root is finding.root for _, root in self._races)
        )
        if verdict != "proved" and not followed and self.once(finding.root, finding.read is None, place):
            if finding.returned:
                self.returned_unwritten(finding)
            elif finding.read is None:
                self.unwritten(finding)
            else:
                self.read_too_early(finding.read, decision)

    def unwritten(self, finding: InitFinding) -> None:
        """An `Out` array that is not shown to be written whole."""
        name, sample = self.places.array(finding.root), finding.decision.sample or {}
        numbers = self.element(sample)
        field = names_along(finding.root.array.element, finding.field)
        text = (f"{name}[{', '.join(map(str, numbers))}]" if numbers else name) + field
        writes = [a for a in self.model.accesses if a.writes and a.root is finding.root and a.within == finding.field]
        mut = f"`{advice.as_mut(self.places, finding.root)}`"
        guarded = next((a for a in writes if a.scope.unsure), None)
        fix = f"write the rest too, or borrow it as {mut}"
        if not writes:
            fix = f"write it, or borrow it as {mut}"
        elif guarded is not None:
            fix = f"write it in the other case too, or borrow it as {mut}"
        self.refuse(
            "L0321",
            f"`{name}` is lent as Out, but not shown to be written whole",
            finding.root.span,
            f"{text} may stay unwritten{self.with_sizes(sample)}" if writes else f"{text} is never written",
            labels=self.written(writes),
            fix=fix,
        )

    def returned_unwritten(self, finding: InitFinding) -> None:
        """A temporary that is returned, and not shown to be written whole."""
        name, sample = self.places.array(finding.root), finding.decision.sample or {}
        numbers = self.element(sample)
        field = names_along(finding.root.array.element, finding.field)
        text = (
            f"{name}[{', '.join(map(str, numbers))}]" if numbers else f"an element of {name}" if field else "an element"
        ) + field
        writes = [a for a in self.model.accesses if a.writes and a.root is finding.root and a.within == finding.field]
        self.refuse(
            "L0320",
            f"`{name}` is returned where it may not have been written whole",
            finding.root.span,
            f"{text} may have no value when it is returned{self.with_sizes(sample)}",
            labels=self.written(writes),
            fix="write all of it first, or begin with `lend.zeros` instead of `lend.empty`",
        )

    def read_too_early(self, read: Access, decision: Decision) -> None:
        """A read of an element that may not have been written."""
        name, sample = self.places.array(read.root), decision.sample or {}
        numbers = self.element(sample)
        text = f"{name}[{', '.join(map(str, numbers))}]" if numbers else name
        writes = [
            a
            for a in self.model.accesses
            if a.writes and a.root is read.root and target(a.operation.span) != target(read.operation.span)
        ]
        parameters = {parameter.value for parameter in self.model.kernel.parameters}
        named = read.root not in self.model.unwritten | parameters  # one of several arrays
        lacks = "which may be an array without a value here" if named else "which has no value yet"
        self.refuse(
            "L0320",
            f"`{name}` is read where it may not have been written",
            target(read.operation.span),
            f"{self.who(read, sample)} reads {text}, {lacks}{self.with_sizes(sample)}",
            labels=(*self.written(writes), *self.called(read)),
            fix=advice.read_fix(self.places, read.root),
        )

    def written(self, writes: list[Access]) -> tuple[Label, ...]:
        """Labels for the first writes of an array."""
        spans = list(dict.fromkeys(target(a.operation.span) for a in writes))
        unsure = {target(a.operation.span) for a in writes if a.scope.unsure}
        texts = {True: "this write is not sure to happen", False: "written here"}
        return tuple(Label(span, texts[span in unsure]) for span in spans[:2])

    def arith(self, finding: ArithFinding) -> None:
        """A division, shift, power or step."""
        operation, decision = finding.division.operation, finding.decision
        subject = self.operation_name(operation)
        verdict = self.verdict(decision)
        self.prove("arith", verdict, operation.span, subject, decision, None)
        if verdict == "refuted" and self.once("L0330", operation.span):
            scope = finding.division.scope
            sample = self.instance(scope, both(scope.facts, finding.division.bad)) or decision.sample or {}
            self.refuse(
                "L0330",
                f"{subject} fails here",
                operation.span,
                f"fails {self.instance_of(finding.division, sample)}{self.with_sizes(sample)}",
                fix=self.arith_fix(finding),
            )

    def alias(self, finding: AliasFinding) -> None:
        """Two loans of a called kernel."""
        call, decision = finding.lending.operation, finding.decision
        subject = f"{finding.first.name} and {finding.second.name} of {call.name}"
        if finding.first.assumed:
            self.assumed("alias", call.span, subject)
            return
        verdict: VerdictName = "unproved" if decision.kind == "may" else self.verdict(decision)
        sample = decision.sample or {}
        witness = Witness(self.sizes(sample), (), self.element(sample)) if sample else None
        self.prove("alias", verdict, call.span, subject, decision, witness)
        if verdict not in ("refuted", "unproved") or not self.once("L0407", call.span, finding.first.name, finding.second.name):
            return
        self._overlapping.add(call.span)
        certain = verdict == "refuted"
        arguments = f"the arguments `{finding.first.name}` and `{finding.second.name}` of `{call.name}`"
        self.refuse(
            "L0407",
            f"{arguments} {'overlap' if certain else 'may overlap'}",
            target(call.span),
            self.both_borrow(finding, sample),
            fix="pass different arrays",
        )

    def in_refused_call(self, access: Access) -> bool:
        """Whether an access stands in a kernel whose loans overlap: what else is wrong there follows from that."""
        number = access.operation.site
        return number is not None and not self._overlapping.isdisjoint(self.model.kernel.sites[number].calls)

    def both_borrow(self, finding: AliasFinding, sample: Sample) -> str:
        """`both borrow `x`, and `y` writes`; where an element is known, with that and the sizes."""
        arrays = [self.places.array(view.root) for view in finding.lending.views]
        loans = finding.lending.operation.loans
        names = dict.fromkeys(arrays[loans.index(loan)] for loan in (finding.first, finding.second))
        numbers = self.element(sample)
        borrowed = " and ".join(f"`{name}`" for name in names)
        if numbers and len(names) == 1:
            borrowed = f"{next(iter(names))}[{', '.join(map(str, numbers))}]{self.with_sizes(sample)}"
        return f"both borrow {borrowed}, and `{(finding.first if finding.first.writes else finding.second).name}` writes"

    def launch_alias(self, finding: AliasFinding) -> str:
        """What is wrong where the condition of two loans does not hold."""
        call, sample = finding.lending.operation, finding.decision.sample or {}
        arguments = f"the arguments `{finding.first.name}` and `{finding.second.name}` of `{call.name}`"
        if finding.decision.good is None:
            return f"{arguments} are shown to be apart only if {self.condition(finding.decision)}"
        condition = self.condition(replace(finding.decision, assumptions=()))
        if len(condition) > LONGEST_CONDITION:
            return f"{arguments} overlap for these sizes and scalars: as where they {self.both_borrow(finding, sample)}"
        return f"{arguments} overlap unless {condition}: they {self.both_borrow(finding, sample)}"

    def instance_of(self, division: Division, sample: Sample) -> str:
        """`for thread i=0`, `at host level`."""
        text = self.instance_text(division.region, division.scope, sample)
        return f"for {text}" if division.region is not None else text.replace("the host level", "at host level", 1)

    def called(self, access: Access) -> tuple[Label, ...]:
        """Where the functions are called that an access stands in."""
        number = access.operation.site
        calls = self.model.kernel.sites[number].calls if number is not None else ()
        return tuple(Label(span, "called here") for span in calls)

    def arith_fix(self, finding: ArithFinding) -> str:
        """How an operand stays inside its range."""
        operation, division = finding.division.operation, finding.division
        if isinstance(operation, typed.Binary):
            divisor = self.places.model.evaluator.number(operation.right)
            loop = advice.divisor_index(self.places, divisor, self.places.around(division.scope))
            if loop is not None and operation.operator in ("floordiv", "mod"):
                return f"begin `{loop.name}` at 1, or guard the operation with `if {loop.name} != 0:`"
            return "guard the operation with a condition"
        return "give the loop a step that is not zero"

    def operation_name(self, operation: Any) -> str:
        """What could fail, in words."""
        if isinstance(operation, typed.Binary):
            return {"shl": "a negative shift", "shr": "a negative shift", "pow": "a negative exponent"}.get(
                operation.operator, "a division by zero"
            )
        return "a step of zero"

    # ------------------------------------------------------------------------------------------------------------- parts

    def verdict(self, decision: Decision) -> VerdictName:
        """The verdict's name; what rests on assumptions about scalars is a launch condition."""
        if decision.kind == "never" and any(not self.is_size(name) for name in decision.assumptions):
            return "launch"
        return _WORDS[decision.kind]

    def is_size(self, name: str) -> bool:
        """Whether a launch constant is one of the kernel's sizes."""
        return self.model.space.names.launch.get(name) in self.model.sizes

    def prove(
        self,
        obligation: ObligationName,
        verdict: VerdictName,
        place: Span,
        subject: str,
        decision: Decision,
        witness: Witness | None,
    ) -> None:
        """Keep a proof."""
        condition = None
        if verdict == "launch":
            condition = self.condition(decision)
        shown = witness if verdict in ("refuted", "launch") else None
        reason = decision.reason
        self.proofs.append(Proof(obligation, verdict, place, subject, reason, condition, shown))

    def assumed(self, obligation: ObligationName, place: Span, subject: str) -> None:
        """An obligation inside `lend.unchecked`."""
        around = [u for u in self.model.kernel.unchecked if _inside(place, u.span)]
        reason = max(around, key=lambda u: u.span.line).reason if around else "inside lend.unchecked"
        self.proofs.append(Proof(obligation, "assumed", place, subject, reason))

    def once(self, *key: Any) -> bool:
        """Whether this has not been told yet."""
        known = key in self._told
        self._told.add(key)
        return not known

    def refuse(
        self, code: str, message: str, span: Span, label: str, *, labels: tuple[Label, ...] = (), fix: str | None = None
    ) -> None:
        """Keep a diagnostic."""
        self.diagnostics.append(Diagnostic(code, message, Label(span, label), labels, (), fix))

    def condition(self, decision: Decision) -> str:
        """A launch condition in the user's names."""
        parts: list[str] = []
        good = self.spoken(decision)
        if good is not None:
            text = str(good).split("->", 1)[-1].strip()[1:-1].split(":", 1)[-1].strip()
            parts.append(self.places.pretty(text))
        parts += dict.fromkeys(self.moderate(name) for name in decision.assumptions if not self.is_size(name))
        if len(parts) > 1 and re.search(r"\bor\b", re.sub(r"\(.*?\)", "", parts[0])):
            parts[0] = f"({parts[0]})"
        return " and ".join(parts) or f"sizes are at most {POWER_OF_TWO}"

    def spoken(self, decision: Decision) -> Any:
        """When all is well, over what has a name in the source: all else follows from that, and means nothing to users."""
        if decision.good is None:
            return None
        launch = self.model.space.names.launch
        every = {*parameters_of(decision.good), *parameters_of(decision.known)}
        own = {name for name in every if launch.get(name) is not None or self.places.named(name) is not None}

        def shown() -> Any:
            return only_over(decision.good, own).coalesce().gist(only_over(decision.known, own)).coalesce()

        try:
            return self.model.space.guarded(shown)
        except OverBudget:
            return decision.good

    def moderate(self, name: str) -> str:
        """What is assumed of a launch constant: that it is not huge, or that the sum it stands for does not wrap."""
        value = self.model.space.names.launch.get(name)
        if value is not None:
            text = self.places.source_name(name)
            return f"{text} <= {POWER_OF_TWO}" if value.scalar.kind == "uint" else f"abs({text}) <= {POWER_OF_TWO}"
        assumed = self.model.evaluator.assumptions[name]
        first = assumed.parts[0] if isinstance(assumed, All) and assumed.parts else assumed
        if isinstance(first, AtLeastZero):
            terms = first.expression.plus(-first.expression.offset)
            text = self.places.linear(terms)
            if text is not None:
                return f"`{text}` does not wrap"
        return "no sum of scalars wraps"

    def launch_race(self, finding: RaceFinding) -> str:
        """What is wrong where a race's condition does not hold."""
        decision, sample = finding.decision, finding.decision.sample
        name = self.places.array(finding.first.root)
        who = "iterations of this loop" if finding.among == "iterations" else RACING[finding.among]
        if decision.good is None or sample is None:
            return f"{who} are shown to be independent on `{name}` only if {self.condition(decision)}"
        condition = self.condition(replace(decision, assumptions=()))
        swapped = finding.second.writes and not finding.first.writes
        example = self.both_touch(finding, swapped, sample, "")
        if len(condition) > LONGEST_CONDITION:
            return f"{who} race on `{name}` for these sizes and scalars, as where {example}"
        return f"{who} race on `{name}` unless {condition}: {example}"

    def kind(self, access: Access) -> str:
        """`write`, `read`, or `atomic`."""
        return "atomic" if isinstance(access.operation, typed.Atomic) else "write" if access.writes else "read"

    def value(self, expression: Linear, sample: Sample) -> int | None:
        """An expression's value in a sample, if the sample says enough."""
        return expression.evaluate(sample) if all(n in sample for n in expression.names()) else None

    def sizes(self, sample: Sample) -> tuple[tuple[str, int], ...]:
        """The sizes and scalars of a sample."""
        launch = self.model.space.names.launch
        named = ((launch.get(n), v) for n, v in sample.items())
        return tuple(
            (value.name, bool(v) if value.scalar.kind == "bool" else v) for value, v in named if value is not None and value.name
        )

    def with_sizes(self, sample: Sample) -> str:
        """`, with N=2`."""
        return Witness(self.sizes(sample), ()).sizes_text

    def element(self, sample: Sample) -> tuple[int, ...]:
        """The element of a sample."""
        return tuple(v for n, v in sorted(sample.items()) if n.startswith("at") and n[2:].isdigit())

    def instance(self, scope: Scope, failing: Formula) -> Sample | None:
        """An instance of a place that fails, with the counters of its loops."""
        space = self.model.space
        counters = [loop for loop in self.places.loops() if loop in scope.counters]
        mentioned = [n for n in space.closure(names_of(failing)) if n not in space.names.launch]
        names = tuple(dict.fromkeys((*scope.threads, *counters, *mentioned)))
        try:
            found = space.set(names, [failing], "may")
            return space.guarded(lambda: None if found.is_empty() else sample_of(found))
        except OverBudget:
            return None

    def who(self, access: Access, sample: Sample) -> str:
        """`thread i=0`, `thread i=0 at j=3`, `the host level`."""
        return self.instance_text(access.region, access.scope, sample)

    def instance_text(self, region: int | None, scope: Scope, sample: Sample) -> str:
        """The iteration that makes an access, and where it is in its loops."""
        text = Witness((), (self.indices(scope, sample),)).threads_text if region is not None else "the host level"
        if region is not None and scope.team is None and isinstance(self.model.regions[region].operation, typed.Blocks):
            text = text.replace("thread", "block", 1)
        at: list[str] = []
        for counter in scope.counters:
            loop = self.places.loops().get(counter)
            number = self.value(loop.index, sample) if loop is not None else None
            if loop is not None and number is not None:
                at.append(f"{loop.name}={number}")
        return f"{text} at {', '.join(at)}" if at else text

    def indices(self, scope: Scope, sample: Sample, suffix: str = "") -> tuple[tuple[str, int], ...]:
        """The indices of an iteration, a block or a thread in a sample."""
        values = {n: sample.get(n + suffix, sample.get(n, 0)) for n in {*sample, *scope.threads}}
        found: list[tuple[str, int]] = []
        for name in scope.threads:
            user, index = self.model.indices[name]
            value = self.value(index, values)
            found.append((user, value if value is not None else 0))
        return tuple(found)

    def thread(self, access: Access, sample: Sample, suffix: str = "") -> tuple[tuple[str, int], ...]:
        """An iteration's indices in a sample."""
        return self.indices(access.scope, sample, suffix)

    def witness(self, access: Access, decision: Decision) -> Witness | None:
        """A witness of one iteration."""
        if decision.sample is None:
            return None
        return Witness(self.sizes(decision.sample), (self.thread(access, decision.sample),))

    def race_witness(self, finding: RaceFinding, decision: Decision) -> Witness | None:
        """A witness of two iterations that meet."""
        sample = decision.sample
        if sample is None:
            return None
        a, b = self.thread(finding.first, sample), self.thread(finding.second, sample, SECOND)
        return Witness(self.sizes(sample), tuple(sorted((a, b))), self.element(sample))


def _bracketed(indices: tuple[tuple[str, int], ...]) -> str:
    return f"({', '.join(f'{name}={value}' for name, value in indices)})"


def _inside(place: Span, block: Span) -> bool:
    """Whether a place may lie in the block under a header: it is indented further, or stands on the header's line."""
    line = place.source.line(place.line)
    indented = place.line == block.line or len(line) - len(line.lstrip()) > block.column
    return place.source is block.source and place.line >= block.line and indented
