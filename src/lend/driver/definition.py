"""What is known of a kernel when it is defined: source, tree, signature, contracts.

Does: capture and parse, judge annotations and contracts, and check the body as far as its types are known; or find that all this
was done before, for the same kernel, and do none of it (`kept.py`).
Does not: compile.
Invariants: a `Definition` has no errors that do not depend on argument types.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from lend.diagnostics.proofs import Proofs
from lend.diagnostics.spans import Span
from lend.driver import kept
from lend.frontend.capture import Captured, Dependency, outline
from lend.frontend.signature import plain_signature
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

# A kernel that was accepted before is defined without the compiler; what needs it loads it.
if TYPE_CHECKING:
    from lend.checks.judge import Judgement
    from lend.checks.require import Require
    from lend.diagnostics.diagnostic import Diagnostic
    from lend.driver.pipeline import Compilation
    from lend.frontend.typecheck import Checked
    from lend.ir import syntax


class Definition:
    """A kernel as defined, not yet specialised.

    span: the kernel's own place. key: under which it is kept on disk, or None. verdicts: for the signature's types, if the kernel
    was found there.
    """

    def __init__(
        self,
        captured: Captured,
        signature: Signature,
        contracts: tuple[Contract, ...],
        math: MathMode,
        require: Require | None,
        span: Span,
        key: bytes | None,
        verdicts: kept.Verdicts | None = None,
    ) -> None:
        self.captured = captured
        self.signature = signature
        self.contracts = contracts
        self.math: MathMode = math
        self.require: Require | None = require
        self.span = span
        self.key = key
        self.verdicts = verdicts
        self._judged: list[Compilation] = []  # for the signature's types, up to the proofs: for the first who wants it

    @cached_property
    def tree(self) -> syntax.Function:
        """The untyped tree. CompileError if the file has changed since the kernel was defined."""
        from lend.frontend.parse import parse_function

        return parse_function(self.captured)[0]

    def compilation(self, types: tuple[ArgumentType, ...], typevars: dict[TypeVar, ScalarType]) -> Compilation:
        """A specialisation at the start of the pipeline, or with its proofs, if they were made for the definition."""
        from lend.driver.pipeline import Compilation
        from lend.driver.specialisation import current

        try:
            judged = self._judged.pop()  # one thread gets it: questions to a model are not for two at once
        except IndexError:
            judged = None
        if judged is not None and judged.checked is not None and current(judged.checked.dependencies):
            if judged.types == types and judged.typevars == typevars:
                return judged
            self._judged.append(judged)
        return Compilation(self.captured, self.tree, self.signature, types, typevars, self.math, self.require)

    def keep(
        self, types: tuple[ArgumentType, ...], typevars: dict[TypeVar, ScalarType], checked: Checked, judgement: Judgement
    ) -> None:
        """Keep what was found out about these types until a specialisation for them is wanted."""
        made = self.compilation(types, typevars)
        made.checked, made.judgement = checked, judgement
        self._judged.append(made)

    def conditions(self) -> tuple[syntax.Expr, ...]:
        """What the contracts ask for, as written, in their order."""
        if not self.contracts:
            return ()
        from lend.frontend.contracts import is_contract
        from lend.ir import syntax

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
    captured = outline(python)
    signature = plain_signature(captured)
    key = None if signature is None else kept.definition_key(captured, signature, math, require)
    if signature is not None and key is not None:
        found = kept.find_definition(key, captured, signature)
        if found is not None:
            return Definition(captured, signature, found.contracts, math, require, found.span, key, found.verdicts)
    return _define(captured, math, require, key)


def _define(captured: Captured, math: MathMode, require: Require | None, key: bytes | None) -> Definition:
    """The definition of a kernel that is not known to be right."""
    from lend.diagnostics.errors import CompileError

    definition, refused, wrong = _parsed(captured, math, require, key)
    holes = frozenset(diagnostic.primary.span for diagnostic in refused)
    judged = _judge(definition, holes)
    diagnostics = [*refused, *wrong, *judged.diagnostics]
    if diagnostics:
        raise CompileError(in_order(diagnostics), judged.proofs)
    if judged.reads is not None:
        kept.save_definition(definition, judged.reads, judged.proofs if judged.settled else None)
    return definition


def unjudged(python: Callable[..., Any]) -> Definition:
    """The definition of a function whose body nobody has looked at yet: neither its types nor what the proofs say of it.

    Raises CompileError for what is wrong in its syntax, its signature or its contracts.
    """
    from lend.diagnostics.errors import CompileError

    definition, refused, wrong = _parsed(outline(python), "strict", None, None)
    if refused or wrong:
        raise CompileError(in_order([*refused, *wrong]))
    return definition


def _parsed(
    captured: Captured, math: MathMode, require: Require | None, key: bytes | None
) -> tuple[Definition, list[Diagnostic], list[Diagnostic]]:
    """A definition, the holes in its syntax, and what is wrong with its contracts. Raises CompileError where that is too much."""
    from lend.diagnostics.errors import CompileError
    from lend.frontend.contracts import contracts_of
    from lend.frontend.parse import parse_function
    from lend.frontend.refusals import HOLES
    from lend.frontend.signature import signature_of

    tree, refused = parse_function(captured)
    signature, wrong = signature_of(captured, tree)
    if wrong or any(diagnostic.code not in HOLES for diagnostic in refused):
        raise CompileError(in_order([*refused, *wrong]))
    contracts, wrong = contracts_of(tree, captured, signature)
    definition = Definition(captured, signature, contracts, math, require, tree.span, key)
    definition.tree = tree
    return definition, refused, wrong


def in_order(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """Diagnostics by place."""
    return sorted(diagnostics, key=lambda d: (d.primary.span.line, d.primary.span.column))


class _Judged:
    """What is wrong with a body, its verdicts, and the captured values that were read; None if that cannot be told.

    settled: the verdicts do not wait for the values of a call.
    """

    def __init__(
        self, diagnostics: list[Diagnostic], proofs: Proofs, reads: tuple[Dependency, ...] | None, settled: bool = True
    ) -> None:
        self.diagnostics = diagnostics
        self.proofs = proofs
        self.reads = reads
        self.settled = settled


def _judge(definition: Definition, holes: frozenset[Span]) -> _Judged:
    """What is wrong with the body for all argument types, and its verdicts; nothing is said of expressions refused already."""
    known = definition.known_types()
    if known is None:
        return _Judged([], Proofs(), (), False)
    first = _errors(definition, *known, holes)
    if not known[1] or not first.diagnostics:
        return first
    other = definition.known_types(I32)
    assert other is not None
    again = {(d.code, d.primary.span) for d in _errors(definition, *other, holes).diagnostics}
    both = [d for d in first.diagnostics if (d.code, d.primary.span) in again]
    return _Judged(both, first.proofs, None)


def _errors(
    definition: Definition, types: tuple[ArgumentType, ...], typevars: dict[TypeVar, ScalarType], holes: frozenset[Span]
) -> _Judged:
    from lend.driver.pipeline import depth_limited, refusals
    from lend.frontend.typecheck import typecheck

    signature, math = definition.signature, definition.math
    with depth_limited(definition.tree):
        checked: Checked = typecheck(definition.tree, definition.captured, signature, types, typevars, math, holes)
    if checked.deferred:  # a name that may be defined by the first call
        return _Judged([d for d in checked.diagnostics if d.code != "L0201"], Proofs(), None)
    if checked.kernel is None:
        return _Judged(list(checked.diagnostics), Proofs(), None)
    from lend.checks.judge import judge  # the integer set library, which kernels that are refused before do not need

    judgement = judge(checked.kernel)
    refused, open_values = refusals(checked.kernel, judgement, definition.require)
    if not refused:
        definition.keep(types, typevars, checked, judgement)
    return _Judged(list(refused), judgement.proofs, checked.reads, not open_values)
