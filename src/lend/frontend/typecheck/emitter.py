"""The base of the type checker: operations are collected here, errors leave from here.

Does: keep the open list of operations, sites, diagnostics and the frame stack; evaluate constants.  Does not: know expressions.
Invariants: `speculate` leaves no trace of an attempt that is given up.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import field
from typing import Literal, NoReturn, TypeVar

from lend.diagnostics.diagnostic import Diagnostic, Label
from lend.diagnostics.errors import InternalError
from lend.diagnostics.records import dataclass
from lend.diagnostics.sites import Access, Site, SiteKind
from lend.diagnostics.spans import Span
from lend.frontend.capture import Dependency
from lend.frontend.typecheck.entities import Entity, Frame, Function
from lend.ir import syntax, typed
from lend.ir.typed import BinaryOperator, Operation, Region, UnaryOperator, Value
from lend.language import library
from lend.language.types import BOOL_, MathMode, ScalarType, Type


class Refused(Exception):
    """A user error, on its way to the statement that contains it. Without a diagnostic it has been reported already."""

    def __init__(self, diagnostic: Diagnostic | None = None) -> None:
        super().__init__()
        self.diagnostic = diagnostic


@dataclass
class Unit:
    """What one run of the type checker produces beside operations."""

    math: MathMode
    holes: frozenset[Span] = frozenset()  # expressions that have been refused already
    incomplete: bool = False  # a statement with such an expression was left out
    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])
    sites: list[Site] = field(default_factory=list[Site])
    unchecked: list[typed.Unchecked] = field(default_factory=list[typed.Unchecked])
    reads: list[Dependency] = field(default_factory=list[Dependency])  # every captured value that was looked at
    dependencies: list[Dependency] = field(default_factory=list[Dependency])  # those of them that can change in a process
    deferred: bool = False  # a name could not be resolved yet; it may be by the first call


Level = Literal["host", "grid", "block", "thread"]
"""Where the checker is: outside parallel loops, in `lend.grid`, in `lend.blocks`, or in `lend.threads` inside that."""


@dataclass(frozen=True, eq=False)
class Team:
    """The threads of a block: how many there are in each dimension, and the index values of one."""

    sizes: tuple[int, ...]
    indices: tuple[Value, ...]


@dataclass(frozen=True)
class Mark:
    """How far the unit had grown."""

    diagnostics: int
    sites: int
    unchecked: int


def is_library(span: Span) -> bool:
    """Whether a span lies in the functions that lend has written in kernel code."""
    return span.source.filename == library.__file__


class Emitter:
    """Collects the typed tree. Subclasses, one file each, add conversions, operators, expressions, calls and statements."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.operations: list[Operation] = []
        self.frames: list[Frame] = []
        self.threads: tuple[str, ...] = ()  # names of the enclosing parallel loops' indices
        self.level: Level = "host"
        self.team = Team((), ())  # the enclosing `lend.threads`
        self.unchecked_depth: int = 0
        self.typevars: Mapping[TypeVar, ScalarType] = {}
        self.writable_as: dict[str, str] = {}  # by parameter: its annotation, borrowed as `Mut`
        self.uses: dict[Entity, Span] = {}  # where the expression stands that gave an entity last

    @property
    def in_grid(self) -> bool:
        """Whether a parallel loop encloses this."""
        return self.level != "host"

    # ---------------------------------------------------------------------------------------------- frames and names

    @property
    def frame(self) -> Frame:
        """The function being checked."""
        return self.frames[-1]

    @property
    def names(self) -> dict[str, Entity]:
        """The names of the function being checked."""
        return self.frame.names

    # --------------------------------------------------------------------------------------------------------- errors

    def refuse(
        self,
        code: str,
        message: str,
        span: Span,
        label: str = "",
        *,
        labels: tuple[Label, ...] = (),
        notes: tuple[str, ...] = (),
        fix: str | None = None,
    ) -> NoReturn:
        """Give up the current statement with a diagnostic."""
        raise Refused(self.diagnostic(code, message, span, label, labels=labels, notes=notes, fix=fix))

    def diagnostic(
        self,
        code: str,
        message: str,
        span: Span,
        label: str = "",
        *,
        labels: tuple[Label, ...] = (),
        notes: tuple[str, ...] = (),
        fix: str | None = None,
    ) -> Diagnostic:
        """A diagnostic with the chain of calls that led here as further labels."""
        calls = self.frame.calls if self.frames else ()
        if is_library(span):  # the user called one of lend's own functions: the error is in that call
            span = next((call for call in reversed(calls) if not is_library(call)), span)
            labels = tuple(known for known in labels if not is_library(known.span))
            calls = tuple(call for call in calls if not is_library(call))
        chain = tuple(Label(call, "called from here") for call in calls if call != span)
        return Diagnostic(code, message, Label(span, label), (*labels, *chain), notes, fix)

    def report(self, error: Refused) -> None:
        """Keep a refusal's diagnostic and go on."""
        if error.diagnostic is not None:
            known = any(
                d.code == error.diagnostic.code and d.primary.span == error.diagnostic.primary.span for d in self.unit.diagnostics
            )
            if not known:
                self.unit.diagnostics.append(error.diagnostic)

    # ------------------------------------------------------------------------------------------------------- emission

    def emit(self, operation: Operation) -> None:
        """Append an operation to the open region."""
        self.operations.append(operation)

    @contextmanager
    def region(self) -> Generator[list[Operation]]:
        """Collect operations in a list of their own."""
        saved, self.operations = self.operations, []
        try:
            yield self.operations
        finally:
            self.operations = saved

    @contextmanager
    def into(self, operations: list[Operation]) -> Generator[None]:
        """Append to a given list."""
        saved, self.operations = self.operations, operations
        try:
            yield
        finally:
            self.operations = saved

    def mark(self) -> Mark:
        """How far the unit has grown, to come back to."""
        return Mark(len(self.unit.diagnostics), len(self.unit.sites), len(self.unit.unchecked))

    def rewind(self, mark: Mark) -> None:
        """Forget what was added since `mark`."""
        del self.unit.diagnostics[mark.diagnostics :]
        del self.unit.sites[mark.sites :]
        del self.unit.unchecked[mark.unchecked :]

    def new_value(self, type: Type, span: Span, name: str | None = None) -> Value:
        """A fresh value."""
        return Value(type, span, name)

    def constant(self, value: int | float | complex | bool, type: ScalarType, span: Span) -> Value:
        """Emit a constant that is already of its type."""
        result = self.new_value(type, span)
        self.emit(typed.Constant(span, result, value))
        return result

    def binary(self, operator: BinaryOperator, left: Value, right: Value, span: Span, site: int | None = None) -> Value:
        """Emit a binary operation on two values of one type."""
        if left.type is not right.type:
            raise InternalError(f"{operator} of {left.type} and {right.type}", span)
        result = self.new_value(BOOL_ if operator in typed.COMPARISONS else left.type, span)
        self.emit(typed.Binary(span, result, operator, left, right, site))
        return result

    def unary(self, operator: UnaryOperator, operand: Value, span: Span, type: Type | None = None) -> Value:
        """Emit a unary operation."""
        result = self.new_value(type or operand.type, span)
        self.emit(typed.Unary(span, result, operator, operand))
        return result

    def math(self, function: str, arguments: tuple[Value, ...], type: Type, span: Span) -> Value:
        """Emit a mathematical function."""
        result = self.new_value(type, span)
        self.emit(typed.Math(span, result, function, arguments))
        return result

    def site(
        self, kind: SiteKind, span: Span, *, array: str | None = None, access: Access | None = None, text: str | None = None
    ) -> int:
        """Number a place where a check can fail."""
        calls = self.frame.calls
        if is_library(span):
            span = next((call for call in reversed(calls) if not is_library(call)), span)
            calls = tuple(call for call in calls if call != span and not is_library(call))
        self.unit.sites.append(Site(kind, span, array, access, text, self.threads, calls))
        return len(self.unit.sites) - 1

    # ---------------------------------------------------------------------- what later classes define, used by earlier ones

    def check(self, expression: syntax.Expr) -> Entity:
        """The entity of an expression (defined in `expressions.py`)."""
        raise NotImplementedError

    def call_function(self, function: Function, arguments: list[Entity], keywords: dict[str, Entity], span: Span) -> Entity:
        """Inline a function (defined in `calls.py`)."""
        raise NotImplementedError

    def check_block(self, statements: tuple[syntax.Stmt, ...]) -> None:
        """Check statements in order (defined in `statements.py`)."""
        raise NotImplementedError


def region_of(operations: list[Operation], yields: list[Value] | tuple[Value, ...], parameters: tuple[Value, ...] = ()) -> Region:
    """A region from collected operations."""
    return Region(parameters, tuple(operations), tuple(yields))
