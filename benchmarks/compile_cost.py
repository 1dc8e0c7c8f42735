"""What compiling each kernel of `tests/run` costs, by pipeline step.

    python -m benchmarks.compile_cost [--all] [pytest's arguments]
    python -m benchmarks.compile_cost --benchmarks

Runs the tests, keeps every kernel that they make, and then compiles each three times more, for the types it was first called with
(`--all`: for all of them). Prints the table of `lend bench --compile`, and how many kernels take more than 150 ms. With
`--benchmarks`: the kernels of `benchmarks/kernels`, for their signatures' types.
"""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from lend.cli.bench import table
from lend.diagnostics.errors import LendError
from lend.driver.kernel import Kernel
from lend.driver.listening import listen
from lend.driver.measure import Cost, cost

LIMIT = 0.150
TESTS = Path(__file__).resolve().parents[1] / "tests" / "run"


def of_benchmarks() -> list[Cost]:
    """The cost of each benchmark kernel."""
    import benchmarks.kernels as families

    modules = [import_module(f"benchmarks.kernels.{family.name}.in_lend") for family in pkgutil.iter_modules(families.__path__)]
    kernels = [kernel for module in modules for kernel in vars(module).values() if isinstance(kernel, Kernel)]
    return [cost(compilation, 3) for kernel in dict.fromkeys(kernels) for compilation in kernel.compilations()]


def show(costs: list[Cost]) -> None:
    """The table, dearest first."""
    costs = sorted(costs, key=lambda found: -found.total)
    above = [found for found in costs if found.total > LIMIT]
    print(f"{table(costs)}\n\n{len(costs)} kernels; above {LIMIT * 1e3:.0f} ms: {len(above)}")


def main(arguments: list[str]) -> int:
    if arguments == ["--benchmarks"]:
        show(of_benchmarks())
        return 0
    every = "--all" in arguments
    arguments = [argument for argument in arguments if argument != "--all"]
    kernels: list[Any] = []

    def keep(python: Callable[..., Any], make: Callable[[], Any]) -> Any:
        kernel = make()
        kernels.append(kernel)
        return kernel

    listen(keep)
    status = pytest.main([str(TESTS), "-q", "-p", "no:cacheprovider", *arguments])
    listen(None)
    costs: list[Cost] = []
    seen: set[tuple[str, str]] = set()
    for kernel in kernels:
        if kernel.front_end()[1].function.__module__.startswith("lend."):
            continue
        for compilation in list(kernel.compilations())[: None if every else 1]:
            key = (compilation.tree.span.source.filename, f"{compilation.tree.span.line} {compilation.types}")
            if key in seen:
                continue
            seen.add(key)
            try:
                costs.append(cost(compilation, 3))
            except LendError as error:
                print(f"{kernel.__name__}: {error}", file=sys.stderr)
    show(costs)
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
