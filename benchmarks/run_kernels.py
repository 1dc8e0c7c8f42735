"""Every kernel that the tests of `tests/run` make, the examples' and those of `lend.algorithms` included, with the types they are
called with.

Does: run the tests and the examples and keep the kernels.  Does not: look at results beyond pytest's exit status.
"""

from __future__ import annotations

import contextlib
import io
import runpy
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lend.driver.listening import listen

if TYPE_CHECKING:
    from lend.driver.pipeline import Compilation

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests" / "run"
EXAMPLES = ROOT / "examples"


def compilations(
    arguments: Sequence[str], *, every: bool, library: bool = False, examples: bool = False
) -> tuple[list[Compilation], int]:
    """The specialisations of each kernel (`every`: all that are called, else the first), and pytest's exit status.

    library: also of the kernels of lend itself; examples: also of those of `examples/`.
    """
    kernels: list[Any] = []

    def keep(python: Callable[..., Any], make: Callable[[], Any]) -> Any:
        kernel = make()
        kernels.append(kernel)
        return kernel

    listen(keep)
    try:
        status = pytest.main([str(TESTS), "-q", "-p", "no:cacheprovider", *arguments])
        if examples:
            for path in sorted(EXAMPLES.glob("*.py")):
                with contextlib.redirect_stdout(io.StringIO()):
                    runpy.run_path(str(path), run_name="__main__")
    finally:
        listen(None)
    return distinct(kernels, every=every, library=library), int(status)


def distinct(kernels: Iterable[Any], *, every: bool, library: bool) -> list[Compilation]:
    """Their specialisations. What one place makes again is the same kernel only if types, mathematics and captured values are."""
    found: dict[Any, Compilation] = {}
    for kernel in kernels:
        if not library and kernel.front_end()[1].function.__module__.startswith("lend."):
            continue
        for compilation in list(kernel.compilations())[: None if every else 1]:
            captured, span = compilation.captured, compilation.tree.span
            key = (span.source.filename, span.line, str(compilation.types), compilation.math, _closure(captured.closure))
            found.setdefault(key, compilation)
    return list(found.values())


def _closure(cells: Mapping[str, Any], around: frozenset[int] = frozenset()) -> str:
    """What a function has captured: values as they are written, functions and kernels by name and what they have captured."""
    values = {name: _value(cell, around) for name, cell in sorted(cells.items()) if id(cell) not in around}
    return str(values) if values else ""


def _value(cell: Any, around: frozenset[int]) -> str:
    try:
        value = cell.cell_contents
    except ValueError:  # not yet
        return ""
    function = getattr(value, "__wrapped__", value)
    if not hasattr(function, "__qualname__"):
        return repr(value)
    code, closure = getattr(function, "__code__", None), getattr(function, "__closure__", None) or ()
    inner: dict[str, Any] = dict(zip(code.co_freevars, closure, strict=True)) if code is not None else {}
    return f"{function.__module__}.{function.__qualname__}{_closure(inner, around | {id(cell)})}"
