"""The untyped tree: what the user wrote, without Python's `ast`.

Does: define the grammar that `frontend/parse.py` produces and `frontend/typecheck` reads.  Does not: know types.
Invariants: every node has a span; nodes are frozen; only constructs that lend knows exist here.
"""

from __future__ import annotations

from lend.diagnostics.records import dataclass
from lend.diagnostics.spans import Span

# ------------------------------------------------------------------------------------------------ expressions


@dataclass(frozen=True, eq=False)
class Name:
    """A name read."""

    span: Span
    id: str


@dataclass(frozen=True, eq=False)
class Literal:
    """A number, True, False, None or a string, as written."""

    span: Span
    value: int | float | complex | bool | str | None


@dataclass(frozen=True, eq=False)
class Unary:
    """`op operand`; op is one of `- + ~ not`."""

    span: Span
    op: str
    operand: Expr


@dataclass(frozen=True, eq=False)
class Binary:
    """`left op right`; op is one of `+ - * / // % ** << >> & | ^ @`."""

    span: Span
    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, eq=False)
class Compare:
    """`first ops[0] rest[0] ops[1] rest[1] …`; each op is one of `== != < <= > >= is is not`."""

    span: Span
    first: Expr
    ops: tuple[str, ...]
    rest: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class BoolOp:
    """`values[0] op values[1] …`; op is `and` or `or`."""

    span: Span
    op: str
    values: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class Conditional:
    """`then if test else orelse`."""

    span: Span
    test: Expr
    then: Expr
    orelse: Expr


@dataclass(frozen=True, eq=False)
class Call:
    """`function(*arguments, **keywords)`; keywords in source order."""

    span: Span
    function: Expr
    arguments: tuple[Expr, ...]
    keywords: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, eq=False)
class Attribute:
    """`value.name`."""

    span: Span
    value: Expr
    name: str


@dataclass(frozen=True, eq=False)
class Slice:
    """`lower:upper:step` inside a subscript; each part may be absent."""

    span: Span
    lower: Expr | None
    upper: Expr | None
    step: Expr | None


@dataclass(frozen=True, eq=False)
class Subscript:
    """`value[indices…]`: `x[i, :]` has two indices, `x[(i, j)]` too."""

    span: Span
    value: Expr
    indices: tuple[Expr | Slice, ...]


@dataclass(frozen=True, eq=False)
class Tuple:
    """`items[0], items[1], …`, also written as a list in an assignment target."""

    span: Span
    items: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class Lambda:
    """`lambda parameters: body`."""

    span: Span
    function: Function


Expr = Name | Literal | Unary | Binary | Compare | BoolOp | Conditional | Call | Attribute | Subscript | Tuple | Lambda

# ------------------------------------------------------------------------------------------------- statements


@dataclass(frozen=True, eq=False)
class Assign:
    """`targets[0] = targets[1] = … = value`; a target is a Name, Tuple, Subscript or Attribute."""

    span: Span
    targets: tuple[Expr, ...]
    value: Expr


@dataclass(frozen=True, eq=False)
class AugAssign:
    """`target op= value`, op as in `Binary`."""

    span: Span
    target: Expr
    op: str
    value: Expr


@dataclass(frozen=True, eq=False)
class AnnAssign:
    """`target: annotation = value`; without a value it only declares the type."""

    span: Span
    target: Name
    annotation: Expr
    value: Expr | None


@dataclass(frozen=True, eq=False)
class For:
    """`for target in iterable: body`."""

    span: Span  # of the header, `for … :`
    target: Expr
    iterable: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True, eq=False)
class While:
    """`while test: body`."""

    span: Span  # of the header
    test: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True, eq=False)
class If:
    """`if test: then` with `else: orelse` (`elif` is a nested If)."""

    span: Span  # of the header
    test: Expr
    then: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


@dataclass(frozen=True, eq=False)
class Return:
    """`return value`."""

    span: Span
    value: Expr | None


@dataclass(frozen=True, eq=False)
class Break:
    """`break`."""

    span: Span


@dataclass(frozen=True, eq=False)
class Continue:
    """`continue`."""

    span: Span


@dataclass(frozen=True, eq=False)
class Pass:
    """`pass`, or a string that stands alone (a docstring)."""

    span: Span


@dataclass(frozen=True, eq=False)
class ExprStmt:
    """An expression evaluated for its effect."""

    span: Span
    value: Expr


@dataclass(frozen=True, eq=False)
class Assert:
    """`assert test, message`: a contract when it stands at the top of a kernel."""

    span: Span
    test: Expr
    message: str | None


@dataclass(frozen=True, eq=False)
class With:
    """`with context: body`; the only context lend knows is `lend.unchecked("reason")`."""

    span: Span  # of the header
    context: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True, eq=False)
class FunctionDef:
    """`def` inside a kernel or a device function."""

    span: Span  # of the header
    function: Function


Stmt = (
    Assign | AugAssign | AnnAssign | For | While | If | Return | Break | Continue | Pass | ExprStmt | Assert | With | FunctionDef
)


@dataclass(frozen=True, eq=False)
class Parameter:
    """One parameter: `name: annotation = default`; the spans of its parts are for messages."""

    span: Span
    name: str
    annotation: Expr | None
    default: Expr | None
    keyword_only: bool
    annotation_span: Span | None = None  # also set where the annotation is not an `Expr` that lend knows


@dataclass(frozen=True, eq=False)
class Function:
    """A kernel, a device function or a lambda (whose body is one Return). `span` is its header."""

    span: Span
    name: str
    parameters: tuple[Parameter, ...]
    body: tuple[Stmt, ...]
    returns: Span | None  # the span of the `-> …` annotation
