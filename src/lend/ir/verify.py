"""The verifier of the typed tree: this page lists all its invariants.

Does: raise `InternalError` at the first operation that breaks one.  Does not: judge programs (a user's error never gets here).
Invariants of the typed tree:

 1. A value is defined once, and used only after its definition, in the region that defines it or in regions nested there.
 2. Dims are INDEX; a parameter's array is not OWNED. The kernel's body has no parameters and yields the leaves of `result`.
 3. Constants are of their type's Python type, in range, and exactly representable.
 4. `Unary`: `not` of bool_; `invert` of integers and bool_; `neg` and `abs` of numbers; the result has the operand's type, or the
    part's for `abs` of a complex value.
 5. `Binary`: operands have one type that knows the operator (see `OPERATORS`); comparisons give bool_, the rest that type.
    Integer `floordiv` and `mod` have a "division" site unless the divisor is a constant other than 0; integer shifts a "shift"
    site and powers an "exponent" site unless the right operand is unsigned or a constant of at least 0; no others have a site.
 6. `Math`: a known function of as many arguments as it takes, all of one type it is for, and its result's type.
 7. `Cast`: between scalars; from complex only to complex or bool_.
 8. `Load` and `Store`: one subscript per dimension; the path leads through records to a scalar, which is the value's type; stores
    only through writable borrows. A missing site needs an `unchecked` block in the kernel.
 9. Subscripts, sizes, extents and what `Require` records are INDEX or I64; conditions are bool_.
10. `Size` names a dimension of the array and is an INDEX.
11. `View`: one part per dimension; the result has the extents' number of dimensions, the same element, no more rights, and is
    UNALIGNED if the array is. `Reshape`: as many dimensions as sizes; C stays C, UNALIGNED stays, the rest is STRIDED.
12. `Allocate` and `Local`: OWNED, layout C, as many dimensions as sizes; a local's sizes are ints of at least 0.
13. `Allocate`, `Reshape`, `Require`, `Parallel` and `Blocks` stand at host level only, that is outside parallel loops. `Threads`
    and `Shared` stand at block level: inside `Blocks`, outside `Threads`; `Sync` and `Subgroup` inside `Threads`. At block level
    there is no `Store`, no `Atomic` and no `Local`.
14. `If`: no region parameters; each region yields the results' types. `For`: parameters (INDEX, *carried). `While`: both regions
    have the carried values as parameters, the condition yields one bool_. Loop bodies yield the carried values, after a bool_
    where `stops`. `Call`: one parameter per argument; yields the results' types.
15. Where a value flows into a parameter or a result, scalar types are identical; an array has the same element and dimensions,
    and the target claims no more about layout and rights.
16. `For` and `Parallel` without a site have constant steps other than 0; with one it is a "step" site.
17. `Parallel`: one to six extents; parameters one INDEX each, then the reductions' values; it yields these values; results have
    their types. Of one value: add mul and or xor min max of a type that knows it; of several: min or max, not of complex values.
18. What a parameter's `sizes` name are as many as its dimensions: ints, or INDEX values among the dims and what the body computes
    outside its regions; so is the bound of an `index`, which a Ref of integers may have; `contracts` has no parameters, may use
    the same values and the parameters, and yields bool_s.
19. Sites are in range, of the kind the operation needs, and name as many threads as the enclosing parallel loops have indices:
    in `Threads` those of the blocks, then those of the threads.
20. `Blocks`: one to three extents, else as 16 and 17. `Threads`: one to three sizes of at least 1, at most 1024 threads, else
    as 17.
21. `Shared`: as 12, or ATOMIC. ATOMIC arrays hold i32, i64, u32, u64, f32 or f64; no `Load` and no `Store` touches them, and what
    flows from one (a view, a parameter, a result) is ATOMIC.
22. `Atomic`: one subscript per dimension of an ATOMIC array; value, expected and result are its elements. A value unless it
    loads, `expected` for `compare_exchange` alone; and, or, xor of integers. A load does not release, a store does not acquire.
23. `Subgroup`: a power of two up to 64 that divides the number of threads. `sync` has no value and no result; `ballot` is of a
    bool_ and gives u64; the others give the value's type, shuffles with an i32 `lane`; `reduce_*` and `scan_*` of what knows it.

In a planned tree, sites may be missing (they are proved), and there are no `Blocks`: in a `Parallel` that is a `team` stand
`Local` arrays, ATOMIC ones too, operations of the block, and `Parallel` loops of its threads; what the block does for all of them
may have a site of the threads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal

from lend.ir import typed
from lend.ir.typed import Value
from lend.ir.verify_scalars import OPERATORS, REDUCTIONS, Scalars, flows
from lend.language.signature import ResultLeaf, ResultShape
from lend.language.types import (
    ATOMIC_ELEMENTS,
    BOOL_,
    I32,
    INDEX,
    U64,
    ArrayType,
    Borrow,
    ElementType,
    Layout,
    ScalarType,
    StructType,
    Type,
    array_type,
)

__all__ = ["flows", "verify_kernel"]


def verify_kernel(kernel: typed.Kernel, planned: bool = False) -> None:
    """Raise InternalError, with the span in hand, if `kernel` breaks an invariant of the typed tree, or of a planned one."""
    _Verifier(kernel, planned).run()


def leaves(shape: ResultShape | None) -> Iterator[ResultLeaf]:
    """The leaves of a result, in order."""
    if isinstance(shape, ResultLeaf):
        yield shape
    elif shape is not None:
        for item in shape.items:
            yield from leaves(item)


class _Verifier(Scalars):
    def run(self) -> None:
        kernel = self.kernel
        for dim in kernel.dims:
            self.require(dim.type is INDEX, f"a dim of type {dim.type}")
        for parameter in kernel.parameters:
            type = parameter.value.type
            self.require(not isinstance(type, ArrayType) or type.borrow is not Borrow.OWNED, f"{parameter.name} is lent as owned")
            if isinstance(type, ArrayType):
                self.atomic_element(type)
        self.define([*kernel.dims, *(parameter.value for parameter in kernel.parameters)])
        self.require(not kernel.body.parameters, "the kernel's body has parameters")
        self.region(kernel.body, [leaf.type for leaf in leaves(kernel.result)], "the kernel")
        self.facts()

    def facts(self) -> None:
        """What the kernel says about its sizes and about when it starts."""
        kernel = self.kernel
        self.visible.update(result for operation in kernel.body.operations for result in operation.results)
        for parameter in kernel.parameters:
            sizes, type = parameter.sizes, parameter.value.type
            self.require(len(sizes) in (0, type.dimensions if isinstance(type, ArrayType) else 0), f"sizes of {parameter.name}")
            self.use([size for size in sizes if isinstance(size, Value)])
            self.require(all(s.type is INDEX for s in sizes if isinstance(s, Value)), f"sizes of {parameter.name}")
            if parameter.index is not None:
                self.index_facts(type, *parameter.index)
        self.require(not kernel.contracts.parameters, "contracts with parameters")
        self.region(kernel.contracts, [BOOL_] * len(kernel.contracts.yields), "the contracts")

    def index_facts(self, type: Type, kind: str, bound: Value | int) -> None:
        """What was tested of an array's elements."""
        self.require(kind in ("index", "unique", "offsets"), f"facts called {kind}")
        element = type.element if isinstance(type, ArrayType) and type.borrow is Borrow.REF else None
        self.require(isinstance(element, ScalarType) and element.is_integer, f"indices in {type}")
        if isinstance(bound, Value):
            self.use([bound])
            self.index(bound)

    def region(self, region: typed.Region, yields: Sequence[Type], what: str) -> None:
        """A region's parameters, operations and yields; what it defines is not visible after it."""
        outside, span = set(self.visible), self.span
        self.define(region.parameters)
        for operation in region.operations:
            self.operation(operation)
        self.span = span
        self.use(region.yields)
        self.flow(region.yields, yields, f"the yield of {what}")
        self.visible = outside

    # --------------------------------------------------------------------------------------------- operations

    def operation(self, operation: typed.Operation) -> None:
        self.span = operation.span
        self.use(operation.operands)
        match operation:
            case typed.Constant() | typed.Unary() | typed.Binary() | typed.Math() | typed.Cast():
                self.scalar_operation(operation)
            case typed.Load() | typed.Store() | typed.Size() | typed.View():
                self.access(operation)
            case typed.Reshape() | typed.Allocate() | typed.Local() | typed.Shared():
                self.memory(operation)
            case typed.Sync():
                self.at("thread")
            case typed.Subgroup():
                self.subgroup(operation)
            case typed.Atomic():
                self.atomic(operation)
            case typed.Distinct():
                self.host_level()
                array = operation.array.array
                row = array.dimensions == 1 and array.layout is Layout.C and getattr(array.element, "is_integer", False)
                self.require(row, "a test of an array that is no row of integers")
                self.require(operation.result.type is BOOL_, "a test whose result is no bool_")
                self.index(operation.bound)
            case typed.Within():
                self.require(self.planned and self.array(operation.array).dimensions == 1, "a test inside of a loop")
                self.index(operation.first)
            case typed.WithinRest():
                self.host_level()
                self.require(self.planned and self.array(operation.array).dimensions == 1, "a test before a loop")
                self.require(self.array(operation.offsets).dimensions == 1, "a test before a loop")
            case typed.Exceed():
                self.host_level()
                self.require(self.planned and bool([self.array(array) for array in operation.arrays]), "a question about arrays")
            case typed.Require():
                self.host_level()
                self.condition(operation.condition)
                self.site(operation.site, None)
                self.index(*operation.operands[1:])
                if operation.facts is not None:
                    array, kind, bound = operation.facts
                    self.use([array])
                    self.index_facts(array_type(array.array.element, 1, Borrow.REF, Layout.C), kind, bound)
            case _:
                self.control(operation)
        self.span = operation.span
        self.define(operation.results)

    def access(self, operation: typed.Load | typed.Store | typed.Size | typed.View) -> None:
        array = self.array(operation.array)
        match operation:
            case typed.Load():
                self.require(array.borrow is not Borrow.ATOMIC, f"a plain load from {array}")
                self.element(array, operation.indices, operation.path, operation.result)
                self.bounds(operation.site)
            case typed.Store():
                self.at("host", "grid", "thread", "team")
                self.require(array.borrow.writable and array.borrow is not Borrow.ATOMIC, f"a store into {array}")
                self.element(array, operation.indices, operation.path, operation.value)
                self.bounds(operation.site)
            case typed.Size():
                self.require(0 <= operation.dimension < array.dimensions, f"dimension {operation.dimension} of {array}")
                self.result(operation.result, INDEX)
            case typed.View():
                self.view(array, operation)

    def element(self, array: ArrayType, indices: tuple[Value, ...], path: tuple[int, ...], value: Value) -> None:
        self.require(len(indices) == array.dimensions, f"{len(indices)} subscripts of {array}")
        self.index(*indices)
        element: ElementType = array.element
        for position in path:
            if not (isinstance(element, StructType) and 0 <= position < len(element.fields)):
                self.fail(f"no field {position} in {element}")
            element = element.fields[position][1]
        self.require(value.type is element, f"an element {element} and a value {value.type}")

    def view(self, array: ArrayType, operation: typed.View) -> None:
        self.require(len(operation.parts) == array.dimensions, f"{len(operation.parts)} parts of a view of {array}")
        kept = 0
        for part in operation.parts:
            if isinstance(part, Value):
                self.index(part)
                continue
            kept += 1
            self.index(part.lower, part.upper, part.step)
        self.require(kept > 0, "a view without dimensions")
        self.bounds(operation.site)
        type = self.array(operation.result)
        same = type.element is array.element and type.dimensions == kept
        same = same and not (type.borrow.writable and not array.borrow.writable)
        same = same and (array.borrow is not Borrow.ATOMIC or type.borrow is Borrow.ATOMIC)
        self.require(same and (array.layout is not Layout.UNALIGNED or type.layout is Layout.UNALIGNED), f"{type} views {array}")

    def memory(self, operation: typed.Reshape | typed.Allocate | typed.Local | typed.Shared) -> None:
        type = self.array(operation.result)
        self.require(type.dimensions == len(operation.sizes), f"{len(operation.sizes)} sizes of {type}")
        match operation:
            case typed.Reshape():
                self.host_level()
                self.index(*operation.sizes)
                array = self.array(operation.array)
                layout = array.layout if array.layout in (Layout.C, Layout.UNALIGNED) else Layout.STRIDED
                same = type.element is array.element and type.layout is layout
                same = same and (array.borrow is not Borrow.ATOMIC or type.borrow is Borrow.ATOMIC)
                self.require(same and (array.borrow.writable or not type.borrow.writable), f"{array} is reshaped to {type}")
                self.site(operation.shape_site, "shape")
                self.site(operation.view_site, "view")
            case typed.Allocate():
                self.host_level()
                self.index(*operation.sizes)
                self.site(operation.extent_site, "extent")
                self.site(operation.memory_site, "memory")
            case typed.Local() | typed.Shared():
                self.at(*(("block",) if isinstance(operation, typed.Shared) else ("host", "grid", "thread", "team")))
                self.require(all(size >= 0 for size in operation.sizes), f"a local array of sizes {operation.sizes}")
        self.atomic_element(type)
        if not isinstance(operation, typed.Reshape):
            shared = isinstance(operation, typed.Shared) or self.level == "team"
            owned = type.borrow is Borrow.OWNED or (shared and type.borrow is Borrow.ATOMIC)
            self.require(owned and type.layout is Layout.C, f"a new array of type {type}")

    def atomic_element(self, type: ArrayType) -> None:
        self.require(type.borrow is not Borrow.ATOMIC or type.element in ATOMIC_ELEMENTS, f"an array of type {type}")

    # ------------------------------------------------------------------------------------------ teams, atomics

    def atomic(self, operation: typed.Atomic) -> None:
        self.at("host", "grid", "thread")
        array, operator = self.array(operation.array), operation.operator
        self.require(array.borrow is Borrow.ATOMIC, f"an atomic operation on {array}")
        for value in (operation.result, operation.value, operation.expected):
            if value is not None:
                self.element(array, operation.indices, (), value)
        self.require((operation.value is None) == (operator == "load"), f"the value of {operator}")
        self.require((operation.expected is None) == (operator != "compare_exchange"), f"what {operator} expects")
        bits = operator not in ("and", "or", "xor") or self.scalar(operation.result).is_integer
        order = {"load": ("release", "acq_rel"), "store": ("acquire", "acq_rel")}.get(operator, ())
        self.require(bits and operation.order not in order, f"{operator} {operation.order} of {array}")
        self.bounds(operation.site)

    def subgroup(self, operation: typed.Subgroup) -> None:
        self.at("thread")
        operator, size, value = operation.operator, operation.size, operation.value
        self.require(1 <= size <= 64 and size & (size - 1) == 0 and self.team % size == 0, f"sub-groups of {size}")
        self.require(len(operation.results) == (operator != "sync"), f"results of {operator}")
        self.require((operation.lane is not None) == operator.startswith("shuffle"), f"the lane of {operator}")
        if operation.lane is not None:
            self.require(operation.lane.type is I32, f"a lane of type {operation.lane.type}")
        if value is None:
            self.require(operator == "sync", f"{operator} of nothing")
            return
        type = self.scalar(value)
        if operator == "ballot":
            self.require(type is BOOL_, f"a ballot of {type}")
        elif not operator.startswith("shuffle"):
            self.require(operator.partition("_")[2] in OPERATORS[type.kind], f"{operator} of {type}")
        self.result(operation.results[0], U64 if operator == "ballot" else type)

    # ------------------------------------------------------------------------------------------------ control

    def control(self, operation: typed.Operation) -> None:
        results = [result.type for result in operation.results]
        match operation:
            case typed.If():
                self.condition(operation.condition)
                for region in operation.regions:
                    self.require(not region.parameters, "a branch with parameters")
                    self.region(region, results, "a branch")
            case typed.For():
                self.index(operation.extent.lower, operation.extent.upper, operation.extent.step)
                self.nonzero_step([operation.extent], operation.site)
                self.carried(operation.body, [INDEX], operation.inits, results)
                self.region(operation.body, [BOOL_, *results] if operation.stops else results, "a loop")
            case typed.While():
                self.carried(operation.condition, [], operation.inits, results)
                self.carried(operation.body, [], operation.inits, results)
                self.region(operation.condition, [BOOL_], "a condition")
                self.region(operation.body, [BOOL_, *results] if operation.stops else results, "a loop")
            case typed.Call():
                self.flow(operation.arguments, [p.type for p in operation.body.parameters], f"an argument of {operation.name}")
                lent = [operation.arguments[loan.argument].type for loan in operation.loans]
                self.require(all(isinstance(type, ArrayType) for type in lent), f"a loan to {operation.name} that is no array")
                self.region(operation.body, results, operation.name)
            case typed.Parallel():
                self.parallel(operation, results)
            case typed.Blocks():
                self.host_level()
                self.require(1 <= len(operation.box) <= 3, f"{len(operation.box)} extents of blocks")
                self.boxed(operation, results, "block")
            case typed.Threads():
                self.team_threads(operation, results)
            case _:
                self.fail(f"an unknown operation {type(operation).__name__}")

    def carried(self, region: typed.Region, before: Sequence[Type], inits: Sequence[Value], results: Sequence[Type]) -> None:
        parameters = [parameter.type for parameter in region.parameters]
        self.require(parameters == [*before, *results], f"loop parameters {parameters} for results {results}")
        self.flow(inits, results, "a carried value")

    def parallel(self, operation: typed.Parallel, results: list[Type]) -> None:
        if self.level != "team":
            self.host_level()
        self.require(1 <= len(operation.box) <= 6, f"a box of {len(operation.box)} extents")
        self.require(not operation.team or (self.planned and self.level == "host"), "blocks of threads as a parallel loop")
        self.boxed(operation, results, "team" if operation.team else "thread" if self.level == "team" else "grid")

    def boxed(
        self, operation: typed.Parallel | typed.Blocks, results: list[Type], level: Literal["grid", "block", "thread", "team"]
    ) -> None:
        for extent in operation.box:
            self.index(extent.lower, extent.upper, extent.step)
        self.nonzero_step(operation.box, operation.site)
        self.reductions(operation.reductions)
        indices: list[Type] = [INDEX] * len(operation.box)
        self.carried(operation.body, indices, [init for r in operation.reductions for init in r.inits], results)
        before = self.threads, self.level
        self.threads, self.level = self.threads + len(operation.box), level
        self.region(operation.body, results, "a parallel loop")
        self.threads, self.level = before

    def team_threads(self, operation: typed.Threads, results: list[Type]) -> None:
        self.at("block")
        sizes = operation.sizes
        self.require(1 <= len(sizes) <= 3 and min(sizes) >= 1 and math.prod(sizes) <= 1024, f"threads of sizes {sizes}")
        self.reductions(operation.reductions)
        indices: list[Type] = [INDEX] * len(sizes)
        self.carried(operation.body, indices, operation.operands, results)
        outer = self.threads
        self.threads, self.level, self.team = outer + len(sizes), "thread", math.prod(sizes)
        self.region(operation.body, results, "the threads of a block")
        self.threads, self.level, self.team = outer, "block", 1

    def reductions(self, reductions: tuple[typed.Reduction, ...]) -> None:
        for reduction in reductions:
            operator, values = reduction.operator, reduction.inits
            self.require(bool(values), "a reduction of nothing")
            kinds = [self.scalar(value).kind for value in values]
            known = operator in (REDUCTIONS if len(values) == 1 else ("min", "max"))
            self.require(known and all(operator in OPERATORS[kind] for kind in kinds), f"a reduction by {operator} of {kinds}")
