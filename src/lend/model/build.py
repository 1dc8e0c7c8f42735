"""From a typed kernel to its model: every access, with the instances that make it and what is known of them.

Does: walk the kernel once, host level and regions, and record accesses, divisions and facts.  Does not: decide obligations.

Invariants:
- An access's `scope` holds in each of its instances; `exact` says that the scope and the subscripts are all there is to know: the
  instances of the scope are exactly those that happen.
- Names made at host level are launch constants: they do not change while a region runs.
- Facts never come from run-time checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace

from lend.diagnostics.records import dataclass
from lend.ir import typed
from lend.ir.typed import Region, Value
from lend.language.types import ArrayType, ScalarType
from lend.model.aliases import Aliases
from lend.model.evaluate import I128, LARGEST_SIZE, Evaluator
from lend.model.joint import joint_writes
from lend.model.linear import (
    FALSE,
    TRUE,
    Formula,
    Linear,
    Unknown,
    at_least,
    both,
    either,
    equal,
    is_known,
    limited,
    names_of,
    negate,
    resolved,
)
from lend.model.loads import IndexLoad
from lend.model.relevance import relevant
from lend.model.sets import Space


@dataclass(frozen=True)
class Scope:
    """Where in the kernel an instance happens: thread indices, loop counters, facts; `exact` as in the module's page."""

    threads: tuple[str, ...] = ()
    counters: tuple[str, ...] = ()
    facts: Formula = TRUE
    exact: bool = True
    order: tuple[int | str, ...] = ()
    unsure: tuple[tuple[int | str, ...], ...] = ()  # orders of the branches and loops that may not happen as the facts say

    def given(self, fact: Formula) -> Scope:
        """The scope where a fact holds too."""
        unsure = self.unsure if is_known(fact) else (*self.unsure, self.order)
        return replace(self, facts=both(self.facts, fact), unsure=unsure)


@dataclass(frozen=True)
class Dimension:
    """One subscript: `0 <= index < size`; for a slice bound `exclusive` is false: `0 <= index <= size`."""

    number: int
    index: Linear
    size: Linear


@dataclass(frozen=True, eq=False)
class Access:
    """One load, store or view of the source. `element` are the subscripts in the root's own dimensions."""

    operation: typed.Load | typed.Store | typed.View
    writes: bool
    root: Value
    element: tuple[Linear, ...] | None
    bounds: tuple[Dimension, ...]
    scope: Scope
    region: int | None
    within: tuple[int, ...] = ()  # fields of a record
    through: tuple[Access, ...] = ()  # views made in the region: if the check of one fails, the array is empty


@dataclass(frozen=True, eq=False)
class Division:
    """An operation that must not meet a zero (or negative) operand."""

    operation: typed.Binary | typed.For | typed.Parallel
    bad: Formula
    scope: Scope
    region: int | None


@dataclass(frozen=True, eq=False)
class RegionModel:
    """One parallel loop: its indices as names and as linear expressions of the counters `threads`."""

    operation: typed.Parallel
    number: int
    scope: Scope
    indices: tuple[Linear, ...]


@dataclass(frozen=True)
class View:
    """What an array value is: a root and, per root dimension, its subscript as a function of the view's own (`slots`)."""

    root: Value
    shape: tuple[Linear, ...]
    origin: tuple[Linear, ...] | None  # None: the mapping is not linear
    strides: tuple[tuple[int, int] | None, ...] = ()  # per root dimension: the view dimension that moves it, and by how much
    through: tuple[Access, ...] = ()


@dataclass(frozen=True)
class Birth:
    """An array value that is one of several: what it is made from, and where that is looked at."""

    sources: tuple[tuple[Value, Scope], ...]


