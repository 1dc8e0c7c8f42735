"""Spans of `ast` nodes in characters.

Does: turn Python's positions, whose columns count UTF-8 bytes, into spans, and find where headers end.  Does not: convert nodes.
Invariants: the span of a compound statement is its header, up to its colon.
"""

from __future__ import annotations

import ast

from lend.diagnostics.spans import Source, Span

_Positioned = ast.expr | ast.stmt | ast.arg | ast.keyword
_Compound = (
    ast.FunctionDef
    | ast.AsyncFunctionDef
    | ast.For
    | ast.AsyncFor
    | ast.While
    | ast.If
    | ast.With
    | ast.AsyncWith
    | ast.ClassDef
    | ast.Match
)


class Places:
    """The places of the nodes of one file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.lines = source.text.split("\n")

    def column(self, line: int, offset: int) -> int:
        """The character at which byte `offset` of a line stands."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return offset if text.isascii() else len(text.encode()[:offset].decode(errors="ignore"))

    def span(self, node: _Positioned) -> Span:
        """The whole of a node."""
        end_line, end_offset = node.end_lineno or node.lineno, node.end_col_offset
        end = self.column(end_line, end_offset) if end_offset is not None else self.column(node.lineno, node.col_offset) + 1
        return Span(self.source, node.lineno, self.column(node.lineno, node.col_offset), end_line, end)

    def name_of(self, argument: ast.arg) -> Span:
        """The name of a parameter without its annotation."""
        start = self.column(argument.lineno, argument.col_offset)
        return Span(self.source, argument.lineno, start, argument.lineno, start + len(argument.arg))

    def keyword(self, node: ast.stmt, word: str) -> Span:
        """The word that a statement begins with."""
        start = self.column(node.lineno, node.col_offset)
        return Span(self.source, node.lineno, start, node.lineno, start + len(word))

    def statement(self, node: ast.stmt) -> Span:
        """A simple statement, or the header of a compound one."""
        if isinstance(node, _Compound):
            return self.header(node)
        if isinstance(node, ast.Try | ast.TryStar):
            return self.keyword(node, "try")
        return self.span(node)

    def header(self, node: _Compound) -> Span:
        """A compound statement from its first word to its colon."""
        start = self.span(node)
        last = _last_of_header(node)
        line, column = (start.line, start.column) if last is None else (self.span(last).end_line, self.span(last).end_column)
        end_line, end_column = self._colon(line, column)
        return Span(self.source, start.line, start.column, end_line, end_column)

    def _colon(self, line: int, column: int) -> tuple[int, int]:
        """Just behind the first colon from a place on, outside comments and brackets; that place if there is none."""
        depth, number, at = 0, line, column
        while number <= len(self.lines):
            for position, character in enumerate(self.lines[number - 1][at:], at):
                if character == "#":
                    break
                depth += (character in "([{") - (character in ")]}")
                if character == ":" and depth <= 0:
                    return number, position + 1
            number, at = number + 1, 0
        return line, column


def _last_of_header(node: _Compound) -> ast.expr | ast.arg | ast.keyword | None:
    """The last positioned part of a header before its colon."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            arguments = node.args
            parts: list[ast.expr | ast.arg] = [
                *arguments.posonlyargs,
                *arguments.args,
                *arguments.kwonlyargs,
                *arguments.defaults,
                *(default for default in arguments.kw_defaults if default is not None),
                *(extra for extra in (arguments.vararg, arguments.kwarg, node.returns) if extra is not None),
            ]
            return max(parts, key=lambda part: (part.end_lineno or 0, part.end_col_offset or 0), default=None)
        case ast.For() | ast.AsyncFor():
            return node.iter
        case ast.While() | ast.If():
            return node.test
        case ast.With() | ast.AsyncWith():
            return node.items[-1].optional_vars or node.items[-1].context_expr
        case ast.ClassDef():
            return max(
                (*node.bases, *node.keywords), key=lambda part: (part.end_lineno or 0, part.end_col_offset or 0), default=None
            )
        case ast.Match():
            return node.subject
