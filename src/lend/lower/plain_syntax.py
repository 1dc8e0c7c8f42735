"""Statements over values as Python's syntax tree, and that as code objects.

Does: write variables' names in, give every node its place in the user's file, compile, and give each code object its file and its
function's name.  Does not: choose variables or statements.
Invariants: a statement without a place of its own has that of the statement before it, so that a debugger does not stop there;
what comes from another file than its function's has the enclosing line.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import CodeType

from lend.diagnostics.spans import Source, Span
from lend.ir.typed import Value
from lend.lower.plain_statements import (
    Assign,
    Branch,
    Copy,
    Evaluate,
    Function,
    Give,
    Leave,
    Loop,
    Repeat,
    Show,
    Statement,
    Stop,
)


class Writer:
    """Writes one function."""

    def __init__(self, function: Function, spans: dict[ast.expr, Span]) -> None:
        self.function = function
        self.spans = spans
        self.last = function.span
        self.lines: dict[Source, list[str]] = {}

    def definition(self) -> ast.FunctionDef:
        """The function as Python's syntax tree."""
        function = self.function
        self.name_slots(function.statements)
        arguments = [ast.arg(function.names[parameter]) for parameter in function.parameters]
        body = self.block(function.statements)
        node = ast.FunctionDef(
            function.internal,
            ast.arguments(posonlyargs=[], args=arguments, vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[]),
            body,
            [],
        )
        node.type_params = []  # pyright: ignore[reportAttributeAccessIssue]  # Python 3.12 requires it, 3.11 does not know it
        self.place(node, function.span)
        return node

    def name_slots(self, statements: list[Statement]) -> None:
        """Nothing is named twice, so the nodes can be changed where they are."""
        for slot, value in self.function.slots.items():
            name = self.function.names.get(value)
            if name is not None:
                slot.id = name

    # ------------------------------------------------------------------------------------------------- places

    def place(self, node: ast.stmt | ast.expr, span: Span | None) -> None:
        """Set a node's place; without a span of this file, that of the last statement."""
        if span is None or span.source.filename != self.function.filename:
            span = self.last
        node.lineno, node.end_lineno = span.line, max(span.end_line, span.line)
        node.col_offset = self.column(span.source, span.line, span.column)
        node.end_col_offset = self.column(span.source, node.end_lineno, span.end_column)
        if node.lineno == node.end_lineno:
            node.end_col_offset = max(node.end_col_offset, node.col_offset)

    def column(self, source: Source, line: int, column: int) -> int:
        """A column in bytes, as Python's trees count them."""
        if source.text.isascii():
            return column
        lines = self.lines.setdefault(source, source.text.split("\n"))
        return len(lines[line - 1][:column].encode()) if 0 < line <= len(lines) else column

    def place_expression(self, expression: ast.expr) -> None:
        """Places of the expressions that have their own; the others take that of the one they are part of."""
        for node in ast.walk(expression):
            span = self.spans.get(node) if isinstance(node, ast.expr) else None
            if span is not None and span.source.filename == self.function.filename:
                assert isinstance(node, ast.expr)
                self.place(node, span)

    # --------------------------------------------------------------------------------------------- statements

    def block(self, statements: list[Statement]) -> list[ast.stmt]:
        """A block; an empty one is `pass`."""
        written: list[ast.stmt] = []
        for statement in statements:
            node = self.statement(statement)
            if node is not None:
                written.append(node)
        if not written:
            written.append(ast.Pass())
            self.place(written[0], None)
        return written

    def statement(self, statement: Statement) -> ast.stmt | None:
        span: Span | None = None
        match statement:
            case Assign():
                span = statement.span
                node = self.placed(ast.Assign([self.targets(statement.targets, tuple_needed=False)], statement.value), span)
            case Copy():
                return self.copy(statement)
            case Evaluate():
                span = statement.span
                node = self.placed(ast.Expr(statement.value), span)
            case Branch():
                return self.branch(statement)
            case Loop():
                node = ast.For(self.targets(statement.targets, tuple_needed=False), statement.iterator, [], [])
                self.placed(node, statement.span)
                self.remember(statement.span)
                node.body = self.block(statement.body)
                self.remember(statement.span)
            case Repeat():
                node = ast.While(statement.test or ast.Constant(True), [], [])
                self.placed(node, statement.span)
                self.remember(statement.span)
                node.body = self.block(statement.body)
                self.remember(statement.span)
            case Leave():
                leave = ast.Break()
                self.place(leave, None)
                node = self.placed(ast.If(statement.test, [leave], []), None)
            case Give():
                span = statement.span
                single = len(statement.values) == 1 and not statement.whole
                value = statement.values[0] if single else ast.Tuple(statement.values, ast.Load())
                node = self.placed(ast.Return(value), span)
            case Stop():
                span = statement.span
                node = self.placed(ast.Pass(), span)
            case Show():
                span = statement.span
                if self.function.names[statement.assign.targets[0]] == statement.name:
                    return self.statement(statement.assign)
                node = self.placed(ast.Pass(), span)
        self.remember(span)
        return node

    def remember(self, span: Span | None) -> None:
        """Where the next statement without a place stands."""
        if span is not None and span.source.filename == self.function.filename:
            self.last = span

    def placed(self, node: ast.stmt, span: Span | None) -> ast.stmt:
        """A statement with its place and those of its expressions."""
        self.place(node, span)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.place_expression(child)
        return node

    def copy(self, statement: Copy) -> ast.stmt | None:
        """The pairs of a copy that are two variables."""
        names = self.function.names
        pairs = [
            (target, source)
            for target, source in zip(statement.targets, statement.sources, strict=True)
            if not (isinstance(source, ast.Name) and source in self.function.slots and source.id == names[target])
        ]
        if not pairs:
            return None
        targets, sources = [target for target, _ in pairs], [source for _, source in pairs]
        value = sources[0] if len(pairs) == 1 else ast.Tuple(sources, ast.Load())
        own = [span for span in map(self.spans.get, sources) if span is not None]
        return self.placed(ast.Assign([self.targets(targets, tuple_needed=False)], value), own[0] if own else None)

    def branch(self, statement: Branch) -> ast.stmt | None:
        """An `if`; an empty first arm is left out by turning the test round."""
        node = ast.If(statement.test, [], [])
        self.placed(node, statement.span)
        self.remember(statement.span)
        then = self.arm(statement.then)
        self.remember(statement.span)
        orelse = self.arm(statement.orelse)
        self.remember(statement.span)
        if not then and orelse:
            node.test = ast.UnaryOp(ast.Not(), statement.test)
            then, orelse = orelse, []
        if not then:
            nothing = ast.Pass()
            self.place(nothing, statement.span)
            then.append(nothing)
        node.body, node.orelse = then, orelse
        return node

    def arm(self, statements: list[Statement]) -> list[ast.stmt]:
        """A branch's arm, which may be empty."""
        return [node for node in map(self.statement, statements) if node is not None]

    def targets(self, values: Sequence[Value], *, tuple_needed: bool) -> ast.expr:
        """The target of an assignment or a loop."""
        names: list[ast.expr] = [ast.Name(self.function.names[value], ast.Store()) for value in values]
        return names[0] if len(names) == 1 and not tuple_needed else ast.Tuple(names, ast.Store())


def name_nodes(function: Function, definition: ast.FunctionDef) -> None:
    """Name the values in a function once more: one that it shares with another function has a name of its own in each."""
    for node in ast.walk(definition):
        value = function.slots.get(node) if isinstance(node, ast.Name) else None
        if isinstance(node, ast.Name) and value in function.names:
            node.id = function.names[value]


def compile_functions(functions: Sequence[Function], spans: dict[ast.expr, Span]) -> CodeType:
    """A module that defines `functions`; each one's code has its own file and name."""
    definitions = [Writer(function, spans).definition() for function in functions]
    for function, definition in zip(functions, definitions, strict=True):
        name_nodes(function, definition)
    module = ast.Module([*definitions], [])
    ast.fix_missing_locations(module)
    code = compile(module, "<lend>", "exec", dont_inherit=True, optimize=0)
    by_name = {function.internal: function for function in functions}
    constants = tuple(
        _relocated(constant, by_name) if isinstance(constant, CodeType) else constant for constant in code.co_consts
    )
    return code.replace(co_consts=constants)


def _relocated(code: CodeType, functions: dict[str, Function]) -> CodeType:
    function = functions[code.co_name]
    return code.replace(co_filename=function.filename, co_name=function.name, co_qualname=function.name)
