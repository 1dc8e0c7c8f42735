"""Takes what the compiler needs from a Python function: its source and the values it closes over.

Does: find the whole text of the function's file and the function's place in it, and read captured values as they are at the
moment of asking.  Does not: convert syntax (`parse.py`), evaluate annotations, or keep copies of captured values.
Invariants: spans made from `Captured.source` are right in the user's own file; a missing or changed source is a CompileError.

Example: `capture(f).resolve("scale")` is `(True, 2.0)` where `f` reads a global `scale = 2.0`.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cached_property
from types import CellType, CodeType, FunctionType
from typing import Any

from lend.diagnostics.diagnostic import Diagnostic, Label
from lend.diagnostics.errors import ArgumentError, CompileError
from lend.diagnostics.records import dataclass
from lend.diagnostics.spans import Source, Span
from lend.frontend.excerpt import Excerpt, excerpt
from lend.frontend.locate import Definition, Found, locate, parse_file, source_of


@dataclass(frozen=True, eq=False)
class Captured:
    """A Python function as the compiler sees it.

    `defaults` holds the values of defaults by parameter name, as evaluated by Python.
    """

    function: FunctionType
    code: CodeType
    name: str
    qualname: str
    module: str
    source: Source
    globals: dict[str, Any] = field(repr=False)
    closure: Mapping[str, CellType] = field(repr=False)
    defaults: Mapping[str, Any] = field(repr=False)

    @property
    def identity(self) -> tuple[str, str]:
        """Module and qualified name: what a pickle of the kernel holds."""
        return self.module, self.qualname

    @cached_property
    def node(self) -> Definition:
        """The definition in its file, for `parse_function` alone.

        Raises CompileError where the file has changed or cannot be parsed, or the function is a method.
        """
        return _node(self.source, self.code)

    @cached_property
    def excerpt(self) -> Excerpt:
        """The lines of its file that it stands in."""
        return excerpt(self.source, self.code)

    def resolve(self, name: str) -> tuple[bool, Any]:
        """Whether `name` is bound outside the function, and its value now: closure, then globals, then builtins."""
        cell = self.closure.get(name)
        if cell is not None:
            try:
                return True, cell.cell_contents
            except ValueError:  # a cell that is not filled yet, or was emptied by `del`
                return False, None
        if name in self.globals:
            return True, self.globals[name]
        builtins: dict[str, Any] = getattr(self.function, "__builtins__")  # noqa: B009 (unknown to type checkers)
        return (True, builtins[name]) if name in builtins else (False, None)


MISSING = object()
"""What a captured value is that is not there (any more)."""


def captured_value(owner: Any, name: str) -> Any:
    """A captured value as it is now: a name outside a function (`owner` is its `Captured`) or an attribute of an object."""
    if isinstance(owner, Captured):
        found, value = owner.resolve(name)
        return value if found else MISSING
    return getattr(owner, name, MISSING)


@dataclass(frozen=True, eq=False)
class Dependency:
    """A captured value that compiled code depends on: `owner`'s `name` (`captured_value`) must still be `value`."""

    owner: Any
    name: str
    value: Any

    def read(self) -> Any:
        """What it is now."""
        return captured_value(self.owner, self.name)


def capture(function: Callable[..., Any]) -> Captured:
    """Everything the compiler needs of `function`, a Python function with source.

    Raises ArgumentError for what is no Python function, and CompileError where the source cannot be had, has changed, or the
    function is a method.
    """
    captured = outline(function)
    _ = captured.node
    return captured


def outline(function: Callable[..., Any]) -> Captured:
    """`capture`, with the function not yet looked for in its file: for those who may not need it. Raises what can be known."""
    if not isinstance(function, FunctionType):
        raise ArgumentError(f"a kernel is made from a function written with `def` or `lambda`, not from {_describe(function)}")
    code = function.__code__
    text = _read_source(function)
    if text is None:
        raise CompileError([_no_source(code)])
    return Captured(
        function=function,
        code=code,
        name=function.__name__,
        qualname=function.__qualname__,
        module=function.__module__,
        source=source_of(code.co_filename, text),
        globals=function.__globals__,
        closure=dict(zip(code.co_freevars, function.__closure__ or (), strict=True)),
        defaults=_defaults(function),
    )


def _node(source: Source, code: CodeType) -> Definition:
    try:
        file = parse_file(source)
    except (SyntaxError, ValueError):
        raise CompileError([_changed(code, source.text)]) from None
    except (RecursionError, MemoryError):
        raise CompileError([_too_deep(code, source.text)]) from None
    found = locate(file, code)
    if found is None:
        raise CompileError([_changed(code, source.text)])
    refusal = _refuse_method(code.co_name, file.source, found)
    if refusal is not None:
        raise CompileError([refusal])
    return found.node


def _describe(thing: object) -> str:
    if isinstance(thing, type):
        return f"the class `{thing.__name__}`"
    return f"a value of type `{type(thing).__name__}`"


def _read_source(function: FunctionType) -> str | None:
    """The whole text of the function's file as it is now, or None where there is none."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:  # Python 3.14 keeps what was typed at its prompt by code object
        by_code: Callable[[CodeType], list[str]] | None = getattr(linecache, "_getlines_from_code", None)
        lines = by_code(code) if by_code is not None else []
    return "".join(lines) or None


def _defaults(function: FunctionType) -> dict[str, Any]:
    code = function.__code__
    values = function.__defaults__ or ()
    names = code.co_varnames[code.co_argcount - len(values) : code.co_argcount]
    return {**dict(zip(names, values, strict=True)), **(function.__kwdefaults__ or {})}


# ------------------------------------------------------------------------------------------------ refusals


def _at_line(source: Source, line: int) -> Span:
    text = source.line(line)
    return Span(source, line, len(text) - len(text.lstrip()), line, max(len(text.rstrip()), 1))


def _no_source(code: CodeType) -> Diagnostic:
    return Diagnostic(
        "L0101",
        f"the source of `{code.co_name}` cannot be read, and lend compiles from source",
        Label(_at_line(Source(code.co_filename, ""), code.co_firstlineno), "defined here"),
        notes=("code typed at Python's own prompt, read from standard input or run by `exec` leaves no source behind",),
        fix="save the kernel in a file and import or run it, or use IPython, Jupyter or the prompt of Python 3.13 or later",
    )


def _changed(code: CodeType, text: str) -> Diagnostic:
    source = Source(code.co_filename, text)
    return Diagnostic(
        "L0102",
        f"the file has changed since `{code.co_name}` was loaded: its definition no longer stands at line {code.co_firstlineno}",
        Label(_at_line(source, code.co_firstlineno), f"`{code.co_name}` was defined here"),
        fix="restart Python, or reload the module",
    )


def _too_deep(code: CodeType, text: str) -> Diagnostic:
    return Diagnostic(
        "L0104",
        f"the file that defines `{code.co_name}` nests code too deeply to be read",
        Label(_at_line(Source(code.co_filename, text), code.co_firstlineno), "needed for this definition"),
        fix="split the longest expressions of the file into several statements",
    )


def _refuse_method(name: str, source: Source, found: Found) -> Diagnostic | None:
    if found.method_of is None:
        return None
    return Diagnostic(
        "L0103",
        f"`{name}` is a method of the class `{found.method_of}`, and kernels are plain functions",
        Label(_at_line(source, found.node.lineno), "this method"),
        fix=f"move `{name}` out of the class, or write `@staticmethod` above its other decorators",
    )
