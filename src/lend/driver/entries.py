"""What is kept of a kernel beside its machine code, as JSON: places, tables of faults, results, contracts, proofs.

Does: turn them into lists of numbers and texts, and back.  Does not: read or write files.
Invariants: what comes back is what went in, but for places, which follow their functions when lines are added above these.
A place that lies in no function that `Reads` knows, or a record that is not to be found again, raises `Unkeepable`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from lend.diagnostics.proofs import Proof, Proofs, UncheckedBlock, Witness
from lend.diagnostics.sites import Site
from lend.diagnostics.spans import Source, Span
from lend.driver.digests import Unkeepable
from lend.driver.reads import Reads
from lend.frontend.capture import Captured
from lend.frontend.conditions import Condition
from lend.frontend.locate import source_of
from lend.language.signature import (
    ArgumentType,
    Contract,
    ResultLeaf,
    ResultShape,
    ResultStruct,
    ResultTuple,
    Signature,
)
from lend.language.structs import struct_type
from lend.language.types import INDEX, SCALARS, ArrayType, Borrow, Layout, StructType, Type, VectorType, array_type
from lend.language.vectors import vector_type

Json = Any

_SCALARS = {scalar.name: scalar for scalar in (*SCALARS, INDEX)}


class Coder:
    """Codes what belongs to one kernel, by the functions and values that `reads` knows and the types of a call."""

    def __init__(self, reads: Reads, types: Sequence[ArgumentType]) -> None:
        self._reads = reads
        self._structs: list[StructType] = []
        for type in types:
            for item in type if isinstance(type, tuple) else (type,):
                self._know_struct(item.element if isinstance(item, ArrayType) else item)
        for value in reads.values:
            self._know_struct(struct_type(value) or struct_type(value.__class__))

    def _know_struct(self, struct: object) -> None:
        if (
            isinstance(struct, StructType)
            and not isinstance(struct, VectorType)
            and not any(struct is known for known in self._structs)
        ):
            self._structs.append(struct)
            for _, member in struct.fields:
                self._know_struct(member)

    # ------------------------------------------------------------------------------------------------------------ places

    def span(self, span: Span) -> Json:
        """A place: function and lines from its first; or a module of lend's own, and lines of its file."""
        fitting = [k for k, captured in enumerate(self._reads.captured) if _contains(captured, span)]
        if fitting:
            inner = min(fitting, key=lambda k: _length(self._reads.captured[k]))
            place: int | str = inner
            first = self._reads.captured[inner].excerpt.first
        else:
            place, first = _own_module(span), 0
        return [place, span.line - first, span.column, span.end_line - first, span.end_column]

    def to_span(self, json: Json) -> Span:
        """A place in this process."""
        place, line, column, end_line, end_column = json
        source, first = self._file(place)
        return Span(source, line + first, column, end_line + first, end_column)

    def _file(self, place: int | str) -> tuple[Source, int]:
        if isinstance(place, str):
            return _own_source(place), 0
        captured = self._reads.captured[place]
        return captured.source, captured.excerpt.first

    def site(self, site: Site) -> Json:
        """A place that can fail."""
        calls = [self.span(call) for call in site.calls]
        return [site.kind, self.span(site.span), site.array, site.access, site.text, list(site.threads), calls]

    def to_site(self, json: Json) -> Site:
        """A place that can fail, in this process."""
        kind, span, array, access, text, threads, calls = json
        return Site(kind, self.to_span(span), array, access, text, tuple(threads), tuple(map(self.to_span, calls)))

    # ------------------------------------------------------------------------------------------------------------- types

    def type(self, type: Type | StructType) -> Json:
        """A type of a value."""
        if isinstance(type, ArrayType):
            return [self.type(type.element), type.dimensions, type.borrow.value, type.layout.value]
        if isinstance(type, VectorType):
            return {"vector": type.element.name, "length": type.length}
        if isinstance(type, StructType):
            for place, known in enumerate(self._structs):
                if known is type:
                    return place
            raise Unkeepable
        return type.name

    def to_type(self, json: Json) -> Any:
        """A type."""
        if isinstance(json, list):
            element, dimensions, borrow, layout = json  # pyright: ignore[reportUnknownVariableType]
            return array_type(self.to_type(element), dimensions, Borrow(borrow), Layout(layout))  # pyright: ignore[reportUnknownArgumentType]
        if isinstance(json, dict):
            return vector_type(_SCALARS[json["vector"]], json["length"])  # pyright: ignore[reportUnknownArgumentType]
        return self._structs[json] if isinstance(json, int) else _SCALARS[json]

    def result(self, shape: ResultShape | None) -> Json:
        """What a kernel returns."""
        match shape:
            case None:
                return None
            case ResultLeaf():
                return self.type(shape.type)
            case ResultTuple():
                return {"tuple": [self.result(item) for item in shape.items]}
            case ResultStruct():
                return {"struct": self.type(shape.type), "items": [self.result(item) for item in shape.items]}

    def to_result(self, json: Json) -> ResultShape | None:
        """What a kernel returns."""
        return None if json is None else self._to_shape(json)

    def _to_shape(self, json: Json) -> ResultShape:
        if not isinstance(json, dict):
            return ResultLeaf(self.to_type(json))
        if "tuple" in json:
            return ResultTuple(tuple(map(self._to_shape, json["tuple"])))  # pyright: ignore[reportUnknownArgumentType]
        return ResultStruct(self.to_type(json["struct"]), tuple(map(self._to_shape, json["items"])))  # pyright: ignore[reportUnknownArgumentType]

    # ------------------------------------------------------------------------------------------------------------ proofs

    def proofs(self, proofs: Proofs) -> Json:
        """Verdicts with their reasons."""
        return [[self._proof(proof) for proof in proofs], [[self.span(block.place), block.reason] for block in proofs.unchecked]]

    def _proof(self, proof: Proof) -> Json:
        witness = proof.witness and [proof.witness.sizes, proof.witness.threads, proof.witness.element]
        place = self.span(proof.place)
        return [proof.obligation, proof.verdict, place, proof.subject, proof.reason, proof.condition, witness]

    def to_proofs(self, json: Json) -> Proofs:
        """Verdicts, with places in this process."""
        proofs, blocks = json
        unchecked = [UncheckedBlock(self.to_span(place), reason) for place, reason in blocks]
        return Proofs((self._to_proof(*proof) for proof in proofs), unchecked)

    def _to_proof(
        self, obligation: Any, verdict: Any, place: Json, subject: str, reason: str, condition: str | None, witness: Json
    ) -> Proof:
        shown = None
        if witness is not None:
            sizes, threads, element = witness
            shown = Witness(_pairs(sizes), tuple(map(_pairs, threads)), tuple(element))
        return Proof(obligation, verdict, self.to_span(place), subject, reason, condition, shown)

    # --------------------------------------------------------------------------------------------------------- contracts

    def contract(self, contract: Contract) -> Json:
        """A contract of the kernel."""
        if not isinstance(contract.holds, Condition):
            raise Unkeepable
        line = contract.line - self._reads.captured[0].excerpt.first
        return [contract.holds.text, contract.text, contract.message, line, list(contract.names)]

    def to_contract(self, json: Json, signature: Signature) -> Contract:
        """A contract of the kernel."""
        code, text, message, line, names = json
        captured = self._reads.captured[0]
        holds = Condition(code, captured, signature)
        line += captured.excerpt.first
        return Contract(text, message, captured.source.filename, line, tuple(names), holds)


def _pairs(json: Json) -> tuple[tuple[str, int], ...]:
    return tuple((name, value) for name, value in json)


def _contains(captured: Captured, span: Span) -> bool:
    if captured.source.filename != span.source.filename or captured.source.text != span.source.text:
        return False
    found = captured.excerpt
    return found.first <= span.line and span.end_line <= found.last


def _length(captured: Captured) -> int:
    found = captured.excerpt
    return found.last - found.first


def _own_module(span: Span) -> str:
    """The module of lend that a place lies in."""
    for name, module in list(sys.modules.items()):
        if name.startswith("lend.") and getattr(module, "__file__", None) == span.source.filename:
            return name
    raise Unkeepable


def _own_source(name: str) -> Source:
    import importlib
    import linecache

    module = importlib.import_module(name) if name.startswith("lend.") else None
    file = getattr(module, "__file__", None) or ""
    return source_of(file, "".join(linecache.getlines(file)))