@dataclass
class Model:
    """A kernel's accesses and divisions, its regions, and the names they are about."""

    kernel: typed.Kernel
    space: Space
    evaluator: Evaluator
    aliases: Aliases
    context: Formula = TRUE  # what holds when the kernel starts
    ending: Formula = TRUE  # what holds when it ends without a fault
    regions: list[RegionModel] = field(default_factory=list[RegionModel])
    accesses: list[Access] = field(default_factory=list[Access])
    divisions: list[Division] = field(default_factory=list[Division])
    joint_writes: dict[Access, tuple[Access, ...]] = field(default_factory=dict["Access", "tuple[Access, ...]"])
    loads: dict[str, IndexLoad] = field(default_factory=dict[str, IndexLoad])
    counters: set[str] = field(default_factory=set[str])  # of sequential loops at host level
    sizes: set[Value] = field(default_factory=set[Value])  # sizes of arguments, derived ones too: the call limits them
    private: set[Value] = field(default_factory=set[Value])  # arrays of one iteration's own
    unwritten: set[Value] = field(default_factory=set[Value])  # temporaries and local arrays that begin without content
    made_at: dict[Value, tuple[int | str, ...]] = field(default_factory=dict[Value, "tuple[int | str, ...]"])  # and where they do
    births: dict[Value, Birth] = field(default_factory=dict[Value, Birth])  # at host level, by root
    reshaped: dict[Value, Value] = field(default_factory=dict[Value, Value])  # roots that are another root in other sizes
    end: Scope = field(default_factory=Scope)  # where the kernel returns
    returned: list[Value] = field(default_factory=list[Value])  # temporaries
    shapes: dict[Value, tuple[Linear, ...]] = field(default_factory=dict[Value, tuple[Linear, ...]])


def build(kernel: typed.Kernel, fixed: Mapping[Value, int] | None = None) -> Model:
    """The model of a kernel. `fixed` gives launch constants their values, where they are known."""
    return Builder(kernel, fixed).build()


