"""What compiling each kernel of `tests/run` costs, by pipeline step.

    python -m benchmarks.compile_cost [--all] [pytest's arguments]
    python -m benchmarks.compile_cost --benchmarks
    python -m benchmarks.compile_cost --teams [names]

Runs the tests, keeps every kernel that they make, and then compiles each three times more, for the types it was first called with
(`--all`: for all of them). Prints the table of `lend bench --compile`, and which kernels take more than 150 ms. With
`--benchmarks`: the kernels of `benchmarks/kernels`, for their signatures' types. With `--teams`: the kernels of
`tests/teams/kernels.py`, with the tiles and sizes of `TEAMS` too, and which of them take more than 300 ms to prove (the largest
sort: 1.5 s), or to turn into machine code.
"""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from benchmarks.run_kernels import compilations
from lend import kernel as compiled
from lend.cli.bench import above_limit, table
from lend.diagnostics.errors import LendError
from lend.driver.kernel import Kernel
from lend.driver.measure import Cost, cost
from lend.language.signature import ComptimeValue

TEAMS: dict[str, list[dict[str, int]]] = {
    "matmul": [{"T": 8}, {"T": 16}, {"T": 32}],
    "transpose": [{"T": 16}, {"T": 32}],
    "reduce_halving": [{"T": 256, "LOG": 8}],
    "scan_blelloch": [{"T": 256, "LOG": 8}],
    "bitonic_sort": [{"T": 2**log, "LOG": log} for log in (5, 6, 7, 8)],
    "walsh_transform": [{"T": 64, "LOG": 7}],
}
"""Compile-time values that team-level kernels are measured with beside those of their signatures."""

PROOFS, LARGEST_PROOFS, CODE = 0.3, 1.5, 0.3
"""Seconds that a team-level kernel should take at most: its proofs, those of the sort of 256, its code."""


def of_benchmarks() -> list[Cost]:
    """The cost of each benchmark kernel."""
    import benchmarks.kernels as families

    modules = [import_module(f"benchmarks.kernels.{family.name}.in_lend") for family in pkgutil.iter_modules(families.__path__)]
    kernels: dict[Kernel[..., Any], None] = {}
    for module in modules:
        kernels |= {value: None for value in vars(module).values() if isinstance(value, Kernel)}
    return [cost(compilation, 3) for kernel in kernels for compilation in kernel.compilations()]


def of_teams(names: list[str]) -> Iterator[Cost]:
    """The cost of each team-level kernel of the tests, or of those named."""
    spec = spec_from_file_location("team_kernels", Path(__file__).resolve().parents[1] / "tests" / "teams" / "kernels.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    for name, case in module.CASES.items():
        if names and name not in names:
            continue
        (own,) = compiled(case.function).compilations()
        yield cost(own, 3)
        for values in TEAMS.get(name, ()):
            chosen = (
                replace(type, value=values[parameter.name])
                if isinstance(type, ComptimeValue) and parameter.name in values
                else type
                for parameter, type in zip(own.signature.parameters, own.types, strict=True)
            )
            other = replace(own.fresh(), types=tuple(chosen))
            yield replace(cost(other, 3), kernel=f"{name}, {', '.join(f'{key}={value}' for key, value in values.items())}")


def show(costs: list[Cost]) -> None:
    """The table, dearest first."""
    print(f"{table(sorted(costs, key=lambda found: -found.total))}\n\n{above_limit(costs)}")


def show_teams(costs: list[Cost]) -> None:
    """The table, dearest proofs first, and what is above the limits of team-level kernels."""
    print(f"{table(sorted(costs, key=lambda found: -found.steps['check']))}\n")
    above: list[str] = []
    for found in costs:
        proofs = found.steps["check"]
        code = sum(found.steps[step] for step in ("schedule", "plan", "lower", "emit"))
        limit = LARGEST_PROOFS if found.kernel.startswith("bitonic_sort, T=256") else PROOFS
        if proofs > limit or code > CODE:
            above.append(f"  {found.kernel}: proofs {proofs * 1e3:.0f} ms, code {code * 1e3:.0f} ms")
    print("\n".join([f"{len(costs)} kernels; above the limits: {len(above)}", *above]))


def main(arguments: list[str]) -> int:
    if arguments == ["--benchmarks"]:
        show(of_benchmarks())
        return 0
    if arguments[:1] == ["--teams"]:
        show_teams(list(of_teams(arguments[1:])))
        return 0
    every = "--all" in arguments
    found, status = compilations([argument for argument in arguments if argument != "--all"], every=every)
    costs: list[Cost] = []
    for compilation in found:
        try:
            costs.append(cost(compilation, 3))
        except LendError as error:
            print(f"{compilation.signature.kernel}: {error}", file=sys.stderr)
    show(costs)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
