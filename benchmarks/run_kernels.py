"""Every kernel that the tests of `tests/run` make, the examples' and those of `lend.algorithms` included, with the types they are
called with.

Does: run the tests and the examples and keep the kernels.  Does not: look at results beyond pytest's exit status.
"""

from __future__ import annotations

import contextlib
import io
import runpy
from collections.abc import Callable, Sequence
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
    found: list[Compilation] = []
    seen: set[tuple[str, str]] = set()
    for kernel in kernels:
        if not library and kernel.front_end()[1].function.__module__.startswith("lend."):
            continue
        for compilation in list(kernel.compilations())[: None if every else 1]:
            key = (compilation.tree.span.source.filename, f"{compilation.tree.span.line} {compilation.types}")
            if key not in seen:
                seen.add(key)
                found.append(compilation)
    return found, int(status)
