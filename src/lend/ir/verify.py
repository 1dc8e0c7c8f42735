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
13. `Allocate`, `Reshape`, `Require` and `Parallel` stand at host level only, that is outside `Parallel`.
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
19. Sites are in range, of the kind the operation needs, and name as many threads as the enclosing `Parallel` has indices.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn

from lend.diagnostics.errors import InternalError
from lend.diagnostics.sites import SiteKind
from lend.diagnostics.spans import Span
from lend.ir import typed
from lend.ir.typed import Value
from lend.language.arithmetic import cast
from lend.language.libm import BINARY, COMPLEX, PREDICATES, TERNARY, UNARY
from lend.language.signature import ResultLeaf, ResultShape
from lend.language.types import (
    BOOL_,
    I64,
    INDEX,
    PART,
    ArrayType,
    Borrow,
    ElementType,
    Layout,
    ScalarType,
    StructType,
    Type,
    array_type,
)

INTEGER = frozenset("add sub mul floordiv mod pow shl shr and or xor min max eq ne lt le gt ge".split())  # noqa: SIM905
OPERATORS: dict[str, frozenset[str]] = {
    "bool": frozenset(("and", "or", "xor", "min", "max", *typed.COMPARISONS)),
    "int": INTEGER,
    "uint": INTEGER,
    "float": frozenset(("add", "sub", "mul", "div", "floordiv", "mod", "pow", "min", "max", *typed.COMPARISONS)),
    "complex": frozenset(("add", "sub", "mul", "div", "pow", "eq", "ne")),
}
REDUCTIONS = frozenset(("add", "mul", "and", "or", "xor", "min", "max"))
INTEGER_SITES: dict[str, SiteKind] = {
    "floordiv": "division",
    "mod": "division",
    "shl": "shift",
    "shr": "shift",
    "pow": "exponent",
}
PYTHON_TYPES: dict[str, type] = {"bool": bool, "int": int, "uint": int, "float": float, "complex": complex}


def verify_kernel(kernel: typed.Kernel) -> None:
    """Raise InternalError, with the span in hand, if `kernel` breaks an invariant of the typed tree."""
    _Verifier(kernel).run()


def leaves(shape: ResultShape | None) -> Iterator[ResultLeaf]:
    """The leaves of a result, in order."""
    if isinstance(shape, ResultLeaf):
        yield shape
    elif shape is not None:
        for item in shape.items:
            yield from leaves(item)


def flows(source: Type, target: Type) -> bool:
    """Whether a value of type `source` may become a parameter or result of type `target`."""
    if not (isinstance(source, ArrayType) and isinstance(target, ArrayType)):
        return source is target
    if source.element is not target.element or source.dimensions != target.dimensions:
        return False
    if target.borrow.writable and not source.borrow.writable:
        return False
    strided = target.layout is Layout.STRIDED and source.layout is not Layout.UNALIGNED
    return target.layout is source.layout or strided or target.layout is Layout.UNALIGNED


