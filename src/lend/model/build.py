"""From a typed kernel to its model: every access, with the instances that make it and what is known of them.

Does: walk the kernel once: its parameters and contracts, then host level and regions.  Does not: decide obligations.

The walk is one class, from the bottom up: values (`evaluate.py`), the point in the kernel and its facts (`point.py`), arrays and
accesses (`arrays.py`), conditions on data (`conditions.py`), what loops carry (`carried.py`), loops and regions (`loops.py`),
threads of blocks (`teams.py`), and here the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lend.ir import typed
from lend.ir.typed import Value
from lend.language.types import ArrayType, ScalarType
from lend.model.evaluate import LARGEST_SIZE
from lend.model.joint import joint_writes
from lend.model.linear import (
    FALSE,
    TRUE,
    Formula,
    Linear,
    at_least,
    both,
    either,
    equal,
    is_known,
    limited,
    negate,
    resolved,
)
from lend.model.records import Lending, Model, Scope
from lend.model.teams import Teams
from lend.model.tickets import keep_tickets


def build(kernel: typed.Kernel, fixed: Mapping[Value, int] | None = None) -> Model:
    """The model of a kernel. `fixed` gives launch constants their values, where they are known."""
    return Builder(kernel, fixed).build()


class Builder(Teams):
    """Walks the kernel."""

    def build(self) -> Model:
        """Walk it all."""
        derived = (size for parameter in self.kernel.parameters for size in parameter.sizes if isinstance(size, Value))
        self.model.sizes.update(self.kernel.dims, derived)
        for dim in self.kernel.dims:
            self.size_name(dim)
        for parameter in self.kernel.parameters:
            value = parameter.value
            if isinstance(value.type, ScalarType) and value.type.is_integer:
                self.number(value)
            elif isinstance(value.type, ScalarType) and value.type.kind == "bool":
                if value in self.fixed:
                    self.conditions[value] = TRUE if self.fixed[value] else FALSE
                    continue
                flag = self.fresh(value.name or "flag", 0, 1, free=True, value=value)
                self.conditions[value] = equal(Linear.of(flag), Linear.constant(1))
        for parameter in self.kernel.parameters:
            if parameter.index is not None:
                kind, bound = parameter.index
                self.index_bounds[parameter.value] = (kind, bound)
        self.take_contracts()
        self.declare_arrays()
        self.model.context = self.scope.facts  # what holds later on does not hold yet where a version of a region is chosen
        for operation in self.kernel.body.operations[:]:
            self.declare_arrays()
            self.visit(operation)
        self.model.ending = self.scope.facts
        self.model.end = self.here()
        self.declare_arrays()
        for parameter in self.kernel.parameters:
            if isinstance(parameter.value.type, ArrayType):
                self.model.shapes[parameter.value] = self.view_of(parameter.value).shape
        kept = set(self.model.accesses)
        keep_tickets(self.model, {access: name for access, name in self.additions.items() if access in kept})
        self.model.returned += (self.view_of(v).root for v in self.kernel.body.yields if isinstance(v.type, ArrayType))
        return self.model

    def size_name(self, dim: Value) -> None:
        """A size: 0 to LARGEST_SIZE."""
        if dim in self.fixed:
            self.numbers[dim] = Linear.constant(self.fixed[dim])
        else:
            name = self.fresh(dim.name or "size", 0, LARGEST_SIZE, value=dim)
            self.numbers[dim] = Linear.of(name)
            self.assumptions[name] = at_least(Linear.constant(LARGEST_SIZE), Linear.of(name))

    def take_contracts(self) -> None:
        """The contracts are facts, in unbounded integers.

        A call in which one fails runs nothing, so what a call does happens whatever a contract says that is not understood here
        (of floats, or nonlinear); but what looks like a failure may be one that it rules out.
        """
        self.ideal = True
        for operation in self.kernel.contracts.operations:
            self.visit(operation)
        self.ideal = False
        for value in self.kernel.contracts.yields:
            condition = self.condition(value)
            scope = self.scope.given(resolved(condition, "may"))
            self.scope = scope if is_known(condition) else replace(scope, exact=False)
        for name in sorted(self.scalars):
            if self.known(self.assumptions[name]) and not self.relied:
                self.held(name)

    # -------------------------------------------------------------------------------------------------------------- operations

    def visit(self, operation: typed.Operation) -> None:
        """One operation."""
        self.note_made(operation)
        match operation:
            case typed.Load():
                self.load(operation)
            case typed.Store():
                self.access(operation, operation.array, operation.indices, True, operation.path)
            case typed.Size():
                self.bind(operation.result, self.view_of(operation.array).shape[operation.dimension])
            case typed.View():
                self.view(operation)
            case typed.Reshape() | typed.Allocate():
                self.new_array(operation)
            case typed.Local():
                self.local(operation)
            case typed.Require():
                self.scope = self.scope.given(self.condition(operation.condition))
                self.tested(operation)
            case typed.If():
                self.branch(operation)
            case typed.For() | typed.While() if self.unrolled(operation):
                pass
            case typed.For():
                self.for_loop(operation)
            case typed.While():
                self.while_loop(operation)
            case typed.Call():
                self.call(operation)
            case typed.Parallel() | typed.Blocks():
                self.parallel(operation)
            case typed.Threads():
                self.threads(operation)
            case typed.Shared():
                self.shared(operation)
            case typed.Sync() | typed.Subgroup():
                self.barrier(operation)
            case typed.Atomic():
                self.atomic(operation)
            case typed.Binary():
                self.division(operation)
                self.evaluate(operation)
            case _:
                self.evaluate(operation)

    def evaluate(self, operation: typed.Operation) -> None:
        """An operation without regions; what no proof could need is not looked at, and stays unknown."""
        if all(result in self.relevant for result in operation.results):
            before = len(self.names.made)
            self.operation(operation)
            self.name_condition(operation)
            if self.scope.team is not None:
                self.hold(operation, before)

    def merge(self, results: tuple[Value, ...], cases: list[tuple[Formula, tuple[Value, ...]]]) -> None:
        """What values are that come from one of several paths."""
        for position, result in enumerate(results):
            values = [(condition, yields[position]) for condition, yields in cases]
            if isinstance(result.type, ArrayType):
                self.merge_arrays(result, [self.view_of(value) for _, value in values])
            elif result not in self.relevant:
                continue
            elif result.type.is_integer:
                options = [(condition, self.number(value)) for condition, value in values]
                self.bind(result, self.piecewise(result.type, result.name or "v", options, result))
            elif result.type.kind == "bool":
                formula: Formula = FALSE
                for condition, value in values:
                    formula = either(formula, both(condition, self.condition(value)))
                self.conditions[result] = limited(formula)

    def branch(self, operation: typed.If) -> None:
        """Both regions, each under its condition."""
        condition = self.condition(operation.condition)
        arms = ((condition, operation.then), (negate(condition), operation.orelse))
        at, start = self.numbered(), len(self.model.accesses)
        first, second = (
            self.controlled(replace(self.scope, order=order).given(fact), operation, order, fact)
            for order, (fact, _) in (((*self.scope.order, at, number), arm) for number, arm in enumerate(arms))
        )
        ends = [self.inside(scope, region.operations) for scope, (_, region) in zip((first, second), arms, strict=True)]
        self.written_in_both((first, second), (arms[0][0], arms[1][0]), start)
        self.merge(operation.results, [(fact, region.yields) for fact, region in arms])
        for position, result in enumerate(operation.results):
            sources = [(region.yields[position], end) for end, (_, region) in zip(ends, arms, strict=True)]
            self.born(result, sources, self.scope.order, (id(operation), "branch"))

    def written_in_both(self, arms: tuple[Scope, Scope], conditions: tuple[Formula, Formula], start: int) -> None:
        """Elements that both arms of a branch write are written whatever its condition says.

        `joint_writes` maps such a write to those that it stands for.
        """
        known = self.model.joint_writes
        writes = [*self.model.accesses[start:], *known]
        for a, b, joint in list(joint_writes(writes, arms, conditions, self.here())):
            known[joint] = tuple(x for w in (a, b) for x in known.get(w, (w,)))

    def call(self, operation: typed.Call) -> None:
        """The body in place; at host level a failed contract ends the kernel, so its facts stay."""
        for parameter, argument in zip(operation.body.parameters, operation.arguments, strict=True):
            self.alias(parameter, argument)
        if operation.loans:
            views = tuple(self.view_of(operation.arguments[loan.argument]) for loan in operation.loans)
            self.model.lendings.append(Lending(operation, views, self.here()))
        for inner in operation.body.operations:
            self.visit(inner)
        for result, value in zip(operation.results, operation.body.yields, strict=True):
            self.alias(result, value)