class Builder(Evaluator):
    """Walks the kernel."""

    def __init__(self, kernel: typed.Kernel, fixed: Mapping[Value, int] | None) -> None:
        super().__init__(fixed)
        self.kernel = kernel
        self.space = Space(self.names)
        self.model = Model(kernel, self.space, self, Aliases(kernel))
        self.scope = Scope()
        self.views: dict[Value, View] = {}
        self.region: int | None = None
        self.position = 0
        self.relevant = relevant(kernel)
        self.index_bounds: dict[Value, tuple[str, Value | int]] = {}

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

    def declare_arrays(self) -> None:
        """Arrays whose sizes are known by now become views of themselves."""
        for parameter in self.kernel.parameters:
            value = parameter.value
            if not isinstance(value.type, ArrayType) or value in self.views:
                continue
            if all(isinstance(size, int) or size in self.numbers for size in parameter.sizes):
                shape = tuple(Linear.constant(size) if isinstance(size, int) else self.numbers[size] for size in parameter.sizes)
                self.views[value] = whole(value, shape)
                self.validated(value, shape)

    def validated(self, array: Value, shape: tuple[Linear, ...]) -> None:
        """The call has looked at an index array: if it has elements, its bound is not 0."""
        if array in self.index_bounds and self.index_bounds[array][0] != "offsets":
            bound = self.index_bounds[array][1]
            limit = Linear.constant(bound) if isinstance(bound, int) else self.number(bound)
            fact: Formula = at_least(limit, Linear.constant(1))
            for size in shape:
                fact = either(fact, at_least(Linear.constant(0), size))
            self.scope = self.scope.given(fact)

    def tested(self, operation: typed.Require) -> None:
        """What is known of an array's elements from here on: the loads before this are of other arrays."""
        if operation.facts is not None:
            array, kind, bound = operation.facts
            view = self.view_of(array)
            self.index_bounds[view.root] = (kind, bound)
            self.model.shapes[view.root] = view.shape
            self.validated(view.root, view.shape)

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

    # ------------------------------------------------------------------------------------------------------------- facts

    def known(self, formula: Formula) -> bool:
        """Whether the facts here imply a formula. What that rests on is in `relied` until the next question."""
        shown = self.space.empty([both(self.scope.facts, negate(formula))], [])
        self.relied = ()
        if shown:
            self.asked = True
            closure = self.space.closure({*names_of(self.scope.facts), *names_of(formula)})
            self.relied = self.rests_on(closure, (self.scope.facts, formula))
        return shown

    def facts(self) -> Formula:
        """What holds at this point."""
        return self.scope.facts

    def bounded(self, expression: Linear) -> bool:
        """A free name of great range that no fact mentions stays unbounded: there is no need to ask."""
        mentioned = set(names_of(self.scope.facts))
        for name in expression.names():
            low, high = self.names.ranges[name]
            if name in self.names.free and high - low > LARGEST_SIZE and name not in mentioned:
                return False
        return True

    def loops(self) -> tuple[str, ...]:
        """The counters of the loops around this point, and the indices of the region."""
        return (*self.scope.counters, *self.scope.threads)

    def numbered(self) -> int:
        """The next static position."""
        self.position += 1
        return self.position

    def here(self) -> Scope:
        """The scope of an access at this point."""
        return replace(self.scope, order=(*self.scope.order, self.numbered()))

    def inside(self, scope: Scope, operations: Iterable[typed.Operation]) -> Scope:
        """Visit operations in another scope. Where that ends."""
        saved, self.scope = self.scope, scope
        for operation in operations:
            self.visit(operation)
        end, self.scope = self.here(), saved
        return end

    # --------------------------------------------------------------------------------------------------------- operations

    def visit(self, operation: typed.Operation) -> None:
        """One operation."""
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
                self.views[operation.result] = whole(operation.result, tuple(map(Linear.constant, operation.sizes)))
                self.model.unwritten.add(operation.result)
                self.model.made_at[operation.result] = self.scope.order
                if self.region is not None:
                    self.model.private.add(operation.result)
            case typed.Require():
                self.scope = self.scope.given(self.condition(operation.condition))
                self.tested(operation)
            case typed.If():
                self.branch(operation)
            case typed.For():
                self.for_loop(operation)
            case typed.While():
                self.while_loop(operation)
            case typed.Call():
                self.call(operation)
            case typed.Parallel():
                self.parallel(operation)
            case typed.Binary():
                self.division(operation)
                self.evaluate(operation)
            case _:
                self.evaluate(operation)

    def evaluate(self, operation: typed.Operation) -> None:
        """An operation without regions; what no proof could need is not looked at, and stays unknown."""
        if all(result in self.relevant for result in operation.results):
            self.operation(operation)

    def view_of(self, array: Value) -> View:
        """What an array value is; one not seen is a root of unknown sizes."""
        found = self.views.get(array)
        if found is None:
            shape = tuple(Linear.of(self.fresh("size", 0, LARGEST_SIZE, free=True)) for _ in range(array.array.dimensions))
            found = whole(array, shape)
            self.views[array] = found
        return found

    def load(self, operation: typed.Load) -> None:
        """A read; what it gives is opaque, within the bounds of the array's index type."""
        self.access(operation, operation.array, operation.indices, False, operation.path)
        self.unknown(operation.result)
        if operation.result in self.relevant and not self.ideal:
            self.index_load(operation)

    def index_load(self, operation: typed.Load) -> None:
        """What an index type says of a loaded value, if the load is known to succeed (a failed one gives 0)."""
        access = self.model.accesses[-1]
        facts = self.index_bounds.get(access.root)
        if facts is None or access.element is None or operation.site is None or access.through:
            return
        kind, bound = facts[0], Linear.constant(facts[1]) if isinstance(facts[1], int) else self.number(facts[1])
        inside: Formula = TRUE
        for dimension in access.bounds:
            inside = both(
                inside, both(at_least(dimension.index, Linear.constant(0)), at_least(dimension.size, dimension.index.plus(1)))
            )
        relied: tuple[str, ...] = ()
        if self.region is not None:
            if not self.known(inside):
                return
            relied = self.relied
        name = self.fresh(operation.result.name or "index", 0, LARGEST_SIZE, free=True, value=operation.result)
        last = bound if kind == "offsets" else bound.plus(-1)
        # Where there is nothing to index nothing is loaded: no instance may be lost for it.
        within = at_least(last, Linear.of(name))
        self.define(name, within if self.interval(last)[0] >= 0 else either(at_least(Linear.constant(-1), last), within))
        self.numbers[operation.result] = Linear.of(name).assuming(relied)
        self.model.loads[name] = IndexLoad(access.root, kind, access.element)

    def access(
        self, operation: typed.Load | typed.Store, array: Value, indices: tuple[Value, ...], writes: bool, path: tuple[int, ...]
    ) -> None:
        """Record a load or a store."""
        view = self.view_of(array)
        subscripts = tuple(map(self.number, indices))
        bounds = tuple(Dimension(k, i, n) for k, (i, n) in enumerate(zip(subscripts, view.shape, strict=True)))
        element = locate(view, subscripts)
        self.model.accesses.append(
            Access(operation, writes, view.root, element, bounds, self.here(), self.region, path, view.through)
        )

    def division(self, operation: typed.Binary) -> None:
        """A division, shift or power that may fail."""
        if operation.site is None:
            return
        b = self.number(operation.right)
        bad = equal(b, Linear.constant(0)) if operation.operator in ("floordiv", "mod") else at_least(Linear.constant(-1), b)
        self.model.divisions.append(Division(operation, bad, self.here(), self.region))

    def new_array(self, operation: typed.Reshape | typed.Allocate) -> None:
        """Sizes that are not negative from here on: otherwise the kernel has ended."""
        shape = tuple(map(self.number, operation.sizes))
        for size in shape:
            self.scope = self.scope.given(at_least(size, Linear.constant(0)))
        if isinstance(operation, typed.Allocate) and not operation.zeroed:
            self.model.unwritten.add(operation.result)
            self.model.made_at[operation.result] = self.scope.order
            self.model.shapes[operation.result] = shape
        elif isinstance(operation, typed.Reshape):
            self.model.reshaped[operation.result] = self.view_of(operation.array).root
        self.views[operation.result] = whole(operation.result, shape)

    def view(self, operation: typed.View) -> None:
        """A sub-view: its checks, its sizes and where its elements lie in the root."""
        base = self.view_of(operation.array)
        shape: list[Linear] = []
        starts: list[Linear] = []
        moves: list[tuple[int, int] | None] = []
        checks: list[Dimension] = []
        linear = base.origin is not None
        for number, (part, size) in enumerate(zip(operation.parts, base.shape, strict=True)):
            if isinstance(part, Value):
                index = self.number(part)
                checks.append(Dimension(number, index, size))
                starts.append(index)
                moves.append(None)
                continue
            lower, upper, step = self.number(part.lower), self.number(part.upper), self.number(part.step).value
            if step is None or step < 1:
                linear, step = False, 1
            shape.append(self.count(lower, upper, step))
            some = at_least(upper, lower.plus(1))
            # An empty slice is never outside.
            low = self.piecewise(INDEX, "low", [(some, lower), (negate(some), Linear.constant(0))])
            high = self.piecewise(INDEX, "high", [(some, upper), (negate(some), Linear.constant(0))])
            checks += [Dimension(number, low, size.plus(1)), Dimension(number, high, size.plus(1))]
            starts.append(lower)
            moves.append((len(shape) - 1, step))
        access = Access(operation, False, base.root, None, tuple(checks), self.here(), self.region, (), base.through)
        self.model.accesses.append(access)
        made = compose(base, tuple(shape), starts, moves) if linear else View(base.root, tuple(shape), None)
        if self.region is not None:  # at host level a failed check ends the kernel
            made = replace(made, through=(*base.through, access))
        self.views[operation.result] = made

    def count(self, lower: Linear, upper: Linear, step: int) -> Linear:
        """How many numbers a range with a constant step has."""
        span = upper.sub(lower) if step > 0 else lower.sub(upper)
        if abs(step) == 1:
            trips = span
        else:
            found = self.quotient(span.plus(abs(step) - 1), Linear.constant(abs(step)), I128)
            assert found is not None
            trips = found
        low, _ = self.interval(trips)
        if low >= 0:
            return trips.assuming(self.leans(trips))
        if self.known(at_least(trips, Linear.constant(0))):
            return trips.assuming(self.relied)
        positive = at_least(trips, Linear.constant(0))
        return self.piecewise(I128, "count", [(positive, trips), (negate(positive), Linear.constant(0))])

    # ------------------------------------------------------------------------------------------------------------ control

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

    def merge_arrays(self, result: Value, views: list[View]) -> None:
        """The same view on every path stays one; else it is a root of its own, which aliases those it may be."""
        if all(view == views[0] for view in views):
            self.views[result] = views[0]
            return
        # Where a check fails in a region the view is empty, whatever shape it should have had.
        if len({view.shape for view in views}) == 1 and not any(view.through for view in views):
            shape = views[0].shape
        else:
            shape = tuple(Linear.of(self.fresh("size", 0, LARGEST_SIZE, free=True)) for _ in views[0].shape)
        self.views[result] = whole(result, shape)

    def branch(self, operation: typed.If) -> None:
        """Both regions, each under its condition."""
        condition = self.condition(operation.condition)
        arms = ((condition, operation.then), (negate(condition), operation.orelse))
        at, start = self.numbered(), len(self.model.accesses)
        first, second = (
            replace(self.scope, order=(*self.scope.order, at, number)).given(fact) for number, (fact, _) in enumerate(arms)
        )
        ends = [self.inside(scope, region.operations) for scope, (_, region) in zip((first, second), arms, strict=True)]
        self.written_in_both((first, second), (arms[0][0], arms[1][0]), start)
        self.merge(operation.results, [(fact, region.yields) for fact, region in arms])
        for position, result in enumerate(operation.results):
            sources = [(region.yields[position], end) for end, (_, region) in zip(ends, arms, strict=True)]
            self.born(result, sources, self.scope.order)

    def born(self, value: Value, sources: list[tuple[Value, Scope]], order: tuple[int | str, ...]) -> None:
        """An array value that is one of several, unless all are views of one root."""
        if isinstance(value.type, ArrayType) and self.region is None and self.view_of(value).root is value:
            self.model.births[value] = Birth(tuple((self.view_of(source).root, scope) for source, scope in sources))
            self.model.made_at[value] = order
            self.model.shapes[value] = self.view_of(value).shape

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
        for inner in operation.body.operations:
            self.visit(inner)
        for result, value in zip(operation.results, operation.body.yields, strict=True):
            self.alias(result, value)

    def alias(self, name: Value, value: Value) -> None:
        """One value under another name."""
        if isinstance(name.type, ArrayType):
            self.views[name] = self.view_of(value)
        elif name.type.is_integer:
            self.numbers[name] = self.number(value)
        elif name.type.kind == "bool":
            self.conditions[name] = self.condition(value)

    def for_loop(self, operation: typed.For) -> None:
        """A sequential loop: its counter m is 0, 1, … and the index `lower + m · step`."""
        lower, upper = self.number(operation.extent.lower), self.number(operation.extent.upper)
        step = self.number(operation.extent.step).value
        index = operation.body.parameters[0]
        if operation.site is not None:
            zero = equal(self.number(operation.extent.step), Linear.constant(0))
            self.model.divisions.append(Division(operation, zero, self.here(), self.region))
        saved_region = self.in_region
        counter = self.fresh("m", 0, LARGEST_SIZE * 4)
        if self.region is None:
            self.model.counters.add(counter)
        m = Linear.of(counter)
        if step:
            position = lower.add(m.scale(step))
            fact = at_least(upper, position.plus(1)) if step > 0 else at_least(position, upper.plus(1))
            self.numbers[index] = position
            trips = self.count(lower, upper, step)
        else:
            self.numbers[index] = self.bounded_by(
                self.fresh(index.name or "i", *between(self.interval(lower), self.interval(upper)), free=True), lower, upper
            )
            fact, trips = Unknown(), None
        exact = bool(step) and not operation.stops
        scope = replace(
            self.scope.given(fact),
            counters=(*self.scope.counters, counter),
            exact=self.scope.exact and exact,
            order=(*self.scope.order, self.numbered(), counter),
        )
        if not exact:
            scope = replace(scope, unsure=(*scope.unsure, scope.order))
        self.loop_body(
            operation.results,
            operation.inits,
            operation.body,
            operation.body.parameters[1:],
            scope,
            m if exact else None,
            trips if exact else None,
            operation.stops,
        )
        self.in_region = saved_region

    def while_loop(self, operation: typed.While) -> None:
        """A loop of unknown length: its condition holds at the start of each iteration."""
        counter = self.fresh("w", 0, LARGEST_SIZE * 4)
        scope = replace(
            self.scope, counters=(*self.scope.counters, counter), exact=False, order=(*self.scope.order, self.numbered(), counter)
        )
        scope = replace(scope, unsure=(*scope.unsure, scope.order))

        def enter(carried: tuple[Value, ...]) -> Formula:
            for parameter, value in zip(operation.condition.parameters, carried, strict=True):
                self.alias(parameter, value)
            for inner in operation.condition.operations:
                self.visit(inner)
            return self.condition(operation.condition.yields[0])

        self.loop_body(
            operation.results,
            operation.inits,
            operation.body,
            operation.body.parameters,
            scope,
            None,
            None,
            operation.stops,
            enter,
        )

    def loop_body(
        self,
        results: tuple[Value, ...],
        inits: tuple[Value, ...],
        body: Region,
        carried: tuple[Value, ...],
        scope: Scope,
        counter: Linear | None,
        trips: Linear | None,
        stops: bool,
        enter: Callable[[tuple[Value, ...]], Formula] | None = None,
    ) -> None:
        """Visit a loop's body once to see how carried values move, and once more knowing it."""
        yields = body.yields[1:] if stops else body.yields
        saved, ideal = self.scope, self.ideal
        marks = len(self.model.accesses), len(self.model.divisions), len(self.model.regions), len(self.model.joint_writes)
        moves, end = Moves(), scope
        # Once without wrap-around to see how carried values move; then with that as hypothesis, until it is confirmed.
        for attempt in range(MAX_ATTEMPTS):
            del self.model.accesses[marks[0] :], self.model.divisions[marks[1] :], self.model.regions[marks[2] :]
            for joint in list(self.model.joint_writes)[marks[3] :]:
                del self.model.joint_writes[joint]
            self.ideal = ideal or attempt == 0
            self.scope = scope
            self.carry(carried, inits, counter, moves)
            if enter is not None:
                self.scope = self.scope.given(enter(carried))
            for operation in body.operations:
                self.visit(operation)
            end = self.here()
            if attempt == 0:
                moves = self.movement(carried, inits, yields)
                continue
            confirmed = self.confirmed(moves, carried, inits, yields)
            if confirmed == moves:
                break
            moves = confirmed if attempt < MAX_ATTEMPTS - 2 else Moves()
        self.scope, self.ideal = saved, ideal
        self.leave(results, carried, inits, moves, trips)
        start = replace(saved, order=scope.order[:-1])
        for result, parameter, init, following in zip(results, carried, inits, yields, strict=True):
            sources = [(init, start), (following, end)]
            self.born(parameter, sources, scope.order)
            self.born(result, sources, saved.order)

    def carry(self, carried: tuple[Value, ...], inits: tuple[Value, ...], counter: Linear | None, moves: Moves) -> None:
        """What carried values are at the start of an iteration."""
        for parameter, init in zip(carried, inits, strict=True):
            if isinstance(parameter.type, ArrayType):
                view = self.view_of(init)
                if parameter in moves.same:
                    self.views[parameter] = view
                elif parameter in moves.sized:
                    self.views[parameter] = whole(parameter, view.shape)
                else:
                    self.views.pop(parameter, None)
                    self.view_of(parameter)
            elif parameter in self.relevant and parameter.type.is_integer:
                self.numbers[parameter] = self.carried_number(parameter, init, counter, moves)
            elif parameter.type.kind == "bool":
                self.conditions[parameter] = Unknown()

    def carried_number(self, parameter: Value, init: Value, counter: Linear | None, moves: Moves) -> Linear:
        """A closed form for constant steps and no early exit; a bound for steps of one sign; else opaque."""
        start = self.number(init)
        if moves.by.get(parameter) == 0:
            return start
        if parameter in moves.by and counter is not None:
            closed = self.fit(start.add(counter, moves.by[parameter]), parameter.scalar)
            if closed is not None:
                return closed
        return self.beyond(parameter, start, moves.sign(parameter)).assuming(moves.leans.get(parameter, ()))

    def beyond(self, value: Value, start: Linear, sign: int) -> Linear:
        """An opaque integer on one side of where it started (any side if sign is 0)."""
        # The range holds `start` even where that is not a value of the type: an instance must never lack a value.
        name = self.fresh(
            value.name or "v", *between(self.type_range(value.scalar), self.interval(start)), free=True, value=value
        )
        if sign:
            self.define(name, at_least(Linear.of(name), start) if sign > 0 else at_least(start, Linear.of(name)))
        return Linear.of(name)

    def movement(self, carried: tuple[Value, ...], inits: tuple[Value, ...], yields: tuple[Value, ...]) -> Moves:
        """How carried values change in one iteration: integers by a constant or one way, arrays in size or not at all."""
        moves = Moves()
        for parameter, _, following in zip(carried, inits, yields, strict=True):
            if isinstance(parameter.type, ArrayType):
                if following is parameter:
                    moves.same.add(parameter)
                elif self.region is None:  # in a region, a view whose check fails is empty
                    moves.sized.add(parameter)
            elif parameter in self.relevant and parameter.type.is_integer:
                difference = self.number(following).sub(self.number(parameter))
                low, high = self.interval(difference)
                if not difference.terms:
                    moves.by[parameter] = difference.offset
                elif low >= 0 or self.known(at_least(difference, Linear.constant(0))):
                    moves.to[parameter] = 1
                elif high <= 0 or self.known(at_least(Linear.constant(0), difference)):
                    moves.to[parameter] = -1
        return moves

    def confirmed(self, moves: Moves, carried: tuple[Value, ...], inits: tuple[Value, ...], yields: tuple[Value, ...]) -> Moves:
        """The part of a hypothesis that an iteration which begins with it keeps."""
        kept = Moves()
        for parameter, init, following in zip(carried, inits, yields, strict=True):
            if isinstance(parameter.type, ArrayType):
                if parameter in moves.same:
                    kept.same.add(parameter)
                elif parameter in moves.sized and self.view_of(following).shape == self.view_of(init).shape:
                    kept.sized.add(parameter)
            elif parameter in self.relevant and parameter.type.is_integer:
                difference = self.number(following).sub(self.number(parameter))
                constant = not difference.terms and set(difference.assumed) <= set(self.number(parameter).assumed)
                if parameter in moves.by and constant and difference.offset == moves.by[parameter]:
                    kept.by[parameter] = moves.by[parameter]
                    continue
                sign = moves.sign(parameter)
                if sign and self.known(at_least(difference.scale(sign), Linear.constant(0))):
                    kept.to[parameter] = sign
                    if self.relied:
                        kept.leans[parameter] = self.relied
        return kept

    def leave(
        self, results: tuple[Value, ...], carried: tuple[Value, ...], inits: tuple[Value, ...], moves: Moves, trips: Linear | None
    ) -> None:
        """What carried values are after a loop."""
        for result, parameter, init in zip(results, carried, inits, strict=True):
            if isinstance(result.type, ArrayType):
                view = self.view_of(init)
                if parameter in moves.same:
                    self.views[result] = view
                elif parameter in moves.sized:
                    self.views[result] = whole(result, view.shape)
                else:
                    self.views.pop(result, None)  # of an earlier visit
            elif result in self.relevant and result.type.is_integer:
                self.numbers[result] = self.after(result, parameter, self.number(init), moves, trips)
            elif result.type.kind == "bool":
                self.conditions[result] = Unknown()

    def after(self, result: Value, parameter: Value, start: Linear, moves: Moves, trips: Linear | None) -> Linear:
        """A carried integer after its loop."""
        if moves.by.get(parameter) == 0:
            return start
        if parameter in moves.by and trips is not None:
            closed = self.fit(start.add(trips, moves.by[parameter]), result.scalar)
            if closed is not None:
                return closed
        return self.beyond(result, start, moves.sign(parameter)).assuming(moves.leans.get(parameter, ()))

    # ----------------------------------------------------------------------------------------------------------- regions

    def iteration_name(self, hint: str, lower: Linear, upper: Linear, step: int) -> str:
        """A count of iterations. Its range may lean on the moderate size of scalars that bound it; its definition does not."""
        _, high = self.interval(upper.sub(lower) if step > 0 else lower.sub(upper))
        leans = self.leans(lower, upper)
        name = self.fresh(hint, 0, LARGEST_COUNT if leans else max(high, 0))
        if leans:
            self.names.ranges[name] = (0, max(high, 0))
            self.leaning[name] = leans
            self.scalars.add(name)
        return name

    def inside_extent(self, index: Linear, lower: Linear, upper: Linear) -> Formula:
        """What is known of an index whose step is not: it lies between the bounds, on whichever side it walks."""
        forwards = both(at_least(index, lower), at_least(upper, index.plus(1)))
        return either(forwards, both(at_least(lower, index), at_least(index, upper.plus(1))))

    def parallel(self, operation: typed.Parallel) -> None:
        """A parallel loop: a region of the model."""
        number = len(self.model.regions)
        threads: list[str] = []
        facts: Formula = TRUE
        indices: list[Linear] = []
        exact = True
        steps: list[tuple[Linear, Linear, int | None]] = []
        for extent in operation.box:
            steps.append((self.number(extent.lower), self.number(extent.upper), self.number(extent.step).value))
        if operation.site is not None:
            for extent in operation.box:
                step = self.number(extent.step)
                if step.value is None:
                    self.model.divisions.append(Division(operation, equal(step, Linear.constant(0)), self.here(), None))
                    self.nonlinear.update(step.names())
        self.in_region, self.region = True, number
        for (lower, upper, step), parameter in zip(steps, operation.body.parameters, strict=False):
            if step:
                name = self.iteration_name(parameter.name or "i", lower, upper, step)
                index = lower.add(Linear.of(name).scale(step))
                facts = both(facts, at_least(upper, index.plus(1)) if step > 0 else at_least(index, upper.plus(1)))
            else:  # iterations have different indices, whatever the step is
                name = self.fresh(parameter.name or "i", *between(self.interval(lower), self.interval(upper)))
                index = self.bounded_by(name, lower, upper)
                facts = both(facts, self.inside_extent(index, lower, upper))
                exact = False
            threads.append(name)
            self.numbers[parameter] = index
            indices.append(index)
        for parameter in operation.body.parameters[len(indices) :]:
            self.unknown(parameter)
        scope = replace(
            self.scope.given(facts),
            threads=tuple(threads),
            exact=self.scope.exact and exact,
            order=(*self.scope.order, self.numbered(), THREADS),
        )
        if not exact:
            scope = replace(scope, unsure=(*scope.unsure, scope.order))
        self.model.regions.append(RegionModel(operation, number, scope, tuple(indices)))
        self.inside(scope, operation.body.operations)
        self.in_region, self.region = False, None
        for result in operation.results:
            self.unknown(result)


