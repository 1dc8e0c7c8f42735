"""Words for verdicts: reasons, conditions, witnesses, and the diagnostics of kernels that are rejected.

Does: all wording of the checks.  Does not: decide.
Invariants: a refusal names both iterations and the element, and at most one fix.
"""

from __future__ import annotations

from typing import Any

from lend.checks.check_arith import ArithFinding
from lend.checks.check_bounds import BoundsFinding
from lend.checks.check_init import InitFinding
from lend.checks.check_races import SECOND, RaceFinding
from lend.checks.decide import Decision
from lend.diagnostics.diagnostic import Diagnostic, Label
from lend.diagnostics.proofs import ObligationName, Proof, VerdictName, Witness
from lend.diagnostics.spans import Span
from lend.ir import typed
from lend.ir.typed import Value
from lend.model.build import Access, Model
from lend.model.linear import Linear

_WORDS: dict[str, VerdictName] = {"never": "proved", "when": "launch", "may": "checked", "always": "refuted"}


class Explainer:
    """Collects proofs and diagnostics of one kernel."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.proofs: list[Proof] = []
        self.diagnostics: list[Diagnostic] = []
        self._told: set[tuple[str, Span]] = set()

    # ----------------------------------------------------------------------------------------------------------- findings

    def bounds(self, finding: BoundsFinding) -> None:
        """A subscript."""
        access, decision = finding.access, finding.decision
        subject = f"{self.array(access.root)} ({'write' if access.writes else 'read'})"
        if access.operation.site is None:
            self.assumed("bounds", access.operation.span, subject)
            return
        verdict = self.verdict(decision)
        witness = self.witness(access, decision)
        self.prove("bounds", verdict, access.operation.span, subject, decision, witness)
        if verdict == "refuted" and finding.dimension is not None and decision.sample is not None:
            index = self.value(finding.dimension.index, decision.sample)
            size = self.value(finding.dimension.size, decision.sample)
            name = self.array(access.root)
            where = f"{witness}" if witness is not None else ""
            self.refuse(
                "L0301", f"`{name}` is {'written' if access.writes else 'read'} outside its bounds", access.operation.span,
                f"index {index} of dimension {finding.dimension.number}, which has size {size}, for {where}" if index is not None else "outside",
                fix=self.bounds_fix(index, size),
            )  # fmt: skip

    def bounds_fix(self, index: int | None, size: int | None) -> str:
        """How to stay inside."""
        if index is not None and index < 0:
            return "begin the loop later, or guard the access with a condition; subscripts do not count from the end"
        return "end the loop earlier, or guard the access with a condition"

    def race(self, finding: RaceFinding) -> None:
        """A pair of accesses of one parallel loop."""
        first, second, decision = finding.first, finding.second, finding.decision
        if second.writes and not first.writes:
            first, second = second, first
        subject = f"{self.array(first.root)} ({self.kind(first)}/{self.kind(second)})"
        place = first.operation.span
        if first.operation.site is None or second.operation.site is None:
            self.assumed("race", place, subject)
            return
        verdict: VerdictName = "unproved" if decision.kind == "may" else self.verdict(decision)
        witness = self.race_witness(finding, decision)
        self.prove("race", verdict, place, subject, decision, witness)
        if verdict not in ("refuted", "unproved"):
            return
        name = self.array(first.root)
        labels = () if second.operation.span == place else (Label(second.operation.span, f"also {self.done(second)} here"),)
        if verdict == "refuted" and witness is not None:
            both = "both write" if second.writes else "write and read"
            element = f"{name}[{', '.join(map(str, witness.element))}]" if witness.element else f"one element of {name}"
            self.refuse(
                "L0310",
                f"iterations of this loop race on `{name}`",
                place,
                f"{witness.threads_text} {both} {element}{witness.sizes_text}",
                labels=labels,
                fix=self.race_fix(first, second),
            )
        else:
            self.refuse(
                "L0311",
                f"iterations of this loop are not shown to be independent: `{name}`",
                place,
                f"{decision.reason or 'two iterations may meet in one element'}",
                labels=labels,
                fix=self.race_fix(first, second),
            )

    def race_fix(self, first: Access, second: Access) -> str:
        """The nearest way out of a race."""
        if first.operation.span == second.operation.span and isinstance(first.operation, typed.Store):
            return "write an element that only this iteration writes, or use a sequential `for ... in range(...)`"
        return "read from one array and write to another"

    def init(self, finding: InitFinding) -> None:
        """A read of an array without content, or the coverage of an `Out`."""
        name, decision = self.array(finding.root), finding.decision
        place = finding.read.operation.span if finding.read is not None else finding.root.span
        subject = f"{name} ({'read' if finding.read is not None else 'written whole'})"
        if finding.read is not None and finding.read.operation.site is None:
            self.assumed("init", place, subject)
            return
        verdict: VerdictName = "proved" if decision.kind == "never" else "unproved"
        element = self.element(decision)
        self.prove("init", verdict, place, subject, decision, None)
        if verdict == "proved":
            return
        text = f"{name}[{', '.join(map(str, element))}]" if element else name
        sizes = self.sizes(decision)
        with_sizes = f", with {', '.join(f'{n}={v}' for n, v in sizes)}" if sizes else ""
        if finding.read is None:
            self.refuse(
                "L0321",
                f"`{name}` is lent as Out, but not shown to be written whole",
                place,
                f"{text} may stay unwritten{with_sizes}",
                fix=f"write every element, or borrow it as Mut: {name}: Mut[...]",
            )
        else:
            self.refuse(
                "L0320",
                f"`{name}` is read where it may not have been written",
                place,
                f"{text} has no value yet{with_sizes}",
                fix="write it first, on every path"
                if finding.root not in {p.value for p in self.model.kernel.parameters}
                else f"write it first, or borrow it as Mut: {name}: Mut[...]",
            )

    def arith(self, finding: ArithFinding) -> None:
        """A division, shift, power or step."""
        operation, decision = finding.division.operation, finding.decision
        subject = self.operation_name(operation)
        verdict = self.verdict(decision)
        self.prove("arith", verdict, operation.span, subject, decision, None)
        if verdict == "refuted":
            self.refuse(
                "L0330",
                f"{subject} fails here",
                operation.span,
                "for every launch with work to do",
                fix="guard it with a condition, or add a contract",
            )

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
        return self.model.space.names.launch.get(name) in self.model.kernel.dims

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

    def refuse(
        self, code: str, message: str, span: Span, label: str, *, labels: tuple[Label, ...] = (), fix: str | None = None
    ) -> None:
        """Keep a diagnostic; one of a kind for one place."""
        if (code, span) not in self._told:
            self._told.add((code, span))
            self.diagnostics.append(Diagnostic(code, message, Label(span, label), labels, (), fix))

    def condition(self, decision: Decision) -> str:
        """A launch condition in the user's names."""
        parts: list[str] = []
        if decision.good is not None:
            parts.append(self.pretty(str(decision.good).split("->", 1)[-1].strip()[1:-1].split(":", 1)[-1].strip()))
        for name in decision.assumptions:
            if not self.is_size(name):
                parts.append(f"{self.source_name(name)} is of moderate size")
        return " and ".join(parts) or "sizes are of moderate size"

    def pretty(self, text: str) -> str:
        """The library's names as the user's."""
        for name in sorted(self.model.space.names.launch, key=len, reverse=True):
            text = text.replace(name, self.source_name(name))
        return text.replace(" = ", " == ")

    def source_name(self, name: str) -> str:
        """The user's name of a launch constant or an index."""
        value = self.model.space.names.launch.get(name)
        if value is not None and value.name:
            return value.name
        return name.rsplit("_", 1)[0]

    def array(self, root: Value) -> str:
        """The user's name of an array."""
        return next((p.name for p in self.model.kernel.parameters if p.value is root), None) or root.name or "an array"

    def kind(self, access: Access) -> str:
        """`write` or `read`."""
        return "write" if access.writes else "read"

    def done(self, access: Access) -> str:
        """`written` or `read`."""
        return "written" if access.writes else "read"

    def value(self, expression: Linear, sample: dict[str, int]) -> int | None:
        """An expression's value in a sample, if the sample says enough."""
        return expression.evaluate(sample) if all(n in sample for n in expression.names()) else None

    def sizes(self, decision: Decision) -> tuple[tuple[str, int], ...]:
        """The sizes and scalars of a sample."""
        sample = decision.sample or {}
        return tuple((self.source_name(n), v) for n, v in sample.items() if self.model.space.names.launch.get(n) is not None)

    def element(self, decision: Decision) -> tuple[int, ...]:
        """The element of an initialisation sample."""
        sample = decision.sample or {}
        return tuple(v for n, v in sorted(sample.items()) if n.startswith("at") and n[2:].isdigit())

    def thread(self, access: Access, sample: dict[str, int], suffix: str = "") -> tuple[tuple[str, int], ...]:
        """An iteration's indices in a sample."""
        if access.region is None:
            return ()
        region = self.model.regions[access.region]
        values = {n: sample.get(n + suffix, sample.get(n, 0)) for n in {*sample, *region.scope.threads}}
        found: list[tuple[str, int]] = []
        for parameter, index in zip(region.operation.body.parameters, region.indices, strict=False):
            number = self.value(index, values)
            found.append((parameter.name or "i", number if number is not None else 0))
        return tuple(found)

    def witness(self, access: Access, decision: Decision) -> Witness | None:
        """A witness of one iteration."""
        if decision.sample is None:
            return None
        return Witness(self.sizes(decision), (self.thread(access, decision.sample),))

    def race_witness(self, finding: RaceFinding, decision: Decision) -> Witness | None:
        """A witness of two iterations that meet."""
        sample = decision.sample
        if sample is None:
            return None
        a, b = self.thread(finding.first, sample), self.thread(finding.second, sample, SECOND)
        return Witness(self.sizes(decision), tuple(sorted((a, b))), self.element(decision))


def _inside(place: Span, block: Span) -> bool:
    """Whether a place may lie in the block under a header: it is indented further, or stands on the header's line."""
    line = place.source.line(place.line)
    indented = place.line == block.line or len(line) - len(line.lstrip()) > block.column
    return place.source is block.source and place.line >= block.line and indented
