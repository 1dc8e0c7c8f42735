"""Plan -> LLVM module: the text that a target compiles.

Does: put the host function and its regions into one module.  Does not: optimise or verify it (`targets/`).
Invariants: the module defines `kernel` and nothing else that is visible; what it declares are functions of libm and the target's
own: `lend_parallel_for`, `lend_allocate`, `lend_free`.

Example: `lower(plan(kernel))` for saxpy defines `@kernel` and `@region_0`.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from lend.lower.aliases import Aliases
from lend.lower.builder import ModuleBuilder
from lend.lower.host import HostWriter, computes
from lend.lower.roots import find_roots
from lend.lower.shapes import find_shapes
from lend.plan.regions import DeviceRegion, Plan
from lend.plan.tiling import Obstacle, has_loop

FEW_THREADS = 16
"""Threads of a block for which vectors save nothing."""
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
    loops = [region for region in plan.regions if not region.parallel.fallback]
    loops = [inner for region in loops for inner in (_over_threads(region) if region.parallel.team else (region,))]
    return all(loop.tiling is not None and loop.tiling.lanes > 1 for loop in loops) and not computes(plan.kernel.body)


def _over_threads(region: DeviceRegion) -> Iterator[DeviceRegion]:
    """The loops over a block's threads in which LLVM might find vectors that lend has not."""
    for inner in region.inner:
        uppers = [inner.variations.constant(extent.upper) for extent in inner.parallel.box]
        few = None not in uppers and prod(upper or 0 for upper in uppers) <= FEW_THREADS
        hopeless = inner.untiled is not None and inner.untiled.obstacle in (Obstacle.COST, Obstacle.CHECK)
        if not few and not (hopeless and not has_loop(inner.parallel.body)):
            yield inner