class _Verifier:
    def __init__(self, kernel: typed.Kernel) -> None:
        self.kernel = kernel
        self.span = kernel.span
        self.defined: set[Value] = set()  # everywhere
        self.visible: set[Value] = set()  # here
        self.constants: dict[Value, Any] = {}
        self.threads = 0  # indices of the enclosing Parallel

    def run(self) -> None:
        kernel = self.kernel
        for dim in kernel.dims:
            self.require(dim.type is INDEX, f"a dim of type {dim.type}")
        for parameter in kernel.parameters:
            type = parameter.value.type
            self.require(not isinstance(type, ArrayType) or type.borrow is not Borrow.OWNED, f"{parameter.name} is lent as owned")
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

    # ------------------------------------------------------------------------------------------------- basics

    def fail(self, what: str) -> NoReturn:
        raise InternalError(what, self.span)

    def require(self, holds: bool, what: str) -> None:
        if not holds:
            self.fail(what)

    def define(self, values: Iterable[Value]) -> None:
        for value in values:
            self.require(value not in self.defined, f"{value} is defined twice")
            self.defined.add(value)
            self.visible.add(value)

    def use(self, values: Iterable[Value]) -> None:
        for value in values:
            self.require(value in self.visible, f"{value} is used where it is not defined")

    def flow(self, sources: Sequence[Value], targets: Sequence[Type], what: str) -> None:
        self.require(len(sources) == len(targets), f"{what}: {len(sources)} values for {len(targets)}")
        for source, target in zip(sources, targets, strict=True):
            self.require(flows(source.type, target), f"{what}: {source.type} becomes {target}")

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

    def site(self, number: int | None, kind: SiteKind | None) -> None:
        if number is None:
            return
        self.require(0 <= number < len(self.kernel.sites), f"there is no site {number}")
        site = self.kernel.sites[number]
        self.require(kind is None or site.kind == kind, f"site {number} is of kind {site.kind}, not {kind}")
        self.require(len(site.threads) == self.threads, f"site {number} names {len(site.threads)} threads of {self.threads}")

    def index(self, *values: Value) -> None:
        for value in values:
            self.require(value.type in (INDEX, I64), f"{value} is no index")

    def condition(self, value: Value) -> None:
        self.require(value.type is BOOL_, f"the condition {value} is not bool_")

    def scalar(self, value: Value) -> ScalarType:
        if not isinstance(value.type, ScalarType):
            self.fail(f"{value} is not a scalar")
        return value.type

    def array(self, value: Value) -> ArrayType:
        if not isinstance(value.type, ArrayType):
            self.fail(f"{value} is not an array")
        return value.type

    def result(self, value: Value, type: Type) -> None:
        self.require(value.type is type, f"the result {value} should be {type}")

    def host_level(self) -> None:
        self.require(not self.threads, "an operation of the host level inside a parallel loop")

    def nonzero_step(self, extents: Iterable[typed.Extent], site: int | None) -> None:
        if site is None:
            for extent in extents:
                self.require(bool(self.constants.get(extent.step)), "a step that may be zero has no site")
        self.site(site, "step")

    def bounds(self, site: int | None) -> None:
        self.require(site is not None or bool(self.kernel.unchecked), "an access without a site outside lend.unchecked")
        self.site(site, "bounds")

    # --------------------------------------------------------------------------------------------- operations

    def operation(self, operation: typed.Operation) -> None:
        self.span: Span = operation.span
        self.use(operation.operands)
        match operation:
            case typed.Constant() | typed.Unary() | typed.Binary() | typed.Math() | typed.Cast():
                self.scalar_operation(operation)
            case typed.Load() | typed.Store() | typed.Size() | typed.View():
                self.access(operation)
            case typed.Reshape() | typed.Allocate() | typed.Local():
                self.memory(operation)
            case typed.Distinct():
                self.host_level()
                array = operation.array.array
                row = array.dimensions == 1 and array.layout is Layout.C and getattr(array.element, "is_integer", False)
                self.require(row, "a test of an array that is no row of integers")
                self.require(operation.result.type is BOOL_, "a test whose result is no bool_")
                self.index(operation.bound)
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

    def scalar_operation(self, operation: typed.Constant | typed.Unary | typed.Binary | typed.Math | typed.Cast) -> None:
        match operation:
            case typed.Constant():
                self.constant(self.scalar(operation.result), operation.value)
                self.constants[operation.result] = operation.value
            case typed.Unary():
                self.unary(operation)
            case typed.Binary():
                self.binary(operation)
            case typed.Math():
                self.math(operation)
            case typed.Cast():
                source, target = self.scalar(operation.operand), self.scalar(operation.result)
                allowed = source.kind != "complex" or target.kind in ("complex", "bool")
                self.require(allowed, f"a cast from {source} to {target}")

    def constant(self, type: ScalarType, value: Any) -> None:
        exact = value.__class__ is PYTHON_TYPES[type.kind]
        if exact and type.is_integer:
            exact = type.minimum <= value <= type.maximum
        elif exact and type.kind in ("float", "complex"):
            parts = [(value.real, cast(type, value).real), (value.imag, cast(type, value).imag)]
            exact = all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in parts)
        self.require(exact, f"{value!r} is no constant of type {type}")

    def unary(self, operation: typed.Unary) -> None:
        operator, type = operation.operator, self.scalar(operation.operand)
        allowed = {
            "not": type is BOOL_,
            "invert": type is BOOL_ or type.is_integer,
            "neg": type is not BOOL_,
            "abs": type is not BOOL_,
        }
        self.require(allowed.get(operator, False), f"{operator} of {type}")
        self.result(operation.result, PART.get(type, type) if operator == "abs" else type)

    def binary(self, operation: typed.Binary) -> None:
        operator, type = operation.operator, self.scalar(operation.left)
        self.require(operation.right.type is type, f"{operator} of {type} and {operation.right.type}")
        self.require(operator in OPERATORS[type.kind], f"{operator} of {type}")
        self.result(operation.result, BOOL_ if operator in typed.COMPARISONS else type)
        kind = INTEGER_SITES.get(operator) if type.is_integer else None
        if kind is None:
            self.require(operation.site is None, f"{operator} of {type} has a site")
        elif operation.site is None:
            right = self.constants.get(operation.right)
            harmless = bool(right) if kind == "division" else type.kind == "uint" or (right is not None and right >= 0)
            self.require(harmless, f"{operator} of {type} has no site")
        self.site(operation.site, kind)

    def math(self, operation: typed.Math) -> None:
        function, arguments = operation.function, operation.arguments
        arity = 2 if function in BINARY or function == "complex" else 3 if function in TERNARY else 1
        self.require(len(arguments) == arity and function != "pow", f"{function} of {len(arguments)} arguments")
        type = self.scalar(arguments[0])
        self.require(all(argument.type is type for argument in arguments), f"{function} of arguments of several types")
        if function == "complex":
            whole = next((c for c, part in PART.items() if part is type), None)
            self.require(whole is not None and operation.result.type is whole, f"complex of {type} gives {operation.result.type}")
            return
        if function in PREDICATES:
            known = type.kind == "float" or (type.kind == "complex" and function != "signbit")
        elif function in ("real", "imag"):
            known = type.kind == "complex"
        elif function == "popcount":
            known = type.is_integer
        elif type.kind == "complex":
            known = function in COMPLEX
        else:
            known = type.kind == "float" and function in UNARY | BINARY | TERNARY
        self.require(known, f"{function} of {type}")
        self.result(operation.result, BOOL_ if function in PREDICATES else PART[type] if function in ("real", "imag") else type)

    def access(self, operation: typed.Load | typed.Store | typed.Size | typed.View) -> None:
        array = self.array(operation.array)
        match operation:
            case typed.Load():
                self.element(array, operation.indices, operation.path, operation.result)
                self.bounds(operation.site)
            case typed.Store():
                self.require(array.borrow.writable, f"a store into {array}")
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
        self.require(same and (array.layout is not Layout.UNALIGNED or type.layout is Layout.UNALIGNED), f"{type} views {array}")

    def memory(self, operation: typed.Reshape | typed.Allocate | typed.Local) -> None:
        type = self.array(operation.result)
        self.require(type.dimensions == len(operation.sizes), f"{len(operation.sizes)} sizes of {type}")
        match operation:
            case typed.Reshape():
                self.host_level()
                self.index(*operation.sizes)
                array = self.array(operation.array)
                layout = array.layout if array.layout in (Layout.C, Layout.UNALIGNED) else Layout.STRIDED
                same = type.element is array.element and type.layout is layout
                self.require(same and (array.borrow.writable or not type.borrow.writable), f"{array} is reshaped to {type}")
                self.site(operation.shape_site, "shape")
                self.site(operation.view_site, "view")
            case typed.Allocate():
                self.host_level()
                self.index(*operation.sizes)
                self.site(operation.extent_site, "extent")
                self.site(operation.memory_site, "memory")
            case typed.Local():
                self.require(all(size >= 0 for size in operation.sizes), f"a local array of sizes {operation.sizes}")
        if not isinstance(operation, typed.Reshape):
            self.require(type.borrow is Borrow.OWNED and type.layout is Layout.C, f"a new array of type {type}")

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
                self.region(operation.body, results, operation.name)
            case typed.Parallel():
                self.parallel(operation, results)
            case _:
                self.fail(f"an unknown operation {type(operation).__name__}")

    def carried(self, region: typed.Region, before: Sequence[Type], inits: Sequence[Value], results: Sequence[Type]) -> None:
        parameters = [parameter.type for parameter in region.parameters]
        self.require(parameters == [*before, *results], f"loop parameters {parameters} for results {results}")
        self.flow(inits, results, "a carried value")

    def parallel(self, operation: typed.Parallel, results: list[Type]) -> None:
        self.host_level()
        self.require(1 <= len(operation.box) <= 6, f"a box of {len(operation.box)} extents")
        for extent in operation.box:
            self.index(extent.lower, extent.upper, extent.step)
        self.nonzero_step(operation.box, operation.site)
        inits: list[Value] = []
        for reduction in operation.reductions:
            operator, values = reduction.operator, reduction.inits
            self.require(bool(values), "a reduction of nothing")
            kinds = [self.scalar(value).kind for value in values]
            known = operator in (REDUCTIONS if len(values) == 1 else ("min", "max"))
            self.require(known and all(operator in OPERATORS[kind] for kind in kinds), f"a reduction by {operator} of {kinds}")
            inits += values
        indices: list[Type] = [INDEX] * len(operation.box)
        self.carried(operation.body, indices, inits, results)
        self.threads = len(operation.box)
        self.region(operation.body, results, "a parallel loop")
        self.threads = 0