THREADS = "@threads"
"""In an order, the step into a region: what follows is ordered within one iteration only."""


@dataclass
class Moves:
    """How a loop's carried values move: integers `by` a constant or `to` one side, arrays stay the `same` or keep their size."""

    by: dict[Value, int] = field(default_factory=dict[Value, int])
    to: dict[Value, int] = field(default_factory=dict[Value, int])
    leans: dict[Value, tuple[str, ...]] = field(default_factory=dict[Value, tuple[str, ...]])  # what `to` rests on
    same: set[Value] = field(default_factory=set[Value])
    sized: set[Value] = field(default_factory=set[Value])

    def sign(self, value: Value) -> int:
        """1 or -1 if the value only moves up or down, else 0."""
        amount = self.by.get(value, self.to.get(value, 0))
        return (amount > 0) - (amount < 0)


MAX_ATTEMPTS = 6

LARGEST_COUNT = 1 << 64
"""No loop over 64-bit integers has more iterations."""

INDEX = I128


def whole(root: Value, shape: tuple[Linear, ...]) -> View:
    """An array as a view of itself."""
    zero = Linear.constant(0)
    return View(root, shape, tuple(zero for _ in shape), tuple((k, 1) for k in range(len(shape))))


def locate(view: View, subscripts: tuple[Linear, ...]) -> tuple[Linear, ...] | None:
    """An element of a view in its root's dimensions."""
    if view.origin is None:
        return None
    return tuple(
        start if move is None else start.add(subscripts[move[0]], move[1])
        for start, move in zip(view.origin, view.strides, strict=True)
    )


def compose(base: View, shape: tuple[Linear, ...], starts: list[Linear], moves: list[tuple[int, int] | None]) -> View:
    """A view of a view."""
    assert base.origin is not None
    origin: list[Linear] = []
    strides: list[tuple[int, int] | None] = []
    for start, move in zip(base.origin, base.strides, strict=True):
        if move is None:
            origin.append(start)
            strides.append(None)
            continue
        inner, factor = move
        origin.append(start.add(starts[inner], factor))
        following = moves[inner]
        strides.append(None if following is None else (following[0], following[1] * factor))
    return View(base.root, shape, tuple(origin), tuple(strides))


def between(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    """A range that holds two ranges."""
    return min(a[0], b[0]), max(a[1], b[1])
