"""Arrays in the walk: what each array value is a view of, and every load, store and slice as an access.

Does: record accesses and divisions, and what index types say of loaded values.  Does not: decide whether an access is in bounds.

Invariants: a slice that fails in a region is empty there, so the accesses of its elements say what they came `through`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lend.ir import typed
from lend.ir.typed import Value
from lend.language.types import ArrayType, Borrow
from lend.model.evaluate import I128, LARGEST_SIZE
from lend.model.linear import (
    TRUE,
    Formula,
    Linear,
    at_least,
    both,
    conjunction,
    either,
    equal,
    negate,
)
from lend.model.loads import IndexLoad
from lend.model.point import Point
from lend.model.records import Access, Birth, Dimension, Division, Scope
from lend.model.tickets import is_addition
from lend.model.views import View, compose, locate, whole

INDEX = I128


class Arrays(Point):
    """Arrays, and what is done to their elements."""

    def __init__(self, kernel: typed.Kernel, fixed: Mapping[Value, int] | None) -> None:
        super().__init__(kernel, fixed)
        self.views: dict[Value, View] = {}
        self.index_bounds: dict[Value, tuple[str, Value | int]] = {}
        self.additions: dict[Access, str] = {}  # atomic ones that lie inside their arrays, and the names of their results

    # ------------------------------------------------------------------------------------------------------------------ arrays

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

    def view_of(self, array: Value) -> View:
        """What an array value is; one not seen is a root of unknown sizes."""
        found = self.views.get(array)
        if found is None:
            shape = tuple(Linear.of(self.fresh("size", 0, LARGEST_SIZE, free=True)) for _ in range(array.array.dimensions))
            found = self.views[array] = self.merged(array, shape)
        return found

    def merged(self, array: Value, shape: tuple[Linear, ...]) -> View:
        """An array value that is a root of its own. In a region it is another in each instance: of parts, nobody knows which."""
        aliases = self.model.aliases
        if array in aliases.of_iteration and array in aliases.partial:
            return View(array, shape, None)
        return whole(array, shape)

    def new_array(self, operation: typed.Reshape | typed.Allocate) -> None:
        """Sizes that are not negative from here on, and of new arrays not above the largest: otherwise the kernel has ended."""
        shape = tuple(map(self.number, operation.sizes))
        for size in shape:
            self.scope = self.scope.given(at_least(size, Linear.constant(0)))
            if isinstance(operation, typed.Allocate) and size.value is None:
                self.scope = self.scope.given(at_least(Linear.constant(LARGEST_SIZE), size))
        if isinstance(operation, typed.Allocate) and not operation.zeroed and not operation.assumed:
            self.model.unwritten.add(operation.result)
            self.model.made_at[operation.result] = self.scope.order
            self.model.shapes[operation.result] = shape
        elif isinstance(operation, typed.Reshape):
            self.model.reshaped[operation.result] = self.view_of(operation.array).root
        self.views[operation.result] = whole(operation.result, shape)

    def local(self, operation: typed.Local) -> None:
        """An array of constant sizes; in a region each iteration has its own."""
        self.new_content(operation)
        if self.region is not None:
            self.model.private.add(operation.result)

    def shared(self, operation: typed.Shared) -> None:
        """An array of the threads of a block: the same memory each time it is reached, without content, or zeroed if atomic."""
        self.new_content(operation)
        self.model.shared.add(operation.result)
        if operation.result.array.borrow is Borrow.ATOMIC:
            self.model.unwritten.discard(operation.result)

    def new_content(self, operation: typed.Local | typed.Shared) -> None:
        """An array of constant sizes that has no content from here on."""
        shape = tuple(map(Linear.constant, operation.sizes))
        self.views[operation.result] = whole(operation.result, shape)
        self.model.shapes[operation.result] = shape
        self.model.unwritten.add(operation.result)
        self.model.made_at[operation.result] = self.scope.order

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
        self.views[result] = self.merged(result, shape)

    def born(
        self, value: Value, sources: list[tuple[Value, Scope]], order: tuple[int | str, ...], merge: tuple[int, str]
    ) -> None:
        """An array value that is one of several, unless all are views of one root, or it is another for each thread."""
        if isinstance(value.type, ArrayType) and self.view_of(value).root is value and self.followed(value):
            made_from = tuple((self.view_of(source), scope) for source, scope in sources)
            self.model.births[value] = Birth(made_from, merge, self.region is not None)
            self.model.made_at[value] = order
            self.model.shapes[value] = self.view_of(value).shape

    def followed(self, value: Value) -> bool:
        """Whether it is known what an array value is made from that is one of several. `teams.py` says it of blocks."""
        _ = value
        return self.region is None

    def alias(self, name: Value, value: Value) -> None:
        """One value under another name."""
        if isinstance(name.type, ArrayType):
            self.views[name] = self.view_of(value)
        elif name.type.is_integer:
            self.numbers[name] = self.number(value)
        elif name.type.kind == "bool":
            self.conditions[name] = self.condition(value)

    # ---------------------------------------------------------------------------------------------------------------- accesses

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

    def atomic(self, operation: typed.Atomic) -> None:
        """An atomic operation; what it gives is opaque, and may be a ticket."""
        self.access(operation, operation.array, operation.indices, False, ())
        self.unknown(operation.result)
        access, value = self.model.accesses[-1], operation.value
        step = self.number(value) if value is not None and value.scalar.is_integer else None
        if self.region is not None and not access.through and is_addition(operation, step):
            inside = conjunction(
                both(at_least(d.index, Linear.constant(0)), at_least(d.size, d.index.plus(1))) for d in access.bounds
            )
            if self.known(inside) and not self.relied:
                (self.additions[access],) = self.number(operation.result).names()

    def access(
        self,
        operation: typed.Load | typed.Store | typed.Atomic,
        array: Value,
        indices: tuple[Value, ...],
        writes: bool,
        path: tuple[int, ...],
    ) -> None:
        """Record a load, a store or an atomic operation."""
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
