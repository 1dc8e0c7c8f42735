"""Kernels: parameters, the body, results.

Does: `typecheck`, the step of the pipeline.  Does not: evaluate contracts (`frontend/contracts.py`).
Invariants: the result is a typed kernel, or diagnostics and no kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod
from typing import Any, TypeVar

from lend.diagnostics.diagnostic import Diagnostic, Label
from lend.diagnostics.records import dataclass
from lend.diagnostics.spans import Span
from lend.frontend.capture import Captured, Dependency
from lend.frontend.contracts import is_contract, without_contracts
from lend.frontend.typecheck.assigned import assigned_names
from lend.frontend.typecheck.computed_indices import ComputedIndices
from lend.frontend.typecheck.emitter import Refused, Unit, region_of
from lend.frontend.typecheck.entities import (
    Array,
    Conflict,
    Element,
    Entity,
    Frame,
    Missing,
    Number,
    Poison,
    Python,
    Record,
    Scalar,
    TupleOf,
)
from lend.frontend.typecheck.prune import prune
from lend.frontend.typecheck.waiting import waiting_loops
from lend.ir import syntax, typed
from lend.ir.typed import Operation, Parameter, Value
from lend.language.annotations import kind_text
from lend.language.dims import size_text
from lend.language.intrinsics import DeviceFunction
from lend.language.signature import (
    ArgumentType,
    ArrayKind,
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
from lend.language.types import BOOL_, INDEX, ArrayType, Borrow, MathMode, ScalarType, StructType, VectorType, size_of

MAX_PRIVATE_BYTES = 64 * 1024
"""What the private arrays of a kernel may take in one thread: any thread's stack holds that."""


@dataclass(frozen=True, eq=False)
class Checked:
    """What type checking gives: a kernel or the reasons why not, and the captured values it depends on.

    reads: every captured value that was looked at. dependencies: those of them that can change while a program runs.
    """

    kernel: typed.Kernel | None
    diagnostics: tuple[Diagnostic, ...]
    dependencies: tuple[Dependency, ...]
    deferred: bool
    reads: tuple[Dependency, ...] = ()


def typecheck(
    tree: syntax.Function,
    captured: Captured,
    signature: Signature,
    types: tuple[ArgumentType, ...],
    typevars: Mapping[TypeVar, ScalarType],
    math: MathMode,
    holes: frozenset[Span] = frozenset(),
) -> Checked:
    """The typed tree of a kernel for these argument types. `holes`: places of expressions that have been refused already."""
    unit = Unit(math, holes)
    checker = KernelChecker(unit, tree, captured, signature, typevars)
    try:
        kernel = checker.kernel(types)
    except Refused as refused:
        checker.report(refused)
        kernel = None
    ordered = tuple(sorted(unit.diagnostics, key=lambda d: (d.primary.span.line, d.primary.span.column)))
    return Checked(None if ordered else kernel, ordered, tuple(unit.dependencies), unit.deferred, tuple(unit.reads))


