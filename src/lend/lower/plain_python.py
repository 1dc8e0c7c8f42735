"""Kernels in plain Python: the typed tree printed back as Python, for `kernel.py(...)`, breakpoints and tests.

Does: make a Python function of a typed kernel whose code carries the user's file, lines, function and variable names; device
functions and called kernels are Python functions with theirs.  Does not: check or convert arguments and results, word faults.
Invariants: it computes what compiled code under `math="strict"` does, bit for bit where C's mathematical functions are the same;
iterations run in row-major order and the first fault ends the run.

Example: `plain_function(kernel, source)((3,), [2.0, x, y], fault)` runs `saxpy` for N = 3 and gives `()`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from lend.diagnostics.spans import Source
from lend.ir import typed
from lend.lower.plain_body import Body, Module
from lend.lower.plain_lines import add_stops
from lend.lower.plain_run import AnyArray, Fault, Run
from lend.lower.plain_statements import Function, name_variables
from lend.lower.plain_syntax import compile_functions

PlainFunction = Callable[[Sequence[int], Sequence[Any], Fault], tuple[Any, ...]]


def plain_function(kernel: typed.Kernel, source: Source) -> PlainFunction:
    """The kernel as a Python function of (sizes in the order of `dims`, leaves of the arguments, fault).

    It gives the leaves that the kernel yields. `source` is the kernel's file. Scalars are Python values, arrays NumPy arrays that
    are used in place. `fault` raises (or gives) the exception for a failed check from (site, dimension, index, size, indices of
    the parallel loop or None).
    """
    module = Module(kernel)
    entry = _kernel_function(module, kernel, source)
    for function in module.functions:
        add_stops(function, function.span.source, module.spans, module.wishes)
        name_variables(function, module.wishes)
    code = compile_functions(module.functions, module.spans)
    expressions = module.expressions

    def run(dims: Sequence[int], leaves: Sequence[Any], fault: Fault) -> tuple[Any, ...]:
        state = Run(expressions.sites, fault, expressions.meetings)
        namespace: dict[str, Any] = {"__name__": "lend.plain", **expressions.helpers}
        namespace.update((name, make(state)) for name, make in expressions.run_helpers.items())
        exec(code, namespace)
        return namespace[entry.internal](*dims, *map(_python_value, leaves))

    return run


def _kernel_function(module: Module, kernel: typed.Kernel, source: Source) -> Function:
    parameters = (*kernel.dims, *(parameter.value for parameter in kernel.parameters))
    entry = module.function(kernel.name, source.filename, kernel.span, parameters)
    module.owners.append(entry)
    body = Body(module, kernel.body).run()
    entry.statements = body.give(kernel.body.yields, whole=True)
    return entry


def _python_value(leaf: Any) -> Any:
    """A leaf as plain Python: subclasses of arrays as arrays, NumPy's scalars as Python's."""
    if isinstance(leaf, np.ndarray):
        array: AnyArray = np.asarray(leaf)  # pyright: ignore[reportUnknownArgumentType]
        return array
    is_scalar = isinstance(leaf, np.generic)
    return cast(Any, leaf).item() if is_scalar else leaf
