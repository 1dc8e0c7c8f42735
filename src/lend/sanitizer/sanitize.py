"""`lend.sanitize(kernel)(*args)`: runs a kernel under the dynamic judge.

Does: bind the arguments as a call does, run the kernel several times on copies of them, report what was found, and store the
results in the arguments if nothing was.  Does not: prove, compile or optimise anything.
Invariants: the kernel's types are checked, its proofs are not asked: kernels that they refuse run as well. A seed gives the same
runs on every machine.

Example:
    report = lend.sanitize(saxpy)(2.0, x, y)
    print(report)
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from lend.diagnostics.errors import LendError
from lend.driver.definition import unjudged
from lend.driver.index_arrays import index_arrays
from lend.driver.pipeline import run as run_steps
from lend.frontend.capture import Dependency
from lend.ir import typed
from lend.language.types import Borrow
from lend.runtime.arguments import Binder, Binding
from lend.runtime.elements import dtype_of
from lend.runtime.launch import check_contracts
from lend.runtime.results import assemble
from lend.sanitizer import findings
from lend.sanitizer.judge import Ended, Judge
from lend.sanitizer.memory import Array, give_back, lent, width_of
from lend.sanitizer.program import Program, program
from lend.sanitizer.report import Finding, Report

P = ParamSpec("P")
R = TypeVar("R")


class Sanitized(Generic[P, R]):
    """A kernel that runs under the dynamic judge; call it as you call the kernel."""

    def __init__(self, kernel: Callable[P, R], seed: int, runs: int, steps: int) -> None:
        if runs < 1 or steps < 1:
            raise ValueError("runs and steps are at least 1")
        self.__wrapped__ = getattr(kernel, "__wrapped__", kernel)
        self.__name__: str = getattr(self.__wrapped__, "__name__", "kernel")
        self.__doc__ = self.__wrapped__.__doc__
        self.seed = seed
        self.runs = runs
        self.steps = steps
        try:
            self._definition = unjudged(self.__wrapped__)
        except LendError as error:
            raise error.with_traceback(None) from None
        self._binder = Binder(self._definition.signature)
        self._index_arrays = index_arrays(self._definition.signature, self._definition.span)
        self._made: dict[Any, tuple[typed.Kernel, Program, tuple[Dependency, ...]]] = {}

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Report[R]:
        try:
            return self._judge(self._binder.bind(args, kwargs))
        except LendError as error:
            raise error.with_traceback(None) from None

    def _judge(self, binding: Binding) -> Report[Any]:
        kernel, made = self._program(binding)
        check_contracts(kernel.name, self._definition.contracts, binding)
        if self._index_arrays is not None:
            self._index_arrays(binding)
        found: dict[tuple[Any, ...], Finding] = {}
        kept: tuple[list[Any], tuple[Any, ...]] | None = None
        for run in range(self.runs):
            judge = Judge(made, kernel, random.Random(f"{self.seed} {run}"), self.steps)
            leaves = [_leaf(p, leaf) for p, leaf in zip(kernel.parameters, binding.leaves, strict=True)]
            values = None
            with suppress(Ended):
                values = judge.run(binding.dims, leaves)
            for key, seen in judge.seen.items():
                if key not in found:
                    found[key] = findings.finding(seen, made.places, run)
            if values is not None:
                for hole in _unwritten(kernel, leaves, run):
                    found.setdefault(("unwritten", hole.array), hole)
                kept = kept or (leaves, values)
        result: Any = None
        if not found and kept is not None:
            result = _results(kernel, binding, *kept)
        return Report(kernel.name, tuple(found.values()), result, self.runs, self.seed)

    def _program(self, binding: Binding) -> tuple[typed.Kernel, Program]:
        """The typed tree for the types of a call, as a program; made again when captured values have changed."""
        from lend.driver.specialisation import current

        known = self._made.get(binding.types)
        if known is None or not current(known[2]):
            compilation = self._definition.compilation(binding.types, dict(binding.typevars))
            run_steps(compilation, until="typecheck")
            assert compilation.checked is not None
            known = compilation.kernel, program(compilation.kernel), compilation.checked.dependencies
            self._made[binding.types] = known
        return known[:2]


def sanitize(kernel: Callable[P, R], *, seed: int = 0, runs: int = 3, steps: int = 100_000_000) -> Sanitized[P, R]:
    """A kernel, or a function that could be one, to be run under the dynamic judge; works as a decorator too.

    Calling it takes the kernel's arguments and gives a `Report`: `ok`, `findings`, `result`; it prints with both ends of each
    race or divergent barrier. Found are races, accesses outside their array, reads of what nothing has written (and `Out` arrays
    not written whole), barriers that not all threads meet, and divisions by zero: in the runs that were made, for these
    arguments. If nothing is found, arguments and result are those of the first run; otherwise the arguments keep what they held.

    seed: decides the order of iterations, threads and blocks. runs: how many orders are tried. steps: accesses and iterations
    after which a run is given up. Raises CompileError for wrong types, and what a call raises for arguments that it refuses.
    """
    return Sanitized(kernel, seed, runs, steps)


def _leaf(parameter: typed.Parameter, leaf: Any) -> Any:
    """An argument for one run: arrays as copies with a shadow, scalars as Python's."""
    if isinstance(leaf, np.ndarray):
        type = parameter.value.array
        array: Any = np.asarray(leaf)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        return lent(array, type.element, parameter.name, type.borrow is not Borrow.OUT)
    return leaf.item() if isinstance(leaf, np.generic) else leaf  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]


def _unwritten(kernel: typed.Kernel, leaves: Sequence[Any], run: int) -> list[Finding]:
    out: list[Finding] = []
    for parameter, leaf in zip(kernel.parameters, leaves, strict=True):
        if isinstance(leaf, Array) and parameter.value.array.borrow is Borrow.OUT and not all(leaf.memory.written):
            element = leaf.memory.written.index(0) // width_of(parameter.value.array.element)
            out.append(findings.unwritten(parameter, tuple(map(int, np.unravel_index(element, leaf.shape))), run))
    return out


def _results(kernel: typed.Kernel, binding: Binding, leaves: Sequence[Any], values: tuple[Any, ...]) -> Any:
    """Store what a run has left in the arguments, and give what the kernel returns."""
    for parameter, leaf, given in zip(kernel.parameters, leaves, binding.leaves, strict=True):
        if isinstance(leaf, Array) and parameter.value.array.borrow.writable:
            give_back(leaf, given, parameter.value.array.element)
    if kernel.result is None:
        return None
    out: list[Any] = []
    for value, yielded in zip(values, kernel.body.yields, strict=True):
        if isinstance(value, Array):
            type = yielded.array
            if value.origin is not None:
                value = value.origin
            else:
                made: Any = np.empty(value.shape, dtype_of(type.element))
                give_back(value, made, type.element)
                value = made
        out.append(value)
    return assemble(kernel.result, out)
