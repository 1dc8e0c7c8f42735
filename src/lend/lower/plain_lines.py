"""Lines of the user's function that compute nothing: `best = v`, `continue`, `n = i32(0)`.

Does: read the function's statements from its file and put a `pass` on each line that is executed and has no code of its own, so
that a breakpoint there is hit; where the line gives literals to names, it shows them.  Does not: change what is computed.
Invariants: what is added stands where the user's statement would be executed; a branch that was not compiled gets nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from lend.diagnostics.spans import Source, Span
from lend.ir.typed import Value
from lend.language.arithmetic import cast
from lend.language.types import BOOL_, SCALARS
from lend.lower.plain_statements import (
    Assign,
    Branch,
    Copy,
    Function,
    Give,
    Loop,
    Repeat,
    Show,
    Statement,
    Stop,
    child_blocks,
    expressions_of,
)

CASTS = {type.name: type for type in SCALARS}


def add_stops(function: Function, source: Source, spans: dict[ast.expr, Span], wishes: dict[Value, str]) -> None:
    """Add the statements for lines without code. `source` is the function's file."""
    found = _definition(function, source)
    if found is not None:
        _Weaver(function.filename, source, spans, wishes).weave(_executed(found.body), function.statements)


def _definition(function: Function, source: Source) -> ast.FunctionDef | ast.For | None:
    """The innermost definition of the function's name around its first line, or the loop that it is the body of."""
    try:
        module = ast.parse(source.text)
    except (SyntaxError, ValueError):
        return None
    line = function.span.line
    if function.loop is not None:
        at = (function.loop.line, function.loop.column)
        return next((n for n in ast.walk(module) if isinstance(n, ast.For) and (n.lineno, n.col_offset) == at), None)
    around = [
        node
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef) and node.name == function.name and node.lineno <= line <= (node.end_lineno or line)
    ]
    return max(around, key=lambda node: node.lineno, default=None)


