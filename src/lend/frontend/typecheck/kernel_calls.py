"""Kernels called by kernels, at host level.

Does: judge the arguments by the called kernel's signature (types, borrows, sizes, overlaps) and its contracts, then inline it.
Does not: parallel loops' bodies, where no kernel can be called.
Invariants: what cannot be judged when the kernel is compiled becomes a `Require`, tested before the called kernel's body.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from lend.diagnostics.diagnostic import Label
from lend.diagnostics.spans import Span
from lend.frontend.contracts import is_contract, without_contracts
from lend.frontend.typecheck.entities import (
    Array,
    Entity,
    Frame,
    Function,
    Number,
    Scalar,
    TupleOf,
)
from lend.frontend.typecheck.teams import Teams
from lend.ir import syntax, typed
from lend.ir.typed import Operation, Value
from lend.language.dims import DimType, size_text
from lend.language.signature import (
    ArrayKind,
    ComptimeKind,
    ScalarKind,
    Signature,
    TupleKind,
)
from lend.language.types import INDEX, ArrayType, Borrow, ScalarType, StructType


class KernelCalls(Teams):
    """Typing of calls of kernels."""

    pending_sizes: dict[DimType, Number | Scalar] | None = None
    pending_contracts: tuple[syntax.Stmt, ...] = ()
    pending_loans: tuple[tuple[str, bool], ...] = ()
    element_types: dict[TypeVar, ScalarType]  # what the called kernel's type variables stand for

    def call_kernel(self, kernel: Any, arguments: list[Entity], keywords: dict[str, Entity], span: Span) -> Entity:
        """Another kernel at host level: its signature is checked here, its body stands in place."""
        self.host_only(f"the kernel `{kernel.__name__}`", span, "make it a `@lend.function`, or call the kernel outside the loop")
        tree, captured, signature = kernel.front_end()
        function = Function(tree, captured, identity=captured.function)
        bound = self.bind_kernel(signature, function, arguments, keywords, span)
        self.element_types = {}
        sizes, entities = self.judge_borrows(signature, bound, span)
        self.pending_loans = self.borrowed(signature, entities)
        entities = {name: self.as_borrowed(signature, name, entity, span) for name, entity in entities.items()}
        stripped = replace(tree, body=without_contracts(tree))
        inner = Function(stripped, captured, identity=captured.function)
        self.pending_sizes = sizes
        self.pending_contracts = tuple(s for s in tree.body if is_contract(s, tree))
        outer, self.typevars = self.typevars, self.element_types
        try:
            return self.call_function(inner, [], entities, span)
        finally:
            self.typevars = outer

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
        holds = self.test(contract.test)
        text = contract.test.span.text
        if isinstance(holds, Number):
            if not holds.value:
                self.refuse(
                    "L0406",
                    f"the contract `{text}` of `{self.frame.name}` does not hold",
                    self.frame.calls[-1],
                    "in this call",
                    labels=(Label(contract.span, "this contract"),),
                )
            return
        self.emit(typed.Require(contract.span, holds.value, self.site("contract", contract.span, text=text)))

    def bind_kernel(
        self, signature: Signature, function: Function, arguments: list[Entity], keywords: dict[str, Entity], span: Span
    ) -> dict[str, Entity]:
        """The called kernel's arguments by name."""
        unannotated = replace(function.captured, function=_no_annotations)  # its signature is judged by `judge_borrows`
        loose = Function(function.function, unannotated, identity=function.identity)
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
                        entity = self.part_of_record(entity, spec.kind.element, what, span, "passed here")
                    else:
                        entity = Scalar(self.materialise(entity, span))
                case ComptimeKind():
                    if isinstance(entity, Scalar | Array):
                        self.refuse(
                            "L0212",
                            f"{what} must be known when the kernel is compiled",
                            self.where(entity, span),
                            "known at run time only",
                        )
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

    def as_borrowed(self, signature: Signature, name: str, entity: Entity, span: Span) -> Entity:
        """An argument as the called kernel has it: what it borrows as `Atomic` is that there."""
        kind = next(spec.kind for spec in signature.parameters if spec.name == name)
        if isinstance(kind, ArrayKind) and kind.borrow is Borrow.ATOMIC and isinstance(entity, Array):
            return self.as_atomic(entity, span)
        if isinstance(kind, TupleKind) and isinstance(entity, TupleOf):
            kinds = kind.items * len(entity.items) if kind.variadic else kind.items
            items = zip(entity.items, kinds, strict=True)
            atomic = Borrow.ATOMIC
            return TupleOf(tuple(self.as_atomic(a, span) if k.borrow is atomic and isinstance(a, Array) else a for a, k in items))
        return entity

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
        element = entity.value.array.element
        if isinstance(kind.element, TypeVar) and isinstance(element, ScalarType):
            known = self.element_types.setdefault(kind.element, element)
            if known is not element:
                self.refuse(
                    "L0219",
                    f"{what} is an array of `{kind.element.__name__}`, which is `{known}` here, and not of `{element}`",
                    self.where(entity, span),
                    f"`{entity.name}` holds `{element}`",
                )
        if kind.facts is not None and entity.index is not None:
            text = f"the elements of {what} were tested against another bound than `{size_text(kind.facts.bound)}`"
            later.append((kind.facts.bound, entity.index[1], text))
        for dimension, (size, actual) in enumerate(zip(kind.sizes, entity.shape, strict=True)):
            if isinstance(size, DimType) and size.equals is None and size not in sizes:
                sizes[size] = actual if isinstance(actual, Scalar) else Number(actual.value, INDEX)
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
                self.refuse("L0219", what, span, f"it has {self.size_text(actual)}, not {self.size_text(wanted)}")
            return
        left, right = (self.to_index(e, span, "a size") for e in (actual, wanted))
        self.emit(typed.Require(span, equal.value, self.site("shape", span, text=what), left, right))

    def size_text(self, size: Number | Scalar) -> str:
        """A size in words."""
        return str(size.value) if isinstance(size, Number) else "another"

    def borrowed(self, signature: Signature, entities: dict[str, Entity]) -> tuple[tuple[str, bool], ...]:
        """The arrays that a kernel borrows, in the order of its arguments: whose they are, and whether it may change them."""
        found: list[tuple[str, bool]] = []
        for spec in signature.parameters:
            kinds = (
                (spec.kind,) if isinstance(spec.kind, ArrayKind) else spec.kind.items if isinstance(spec.kind, TupleKind) else ()
            )
            writes = any(kind.borrow.writable for kind in kinds)
            found += [(spec.name, writes) for _ in self.arrays_in(entities[spec.name])]
        return tuple(found)

    def loans(self, arguments: list[Value]) -> tuple[typed.Loan, ...]:
        """What the kernel that is being called borrows: that these do not overlap is proved with all the rest."""
        borrowed, self.pending_loans = self.pending_loans, ()
        if not borrowed:
            return ()
        arrays = [number for number, value in enumerate(arguments) if isinstance(value.type, ArrayType)]
        assumed = self.unchecked_depth > 0
        return tuple(typed.Loan(k, name, writes, assumed) for k, (name, writes) in zip(arrays, borrowed, strict=True))


def _no_annotations() -> None:
    """A function whose annotations say nothing."""
