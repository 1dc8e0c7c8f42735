"""Plan -> LLVM module: the text that a target compiles.

Does: put the host function and its regions into one module.  Does not: optimise or verify it (`targets/`).
Invariants: the module defines `kernel` and nothing else that is visible; what it declares are functions of libm and the target's
own: `lend_parallel_for`, `lend_allocate`, `lend_free`.

Example: `lower(plan(kernel))` for saxpy defines `@kernel` and `@region_0`.
"""

from __future__ import annotations

from lend.lower.aliases import Aliases
from lend.lower.builder import ModuleBuilder
from lend.lower.host import HostWriter, computes
from lend.lower.roots import find_roots
from lend.lower.shapes import find_shapes
from lend.plan.regions import Plan

OWN_VECTORS = "; its loops are written in vectors"
"""A line of a module in which LLVM need not look for vectors."""


def lower(plan: Plan) -> str:
    """One LLVM module for `plan`, as text; triple and data layout are left to whoever compiles it."""
    module = ModuleBuilder()
    aliases = Aliases(module, find_roots(plan.kernel))
    HostWriter(module, plan, aliases, find_shapes(plan.kernel)).write()
    heading = [f"; {plan.kernel.name}", *([OWN_VECTORS] if _in_vectors(plan) else []), "", ""]
    return "\n".join(heading) + module.text()


def _in_vectors(plan: Plan) -> bool:
    """Whether every loop over elements is tiled with vectors, but for those that keep their checks."""
    tilings = [region.tiling for region in plan.regions if not region.parallel.fallback]
    return all(tiling is not None and tiling.lanes > 1 for tiling in tilings) and not computes(plan.kernel.body)
