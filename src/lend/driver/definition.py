"""What is known of a kernel when it is defined: source, tree, signature, contracts.

Does: capture and parse, judge annotations and contracts, and check the body as far as its types are known.
Does not: compile.
Invariants: a `Definition` has no errors that do not depend on argument types.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from lend.diagnostics.diagnostic import Diagnostic
from lend.diagnostics.errors import CompileError
from lend.diagnostics.proofs import Proofs
from lend.diagnostics.spans import Span
from lend.driver.pipeline import Compilation, depth_limited, refusals
from lend.frontend.capture import Captured, capture
from lend.frontend.contracts import contracts_of, is_contract
from lend.frontend.parse import parse_function
from lend.frontend.refusals import HOLES
from lend.frontend.signature import signature_of
from lend.frontend.typecheck import Checked, typecheck
from lend.ir import syntax
from lend.language.signature import (
    NO_DEFAULT,
    ArgumentType,
    ArrayKind,
    ComptimeKind,
    Contract,
    ScalarKind,
    Signature,
    TupleKind,
    comptime_value,
)
from lend.language.types import F64, I32, Layout, MathMode, ScalarType, array_type

if TYPE_CHECKING:
    from lend.checks.require import Require


@dataclass(frozen=True, eq=False)
class Definition:
    """A kernel as defined, not yet specialised."""

    captured: Captured
    tree: syntax.Function
    signature: Signature
    contracts: tuple[Contract, ...]
    math: MathMode
    require: Require | None = None

    def compilation(self, types: tuple[ArgumentType, ...], typevars: dict[TypeVar, ScalarType]) -> Compilation:
        """A specialisation at the start of the pipeline."""
        return Compilation(self.captured, self.tree, self.signature, types, typevars, self.math, self.require)

    def conditions(self) -> tuple[syntax.Expr, ...]:
        """What the contracts ask for, as written, in their order."""
        return tuple(s.test for s in self.tree.body if isinstance(s, syntax.Assert) and is_contract(s, self.tree))

    def known_types(self, generic: ScalarType = F64) -> tuple[tuple[ArgumentType, ...], dict[TypeVar, ScalarType]] | None:
        """Argument types from the signature alone, arrays row-major and type variables `generic`; None if something is open."""
        types: list[ArgumentType] = []
        typevars: dict[TypeVar, ScalarType] = {}

        def concrete(element: Any) -> Any:
            return typevars.setdefault(element, generic) if isinstance(element, TypeVar) else element

        def array(kind: ArrayKind) -> Any:
            return array_type(concrete(kind.element), len(kind.sizes), kind.borrow, Layout.C)

        for spec in self.signature.parameters:
            match spec.kind:
                case ScalarKind():
                    types.append(concrete(spec.kind.element))
                case ArrayKind():
                    types.append(array(spec.kind))
                case TupleKind():
                    if spec.kind.variadic:
                        return None
                    types.append(tuple(map(array, spec.kind.items)))
                case ComptimeKind():
                    if spec.default is NO_DEFAULT:
                        return None
                    types.append(comptime_value(spec.default))
        return tuple(types), typevars


def define(python: Callable[..., Any], math: MathMode, require: Require | None = None) -> Definition:
    """The definition of a kernel. Raises CompileError with every error that can be known now."""
    captured = capture(python)
    tree, refused = parse_function(captured)
    signature, wrong = signature_of(captured, tree)
    if wrong or any(diagnostic.code not in HOLES for diagnostic in refused):
        raise CompileError(in_order([*refused, *wrong]))
    contracts, wrong = contracts_of(tree, captured, signature)
    definition = Definition(captured, tree, signature, contracts, math, require)
    holes = frozenset(diagnostic.primary.span for diagnostic in refused)
    judged, proofs = _judge(definition, holes)
    diagnostics = [*refused, *wrong, *judged]
    if diagnostics:
        raise CompileError(in_order(diagnostics), proofs)
    return definition


def in_order(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """Diagnostics by place."""
    return sorted(diagnostics, key=lambda d: (d.primary.span.line, d.primary.span.column))


def _judge(definition: Definition, holes: frozenset[Span]) -> tuple[list[Diagnostic], Proofs]:
    """What is wrong with the body for all argument types, and its verdicts; nothing is said of expressions refused already."""
    known = definition.known_types()
    if known is None:
        return [], Proofs()
    first, proofs = _errors(definition, *known, holes)
    if not known[1] or not first:
        return first, proofs
    other = definition.known_types(I32)
    assert other is not None
    again = {(d.code, d.primary.span) for d in _errors(definition, *other, holes)[0]}
    return [d for d in first if (d.code, d.primary.span) in again], proofs


def _errors(
    definition: Definition, types: tuple[ArgumentType, ...], typevars: dict[TypeVar, ScalarType], holes: frozenset[Span]
) -> tuple[list[Diagnostic], Proofs]:
    signature, math = definition.signature, definition.math
    with depth_limited(definition.tree):
        checked: Checked = typecheck(definition.tree, definition.captured, signature, types, typevars, math, holes)
    if checked.deferred:  # a name that may be defined by the first call
        return [d for d in checked.diagnostics if d.code != "L0201"], Proofs()
    if checked.kernel is None:
        return list(checked.diagnostics), Proofs()
    from lend.checks.judge import judge  # the integer set library, which kernels that are refused before do not need

    judgement = judge(checked.kernel)
    return list(refusals(checked.kernel, judgement, definition.require)[0]), judgement.proofs
