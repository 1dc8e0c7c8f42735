"""What `kernel.explain` answers: the plan for the types of a call, and what it comes to for its sizes.

Does: run the steps up to the plan, ask the machine, read the call's sizes.
Does not: compile to machine code, or launch. Kernels that came from the disk cache are planned anew, as they were then.
"""

from __future__ import annotations

from lend.diagnostics.explanation import Explanation
from lend.driver.pipeline import Compilation, run
from lend.driver.specialisation import verdicts
from lend.ir.typed import Kernel, Value
from lend.language.types import ArrayType
from lend.plan.regions import plan
from lend.plan.report import Surroundings, report
from lend.plan.sizes import Given
from lend.runtime.arguments import Binding
from lend.runtime.settings import snapshot


def explain(compilation: Compilation, binding: Binding | None) -> Explanation:
    """How a specialisation runs; `binding`: in this call. CompileError if it is refused."""
    run(compilation, until="schedule")
    assert compilation.scheduled is not None
    here = surroundings()
    made = plan(compilation.scheduled, here.vector_bytes)
    given = None if binding is None else _given(made.kernel, binding)
    return report(made, verdicts(compilation), here, given)


def surroundings() -> Surroundings:
    """This process's machine and settings."""
    from lend.lower.waves_ir import PART
    from lend.targets.cpu.caches import cache_bytes
    from lend.targets.cpu.target import cpu

    last = cache_bytes()[-1]
    return Surroundings(max(1, snapshot().threads), last, last // PART, cpu().machine.vector_bytes)


def _given(kernel: Kernel, binding: Binding) -> Given:
    numbers: dict[Value, int] = dict(zip(kernel.dims, binding.dims, strict=True))
    shapes: dict[Value, tuple[int, ...]] = {}
    for parameter, leaf in zip(kernel.parameters, binding.leaves, strict=True):
        value = parameter.value
        if isinstance(value.type, ArrayType):
            shapes[value] = tuple(leaf.shape)
        elif value.scalar.is_integer or value.scalar.kind == "bool":
            numbers[value] = int(leaf)
    return Given(numbers, shapes)
