"""Kernels: parameters, contracts, the body, results; kernels called by kernels.

Does: `typecheck`, the step of the pipeline.  Does not: evaluate contracts (`frontend/contracts.py`).
Invariants: the result is a typed kernel, or diagnostics and no kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from lend.diagnostics.diagnostic import Diagnostic
from lend.diagnostics.spans import Span
from lend.frontend.capture import Captured
from lend.frontend.contracts import is_contract
from lend.frontend.typecheck.assigned import assigned_names
from lend.frontend.typecheck.emitter import Dependency, Refused, Unit, region_of
from lend.frontend.typecheck.entities import (
    Array,
    Conflict,
    Element,
    Entity,
    Frame,
    Function,
    Missing,
    Number,
    Poison,
    Python,
    Record,
    Scalar,
    TupleOf,
)
from lend.frontend.typecheck.parallel import ParallelLoops
from lend.frontend.typecheck.prune import prune
from lend.ir import syntax, typed
from lend.ir.typed import Operation, Parameter, Value
from lend.language.dims import DimType, size_text
from lend.language.intrinsics import DeviceFunction
from lend.language.signature import (
    ArgumentType,
    ArrayKind,
    ComptimeKind,
    ComptimeValue,
    ParameterSpec,
    ResultLeaf,
    ResultShape,
    ResultStruct,
    ResultTuple,
    ScalarKind,
    Signature,
    TupleKind,
)
from lend.language.types import INDEX, ArrayType, ScalarType, StructType


@dataclass(frozen=True, eq=False)
class Checked:
    """What type checking gives: a kernel or the reasons why not, and the captured values it depends on."""

    kernel: typed.Kernel | None
    diagnostics: tuple[Diagnostic, ...]
    dependencies: tuple[Dependency, ...]
    deferred: bool


def typecheck(
    tree: syntax.Function,
    captured: Captured,
    signature: Signature,
    types: tuple[ArgumentType, ...],
    typevars: Mapping[TypeVar, ScalarType],
    math: Literal["fast", "default", "strict"],
) -> Checked:
    """The typed tree of a kernel for these argument types."""
    unit = Unit(math)
    checker = KernelChecker(unit, tree, captured, signature, typevars)
    try:
        kernel = checker.kernel(types)
    except Refused as refused:
        checker.report(refused)
        kernel = None
    ordered = tuple(sorted(unit.diagnostics, key=lambda d: (d.primary.span.line, d.primary.span.column)))
    return Checked(None if ordered else kernel, ordered, tuple(unit.dependencies), unit.deferred)


class KernelChecker(ParallelLoops):
    """Typing of one kernel."""

    def __init__(
        self, unit: Unit, tree: syntax.Function, captured: Captured, signature: Signature, typevars: Mapping[TypeVar, ScalarType]
    ) -> None:
        super().__init__(unit)
        self.tree = tree
        self.signature = signature
        self.typevars = typevars
        self.parameters: list[Parameter] = []
        names: dict[str, Entity] = {}
        self.frames.append(Frame(tree.name, captured, names, assigned_names(tree.body), identity=captured.function))

    def kernel(self, types: tuple[ArgumentType, ...]) -> typed.Kernel | None:
        """Check the kernel; None if something was refused."""
        span = self.tree.span
        dims = tuple(self.new_value(INDEX, span, size_text(dim)) for dim in self.signature.dims)
        self.frame.sizes.update(zip(self.signature.dims, map(Scalar, dims), strict=True))
        body: list[Operation] = []
        with self.into(body):
            for spec, type, parameter in zip(self.signature.parameters, types, self.tree.parameters, strict=True):
                self.names[spec.name] = self.parameter(spec, type, parameter.span)
            self.names["#return"], self.names["#result"] = (
                Number(False, self.truth_type()),
                Missing((), "not returned on every path"),
            )
            contracts = self.contract_facts()
            self.check_block(without_contracts(self.tree))
            if self.unit.diagnostics:
                return None
            result = self.settle(self.function_result(self.tree))
            shape, yields = self.results(result)
        sizes = [size for p in self.parameters for size in p.sizes if isinstance(size, Value)]
        region = prune(region_of(body, yields), sizes)
        return typed.Kernel(
            span,
            self.tree.name,
            dims,
            tuple(self.parameters),
            region,
            shape,
            tuple(self.unit.sites),
            tuple(self.unit.unchecked),
            self.unit.math,
            contracts,
        )

    def contract_facts(self) -> typed.Region:
        """The contracts as conditions for proofs. What cannot be typed here is no fact; the call evaluates it all the same."""
        conditions: list[Value] = []
        with self.region() as operations:
            for statement in self.tree.body:
                if not (isinstance(statement, syntax.Assert) and is_contract(statement, self.tree)):
                    continue
                mark, length = self.mark(), len(operations)
                try:
                    conditions.append(self.materialise(self.truth(self.check(statement.test), statement.span), statement.span))
                except Refused:
                    self.rewind(mark)
                    del operations[length:]
        return region_of(operations, conditions)

    def truth_type(self) -> ScalarType:
        """The type of flags."""
        from lend.language.types import BOOL_

        return BOOL_

    # ---------------------------------------------------------------------------------------------------------- parameters

    def parameter(self, spec: ParameterSpec, type: ArgumentType, span: Span) -> Entity:
        """The entity of one parameter; its leaves are added to the kernel's."""
        if isinstance(type, ComptimeValue):
            return self.comptime(type.value, spec, span)
        if isinstance(spec.kind, ScalarKind):
            assert isinstance(type, ScalarType | StructType)
            return self.scalar_parameter(spec.name, type, span)
        if isinstance(spec.kind, ArrayKind):
            assert isinstance(type, ArrayType)
            return self.array_parameter(spec.name, spec.kind, type, span)
        assert isinstance(spec.kind, TupleKind) and isinstance(type, tuple)
        kinds = spec.kind.items * len(type) if spec.kind.variadic else spec.kind.items
        items = tuple(
            self.array_parameter(f"{spec.name}[{k}]", kind, item, span)
            for k, (kind, item) in enumerate(zip(kinds, type, strict=True))
        )
        return TupleOf(items)

    def comptime(self, value: Any, spec: ParameterSpec, span: Span) -> Entity:
        """A compile-time argument: numbers act as literals, functions are inlined."""
        if isinstance(value, DeviceFunction) or (callable(value) and hasattr(value, "__code__")):
            return Python(value)
        return self.entity_of(value, spec.name, span)

    def scalar_parameter(self, name: str, type: ScalarType | StructType, span: Span) -> Entity:
        """A scalar, or a record by its fields."""
        if isinstance(type, StructType):
            return Record(type, tuple(self.scalar_parameter(f"{name}.{field}", member, span) for field, member in type.fields))
        value = self.new_value(type, span, name)
        self.parameters.append(Parameter(name, value))
        return Scalar(value)

    def array_parameter(self, name: str, kind: ArrayKind, type: ArrayType, span: Span) -> Array:
        """A borrowed array; its sizes are the kernel's dims where the signature names them."""
        value = self.new_value(type, span, name)
        shape: list[Number | Scalar] = []
        for size in kind.sizes:
            entity = self.size_entity(size, span)
            assert isinstance(entity, Number | Scalar)
            shape.append(entity)
        sizes = tuple(entity.value for entity in shape)
        self.parameters.append(Parameter(name, value, sizes))
        return Array(value, name, tuple(shape), value, frozenset((value,)))

    # ------------------------------------------------------------------------------------------------------------- results

    def results(self, entity: Entity) -> tuple[ResultShape | None, list[Value]]:
        """The shape of what the kernel returns, and the values it yields."""
        if isinstance(entity, Python) and entity.object is None:
            return None, []
        yields: list[Value] = []
        return self.result_shape(entity, yields), yields

    def result_shape(self, entity: Entity, yields: list[Value]) -> ResultShape:
        """One returned entity."""
        span = self.tree.span
        match entity:
            case Number() | Scalar():
                value = self.materialise(entity, span)
                yields.append(value)
                return ResultLeaf(value.type)
            case Array():
                yields.append(entity.value)
                return ResultLeaf(entity.value.type)
            case TupleOf():
                return ResultTuple(tuple(self.result_shape(item, yields) for item in entity.items))
            case Record():
                return ResultStruct(entity.type, tuple(self.result_shape(item, yields) for item in entity.items))
            case Element():
                return self.result_shape(self.load_record(entity), yields)
            case Conflict() | Poison() | Missing():
                raise Refused
            case _:
                self.refuse(
                    "L0229",
                    f"a kernel cannot return {self.describe(entity)}",
                    span,
                    "returned by this kernel",
                    fix="return numbers, arrays, records and tuples of them",
                )

    # --------------------------------------------------------------------------------------------------- kernels in kernels

    def call_kernel(self, kernel: Any, arguments: list[Entity], keywords: dict[str, Entity], span: Span) -> Entity:
        """Another kernel at host level: its signature is checked here, its body stands in place."""
        self.host_only(f"the kernel `{kernel.__name__}`", span, "make it a `@lend.function`, or call the kernel outside the loop")
        tree, captured, signature = kernel.front_end()
        function = Function(tree, captured, identity=captured.function)
        bound = self.bind_kernel(signature, function, arguments, keywords, span)
        sizes, entities = self.judge_borrows(signature, bound, span)
        self.judge_aliases(signature, entities, span)
        stripped = replace(tree, body=without_contracts(tree))
        inner = Function(stripped, captured, identity=captured.function)
        self.pending_sizes = sizes
        self.pending_contracts = tuple(s for s in tree.body if is_contract(s, tree))
        return self.call_function(inner, [], entities, span)

    pending_sizes: dict[DimType, Number | Scalar] | None = None
    pending_contracts: tuple[syntax.Stmt, ...] = ()

    def check_body(self, frame: Frame, tree: syntax.Function) -> tuple[Entity, list[Operation]]:
        """A called kernel's frame has its own sizes and begins with its contracts."""
        if self.pending_sizes is None:
            return super().check_body(frame, tree)
        frame.sizes.update(self.pending_sizes)
        contracts, self.pending_sizes, self.pending_contracts = self.pending_contracts, None, ()
        self.frames.append(frame)
        try:
            with self.region() as checks:
                for contract in contracts:
                    assert isinstance(contract, syntax.Assert)
                    self.require_contract(contract)
        finally:
            self.frames.pop()
        result, operations = super().check_body(frame, tree)
        return result, [*checks, *operations]

    def require_contract(self, contract: syntax.Assert) -> None:
        """A called kernel's contract becomes a check."""
        holds = self.truth(self.check(contract.test), contract.span)
        text = source_text(contract.test.span)
        if isinstance(holds, Number):
            if not holds.value:
                self.refuse(
                    "L0406", f"the contract `{text}` of `{self.frame.name}` does not hold", self.frame.calls[-1], "in this call"
                )
            return
        self.emit(typed.Require(contract.span, holds.value, self.site("contract", contract.span, text=text)))

    def bind_kernel(
        self, signature: Signature, function: Function, arguments: list[Entity], keywords: dict[str, Entity], span: Span
    ) -> dict[str, Entity]:
        """The called kernel's arguments by name."""
        loose = Function(function.function, _Unannotated(function.captured), identity=function.identity)  # type: ignore[arg-type]
        return self.bind(loose, arguments, keywords, span)

    def judge_borrows(
        self, signature: Signature, bound: dict[str, Entity], span: Span
    ) -> tuple[dict[DimType, Number | Scalar], dict[str, Entity]]:
        """Arguments against the called kernel's signature: types, borrows and sizes."""
        sizes: dict[DimType, Number | Scalar] = {}
        entities: dict[str, Entity] = {}
        later: list[tuple[Any, Number | Scalar, str]] = []
        for spec in signature.parameters:
            entity = self.settle(bound[spec.name])
            what = f"the argument `{spec.name}` of `{signature.kernel}`"
            match spec.kind:
                case ScalarKind():
                    if isinstance(spec.kind.element, ScalarType):
                        entity = Scalar(self.convert(entity, spec.kind.element, span, what))
                    elif isinstance(spec.kind.element, StructType):
                        if not isinstance(entity, Record) or entity.type is not spec.kind.element:
                            self.refuse(
                                "L0219", f"{what} is `{spec.kind.element}`, not {self.describe(entity)}", span, "passed here"
                            )
                    else:
                        entity = Scalar(self.materialise(entity, span))
                case ComptimeKind():
                    if isinstance(entity, Scalar | Array):
                        self.refuse("L0212", f"{what} must be known when the kernel is compiled", span, "known at run time only")
                case ArrayKind():
                    self.judge_array(spec.kind, entity, what, span, sizes, later)
                case TupleKind():
                    items = entity.items if isinstance(entity, TupleOf) else ()
                    kinds = spec.kind.items * len(items) if spec.kind.variadic else spec.kind.items
                    if not isinstance(entity, TupleOf) or len(kinds) != len(items):
                        self.refuse("L0219", f"{what} is a tuple of borrows, not {self.describe(entity)}", span, "passed here")
                    for kind, item in zip(kinds, items, strict=True):
                        self.judge_array(kind, item, what, span, sizes, later)
            entities[spec.name] = entity
        for size, actual, what in later:
            self.require_size(size, actual, what, sizes, span)
        return sizes, entities

    def judge_array(
        self,
        kind: ArrayKind,
        entity: Entity,
        what: str,
        span: Span,
        sizes: dict[DimType, Number | Scalar],
        later: list[tuple[Any, Number | Scalar, str]],
    ) -> None:
        """One array argument; sizes that are new are taken from it, others are compared later."""
        self.check_borrow(kind, entity, what, span)
        assert isinstance(entity, Array)
        for dimension, (size, actual) in enumerate(zip(kind.sizes, entity.shape, strict=True)):
            if isinstance(size, DimType) and size.equals is None and size not in sizes:
                sizes[size] = actual if isinstance(actual, Scalar) else Scalar(self.materialise(actual, span, INDEX))
            else:
                later.append((size, actual, f"{what} must have the size `{size_text(size)}` in dimension {dimension}"))

    def require_size(
        self, size: Any, actual: Number | Scalar, what: str, sizes: dict[DimType, Number | Scalar], span: Span
    ) -> None:
        """Sizes that must agree are compared, unless they are the same value."""
        frame = Frame(self.frame.name, self.frame.captured, {}, frozenset(), sizes=sizes, calls=self.frame.calls)
        self.frames.append(frame)
        try:
            wanted = self.size_entity(size, span)
        finally:
            self.frames.pop()
        assert isinstance(wanted, Number | Scalar)
        if isinstance(wanted, Scalar) and isinstance(actual, Scalar) and wanted.value is actual.value:
            return
        equal = self.truth(self.operate("==", wanted, actual, span), span)
        if isinstance(equal, Number):
            if not equal.value:
                self.refuse("L0219", f"{what}", span, f"it is {self.describe(actual)}")
            return
        left, right = (self.to_index(e, span, "a size") for e in (actual, wanted))
        self.emit(typed.Require(span, equal.value, self.site("shape", span, text=what), left, right))

    def judge_aliases(self, signature: Signature, entities: dict[str, Entity], span: Span) -> None:
        """No `Mut` or `Out` argument may overlap another argument."""
        arrays: list[tuple[str, bool, Array]] = []
        for spec in signature.parameters:
            kinds = (
                (spec.kind,) if isinstance(spec.kind, ArrayKind) else spec.kind.items if isinstance(spec.kind, TupleKind) else ()
            )
            writable = any(kind.borrow.writable for kind in kinds)
            arrays += [(spec.name, writable, array) for array in self.arrays_in(entities[spec.name])]
        for position, (a, a_writes, x) in enumerate(arrays):
            for b, b_writes, y in arrays[position + 1 :]:
                if (a_writes or b_writes) and self.overlap(x, y):
                    same = f"`{x.name}`" if x.name == y.name else f"`{x.name}` and `{y.name}`"
                    self.refuse(
                        "L0407",
                        f"the arguments `{a}` and `{b}` of `{signature.kernel}` may overlap",
                        span,
                        f"both borrow {same}, and `{a if a_writes else b}` writes",
                        fix="pass different arrays",
                    )


class _Unannotated:
    """A captured function whose annotations are judged elsewhere."""

    def __init__(self, captured: Captured) -> None:
        self._captured = captured
        self.defaults = captured.defaults
        self.function = _NO_ANNOTATIONS


def _no_annotations() -> None:
    return None


_NO_ANNOTATIONS = _no_annotations


def without_contracts(tree: syntax.Function) -> tuple[syntax.Stmt, ...]:
    """A kernel's body without its contracts."""
    return tuple(s for s in tree.body if not is_contract(s, tree))


def source_text(span: Span) -> str:
    """The text of an expression as written, on one line."""
    if span.line == span.end_line:
        return span.source.line(span.line)[span.column : span.end_column]
    lines = [span.source.line(span.line)[span.column :]]
    lines += [span.source.line(n) for n in range(span.line + 1, span.end_line)]
    lines.append(span.source.line(span.end_line)[: span.end_column])
    return " ".join(line.strip() for line in lines)
