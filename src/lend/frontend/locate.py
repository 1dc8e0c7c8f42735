"""Finds the definition that a code object was compiled from in the text of its file.

Does: parse a file once, and pick the `def` or `lambda` of a code object by its first line, its name, the places of its
instructions and, where several lambdas still fit, its bytecode.  Does not: convert anything (`parse.py`).
Invariants: the node found stands where the code object says; a file that no longer fits its code is never guessed at.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType

from lend.diagnostics.records import dataclass
from lend.diagnostics.spans import Source

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True, eq=False)
class Found:
    """A definition and the class around it, if it stands in one."""

    node: Definition
    owner: ast.ClassDef | None

    @property
    def method_of(self) -> str | None:
        """The name of the class whose method this is; a static method or a lambda is none."""
        if self.owner is None or isinstance(self.node, ast.Lambda):
            return None
        static = any(isinstance(decorator, ast.Name) and decorator.id == "staticmethod" for decorator in self.node.decorator_list)
        return None if static else self.owner.name


@dataclass(frozen=True, eq=False)
class ParsedFile:
    """A file's text, its tree, and its definitions by the line their code objects begin on."""

    source: Source
    tree: ast.Module
    by_line: dict[int, list[Found]]


@lru_cache(maxsize=64)
def source_of(filename: str, text: str) -> Source:
    """The one `Source` of a file's text."""
    return Source(filename, text)


@lru_cache(maxsize=32)
def parse_file(source: Source) -> ParsedFile:
    """The tree of a file; raises SyntaxError or RecursionError where Python does."""
    tree = ast.parse(source.text, source.filename)
    by_line: dict[int, list[Found]] = {}
    pending: list[tuple[ast.AST, ast.ClassDef | None]] = [(tree, None)]
    while pending:  # not recursive: files may nest deeply
        node, owner = pending.pop()
        if isinstance(node, Definition):
            by_line.setdefault(_first_line(node), []).append(Found(node, owner))
        inside = node if isinstance(node, ast.ClassDef) else owner if isinstance(node, ast.If | ast.Try | ast.With) else None
        pending += [(child, inside) for child in ast.iter_child_nodes(node)]
    return ParsedFile(source, tree, by_line)


def locate(file: ParsedFile, code: CodeType) -> Found | None:
    """The definition of `code` in `file`, or None if the file does not hold it (any longer) at its line."""
    fitting = [found for found in file.by_line.get(code.co_firstlineno, ()) if _fits(found.node, code)]
    if code.co_name != "<lambda>" or len(fitting) < 2:
        return fitting[0] if fitting else None
    by_place = [found for found in fitting if _covers(file.source, found.node, code)]
    if len(by_place) == 1:
        return by_place[0]
    return _by_bytecode(file, by_place or fitting, code) or fitting[0]


def _first_line(node: Definition) -> int:
    """The line a code object of `node` begins on: that of its first decorator, where it has one."""
    if isinstance(node, ast.Lambda) or not node.decorator_list:
        return node.lineno
    return node.decorator_list[0].lineno


def _fits(node: Definition, code: CodeType) -> bool:
    """Whether name, parameters and extent of `node` are those of `code`."""
    if (code.co_name == "<lambda>") != isinstance(node, ast.Lambda):
        return False
    if not isinstance(node, ast.Lambda) and node.name != code.co_name:
        return False
    arguments = node.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    of_code = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if len(names) != len(of_code) or not all(theirs.endswith(name) for name, theirs in zip(names, of_code, strict=True)):
        return False  # `endswith`: Python mangles `__x` inside a class
    last = max((line for _, _, line in code.co_lines() if line is not None), default=code.co_firstlineno)
    return last <= (node.end_lineno or node.lineno)


def _covers(source: Source, node: Definition, code: CodeType) -> bool:
    """Whether the instructions of the lambda `code` cover exactly the body of `node`."""
    assert isinstance(node, ast.Lambda)
    places = [
        ((line, column), (end_line, end_column))
        for line, end_line, column, end_column in code.co_positions()
        if line is not None and end_line is not None and column is not None and end_column
    ]
    if not places:  # compiled without columns (-X no_debug_ranges)
        return True
    body = node.body
    first, last = min(start for start, _ in places), max(end for _, end in places)
    return first == (body.lineno, body.col_offset) and last == (body.end_lineno, body.end_col_offset)


def _by_bytecode(file: ParsedFile, candidates: list[Found], code: CodeType) -> Found | None:
    """The first candidate that compiles to `code`: each is given a line of its own, and the file is compiled again."""
    tree = ast.parse(file.source.text, file.source.filename)  # a tree of our own: lines are changed in it
    wanted = {(found.node.lineno, found.node.col_offset): (index, found) for index, found in enumerate(candidates)}
    beyond = file.source.text.count("\n") + 2
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda) and (place := wanted.get((node.lineno, node.col_offset))) is not None:
            node.lineno = node.end_lineno = beyond + place[0]
    flags = code.co_flags & ~0xFFF  # the `from __future__` switches; the low bits describe the function itself
    try:
        whole = compile(tree, file.source.filename, "exec", flags=flags, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return None
    compiled = {inner.co_firstlineno: inner for inner in _nested(whole) if inner.co_name == "<lambda>"}
    for index, found in enumerate(candidates):
        other = compiled.get(beyond + index)
        if other is not None and _same_code(other, code):
            return found
    return None


def _nested(code: CodeType) -> Iterator[CodeType]:
    pending = [code]
    while pending:
        current = pending.pop()
        yield current
        pending += [constant for constant in current.co_consts if isinstance(constant, CodeType)]


def _same_code(left: CodeType, right: CodeType) -> bool:
    """Whether two code objects do the same, wherever they stand."""
    return (
        left.co_code == right.co_code
        and left.co_names == right.co_names
        and left.co_varnames == right.co_varnames
        and left.co_freevars == right.co_freevars
        and len(left.co_consts) == len(right.co_consts)
        and all(
            _same_code(a, b) if isinstance(a, CodeType) and isinstance(b, CodeType) else type(a) is type(b) and repr(a) == repr(b)
            for a, b in zip(left.co_consts, right.co_consts, strict=True)
        )
    )