class KernelChecker(ComputedIndices):
    """Typing of one kernel."""

    def __init__(
        self, unit: Unit, tree: syntax.Function, captured: Captured, signature: Signature, typevars: Mapping[TypeVar, ScalarType]
    ) -> None:
        super().__init__(unit)
        self.tree = tree
        self.signature = signature
        for spec in signature.parameters:
            if isinstance(spec.kind, ArrayKind):
                self.writable_as[spec.name] = kind_text(replace(spec.kind, borrow=Borrow.MUT, facts=None))
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
            self.names["#return"] = Number(False, BOOL_)
            self.names["#result"] = Missing((), "not returned on every path")
            contracts = self.contract_facts()
            self.check_block(without_contracts(self.tree))
            if self.unit.diagnostics or self.unit.incomplete:
                return None
            result = self.settle(self.declared_result(self.function_result(self.tree), self.tree))
            shape, yields = self.results(result)
        sizes = [size for p in self.parameters for size in p.sizes if isinstance(size, Value)]
        sizes += [p.index[1] for p in self.parameters if p.index is not None and isinstance(p.index[1], Value)]
        region = prune(region_of(body, yields), sizes)
        self.limit_locals(region)
        self.refuse_waiting(region)
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

    def limit_locals(self, region: typed.Region) -> None:
        """Private arrays lie on a thread's stack, all those of a parallel loop at once: refuse more than it is sure to hold."""
        for loop in (loop for operation in region.operations for loop in parallel_loops(operation)):
            found = list(private_arrays(loop))
            total = sum(bytes_of(local) for local in found)
            if total <= MAX_PRIVATE_BYTES:
                continue
            largest = max(found, key=bytes_of)
            refused = self.diagnostic(
                "L0217",
                f"the private arrays of this loop take {total} bytes in each thread",
                largest.span,
                f"{bytes_of(largest)} bytes here, and at most {MAX_PRIVATE_BYTES} in all",
                fix="make one `lend.empty(...)` with a row per iteration before the loop",
            )
            self.report(Refused(refused))
            raise Refused

    def refuse_waiting(self, region: typed.Region) -> None:
        """Refuse loops that wait for another thread, which may not run until this one has ended."""
        found = list(waiting_loops(region))
        for loop, operation in found:
            name = operation.array.name or "an atomic array"
            refused = self.diagnostic(
                "L0419",
                f"this loop goes on until another thread changes `{name}`",
                operation.span,
                f"`{name}` is looked at here",
                labels=(Label(loop.span, "and threads need not run at the same time: this loop may never end"),),
                fix="do what comes after in a second parallel loop, which sees what the first has written; "
                "or try a fixed number of times: `for k in range(100):` with `break`",
            )
            self.report(Refused(refused))
        if found:
            raise Refused

    def contract_facts(self) -> typed.Region:
        """The contracts as conditions for proofs. What cannot be typed here is no fact; the call evaluates it all the same."""
        conditions: list[Value] = []
        with self.region() as operations:
            for statement in self.tree.body:
                if not (isinstance(statement, syntax.Assert) and is_contract(statement, self.tree)):
                    continue
                mark, length = self.mark(), len(operations)
                try:
                    conditions.append(self.materialise(self.test(statement.test), statement.span))
                except Refused:
                    self.rewind(mark)
                    del operations[length:]
        return region_of(operations, conditions)

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
            form = "{}[{}]" if isinstance(type, VectorType) else "{}.{}"
            fields = [(form.format(name, field), member) for field, member in type.fields]
            return Record(type, tuple(self.scalar_parameter(field, member, span) for field, member in fields))
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
        index = None
        if kind.facts is not None:
            bound = self.size_entity(kind.facts.bound, span)
            assert isinstance(bound, Number | Scalar)
            index = (kind.facts.kind, bound)
        facts = None if index is None else (index[0], index[1].value)
        self.parameters.append(Parameter(name, value, sizes, facts, kind.vector))
        return Array(value, name, tuple(shape), value, index, kind.vector)

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
                self.refuse_result(entity, span)


def parallel_loops(operation: Operation) -> Iterator[Operation]:
    """The loops that run in parallel: each is a function of its own in the code."""
    if isinstance(operation, typed.Parallel | typed.Blocks):
        yield operation
        return
    for region in operation.regions:
        for inner in region.operations:
            yield from parallel_loops(inner)


def private_arrays(operation: Operation, inside: bool = False) -> Iterator[typed.Local]:
    """The local arrays of parallel loops."""
    if inside and isinstance(operation, typed.Local):
        yield operation
    for region in operation.regions:
        for inner in region.operations:
            yield from private_arrays(inner, inside or isinstance(operation, typed.Parallel | typed.Threads))


def bytes_of(local: typed.Local) -> int:
    """The size of a local array in memory."""
    return size_of(local.result.array.element) * prod(local.sizes)
