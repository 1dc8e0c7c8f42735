"""Typed kernel -> the plan for a device: the host pass and its numbered kernels, blocks of threads as they are.

Does: number every parallel loop and every loop over blocks, list what each captures, and find packs where they are asked for.
Does not: choose tiles, streams, waves or chunks, which are a processor's.
Invariants: a loop over blocks is a `Parallel` that is a `team`: an iteration is a block, and `Threads`, `Shared`, `Sync` and
`Subgroup` stand in its body as the user wrote them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lend.ir import typed
from lend.ir.typed import Kernel, Parallel, Region
from lend.plan.cost import Known, work_of
from lend.plan.packs import find_packs
from lend.plan.regions import DeviceRegion, Plan, captured
from lend.plan.variation import Variations
from lend.schedule.innermost import integer_constants
from lend.schedule.teams import with_blocks


def device_plan(kernel: Kernel, elements: int = 1) -> Plan:
    """Number the kernels that a device runs. `elements`: how many iterations a thread is to run where that can be."""
    constants = integer_constants(kernel.body)
    kernel = with_blocks(kernel, _loop, anywhere=True)
    regions: list[DeviceRegion] = []
    for number, parallel in enumerate(_parallels(kernel.body)):
        captures = tuple(captured(parallel.body))
        empty = replace(parallel, body=Region(parallel.body.parameters, (), ()))
        work = work_of(Region((), (), ()), Known(frozenset(captures), {}))
        packs = find_packs(parallel, constants, captures, elements)
        regions.append(DeviceRegion(number, parallel, captures, work, Variations(empty, constants), packs=packs))
    return Plan(kernel, tuple(regions))


def _loop(blocks: typed.Blocks) -> Parallel:
    return Parallel(
        blocks.span,
        blocks.results,
        blocks.box,
        blocks.reductions,
        blocks.body,
        blocks.site,
        independent=blocks.independent,
        fallback=blocks.fallback,
        team=True,
    )


def _parallels(region: Region) -> Iterator[Parallel]:
    for operation in region.operations:
        if isinstance(operation, Parallel):
            yield operation
        else:
            for inner in operation.regions:
                yield from _parallels(inner)