def _executed(statements: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a block that are executed; those of a `with` stand for it."""
    out: list[ast.stmt] = []
    for statement in statements:
        if isinstance(statement, ast.With):
            out += _executed(statement.body)
        elif not isinstance(statement, ast.FunctionDef) and not _is_docstring(statement):
            out.append(statement)
    return out


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


class _Weaver:
    def __init__(self, filename: str, source: Source, spans: dict[ast.expr, Span], wishes: dict[Value, str]) -> None:
        self.filename = filename
        self.source = source
        self.spans = spans
        self.wishes = wishes

    # -------------------------------------------------------------------------------------------------- lines

    def own_lines(self, statement: Statement) -> Iterator[int]:
        """The lines of a statement and its expressions, without the blocks inside it."""
        span = None if isinstance(statement, Copy) else getattr(statement, "span", None)
        if span is not None and span.source.filename == self.filename:
            yield span.line
        for node in expressions_of(statement):
            inner = self.spans.get(node)
            if inner is not None and inner.source.filename == self.filename:
                yield inner.line

    def covers(self, statement: Statement, user: ast.stmt) -> bool:
        """Whether a statement, without the blocks inside it, comes from a user's statement."""
        return any(user.lineno <= line <= (user.end_lineno or user.lineno) for line in self.own_lines(statement))

    def covering_block(self, statement: Statement, user: ast.stmt) -> list[Statement] | None:
        """The block in a statement where code of a user's statement is, if there is one."""
        for block in child_blocks(statement):
            for inner in block:
                if self.covers(inner, user) or self.covering_block(inner, user) is not None:
                    return block
        return None

    # ------------------------------------------------------------------------------------------------ weaving

    def weave(self, users: list[ast.stmt], block: list[Statement]) -> None:
        """Match the user's statements with those of a block, in order, and add what is missing."""
        position = 0
        for number, user in enumerate(users):
            index = self.find(user, block, position)
            if index is not None:
                while index < len(block) and self.covers(block[index], user):
                    self.enter(user, block[index])
                    index += 1
                position = index
                continue
            nested = self.nested(users[number:], block, position)
            if nested is not None:  # the rest of the block became an arm of an `if`, after `continue` and the like
                self.weave(users[number:], nested)
                return
            position = self.insert(user, block, position)

    def find(self, user: ast.stmt, block: list[Statement], start: int) -> int | None:
        """Where in a block, from `start` on, the code of a user's statement begins."""
        return next((k for k in range(start, len(block)) if self.covers(block[k], user)), None)

    def nested(self, users: list[ast.stmt], block: list[Statement], position: int) -> list[Statement] | None:
        """The arm that holds the code of the next of `users` that has any; None if that is in the block itself."""
        for user in users:
            if self.find(user, block, position) is not None:
                return None
            for statement in block[max(position - 1, 0) :]:
                arm = self.covering_block(statement, user) if isinstance(statement, Branch) else None
                if arm is not None:
                    return arm
        return None

    def enter(self, user: ast.stmt, statement: Statement) -> None:
        """The blocks inside a user's compound statement."""
        span = getattr(statement, "span", None)
        if span is None or span.line != user.lineno:
            return
        if isinstance(user, ast.If) and isinstance(statement, Branch):
            self.weave(_executed(user.body), statement.then)
            self.weave(_executed(user.orelse), statement.orelse)
        elif isinstance(user, ast.For | ast.While) and isinstance(statement, Loop | Repeat):
            self.weave(_executed(user.body), statement.body)

    def insert(self, user: ast.stmt, block: list[Statement], position: int) -> int:
        """Add what stands for a user's statement without code; gives the position after it."""
        span = self.span(user)
        if position and isinstance(block[position - 1], Give):
            return position
        if isinstance(user, ast.Return) and position < len(block):
            last = block[-1]
            if isinstance(last, Give) and last.span is None:
                last.span = span
                return position
        if isinstance(user, ast.If | ast.For | ast.While):
            return position
        added: list[Statement] = [*self.shown(user, span)] or [Stop(span)]
        block[position:position] = added
        return position + len(added)

    def shown(self, user: ast.stmt, span: Span) -> Iterator[Statement]:
        """Assignments of literals to names, for a debugger to show."""
        if isinstance(user, ast.Assign) and len(user.targets) == 1:
            target, value = user.targets[0], user.value
        elif isinstance(user, ast.AnnAssign) and user.value is not None:
            target, value = user.target, user.value
        else:
            return
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            pairs = list(zip(target.elts, value.elts, strict=True))
        for name, expression in pairs:
            number = _literal(expression)
            if isinstance(name, ast.Name) and number is not None:
                shown = Value(BOOL_, span, name.id)
                self.wishes[shown] = name.id
                yield Show(Assign(span, [shown], ast.Constant(number)), name.id)

    def span(self, user: ast.stmt) -> Span:
        """The place of a user's statement (a compound one's is not needed)."""
        end_line, end_column = user.end_lineno or user.lineno, user.end_col_offset or user.col_offset
        return Span(self.source, user.lineno, user.col_offset, end_line, end_column)


def _literal(expression: ast.expr) -> Any:
    """The value of `1`, `-0.5`, `True`, `f32(0)`, `lend.i64(-1)`; None for anything else."""
    if isinstance(expression, ast.Constant) and isinstance(expression.value, bool | int | float | complex):
        return expression.value
    if isinstance(expression, ast.UnaryOp) and isinstance(expression.op, ast.USub):
        operand = _literal(expression.operand)
        return None if operand is None else -operand
    if isinstance(expression, ast.Call) and len(expression.args) == 1 and not expression.keywords:
        function = expression.func
        name = function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
        operand = _literal(expression.args[0])
        if name in CASTS and operand is not None and not isinstance(operand, complex):
            return cast(CASTS[name], operand)
    return None
